"""The base of mechanisms: a mechanism is a protocol for one attribute or a solution over several.

Here reports are drawn, checked and counted.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import parallel, validate
from .core.deprecation import accept_old_names
from .core.privacy import Privacy
from .core.randomness import Rng, Source, Stream, as_stream
from .core.tally import Part, Tally
from .estimation.estimate import Estimate
from .estimation.several import Estimates

if TYPE_CHECKING:
    from .protocol import Protocol

LARGEST_LAW = 2**20
BATCH = 2**16
LARGE = 2**28
"""The largest number of values that is counted unless ``large`` is True: it takes two gigabytes."""

SILENT = 255
"""The byte that fills the place of a report if a user does not report in a round."""

Counts: TypeAlias = NDArray[np.int64]
Batch: TypeAlias = tuple[NDArray[Any], int]
"""Checked reports, and the number of invalid messages that were left out."""
Report: TypeAlias = NDArray[Any] | np.generic
"""One report: an entry of an array of reports."""
Reports: TypeAlias = ArrayLike | Iterable[ArrayLike]
"""Reports: an array or list of them, or an iterable of batches."""
Charge: TypeAlias = tuple[int, int | None]
"""An account, and a memo class that is paid for only once.

None in place of the memo class means that every report is paid for.
"""


class Reading(NamedTuple):
    """Content of one report about one attribute.

    Parameters
    ----------
    sent : bool or None
        True if the report is about the attribute. None if the report hides that.
    supports : array of bool
        True for the values that the report supports.
    chances : list of Fraction
        Probability of the report under each value, up to a factor that is common to all values.
    """

    sent: bool | None
    supports: NDArray[np.bool_]
    chances: list[Fraction]


class Mechanism(ABC):
    """The base class of ``Protocol`` and ``Solution``.

    A mechanism turns inputs into reports of a fixed dtype, and reports into counts. The file
    docs/glossary.md explains the words of this package.
    """

    samples: ClassVar[bool] = False
    """True if a report is about only one part of the record and names that part."""
    independent: ClassVar[bool] = False
    """True if the parts of a record are randomized independently of each other."""
    rounds: Any = None
    """The number of rounds, for mechanisms that protect whole histories. None for all others."""

    # Declared by a subclass

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """The exact privacy losses as realised."""

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report, possibly with a shape.

        Reports are ``np.empty(n, report_dtype)``.
        """

    @property
    @abstractmethod
    def ks(self) -> tuple[int, ...]:
        """The domain size of each attribute."""

    @property
    @abstractmethod
    def leaves(self) -> "tuple[Protocol, ...]":
        """The protocol of each attribute, in order."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The attributes as the aggregator sees them, each with the place of its counts.

        An attribute is seen as an object with a channel and a domain.
        """

    @property
    @abstractmethod
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a report speaks of a given value, one entry per attribute."""

    @abstractmethod
    def _inputs(self, given: object, name: str = "") -> tuple[Counts, bool]:
        """Return checked inputs as an array with one row per user.

        The second result is True if the input of a single user was given.
        """

    @abstractmethod
    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        """Write a report for each input into ``out``, with the randomness of ``source``."""

    @abstractmethod
    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each value, the reference for counting.

        Parameters
        ----------
        reports : array
            Checked reports of ``report_dtype``, one per user.

        Returns
        -------
        array
            The contributions. Their sums over users are the counts.

        Examples
        --------
        >>> from multi_freq_ldpy import SPL, GRR, wire
        >>> solution = SPL(GRR, [3, 2], epsilon=2.0)
        >>> solution.contributions(wire.decode(solution, bytes([2, 0])))
        array([[0, 0, 1, 1, 0]], dtype=uint8)
        """

    @abstractmethod
    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        """Return the probability of one report, given an input."""

    @abstractmethod
    def _simulate_part(self, held: Sequence[Counts], n: int, rng: Rng) -> tuple[Counts, Counts]:
        """Draw counts, and the number of reports that speak of each value.

        ``held`` is the number of users who hold each value, one array per attribute. There are n
        users.
        """

    @abstractmethod
    def _reporters(self, n: Counts) -> int:
        """Return the number of users who made the reports.

        ``n`` is the number of reports that speak of each value.
        """

    @abstractmethod
    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        """Refuse counts that no set of reports can have."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """Return the name and the parameters of this object, for JSON."""

    # Optional overrides

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        """Return what one report says of each attribute.

        ``record`` is the input of the user, or None if it is not known.
        """
        raise TypeError(f"reports of {type(self).__name__} cannot be read one by one")

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports that no honest client can send."""
        return np.zeros(len(reports), np.bool_)

    def _count(self, reports: NDArray[Any]) -> Counts:
        """Return the sum of the contributions of all reports."""
        step = max(1, 2**22 // self._entries)
        parts = (self.contributions(reports[i : i + step]) for i in range(0, len(reports), step))
        return sum(
            (part.sum(axis=0, dtype=np.int64) for part in parts), np.zeros(self._entries, np.int64)
        )

    @property
    def _space(self) -> int:
        """The number of integers in which reports are gathered."""
        return self._entries

    def _gather(self, reports: NDArray[Any]) -> Counts:
        """Return numbers that add up over batches of reports.

        ``_settle`` turns their sum into counts.
        """
        return self._count(reports)

    def _settle(self, gathered: Counts, n: Counts) -> Counts:
        """Return the counts of all gathered reports.

        This method is called once per tally.
        """
        return gathered

    def _answers(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports that speak of each value."""
        return np.broadcast_to(np.int64(len(reports)), self._entries)

    @cached_property
    def _answers_all(self) -> bool:
        """True if every report speaks of every value."""
        return all(share == 1 for share in self.answering)

    # Permanent state of a user: none, unless a subclass has one

    @property
    def permanent(self) -> "Mechanism | None":
        """The mechanism of the permanent answer, or None.

        One report of this mechanism holds everything that is ever told about an unchanged input.
        None means that every further report tells more.
        """
        return None

    def _recall(self, values: Counts, users: Counts, memory: Source) -> Any:
        """Return the permanent state of the users' reports about these values.

        The state is derived from ``memory``, where the users have the numbers ``users``.
        ``_charges`` and ``_report`` use the result.
        """
        return as_readonly(values)

    def _charges(self, recalled: Any) -> list[Charge]:
        """Return the charges for one report of one user."""
        return [(0, None)]

    def _report(self, recalled: Any, fresh: Sequence[Stream], out: NDArray[Any]) -> None:
        """Write a further report of each user, given the user's permanent state.

        All other randomness is drawn from ``fresh``, one stream per attribute.
        """
        source = Source.of(fresh[0], self._label, len(out))
        parallel.run_ranges(
            len(out),
            lambda low, high: self._randomize(recalled[low:high], source.skip(low), out[low:high]),
        )

    @property
    def _prices(self) -> tuple[float, ...]:
        """The cost of a charge, one entry per account."""
        return (self.privacy.report,)

    def _members(
        self, memory: Source, users: int | Counts, first: int = 0, restorable: bool = True
    ) -> Any:
        """Return users of a mechanism with rounds, before the round ``first``.

        ``users`` is their number, or a list of their numbers in ``memory``. The result answers
        round by round. ``restorable`` is explained at ``Client.open``.
        """
        raise TypeError(f"{type(self).__name__} has no rounds")

    def at(self, round: int) -> "Mechanism":
        """Return the mechanism of one round, for mechanisms that protect whole histories.

        Parameters
        ----------
        round : int
            The round, counted from 0.

        Returns
        -------
        Mechanism
            The mechanism of this round, with its wire format and its tallies.

        Raises
        ------
        TypeError
            If the mechanism has no rounds.
        ValueError
            If there is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import SMP, Steps
        >>> solution = SMP(Steps, [4, 2], epsilon=1.0, rounds=8, changes=1)
        >>> solution.at(3).report_bytes
        4
        """
        raise TypeError(f"{type(self).__name__} has no rounds: every round is the same")

    # Main methods

    @accept_old_names(table="values")
    def randomize(self, values: ArrayLike, rng: Rng = None) -> NDArray[Any]:
        """Return one report per user.

        A protocol takes one value per user. A solution takes a table with one row per user and one
        column per attribute. A protocol with permanent answers makes the *first report of new
        users*. For further reports, use ``Client`` or ``Panel``.

        Parameters
        ----------
        values : int, array, or table
            The inputs of the users. The input of a single user gives a single report.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. The same int gives the same noise at every call: for several
            batches pass a ``Stream``.

        Returns
        -------
        array
            The reports, of dtype ``report_dtype``, or one report for a single user.

        Raises
        ------
        ValueError
            If a value is outside its domain, or if the shape does not fit.
        TypeError
            If the inputs are not integers.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> GRR(4, epsilon=1.0).randomize([0, 1, 2, 3, 0, 1, 2, 3], rng=1)
        array([0, 1, 2, 3, 1, 1, 1, 3], dtype=uint8)
        >>> SMP(GRR, [4, 2], epsilon=1.0).randomize([[3, 0], [1, 1], [2, 0]], rng=1)["attribute"]
        array([1, 0, 1], dtype=uint8)
        """
        inputs, single = self._inputs(values)
        inputs = as_readonly(inputs)
        source = Source.of(as_stream(rng), self._label, len(inputs))
        reports = np.empty(len(inputs), self.report_dtype)
        if min(parallel.count_threads(), len(inputs) // parallel.GRAIN) < 2:
            self._randomize(inputs, source, reports)
        else:
            parallel.run_ranges(
                len(inputs),
                lambda low, high: self._randomize(
                    inputs[low:high], source.skip(low), reports[low:high]
                ),
            )
        found: NDArray[Any] = reports[0] if single else reports
        return found

    def tally(self, reports: Reports, *, invalid: str = "raise", large: bool = False) -> Tally:
        """Count reports.

        Parameters
        ----------
        reports : array, list, or iterable of batches
            Reports as ``randomize`` returns them. An iterable takes the memory of one batch at a
            time.
        invalid : {"raise", "skip"}
            Treatment of invalid reports. "raise" refuses all reports and names the index of the
            first invalid one. "skip" leaves invalid reports out, and ``tally.invalid`` is their
            number.
        large : bool
            True allows a domain of more than 2²⁸ values, counted with eight bytes each.

        Returns
        -------
        Tally
            The counts of the reports.

        Raises
        ------
        ValueError
            If a report is invalid and ``invalid`` is "raise", or if the domain has more than 2²⁸
            values and ``large`` is False.
        TypeError
            If ``reports`` is not an array, a list or an iterable.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> tally = GRR(3, epsilon=1.0).tally([0, 2, 99, 2], invalid="skip")
        >>> tally.counts, tally.invalid
        (array([1, 0, 2]), 1)
        """
        return self._tally(self._batches(reports, check_invalid(invalid)), large)

    def count(self, reports: NDArray[Any], *, large: bool = False) -> tuple[Counts, Counts]:
        """Return the counts of checked reports, and the number of reports that speak of each value.

        Nothing is checked here. Use ``tally`` for reports that others sent.

        Parameters
        ----------
        reports : array of ``report_dtype``
            Reports from ``randomize`` or ``wire.decode``, one per user.
        large : bool
            True allows a domain of more than 2²⁸ values.

        Returns
        -------
        counts : array of int64
            One count per value, one attribute after the other.
        n : array of int64
            Number of reports that speak of each value.

        Raises
        ------
        ValueError
            If the domain has more than 2²⁸ values and ``large`` is False.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, wire
        >>> protocol = GRR(3, epsilon=1.0)
        >>> protocol.count(wire.decode(protocol, bytes([0, 2, 2])))
        (array([1, 0, 2]), array([3, 3, 3]))
        """
        self._require_countable(large)
        n = self._answers(reports)
        return self._settle(self._gather(reports), n), n

    @abstractmethod
    def estimate(self, reports: Tally | Reports) -> Estimate | Estimates:
        """Return the unbiased frequencies with their errors, from a tally or from reports.

        Parameters
        ----------
        reports : Tally, array, list, or iterable of batches
            A tally of this mechanism, or reports as ``randomize`` returns them.

        Returns
        -------
        Estimate or Estimates
            The frequencies with their standard errors. A solution returns ``Estimates``.

        Raises
        ------
        ValueError
            If a report is invalid, or if another mechanism counted the tally.
        TypeError
            If ``reports`` is not a tally, an array, a list or an iterable.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(2, epsilon=1.0)
        >>> protocol.estimate(protocol.randomize([0, 0, 0, 1] * 1000, rng=1))
        Estimate from 4,000 users: frequency ± standard error
        0  0.762 ± 0.015
        1  0.238 ± 0.015
        """

    @abstractmethod
    def simulate(self, data: ArrayLike, rng: Rng = None) -> Tally:
        """Draw a tally, given the number of users who hold each value, without keeping a report.

        Parameters
        ----------
        data : array, or list of arrays
            The number of users who hold each value. For a solution, one such array per attribute,
            or a table of records.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        Tally
            A tally, as if every user had sent one report.

        Raises
        ------
        ValueError
            If the shape does not fit the attributes, or if a number of users is negative.
        TypeError
            If ``data`` has entries that are not integers.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> SMP(GRR, [2, 3], epsilon=1.0).simulate([[600, 400], [500, 300, 200]], rng=1).users
        1000
        """

    @abstractmethod
    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | NDArray[np.float64]:
        """Return the variance of an estimated frequency.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array of float
            True frequency of the value. It is the frequency among the n users.

        Returns
        -------
        float or array of float
            The variance. For a solution, the first axis is the attributes.

        Raises
        ------
        ValueError
            If ``n`` is negative, if ``f`` is not in [0, 1], or if their shapes do not fit together.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> SMP(GRR, [2, 3], epsilon=1.0).variance(10_000).round(6)
        array([0.000184, 0.000252])
        """

    @abstractmethod
    def law(self, value: Any) -> dict[bytes, Fraction]:
        """Return the exact distribution of a report of a user with this input.

        Parameters
        ----------
        value : int, or sequence of int
            The value of one user. For a solution it is the record, one value per attribute.

        Returns
        -------
        dict of bytes to Fraction
            Every possible report, as bytes on the wire, with its exact probability.

        Raises
        ------
        ValueError
            If there are too many reports to list, or if ``value`` is not the input of one user.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> {report.hex(): float(p) for report, p in GRR(2, epsilon=1.0).law(0).items()}
        {'00': 0.7310585786300049, '01': 0.2689414213699951}
        """

    def likelihood(self, report: Report | int | bytes, value: ArrayLike) -> Fraction:
        """Return the exact probability that a user with this value, or record, sends this report.

        This works for any domain size, because the distribution is not listed.

        Parameters
        ----------
        report : one report, or bytes
            An entry of the result of ``randomize``, or the report as bytes on the wire.
        value : int, or sequence of int
            The value of one user. For a solution it is the record, one value per attribute.

        Returns
        -------
        Fraction
            The probability of exactly this report.

        Raises
        ------
        ValueError
            If no honest client sends this report, or if ``value`` is not the input of one user.
            Also if the probabilities of the protocol are not fractions (SHE).

        Examples
        --------
        >>> from multi_freq_ldpy import OUE
        >>> protocol = OUE(1000, epsilon=1.0)
        >>> report = protocol.randomize(3, rng=1)
        >>> ratio = protocol.likelihood(report, 3) / protocol.likelihood(report, 4)
        >>> 1 / protocol.privacy.ratio <= ratio <= protocol.privacy.ratio
        True
        """
        if isinstance(report, bytes | bytearray | memoryview):
            if len(report) != self.report_bytes:
                raise ValueError(
                    f"report must have {self.report_bytes} bytes, not {len(report)}:"
                    f" {validate.quote(bytes(report))}"
                )
            report = np.frombuffer(bytes(report), self.report_dtype, count=1)[0]
        inputs, single = self._inputs(value, "value")
        if not single:
            raise ValueError(f"value must be that of one user, not {validate.quote(value)}")
        reports = np.empty(1, self.report_dtype)
        one = validate.as_array("report", [report])
        if one.ndim != reports.ndim:
            raise ValueError(f"report must be one report, not {validate.quote(report)}")
        return self._likelihood(self._as_reports(one, "report"), inputs[0])

    @property
    def report_bytes(self) -> int:
        """The length of a report in bytes."""
        return self.report_dtype.itemsize

    # Helpers of the main methods

    @cached_property
    def _entries(self) -> int:
        """The number of counts."""
        return int(self.parts[-1].entries.stop)

    @cached_property
    def _label(self) -> bytes:
        """The label that separates the randomness of this object from that of other objects.

        The label matters if several objects use the same stream.
        """
        import json

        return json.dumps(self._fields(), sort_keys=True).encode()

    def _gather_range(self, batch: NDArray[Any], low: int, high: int) -> tuple[Counts, Counts]:
        """Gather the reports from ``low`` to ``high`` of a batch."""
        gathered = self._gather(batch[low:high])
        if gathered.shape != (self._space,):
            raise ValueError(
                f"_gather must return _space={self._space} numbers, not {gathered.shape}"
            )
        return gathered, self._answers(batch[low:high])

    def _tally(self, batches: Iterable[Batch], large: bool = False) -> Tally:
        """Return the tally of batches of checked reports, with the number of invalid messages.

        Arrays of the size of the domain are made only after the first report.
        """
        gathered: Any = 0
        n: Any = 0
        users = invalid = 0
        validate.flag("large", large)
        for batch, wrong in batches:
            invalid += wrong
            if not len(batch):
                continue
            self._require_countable(large)
            for one, answers in parallel.map_ranges(len(batch), partial(self._gather_range, batch)):
                gathered, n = gathered + one, n + answers
            users += len(batch)
        if not users:
            nothing = np.broadcast_to(np.int64(0), self._entries)
            return Tally._trust(self, nothing, 0, 0, invalid)
        counts = self._settle(gathered, n)
        if counts.shape != n.shape:
            raise ValueError(f"_settle must return {n.size} counts, not {counts.shape}")
        return Tally(self, counts, np.asarray(users) if self._answers_all else n, users, invalid)

    def _require_countable(self, large: bool) -> None:
        """Refuse to count a large domain unless ``large`` is True."""
        if max(self._space, self._entries) > LARGE and not validate.flag("large", large):
            raise ValueError(
                f"{validate.quote(self)} has {self._entries} values to count, more than {LARGE}:"
                " tally(reports, large=True) counts them, with 8 bytes each"
            )

    def _as_tally(self, reports: Any) -> Tally:
        """Return a tally of this mechanism: a given tally unchanged, or the tally of reports."""
        tally = reports if isinstance(reports, Tally) else self.tally(reports)
        if tally.mechanism != self:
            raise ValueError(
                f"tally was counted by {validate.quote(tally.mechanism)}, not by"
                f" {validate.quote(self)}"
            )
        return tally

    def _as_reports(self, reports: Any, name: str = "reports") -> NDArray[Any]:
        """Return one report or several as a contiguous array of the report dtype.

        Invalid reports are refused.
        """
        result = self._as_array(reports, name)
        if (refused := self._find_refused(result)).size:
            i = int(refused[0])
            shown = validate.cut(str(result[i]))
            raise ValueError(f"{name}[{i}] = {shown} is not a report of {validate.quote(self)}")
        return as_readonly(result)

    def _keep_reports(self, reports: Any) -> Batch:
        """Return the valid reports among messages, and the number of invalid messages.

        An array whose shape or type is not that of reports is refused.
        """
        try:
            kept = [self._as_array(reports)]
        except (TypeError, ValueError):
            if isinstance(reports, np.ndarray) and reports.dtype.kind not in "iuO":
                raise
            kept = self._keep_arrays(list(reports))
        wrong = len(reports) - sum(map(len, kept)) if isinstance(reports, Sized) else 0
        result = np.concatenate([np.empty(0, self.report_dtype), *kept])
        refused = self._find_refused(result)
        return as_readonly(np.delete(result, refused, axis=0)), max(0, wrong) + refused.size

    def _keep_arrays(self, messages: list[Any]) -> list[NDArray[Any]]:
        """Return arrays of the messages that have the form of a report.

        If not all messages have this form, each half is tried. A few invalid messages therefore
        cost little time.
        """
        try:
            return [self._as_array(messages)]
        except (TypeError, ValueError):
            if len(messages) == 1:
                return []
            half = len(messages) // 2
            return self._keep_arrays(messages[:half]) + self._keep_arrays(messages[half:])

    def _find_refused(self, reports: NDArray[Any]) -> Counts:
        """Return the indexes of reports that no honest client sends, in ascending order."""

        def find(low: int, high: int) -> list[Counts]:
            masks = (
                (start, self._refused(reports[start : min(high, start + BATCH)]))
                for start in range(low, high, BATCH)
            )
            return [start + np.flatnonzero(bad) for start, bad in masks if bad.any()]

        found = [part for parts in parallel.map_ranges(len(reports), find) for part in parts]
        return np.sort(np.concatenate([np.empty(0, np.int64), *found]))

    def _as_array(self, reports: Any, name: str = "reports") -> NDArray[Any]:
        """Return one report or several as a contiguous array of the report dtype.

        The values of the reports are not checked.
        """
        empty = np.empty(0, self.report_dtype)
        array = validate.as_array(name, reports)
        if array.shape == (0,):
            return empty
        shape = array.shape
        if array.ndim == empty.ndim - 1 and isinstance(reports, np.ndarray | np.generic):
            array = array[np.newaxis]
        if array.ndim != empty.ndim or array.shape[1:] != empty.shape[1:]:
            raise ValueError(
                f"{name} must have shape {('n', *empty.shape[1:])}, not {shape}:"
                f" {validate.quote(reports)}"
            )
        if array.dtype != empty.dtype:
            if array.dtype.kind == "O" and (wrong := validate.find_non_integer(array)):
                raise TypeError(
                    f"{name}{list(wrong[0])} = {validate.quote(wrong[1])} is not a report of"
                    f" {validate.quote(self)}"
                )
            if empty.dtype.kind not in "iu" or array.dtype.kind not in "iu":
                raise TypeError(
                    f"{name} must have dtype {empty.dtype}, not {array.dtype} (such as"
                    f" {validate.quote(array.ravel()[:1].tolist())})"
                )
            bounds = np.iinfo(empty.dtype)
            validate.within(
                name,
                array,
                int(bounds.min),
                int(bounds.max),
                f"not a report of {validate.quote(self)}",
            )
        return np.ascontiguousarray(array, empty.dtype)

    def _batches(self, reports: Any, invalid: str = "raise") -> Iterator[Batch]:
        """Yield checked batches, each with the number of messages that were left out.

        ``reports`` is an array, a list of reports, or an iterable of reports or batches.
        """
        batch_ndim = np.empty(0, self.report_dtype).ndim
        iterable = hasattr(reports, "__array__") or isinstance(reports, Iterable)
        if not iterable or isinstance(reports, Tally | str | bytes | Mapping | Set):
            raise TypeError(
                "reports must be an array, a list or an iterable of batches, not"
                f" {validate.quote(reports)}"
            )
        if hasattr(reports, "__array__"):
            yield self._check_batch(reports, invalid)
            return

        def is_batch(part: Any) -> bool:
            return isinstance(part, list) or hasattr(part, "__array__")

        def is_full(part: Any) -> bool:
            return is_batch(part) and _ndim_of(part) == batch_ndim

        if isinstance(reports, list | tuple) and not all(map(is_full, reports)):
            if not any(hasattr(each, "__array__") and is_full(each) for each in reports):
                yield self._check_batch(list(reports), invalid)
                return
            lists = False  # among reports and arrays, a list is one message
        elif isinstance(reports, list | tuple):
            lists = True
        else:
            reports = iter(reports)
            first = list(islice(reports, 1))
            lists = bool(first) and is_full(first[0])
            reports = chain(first, reports)
        for part, name in gather_batches(
            reports, lambda part: is_full(part) and (lists or not isinstance(part, list))
        ):
            yield self._check_batch(part, invalid, name)

    def _check_batch(self, reports: Any, invalid: str, name: str = "reports") -> Batch:
        """Return checked reports, and the number of messages that were left out."""
        if invalid == "skip":
            return self._keep_reports(reports)
        return self._as_reports(reports, name), 0


def gather_batches(
    items: Iterable[Any], is_batch: Callable[[Any], bool]
) -> Iterator[tuple[Any, str]]:
    """Yield batches, and single messages gathered into lists, with the name of each.

    The name ``reports[i]`` means batch i. The name ``reports[i:]`` means the messages from i on.
    The name ``reports`` means the messages from 0 on.

    Parameters
    ----------
    items : iterable
        Batches and single messages.
    is_batch : callable
        Function that returns True for a batch.

    Yields
    ------
    batch : array or list
        A batch, or a list of at most 2¹⁶ single messages.
    name : str
        Name of the batch, for error messages.
    """
    single: list[Any] = []
    at = 0

    def gathered() -> tuple[list[Any], str]:
        start = at - len(single)
        return single, f"reports[{start}:]" if start else "reports"

    for item in items:
        if is_batch(item):
            if single:
                yield gathered()
                single = []
            yield item, f"reports[{at}]"
            at += 1
            continue
        single.append(item)
        at += 1
        if len(single) == BATCH:
            yield gathered()
            single = []
    if single:
        yield gathered()


def check_invalid(invalid: object) -> str:
    """Return the treatment of invalid reports, checked.

    Parameters
    ----------
    invalid : object
        The value to check.

    Returns
    -------
    str
        "raise" or "skip".

    Raises
    ------
    ValueError
        If ``invalid`` is anything else.
    """
    return validate.choice("invalid", invalid, ("raise", "skip"))


def require_mechanism(mechanism: object) -> Mechanism:
    """Return a mechanism, which is a protocol or a solution, and refuse any other object.

    Parameters
    ----------
    mechanism : object
        The object to check.

    Returns
    -------
    Mechanism
        The same object.

    Raises
    ------
    TypeError
        If the object is not a protocol or a solution.
    """
    if not isinstance(mechanism, Mechanism):
        made = ", an object and not a class" if isinstance(mechanism, type) else ""
        raise TypeError(
            f"mechanism must be a protocol or a solution{made}, not {validate.quote(mechanism)}"
        )
    return mechanism


def require_single(mechanism: object, verb: str) -> Mechanism:
    """Return a mechanism of single reports, and refuse mechanisms of whole histories.

    Parameters
    ----------
    mechanism : object
        The object to check.
    verb : str
        Name of the function that asks, for the message.

    Returns
    -------
    Mechanism
        The same object.

    Raises
    ------
    TypeError
        If the object is not a protocol or a solution, or if it protects whole histories.
    """
    found = require_mechanism(mechanism)
    of_round = any(hasattr(leaf, "history") for leaf in found.leaves)
    if found.rounds is not None or of_round:
        raise TypeError(
            f"{verb} is for mechanisms of single reports, not for whole histories:"
            f" {validate.quote(mechanism)}"
        )
    return found


def _ndim_of(report: Any) -> int:
    """Return the number of dimensions of a report.

    It is 0 for an object that is not an array, such as a tuple of several parts.
    """
    return len(validate.shape_of(report) or ())


def find_silent(reports: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the places of users who do not report in a round.

    Parameters
    ----------
    reports : array
        Reports of one round as ``Panel.report`` returns them.

    Returns
    -------
    array of bool
        True where a user is silent.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import Once, Panel
    >>> from multi_freq_ldpy.mechanism import find_silent
    >>> panel = Panel(Once(2, epsilon=1.0, rounds=4), 1000, rng=1)
    >>> int(find_silent(panel.report(np.zeros(1000, np.int64))).sum())
    723
    """
    flat = np.ascontiguousarray(reports)
    rows = flat.view(np.uint8).reshape(*flat.shape, flat.dtype.itemsize)
    silent: NDArray[np.bool_] = (rows == SILENT).all(axis=-1)
    return silent


def as_readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to.

    Kernels then see one type for writable and for read-only arrays.

    Parameters
    ----------
    array : array
        Any array.

    Returns
    -------
    array
        A read-only view of the same data.
    """
    view = array.view()
    view.flags.writeable = False
    return view
