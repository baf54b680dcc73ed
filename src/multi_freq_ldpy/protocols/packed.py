"""Reports of one bit for each value of the domain, packed."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol import Exact


def unpack(reports: NDArray[Any], k: int) -> NDArray[np.uint8]:
    """Return packed bits as zeros and ones, shape (n, k)."""
    return np.unpackbits(reports, axis=1, count=k, bitorder="little")


def count_ones(reports: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of ones in each row of packed bits."""
    from ..kernels import bit_counts

    sizes = np.empty(len(reports), np.int64)
    bit_counts.sizes(reports, sizes)
    return sizes


class PackedBits(Exact):
    """Base of the protocols whose report supports a set of values.

    K bits in ⌈k/8⌉ bytes, little bit order, zero padding.
    """

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """Packed bits, little bit order."""
        return np.dtype((np.uint8, ((self.k + 7) // 8,)))

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return -(-self.k // 64)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        beyond = self.k % 8
        return (
            np.asarray(reports[:, -1] >> beyond != 0)
            if beyond
            else np.zeros(len(reports), np.bool_)
        )

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the bits, shape (n, k)."""
        return unpack(reports, self.k)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        from ..kernels import bit_counts

        counts = np.zeros(8 * reports.shape[1], np.int64)
        bit_counts.count(reports, counts)
        return counts[: self.k]
