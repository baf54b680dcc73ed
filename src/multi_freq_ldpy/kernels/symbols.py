"""A symbol out of m, kept with probability T/2⁶⁴ or replaced.

Each of the other symbols replaces it with probability Q/2⁶⁴. T + (m − 1)·Q = 2⁶⁴, so a 64-bit word
r decides without rejection. r < T keeps the symbol. Otherwise (r − T) div Q counts the other
symbols. The noise is an offset modulo m. The low half of the word is read only if the outcome
depends on it. Uniform symbols are drawn by multiplication and rejection.

Nearly all users are settled in loops without branches, on vectors. If one user of a block is not
settled, the users of this block are processed again, one by one.
"""

import numpy as np
from numba import uint64

from .chacha import address_of, buffers, read_on, read_users
from .jit import jit

SETTLED_TOGETHER = 256  # users settled at a time
HALF = 0xFFFFFFFF


@jit
def offset(word, t, q):
    """Return the number that the word adds to the symbol: 0 keeps it."""
    if word < t:
        return uint64(0)
    return uint64(1) + (word - t) // q


@jit
def settle(high, t, q):
    """Tell whether all words with this high half have the same offset."""
    last = high | uint64(HALF)
    if last < t or high < t:
        return last < t
    return (last - t) - (high - t) // q * q < q


@jit
def by_halves(words, at, values, start, stop, m, t, q, inverse, shift, out):
    """Randomize users ``start`` to ``stop`` by the high halves alone, from ``at`` on.

    Return True if the high halves settle all these users. All words of a high half beyond T have d
    = word − T in a range of 2³². They have the same quotient by Q if the rest of the first is below
    Q − 2³² + 1. A quotient that was guessed too small leaves a larger rest. Its user is not settled
    either.
    """
    first, slack = t >> uint64(32), q - uint64(HALF)
    unsettled = False
    for i in range(uint64(start), uint64(stop)):
        word = uint64(words[uint64(at) + i - uint64(start)])
        beyond = (word << uint64(32)) - t
        others = ((beyond >> uint64(32)) * (inverse & uint64(HALF)) >> shift) & uint64(HALF)
        keep = word < first
        unsettled |= (word == first) | ((word > first) & (beyond - others * q >= slack))
        symbol = uint64(values[i]) + (uint64(0) if keep else others + uint64(1))
        out[i] = symbol - m if symbol >= m else symbol
    return not unsettled


@jit
def randomize(key, first, numbers, values, m, t, q, inverse, shift, out):
    """Randomize the symbol of each user (see ``read_users``).

    A user owns four bytes of the main stream.
    """
    users, buffer, spare = buffers(key, 4)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        words = buffer.view(np.uint32)[read_users(key, first, numbers, low, high, 4, buffer) // 4 :]
        for start in range(low, high, SETTLED_TOGETHER):
            stop = min(high, start + SETTLED_TOGETHER)
            if inverse and by_halves(
                words, start - low, values, start, stop, m, t, q, inverse, shift, out
            ):
                continue
            for i in range(start, stop):
                word = uint64(words[i - low]) << uint64(32)
                if not settle(word, t, q):
                    word |= read_on(address_of(first, numbers, i, 4), 0, spare) >> uint64(32)
                symbol = uint64(values[i]) + offset(word, t, q)
                out[i] = symbol - m if symbol >= m else symbol


@jit
def below(word, k, rejected):
    """Return a uniform number below k from a 32-bit word, or k if the word is rejected.

    ``rejected`` is 2³² mod k.
    """
    product = uint64(word) * uint64(k)
    if product & uint64(HALF) < rejected:
        return np.int64(k)
    return np.int64(product >> uint64(32))


@jit
def all_below(words, at, start, stop, m, rejected, out):
    """Draw numbers below m for users ``start`` to ``stop`` as if no word were rejected.

    Return True if no word is rejected.
    """
    unsettled = False
    for i in range(uint64(start), uint64(stop)):
        product = uint64(words[uint64(at) + i - uint64(start)]) * (m & uint64(HALF))
        unsettled |= product & uint64(HALF) < rejected
        out[i] = product >> uint64(32)
    return not unsettled


@jit
def uniform(key, first, numbers, m, out):
    """Draw a uniform number below m < 2³² for each user (see ``read_users``).

    A user owns four bytes of the main stream.
    """
    users, buffer, spare = buffers(key, 4)
    rejected = uint64(2**32 % m)
    for low in range(0, out.size, users):
        high = min(out.size, low + users)
        words = buffer.view(np.uint32)[read_users(key, first, numbers, low, high, 4, buffer) // 4 :]
        for start in range(low, high, SETTLED_TOGETHER):
            stop = min(high, start + SETTLED_TOGETHER)
            if all_below(words, start - low, start, stop, uint64(m), rejected, out):
                continue
            for i in range(start, stop):
                number = below(words[i - low], m, rejected)
                index = 0
                while number == m:
                    number = below(
                        read_on(address_of(first, numbers, i, 4), index, spare) >> uint64(32),
                        m,
                        rejected,
                    )
                    index += 1
                out[i] = number


@jit
def count(symbols, counts):
    """Add up the occurrences of each symbol.

    Neighbours are counted in different rows, because repeated additions to one entry take longer.

    Symbols were checked, but another thread may change them. A symbol that is too large goes to an
    entry of its own.
    """
    rows, most = 4 if counts.size <= 4096 else 1, uint64(counts.size)
    several = np.zeros((rows, counts.size + 1), np.int64)
    for i in range(0, symbols.size - rows + 1, rows):
        for row in range(rows):
            several[row, min(uint64(symbols[i + row]), most)] += 1
    for i in range(symbols.size // rows * rows, symbols.size):
        several[0, min(uint64(symbols[i]), most)] += 1
    for row in range(rows):
        counts += several[row, : counts.size]
