"""A set of w out of k values that holds the user's own with probability p/2⁶⁴ and is uniform otherwise.

All other values enter with a common probability chosen so that mostly too few do, then uniform ones are added (or, rarely,
removed) until the size is right: by symmetry the set is uniform among those of its size, whatever that probability was.
"""

import numpy as np
from numba import uint32, uint64

from .bits import ONES, bernoulli, fill_row, write_bit
from .chacha import buffers, read, read_on
from .jit import jit


@jit
def below(word, k):
    """Return a uniform number below k from a 32-bit word, or k where the word has to be rejected."""
    product = uint64(word) * uint64(k)
    if uint32(product) < uint64(2**32 - 2**32 // k * k):
        return np.int64(k)
    return np.int64(product >> uint64(32))


@jit
def randomize(key, first, values, k, w, p, owned, fractions, corrections, out):
    """Randomize users ``first``, ``first`` + 1 and so on.

    A user owns two bytes for each byte of the row, two for the own bit, and four for each of ``corrections`` uniform draws,
    rounded up to a multiple of four; more corrections read on.
    """
    width = out.shape[1]
    head = (2 * width + 2 + 3) // 4 * 4
    stride = head + 4 * corrections
    users, buffer, spare = buffers(stride)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        address = (uint64(first) + uint64(low)) * uint64(stride)
        start = read(key, address, (high - low) * stride, buffer)
        for i in range(low, high):
            row = out[i]
            words = buffer.view(np.uint16)[start // 2 :]
            uniform = buffer.view(np.uint32)[(start + head) // 4 :]
            fill_row(key, address, words, owned, fractions, spare, k, row)
            own = bernoulli(key, address + uint64(2 * width), words[width], p, spare)
            write_bit(row, values[i], False)
            missing = w - np.int64(own)
            for c in range(width):
                missing -= np.int64(ONES[row[c]])
            used = 0
            while missing != 0:
                if used < corrections:
                    word = uniform[used]
                else:
                    word = uint32(read_on(key, address + uint64(head), used - corrections, spare) >> uint64(32))
                used += 1
                x = below(word, k)
                if x == k or x == values[i]:
                    continue
                present = (row[x >> 3] >> (x & 7)) & 1
                if missing > 0 and not present:
                    write_bit(row, x, True)
                    missing -= 1
                elif missing < 0 and present:
                    write_bit(row, x, False)
                    missing += 1
            write_bit(row, values[i], own)
            start += stride
            address += uint64(stride)
