"""Splitting the budget."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, Stream
from .base import Counts, combine_laws, losses_of
from .rows import as_bytes
from .side_by_side import SideBySide


class SPL(SideBySide):
    """Splitting: every attribute is reported, each with the d-th part of the budget.

    Any two records are told apart by at most ε, two that differ in one attribute by ε/d. Its error
    grows much faster with d than that of ``SMP``.

    >>> from multi_freq_ldpy import OUE
    >>> solution = SPL(OUE, [4, 7, 2], epsilon=3.0)
    >>> solution.privacy.report, solution.privacy.report_attribute
    (3.0, 1.0)
    >>> reports = solution.randomize([[3, 6, 0], [2, 6, 1]] * 5000, rng=1)
    >>> [int(e.frequencies.argmax()) for e in solution.estimate(reports)][1]
    6
    """

    def _budget(self, epsilon: float, d: int) -> float:
        return exact.below(Fraction(epsilon) / d)

    @cached_property
    def privacy(self) -> Privacy:
        """The losses of the attributes add up."""
        loss, attribute = losses_of(self.protocols)
        if attribute is None:
            return self._privacy(float(sum(loss)), float(max(loss)))
        return self._privacy(prod(attribute), max(attribute))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        laws = [each.law(value) for each, value in zip(self.protocols, record, strict=True)]
        return {b"".join(report): prod(chances) for report, chances in combine_laws(laws)}

    def _simulate(self, held: list[Counts], n: int, rng: Rng) -> tuple[list[Counts], int | Counts]:
        counts, answers = zip(
            *(
                each._simulate_tally(part, rng)
                for each, part in zip(self.protocols, held, strict=True)
            ),
            strict=True,
        )
        return list(counts), (
            n if all(share == 1 for share in self.answering) else self._join_answers(answers)
        )

    def _report_again(
        self,
        values: NDArray[np.int64],
        users: NDArray[np.int64],
        memory: Source,
        fresh: Sequence[Stream],
        out: NDArray[Any],
    ) -> None:
        for j, each in enumerate(self.protocols):
            reports = np.empty(len(values), each.report_dtype)
            each._report_again(
                np.ascontiguousarray(values[:, j]),
                users,
                memory.part(b"%d" % j),
                fresh[j : j + 1],
                reports,
            )
            self._put(reports, as_bytes(out, self.report_bytes), j)

    def _charges(self, values: NDArray[np.int64], memory: Source) -> list[tuple[int, int | None]]:
        each = (
            protocol._charges(values[:, j], memory.part(b"%d" % j))
            for j, protocol in enumerate(self.protocols)
        )
        return [(j, charge) for j, ((_, charge),) in enumerate(each)]

    @property
    def _prices(self) -> tuple[float, ...]:
        return tuple(each._prices[0] for each in self.protocols)
