"""Rows of independent bits, packed, and their second round: see ``kernels.bits``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chacha import Words, read_block, read_pieces, read_word, words_on

Rows = NDArray[np.uint8]


def draw_leftover(words: Any, fractions: Words) -> int:
    """Draw a byte from the remainder of the table, given the words of the draw."""
    while True:
        byte = next(words) >> 56
        for digit in fractions[byte.bit_count()].tolist():
            word = next(words)
            if word < digit:
                return int(byte)
            if word > digit:
                break


def draw_rows(
    key: NDArray[np.uint32],
    addresses: Words,
    words: NDArray[np.uint16],
    last: np.uint8,
    owned: Rows,
    cells: int,
    fractions: Words,
) -> Rows:
    """Return rows of bits, one byte for each 16-bit word of a user at an address."""
    rows = owned[words]
    if cells < 2**16:
        users, columns = np.nonzero(words >= cells)
        further = addresses[users] + np.uint64(2) * columns.astype(np.uint64)
        for i, c, address, head in zip(
            users, columns, further, read_block(key, further), strict=True
        ):
            rows[i, c] = draw_leftover(words_on(key, address, head), fractions)
    rows[:, -1] &= last
    return rows


def draw_own_bits(
    key: NDArray[np.uint32], addresses: Words, words: NDArray[np.uint16], p: np.uint64
) -> NDArray[np.bool_]:
    """Return bits of probability p/2⁶⁴, from the 16-bit word of each user at an address.

    If the word equals the first digits of p, more words are read.
    """
    digits = p >> np.uint64(48)
    own = words < digits
    equal = np.flatnonzero(words == digits)
    more = read_word(key, addresses[equal]) >> np.uint64(16)
    own[equal] = more < p & np.uint64(0xFFFFFFFFFFFF)
    return own


def write_bits(rows: Rows, values: NDArray[np.int64], bits: NDArray[np.bool_]) -> None:
    """Set the bit of each row at the user's value, if there is one."""
    (who,) = np.nonzero(values >= 0)
    c, place = values[who] >> 3, (values[who] & 7).astype(np.uint8)
    rows[who, c] = (rows[who, c] & ~(np.uint8(1) << place)) | (bits[who].astype(np.uint8) << place)


def randomize(
    key: NDArray[np.uint32],
    first: int,
    numbers: Words,
    values: NDArray[np.int64],
    last: np.uint8,
    p: np.uint64,
    owned: Rows,
    cells: int,
    fractions: Words,
    out: Rows,
) -> None:
    """Randomize the row of each user, who owns two bytes for each byte and two for the own bit.

    A negative value means that no bit is the own one.
    """
    width = out.shape[1]
    for part, addresses, drawn in read_pieces(key, first, numbers, len(values), 2 * width + 2):
        words = drawn.view(np.uint16)
        rows = draw_rows(key, addresses, words[:, :width], last, owned, cells, fractions)
        own = draw_own_bits(key, addresses + np.uint64(2 * width), words[:, width], p)
        write_bits(rows, values[part], own)
        out[part] = rows


def again(
    key: NDArray[np.uint32],
    first: int,
    rows: Rows,
    last: np.uint8,
    half: bool,
    owned: Rows,
    cells: int,
    fractions: Words,
    out: Rows,
) -> None:
    """Send every bit of the rows of users ``first``, ``first`` + 1, … through a second round."""
    width = out.shape[1]
    stride = 2 * width + (width + 1) // 2 * 2 * half
    nobody = np.empty(0, np.uint64)
    for part, addresses, drawn in read_pieces(key, first, nobody, len(out), stride):
        words = np.ascontiguousarray(drawn[:, : 2 * width]).view(np.uint16)
        noise = draw_rows(key, addresses, words, last, owned, cells, fractions)
        kept = drawn[:, 2 * width : 3 * width] if half else np.uint8(0xFF)
        out[part] = noise ^ (rows[part] & kept)
