"""Unary encoding as functions: optimized (OUE) or, with ``optimal=False``, symmetric (SUE).

>>> reports = [UE_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> UE_Aggregator(reports, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..core import validate
from ..core.randomness import Rng
from ..core.tally import Tally
from ..paper.forms import ROW, draw_ahead, draw_with_rng
from ..paper.shared import (
    Ahead,
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    remember_latest,
    require_reports,
    row_length,
)
from ..protocols.unary import OUE, SUE


@remember_latest
def _drawn(k: int, epsilon: float, optimal: bool) -> Ahead:
    return draw_ahead(OUE if validate.flag("optimal", optimal) else SUE, ROW, k, epsilon)


def _tally(reports: Sent, k: int | None, epsilon: float, optimal: bool) -> Tally:
    reports = require_reports(reports)
    return ROW.tally(
        _drawn(row_length(reports) if k is None else k, epsilon, optimal).mechanism, reports
    )


def UE_Client(
    input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> Vector:
    """Return the randomized unary vector of one user, k zeros and ones."""
    drawn = _drawn(k, epsilon, optimal)
    row: Vector = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, ROW, input_data, rng)
    )
    return row


def UE_Aggregator_MI(
    reports: Sent, epsilon: float, optimal: bool = True, *, k: int | None = None
) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised; packed reports need ``k``."""
    return estimate_normalised(_tally(reports, k, epsilon, optimal))


def UE_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    optimal: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = _tally(reports, k, epsilon, optimal)
    return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


UE_Aggregator = UE_Aggregator_MI
