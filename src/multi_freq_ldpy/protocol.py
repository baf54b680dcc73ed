"""A protocol: one attribute, its domain size and its budgets; client and aggregator are both its methods."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check, parallel, postprocess
from .channel import Channel
from .estimate import Estimate
from .privacy import Privacy
from .randomness import Rng, Source, as_stream
from .tally import Tally

LARGEST_LAW = 2**20
BATCH = 2**16


def declared(check: Any) -> Any:
    """Declare a field of a protocol by its validator: it is applied in the constructor, and bad values are generated from it."""
    return field(metadata={"check": check})


@dataclass(frozen=True)
class Protocol(ABC):
    """Base of all protocols: the verbs, in terms of a few hooks.

    A subclass is a frozen dataclass that declares its fields (domain, budgets, options), ``channel``, ``privacy``,
    ``report_dtype``, ``_randomize``, ``contributions`` and ``law``; it may say what no honest client sends (``_refused``), count faster
    than the reference (``_count``) and simulate without reports (``_simulate``).
    """

    k: int = declared(_check.domain_size)

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, each.metadata["check"](each.name, getattr(self, each.name)))
        _ = self.channel, self.privacy  # parameters that cannot be realised are refused here, not at the first report

    # What a subclass declares

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The moments of a report's contributions, with the probabilities as realised."""

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """What is promised, exactly."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report, possibly with a shape: reports are ``np.empty(n, report_dtype)``."""

    @abstractmethod
    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        """Write a report for each value into ``out``, with the randomness of ``source``."""

    @abstractmethod
    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value, shape (n, k): the reference for counting."""

    @abstractmethod
    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact probability."""

    # What a subclass may do better

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports that no honest client can send."""
        return np.zeros(len(reports), np.bool_)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the contributions added up over reports."""
        step = max(1, 2**22 // self.k)
        parts = (self.contributions(reports[i : i + step]) for i in range(0, len(reports), step))
        return sum((part.sum(axis=0, dtype=np.int64) for part in parts), np.zeros(self.k, np.int64))

    def _draw_and_count(self, values: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        """Return the counts of the reports that ``_randomize`` would write; a kernel need not keep them."""
        out = np.empty(len(values), self.report_dtype)
        self._randomize(values, source, out)
        return self._count(_readonly(out))

    def _simulate(self, counts: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Draw the counts of a tally given how many users hold each value: here by drawing and counting, batch by batch."""
        ends = np.cumsum(counts)
        n = int(ends[-1])
        source = Source.of(as_stream(rng), self._label, n)
        step = max(1, min(BATCH, 2**24 // self.report_bytes))
        totals: list[NDArray[np.int64]] = []

        def job(low: int, high: int) -> None:
            total = np.zeros(self.k, np.int64)
            for start in range(low, high, step):
                stop = min(high, start + step)
                first, last = np.searchsorted(ends, (start, stop - 1), side="right")
                edges = np.clip(ends[first : last + 1], start, stop)
                held = edges - np.concatenate(([start], edges[:-1]))
                total += self._draw_and_count(_readonly(np.repeat(np.arange(first, last + 1), held)), source.skip(start))
            totals.append(total)

        parallel.ranges(n, job)
        return np.asarray(np.sum(totals, axis=0))

    # The verbs

    def randomize(self, values: ArrayLike, rng: Rng = None) -> Any:
        """Return a report for each user: a number gives one report, a vector a vector of reports.

        ``rng=None`` uses the operating system's randomness, as real collection must. An int, ``SeedSequence`` or ``Generator``
        makes the reports reproducible; the same int gives the same noise at every call, so for several batches pass a ``Stream``.
        """
        vector, single = _check.values("values", values, self.k)
        source = Source.of(as_stream(rng), self._label, len(vector))
        reports = np.empty(len(vector), self.report_dtype)
        vector = _readonly(vector)

        def job(low: int, high: int) -> None:
            self._randomize(vector[low:high], source.skip(low), reports[low:high])

        parallel.ranges(len(vector), job)
        return reports[0] if single else reports

    def tally(self, reports: Any) -> Tally:
        """Count reports: an array or list of them, or an iterable of batches, which needs no more memory than one batch."""
        total = Tally(self, np.zeros(self.k, np.int64), 0)
        for batch in self._batches(reports):
            parts: list[NDArray[np.int64]] = []
            parallel.ranges(len(batch), lambda low, high, b=batch, p=parts: p.append(self._count(b[low:high])))  # type: ignore[misc]
            total = total + Tally(self, np.sum(parts, axis=0), len(batch))
        return total

    def estimate(self, reports: Any) -> Estimate:
        """Return the unbiased frequencies with their errors, from a tally or from reports."""
        tally = reports if isinstance(reports, Tally) else self.tally(reports)
        if tally.protocol != self:
            raise ValueError(f"tally was counted by {tally.protocol!r}, not by {self!r}")
        return Estimate.of(tally)

    def simulate(self, counts: ArrayLike, rng: Rng = None) -> Tally:
        """Draw a tally from its exact law, given how many users hold each value; no report is kept in memory."""
        held = _check.histogram("counts", counts, self.k)
        stream = rng if isinstance(rng, np.random.Generator) else as_stream(rng)
        n = int(held.sum())
        return Tally(self, self._simulate(held, stream) if n else np.zeros(self.k, np.int64), n)

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> Any:
        """Return the variance of an estimated frequency whose true value among the n users is f."""
        users = _check.integers("n", n, 0, 2**62, what="a number of users")
        share = np.asarray(f)
        if share.dtype.kind not in "fiu" or not ((share >= 0) & (share <= 1)).all():
            raise ValueError(f"f must be in [0, 1], not {f!r}")
        return self.channel.variance(users, share)

    def em(self, reports: Any, iterations: int = 10_000, tol: float = 1e-3) -> Estimate:
        """Return the maximum-likelihood distribution given the reports themselves, which hold more than their counts do.

        It ends when the logarithm of the likelihood is certainly within ``tol`` of its maximum, and warns if ``iterations``
        were not enough for that.
        """
        steps, slack = _check.Integer(1, 2**62)("iterations", iterations), _check.budget("tol", tol)
        every = np.concatenate([np.empty(0, self.report_dtype), *self._batches(reports)])
        frequencies = postprocess.em(self, every, self._likelihood_ratio, steps, slack)
        return Estimate(frequencies, len(every), self.channel, method="em")

    @property
    def report_bytes(self) -> int:
        """The length of a report on the wire."""
        return self.report_dtype.itemsize

    # What the verbs share

    @property
    def _likelihood_ratio(self) -> float:
        """How much likelier a report is for the values it supports than for the others."""
        raise TypeError(f"{type(self).__name__} does not support exactly the values that are likelier: no maximum likelihood")

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which values are likelier than the others given each report."""
        return self.contributions(reports) > 0

    def _fields(self) -> dict[str, Any]:
        return {"protocol": type(self).__name__, **{each.name: getattr(self, each.name) for each in fields(self)}}

    @cached_property
    def _label(self) -> bytes:
        """What separates this protocol's randomness from that of every other on the same stream."""
        import json

        return json.dumps(self._fields(), sort_keys=True).encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        """Refuse counts that no reports have."""
        if counts.shape != (self.k,):
            raise ValueError(f"counts must have shape ({self.k},), one entry a value, not {counts.shape}")
        if n.ndim:
            raise ValueError(f"n must be a number, because every report speaks of every value, not {n!r}")
        if self.channel.binary and ((counts < 0) | (counts > n)).any():
            v = int(np.argmax((counts < 0) | (counts > n)))
            raise ValueError(f"counts[{v}] = {counts[v]} is outside [0, n={n}]")

    def _check_law(self, value: object, size: int) -> int:
        """Return ``value`` checked, if all ``size`` reports can be listed."""
        if size > LARGEST_LAW:
            raise ValueError(f"law lists every report: k={self.k} has too many, 2**{size.bit_length() - 1} or more")
        return _check.Integer(0, self.k - 1)("value", value)

    def _as_reports(self, reports: Any) -> NDArray[Any]:
        """Return one report or many as a contiguous array of the report dtype, or refuse them."""
        empty = np.empty(0, self.report_dtype)
        array = _check.plain("reports", reports)
        if array.shape == (0,):
            return empty
        shape = array.shape
        if array.ndim == empty.ndim - 1 and isinstance(reports, np.ndarray | np.generic):
            array = array[np.newaxis]
        if array.ndim != empty.ndim or array.shape[1:] != empty.shape[1:]:
            raise ValueError(f"reports must have shape {('n', *empty.shape[1:])}, not {shape}: {reports!r}")
        if array.dtype != empty.dtype:
            if empty.dtype.kind not in "iu" or array.dtype.kind not in "iu":
                raise TypeError(f"reports must have dtype {empty.dtype}, not {array.dtype} (such as {array.flat[0]!r})")
            bounds = np.iinfo(empty.dtype)
            _check.within("reports", array, int(bounds.min), int(bounds.max), f"not a report of {self!r}")
        result = np.ascontiguousarray(array, empty.dtype)
        refused = self._refused(result)
        if refused.any():
            i = int(np.argmax(refused))
            raise ValueError(f"reports[{i}] = {result[i]} is not a report of {self!r}")
        return _readonly(result)

    def _batches(self, reports: Any) -> Iterator[NDArray[Any]]:
        """Yield checked batches of an array, a list of reports, or an iterable of reports or batches."""
        batch_ndim = np.empty(0, self.report_dtype).ndim
        iterable = hasattr(reports, "__array__") or isinstance(reports, Iterable)
        if not iterable or isinstance(reports, Tally | str | bytes | Mapping | Set):
            raise TypeError(f"reports must be an array, a list or an iterable of batches, not {reports!r}")
        listed = isinstance(reports, list | tuple) and (not reports or np.ndim(reports[0]) < batch_ndim)
        if listed or hasattr(reports, "__array__"):
            yield self._as_reports(reports)
            return
        parts = iter(reports)
        for part in parts:
            if np.ndim(part) == batch_ndim - 1:  # single reports: gather as many as make a batch
                part = [part, *islice(parts, BATCH - 1)]
            yield self._as_reports(part)


def _readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written: kernels then see one type, whether the caller's array was writable or not."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True)
class OneShot(Protocol):
    """A protocol of one budget, reported once: every further report about the same value costs as much again."""

    epsilon: float = declared(_check.budget)

    @property
    @abstractmethod
    def moments(self) -> Channel:
        """The channel in exact fractions."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""

    @cached_property
    def channel(self) -> Channel:
        """The moments of a report's contributions, with the probabilities as realised."""
        return self.moments.rounded()

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised, exactly; never more than ``epsilon``."""
        return Privacy.one_shot(self.ratio)

    @property
    def _likelihood_ratio(self) -> float:
        return float(min(self.ratio, Fraction(10**300)))
