"""Code that the functions of the paper share.

It keeps one protocol per set of parameters, draws reports ahead, and reads lists of reports.

A client function is called once per user, so noise is drawn for many users at a time. It is drawn
as reports about value 0, and each report is used once. This is possible because every protocol here
has, for each value v, a bijection of reports. The bijection turns the distribution for 0 into the
distribution for v.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache, wraps
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import draws, randomness, validate
from ..core.channel import Channel
from ..core.randomness import Stream
from ..core.tally import Tally
from ..estimation import postprocess
from ..mechanism import Mechanism
from ..protocol import Protocol

R = TypeVar("R")
Vector = NDArray[np.float64]
_ALL = np.empty(0, np.int64)
Sent: TypeAlias = Iterable[object]
"""Reports that clients returned, or an array of reports."""
Row: TypeAlias = ArrayLike
"""A record: one value per attribute."""
Ks: TypeAlias = Sequence[int] | NDArray[Any]
"""Domain sizes, or other numbers: one per attribute."""


class Ahead:
    """Reports about value 0 that are drawn many at a time and handed out once each.

    The operating system's randomness is used. ``unpack(mechanism, reports)`` makes a list of the
    reports. ``answering(pop, refill)`` makes ``answer``, which turns one report into the answer for
    a user's input. ``pop`` takes one report. If no report is left, ``refill`` draws more reports
    and returns one. ``check`` returns a user's input, checked. ``zero`` is value 0. If
    ``mechanism`` is a solution, ``zero`` is a record of zeros.
    """

    def __init__(
        self,
        mechanism: Any,
        zero: int | list[int],
        check: Callable[[Any], Any],
        unpack: Callable[[Any, Any], Sequence[Any]],
        answering: Callable[..., Callable[[Any], Any]],
    ) -> None:
        self.mechanism = mechanism
        self._zero, self._check, self._unpack, self._answering = zero, check, unpack, answering
        self._drawn: list[Any] = []
        self.answer = answering(self._drawn.pop, self._refill)
        _pools.add(self)

    def answer_with(self, rng: Any, given: Any) -> Any:
        """Return the answer for a user's input, drawn with a given ``rng``."""
        drawn = self._draw([self._check(given)], require_stateful_rng(rng))
        # The report is about the input already
        return self._answering(drawn.pop, drawn.pop)(self._zero)

    def _draw(self, values: Any, rng: Any = None) -> list[Any]:
        return list(self._unpack(self.mechanism, self.mechanism.randomize(values, rng)))

    def _refill(self) -> Any:
        users = max(1, min(4096, 2**15 // self.mechanism.report_bytes))
        zeros = np.zeros((users, *np.shape(self._zero)), np.int64)
        while True:
            before = randomness._forks
            drawn = self._draw(zeros)
            if randomness._forks == before:  # else parent and child hold the same reports
                break
        last = drawn.pop()
        self._drawn.extend(drawn)
        return last


_pools: weakref.WeakSet[Ahead] = weakref.WeakSet()


def _forget() -> None:
    """Forget reports that a forked child and its parent would both use."""
    for pool in _pools:
        pool._drawn.clear()


if hasattr(os, "register_at_fork"):
    # Also before the fork: other handlers may use reports first in the child
    os.register_at_fork(before=_forget, after_in_child=_forget)


def remember_by_parameters(function: Callable[..., R]) -> Callable[..., R]:
    """Remember results by the parameters and their types."""
    remembered = lru_cache(maxsize=512, typed=True)(function)

    @wraps(function)
    def lookup(*parameters: Any, **named: Any) -> R:
        try:
            return remembered(*parameters, **named)
        # A parameter that cannot be looked up is wrong: the function itself names it
        except TypeError:
            return function(*parameters, **named)

    return lookup


def is_immutable(parameters: Iterable[Any]) -> bool:
    """Tell whether all parameters have types that cannot be changed in place.

    The same object is then always the same value.
    """
    return all(
        type(each) in (int, float, bool, np.int64, np.int32, np.float64, np.float32)
        for each in parameters
    )


def value_of(input_data: Any, k: int, name: str = "input_data") -> int:
    """Return a user's value, checked."""
    if type(input_data) is int and 0 <= input_data < k:
        return input_data
    return validate.Integer(0, k - 1)(name, input_data)


def require_stateful_rng(rng: Any) -> Any:
    """Return the ``rng`` of a client if it moves on from call to call.

    Any other kind would give every user the same noise.
    """
    if not isinstance(rng, Stream | np.random.Generator):
        raise TypeError(
            f"rng of a client must be a Stream or a Generator, not {validate.quote(rng)}, which"
            " would repeat the noise for every user"
        )
    return rng


def require_reports(reports: Any) -> Any:
    """Return the reports, and refuse an empty collection."""
    if hasattr(reports, "__array__"):  # for example a DataFrame
        reports = validate.as_array("reports", reports)
    if not isinstance(reports, Iterable) or isinstance(reports, str | bytes | Mapping | Set):
        raise TypeError(
            f"reports must be a list or an array of reports, not {validate.quote(reports)}"
        )
    if not hasattr(reports, "__len__"):
        reports = list(reports)
    if len(reports) == 0:
        raise ValueError(f"reports must not be empty: {validate.quote(reports)}")
    return reports


def is_packed(mechanism: Mechanism, reports: Any) -> bool:
    """Tell whether the reports are an array that ``mechanism.randomize`` makes."""
    empty = np.empty(0, mechanism.report_dtype)
    return (
        isinstance(reports, np.ndarray)
        and reports.dtype == empty.dtype
        and reports.shape[1:] == empty.shape[1:]
    )


def tally_rows(
    protocol: Protocol, reports: Any, support: Callable[[Vector], NDArray[Any]]
) -> Tally:
    """Return the tally of rows of length k, given the values that a row supports."""
    return Tally._trust(
        protocol, count_rows(protocol.k, reports, support), len(reports), len(reports)
    )


def count_rows(
    k: int, reports: Any, support: Callable[[Vector], NDArray[Any]]
) -> NDArray[np.int64]:
    """Count rows of length k.

    ``support`` returns the sum of the support of a block of rows. Blocks come in order.
    """
    counts: Any = 0
    step = max(1, min(len(reports), 2**17 // k))
    # One buffer for all blocks: new memory would take longer than the rest
    buffer = np.empty(step * k)
    for i in range(0, len(reports), step):
        part = reports[i : i + step]
        block = _block(part, k, buffer[: len(part) * k])
        if block.ndim != 2 or block.shape[1] != k or block.dtype.kind not in "iufb":
            bad = next(
                (j for j, row in enumerate(part) if validate.shape_of(row) != (k,) or _masked(row)),
                0,
            )
            raise ValueError(
                f"reports[{i + bad}] must be a row of k={k} numbers, not"
                f" {validate.quote(part[bad])}"
            )
        counts = counts + support(block.astype(np.float64, copy=False))
    return np.asarray(counts)


def _block(rows: Any, k: int, buffer: Vector) -> NDArray[Any]:
    """Return rows as an array, in the buffer where possible.

    The array has another shape if the rows are not all of length k.
    """
    try:
        if (
            isinstance(rows, list | tuple)
            and set(map(type, rows)) == {np.ndarray}
            and set(map(len, rows)) == {k}
        ):
            # Faster than ``np.asarray`` on the list
            return np.concatenate(rows, out=buffer).reshape(len(rows), k)
        return np.empty(0) if any(map(_masked, rows)) else np.asarray(rows)
    except (TypeError, ValueError):
        return np.empty(0)


def _masked(row: Any) -> bool:
    return validate.is_masked_array(row) and bool(np.ma.getmaskarray(row).any())


def row_length(reports: Any) -> int:
    """Return the length of the first row, which is the domain size if ``k`` is not given."""
    shape = np.shape(reports[0])
    if len(shape) != 1:
        raise ValueError(f"reports must be rows, one entry per value, not of shape {shape}")
    return int(shape[0])


def sum_bits(block: Vector) -> NDArray[np.int64]:
    """Add up rows of 0 and 1."""
    return sum_bits_by_group(1, _ALL, block).reshape(-1)


def sum_bits_by_group(groups: int, which: NDArray[np.int64], block: Vector) -> NDArray[np.int64]:
    """Add up rows of 0 and 1 by group."""
    sums = np.zeros((groups, block.shape[1]))
    bit_counts = draws.choose("bit_counts", block.size)
    if not bit_counts.add_rows(np.ascontiguousarray(block), which, sums):
        raise ValueError(
            "reports must be rows of 0 and 1, not"
            f" {validate.quote(block[(block != 1) & (block != 0)][0])}"
        )
    return sums.astype(np.int64)


def estimate_normalised(tally: Tally) -> Vector:
    """Return the paper's default estimate: clipped at 0 and divided by the sum."""
    return np.array(tally.mechanism.estimate(tally).norm())


def estimate_by_update(
    tally: Tally, channel: Channel, nb_iter: Any, tol: Any, err_func: Any
) -> Vector:
    """Return the iterative Bayesian update on the counts.

    The channel's matrix is scaled so that each row adds up to 1.
    """
    iterations, tolerance, error = check_iteration(nb_iter, tol, err_func)
    k, p, q = len(tally.counts), float(channel.p), float(channel.q)
    whole = p + (k - 1) * q
    total = tally.counts.sum()
    observed = tally.counts / total if total else np.full(k, 1 / k)
    return postprocess.ibu(
        postprocess.Even(k, p / whole, q / whole), observed, iterations, tolerance, error
    )


def check_iteration(nb_iter: Any, tol: Any, err_func: Any) -> tuple[int, float, str]:
    """Return the parameters of an iteration, checked."""
    tolerance = validate.budget("tol", tol)
    return (
        validate.Integer(1, 2**62)("nb_iter", nb_iter),
        tolerance,
        validate.choice("err_func", err_func, tuple(postprocess.ERRORS)),
    )


def check_probabilities(
    p: Any, q: Any, names: tuple[str, str] = ("p", "q")
) -> tuple[Vector, Vector]:
    """Return the probabilities of the own value and of another value, checked.

    Each is a number or an array.
    """
    own, other = validate.numbers(names[0], p, 0, 1), validate.numbers(names[1], q, 0, 1)
    if not (own > other).all():
        raise ValueError(
            f"{names[0]} must be greater than {names[1]}, not {names[0]}={validate.quote(p)},"
            f" {names[1]}={validate.quote(q)}"
        )
    return own, other


def as_float(result: Any) -> Any:
    """Return a result without dimensions as a float."""
    return float(result) if np.ndim(result) == 0 else result
