"""Sampling one attribute."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..privacy import Privacy
from ..protocols.grr import symbol_dtype
from ..randomness import Rng, Source, Stream
from .base import BLOCK, Counts, Solution, as_bytes, losses, sampled


class SMP(Solution):
    """Sampling: one attribute, chosen uniformly, is reported with the whole budget; which one is part of the report.

    Any two records are told apart by at most ε. An attribute is estimated from the n/d users or so who reported it; its error has the
    sampling of users in it. Choose it where whole records are to be protected.

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
        loss, ratios = losses(self.protocols)
        return self._privacy(max(ratios) if ratios else float(max(loss)))

    @cached_property
    def _slots(self) -> tuple[tuple[int, int], ...]:
        start = symbol_dtype(self.d).itemsize
        return tuple((start, start + each.report_bytes) for each in self.protocols)

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The number of the attribute, and its report padded with zeros to the length of the longest."""
        longest = max(each.report_bytes for each in self.protocols)
        return np.dtype([("attribute", symbol_dtype(self.d)), ("payload", np.uint8, (longest,))])

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        # In the stream of an attribute, the users of a block who sampled it are numbered from the block's first user on
        rows, number = as_bytes(out, self.report_bytes), symbol_dtype(self.d)
        choice, sources = Source(source.part(b"attribute").key, 0), [source.part(b"%d" % j) for j in range(self.d)]
        first, end = source.first, source.first + len(values)
        for start in range(first - first % BLOCK, end, BLOCK):
            chosen = choice.skip(start).below(min(BLOCK, end - start), self.d).astype(number)
            order = np.argsort(chosen, kind="stable")
            edges = np.cumsum(np.bincount(chosen, minlength=self.d)).tolist()
            for j, (low, high) in enumerate(pairwise([0, *edges])):
                users = order[low:high] + (start - first)
                earlier = int(np.searchsorted(users, 0))  # in this block, but before the first user
                users = users[earlier:]
                reports = np.zeros(len(users), self.report_dtype)
                reports["attribute"] = j
                self._write(values[users, j], Source(sources[j].key, start + earlier), as_bytes(reports, self.report_bytes), j)
                rows[users] = as_bytes(reports, self.report_bytes)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        refused = np.asarray(reports["attribute"] >= self.d)
        for j, where, rows in self._by_attribute(reports):
            beyond = rows[:, self._slots[j][1] :].any(axis=1)
            refused[where] = self.protocols[j]._refused(self._column(rows, j)) | beyond
        return refused

    def _by_attribute(self, reports: NDArray[Any]) -> Any:
        """Yield each attribute that was reported, which reports speak of it, and their bytes."""
        rows = as_bytes(reports, self.report_bytes)
        for j in range(self.d):
            where = np.flatnonzero(reports["attribute"] == j)
            if where.size:
                yield j, where, rows[where]

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value of each attribute, shape (n, sum of ks)."""
        result = np.zeros((len(reports), self.parts[-1][1].stop), np.int64)
        for j, where, rows in self._by_attribute(reports):
            result[where, self.parts[j][1]] = self.protocols[j].contributions(self._column(rows, j))
        return result

    def _count(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self.parts[-1][1].stop, np.int64)
        step = max(1, 2**24 // self.report_bytes)
        for low in range(0, len(reports), step):
            for j, _, rows in self._by_attribute(reports[low : low + step]):
                total[self.parts[j][1]] += self.protocols[j]._count(self._column(rows, j))
        return total

    def _answers(self, reports: NDArray[Any]) -> Counts:
        answers: list[Any] = [0] * self.d
        for j, _, rows in self._by_attribute(reports):
            answers[j] = self.protocols[j]._answers(self._column(rows, j))
        return self._joined(answers)

    def _answered(self, n: Counts, users: int) -> list[Counts]:
        each = self._by_part(n)
        if not n.ndim or sum(protocol._reporters(one) for protocol, one in zip(self.protocols, each, strict=True)) != users:
            raise ValueError(f"n must say for each value how many of the {users} users reported its attribute, not {_check.shown(n)}")
        return each

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        law = {}
        for j, (each, value) in enumerate(zip(self.protocols, record, strict=True)):
            number = j.to_bytes(self._slots[j][0], "little")
            for report, chance in each.law(value).items():
                law[(number + report).ljust(self.report_bytes, b"\0")] = chance / self.d
        return law

    def _simulate(self, held: list[Counts], n: int, rng: Rng) -> tuple[list[Counts], int | Counts]:
        parts = sampled(held, [1 / self.d] * self.d, n, rng)
        counts, answers = zip(*(each._simulated(part, rng) for each, part in zip(self.protocols, parts, strict=True)), strict=True)
        return list(counts), self._joined(answers)

    def _sampled(self, users: NDArray[np.int64], memory: Source) -> NDArray[np.int64]:
        """Return the attribute that each of the users has sampled once and for all."""
        return memory.part(b"attribute").at(users).below(len(users), self.d)

    def _again(
        self, values: NDArray[np.int64], users: NDArray[np.int64], memory: Source, fresh: Sequence[Stream], out: NDArray[Any]
    ) -> None:
        sampled, rows = self._sampled(users, memory), as_bytes(out, self.report_bytes)
        rows[:] = 0
        for j, each in enumerate(self.protocols):
            where = np.flatnonzero(sampled == j)
            reports = np.empty(len(where), each.report_dtype)
            each._again(values[where, j], users[where], memory.part(b"%d" % j), fresh[j : j + 1], reports)
            start, stop = self._slots[j]
            rows[where, start:stop] = as_bytes(reports, stop - start)
        out["attribute"] = sampled

    def _charged(self, values: NDArray[np.int64], memory: Source) -> list[tuple[int, int | None]]:
        j = int(self._sampled(np.zeros(1, np.int64), memory)[0])
        return [(j, charge) for _, charge in self.protocols[j]._charged(values[:, j], memory.part(b"%d" % j))]

    @property
    def _prices(self) -> tuple[float, ...]:
        return tuple(each._prices[0] for each in self.protocols)
