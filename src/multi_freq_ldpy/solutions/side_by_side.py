"""Base of the solutions whose reports have one field per part."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Source
from ..mechanism import Counts, find_silent
from .base import Solution
from .rows import as_bytes

DRAWN_TOGETHER = 2**16  # users drawn together


class SideBySide(Solution):
    """Base of the solutions whose report has one field per part."""

    @cached_property
    def _slots(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            pairwise(accumulate((each.report_bytes for each in self.protocols), initial=0))
        )

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of a report, with one field per part. The fields are a0, a1 and so on."""
        if self.rounds is not None:
            return np.dtype((self.at(0).report_dtype, (self.rounds,)))
        return np.dtype([(f"a{j}", each.report_dtype) for j, each in enumerate(self.protocols)])

    def _columns(self, records: Counts, source: Source) -> Iterable[Counts]:
        """Return the values that each part reports on."""
        return (self._of_part(records, j) for j in range(len(self.protocols)))

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        if self.rounds is not None:
            self._randomize_rounds(values, source, out)
            return
        rows = as_bytes(out, self.report_bytes)
        sources = [source.part(b"%d" % j) for j in range(len(self.protocols))]
        for low in range(0, len(values), DRAWN_TOGETHER):
            records = values[low : low + DRAWN_TOGETHER]
            for j, column in enumerate(self._columns(records, source.skip(low))):
                self._write(column, sources[j].skip(low), rows[low : low + DRAWN_TOGETHER], j)

    def _fields_of(self, reports: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Return an iterator over the reports of each part, which are copied one part at a time."""
        rows = as_bytes(reports, self.report_bytes)
        return (self._column(rows, j) for j in range(len(self.protocols)))

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        self._refuse_whole()
        pairs = zip(self.protocols, self._fields_of(reports), strict=True)
        refused = np.asarray(np.any([each._refused(own) for each, own in pairs], axis=0))
        # A user all of whose parts are silent sends nothing
        return refused | find_silent(reports) if self._is_round else refused

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each value of each attribute.

        Parameters
        ----------
        reports : array of ``report_dtype``
            Reports as ``randomize`` returns them.

        Returns
        -------
        array
            Contributions, one row per report and one column per frequency, attributes in order.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SPL
        >>> solution = SPL(GRR, [2, 3], epsilon=4.0)
        >>> solution.contributions(solution.randomize([[0, 2], [1, 2]], rng=1))
        array([[1, 0, 0, 0, 1],
               [0, 1, 0, 0, 1]], dtype=uint8)
        """
        pairs = zip(self.protocols, self._fields_of(reports), strict=True)
        return np.concatenate([each.contributions(own) for each, own in pairs], axis=1)

    def _gather(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self._space, np.int64)
        step = max(1, 2**24 // self.report_bytes)
        for low in range(0, len(reports), step):
            pairs = zip(self.protocols, self._fields_of(reports[low : low + step]), strict=True)
            total += np.concatenate([each._gather(own) for each, own in pairs])
        return total

    def _answers(self, reports: NDArray[Any]) -> Counts:
        if self._answers_all:
            return super()._answers(reports)
        pairs = zip(self.protocols, self._fields_of(reports), strict=True)
        return np.concatenate([each._answers(own) for each, own in pairs])

    def _reporters(self, n: Counts) -> int:
        found = self._part_reporters(n)
        if self._is_round:
            return max(found)
        if len(set(found)) > 1:
            raise ValueError(
                "n must be of the same users for every attribute, because every report is about all"
                f" attributes, but the numbers of users are {validate.quote(found)}"
            )
        return found[0]
