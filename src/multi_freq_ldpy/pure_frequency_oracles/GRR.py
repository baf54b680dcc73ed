"""Generalized randomized response as functions.

>>> reports = [GRR_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> GRR_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..functions import Vector, lasting, normalised, some, updated
from ..functions.forms import SYMBOL, ahead, seeded
from ..protocols.grr import GRR
from ..randomness import Rng

_latest: tuple[Any, ...] = (object(), object(), None)  # the parameters of the last call, and what answers


def GRR_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> int:
    """Return the randomized value of one user."""
    global _latest
    last_k, last_epsilon, answer = _latest
    if rng is not None or k is not last_k or epsilon is not last_epsilon:  # to look parameters up would take as long as the rest
        drawn = ahead(GRR, SYMBOL, k, epsilon)
        if rng is not None:
            return int(seeded(drawn, SYMBOL, input_data, rng))
        answer = drawn.answer
        if lasting((k, epsilon)):
            _latest = k, epsilon, answer
    value: int = answer(input_data)
    return value


def GRR_Aggregator_MI(reports: Any, k: int, epsilon: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return normalised(ahead(GRR, SYMBOL, k, epsilon).protocol.tally(some(reports)))


def GRR_Aggregator_IBU(reports: Any, k: int, epsilon: float, nb_iter: int = 10000, tol: float = 1e-12, err_func: str = "max_abs") -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    protocol = ahead(GRR, SYMBOL, k, epsilon).protocol
    return updated(protocol.tally(some(reports)), protocol.channel, nb_iter, tol, err_func)


GRR_Aggregator = GRR_Aggregator_MI
