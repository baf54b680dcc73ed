"""A symbol out of m, kept with probability T/2⁶⁴ and replaced by each of the others with probability Q/2⁶⁴.

T + (m − 1)·Q = 2⁶⁴, so a 64-bit word r decides without rejection: r < T keeps, otherwise (r − T) div Q counts the others. The
noise is an offset modulo m. Only the high half of the word is read unless the outcome depends on the low one. Uniform symbols are
drawn by multiplying and rejecting.
"""

import numpy as np
from numba import uint64

from .chacha import address_of, buffers, read_on, read_users
from .jit import jit


@jit
def offset(word, t, q):
    """Return what the word adds to the symbol: 0 keeps it."""
    if word < t:
        return uint64(0)
    return uint64(1) + (word - t) // q


@jit
def settled(high, t, q):
    """Tell whether all words with this high half have the same offset."""
    last = high | uint64(0xFFFFFFFF)
    if last < t or high < t:
        return last < t
    return (last - t) - (high - t) // q * q < q


@jit
def below(word, k, rejected):
    """Return a uniform number below k from a 32-bit word, or k where the word has to be rejected; ``rejected`` is 2³² mod k."""
    product = uint64(word) * uint64(k)
    if product & uint64(0xFFFFFFFF) < rejected:
        return np.int64(k)
    return np.int64(product >> uint64(32))


@jit
def uniform(key, first, numbers, m, out):
    """Draw a uniform number below m for each user (see ``read_users``), who owns four bytes of the main stream."""
    users, buffer, spare = buffers(4)
    rejected = uint64(2**32 % m)
    for low in range(0, out.size, users):
        high = min(out.size, low + users)
        words = buffer.view(np.uint32)[read_users(key, first, numbers, low, high, 4, buffer) // 4 :]
        for i in range(low, high):
            number = below(words[i - low], m, rejected)
            index = 0
            while number == m:
                number = below(read_on(key, address_of(first, numbers, i, 4), index, spare) >> uint64(32), m, rejected)
                index += 1
            out[i] = number


@jit
def randomize(key, first, numbers, values, m, t, q, out):
    """Randomize the symbol of each user (see ``read_users``), who owns four bytes of the main stream."""
    users, buffer, spare = buffers(4)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        words = buffer.view(np.uint32)[read_users(key, first, numbers, low, high, 4, buffer) // 4 :]
        for i in range(low, high):
            word = uint64(words[i - low]) << uint64(32)
            if not settled(word, t, q):
                word |= read_on(key, address_of(first, numbers, i, 4), 0, spare) >> uint64(32)
            symbol = uint64(values[i]) + offset(word, t, q)
            out[i] = symbol - m if symbol >= m else symbol
