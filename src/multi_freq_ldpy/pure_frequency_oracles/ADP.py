"""The adaptive choice as functions: GRR or unary encoding, whichever has less variance.

>>> reports = [ADP_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> ADP_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..adaptive import best
from ..core import validate
from ..core.randomness import Rng
from ..paper.shared import Sent, Vector, remember_by_parameters, remember_latest
from ..protocols.grr import GRR
from ..protocols.unary import OUE, SUE
from .GRR import GRR_Aggregator_IBU, GRR_Aggregator_MI, GRR_Client
from .UE import UE_Aggregator_IBU, UE_Aggregator_MI, UE_Client


@remember_latest
@remember_by_parameters
def _small(k: int, epsilon: float, optimal: bool) -> bool:
    """Tell whether the domain is small enough for GRR."""
    return isinstance(
        best(k, epsilon, of=(GRR, OUE if validate.flag("optimal", optimal) else SUE)), GRR
    )


def ADP_Client(
    input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> Any:
    """Return the randomized value or unary vector of one user."""
    if _small(k, epsilon, optimal):
        return GRR_Client(input_data, k, epsilon, rng=rng)
    return UE_Client(input_data, k, epsilon, optimal, rng=rng)


def ADP_Aggregator_MI(reports: Sent, k: int, epsilon: float, optimal: bool = True) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    if _small(k, epsilon, optimal):
        return GRR_Aggregator_MI(reports, k, epsilon)
    return UE_Aggregator_MI(reports, epsilon, optimal, k=k)


def ADP_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    optimal: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    if _small(k, epsilon, optimal):
        return GRR_Aggregator_IBU(reports, k, epsilon, nb_iter, tol, err_func)
    return UE_Aggregator_IBU(reports, k, epsilon, optimal, nb_iter, tol, err_func)


ADP_Aggregator = ADP_Aggregator_MI
