"""Draws that a user makes once, before the first round: the path, and the block of noise.

Both are derived from the user's permanent randomness, and depend on no value. The same user always
gets the same path and block. Every probability is exact.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..core import draws
from ..core.randomness import Source
from .blocks import Block

TOGETHER = 2**14
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Paths:
    """The paths of users: what each of them reports, and when.

    Parameters
    ----------
    kinds : array of int
        Kind of the reports of each user.
    rounds : array of int
        Round of the report of the value, counted from 0. It is used if this is what the kind tells.
    rows : array of int
        Row of the Hadamard matrix. It is used by the encoding "row".
    """

    kinds: Integers
    rounds: Integers
    rows: Integers

    def __len__(self) -> int:
        return len(self.kinds)


def draw_blocks(block: Block, memory: Source, users: Integers) -> NDArray[np.int8]:
    """Draw the blocks of some users.

    One large integer decides the numbers of entries 1 and −1. Then their places are drawn.

    Parameters
    ----------
    block : Block
        Distribution of the blocks.
    memory : Source
        Permanent randomness of the users.
    users : array of int
        Numbers of the users in ``memory``.

    Returns
    -------
    array of int8, shape (users, symbols)
        One row per user.
    """
    source = memory.part(b"block")
    found = np.empty((len(users), block.symbols), np.int8)
    for low in range(0, len(users), TOGETHER):
        part = slice(low, low + TOGETHER)
        addresses = users[part].astype(np.uint64) + np.uint64(source.first)
        words = _Words(source.key, addresses)
        plus, minus = _draw_numbers(block, words)
        _draw_places(plus, minus, words, found[part])
    return found


class _Words:
    """The words of many users, which each user reads one after the other."""

    def __init__(self, key: NDArray[np.uint32], addresses: NDArray[np.uint64]) -> None:
        self._key, self._addresses = key, addresses
        self._held = self._read_block(0)
        self._next = np.zeros(len(addresses), np.int64)

    def read(self, who: Integers) -> NDArray[np.uint64]:
        """Return the next word of these users."""
        places = self._next[who]
        self._next[who] += 1
        while len(places) and places.max() >= self._held.shape[1]:
            more = self._read_block(self._held.shape[1] // 8)
            self._held = np.hstack([self._held, more])
        return self._held[who, places]

    def _read_block(self, block: int) -> NDArray[np.uint64]:
        """Return eight more words of every user."""
        chacha = draws.choose("chacha", 64 * len(self._addresses))
        found: NDArray[np.uint64] = chacha.read_block(self._key, self._addresses, block)
        return found

    def __len__(self) -> int:
        return len(self._next)


def _draw_numbers(block: Block, words: _Words) -> tuple[Integers, Integers]:
    """Return the numbers of entries 1 and −1 for each user, by a uniform integer below a total."""
    bounds = [0, *accumulate(weight for *_, weight in block.outcomes)]
    total = bounds[-1]
    each = -(-total.bit_length() // 64)
    spare = 64 * each - total.bit_length()
    tops = np.array([(bound << spare) >> 64 * (each - 1) for bound in bounds], np.uint64)
    chosen = np.full(len(words), -1)
    waiting = np.arange(len(words))
    while len(waiting):
        drawn = np.stack([words.read(waiting) for _ in range(each)], axis=1)
        first = drawn[:, 0]
        place = np.searchsorted(tops, first, side="right") - 1
        # A word that equals the top of a bound does not decide alone
        for i in np.flatnonzero((tops[place] == first) & (place > 0)):
            number = 0
            for word in drawn[i].tolist():
                number = number << 64 | word
            place[i] = bisect_right(bounds, number >> spare) - 1
        chosen[waiting] = place
        waiting = waiting[place == len(block.outcomes)]
    counts = np.array([(a, b) for a, b, _ in block.outcomes])
    return counts[chosen, 0], counts[chosen, 1]


def _draw_places(plus: Integers, minus: Integers, words: _Words, out: NDArray[np.int8]) -> None:
    """Write ``plus`` entries 1 and ``minus`` entries −1 to uniform places of each row."""
    plus, minus = plus.copy(), minus.copy()
    for i in range(out.shape[1]):
        left = out.shape[1] - i
        choice = _draw_below(left, words) if left > 1 else np.zeros(len(words), np.int64)
        one = choice < plus
        other = ~one & (choice < plus + minus)
        out[:, i] = one.astype(np.int8) - other
        plus -= one
        minus -= other


def _draw_below(m: int, words: _Words) -> Integers:
    """Return one uniform integer below m for each user."""
    limit = 2**64 - 2**64 % m
    found = np.empty(len(words), np.uint64)
    waiting = np.arange(len(words))
    while len(waiting):
        found[waiting] = words.read(waiting)
        waiting = waiting[found[waiting] > np.uint64(limit - 1)]
    return (found % np.uint64(m)).astype(np.int64)
