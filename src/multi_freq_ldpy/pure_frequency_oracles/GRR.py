"""Generalized randomized response as functions.

>>> reports = [GRR_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> GRR_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from ..functions import Vector, ahead, fresh, normalised, some, updated, value_of
from ..functions.forms import SYMBOL
from ..protocols.grr import GRR
from ..randomness import Rng


def GRR_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> int:
    """Return the randomized value of one user."""
    drawn = ahead(GRR, SYMBOL.unpack, k, epsilon)
    value = value_of(input_data, k)
    if rng is not None:
        return int(drawn.protocol.randomize(value, fresh(rng)))
    return (value + int(drawn.next())) % int(k)


def GRR_Aggregator_MI(reports: Any, k: int, epsilon: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return normalised(ahead(GRR, SYMBOL.unpack, k, epsilon).protocol.tally(some(reports)))


def GRR_Aggregator_IBU(reports: Any, k: int, epsilon: float, nb_iter: int = 10000, tol: float = 1e-12, err_func: str = "max_abs") -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    protocol = ahead(GRR, SYMBOL.unpack, k, epsilon).protocol
    return updated(protocol.tally(some(reports)), protocol.channel, nb_iter, tol, err_func)


GRR_Aggregator = GRR_Aggregator_MI
