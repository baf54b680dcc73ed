"""Local hashing as functions: optimal (OLH) or, with ``optimal=False``, binary (BLH).

>>> reports = [LH_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> LH_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from .. import _check
from ..functions import Ahead, Vector, latest, normalised, some, updated
from ..functions.forms import PAIR, ahead, seeded
from ..protocols.hashing import BLH, OLH
from ..randomness import Rng
from ..tally import Tally


@latest
def _drawn(k: int, epsilon: float, optimal: bool) -> Ahead:
    return ahead(OLH if _check.flag("optimal", optimal) else BLH, PAIR, k, epsilon)


def _tally(reports: Any, k: int, epsilon: float, optimal: bool) -> Tally:
    reports = some(reports)
    return PAIR.tally(_drawn(k, epsilon, optimal).protocol, reports)


def LH_Client(input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None) -> tuple[int, int]:
    """Return the randomized hashed value of one user and the seed of the hash function."""
    drawn = _drawn(k, epsilon, optimal)
    pair: tuple[int, int] = drawn.answer(input_data) if rng is None else seeded(drawn, PAIR, input_data, rng)
    return pair


def LH_Aggregator_MI(reports: Any, k: int, epsilon: float, optimal: bool = True) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return normalised(_tally(reports, k, epsilon, optimal))


def LH_Aggregator_IBU(
    reports: Any,
    k: int,
    epsilon: float,
    optimal: bool = True,
    nb_iter: int = 10000,
    tol: float = 1e-12,
    err_func: str = "max_abs",
) -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = _tally(reports, k, epsilon, optimal)
    return updated(tally, tally.protocol.channel, nb_iter, tol, err_func)


LH_Aggregator = LH_Aggregator_MI
