"""A set of w out of k values that holds the user's own value with probability p/2⁶⁴.

In all other respects the set is uniform. All other values enter with a common probability. Then
uniform values are added or removed until the size is right. By symmetry the set is uniform among
the sets of its size, for any common probability.
"""

import numpy as np
from numba import uint8, uint64

from .bit_counts import count, sizes
from .bits import fill_rows, own_bits, workspace, write_bit
from .chacha import address_of, read_on, read_users
from .jit import jit


@jit
def clear_own(values, rows):
    """Take each user's own value out of the rows."""
    for i in range(values.size):
        if values[i] >= 0:
            write_bit(rows, i, values[i], uint8(0))


@jit
def randomize(
    key, first, numbers, values, p, k, last, w, corrections, units, owned, cells, fractions, out
):
    """Draw the set of each user (see ``read_users``).

    A negative value stands for no value, and the set is uniform.

    A user owns two bytes for each byte of the row and two for the own bit. Each of ``corrections``
    uniform draws takes two or four bytes more.
    """
    width = out.shape[1]
    pitch, head = width + 1 + corrections * units, uint64(width + 1)
    users, buffer, spare, own, scratch = workspace(key, 2 * pitch)
    held = np.empty(users, np.int64)
    digits = uint64(16 * units)
    mask = (uint64(1) << digits) - uint64(1)
    rejected = (mask - uint64(k) + uint64(1)) % uint64(k)  # 2^digits mod k
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        words = buffer.view(np.uint16)[
            read_users(key, first, numbers, low, high, 2 * pitch, buffer) // 2 :
        ]
        fill_rows(
            first,
            numbers,
            low,
            2 * pitch,
            words,
            owned,
            cells,
            fractions,
            last,
            spare,
            scratch,
            out[low:high],
        )
        own_bits(first, numbers, low, 2 * pitch, 2 * width, words, p, spare, own[: high - low])
        clear_own(values[low:high], out[low:high])
        sizes(out[low:high], held)
        for i in range(low, high):
            missing = np.int64(w) - held[i - low]
            if values[i] >= 0:
                missing -= np.int64(own[i - low])
                # The own value is in the set while others are added, not while they are removed
                write_bit(out, i, values[i], uint8(missing > 0))
            at, used = uint64((i - low) * pitch) + head, 0
            while missing != 0:
                if used < corrections:
                    word = uint64(words[at])
                    if units == 2:
                        word |= uint64(words[at + uint64(1)]) << uint64(16)
                    at += uint64(units)
                else:
                    further = address_of(first, numbers, i, 2 * pitch) + uint64(2) * head
                    word = read_on(further, used - corrections, spare) >> (uint64(64) - digits)
                used += 1
                product = word * uint64(k)
                if product & mask < rejected:
                    continue
                x = product >> digits
                c, place = x >> uint64(3), uint8(x & uint64(7))
                present = np.int64((out[i, c] >> place) & 1)
                if missing > 0:
                    out[i, c] |= uint8(1) << place
                    missing -= 1 - present
                else:
                    out[i, c] &= ~(uint8(1) << place)
                    missing += present
            if values[i] >= 0:
                write_bit(out, i, values[i], own[i - low])


@jit
def draw_and_count(
    key,
    first,
    numbers,
    values,
    p,
    k,
    last,
    w,
    corrections,
    units,
    owned,
    cells,
    fractions,
    rows,
    counts,
):
    """Add up the sets that ``randomize`` would write, a few ``rows`` at a time."""
    step = rows.shape[0]
    for low in range(0, values.size, step):
        part = values[low : low + step]
        block = rows[: part.size]
        randomize(
            key,
            first + low,
            numbers[low : low + step],
            part,
            p,
            k,
            last,
            w,
            corrections,
            units,
            owned,
            cells,
            fractions,
            block,
        )
        count(block, counts)
