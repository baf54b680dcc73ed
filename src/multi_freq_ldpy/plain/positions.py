"""Sets of held positions, and one bit for each held position: see ``kernels.positions``."""

import numpy as np
from numpy.typing import NDArray

PIECE = 2**18  # bytes that are unpacked at a time

Rows = NDArray[np.uint8]


def ranks(masks: Rows, places: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Write the number of held positions before each user's place, or −1 if it is not held."""
    step = max(1, PIECE // masks.shape[1])
    for low in range(0, len(places), step):
        part = slice(low, low + step)
        held = np.unpackbits(masks[part], axis=1, bitorder="little")
        place = places[part, np.newaxis]
        before = np.cumsum(held, axis=1, dtype=np.int64) - 1
        here = np.take_along_axis(held, place, axis=1)[:, 0] == 1
        out[part] = np.where(here, np.take_along_axis(before, place, axis=1)[:, 0], -1)


def deposit(masks: Rows, bits: Rows, out: Rows) -> None:
    """Put each bit at its position.

    The rows are as wide as ``masks``. Positions that are not held are 0.
    """
    step = max(1, PIECE // masks.shape[1])
    for low in range(0, len(masks), step):
        part = slice(low, low + step)
        held = np.unpackbits(masks[part], axis=1, bitorder="little")
        answers = np.unpackbits(bits[part], axis=1, bitorder="little")
        # There are as many bits as positions, unless another thread changes the masks
        rank = np.minimum(np.cumsum(held, axis=1, dtype=np.int64) - 1, answers.shape[1] - 1)
        found = held & np.take_along_axis(answers, np.maximum(rank, 0), axis=1)
        out[part] = np.packbits(found, axis=1, bitorder="little")
