"""Subset selection as functions.

>>> reports = [SS_Client(value, k=4, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> SS_Aggregator(reports, k=4, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2, 0. ])
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import Rng
from ..core.tally import Tally
from ..paper.forms import SET, draw_ahead, draw_with_rng
from ..paper.shared import (
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    remember_latest,
    require_reports,
)
from ..protocols.subset import SS

_drawn = remember_latest(partial(draw_ahead, SS, SET))


def _tally(reports: Sent, k: int, epsilon: float) -> Tally:
    reports = require_reports(reports)
    return SET.tally(_drawn(k, epsilon).mechanism, reports)


def SS_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> NDArray[np.int64]:
    """Return the randomized set of one user, its values in ascending order."""
    drawn = _drawn(k, epsilon)
    chosen: NDArray[np.int64] = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, SET, input_data, rng)
    )
    return chosen


def SS_Aggregator_MI(reports: Sent, k: int, epsilon: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return estimate_normalised(_tally(reports, k, epsilon))


def SS_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = _tally(reports, k, epsilon)
    return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


SS_Aggregator = SS_Aggregator_MI
