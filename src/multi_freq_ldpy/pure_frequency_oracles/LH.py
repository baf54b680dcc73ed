"""Local hashing as functions: optimal (OLH) or, with ``optimal=False``, binary (BLH).

>>> reports = [LH_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> LH_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from typing import Any

from .. import _check
from ..functions import Ahead, Vector, ahead, fresh, normalised, some, updated, value_of
from ..functions.forms import PAIR
from ..protocols.hashing import BLH, OLH
from ..randomness import Rng
from ..tally import Tally


def _drawn(k: int, epsilon: float, optimal: bool) -> Ahead:
    return ahead(OLH if _check.flag("optimal", optimal) else BLH, PAIR.unpack, k, epsilon)


def _tally(reports: Any, k: int, epsilon: float, optimal: bool) -> Tally:
    reports = some(reports)
    return PAIR.tally(_drawn(k, epsilon, optimal).protocol, reports)


def LH_Client(input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None) -> tuple[int, int]:
    """Return the randomized hashed value of one user and the seed of the hash function."""
    drawn = _drawn(k, epsilon, optimal)
    value = value_of(input_data, k)
    if rng is None:
        pair: tuple[int, int] = PAIR.about(drawn.protocol, drawn.next(), value)
        return pair
    seed, symbol = drawn.protocol.randomize(value, fresh(rng)).tolist()
    return symbol, seed


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
