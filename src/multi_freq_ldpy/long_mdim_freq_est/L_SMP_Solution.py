"""Sampling one attribute, over time, as functions.

>>> records = [(0, 2), (1, 2), (1, 1), (1, 1), (0, 2)] * 8000
>>> reports = [SMP_L_GRR_Client(record, [2, 3], 2, 12.0, 10.0) for record in records]
>>> [frequencies.round(1) for frequencies in SMP_L_GRR_Aggregator(reports, [2, 3], 2, 12.0, 10.0)]
[array([0.4, 0.6]), array([0. , 0.4, 0.6])]
"""

from typing import Any

from ..adaptive import best
from ..core import validate
from ..core.randomness import Rng
from ..longitudinal.chains import LGRR, LOSUE, LOUE, LSOUE, LSUE
from ..longitudinal.dbitflip import DBitFlipPM
from ..paper.several import aggregate, answer, domain_sizes, draw_solution_ahead
from ..paper.shared import Ks, Row, Sent, Vector
from ..solutions.smp import SMP


def SMP_L_GRR_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a value.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, LGRR, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_GRR_Aggregator_MI(
    reports_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, LGRR, lst_k, d, eps_perm, eps_1), reports_tuple)


def SMP_L_SUE_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, LSUE, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_SUE_Aggregator_MI(
    reports_ue_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_ue_tuple, lst_k = domain_sizes(reports_ue_tuple, d, lst_k, by_attribute=True)
    return aggregate(draw_solution_ahead(SMP, LSUE, lst_k, d, eps_perm, eps_1), reports_ue_tuple)


def SMP_L_SOUE_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, LSOUE, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_SOUE_Aggregator_MI(
    reports_ue_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_ue_tuple, lst_k = domain_sizes(reports_ue_tuple, d, lst_k, by_attribute=True)
    return aggregate(draw_solution_ahead(SMP, LSOUE, lst_k, d, eps_perm, eps_1), reports_ue_tuple)


def SMP_L_OUE_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, LOUE, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_OUE_Aggregator_MI(
    reports_ue_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_ue_tuple, lst_k = domain_sizes(reports_ue_tuple, d, lst_k, by_attribute=True)
    return aggregate(draw_solution_ahead(SMP, LOUE, lst_k, d, eps_perm, eps_1), reports_ue_tuple)


def SMP_L_OSUE_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, LOSUE, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_OSUE_Aggregator_MI(
    reports_ue_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

    ``lst_k`` where rows do not tell it.
    """
    reports_ue_tuple, lst_k = domain_sizes(reports_ue_tuple, d, lst_k, by_attribute=True)
    return aggregate(draw_solution_ahead(SMP, LOSUE, lst_k, d, eps_perm, eps_1), reports_ue_tuple)


def SMP_L_ADP_Client(
    input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it, a value or a unary vector.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, best, input_tuple, rng, lst_k, d, eps_perm, eps_1)


def SMP_L_ADP_Aggregator_MI(
    reports_ue_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    return aggregate(draw_solution_ahead(SMP, best, lst_k, d, eps_perm, eps_1), reports_ue_tuple)


def SMP_dBitFlipPM_Client(
    input_tuple: Row, lst_k: Ks, lst_b: Ks, d_bits: int, d: int, eps_perm: float, *, rng: Rng = None
) -> tuple[int, Any]:
    """Return one user's sampled attribute and the first report on it: bits, −1 where not held.

    Nothing is remembered, so call it once a user; a device that reports again uses ``Client``.
    """
    return answer(SMP, DBitFlipPM, input_tuple, rng, lst_k, d, eps_perm, lst_b=lst_b, d_bits=d_bits)


def SMP_dBitFlipPM_Aggregator_MI(
    reports_ue_tuple: Sent, lst_b: Ks, d_bits: int, d: int, eps_perm: float
) -> list[Vector]:
    """Return the estimated frequencies of each attribute's buckets, clipped at 0 and normalised."""
    b = tuple(lst_b) if type(lst_b) is list else validate.domain_sizes("lst_b", lst_b)
    return aggregate(
        draw_solution_ahead(SMP, DBitFlipPM, b, d, eps_perm, b=b, d_bits=d_bits), reports_ue_tuple
    )


SMP_L_GRR_Aggregator = SMP_L_GRR_Aggregator_MI
SMP_L_SUE_Aggregator = SMP_L_SUE_Aggregator_MI
SMP_L_SOUE_Aggregator = SMP_L_SOUE_Aggregator_MI
SMP_L_OUE_Aggregator = SMP_L_OUE_Aggregator_MI
SMP_L_OSUE_Aggregator = SMP_L_OSUE_Aggregator_MI
SMP_L_ADP_Aggregator = SMP_L_ADP_Aggregator_MI
SMP_dBitFlipPM_Aggregator = SMP_dBitFlipPM_Aggregator_MI
