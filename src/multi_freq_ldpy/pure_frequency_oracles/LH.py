"""Local hashing as functions: optimal (OLH) or, with ``optimal=False``, binary (BLH).

>>> reports = [LH_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> LH_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..core import validate
from ..core.randomness import Rng
from ..core.tally import Tally
from ..paper.forms import PAIR, draw_ahead, draw_with_rng
from ..paper.shared import (
    Ahead,
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    remember_latest,
    require_reports,
)
from ..protocols.hashing import BLH, OLH


@remember_latest
def _drawn(k: int, epsilon: float, optimal: bool) -> Ahead:
    return draw_ahead(OLH if validate.flag("optimal", optimal) else BLH, PAIR, k, epsilon)


def _tally(reports: Sent, k: int, epsilon: float, optimal: bool) -> Tally:
    reports = require_reports(reports)
    return PAIR.tally(_drawn(k, epsilon, optimal).mechanism, reports)


def LH_Client(
    input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> tuple[int, int]:
    """Return the randomized hashed value of one user and the seed of the hash function."""
    drawn = _drawn(k, epsilon, optimal)
    pair: tuple[int, int] = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, PAIR, input_data, rng)
    )
    return pair


def LH_Aggregator_MI(reports: Sent, k: int, epsilon: float, optimal: bool = True) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return estimate_normalised(_tally(reports, k, epsilon, optimal))


def LH_Aggregator_IBU(
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


LH_Aggregator = LH_Aggregator_MI
