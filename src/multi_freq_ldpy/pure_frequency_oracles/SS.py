"""Subset selection as functions.

>>> reports = [SS_Client(value, k=4, epsilon=2.0) for value in [0, 1, 1, 1, 2] * 2000]
>>> SS_Aggregator(reports, k=4, epsilon=2.0).round(1)
array([0.2, 0.6, 0.2, 0. ])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..functions import Vector, ahead, fresh, normalised, packed, some, updated, value_of
from ..protocols.packed import unpack
from ..protocols.subset import SS
from ..randomness import Rng
from ..tally import Tally


def _unpack(protocol: SS, reports: Any) -> Sequence[NDArray[np.int64]]:
    return list(np.nonzero(unpack(reports, protocol.k))[1].reshape(len(reports), protocol.omega))


def _tally(reports: Any, k: int, epsilon: float) -> Tally:
    reports = some(reports)
    protocol = ahead(SS, _unpack, k, epsilon).protocol
    assert isinstance(protocol, SS)
    if packed(protocol, reports):
        return protocol.tally(reports)
    sets = np.sort(_check.integers("reports", reports, 0, k - 1, what=f"a value is one of 0, …, k − 1 with k={k}"))
    if sets.ndim != 2 or sets.shape[1] != protocol.omega or (np.diff(sets, axis=1) == 0).any():
        raise ValueError(f"reports must be sets of {protocol.omega} different values, not {reports[0]!r} among others")
    return Tally(protocol, np.bincount(sets.reshape(-1), minlength=k), len(sets))


def SS_Client(input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> NDArray[np.int64]:
    """Return the randomized set of one user, its values in ascending order."""
    drawn = ahead(SS, _unpack, k, epsilon)
    value = value_of(input_data, k)
    if rng is not None:
        return np.flatnonzero(unpack(drawn.protocol.randomize([value], fresh(rng)), k)[0])
    return np.sort((drawn.next() + value) % k)


def SS_Aggregator_MI(reports: Any, k: int, epsilon: float) -> Vector:
    """Return the estimated frequencies, clipped at 0 and normalised."""
    return normalised(_tally(reports, k, epsilon))


def SS_Aggregator_IBU(reports: Any, k: int, epsilon: float, nb_iter: int = 10000, tol: float = 1e-12, err_func: str = "max_abs") -> Vector:
    """Return the estimated frequencies by iterative Bayesian update."""
    tally = _tally(reports, k, epsilon)
    return updated(tally, tally.protocol.channel, nb_iter, tol, err_func)


SS_Aggregator = SS_Aggregator_MI
