"""SPL: a solution that splits the budget."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, Stream
from ..mechanism import Charge, Counts, Reading
from .base import combine_laws, losses_of
from .rows import as_bytes
from .side_by_side import SideBySide


class SPL(SideBySide):
    """Splitting: every attribute is reported, each with the d-th part of the budget.

    The privacy loss between any two records is at most ε. Between two records that differ in one
    attribute it is at most ε/d. The error grows much faster with d than that of ``SMP``.

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
    >>> from multi_freq_ldpy import OUE, SPL
    >>> solution = SPL(OUE, [4, 7, 2], epsilon=3.0)
    >>> solution.privacy.report, solution.privacy.report_attribute
    (3.0, 1.0)
    >>> reports = solution.randomize([[3, 6, 0], [2, 6, 1]] * 5000, rng=1)
    >>> [int(e.frequencies.argmax()) for e in solution.estimate(reports)][1]
    6
    """

    independent = True

    def _budget(self, epsilon: float, d: int) -> float:
        return exact.below(Fraction(epsilon) / d)

    @cached_property
    def privacy(self) -> Privacy:
        """The exact privacy losses, which are the sums of the losses of the parts.

        For two records that differ in one attribute, the loss is the largest among the parts.
        """
        whole, exactly = losses_of(self.protocols)
        one, _ = losses_of(self.protocols, attribute=True)
        if exactly:
            return self._privacy(prod(whole), max(one))
        return self._privacy(float(sum(whole)), float(max(one)))

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        values = np.array(record)
        laws = [each.law(self._of_part(values, j)) for j, each in enumerate(self.protocols)]
        return {
            b"".join(report): prod(chances, start=Fraction(1))
            for report, chances in combine_laws(laws)
        }

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        pairs = enumerate(zip(self.protocols, self._fields_of(reports), strict=True))
        return prod(
            (each._likelihood(own, self._of_part(value, j)) for j, (each, own) in pairs),
            start=Fraction(1),
        )

    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        self._refuse_whole()
        return list(self._fields_of(reports))

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        pairs = enumerate(zip(self.protocols, self._fields_of(reports), strict=True))
        return [
            said
            for j, (each, own) in pairs
            for said in each._read(own, None if record is None else self._of_part(record, j))
        ]

    def _simulate(
        self, held: Sequence[Counts], n: int, rng: Rng
    ) -> Iterable[tuple[Counts, Counts]]:
        pairs = zip(self.protocols, self._own_columns, strict=True)
        return [each._simulate_part(held[own], n, rng) for each, own in pairs]

    def _recall(self, values: Counts, users: Counts, memory: Source) -> list[Any]:
        return [
            each._recall(
                np.ascontiguousarray(self._of_part(values, j)), users, memory.part(b"%d" % j)
            )
            for j, each in enumerate(self.protocols)
        ]

    @property
    def _prices(self) -> tuple[float, ...]:
        return self._part_prices

    def _charges(self, recalled: list[Any]) -> list[Charge]:
        parts = zip(self._accounts, self.protocols, recalled, strict=False)
        return [
            (first + account, charge)
            for first, each, own in parts
            for account, charge in each._charges(own)
        ]

    def _report(self, recalled: list[Any], fresh: Sequence[Stream], out: NDArray[Any]) -> None:
        rows = as_bytes(out, self.report_bytes)
        for j, (each, own) in enumerate(zip(self.protocols, recalled, strict=True)):
            reports = np.empty(len(out), each.report_dtype)
            each._report(own, fresh[self._own_columns[j]], reports)
            self._put(reports, rows, j)
