"""A solution written outside the package: it reports every attribute with the whole budget.

>>> from multi_freq_ldpy import GRR, OUE, checks
>>> solution = PerAttribute([GRR, OUE], [3, 2], epsilon=1.0)
>>> round(solution.privacy.report_attribute, 6), round(solution.privacy.report, 6)
(1.0, 2.0)
>>> found = checks.check_protocol(solution)
>>> found["privacy"], found["unbiased"], found["spec"]
('holds', 'holds', 'not applicable: it is not in the registry')
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from multi_freq_ldpy import Privacy
from multi_freq_ldpy.mechanism import Counts
from multi_freq_ldpy.randomness import Rng
from multi_freq_ldpy.solutions.base import combine_laws
from multi_freq_ldpy.solutions.side_by_side import SideBySide


class PerAttribute(SideBySide):
    """Solution that reports every attribute with all of ε.

    The privacy loss is at most ε between two records that differ in one attribute.
    Between any two records it is at most d·ε.

    >>> from multi_freq_ldpy import GRR
    >>> PerAttribute(GRR, [3, 2], epsilon=1.0).d
    2
    """

    @cached_property
    def privacy(self) -> Privacy:
        """Loss between any two records, and loss of one attribute."""
        whole = [each.privacy.ratio or Fraction(0) for each in self.protocols]
        one = [each.privacy.ratio_attribute or Fraction(0) for each in self.protocols]
        return self._privacy(prod(whole), max(one))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        values = np.array(record)
        parts = enumerate(self.protocols)
        laws = [each.law(self._of_part(values, j)) for j, each in parts]
        return {b"".join(y): prod(p, start=Fraction(1)) for y, p in combine_laws(laws)}

    def _simulate(
        self,
        held: Sequence[Counts],
        n: int,
        rng: Rng,
    ) -> list[tuple[Counts, Counts]]:
        pairs = zip(self.protocols, self._own_columns, strict=True)
        return [each._simulate_part(held[own], n, rng) for each, own in pairs]
