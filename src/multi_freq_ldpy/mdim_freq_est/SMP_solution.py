"""Sampling one attribute, as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [SMP_GRR_Client(record, [2, 3], 2, 4.0) for record in records]
>>> [frequencies.round(1) for frequencies in SMP_GRR_Aggregator(reports, [2, 3], 2, 4.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from typing import Any

from ..core.randomness import Rng
from ..paper.several import adp, aggregate, answer, domain_sizes, draw_solution_ahead, lh, ue
from ..paper.shared import Ks, Row, Sent, Vector
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.smp import SMP


def SMP_GRR_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the randomized value of it."""
    return answer(SMP, GRR, input_tuple, rng, lst_k, d, epsilon)


def SMP_GRR_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, GRR, lst_k, d, epsilon), reports_tuple)


def SMP_UE_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the randomized unary vector of it."""
    return answer(SMP, ue(optimal), input_tuple, rng, lst_k, d, epsilon)


def SMP_UE_Aggregator_MI(
    reports_tuple: Sent, d: int, epsilon: float, optimal: bool = True, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_tuple, lst_k = domain_sizes(reports_tuple, d, lst_k, by_attribute=True)
    return aggregate(draw_solution_ahead(SMP, ue(optimal), lst_k, d, epsilon), reports_tuple)


def SMP_LH_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the randomized hashed value and seed of it."""
    return answer(SMP, lh(optimal), input_tuple, rng, lst_k, d, epsilon)


def SMP_LH_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, lh(optimal), lst_k, d, epsilon), reports_tuple)


def SMP_SS_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the randomized set of it."""
    return answer(SMP, SS, input_tuple, rng, lst_k, d, epsilon)


def SMP_SS_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, SS, lst_k, d, epsilon), reports_tuple)


def SMP_ADP_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the randomized value or unary vector of it."""
    return answer(SMP, adp(optimal), input_tuple, rng, lst_k, d, epsilon)


def SMP_ADP_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, adp(optimal), lst_k, d, epsilon), reports_tuple)


SMP_GRR_Aggregator = SMP_GRR_Aggregator_MI
SMP_UE_Aggregator = SMP_UE_Aggregator_MI
SMP_LH_Aggregator = SMP_LH_Aggregator_MI
SMP_SS_Aggregator = SMP_SS_Aggregator_MI
SMP_ADP_Aggregator = SMP_ADP_Aggregator_MI
