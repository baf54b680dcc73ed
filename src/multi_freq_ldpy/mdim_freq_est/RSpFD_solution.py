"""Random sampling plus fake data (RS+FD), as functions: see ``RSFD`` for what it promises.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [RSpFD_GRR_Client(record, [2, 3], 2, 4.0) for record in records]
>>> [frequencies.round(1) for frequencies in RSpFD_GRR_Aggregator(reports, [2, 3], 2, 4.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from typing import Any

from ..core.randomness import Rng
from ..paper.several import adp, aggregate, answer, draw_solution_ahead, lh, ue
from ..paper.shared import Ks, Row, Sent, Vector
from ..protocols.grr import GRR
from ..protocols.subset import SS
from ..solutions.rsfd import RSFD


def RSpFD_GRR_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized value of the sampled attribute among fakes for the others."""
    return answer(RSFD, GRR, input_tuple, rng, lst_k, d, epsilon)


def RSpFD_GRR_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(RSFD, GRR, lst_k, d, epsilon), reports_tuple)


def RSpFD_UE_zero_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized unary vector of the sampled attribute among fakes for the
    others.
    """
    return answer(RSFD, ue(optimal), input_tuple, rng, lst_k, d, epsilon, fake="zero")


def RSpFD_UE_zero_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(
        draw_solution_ahead(RSFD, ue(optimal), lst_k, d, epsilon, fake="zero"), reports_tuple
    )


def RSpFD_UE_rnd_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized unary vector of the sampled attribute among fakes for the
    others.
    """
    return answer(RSFD, ue(optimal), input_tuple, rng, lst_k, d, epsilon, fake="random")


def RSpFD_UE_rnd_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(
        draw_solution_ahead(RSFD, ue(optimal), lst_k, d, epsilon, fake="random"), reports_tuple
    )


def RSpFD_LH_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized hashed value and seed of the sampled attribute among fakes for
    the others.
    """
    return answer(RSFD, lh(optimal), input_tuple, rng, lst_k, d, epsilon)


def RSpFD_LH_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(RSFD, lh(optimal), lst_k, d, epsilon), reports_tuple)


def RSpFD_SS_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized set of the sampled attribute among fakes for the others."""
    return answer(RSFD, SS, input_tuple, rng, lst_k, d, epsilon)


def RSpFD_SS_Aggregator_MI(reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(RSFD, SS, lst_k, d, epsilon), reports_tuple)


def RSpFD_ADP_Client(
    input_tuple: Row, lst_k: Ks, d: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
) -> list[Any]:
    """Return one user's randomized value or unary vector of the sampled attribute among fakes for
    the others.
    """
    return answer(RSFD, adp(optimal), input_tuple, rng, lst_k, d, epsilon)


def RSpFD_ADP_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(RSFD, adp(optimal), lst_k, d, epsilon), reports_tuple)


RSpFD_GRR_Aggregator = RSpFD_GRR_Aggregator_MI
RSpFD_UE_zero_Aggregator = RSpFD_UE_zero_Aggregator_MI
RSpFD_UE_rnd_Aggregator = RSpFD_UE_rnd_Aggregator_MI
RSpFD_LH_Aggregator = RSpFD_LH_Aggregator_MI
RSpFD_SS_Aggregator = RSpFD_SS_Aggregator_MI
RSpFD_ADP_Aggregator = RSpFD_ADP_Aggregator_MI
