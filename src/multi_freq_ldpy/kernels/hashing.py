"""Local hashing: a seed for one of P(P − 1) affine hash functions, and a randomized bucket.

The bucket is that of the user's value. bucket(x) = ⌊g·((a·x + s) mod P)/P⌋ with a = 1 + seed div P,
s = seed mod P. Bucket y is the window ⌈yP/g⌉ … ⌈(y + 1)P/g⌉ − 1 of residues. The step from x to x +
1 adds a modulo P, so counting needs no hashing and no division.
"""

import numpy as np
from numba import float64, uint64

from .chacha import address_of, buffers, read, read_on, read_users
from .jit import jit
from .symbols import offset

STRIDE = 16  # bytes per user: a word for the seed, a word for the symbol
LANES = 128  # reports counted side by side
SOME = 8 * LANES  # reports drawn or read at a time: they stay in the first-level cache


@jit
def bucket(x, seed, prime, g):
    """Return the bucket of x.

    Both a·x + s and g·residue stay below 2⁶⁴, because P < 2³².
    """
    residue = ((uint64(1) + seed // prime) * uint64(x) + seed % prime) % prime
    return g * residue // prime


@jit
def uniform(word, address, m, rejected, spare):
    """Return a uniform number below m from a word.

    ``rejected`` is 2⁶⁴ mod m. A smaller word is rejected, and further words are read on at
    ``address``.
    """
    index = 0
    while word < rejected:
        word = read_on(address, index, spare)
        index += 1
    return word % m


@jit
def seeds(key, first, numbers, prime, out):
    """Draw a seed for each user (see ``read_users``), who owns eight bytes of the main stream."""
    family = prime * (prime - uint64(1))
    rejected = (uint64(0) - family) % family
    users, buffer, spare = buffers(key, 8)
    for low in range(0, out.size, users):
        high = min(out.size, low + users)
        words = buffer[read_users(key, first, numbers, low, high, 8, buffer) // 8 :]
        for i in range(low, high):
            out[i] = uniform(
                words[i - low], address_of(first, numbers, i, 8), family, rejected, spare
            )


@jit
def buckets(values, seeds, prime, g, out):
    """Write the bucket of each value under its user's hash function."""
    for i in range(out.size):
        out[i] = bucket(values[i], seeds[i], prime, g)


@jit
def randomize(key, first, values, prime, g, t, q, seeds, symbols):
    """Randomize users ``first``, ``first`` + 1, … into ``seeds`` and ``symbols`` (both uint64).

    A negative value stands for no value: its symbol is uniform.
    """
    family = prime * (prime - uint64(1))
    rejected = (uint64(0) - family) % family  # 2⁶⁴ modulo the number of hash functions
    uneven = (uint64(0) - g) % g
    users, buffer, spare = buffers(key, STRIDE)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        address = (uint64(first) + uint64(low)) * uint64(STRIDE)
        words = buffer[read(key, address, (high - low) * STRIDE, buffer) // 8 :]
        for i in range(low, high):
            seed = uniform(
                words[2 * (i - low)], address + uint64(STRIDE * (i - low)), family, rejected, spare
            )
            seeds[i] = seed
            word = words[2 * (i - low) + 1]
            if values[i] < 0:
                symbols[i] = uniform(
                    word, address + uint64(STRIDE * (i - low) + 8), g, uneven, spare
                )
            else:
                symbol = bucket(values[i], seed, prime, g) + offset(word, t, q)
                symbols[i] = symbol - g if symbol >= g else symbol


@jit
def unpack(rows, seeds, symbols):
    """Copy the bytes of reports into ``seeds`` and ``symbols``.

    The bytes of the seed come first, then those of the symbol. Their numbers are the item sizes of
    the two arrays.
    """
    first = uint64(0)
    for field, size in (
        (seeds.view(np.uint8), uint64(seeds.itemsize)),
        (symbols.view(np.uint8), uint64(symbols.itemsize)),
    ):
        for c in range(size):
            for i in range(uint64(rows.shape[0])):
                field[i * size + c] = rows[i, first + c]
        first += size


@jit
def find_refused(rows, seeds, symbols, prime, g, out):
    """Mark reports with a seed or a symbol that does not exist.

    Reports are read into ``seeds`` and ``symbols``, some at a time.
    """
    family = prime * (prime - uint64(1))
    for low in range(0, rows.shape[0], seeds.size):
        part = rows[low : low + seeds.size]
        unpack(part, seeds, symbols)
        for i in range(uint64(part.shape[0])):
            out[uint64(low) + i] = (uint64(seeds[i]) >= family) | (uint64(symbols[i]) >= g)


@jit
def divide(number, divisor, inverse):
    """Return quotient and rest, computed in floating point.

    The product with the inverse is off by at most one.
    """
    quotient = uint64(float64(number) * inverse)
    rest = np.int64(number - quotient * divisor)
    if rest < 0:
        return quotient - uint64(1), uint64(rest) + divisor
    if uint64(rest) >= divisor:
        return quotient + uint64(1), uint64(rest) - divisor
    return quotient, uint64(rest)


@jit
def prepare(seeds, symbols, prime, edges, lanes):
    """Fill ``lanes`` for up to LANES reports.

    A lane holds three numbers. The first is the residue of x = 0 minus the start of the symbol's
    window, modulo P. The second is the step from one x to the next. The third is the size of the
    window: a smaller residue means support. Lanes left over support nothing.
    """
    word = lanes.dtype.type
    inverse = 1.0 / float64(prime)
    lanes[2, :] = word(0)
    for i in range(seeds.size):
        a, shift = divide(uint64(seeds[i]), prime, inverse)
        # The symbol was checked, but another thread may have changed it since
        symbol = min(uint64(symbols[i]), uint64(edges.size - 2))
        start, stop = edges[symbol], edges[symbol + uint64(1)]
        lanes[0, i] = word(shift - start if shift >= start else shift + prime - start)
        lanes[1, i] = word(a + uint64(1))
        lanes[2, i] = word(stop - start)


@jit
def sweep(lanes, prime, counts):
    """Add to ``counts`` the number of reports in the lanes that support each value.

    Four values at a time stay in registers.
    """
    word = lanes.dtype.type
    modulus = word(prime)
    residue, step, size = lanes[0], lanes[1], lanes[2]
    for x in range(0, counts.size, 4):
        one, two, three, four = word(0), word(0), word(0), word(0)
        for i in range(LANES):
            z, a, w = residue[i], step[i], size[i]
            one = word(one + word(z < w))
            z = word(z + a)
            z = min(z, word(z - modulus))
            two = word(two + word(z < w))
            z = word(z + a)
            z = min(z, word(z - modulus))
            three = word(three + word(z < w))
            z = word(z + a)
            z = min(z, word(z - modulus))
            four = word(four + word(z < w))
            z = word(z + a)
            residue[i] = min(z, word(z - modulus))
        counts[x] += np.int64(one)
        counts[x + 1] += np.int64(two)
        counts[x + 2] += np.int64(three)
        counts[x + 3] += np.int64(four)


@jit
def count(seeds, symbols, prime, edges, lanes, counts):
    """Add to ``counts`` the number of reports that support each value.

    The size of ``counts`` is a multiple of four. Seeds and symbols are unsigned integers of any
    type.

    ``edges`` holds the starts of the windows, and P. ``lanes`` is scratch space of shape (3,
    LANES), of an unsigned type that holds 2·P. All arithmetic of the sweep is done in that type.
    """
    for low in range(0, seeds.size, LANES):
        prepare(seeds[low : low + LANES], symbols[low : low + LANES], prime, edges, lanes)
        sweep(lanes, prime, counts)


@jit
def count_reports(rows, seeds, symbols, prime, edges, lanes, counts):
    """Count reports as ``count`` does, given as bytes.

    They are read into ``seeds`` and ``symbols``, some at a time.
    """
    for low in range(0, rows.shape[0], seeds.size):
        part = rows[low : low + seeds.size]
        unpack(part, seeds, symbols)
        count(seeds[: part.shape[0]], symbols[: part.shape[0]], prime, edges, lanes, counts)


@jit
def draw_and_count(key, first, values, prime, g, t, q, edges, lanes, counts):
    """Add up the values that the reports of ``randomize`` would support.

    A few reports are drawn at a time.
    """
    seeds, symbols = np.empty(SOME, np.uint64), np.empty(SOME, np.uint64)
    for low in range(0, values.size, SOME):
        part = values[low : low + SOME]
        randomize(key, first + low, part, prime, g, t, q, seeds, symbols)
        count(seeds[: part.size], symbols[: part.size], prime, edges, lanes, counts)
