"""Longitudinal GRR as functions.

>>> reports = [L_GRR_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> L_GRR_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from functools import partial
from typing import Any

from ..functions import Vector, latest, normalised, some, updated
from ..functions.forms import SYMBOL, ahead, seeded
from ..longitudinal.chains import LGRR
from ..randomness import Rng

_drawn = latest(partial(ahead, LGRR, SYMBOL))


def L_GRR_Client(input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None) -> int:
    """Return the first report of a new user, a randomized value.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    drawn = _drawn(k, eps_perm, eps_1)
    value: int = drawn.answer(input_data) if rng is None else seeded(drawn, SYMBOL, input_data, rng)
    return value


def L_GRR_Aggregator_MI(reports: Any, k: int, eps_perm: float, eps_1: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return normalised(_drawn(k, eps_perm, eps_1).protocol.tally(some(reports)))


def L_GRR_Aggregator_IBU(
    reports: Any, k: int, eps_perm: float, eps_1: float, nb_iter: int = 10000, tol: float = 1e-12, err_func: str = "max_abs"
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    protocol = _drawn(k, eps_perm, eps_1).protocol
    return updated(protocol.tally(some(reports)), protocol.channel, nb_iter, tol, err_func)


L_GRR_Aggregator = L_GRR_Aggregator_MI
