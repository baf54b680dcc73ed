"""What a protocol for one attribute and a solution over several have in common.

Reports are drawn, checked and counted.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .core import parallel, validate
from .core.privacy import Privacy
from .core.randomness import Rng, Source, Stream, as_stream
from .core.tally import Tally

LARGEST_LAW = 2**20
BATCH = 2**16


class Mechanism(ABC):
    """Base of ``Protocol`` and ``Solution``.

    Turns inputs into reports of a fixed dtype, and reports into counts.
    """

    # What a subclass declares

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """What is promised, exactly."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report, possibly with a shape.

        Reports are ``np.empty(n, report_dtype)``.
        """

    @property
    @abstractmethod
    def parts(self) -> tuple[tuple[Any, slice], ...]:
        """For each attribute, as what the aggregator sees it (a channel and a domain), and where
        its counts are.
        """

    @property
    @abstractmethod
    def answering(self) -> tuple[Fraction, ...]:
        """For each attribute, the probability that a report speaks of a given value of it."""

    @abstractmethod
    def _inputs(self, name: str, given: object) -> tuple[NDArray[np.int64], bool]:
        """Return inputs as an array with a user a row, checked, and whether a single user's was
        given.
        """

    @abstractmethod
    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        """Write a report for each input into ``out``, with the randomness of ``source``."""

    @abstractmethod
    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value: the reference for counting."""

    @abstractmethod
    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        """Refuse counts that no reports have."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """Return what makes this object, for JSON."""

    # What a subclass may do better

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports that no honest client can send."""
        return np.zeros(len(reports), np.bool_)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return the contributions added up over reports."""
        entries = self.parts[-1][1].stop
        step = max(1, 2**22 // entries)
        parts = (self.contributions(reports[i : i + step]) for i in range(0, len(reports), step))
        return sum(
            (part.sum(axis=0, dtype=np.int64) for part in parts), np.zeros(entries, np.int64)
        )

    def _answers(self, reports: NDArray[Any]) -> int | NDArray[np.int64]:
        """Return how many reports there are, an entry a value where not every report speaks of
        every value.
        """
        return len(reports)

    # What lasts over a user's reports: nothing, unless a subclass says so

    @property
    def permanent(self) -> "Mechanism | None":
        """What one report of holds all that is ever told about an unchanged input.

        None where every report tells more.
        """
        return None

    def _report_again(
        self,
        values: NDArray[np.int64],
        users: NDArray[np.int64],
        memory: Source,
        fresh: Sequence[Stream],
        out: NDArray[Any],
    ) -> None:
        """Write a further report of each of the users, who are numbered in ``memory``.

        All that lasts is drawn from there.

        The rest is drawn from ``fresh``, a stream an attribute.
        """
        self._draw(values, Source.of(fresh[0], self._label, len(values)), out)

    def _charges(self, values: NDArray[np.int64], memory: Source) -> list[tuple[int, int | None]]:
        """Return what a report of the first user in ``memory`` is charged for.

        Each charge names an account and the memo class that is paid for once and for all, or None
        where every report is paid for.
        """
        return [(0, None)]

    @property
    def _prices(self) -> tuple[float, ...]:
        """What a charge costs, an entry an account."""
        return (self.privacy.report,)

    # The verbs

    @abstractmethod
    def estimate(self, reports: Any) -> Any:
        """Return the unbiased frequencies with their errors, from a tally or from reports."""

    def tally(self, reports: Any) -> Tally:
        """Count reports: an array or list of them, or an iterable of batches, which needs no more
        memory than one batch.
        """
        total = None
        for batch in self._batches(reports):
            parts: list[tuple[NDArray[np.int64], Any]] = []

            def job(
                low: int, high: int, batch: NDArray[Any] = batch, parts: list[Any] = parts
            ) -> None:
                parts.append((self._count(batch[low:high]), self._answers(batch[low:high])))

            parallel.run_ranges(len(batch), job)
            counts, answers = zip(*parts, strict=True)
            counted = Tally(self, np.sum(counts, axis=0), np.sum(answers, axis=0), len(batch))
            total = counted if total is None else total + counted
        return self.tally([]) if total is None else total

    @property
    def report_bytes(self) -> int:
        """The length of a report on the wire."""
        return self.report_dtype.itemsize

    # What the verbs share

    @cached_property
    def _label(self) -> bytes:
        """What separates this object's randomness from that of every other on the same stream."""
        import json

        return json.dumps(self._fields(), sort_keys=True).encode()

    def _reports(self, values: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Return a report for each of the checked inputs."""
        source = Source.of(as_stream(rng), self._label, len(values))
        reports = np.empty(len(values), self.report_dtype)
        self._draw(values, source, reports)
        return reports

    def _draw(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        """Randomize with as many threads as there are."""
        values = as_readonly(values)
        parallel.run_ranges(
            len(values),
            lambda low, high: self._randomize(values[low:high], source.skip(low), out[low:high]),
        )

    def _as_tally(self, reports: Any) -> Tally:
        """Return a tally of this object as it is, and reports counted."""
        tally = reports if isinstance(reports, Tally) else self.tally(reports)
        if tally.mechanism != self:
            raise ValueError(
                f"tally was counted by {validate.quote(tally.mechanism)}, not by"
                f" {validate.quote(self)}"
            )
        return tally

    def _as_reports(self, reports: Any) -> NDArray[Any]:
        """Return one report or many as a contiguous array of the report dtype, or refuse them."""
        empty = np.empty(0, self.report_dtype)
        array = validate.as_array("reports", reports)
        if array.shape == (0,):
            return empty
        shape = array.shape
        if array.ndim == empty.ndim - 1 and isinstance(reports, np.ndarray | np.generic):
            array = array[np.newaxis]
        if array.ndim != empty.ndim or array.shape[1:] != empty.shape[1:]:
            raise ValueError(
                f"reports must have shape {('n', *empty.shape[1:])}, not {shape}:"
                f" {validate.quote(reports)}"
            )
        if array.dtype != empty.dtype:
            if array.dtype.kind == "O" and (wrong := validate.find_non_integer(array)):
                raise TypeError(
                    f"reports{list(wrong[0])} = {validate.quote(wrong[1])} is not a report of"
                    f" {validate.quote(self)}"
                )
            if empty.dtype.kind not in "iu" or array.dtype.kind not in "iu":
                raise TypeError(
                    f"reports must have dtype {empty.dtype}, not {array.dtype} (such as"
                    f" {validate.quote(array.flat[0])})"
                )
            bounds = np.iinfo(empty.dtype)
            validate.within(
                "reports",
                array,
                int(bounds.min),
                int(bounds.max),
                f"not a report of {validate.quote(self)}",
            )
        result = np.ascontiguousarray(array, empty.dtype)
        refused: list[int] = []

        def job(low: int, high: int) -> None:
            for start in range(low, high, BATCH):
                bad = self._refused(result[start : min(high, start + BATCH)])
                if bad.any():
                    refused.append(start + int(np.argmax(bad)))
                    return

        parallel.run_ranges(len(result), job)
        if refused:
            i = min(refused)
            raise ValueError(
                f"reports[{i}] = {result[i]} is not a report of {validate.quote(self)}"
            )
        return as_readonly(result)

    def _batches(self, reports: Any) -> Iterator[NDArray[Any]]:
        """Yield checked batches of an array, a list of reports, or an iterable of reports or
        batches.
        """
        batch_ndim = np.empty(0, self.report_dtype).ndim
        iterable = hasattr(reports, "__array__") or isinstance(reports, Iterable)
        if not iterable or isinstance(reports, Tally | str | bytes | Mapping | Set):
            raise TypeError(
                "reports must be an array, a list or an iterable of batches, not"
                f" {validate.quote(reports)}"
            )
        listed = isinstance(reports, list | tuple) and (
            not reports or _ndim_of(reports[0]) < batch_ndim
        )
        if listed or hasattr(reports, "__array__"):
            yield self._as_reports(reports)
            return
        parts = iter(reports)
        for part in parts:
            if _ndim_of(part) == batch_ndim - 1:  # single reports: gather as many as make a batch
                part = [part, *islice(parts, BATCH - 1)]
            yield self._as_reports(part)


def require_mechanism(protocol: object) -> Mechanism:
    """Return a protocol or solution, or refuse what is none."""
    if not isinstance(protocol, Mechanism):
        raise TypeError(
            f"protocol must be a protocol or a solution, not {validate.quote(protocol)}"
        )
    return protocol


def _ndim_of(report: Any) -> int:
    """Return the number of dimensions; 0 for what is no array, such as a tuple of several parts."""
    return len(validate.shape_of(report) or ())


def as_readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written.

    Kernels then see one type, whether the caller's array was writable or not.
    """
    view = array.view()
    view.flags.writeable = False
    return view
