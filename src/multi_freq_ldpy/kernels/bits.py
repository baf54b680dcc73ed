"""Rows of independent bits, each 1 with probability q, the user's own with probability p: exact multiples of 2⁻⁶⁴.

Eight bits are drawn at once: byte b has probability P_b = q^|b|·(1 − q)^(8 − |b|), a multiple of 2⁻⁵¹². Of the 2¹⁶ values of a
16-bit word it owns ⌊2¹⁶·P_b⌋. The few words that nobody owns draw from what is left, by rejection: b uniform, accepted with
probability frac(2¹⁶·P_b), which is compared lazily, 64 bits at a time. Together that is the product law exactly.
"""

import numpy as np
from numba import uint8, uint64

from .chacha import address_of, buffers, read_on, read_users
from .jit import inline, jit

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


def last_byte(k: int) -> np.uint8:
    """Return the mask of the bits of the last byte that belong to one of k values."""
    return np.uint8(0xFF >> (-k % 8))


@jit
def fill_rows(key, first, numbers, low, stride, words, owned, fractions, last, spare, rows):
    """Draw all bits of the rows of users from ``low`` on, each from the ``words`` (uint16) at its own; ``last`` masks the last byte."""
    for i in range(rows.shape[0]):
        start = i * stride // 2
        for c in range(rows.shape[1]):
            word = words[start + c]
            if word < owned.size:
                rows[i, c] = owned[word]
            else:
                rows[i, c] = leftover(key, address_of(first, numbers, low + i, stride) + uint64(2 * c), fractions, spare)
        rows[i, rows.shape[1] - 1] &= last


@jit
def own_bits(key, first, numbers, low, stride, place, words, p, spare, own):
    """Draw the own bits of users from ``low`` on with probability p/2⁶⁴, from the 16-bit word at byte ``place`` of each.

    Where that word equals the first digits of p, more are read.
    """
    for i in range(own.size):
        drawn, threshold = uint64(words[(i * stride + place) // 2]), p >> uint64(48)
        if drawn == threshold:
            further = address_of(first, numbers, low + i, stride) + uint64(place)
            drawn, threshold = read_on(key, further, 0, spare) >> uint64(16), p & uint64(0xFFFFFFFFFFFF)
        own[i] = drawn < threshold


@inline
def write_bit(rows, i, position, bit):
    """Set the bit at ``position`` of row i to ``bit``, 0 or 1, without a branch that tells which."""
    c, place = position >> 3, position & 7
    rows[i, c] = (rows[i, c] & ~(1 << place)) | (bit << place)


@jit
def randomize(key, first, numbers, values, last, p, owned, fractions, out):
    """Randomize the row of each user (see ``read_users``), who owns two bytes for each byte of the row and two for the own bit.

    A negative value stands for nobody's: no bit is the own one.
    """
    width = out.shape[1]
    stride = 2 * width + 2
    users, buffer, spare = buffers(stride)
    own = np.empty(users, np.uint8)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        words = buffer.view(np.uint16)[read_users(key, first, numbers, low, high, stride, buffer) // 2 :]
        fill_rows(key, first, numbers, low, stride, words, owned, fractions, last, spare, out[low:high])
        own_bits(key, first, numbers, low, stride, 2 * width, words, p, spare, own[: high - low])
        for i in range(low, high):
            if values[i] >= 0:
                write_bit(out, i, values[i], own[i - low])


@jit
def again(key, first, rows, last, half, owned, fractions, out):
    """Send every bit of the ``rows`` of users ``first``, ``first`` + 1, … through a second round.

    A bit b becomes n ⊕ (b ∧ u), n being 1 with probability q. With u = 1 that flips it with probability q; with a uniform u (``half``)
    a 0 becomes 1 with probability q and a 1 with probability 1/2. A user owns two bytes for each byte of the row, and one for its u.
    """
    width = out.shape[1]
    stride = 2 * width + (width + 1) // 2 * 2 * np.int64(half)
    users, buffer, spare = buffers(stride)
    nobody = np.empty(0, np.uint64)
    for low in range(0, out.shape[0], users):
        high = min(out.shape[0], low + users)
        start = read_users(key, first, nobody, low, high, stride, buffer)
        words, uniform = buffer.view(np.uint16)[start // 2 :], buffer.view(np.uint8)[start + 2 * width :]
        fill_rows(key, first, nobody, low, stride, words, owned, fractions, last, spare, out[low:high])
        for i in range(low, high):
            for c in range(width):
                out[i, c] ^= rows[i, c] & uniform[(i - low) * stride + c] if half else rows[i, c]


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


@jit
def sizes(reports):
    """Return the number of ones in each row."""
    result = np.zeros(reports.shape[0], np.int64)
    for i in range(reports.shape[0]):
        for c in range(reports.shape[1]):
            result[i] += ONES[reports[i, c]]
    return result
