"""A set of w out of k values that holds the user's own with probability p/2⁶⁴ and is uniform otherwise.

All other values enter with a common probability chosen so that mostly too few do, then uniform ones are added (or, rarely,
removed) until the size is right: by symmetry the set is uniform among those of its size, whatever that probability was.
"""

import numpy as np
from numba import uint8, uint32, uint64

from .bits import ONES, count, fill_rows, own_bits, workspace, write_bit
from .chacha import address_of, read_on, read_users
from .jit import jit
from .symbols import below

BLOCK = 256  # reports that exist at a time while they are drawn and counted


@jit
def randomize(key, first, numbers, values, k, last, w, p, owned, cells, fractions, corrections, out):
    """Draw the set of each user (see ``read_users``); a negative value stands for nobody's, and the set is uniform.

    A user owns two bytes for each byte of the row, two for the own bit, and four for each of ``corrections`` uniform draws,
    rounded up to a multiple of four; more corrections read on.
    """
    width = out.shape[1]
    head = (2 * width + 2 + 3) // 4 * 4
    stride = head + 4 * corrections
    users, buffer, spare, own, scratch = workspace(key, stride)
    rejected = uint64(2**32 % k)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        start = read_users(key, first, numbers, low, high, stride, buffer)
        words, uniform = buffer.view(np.uint16)[start // 2 :], buffer.view(np.uint32)[(start + head) // 4 :]
        fill_rows(first, numbers, low, stride, words, owned, cells, fractions, last, spare, scratch, out[low:high])
        own_bits(first, numbers, low, stride, 2 * width, words, p, spare, own[: high - low])
        for i in range(low, high):
            missing = np.int64(w)
            if values[i] >= 0:
                write_bit(out, i, values[i], uint8(0))
                missing -= np.int64(own[i - low])
            for c in range(width):
                missing -= np.int64(ONES[out[i, c]])
            used = 0
            while missing != 0:
                if used < corrections:
                    word = uniform[(i - low) * stride // 4 + used]
                else:
                    further = address_of(first, numbers, i, stride) + uint64(head)
                    word = uint32(read_on(further, used - corrections, spare) >> uint64(32))
                used += 1
                x = below(word, k, rejected)
                if x == k or x == values[i]:
                    continue
                present = (out[i, x >> 3] >> (x & 7)) & 1
                if missing > 0 and not present:
                    write_bit(out, i, x, uint8(1))
                    missing -= 1
                elif missing < 0 and present:
                    write_bit(out, i, x, uint8(0))
                    missing += 1
            if values[i] >= 0:
                write_bit(out, i, values[i], own[i - low])


@jit
def draw_and_count(key, first, numbers, values, k, last, w, p, owned, cells, fractions, corrections, rows, counts):
    """Add up what ``randomize`` would write, a few ``rows`` at a time."""
    for low in range(0, values.size, BLOCK):
        part = values[low : low + BLOCK]
        block = rows[: part.size]
        randomize(key, first + low, numbers[low : low + BLOCK], part, k, last, w, p, owned, cells, fractions, corrections, block)
        count(block, counts)
