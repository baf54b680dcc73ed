"""Longitudinal SUE (basic RAPPOR) as functions.

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_SUE_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_SUE_Aggregator(reports, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from functools import partial

from ..core.randomness import Rng
from ..longitudinal.chains import LSUE
from ..paper.forms import ROW, draw_ahead, draw_with_rng, tally_vectors
from ..paper.shared import Sent, Vector, estimate_by_update, estimate_normalised, remember_latest

_drawn = remember_latest(partial(draw_ahead, LSUE, ROW))


def L_SUE_Client(
    input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> Vector:
    """Return the first report of a new user, k zeros and ones.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    drawn = _drawn(k, eps_perm, eps_1)
    row: Vector = (
        drawn.answer(input_data) if rng is None else draw_with_rng(drawn, ROW, input_data, rng)
    )
    return row


def L_SUE_Aggregator_MI(
    reports: Sent, eps_perm: float, eps_1: float, *, k: int | None = None
) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised; packed reports need ``k``."""
    return estimate_normalised(tally_vectors(LSUE, reports, k, eps_perm, eps_1))


def L_SUE_Aggregator_IBU(
    reports: Sent,
    k: int,
    eps_perm: float,
    eps_1: float,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = tally_vectors(LSUE, reports, k, eps_perm, eps_1)
    return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


L_SUE_Aggregator = L_SUE_Aggregator_MI
