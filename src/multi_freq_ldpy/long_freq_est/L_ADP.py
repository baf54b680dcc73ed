"""The adaptive choice over time as functions: L-GRR or L-OSUE, whichever has less variance.

>>> values = [0, 1, 1, 1, 2] * 2000
>>> reports = [L_ADP_Client(value, k=3, eps_perm=4.0, eps_1=2.0) for value in values]
>>> L_ADP_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..adaptive import best
from ..core.randomness import Rng
from ..longitudinal.chains import LGRR
from ..paper.shared import Sent, Vector, remember_by_parameters
from .L_GRR import L_GRR_Aggregator_IBU, L_GRR_Aggregator_MI, L_GRR_Client
from .L_OSUE import L_OSUE_Aggregator_IBU, L_OSUE_Aggregator_MI, L_OSUE_Client


@remember_by_parameters
def _small(k: int, eps_perm: float, eps_1: float) -> bool:
    """Tell whether the domain is small enough for L-GRR."""
    return isinstance(best(k, eps_perm, eps_1), LGRR)


def L_ADP_Client(input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None) -> Any:
    """Return the first report of a new user, a value or a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    if _small(k, eps_perm, eps_1):
        return L_GRR_Client(input_data, k, eps_perm, eps_1, rng=rng)
    return L_OSUE_Client(input_data, k, eps_perm, eps_1, rng=rng)


def L_ADP_Aggregator_MI(reports: Sent, k: int, eps_perm: float, eps_1: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    if _small(k, eps_perm, eps_1):
        return L_GRR_Aggregator_MI(reports, k, eps_perm, eps_1)
    return L_OSUE_Aggregator_MI(reports, eps_perm, eps_1, k=k)


def L_ADP_Aggregator_IBU(
    reports: Sent,
    k: int,
    eps_perm: float,
    eps_1: float,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    chosen = L_GRR_Aggregator_IBU if _small(k, eps_perm, eps_1) else L_OSUE_Aggregator_IBU
    return chosen(reports, k, eps_perm, eps_1, nb_iter, tol, err_func)


L_ADP_Aggregator = L_ADP_Aggregator_MI
