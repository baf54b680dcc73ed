"""The variance of RS+FD as functions, for users drawn from a population.

Arguments may be arrays. ``solution.variance(n, f)`` is the variance for given users. Drawing the
users adds the variance of a sample, f·(1 − f)/n. These formulas of the paper include the variance
of the sample. They describe the error of an estimate of the population.

>>> round(VAR_RSpFD_GRR(p=0.7, q=0.1, k=4, d=3, n=1000, f=0.2), 5)
0.00456
"""

from typing import Any

from numpy.typing import ArrayLike

from ..core import validate
from ..paper.shared import as_float, check_probabilities


def _variance(p: Any, q: Any, fake: Any, d: ArrayLike, n: ArrayLike, f: ArrayLike) -> Any:
    d, users, f = (
        validate.numbers("d", d, 1),
        validate.numbers("n", n, 1),
        validate.numbers("f", f, 0, 1),
    )
    supported = (q + f * (p - q) + (d - 1) * fake) / d
    return as_float(d**2 * supported * (1 - supported) / (users * (p - q) ** 2))


def VAR_RSpFD_GRR(
    p: ArrayLike, q: ArrayLike, k: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of a frequency that is estimated with RS+FD[GRR].

    Parameters
    ----------
    p : float or array
        Probability that a real report supports the user's own value, at the amplified budget.
    q : float or array
        Probability that a real report supports another given value, at the amplified budget. It
        must be smaller than ``p``.
    k : int or array
        Number of possible values, which are 0, …, k − 1.
    d : int or array
        Number of attributes.
    n : int or array
        Number of users.
    f : float or array
        True frequency of the value. It is the frequency in the population.

    Returns
    -------
    float or array
        Variance d²·γ·(1 − γ)/(n·(p − q)²) with γ = (q + f·(p − q) + (d − 1)·φ)/d. A fake report
        supports the value with probability φ = 1/k.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``q`` is not smaller than ``p``.

    Examples
    --------
    >>> from multi_freq_ldpy.mdim_freq_est.Variance_RSpFD import VAR_RSpFD_GRR
    >>> round(VAR_RSpFD_GRR(p=0.7, q=0.1, k=4, d=3, n=1000), 5)
    0.004
    """
    p, q = check_probabilities(p, q)
    return _variance(p, q, 1 / validate.numbers("k", k, 2), d, n, f)


def VAR_RSpFD_UE_zero(
    p: ArrayLike, q: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of a frequency that is estimated with RS+FD[UE-zero].

    Parameters
    ----------
    p : float or array
        Probability that a real report supports the user's own value, at the amplified budget.
    q : float or array
        Probability that a real report supports another given value, at the amplified budget. It
        must be smaller than ``p``.
    d : int or array
        Number of attributes.
    n : int or array
        Number of users.
    f : float or array
        True frequency of the value. It is the frequency in the population.

    Returns
    -------
    float or array
        Variance d²·γ·(1 − γ)/(n·(p − q)²) with γ = (q + f·(p − q) + (d − 1)·φ)/d. A fake report
        supports the value with probability φ = q.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``q`` is not smaller than ``p``.

    Examples
    --------
    >>> from multi_freq_ldpy.mdim_freq_est.Variance_RSpFD import VAR_RSpFD_UE_zero
    >>> round(VAR_RSpFD_UE_zero(p=0.5, q=0.2, d=3, n=1000), 5)
    0.016
    """
    p, q = check_probabilities(p, q)
    return _variance(p, q, q, d, n, f)


def VAR_RSpFD_UE_rnd(
    p: ArrayLike, q: ArrayLike, k: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of a frequency that is estimated with RS+FD[UE-rnd].

    Parameters
    ----------
    p : float or array
        Probability that a real report supports the user's own value, at the amplified budget.
    q : float or array
        Probability that a real report supports another given value, at the amplified budget. It
        must be smaller than ``p``.
    k : int or array
        Number of possible values, which are 0, …, k − 1.
    d : int or array
        Number of attributes.
    n : int or array
        Number of users.
    f : float or array
        True frequency of the value. It is the frequency in the population.

    Returns
    -------
    float or array
        Variance d²·γ·(1 − γ)/(n·(p − q)²) with γ = (q + f·(p − q) + (d − 1)·φ)/d. A fake report
        supports the value with probability φ = q + (p − q)/k.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``q`` is not smaller than ``p``.

    Examples
    --------
    >>> from multi_freq_ldpy.mdim_freq_est.Variance_RSpFD import VAR_RSpFD_UE_rnd
    >>> VAR_RSpFD_UE_rnd(p=0.5, q=0.2, k=4, d=3, n=[1000, 4000]).round(5)
    array([0.01875, 0.00469])
    """
    p, q = check_probabilities(p, q)
    return _variance(p, q, q + (p - q) / validate.numbers("k", k, 2), d, n, f)
