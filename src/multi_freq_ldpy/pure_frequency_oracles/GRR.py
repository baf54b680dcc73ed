"""Generalized randomized response as functions.

>>> reports = [GRR_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> GRR_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..core.randomness import Rng
from ..paper.forms import SYMBOL, draw_ahead, draw_with_rng
from ..paper.shared import (
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    is_immutable,
    require_reports,
)
from ..protocols.grr import GRR

# The parameters of the last call, and what answers
_latest: tuple[Any, ...] = (
    object(),
    object(),
    None,
)


def GRR_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> int:
    """Return the randomized value of one user."""
    global _latest
    last_k, last_epsilon, answer = _latest
    # To look parameters up would take as long as the rest
    if rng is not None or k is not last_k or epsilon is not last_epsilon:
        drawn = draw_ahead(GRR, SYMBOL, k, epsilon)
        if rng is not None:
            return int(draw_with_rng(drawn, SYMBOL, input_data, rng))
        answer = drawn.answer
        if is_immutable((k, epsilon)):
            _latest = k, epsilon, answer
    value: int = answer(input_data)
    return value


def GRR_Aggregator_MI(reports: Sent, k: int, epsilon: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return estimate_normalised(
        draw_ahead(GRR, SYMBOL, k, epsilon).mechanism.tally(require_reports(reports))
    )


def GRR_Aggregator_IBU(
    reports: Sent,
    k: int,
    epsilon: float,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    protocol = draw_ahead(GRR, SYMBOL, k, epsilon).mechanism
    return estimate_by_update(
        protocol.tally(require_reports(reports)), protocol.channel, nb_iter, tol, err_func
    )


GRR_Aggregator = GRR_Aggregator_MI
