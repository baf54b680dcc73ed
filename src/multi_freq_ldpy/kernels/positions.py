"""Sets of held positions as packed rows, and one bit for each held position.

The bits are packed without gaps, in the order of positions.
"""

import numpy as np
from numba import uint8

from .jit import jit, popcount


@jit
def ranks(masks, places, out):
    """Write the number of held positions before each user's place.

    It is −1 if the place is not held.
    """
    for i in range(places.size):
        c, bit = places[i] >> 3, uint8(1) << uint8(places[i] & 7)
        rank = np.int64(-1)
        if masks[i, c] & bit:
            rank = popcount(masks[i, c] & (bit - uint8(1)))
            for earlier in range(c):
                rank += popcount(masks[i, earlier])
        out[i] = rank


@jit
def deposit(masks, bits, out):
    """Put each bit at its position.

    The rows are as wide as ``masks``. Positions that are not held are 0.
    """
    for i in range(masks.shape[0]):
        rank = 0
        for c in range(masks.shape[1]):
            left, row = masks[i, c], uint8(0)
            # There are as many bits as positions, unless another thread changes the masks
            while left and rank < 8 * bits.shape[1]:
                lowest = left & (~left + uint8(1))
                if (bits[i, rank >> 3] >> uint8(rank & 7)) & uint8(1):
                    row |= lowest
                rank += 1
                left ^= lowest
            out[i, c] = row
