"""Symbols out of m, randomized, uniform, and counted: see ``kernels.symbols``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chacha import Words, read_pieces, read_word

HALF = np.uint64(0xFFFFFFFF)


def find_offsets(words: Words, t: np.uint64, q: np.uint64) -> Words:
    """Return the number that each word adds to its symbol: 0 keeps it."""
    return np.where(words < t, np.uint64(0), np.uint64(1) + (words - t) // q)


def shift_symbols(
    symbols: NDArray[Any], words: Words, m: np.uint64, t: np.uint64, q: np.uint64
) -> Words:
    """Return the symbols, each shifted by the offset of its word, modulo m."""
    moved = symbols.astype(np.uint64) + find_offsets(words, t, q)
    return np.where(moved >= m, moved - m, moved)


def randomize(
    key: NDArray[np.uint32],
    first: int,
    numbers: Words,
    values: NDArray[np.int64],
    m: np.uint64,
    t: np.uint64,
    q: np.uint64,
    inverse: np.uint64,
    shift: np.uint64,
    out: NDArray[Any],
) -> None:
    """Randomize the symbol of each user, who owns four bytes of the main stream.

    The low half of a word is read only if the outcome depends on it.
    """
    for part, addresses, drawn in read_pieces(key, first, numbers, len(values), 4):
        words = drawn.view(np.uint32)[:, 0].astype(np.uint64) << np.uint64(32)
        open_ = np.flatnonzero(find_offsets(words, t, q) != find_offsets(words | HALF, t, q))
        words[open_] |= read_word(key, addresses[open_]) >> np.uint64(32)
        out[part] = shift_symbols(values[part], words, m, t, q)


def uniform(key: NDArray[np.uint32], first: int, numbers: Words, m: int, out: NDArray[Any]) -> None:
    """Draw a uniform number below m < 2³² for each user, who owns four bytes of the main stream."""
    rejected = np.uint64(2**32 % m)
    for part, addresses, drawn in read_pieces(key, first, numbers, len(out), 4):
        products = drawn.view(np.uint32)[:, 0].astype(np.uint64) * np.uint64(m)
        index = 0
        while (again := np.flatnonzero((products & HALF) < rejected)).size:
            words = read_word(key, addresses[again], index) >> np.uint64(32)
            products[again] = words * np.uint64(m)
            index += 1
        out[part] = products >> np.uint64(32)


def count(symbols: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Add up the occurrences of each symbol.

    Symbols were checked, but another thread may change them. A symbol that is too large is left
    out.
    """
    kept = np.minimum(symbols.astype(np.int64), counts.size)
    counts += np.bincount(kept, minlength=counts.size + 1)[: counts.size]
