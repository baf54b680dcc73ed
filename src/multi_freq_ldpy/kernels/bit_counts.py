"""Packed rows of bits, added up by column or by row.

Sixteen lines of whole words are added at a time, as binary numbers in each of 64 places. Five
operations on words turn three bits into two. To add a line takes little longer than to read it.
"""

import numpy as np
from numba import uint64

from .jit import jit, popcount


@jit
def carry(a, b, c):
    """Add three bits in each of 64 places: return the carry and the sum bit."""
    half = a ^ b
    return (a & b) | (half & c), half ^ c


@jit
def add_eight(words, start, line, ones, twos, fours):
    """Add the words of eight lines to the given digits.

    Return the carry into the eights, and the digits.
    """
    two, ones = carry(ones, words[start], words[start + line])
    more, ones = carry(ones, words[start + uint64(2) * line], words[start + uint64(3) * line])
    four, twos = carry(twos, two, more)
    two, ones = carry(ones, words[start + uint64(4) * line], words[start + uint64(5) * line])
    more, ones = carry(ones, words[start + uint64(6) * line], words[start + uint64(7) * line])
    further, twos = carry(twos, two, more)
    eight, fours = carry(fours, four, further)
    return eight, ones, twos, fours


@jit
def add_lines(words, at, planes, counters):
    """Add up 16 lines of ``words``, from ``at`` on, place by place.

    The sums are binary numbers. Their digits 1, 2, 4 and 8 are kept in ``planes``. The sixteens
    (the last plane) go into bytes of ``counters``. Each row of ``counters`` holds every eighth bit.
    """
    line = uint64(planes.shape[1])
    for c in range(line):
        start = uint64(at) + c
        eight, ones, twos, fours = add_eight(
            words, start, line, planes[0, c], planes[1, c], planes[2, c]
        )
        more, ones, twos, fours = add_eight(
            words, start + uint64(8) * line, line, ones, twos, fours
        )
        planes[4, c], planes[3, c] = carry(planes[3, c], eight, more)
        planes[0, c], planes[1, c], planes[2, c] = ones, twos, fours
    for bit in range(8):
        for c in range(line):
            counters[bit, c] += (planes[4, c] >> uint64(bit)) & uint64(0x0101010101010101)


@jit
def empty(planes, counters, width, counts):
    """Add the sums of ``add_lines`` to ``counts``, and set them to 0."""
    for c in range(planes.shape[1]):
        for byte in range(8):
            first, shift = 8 * ((8 * c + byte) % width), uint64(8 * byte)
            for bit in range(8):
                total = 16 * ((counters[bit, c] >> shift) & uint64(0xFF))
                for digit in range(4):
                    total += ((planes[digit, c] >> (shift + uint64(bit))) & uint64(1)) << uint64(
                        digit
                    )
                counts[first + bit] += np.int64(total)
        for digit in range(5):
            planes[digit, c] = 0
        for bit in range(8):
            counters[bit, c] = 0


@jit
def count_bytes(flat, start, width, counts):
    """Add up the bits from byte ``start`` on, one by one."""
    for i in range(start, flat.size):
        for bit in range(8):
            counts[8 * (i % width) + bit] += (flat[i] >> bit) & 1


@jit
def count(reports, counts):
    """Add the number of ones in every column of ``reports`` to ``counts``.

    ``reports`` has shape (n, width) and little bit order. ``counts`` has 8·width entries. A line
    consists of the fewest rows that fill whole 64-bit words. The bytes that hold sixteens are
    emptied before they can overflow.
    """
    n, width = reports.shape
    line = width
    while line % 8:
        line *= 2
    flat = reports.reshape(n * width)
    groups = flat.size // (16 * line)
    if groups:
        words = flat[: groups * 16 * line].view(np.uint64)
        planes, counters = np.zeros((5, line // 8), np.uint64), np.zeros((8, line // 8), np.uint64)
        for i in range(groups):
            add_lines(words, i * 2 * line, planes, counters)
            if i % 255 == 254 or i == groups - 1:
                empty(planes, counters, width, counts)
    count_bytes(flat, groups * 16 * line, width, counts)


@jit
def sizes(rows, out):
    """Write the number of ones of each row."""
    for i in range(rows.shape[0]):
        held = 0
        for c in range(uint64(rows.shape[1])):
            held += popcount(rows[i, c])
        out[i] = held


@jit
def add_rows(rows, which, sums):
    """Add each row of zeros and ones, given as floats, to its row of ``sums``.

    Return True if all entries are 0 or 1. ``which`` names the row of ``sums`` for each row. If
    ``which`` is empty, all rows go to the first.
    """
    wrong = False
    for i in range(rows.shape[0]):
        j = uint64(which[i]) if which.size else uint64(0)
        for c in range(uint64(rows.shape[1])):
            wrong |= (rows[i, c] != 0.0) & (rows[i, c] != 1.0)
            sums[j, c] += rows[i, c]
    return not wrong
