"""Sampling one attribute."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, Stream
from ..mechanism import as_readonly
from ..protocols.grr import symbol_dtype
from .base import Counts, Solution, losses_of, sample_histograms
from .rows import as_bytes, group_users, take_users

NUMBERED_TOGETHER = 2**16  # users who are numbered together: part of what a seed gives


class SMP(Solution):
    """Sampling: one attribute, chosen uniformly, is reported with the whole budget.

    Which one is part of the report.

    Any two records are told apart by at most ε. An attribute is estimated from the n/d users or so
    who reported it; its error has the sampling of users in it. Choose it where whole records are to
    be protected.

    >>> from multi_freq_ldpy import OUE
    >>> solution = SMP(OUE, [4, 7, 2], epsilon=3.0)
    >>> solution.privacy.report, solution.report_bytes
    (3.0, 2)
    >>> tally = solution.tally(solution.randomize([[3, 6, 0], [2, 6, 1]] * 5000, rng=1))
    >>> tally.users, [part.n for part in tally]
    (10000, [3429, 3311, 3260])
    """

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """For each attribute, the probability that a report speaks of a given value of it."""
        return tuple(share / self.d for share in super().answering)

    @cached_property
    def privacy(self) -> Privacy:
        """One attribute is reported, whichever two records are compared."""
        loss, ratios = losses_of(self.protocols)
        return self._privacy(max(ratios) if ratios else float(max(loss)))

    @cached_property
    def _slots(self) -> tuple[tuple[int, int], ...]:
        start = symbol_dtype(self.d).itemsize
        return tuple((start, start + each.report_bytes) for each in self.protocols)

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The number of the attribute, and its report padded with zeros to the length of the
        longest.
        """
        longest = max(each.report_bytes for each in self.protocols)
        return np.dtype([("attribute", symbol_dtype(self.d)), ("payload", np.uint8, (longest,))])

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        # In the stream of an attribute, the users of a block who sampled it are numbered from the
        # block's first user on
        rows = as_bytes(out, self.report_bytes)
        rows[:] = 0
        choice, sources = (
            Source(source.part(b"attribute").key, 0),
            [source.part(b"%d" % j) for j in range(self.d)],
        )
        first, end = source.first, source.first + len(values)
        for start in range(first - first % NUMBERED_TOGETHER, end, NUMBERED_TOGETHER):
            chosen = choice.skip(start).below(min(NUMBERED_TOGETHER, end - start), self.d)
            before = max(0, first - start)  # users of this block who come before the first
            earlier, chosen = (
                np.bincount(chosen[:before], minlength=self.d).tolist(),
                chosen[before:],
            )
            block = slice(start + before - first, start + before - first + len(chosen))
            for j, users in enumerate(group_users(chosen, self.d)):
                if len(users):
                    own = Source(sources[j].key, start + earlier[j])
                    self._write(take_users(values[block, j], users), own, rows[block], j, users)
            out["attribute"][block] = chosen

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        refused = np.asarray(reports["attribute"] >= self.d)
        for j, block, users, column in self._by_attribute(reports):
            bad = self.protocols[j]._refused(column)
            if (beyond := self._slots[j][1]) < self.report_bytes:
                bad |= as_bytes(reports[block], self.report_bytes)[users, beyond:].any(axis=1)
            if bad.any():
                refused[block][users[bad]] = True
        return refused

    def _by_attribute(self, reports: NDArray[Any]) -> Any:
        """Yield, for blocks of reports, each attribute that was reported, the block, which of it
        speak of it, and what they say of it.
        """
        for low in range(0, len(reports), NUMBERED_TOGETHER):
            block = slice(low, low + NUMBERED_TOGETHER)
            rows = as_bytes(reports[block], self.report_bytes)
            # Attributes that do not exist are the last group
            groups = group_users(reports["attribute"][block], self.d + 1)
            for j, users in enumerate(groups[: self.d]):
                if len(users):
                    yield j, block, users, self._column(rows, j, users)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value of each attribute, shape (n, sum of
        ks).
        """
        result = np.zeros((len(reports), self.parts[-1][1].stop), np.int64)
        for j, block, users, column in self._by_attribute(reports):
            result[block, self.parts[j][1]][users] = self.protocols[j].contributions(column)
        return result

    def _count(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self.parts[-1][1].stop, np.int64)
        for j, _, _, column in self._by_attribute(reports):
            total[self.parts[j][1]] += self.protocols[j]._count(column)
        return total

    def _answers(self, reports: NDArray[Any]) -> Counts:
        from ..kernels import symbols

        if all(each.answering[0] == 1 for each in self.protocols):
            reported = np.zeros(self.d, np.int64)
            symbols.count(as_readonly(np.ascontiguousarray(reports["attribute"])), reported)
            return self._join_answers(reported.tolist())
        answers: list[Any] = [0] * self.d
        for j, _, _, column in self._by_attribute(reports):
            answers[j] = answers[j] + self.protocols[j]._answers(column)
        return self._join_answers(answers)

    def _split_answers(self, n: Counts, users: int) -> list[Counts]:
        each = self._split_by_part(n)
        if (
            not n.ndim
            or sum(
                protocol._reporters(one) for protocol, one in zip(self.protocols, each, strict=True)
            )
            != users
        ):
            raise ValueError(
                f"n must say for each value how many of the {users} users reported its attribute,"
                f" not {validate.quote(n)}"
            )
        return each

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        law = {}
        for j, (each, value) in enumerate(zip(self.protocols, record, strict=True)):
            number = j.to_bytes(self._slots[j][0], "little")
            for report, chance in each.law(value).items():
                law[(number + report).ljust(self.report_bytes, b"\0")] = chance / self.d
        return law

    def _simulate(self, held: list[Counts], n: int, rng: Rng) -> tuple[list[Counts], int | Counts]:
        parts = sample_histograms(held, [1 / self.d] * self.d, n, rng)
        counts, answers = zip(
            *(
                each._simulate_tally(part, rng)
                for each, part in zip(self.protocols, parts, strict=True)
            ),
            strict=True,
        )
        return list(counts), self._join_answers(answers)

    def _sample_attributes(self, users: NDArray[np.int64], memory: Source) -> NDArray[np.int64]:
        """Return the attribute that each of the users has sampled once and for all."""
        return memory.part(b"attribute").at(users).below(len(users), self.d)

    def _report_again(
        self,
        values: NDArray[np.int64],
        users: NDArray[np.int64],
        memory: Source,
        fresh: Sequence[Stream],
        out: NDArray[Any],
    ) -> None:
        sampled, rows = self._sample_attributes(users, memory), as_bytes(out, self.report_bytes)
        rows[:] = 0
        for j, (each, where) in enumerate(
            zip(self.protocols, group_users(sampled, self.d), strict=True)
        ):
            if len(where):
                reports = np.empty(len(where), each.report_dtype)
                each._report_again(
                    take_users(values[:, j], where),
                    take_users(users, where),
                    memory.part(b"%d" % j),
                    fresh[j : j + 1],
                    reports,
                )
                self._put(reports, rows, j, where)
        out["attribute"] = sampled

    def _charges(self, values: NDArray[np.int64], memory: Source) -> list[tuple[int, int | None]]:
        j = int(self._sample_attributes(np.zeros(1, np.int64), memory)[0])
        return [
            (j, charge)
            for _, charge in self.protocols[j]._charges(values[:, j], memory.part(b"%d" % j))
        ]

    @property
    def _prices(self) -> tuple[float, ...]:
        return tuple(each._prices[0] for each in self.protocols)
