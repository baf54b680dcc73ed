"""Local hashing as functions: optimal (OLH) or, with ``optimal=False``, binary (BLH).

>>> reports = [LH_Client(value, k=3, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> LH_Aggregator(reports, k=3, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _check
from ..functions import Ahead, Vector, ahead, fresh, normalised, packed, some, updated, value_of
from ..protocols.hashing import BLH, OLH, LocalHashing
from ..randomness import Rng
from ..tally import Tally


def _unpack(protocol: LocalHashing, reports: Any) -> Sequence[tuple[int, int]]:
    """Return (noise, seed) pairs: what was added to the bucket of value 0, which is the bucket of the shift alone."""
    pairs: list[tuple[int, int]] = reports.tolist()
    prime, g = protocol.prime, protocol.g
    return [((symbol - g * (seed % prime) // prime) % g, seed) for seed, symbol in pairs]


def _drawn(k: int, epsilon: float, optimal: bool) -> Ahead:
    return ahead(OLH if _check.flag("optimal", optimal) else BLH, _unpack, k, epsilon)


def _tally(reports: Any, k: int, epsilon: float, optimal: bool) -> Tally:
    reports = some(reports)
    protocol = _drawn(k, epsilon, optimal).protocol
    if packed(protocol, reports):
        return protocol.tally(reports)
    pairs = _check.plain("reports", reports)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"reports must be pairs (value, seed) of integers, not {reports[0]!r} among others")
    result = np.empty(len(pairs), protocol.report_dtype)
    for column, name in enumerate(("symbol", "seed")):
        field = result.dtype[name]
        _check.within(f"{name} of reports", pairs[:, column], 0, int(np.iinfo(field).max), f"not a report of {protocol!r}")
        result[name] = pairs[:, column]
    return protocol.tally(result)


def LH_Client(input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None) -> tuple[int, int]:
    """Return the randomized hashed value of one user and the seed of the hash function."""
    drawn = _drawn(k, epsilon, optimal)
    value = value_of(input_data, k)
    protocol = drawn.protocol
    assert isinstance(protocol, LocalHashing)
    if rng is not None:
        seed, symbol = protocol.randomize(value, fresh(rng)).tolist()
        return symbol, seed
    noise, seed = drawn.next()
    prime, g = protocol.prime, protocol.g
    residue = ((1 + seed // prime) * value + seed % prime) % prime
    return (g * residue // prime + noise) % g, seed


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
