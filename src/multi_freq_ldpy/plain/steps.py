"""Base noise of reports of steps: symbols −1, 0 and 1 as two packed rows of bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chacha import Words, read_pieces


def write(
    key: NDArray[np.uint32], numbers: Words, symbols: int, size: int, bits: int, out: NDArray[Any]
) -> None:
    """Write the base noise of numbered users into rows of bytes."""
    width = out.shape[1] // 2
    for part, _, drawn in read_pieces(key, 0, numbers, len(numbers), symbols * size):
        words = np.ascontiguousarray(drawn).view(f"<u{size}").astype(np.uint64)
        # The sign is the last bit, below the bits that must be 0
        high = words >> np.uint64(8 * size - bits)
        some, minus = high < 2, high == 1
        out[part, :width] = np.packbits(some, axis=1, bitorder="little")
        out[part, width:] = np.packbits(minus, axis=1, bitorder="little")
