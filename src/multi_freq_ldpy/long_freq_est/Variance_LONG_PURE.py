"""The variance after two rounds as a function.

Arguments may be arrays.

>>> round(VAR_Long_Pure(p1=0.8, q1=0.1, p2=0.9, q2=0.05, n=100), 4)
0.0033
"""

from typing import Any

from numpy.typing import ArrayLike

from ..paper.shared import check_probabilities
from ..pure_frequency_oracles.Variance_PURE import VAR_Pure


def VAR_Long_Pure(
    p1: ArrayLike, q1: ArrayLike, p2: ArrayLike, q2: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of a frequency that is estimated after two rounds.

    Each of n users sends one report. The frequency is that among the users who took part.

    Parameters
    ----------
    p1 : float or array
        Probability that the first round supports the user's own value.
    q1 : float or array
        Probability that the first round supports another given value. It must be smaller than
        ``p1``.
    p2 : float or array
        Probability that the second round keeps a 1.
    q2 : float or array
        Probability that the second round turns a 0 into a 1. It must be smaller than ``p2``.
    n : int or array
        Number of users.
    f : float or array
        True frequency of the value.

    Returns
    -------
    float or array
        Variance ``VAR_Pure(p, q, n, f)`` with p = q2 + p1·(p2 − q2) and q = q2 + q1·(p2 − q2).

    Raises
    ------
    ValueError
        If a parameter is out of range, if ``q1`` is not smaller than ``p1``, or if ``q2`` is not
        smaller than ``p2``.

    Examples
    --------
    >>> from multi_freq_ldpy.long_freq_est.Variance_LONG_PURE import VAR_Long_Pure
    >>> VAR_Long_Pure(p1=0.8, q1=0.1, p2=0.9, q2=0.05, n=[100, 1000]).round(5)
    array([0.0033 , 0.00033])
    """
    (own, other), (kept, added) = (
        check_probabilities(p1, q1, ("p1", "q1")),
        check_probabilities(p2, q2, ("p2", "q2")),
    )
    return VAR_Pure(added + own * (kept - added), added + other * (kept - added), n, f)
