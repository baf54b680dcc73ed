"""Local hashing, its seeds, its symbols and the values they support: see ``kernels.hashing``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chacha import Words, read_pieces, read_word
from .symbols import shift_symbols

STRIDE = 16  # bytes per user: a word for the seed, a word for the symbol
LANES = 1  # the counting here needs no space of its own
SOME = 2**10  # reports drawn or read at a time
PIECE = 2**18  # pairs of a report and a value that are compared together


def draw_below(key: NDArray[np.uint32], words: Words, addresses: Words, m: np.uint64) -> Words:
    """Return uniform numbers below m from words.

    If a word is rejected, further words are read on at its address.
    """
    words, index, rejected = words.copy(), 0, np.uint64(2**64 % int(m))
    while (again := np.flatnonzero(words < rejected)).size:
        words[again] = read_word(key, addresses[again], index)
        index += 1
    return words % m


def seeds(
    key: NDArray[np.uint32], first: int, numbers: Words, prime: np.uint64, out: Words
) -> None:
    """Draw a seed for each user, who owns eight bytes of the main stream."""
    family = prime * (prime - np.uint64(1))
    for part, addresses, drawn in read_pieces(key, first, numbers, len(out), 8):
        out[part] = draw_below(key, drawn.view(np.uint64)[:, 0], addresses, family)


def buckets(
    values: NDArray[np.int64], seeds: Words, prime: np.uint64, g: np.uint64, out: NDArray[Any]
) -> None:
    """Write the bucket of each value under its user's hash function."""
    out[...] = _bucket(values.astype(np.uint64), seeds, prime, g)


def _bucket(x: Words, seeds: Words, prime: np.uint64, g: np.uint64) -> Words:
    residue = ((np.uint64(1) + seeds // prime) * x + seeds % prime) % prime
    return np.asarray(g * residue // prime)


def randomize(
    key: NDArray[np.uint32],
    first: int,
    values: NDArray[np.int64],
    prime: np.uint64,
    g: np.uint64,
    t: np.uint64,
    q: np.uint64,
    seeds: Words,
    symbols: Words,
) -> None:
    """Randomize users ``first``, ``first`` + 1, … into ``seeds`` and ``symbols``.

    A negative value stands for no value: its symbol is uniform.
    """
    family, nobody = prime * (prime - np.uint64(1)), np.empty(0, np.uint64)
    for part, addresses, drawn in read_pieces(key, first, nobody, len(values), STRIDE):
        words, held = drawn.view(np.uint64), values[part]
        seeds[part] = draw_below(key, words[:, 0], addresses, family)
        own = _bucket(held.astype(np.uint64), seeds[part], prime, g)
        symbols[part] = shift_symbols(own, words[:, 1], g, t, q)
        (none,) = np.nonzero(held < 0)
        further = addresses[none] + np.uint64(8)
        symbols[part][none] = draw_below(key, words[none, 1], further, g)


def split_reports(rows: NDArray[np.uint8], seeds: Words, symbols: Words) -> tuple[Words, Words]:
    """Return the seeds and the symbols of reports, which have the types of the given arrays."""
    edge, stop = seeds.itemsize, seeds.itemsize + symbols.itemsize
    return (
        np.ascontiguousarray(rows[:, :edge]).view(seeds.dtype)[:, 0].astype(np.uint64),
        np.ascontiguousarray(rows[:, edge:stop]).view(symbols.dtype)[:, 0].astype(np.uint64),
    )


def find_refused(
    rows: NDArray[np.uint8],
    seeds: NDArray[Any],
    symbols: NDArray[Any],
    prime: np.uint64,
    g: np.uint64,
    out: NDArray[np.bool_],
) -> None:
    """Mark reports with a seed or a symbol that does not exist."""
    family = prime * (prime - np.uint64(1))
    chosen, sent = split_reports(rows, seeds, symbols)
    out[...] = (chosen >= family) | (sent >= g)


def count(
    seeds: Words,
    symbols: Words,
    prime: np.uint64,
    edges: Words,
    lanes: NDArray[Any],
    counts: NDArray[np.int64],
) -> None:
    """Add to ``counts`` the number of reports that support each value."""
    g, x = np.uint64(edges.size - 1), np.arange(counts.size, dtype=np.uint64)
    step = max(1, PIECE // counts.size)
    for low in range(0, len(seeds), step):
        part = slice(low, low + step)
        for at in range(0, counts.size, PIECE):
            found = _bucket(x[at : at + PIECE], seeds[part, np.newaxis], prime, g)
            supported = found == symbols[part, np.newaxis]
            counts[at : at + PIECE] += supported.sum(axis=0)


def count_reports(
    rows: NDArray[np.uint8],
    seeds: NDArray[Any],
    symbols: NDArray[Any],
    prime: np.uint64,
    edges: Words,
    lanes: NDArray[Any],
    counts: NDArray[np.int64],
) -> None:
    """Count reports as ``count`` does, given as bytes."""
    count(*split_reports(rows, seeds, symbols), prime, edges, lanes, counts)


def draw_and_count(
    key: NDArray[np.uint32],
    first: int,
    values: NDArray[np.int64],
    prime: np.uint64,
    g: np.uint64,
    t: np.uint64,
    q: np.uint64,
    edges: Words,
    lanes: NDArray[Any],
    counts: NDArray[np.int64],
) -> None:
    """Add up the values that the reports of ``randomize`` would support."""
    for low in range(0, len(values), SOME):
        part = values[low : low + SOME]
        drawn, sent = np.empty((2, len(part)), np.uint64)
        randomize(key, first + low, part, prime, g, t, q, drawn, sent)
        count(drawn, sent, prime, edges, lanes, counts)
