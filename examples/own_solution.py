"""A solution written outside the package: every attribute with the whole budget.

>>> from multi_freq_ldpy import GRR, OUE, checks
>>> solution = PerAttribute([GRR, OUE], [3, 2], epsilon=1.0)
>>> round(solution.privacy.report_attribute, 6), round(solution.privacy.report, 6)
(1.0, 2.0)
>>> found = checks.check_protocol(solution)
>>> found["privacy"], found["unbiased"], found["spec"]
('holds', 'holds', 'not applicable: it is not in the registry')
"""

from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from multi_freq_ldpy import Privacy
from multi_freq_ldpy.randomness import Rng
from multi_freq_ldpy.solutions.base import combine_laws
from multi_freq_ldpy.solutions.side_by_side import SideBySide


class PerAttribute(SideBySide):
    """Every attribute is reported with all of ε.

    Two records that differ in one attribute are told apart by at most ε, any two by d·ε.

    >>> from multi_freq_ldpy import GRR
    >>> PerAttribute(GRR, [3, 2], epsilon=1.0).d
    2
    """

    @cached_property
    def privacy(self) -> Privacy:
        """The loss between any two records, and between two that differ in one attribute."""
        ratios = [each.privacy.ratio or Fraction(0) for each in self.protocols]
        return self._privacy(prod(ratios), max(ratios))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        laws = [each.law(value) for each, value in zip(self.protocols, record, strict=True)]
        return {b"".join(reports): prod(chances) for reports, chances in combine_laws(laws)}

    def _simulate(self, held: list[Any], n: int, rng: Rng) -> tuple[list[Any], Any]:
        pairs = zip(self.protocols, held, strict=True)
        return [each._simulate(counts, rng) for each, counts in pairs], n
