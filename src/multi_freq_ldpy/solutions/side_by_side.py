"""Reports with a field for every attribute."""

from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import Source
from .base import Counts, Solution
from .rows import as_bytes

DRAWN_TOGETHER = 2**16  # users who are drawn together


class SideBySide(Solution):
    """Base of the solutions whose report has a field for every attribute."""

    @cached_property
    def _slots(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            pairwise(accumulate((each.report_bytes for each in self.protocols), initial=0))
        )

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """A field for each attribute: a0, a1 and so on."""
        return np.dtype([(f"a{j}", each.report_dtype) for j, each in enumerate(self.protocols)])

    def _columns(self, records: NDArray[np.int64], source: Source) -> Iterable[NDArray[np.int64]]:
        """Return what each attribute reports on."""
        return records.T

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        rows = as_bytes(out, self.report_bytes)
        sources = [source.part(b"%d" % j) for j in range(self.d)]
        for low in range(0, len(values), DRAWN_TOGETHER):
            records = values[low : low + DRAWN_TOGETHER]
            for j, column in enumerate(self._columns(records, source.skip(low))):
                self._write(column, sources[j].skip(low), rows[low : low + DRAWN_TOGETHER], j)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        rows = as_bytes(reports, self.report_bytes)
        return np.asarray(
            np.any(
                [each._refused(self._column(rows, j)) for j, each in enumerate(self.protocols)],
                axis=0,
            )
        )

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value of each attribute, shape (n, sum of
        ks).
        """
        rows = as_bytes(reports, self.report_bytes)
        return np.concatenate(
            [each.contributions(self._column(rows, j)) for j, each in enumerate(self.protocols)],
            axis=1,
        )

    def _count(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self.parts[-1][1].stop, np.int64)
        step = max(1, 2**24 // self.report_bytes)
        for low in range(0, len(reports), step):
            rows = as_bytes(reports[low : low + step], self.report_bytes)
            total += np.concatenate(
                [each._count(self._column(rows, j)) for j, each in enumerate(self.protocols)]
            )
        return total

    def _answers(self, reports: NDArray[Any]) -> int | Counts:
        if all(share == 1 for share in self.answering):
            return len(reports)
        rows = as_bytes(reports, self.report_bytes)
        return self._join_answers(
            [each._answers(self._column(rows, j)) for j, each in enumerate(self.protocols)]
        )
