"""How draws are laid out: the tables that random words are compared with, and who owns which bytes.

Both ways to draw, ``plain`` and ``kernels``, are given these numbers.
"""

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
WORDS = 8  # 64-bit words of a fraction
FEW = 6  # values of a set that are better drawn one by one
SMALL = 2**12  # the largest k for which 16 bits make a number below k
HASHED = 16
"""Bytes that a user owns under local hashing: one word for the seed, one for the symbol."""


def symbol_constants(m: int, weights: tuple[int, int]) -> tuple[np.uint64, ...]:
    """Return m, T and Q for symbols out of m, and what nearly divides by Q.

    (d div 2³²)·inverse >> shift is never above d div Q.

    Nearly always they are equal. The inverse has 31 bits; it is 0 where Q is too small for that.
    """
    t, q = weights
    bits = q.bit_length()
    return tuple(
        map(np.uint64, (m, t, q, 2 ** (bits + 30) // q if bits > 32 else 0, max(0, bits - 2)))
    )


def bit_table(q: int) -> tuple[NDArray[np.uint8], int, NDArray[np.uint64]]:
    """Return the byte that owns each word, how many words are owned, and the fractions by number of
    ones, for bits of probability q/2⁶⁴.
    """
    cells, fractions = np.zeros(9, np.int64), np.zeros((9, WORDS), np.uint64)
    for ones in range(9):
        cells[ones], rest = divmod((q**ones * (2**64 - q) ** (8 - ones)) << 16, 2**512)
        for i in range(WORDS):
            fractions[ones, i] = (rest >> (64 * (WORDS - 1 - i))) & (2**64 - 1)
    owners = np.repeat(np.arange(256, dtype=np.uint8), cells[ONES])
    return np.append(owners, np.zeros(2**16 - owners.size, np.uint8)), owners.size, fractions


def last_byte(k: int) -> np.uint8:
    """Return the mask of the bits of the last byte that belong to one of k values."""
    return np.uint8(0xFF >> (-k % 8))


def bits_stride(width: int) -> int:
    """Return how many bytes of the main stream a user owns for a row of ``width`` bytes."""
    return 2 * width + 2


def again_stride(width: int, half: bool) -> int:
    """Return how many bytes of the main stream a user owns in a second round."""
    return 2 * width + (width + 1) // 2 * 2 * half


def set_plan(k: int, w: int) -> tuple[int, int, int]:
    """Return the probability of entering a set, times 2⁶⁴, how many corrections a user owns words
    for, and of how many 16-bit words each.

    To add one takes k/(k − w) draws, to remove one k/w: it is best to begin with too few in such a
    share of cases that neither matters more, and with none or all where few are to be drawn. More
    corrections than words are owned for read on, which costs as much as 150 words.
    """
    spread = isqrt(25 * w * (k - w) // k)  # five standard deviations of a size
    fewer = spread * (k - 2 * w) // (4 * k)
    if min(w, k - w) <= FEW:
        fewer = w if w <= FEW else w - k
    return 2**64 * (w - fewer) // k, spread // 2 + 2 + abs(fewer), 1 if k <= SMALL else 2


def set_constants(k: int, w: int) -> tuple[Any, ...]:
    """Return k, the mask of the last byte, w, and how sets are drawn, but for p."""
    enter, corrections, units = set_plan(k, w)
    return k, last_byte(k), w, corrections, units, *bit_table(enter)


def set_stride(k: int, w: int) -> int:
    """Return how many bytes of the main stream a user owns for a set."""
    _, corrections, units = set_plan(k, w)
    return 2 * ((k + 7) // 8 + 1 + corrections * units)
