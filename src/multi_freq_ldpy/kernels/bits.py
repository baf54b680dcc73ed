"""Rows of independent bits, each 1 with probability q, the user's own with probability p: exact multiples of 2⁻⁶⁴.

Eight bits are drawn at once: byte b has probability P_b = q^|b|·(1 − q)^(8 − |b|), a multiple of 2⁻⁵¹². Of the 2¹⁶ values of a
16-bit word it owns ⌊2¹⁶·P_b⌋. The few words that nobody owns draw from what is left, by rejection: b uniform, accepted with
probability frac(2¹⁶·P_b), which is compared lazily, 64 bits at a time. Together that is the product law exactly.
"""

import numpy as np
from numba import uint8, uint64

from .chacha import buffers, read, read_on
from .jit import jit

ONES = np.array([bin(b).count("1") for b in range(256)], np.uint8)
WORDS = 8  # 64-bit words of a fraction


def table(q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes owned by the words 0, 1, …, and the fractions by number of ones, for bits of probability q/2⁶⁴."""
    cells, fractions = np.zeros(9, np.int64), np.zeros((9, WORDS), np.uint64)
    for ones in range(9):
        cells[ones], rest = divmod((q**ones * (2**64 - q) ** (8 - ones)) << 16, 2**512)
        for i in range(WORDS):
            fractions[ones, i] = (rest >> (64 * (WORDS - 1 - i))) & (2**64 - 1)
    return np.repeat(np.arange(256, dtype=np.uint8), cells[ONES]), fractions


@jit
def leftover(key, address, fractions, spare):
    """Draw a byte from what the table leaves."""
    index = 0
    while True:
        byte = uint8(read_on(key, address, index, spare) >> uint64(56))
        index += 1
        for i in range(WORDS):
            word = read_on(key, address, index, spare)
            index += 1
            if word < fractions[ONES[byte], i]:
                return byte
            if word > fractions[ONES[byte], i]:
                break


@jit
def fill_row(key, address, words, owned, fractions, spare, k, row):
    """Draw the k bits of a row from ``words`` (uint16) at ``address``; bits beyond the k-th are 0."""
    for c in range(row.size):
        word = words[c]
        if word < owned.size:
            row[c] = owned[word]
        else:
            row[c] = leftover(key, address + uint64(2 * c), fractions, spare)
    if k & 7:
        row[row.size - 1] &= uint8((1 << (k & 7)) - 1)


@jit
def bernoulli(key, address, word, p, spare):
    """Decide with probability p/2⁶⁴ from a 16-bit word, reading on where it equals the first digits of p."""
    top = p >> uint64(48)
    if uint64(word) != top:
        return uint64(word) < top
    return (read_on(key, address, 0, spare) >> uint64(16)) < (p & uint64(0xFFFFFFFFFFFF))


@jit
def randomize(key, first, values, k, p, owned, fractions, out):
    """Randomize users ``first``, ``first`` + 1, …; a user owns two bytes for each byte of the row and two for the own bit."""
    width = out.shape[1]
    stride = 2 * width + 2
    users, buffer, spare = buffers(stride)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        address = (uint64(first) + uint64(low)) * uint64(stride)
        words = buffer.view(np.uint16)[read(key, address, (high - low) * stride, buffer) // 2 :]
        for i in range(low, high):
            row = out[i]
            fill_row(key, address, words, owned, fractions, spare, k, row)
            own = bernoulli(key, address + uint64(2 * width), words[width], p, spare)
            write_bit(row, values[i], own)
            words = words[width + 1 :]
            address += uint64(stride)


@jit
def write_bit(row, position, bit):
    """Set the bit at ``position`` to ``bit``."""
    mask = uint8(1 << (position & 7))
    if bit:
        row[position >> 3] |= mask
    else:
        row[position >> 3] &= ~mask


@jit
def count(reports, counts):
    """Add the number of ones in every column of ``reports`` (n, width) to ``counts`` (8·width), little bit order.

    Several rows are taken side by side so that the inner loop is long; byte counters are emptied before they can overflow.
    """
    n, width = reports.shape
    together = max(1, 512 // width)
    line = together * width
    counters = np.zeros((8, line), np.uint8)
    flat = reports.reshape(n * width)
    start = 0
    while start < flat.size:
        lines = min(255, (flat.size - start + line - 1) // line)
        for _ in range(lines):
            part = flat[start : min(flat.size, start + line)]
            start += line
            for bit in range(8):
                counter = counters[bit]
                for c in range(part.size):
                    counter[c] += (part[c] >> uint8(bit)) & uint8(1)
        for bit in range(8):
            for c in range(line):
                counts[8 * (c % width) + bit] += counters[bit, c]
                counters[bit, c] = 0
