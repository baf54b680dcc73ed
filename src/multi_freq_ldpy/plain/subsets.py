"""Sets of w out of k values: see ``kernels.subsets``."""

from itertools import count as count_up
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bit_counts import count, sizes
from .bits import Rows, draw_own_bits, draw_rows, write_bits
from .chacha import Words, read_pieces, read_word


def randomize(
    key: NDArray[np.uint32],
    first: int,
    numbers: Words,
    values: NDArray[np.int64],
    p: np.uint64,
    k: int,
    last: np.uint8,
    w: int,
    corrections: int,
    units: int,
    owned: Rows,
    cells: int,
    fractions: Words,
    out: Rows,
) -> None:
    """Draw the set of each user.

    A negative value stands for no value, and the set is uniform. A user owns two bytes for each
    byte of the row and two for the own bit. Each of ``corrections`` uniform draws takes two or four
    bytes more.
    """
    width = out.shape[1]
    stride = 2 * (width + 1 + corrections * units)
    for part, addresses, drawn in read_pieces(key, first, numbers, len(values), stride):
        words, held = drawn.view(np.uint16), np.empty(len(drawn), np.int64)
        rows = draw_rows(key, addresses, words[:, :width], last, owned, cells, fractions)
        own = draw_own_bits(key, addresses + np.uint64(2 * width), words[:, width], p)
        own &= values[part] >= 0
        write_bits(rows, values[part], np.zeros(len(rows), np.bool_))
        sizes(rows, held)
        missing = w - own - held
        # The own value is in the set while others are added, and not while others are removed
        write_bits(rows, values[part], missing > 0)
        draws = np.ascontiguousarray(words[:, width + 1 :]).view(np.uint16 if units == 1 else "<u4")
        _correct(key, addresses + np.uint64(2 * width + 2), draws, k, missing, rows)
        write_bits(rows, values[part], own)
        out[part] = rows


def _correct(
    key: NDArray[np.uint32],
    addresses: Words,
    draws: NDArray[Any],
    k: int,
    missing: NDArray[np.int64],
    rows: Rows,
) -> None:
    """Add uniform values to the rows, or remove them, until every size is right."""
    digits = 8 * draws.itemsize
    mask, rejected = np.uint64(2**digits - 1), np.uint64(2**digits % k)
    who = np.flatnonzero(missing)
    for used in count_up():
        if not who.size:
            return
        if used < draws.shape[1]:
            words = draws[who, used].astype(np.uint64)
        else:
            further = read_word(key, addresses[who], used - draws.shape[1])
            words = further >> np.uint64(64 - digits)
        products = words * np.uint64(k)
        taken = (products & mask) >= rejected
        some, x = who[taken], (products >> np.uint64(digits)).astype(np.int64)[taken]
        c, bit = x >> 3, np.uint8(1) << (x & 7).astype(np.uint8)
        adds, present = missing[some] > 0, rows[some, c] & bit != 0
        rows[some, c] = np.where(adds, rows[some, c] | bit, rows[some, c] & ~bit)
        missing[some] += np.where(adds, -1, 1) * (adds != present)
        who = who[missing[who] != 0]


def draw_and_count(
    key: NDArray[np.uint32],
    first: int,
    numbers: Words,
    values: NDArray[np.int64],
    p: np.uint64,
    k: int,
    last: np.uint8,
    w: int,
    corrections: int,
    units: int,
    owned: Rows,
    cells: int,
    fractions: Words,
    rows: Rows,
    counts: NDArray[np.int64],
) -> None:
    """Add up the sets that ``randomize`` would write, a few ``rows`` at a time."""
    law = (p, k, last, w, corrections, units, owned, cells, fractions)
    for low in range(0, len(values), len(rows)):
        part, own = values[low : low + len(rows)], numbers[low : low + len(rows)]
        randomize(key, first + low, own, part, *law, rows[: len(part)])
        count(rows[: len(part)], counts)
