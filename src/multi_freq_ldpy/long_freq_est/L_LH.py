"""Longitudinal local hashing as functions.

Optimal (L-OLH) or, with ``optimal=False``, binary (L-BLH).

>>> reports = [L_LH_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> L_LH_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from ..core import validate
from ..core.randomness import Rng
from ..core.tally import Tally
from ..longitudinal.chains import LBLH, LOLH
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


@remember_latest
def _drawn(k: int, eps_perm: float, eps_1: float, optimal: bool) -> Ahead:
    return draw_ahead(LOLH if validate.flag("optimal", optimal) else LBLH, PAIR, k, eps_perm, eps_1)


def _tally(reports: Sent, k: int, eps_perm: float, eps_1: float, optimal: bool) -> Tally:
    reports = require_reports(reports)
    return PAIR.tally(_drawn(k, eps_perm, eps_1, optimal).mechanism, reports)


def L_LH_Client(
    input_data: int, k: int, eps_perm: float, eps_1: float, optimal: bool = True, *, rng: Rng = None
) -> tuple[int, int]:
    """Return the first report of a new user, a randomized hashed value and its seed.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    drawn = _drawn(k, eps_perm, eps_1, optimal)
    pair: tuple[int, int] = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, PAIR, input_data, rng)
    )
    return pair


def L_LH_Aggregator_MI(
    reports: Sent, k: int, eps_perm: float, eps_1: float, optimal: bool = True
) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return estimate_normalised(_tally(reports, k, eps_perm, eps_1, optimal))


def L_LH_Aggregator_IBU(
    reports: Sent,
    k: int,
    eps_perm: float,
    eps_1: float,
    optimal: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = _tally(reports, k, eps_perm, eps_1, optimal)
    return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


L_LH_Aggregator = L_LH_Aggregator_MI
