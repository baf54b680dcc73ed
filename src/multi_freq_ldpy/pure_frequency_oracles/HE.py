"""Histogram encoding (HE) as functions.

The device adds integer noise. The aggregator compares the entries with a threshold
(``use_thresh``), or adds them up.

On integers the best threshold is 1. The bits "entry ≥ 1" are then those of symmetric unary
encoding: a bit is kept with probability e^s/(e^s + 1).

>>> reports = [HE_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> HE_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from math import exp
from typing import Any

import numpy as np

from ..core import validate
from ..core.channel import Affine
from ..core.tally import Tally
from ..estimation.postprocess import norm
from ..paper.forms import draw_ahead, form_of, require_integers
from ..paper.naming import publish
from ..paper.shared import (
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    require_reports,
    tally_rows,
)
from ..paper.values import OneBudget
from ..protocols.histogram import SHE, UNIT


def _passing(block: Vector) -> Any:
    return (require_integers(block) >= 1).sum(axis=0)


def _tally(reports: Sent, k: int, epsilon: float, use_thresh: bool) -> tuple[Tally, Affine]:
    validate.flag("use_thresh", use_thresh)
    protocol = draw_ahead(SHE, k, epsilon).mechanism
    assert isinstance(protocol, SHE)
    reports = require_reports(reports)
    if not use_thresh:
        return form_of(protocol).tally(protocol, reports), protocol.channel
    kept = 1 / (1 + exp(-protocol.weight / UNIT))
    return tally_rows(protocol, reports, _passing), Affine(kept, 1 - kept)


def HE_Aggregator_MI(reports: Sent, k: int, epsilon: float, use_thresh: bool = True) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised.

    Parameters
    ----------
    reports : list or array
        Reports of all users, as ``HE_Client`` returns them. An array that ``randomize`` of ``SHE``
        returns is accepted too.
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float
        Privacy budget of one report.
    use_thresh : bool
        True counts the entries that are at least 1 (thresholding, THE). False adds up the entries
        (summation, SHE).

    Returns
    -------
    array
        Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every raw
        estimate is 0 or less, they are all 1/k.

    Raises
    ------
    TypeError
        If the reports or a parameter have a wrong type.
    ValueError
        If there are no reports, if a report is invalid, or if a parameter is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Aggregator_MI
    >>> rows = [[0, 1, 0], [-1, 2, 0], [1, 0, 0]]
    >>> HE_Aggregator_MI(rows, k=3, epsilon=2.0).round(2)
    array([0.14, 0.86, 0.  ])
    >>> HE_Aggregator_MI(rows, k=3, epsilon=2.0, use_thresh=False).round(2)
    array([0., 1., 0.])
    """
    tally, channel = _tally(reports, k, epsilon, use_thresh)
    return (
        norm(channel.estimate(tally.counts, tally.n)) if use_thresh else estimate_normalised(tally)
    )


def HE_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    use_thresh: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the frequencies estimated by iterative Bayesian update.

    The update needs thresholding. It starts from the uniform distribution. It uses a matrix of the
    probabilities that an entry is at least 1. The diagonal has the probability for the own value,
    and the other places have the probability for another value. Each row is scaled so that it adds
    up to 1.

    Parameters
    ----------
    reports : list or array
        Reports of all users, as ``HE_Client`` returns them. An array that ``randomize`` of ``SHE``
        returns is accepted too.
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float
        Privacy budget of one report.
    use_thresh : bool
        Must be True: the entries that are at least 1 are counted.
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
        Estimated frequency of each value. Frequencies are at least 0 and add up to 1, up to
        rounding.

    Raises
    ------
    TypeError
        If the reports or a parameter have a wrong type.
    ValueError
        If ``use_thresh`` is false, if there are no reports, if a report is invalid, or if a
        parameter is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Aggregator_IBU
    >>> HE_Aggregator_IBU([[0, 1, 0], [-1, 2, 0], [1, 0, 0]], k=3, epsilon=2.0).round(2)
    array([0.14, 0.86, 0.  ])
    """
    if not use_thresh:
        raise ValueError(f"use_thresh must be true for the Bayesian update, not {use_thresh!r}")
    tally, channel = _tally(reports, k, epsilon, use_thresh)
    return estimate_by_update(tally, channel, nb_iter, tol, err_func)


def find_tresh(tresh: Any, epsilon: float) -> Any:
    """Return the variance of thresholded histogram encoding, times n, for a rare value.

    The threshold that minimises it is the best one for continuous noise. The noise of this package
    is on integers, where 1 is the best threshold.

    Parameters
    ----------
    tresh : float or array
        Threshold, from 0 to 1.
    epsilon : float
        Privacy budget of one report.

    Returns
    -------
    float or array
        Number q (1 − q)/(p − q)² with p = 1 − e^(ε (tresh − 1)/2)/2 and q = e^(−ε tresh/2)/2.

    Raises
    ------
    TypeError
        If ``epsilon`` is no number.
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy.pure_frequency_oracles.HE import find_tresh
    >>> round(find_tresh(0.7, 1.0), 4)
    4.8326
    """
    budget = validate.budget("epsilon", epsilon)
    place = validate.numbers("tresh", tresh, 0.0, 1.0)
    p, q = 1 - np.exp(budget * (place - 1) / 2) / 2, np.exp(-budget * place / 2) / 2
    found = q * (1 - q) / (p - q) ** 2
    return float(found) if np.ndim(tresh) == 0 else found


_functions = OneBudget[Vector](SHE)
HE_Client = _functions.answer
HE_Aggregator = HE_Aggregator_MI
publish(globals())
