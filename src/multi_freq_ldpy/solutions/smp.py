"""SMP: a solution that samples one attribute."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import draws
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, Stream
from ..mechanism import SILENT, Charge, Counts, Reading, as_readonly
from ..protocols.formats import symbol_dtype
from .base import Solution, losses_of, sample_histograms
from .rows import as_bytes, group_users, take_users

NUMBERED_TOGETHER = 2**16  # users numbered together: reports from a seed depend on it


class Sampled(NamedTuple):
    """The permanent state of users: the sampled parts, and the permanent state of each part.

    Parameters
    ----------
    which : array of int
        Sampled part of each user.
    parts : list of tuples
        For each part, the indexes of the users who sample it, and their permanent state. The state
        is None if no user samples the part.
    """

    which: Counts
    parts: list[tuple[Counts, Any]]


class SMP(Solution):
    """Sampling: one attribute, chosen uniformly, is reported with the whole budget.

    The report says which attribute it is about. The privacy loss between any two records is at most
    ε. An attribute is estimated from the users who reported it, about n/d of them. Its error
    includes the sampling of users. Choose it to protect whole records.

    Parameters
    ----------
    factory : callable or list of callable
        Protocol class, ``best``, or any callable that returns a protocol. A list gives one factory
        per attribute.
    ks : list of int
        Domain sizes, one per attribute.
    *budgets : float
        Privacy budgets of the whole record, in order or by name. One budget is ``epsilon`` or
        ``eps_perm``. Two budgets are ``eps_perm`` and ``eps_1``.
    **options : object
        Options of the factories. A list of length d gives one value per attribute.

    Raises
    ------
    TypeError
        If a factory does not return a protocol of its domain size, or if budgets are missing or do
        not fit the factory.
    ValueError
        If a domain size, a budget or an option is out of range, or if there are more than 1024
        attributes.

    Examples
    --------
    >>> from multi_freq_ldpy import OUE, SMP
    >>> solution = SMP(OUE, [4, 7, 2], epsilon=3.0)
    >>> solution.privacy.report, solution.report_bytes
    (3.0, 2)
    >>> tally = solution.tally(solution.randomize([[3, 6, 0], [2, 6, 1]] * 5000, rng=1))
    >>> tally.users, [int(part.n[0]) for part in tally]
    (10000, [3429, 3311, 3260])
    """

    samples = True

    @cached_property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability, for each attribute, that a report speaks of a given value of it."""
        return tuple(share / len(self.protocols) for share in super().answering)

    _answers_all = False

    @cached_property
    def _parts_answer_all(self) -> bool:
        return all(each._answers_all for each in self.protocols)

    @cached_property
    def privacy(self) -> Privacy:
        """The exact privacy losses, which are the largest among the parts.

        A report is about one part only.
        """
        whole, exactly = losses_of(self.protocols)
        one, _ = losses_of(self.protocols, attribute=True)
        if exactly:
            return self._privacy(max(whole), max(one))
        return self._privacy(float(max(whole)), float(max(one)))

    @cached_property
    def _slots(self) -> tuple[tuple[int, int], ...]:
        start = symbol_dtype(len(self.protocols)).itemsize
        return tuple((start, start + each.report_bytes) for each in self.protocols)

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of a report, with the number of the sampled part and the report of this part.

        The report of the part is padded with zeros to the length of the longest one.
        """
        if self.rounds is not None:
            return np.dtype((self.at(0).report_dtype, (self.rounds,)))
        longest = max(each.report_bytes for each in self.protocols)
        number = symbol_dtype(len(self.protocols))
        return np.dtype([("attribute", number), ("payload", np.uint8, (longest,))])

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        if self.rounds is not None:
            self._randomize_rounds(values, source, out)
            return
        # In the stream of a part, the users of a block who sampled it are numbered consecutively.
        # Their numbers start at the first user of the block.
        source.require_consecutive()
        rows, m = as_bytes(out, self.report_bytes), len(self.protocols)
        rows[:] = 0
        choice, sources = (
            source.part(b"attribute").starting(0),
            [source.part(b"%d" % j) for j in range(m)],
        )
        first, end = source.first, source.first + len(values)
        for start in range(first - first % NUMBERED_TOGETHER, end, NUMBERED_TOGETHER):
            chosen = choice.skip(start).below(min(NUMBERED_TOGETHER, end - start), m)
            before = max(0, first - start)  # users of this block before the first value
            earlier = np.bincount(chosen[:before], minlength=m).tolist()
            chosen = chosen[before:]
            block = slice(start + before - first, start + before - first + len(chosen))
            for j, users in enumerate(group_users(chosen, m)):
                if len(users):
                    own = sources[j].starting(start + earlier[j])
                    held = take_users(self._of_part(values[block], j), users)
                    self._write(held, own, rows[block], j, users)
            out["attribute"][block] = chosen

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        self._refuse_whole()
        refused = np.asarray(reports["attribute"] >= len(self.protocols))
        for j, block, users, column in self._by_part(reports):
            bad = self.protocols[j]._refused(column)
            if (beyond := self._slots[j][1]) < self.report_bytes:
                bad |= as_bytes(reports[block], self.report_bytes)[users, beyond:].any(axis=1)
            if bad.any():
                refused[block][users[bad]] = True
        return refused

    def _by_part(self, reports: NDArray[Any]) -> Iterator[tuple[int, slice, Counts, NDArray[Any]]]:
        """Yield the reports about each part, for blocks of reports.

        Each item is the number of the part, the block, the indexes within the block, and the part's
        reports.
        """
        m = len(self.protocols)
        for low in range(0, len(reports), NUMBERED_TOGETHER):
            block = slice(low, low + NUMBERED_TOGETHER)
            rows = as_bytes(reports[block], self.report_bytes)
            # Numbers of parts that do not exist form the last group
            groups = group_users(reports["attribute"][block], m + 1)
            for j, users in enumerate(groups[:m]):
                if len(users):
                    yield j, block, users, self._column(rows, j, users)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each value of each attribute.

        Parameters
        ----------
        reports : array of ``report_dtype``
            Reports as ``randomize`` returns them.

        Returns
        -------
        array of int64
            Contributions, one row per report and one column per frequency, attributes in order.
            They are 0 for attributes that the report is not about.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> solution = SMP(GRR, [2, 3], epsilon=2.0)
        >>> solution.contributions(solution.randomize([[0, 2], [1, 2]], rng=1))
        array([[1, 0, 0, 0, 0],
               [0, 0, 0, 1, 0]])
        """
        result = np.zeros((len(reports), self._entries), np.int64)
        for j, block, users, column in self._by_part(reports):
            result[block, self._own_entries[j]][users] = self.protocols[j].contributions(column)
        return result

    def _gather(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self._space, np.int64)
        for j, _, _, column in self._by_part(reports):
            total[self._own_space[j]] += self.protocols[j]._gather(column)
        return total

    def _answers(self, reports: NDArray[Any]) -> Counts:
        if self._parts_answer_all:
            reported = np.zeros(len(self.protocols), np.int64)
            sampled = as_readonly(np.ascontiguousarray(reports["attribute"]))
            draws.choose("symbols", len(sampled)).count(sampled, reported)
            return np.repeat(reported, [own.stop - own.start for own in self._own_entries])
        answers = np.zeros(self._entries, np.int64)
        for j, _, _, column in self._by_part(reports):
            answers[self._own_entries[j]] += self.protocols[j]._answers(column)
        return answers

    def _reporters(self, n: Counts) -> int:
        return sum(self._part_reporters(n))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        law, values, share = {}, np.array(record), Fraction(1, len(self.protocols))
        for j, each in enumerate(self.protocols):
            number = j.to_bytes(self._slots[j][0], "little")
            for report, chance in each.law(self._of_part(values, j)).items():
                law[(number + report).ljust(self.report_bytes, b"\0")] = chance * share
        return law

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        ((j, _, _, own),) = self._by_part(reports)
        each = self.protocols[j]
        return each._likelihood(own, self._of_part(value, j)) / len(self.protocols)

    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        self._refuse_whole()
        found: list[list[NDArray[Any]]] = [
            [np.empty(0, each.report_dtype)] for each in self.protocols
        ]
        for j, _, _, column in self._by_part(reports):
            found[j].append(column)
        return [np.concatenate(each) for each in found]

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        ((sampled, _, _, own),) = self._by_part(reports)
        found = []
        for j, each in enumerate(self.protocols):
            if j == sampled:
                found += each._read(own, None if record is None else self._of_part(record, j))
            else:
                found += [Reading(False, np.zeros(k, bool), [Fraction(1)] * k) for k in each.ks]
        return found

    def _simulate(
        self, held: Sequence[Counts], n: int, rng: Rng
    ) -> Iterable[tuple[Counts, Counts]]:
        m = len(self.protocols)
        sampled = sample_histograms(held, self._own_columns, [1 / m] * m, n, rng)
        return [
            each._simulate_part(own, int(own[0].sum()), rng)
            for each, own in zip(self.protocols, sampled, strict=True)
        ]

    def _sample_parts(self, users: Counts, memory: Source) -> Counts:
        """Return the part that each of the users has sampled permanently."""
        return memory.part(b"attribute").at(users).below(len(users), len(self.protocols))

    def _groups(self, memory: Source, n: int) -> list[Counts]:
        return group_users(self._sample_parts(np.arange(n), memory), len(self.protocols))

    def _place(self, out: NDArray[np.uint8], rows: Counts, j: int, own: NDArray[np.uint8]) -> None:
        # A report names its part. The place of a silent user stays as it is
        sent = ~(own == SILENT).all(axis=1)
        start, stop = self._slots[j]
        out[rows[sent]] = 0
        out[rows[sent], :start] = np.frombuffer(j.to_bytes(start, "little"), np.uint8)
        out[rows[sent], start:stop] = own[sent]

    def _recall(self, values: Counts, users: Counts, memory: Source) -> Sampled:
        which, m = self._sample_parts(users, memory), len(self.protocols)
        found: list[tuple[Counts, Any]] = []
        for j, (each, where) in enumerate(zip(self.protocols, group_users(which, m), strict=True)):
            held, who = take_users(self._of_part(values, j), where), take_users(users, where)
            own = each._recall(held, who, memory.part(b"%d" % j)) if len(where) else None
            found.append((where, own))
        return Sampled(which, found)

    @property
    def _prices(self) -> tuple[float, ...]:
        return self._part_prices

    def _charges(self, recalled: Sampled) -> list[Charge]:
        j = int(recalled.which[0])
        return [
            (self._accounts[j] + account, charge)
            for account, charge in self.protocols[j]._charges(recalled.parts[j][1])
        ]

    def _report(self, recalled: Sampled, fresh: Sequence[Stream], out: NDArray[Any]) -> None:
        rows = as_bytes(out, self.report_bytes)
        rows[:] = 0
        for j, (each, (where, own)) in enumerate(zip(self.protocols, recalled.parts, strict=True)):
            if len(where):
                reports = np.empty(len(where), each.report_dtype)
                each._report(own, fresh[self._own_columns[j]], reports)
                self._put(reports, rows, j, where)
        out["attribute"] = recalled.which
