"""The paper's estimators as functions.

They are matrix inversion for one round and for two rounds, and the iterative Bayesian update.

>>> MI([60, 25, 15], n=100, p=0.5, q=0.25).round(3)
array([1., 0., 0.])
>>> MI_long([60, 25, 15], n=100, p1=0.8, q1=0.1, p2=0.9, q2=0.05).round(3)
array([0.782, 0.193, 0.025])
>>> matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
>>> IBU(2, matrix, [0.5, 0.5], nb_iter=100, tol=1e-9, err_func="max_abs")
array([0.5, 0.5])
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import validate
from ..core.channel import Affine
from ..estimation.postprocess import ibu, norm
from ..paper.shared import Vector, check_iteration


def _counts(count_report: ArrayLike, n: Any) -> Vector:
    counts = np.asarray(count_report)
    if (
        counts.dtype.kind not in "iuf"
        or counts.ndim != 1
        or not counts.size
        or not np.isfinite(counts).all()
    ):
        raise ValueError(f"count_report must be a vector of finite numbers, not {count_report!r}")
    validate.budget("n", n)
    return counts.astype(np.float64)


def _channel(p: float, q: float, names: tuple[str, str] = ("p", "q")) -> Affine:
    return Affine(validate.probability(names[0], p), validate.probability(names[1], q))


def MI(count_report: ArrayLike, n: int, p: float, q: float) -> Vector:
    """Return the frequencies by matrix inversion, clipped at 0 and normalised.

    The raw estimates are (count_report/n − q)/(p − q).

    Parameters
    ----------
    count_report : array
        Number of reports that support each value.
    n : int
        Number of users.
    p : float
        Probability that a report supports the user's own value.
    q : float
        Probability that a report supports another given value. It must be smaller than ``p``.

    Returns
    -------
    array
        Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every raw
        estimate is 0 or less, they are all equal.

    Raises
    ------
    TypeError
        If ``n`` is no number.
    ValueError
        If ``count_report`` is no vector of finite numbers, if another parameter is out of range, or
        if ``q`` is not smaller than ``p``.

    Examples
    --------
    >>> from multi_freq_ldpy.estimators.Histogram_estimator import MI
    >>> MI([45, 30, 25], n=100, p=0.5, q=0.25).round(2)
    array([0.8, 0.2, 0. ])
    """
    return norm(_channel(p, q).estimate(_counts(count_report, n), n))


def MI_long(count_report: ArrayLike, n: int, p1: float, q1: float, p2: float, q2: float) -> Vector:
    """Return the frequencies by matrix inversion after two rounds, clipped at 0 and normalised.

    The raw estimates are (count_report/n − q)/(p − q) with p = q2 + p1·(p2 − q2) and q = q2 +
    q1·(p2 − q2).

    Parameters
    ----------
    count_report : array
        Number of reports that support each value.
    n : int
        Number of users.
    p1 : float
        Probability that the first round supports the user's own value.
    q1 : float
        Probability that the first round supports another given value. It must be smaller than
        ``p1``.
    p2 : float
        Probability that the second round keeps a 1.
    q2 : float
        Probability that the second round turns a 0 into a 1. It must be smaller than ``p2``.

    Returns
    -------
    array
        Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every raw
        estimate is 0 or less, they are all equal.

    Raises
    ------
    TypeError
        If ``n`` is no number.
    ValueError
        If ``count_report`` is no vector of finite numbers, or if another parameter is out of range.
        Also if ``q1`` is not smaller than ``p1``, or ``q2`` not smaller than ``p2``.

    Examples
    --------
    >>> from multi_freq_ldpy.estimators.Histogram_estimator import MI_long
    >>> MI_long([45, 30, 25], n=100, p1=0.8, q1=0.1, p2=0.9, q2=0.05).round(2)
    array([0.53, 0.28, 0.19])
    """
    second = _channel(p2, q2, ("p2", "q2"))
    return norm(
        _channel(p1, q1, ("p1", "q1"))
        .then(second.p, second.q)
        .estimate(_counts(count_report, n), n)
    )


def IBU(
    k: int, A: ArrayLike, obs_freq: ArrayLike, nb_iter: int, tol: float, err_func: str
) -> Vector:
    """Return the frequencies by iterative Bayesian update.

    The update starts from the uniform distribution.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    A : array
        Matrix with k rows. ``A[x, y]`` is the probability of output y given input x.
    obs_freq : array
        Observed frequency of each output, one entry per column of ``A``.
    nb_iter : int
        Largest number of iterations.
    tol : float
        Tolerance, greater than 0. The iteration stops when the change of the estimate is smaller.
    err_func : {"max_abs", "mse", "mae", "max_squared"}
        Measure of the change: the largest absolute change, the mean squared change, the mean
        absolute change, or the largest squared change.

    Returns
    -------
    array
        Estimated frequency of each of the k values.

    Raises
    ------
    TypeError
        If ``A`` or ``obs_freq`` are no numbers, or if another parameter has a wrong type.
    ValueError
        If the shape of ``A`` or ``obs_freq`` is wrong, if an entry is negative, or if a parameter
        is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy.estimators.Histogram_estimator import IBU
    >>> matrix = [[0.8, 0.2], [0.2, 0.8]]
    >>> IBU(2, matrix, [0.6, 0.4], nb_iter=100, tol=1e-9, err_func="max_abs").round(2)
    array([0.67, 0.33])
    """
    size = validate.domain_size("k", k)
    matrix, observed = np.asarray(A), np.asarray(obs_freq)
    if matrix.dtype.kind not in "iuf" or observed.dtype.kind not in "iuf":
        raise TypeError(f"A and obs_freq must be numbers, not {A!r} and {obs_freq!r}")
    if matrix.ndim != 2 or matrix.shape[0] != size or not (matrix >= 0).all():
        raise ValueError(
            f"A must be a matrix of probabilities with k={size} rows, not of shape {matrix.shape}"
        )
    if observed.shape != matrix.shape[1:] or not (observed >= 0).all():
        raise ValueError(
            f"obs_freq must have an entry for each column of A, none negative, not {obs_freq!r}"
        )
    return ibu(matrix, observed, *check_iteration(nb_iter, tol, err_func))
