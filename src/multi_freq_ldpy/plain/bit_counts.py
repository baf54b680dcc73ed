"""Packed rows of bits added up: see ``kernels.bit_counts``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
PIECE = 2**18  # bytes that are unpacked at a time


def count(reports: NDArray[np.uint8], counts: NDArray[np.int64]) -> None:
    """Add the number of ones in every column of ``reports`` to ``counts``, little bit order."""
    step = max(1, PIECE // max(1, reports.shape[1]))
    for low in range(0, len(reports), step):
        bits = np.unpackbits(reports[low : low + step], axis=1, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.int64)


def sizes(rows: NDArray[np.uint8], out: NDArray[np.int64]) -> None:
    """Write the number of ones of each row."""
    step = max(1, PIECE // max(1, rows.shape[1]))
    for low in range(0, len(rows), step):
        out[low : low + step] = ONES[rows[low : low + step]].sum(axis=1, dtype=np.int64)


def add_rows(rows: NDArray[Any], which: NDArray[np.int64], sums: NDArray[Any]) -> bool:
    """Add each row of zeros and ones, given as floats, to its row of ``sums``.

    Return True if all entries are 0 or 1.
    """
    if which.size:
        np.add.at(sums, which, rows)
    else:
        sums[0] += rows.sum(axis=0)
    return bool(((rows == 0) | (rows == 1)).all())
