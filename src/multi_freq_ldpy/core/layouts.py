"""The layout of draws: the tables that random words are compared with, and the bytes of each user.

Both ways to draw, ``plain`` and ``kernels``, use these numbers.
"""

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
WORDS = 8  # number of 64-bit words of a fraction
FEW = 6  # largest number of values that are better drawn one by one
SMALL = 2**12  # the largest k for which 16 bits make a number below k
HASHED = 16
"""Bytes that a user owns under local hashing: one word for the seed, one for the symbol."""


def symbol_constants(m: int, weights: tuple[int, int]) -> tuple[np.uint64, ...]:
    """Return m, T and Q for symbols out of m, and two constants that nearly divide by Q.

    The constants are ``inverse`` and ``shift``: (d div 2³²)·inverse >> shift is never above d div
    Q. The two are nearly always equal. The inverse has 31 bits. It is 0 if Q is too small for 31
    bits.
    """
    t, q = weights
    bits = q.bit_length()
    return tuple(
        map(np.uint64, (m, t, q, 2 ** (bits + 30) // q if bits > 32 else 0, max(0, bits - 2)))
    )


def bit_table(q: int) -> tuple[NDArray[np.uint8], int, NDArray[np.uint64]]:
    """Return the table from which bytes of bits with probability q/2⁶⁴ are drawn.

    It consists of the byte that owns each word, the number of words that are owned, and the
    fractions by number of ones.
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
    """Return the number of main-stream bytes that a user owns for ``width`` bytes of bits."""
    return 2 * width + 2


def again_stride(width: int, half: bool) -> int:
    """Return the number of bytes of the main stream that a user owns in a second round."""
    return 2 * width + (width + 1) // 2 * 2 * half


def set_plan(k: int, w: int) -> tuple[int, int, int]:
    """Return the plan by which a set of w out of k values is drawn.

    The first number is the probability of entering the set, times 2⁶⁴. The second is the number of
    corrections for which a user owns words. The third is the number of 16-bit words per correction.

    To add a value takes k/(k − w) draws, and to remove one takes k/w. So the mean size at the start
    is below w if removing costs more, and above w if adding costs more. If w is at most ``FEW``,
    the start is the empty set. If k − w is at most ``FEW``, the start is the whole domain.
    Corrections beyond the owned words read on. This costs as much as 150 words.
    """
    spread = isqrt(25 * w * (k - w) // k)  # five standard deviations of a size
    fewer = spread * (k - 2 * w) // (4 * k)
    if min(w, k - w) <= FEW:
        fewer = w if w <= FEW else w - k
    return 2**64 * (w - fewer) // k, spread // 2 + 2 + abs(fewer), 1 if k <= SMALL else 2


def set_constants(k: int, w: int) -> tuple[Any, ...]:
    """Return the constants for drawing sets except p: k, the last byte's mask, w and the plan."""
    enter, corrections, units = set_plan(k, w)
    return k, last_byte(k), w, corrections, units, *bit_table(enter)


def set_stride(k: int, w: int) -> int:
    """Return the number of bytes of the main stream that a user owns for a set."""
    _, corrections, units = set_plan(k, w)
    return 2 * ((k + 7) // 8 + 1 + corrections * units)
