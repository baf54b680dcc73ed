"""Longitudinal GRR as functions.

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_GRR_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_GRR_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from functools import partial

from ..core.randomness import Rng
from ..longitudinal.chains import LGRR
from ..paper.forms import SYMBOL, draw_ahead, draw_with_rng
from ..paper.shared import (
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    remember_latest,
    require_reports,
)

_drawn = remember_latest(partial(draw_ahead, LGRR, SYMBOL))


def L_GRR_Client(input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None) -> int:
    """Return the first report of a new user, a randomized value.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    drawn = _drawn(k, eps_perm, eps_1)
    value: int = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, SYMBOL, input_data, rng)
    )
    return value


def L_GRR_Aggregator_MI(reports: Sent, k: int, eps_perm: float, eps_1: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return estimate_normalised(_drawn(k, eps_perm, eps_1).mechanism.tally(require_reports(reports)))


def L_GRR_Aggregator_IBU(
    reports: Sent,
    k: int,
    eps_perm: float,
    eps_1: float,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    protocol = _drawn(k, eps_perm, eps_1).mechanism
    return estimate_by_update(
        protocol.tally(require_reports(reports)), protocol.channel, nb_iter, tol, err_func
    )


L_GRR_Aggregator = L_GRR_Aggregator_MI
