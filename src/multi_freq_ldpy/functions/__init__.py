"""What the functions of the paper's interface share: one cached protocol a parameter set, reports drawn ahead, lists of reports.

A client function is called once a user, so noise is drawn for many users at a time, as reports about value 0, and each is used
once: every protocol here has, for each value v, a bijection of reports that turns the law for 0 into the law for v.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check, postprocess
from ..channel import Channel
from ..protocol import Protocol
from ..randomness import Stream
from ..tally import Tally

R = TypeVar("R")
Vector = NDArray[np.float64]


class Ahead:
    """Reports about value 0, drawn many at a time with the operating system's randomness, each handed out once.

    ``draw(protocol, users)`` makes them; ``protocol`` may be a solution, and value 0 a record of zeros.
    """

    def __init__(self, protocol: Any, draw: Callable[[Any, int], Sequence[Any]]) -> None:
        self.protocol = protocol
        self._draw = draw
        self._drawn: list[Any] = []
        _pools.add(self)

    def next(self) -> Any:
        """Return a report that nobody has had yet."""
        try:
            return self._drawn.pop()
        except IndexError:
            drawn = list(self._draw(self.protocol, max(1, min(4096, 2**15 // self.protocol.report_bytes))))
            last = drawn.pop()
            self._drawn.extend(drawn)
            return last


_pools: weakref.WeakSet[Ahead] = weakref.WeakSet()


def _forget() -> None:
    """Forget, in a forked child, what the parent may use."""
    for pool in _pools:
        pool._drawn.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def cached(function: Callable[..., R]) -> Callable[..., R]:
    """Remember results by parameters and their types."""
    remembered = lru_cache(maxsize=512, typed=True)(function)

    @wraps(function)
    def lookup(*parameters: Any) -> R:
        try:
            return remembered(*parameters)
        except TypeError:  # a parameter that cannot be looked up is a wrong one: the function itself says which
            return function(*parameters)

    return lookup


@cached
def ahead(factory: Callable[..., Protocol], unpack: Callable[[Any, Any], Sequence[Any]], *parameters: Any) -> Ahead:
    """Return the reports drawn ahead for a protocol with these parameters; ``unpack`` makes a list of an array of reports."""
    return Ahead(factory(*parameters), lambda protocol, users: unpack(protocol, protocol.randomize(np.zeros(users, np.int64))))


def value_of(input_data: Any, k: int, name: str = "input_data") -> int:
    """Return a user's value, checked."""
    if type(input_data) is int and 0 <= input_data < k:
        return input_data
    return _check.Integer(0, k - 1)(name, input_data)


def fresh(rng: Any) -> Any:
    """Return the rng of a client if it moves on from call to call: another would give every user the same noise."""
    if not isinstance(rng, Stream | np.random.Generator):
        raise TypeError(
            f"rng of a client must be a Stream or a Generator, not {_check.shown(rng)}, which would repeat the noise for every user"
        )
    return rng


def some(reports: Any) -> Any:
    """Return the reports if there are any."""
    if hasattr(reports, "__array__"):  # a DataFrame, say
        reports = _check.plain("reports", reports)
    if not isinstance(reports, Iterable) or isinstance(reports, str | bytes | Mapping | Set):
        raise TypeError(f"reports must be a list or an array of reports, not {_check.shown(reports)}")
    if not hasattr(reports, "__len__"):
        reports = list(reports)
    if len(reports) == 0:
        raise ValueError(f"reports must not be empty: {_check.shown(reports)}")
    return reports


def packed(protocol: Protocol, reports: Any) -> bool:
    """Tell whether the reports are an array as ``protocol.randomize`` makes it."""
    empty = np.empty(0, protocol.report_dtype)
    return isinstance(reports, np.ndarray) and reports.dtype == empty.dtype and reports.shape[1:] == empty.shape[1:]


def tally_rows(protocol: Protocol, reports: Any, support: Callable[[Vector], NDArray[Any]]) -> Tally:
    """Return the tally of rows of length k, given what a row supports."""
    return Tally(protocol, count_rows(protocol.k, reports, support), len(reports))


def count_rows(k: int, reports: Any, support: Callable[[Vector], NDArray[Any]]) -> NDArray[np.int64]:
    """Count rows of length k, given what a row supports; blocks of rows are converted at a time."""
    counts = np.zeros(k, np.int64)
    step = max(1, 2**20 // k)
    for i in range(0, len(reports), step):
        part = reports[i : i + step]
        try:
            block = np.asarray(part)
        except (TypeError, ValueError):
            block = np.empty(0)
        if block.ndim != 2 or block.shape[1] != k or block.dtype.kind not in "iufb" or any(map(_masked, part)):
            bad = next((j for j, row in enumerate(part) if _check.shape(row) != (k,) or _masked(row)), 0)
            raise ValueError(f"reports[{i + bad}] must be a row of k={k} numbers, not {_check.shown(part[bad])}")
        counts += support(block.astype(np.float64, copy=False)).sum(axis=0, dtype=np.int64)
    return counts


def _masked(row: Any) -> bool:
    return isinstance(row, np.ma.MaskedArray) and bool(np.ma.getmaskarray(row).any())


def row_length(reports: Any) -> int:
    """Return the length of the first row: the domain size, where a signature does not say it."""
    shape = np.shape(reports[0])
    if len(shape) != 1:
        raise ValueError(f"reports must be rows, one entry a value, not of shape {shape}")
    return int(shape[0])


def zeros_and_ones(block: Vector) -> NDArray[Any]:
    """Return a block of rows of 0 and 1 as integers."""
    ones = block == 1
    if not (ones | (block == 0)).all():
        raise ValueError(f"reports must be rows of 0 and 1, not {_check.shown(block[~(ones | (block == 0))][0])}")
    return np.asarray(ones)


def normalised(tally: Tally) -> Vector:
    """Return the paper's default estimate: clipped at 0 and divided by the sum."""
    return np.array(tally.protocol.estimate(tally).norm())


def updated(tally: Tally, channel: Channel, nb_iter: Any, tol: Any, err_func: Any) -> Vector:
    """Return the iterative Bayesian update on the counts, with the channel's matrix scaled to rows that add up to 1."""
    iterations, tolerance, error = iteration(nb_iter, tol, err_func)
    k, p, q = len(tally.counts), float(channel.p), float(channel.q)
    matrix = (np.full((k, k), q) + (p - q) * np.eye(k)) / (p + (k - 1) * q)
    total = tally.counts.sum()
    observed = tally.counts / total if total else np.full(k, 1 / k)
    return postprocess.ibu(matrix, observed, iterations, tolerance, error)


def iteration(nb_iter: Any, tol: Any, err_func: Any) -> tuple[int, float, str]:
    """Return the parameters of an iteration, checked."""
    tolerance = _check.budget("tol", tol)
    return _check.Integer(1, 2**62)("nb_iter", nb_iter), tolerance, _check.choice("err_func", err_func, tuple(postprocess.ERRORS))


def chances(p: Any, q: Any, names: tuple[str, str] = ("p", "q")) -> tuple[Vector, Vector]:
    """Return the probabilities of the own and of another value, each a number or an array, checked."""
    own, other = _check.numbers(names[0], p, 0, 1), _check.numbers(names[1], q, 0, 1)
    if not (own > other).all():
        raise ValueError(f"{names[0]} must be greater than {names[1]}, not {names[0]}={_check.shown(p)}, {names[1]}={_check.shown(q)}")
    return own, other


def plainly(result: Any) -> Any:
    """Return a result of no dimensions as a float."""
    return float(result) if np.ndim(result) == 0 else result
