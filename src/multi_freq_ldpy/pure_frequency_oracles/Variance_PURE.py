"""The variance of pure protocols as a function.

Arguments may be arrays.

>>> round(VAR_Pure(p=0.5, q=0.25, n=100), 4)
0.03
"""

from typing import Any

from numpy.typing import ArrayLike

from ..core import validate
from ..paper.shared import as_float, check_probabilities


def VAR_Pure(p: ArrayLike, q: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0) -> Any:
    """Return the variance of a frequency that is estimated from n reports.

    The frequency is that among the users who took part.

    Parameters
    ----------
    p : float or array
        Probability that a report supports the user's own value.
    q : float or array
        Probability that a report supports another given value. It must be smaller than ``p``.
    n : int or array
        Number of users.
    f : float or array
        True frequency of the value.

    Returns
    -------
    float or array
        Variance (f·p·(1 − p) + (1 − f)·q·(1 − q))/(n·(p − q)²).

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``q`` is not smaller than ``p``.

    Examples
    --------
    >>> from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure
    >>> VAR_Pure(p=0.5, q=0.25, n=[100, 1000])
    array([0.03 , 0.003])
    """
    (p, q), users, f = (
        check_probabilities(p, q),
        validate.numbers("n", n, 1),
        validate.numbers("f", f, 0, 1),
    )
    return as_float((f * p * (1 - p) + (1 - f) * q * (1 - q)) / (users * (p - q) ** 2))
