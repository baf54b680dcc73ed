"""Splitting the budget."""

from fractions import Fraction
from functools import cached_property
from math import prod

from .. import exact
from ..privacy import Privacy
from ..randomness import Rng
from .base import Counts, every, losses, simulated
from .side_by_side import SideBySide


class SPL(SideBySide):
    """Splitting: every attribute is reported, each with the d-th part of the budget.

    Any two records are told apart by at most ε, two that differ in one attribute by ε/d. Its error grows much faster with d than that of
    ``SMP``.

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
        loss, attribute = losses(self.protocols)
        if attribute is None:
            return Privacy.one_shot(float(sum(loss)), float(max(loss)))
        return Privacy.one_shot(prod(attribute), max(attribute))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        laws = [each.law(value) for each, value in zip(self.protocols, record, strict=True)]
        return {b"".join(report): prod(chances) for report, chances in every(laws)}

    def _simulate(self, held: list[Counts], n: int, rng: Rng) -> tuple[list[Counts], int | Counts]:
        return [simulated(each, counts, rng) for each, counts in zip(self.protocols, held, strict=True)], n
