"""Splitting the budget over all attributes, as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 4000
>>> reports = [SPL_GRR_Client(record, [2, 3], 2, 6.0) for record in records]
>>> [frequencies.round(1) for frequencies in SPL_GRR_Aggregator(reports, [2, 3], 2, 6.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from typing import Any

from ..core.randomness import Rng
from ..paper.several import adp, aggregate, answer, domain_sizes, draw_solution_ahead, lh, ue
from ..paper.shared import Ks, Row, Sent, Vector
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.spl import SPL


def SPL_GRR_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized value of each attribute."""
    return answer(SPL, GRR, input_tuple, rng, lst_k, d, epsilon)


def SPL_GRR_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SPL, GRR, lst_k, d, epsilon), reports_tuple)


def SPL_UE_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized unary vector of each attribute."""
    return answer(SPL, ue(optimal), input_tuple, rng, lst_k, d, epsilon)


def SPL_UE_Aggregator_MI(
    reports_tuple: Sent, d: int, epsilon: float, optimal: bool = True, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_tuple, lst_k = domain_sizes(reports_tuple, d, lst_k, by_attribute=False)
    return aggregate(draw_solution_ahead(SPL, ue(optimal), lst_k, d, epsilon), reports_tuple)


def SPL_LH_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized hashed value and seed of each attribute."""
    return answer(SPL, lh(optimal), input_tuple, rng, lst_k, d, epsilon)


def SPL_LH_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SPL, lh(optimal), lst_k, d, epsilon), reports_tuple)


def SPL_SS_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized set of each attribute."""
    return answer(SPL, SS, input_tuple, rng, lst_k, d, epsilon)


def SPL_SS_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SPL, SS, lst_k, d, epsilon), reports_tuple)


def SPL_ADP_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized value or unary vector of each attribute."""
    return answer(SPL, adp(optimal), input_tuple, rng, lst_k, d, epsilon)


def SPL_ADP_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SPL, adp(optimal), lst_k, d, epsilon), reports_tuple)


SPL_GRR_Aggregator = SPL_GRR_Aggregator_MI
SPL_UE_Aggregator = SPL_UE_Aggregator_MI
SPL_LH_Aggregator = SPL_LH_Aggregator_MI
SPL_SS_Aggregator = SPL_SS_Aggregator_MI
SPL_ADP_Aggregator = SPL_ADP_Aggregator_MI
