"""Rows of independent bits, each 1 with probability q, the user's own with probability p.

Both probabilities are exact multiples of 2⁻⁶⁴.

Eight bits are drawn at once. Byte b has probability P_b = q^|b|·(1 − q)^(8 − |b|), a multiple of
2⁻⁵¹². It owns ⌊2¹⁶·P_b⌋ of the 2¹⁶ values of a 16-bit word. The few words that no byte owns draw
from the remainder, by rejection. There b is uniform and accepted with probability frac(2¹⁶·P_b).
The comparison is lazy, 64 bits at a time. Together this is the product distribution exactly.
"""

import numpy as np
from numba import uint8, uint16, uint64

from .chacha import HEAD, LANES, address_of, begin, buffers, read_on, read_users
from .jit import inline, jit, popcount

WORDS = 8  # 64-bit words of a fraction
SCANNED = 64  # words that are checked together
NARROW = 5  # bytes; narrower rows are drawn byte by byte for all users, others user by user


@jit
def leftover(address, head, at, fractions, spare):
    """Draw a byte from the remainder of the table.

    The first words of the draw are in ``head``, from ``at`` on.
    """
    index = 0
    while True:
        byte = uint8(0)
        for i in range(WORDS + 1):
            word = head[at + index] if index < HEAD else read_on(address, index, spare, HEAD)
            index += 1
            if i == 0:
                byte = uint8(word >> uint64(56))
            elif word < fractions[popcount(byte), i - 1]:
                return byte
            elif word > fractions[popcount(byte), i - 1]:
                break


@jit
def unowned(words, size, cells, found):
    """Write the indexes of words that no byte owns into ``found``, and return their number.

    Whole groups of SCANNED words are read, also beyond ``size``. ``buffers`` leaves room for that.
    """
    last, many = uint16(cells - 1), 0
    if cells == 2**16:
        return many
    for start in range(0, size, SCANNED):
        some = uint16(0)
        for j in range(SCANNED):
            some |= uint16(words[uint64(start + j)] > last)
        if some:
            for j in range(start, min(size, start + SCANNED)):
                if words[j] > last:
                    found[many] = j
                    many += 1
    return many


@jit
def fill_rows(
    first, numbers, low, stride, words, owned, cells, fractions, last, spare, scratch, rows
):
    """Draw all bits of the rows of users from ``low`` on.

    Each user's row comes from the user's own ``words`` (uint16). ``last`` masks the last byte.
    """
    n, width, pitch = uint64(rows.shape[0]), uint64(rows.shape[1]), uint64(stride // 2)
    if width < NARROW:  # such rows are too short for loops of their own
        for c in range(width):
            for i in range(n):
                rows[i, c] = owned[uint64(words[i * pitch + c])]
    else:
        for i in range(n):
            for c in range(width):
                rows[i, c] = owned[uint64(words[i * pitch + c])]
    found, addresses, heads = scratch
    many = unowned(words, np.int64(n * pitch), cells, found)
    at = 0
    while at < many:
        lanes, start = 0, at
        # Words that give no byte of a row are skipped, and the others moved together
        while at < many and lanes < LANES:
            i, c = found[at] // np.int64(pitch), found[at] % np.int64(pitch)
            if c < np.int64(width):
                found[start + lanes] = found[at]
                addresses[lanes] = address_of(first, numbers, low + i, stride) + uint64(2 * c)
                lanes += 1
            at += 1
        begin(addresses[:lanes], spare[0], heads)
        for lane in range(lanes):
            i, c = found[start + lane] // np.int64(pitch), found[start + lane] % np.int64(pitch)
            rows[i, c] = leftover(addresses[lane], heads, HEAD * lane, fractions, spare)
    for i in range(n):
        rows[i, width - uint64(1)] &= last


@jit
def own_bits(first, numbers, low, stride, place, words, p, spare, own):
    """Draw the own bits of users from ``low`` on with probability p/2⁶⁴.

    Each bit comes from the 16-bit word at byte ``place`` of the user's bytes. If that word equals
    the first digits of p, more words are read.
    """
    digits, pitch, column = p >> uint64(48), uint64(stride // 2), uint64(place // 2)
    for i in range(uint64(own.size)):
        drawn = uint64(words[i * pitch + column])
        own[i] = drawn < digits
        if drawn == digits:
            further = address_of(first, numbers, low + i, stride) + uint64(place)
            own[i] = read_on(further, 0, spare) >> uint64(16) < p & uint64(0xFFFFFFFFFFFF)


@inline
def write_bit(rows, i, position, bit):
    """Set the bit at ``position`` of row i to ``bit``, 0 or 1.

    No branch depends on the bit.
    """
    c, place = uint64(position) >> uint64(3), uint8(position & 7)
    rows[i, c] = (rows[i, c] & ~(uint8(1) << place)) | (bit << place)


@jit
def workspace(key, stride):
    """Return the arrays that ``fill_rows`` and its callers work with.

    They are ``buffers``, one own bit per user, and space for words that no byte owns.
    """
    users, buffer, spare = buffers(key, stride)
    scratch = (
        np.empty(users * stride // 2, np.int64),
        np.empty(LANES, np.uint64),
        np.empty(HEAD * LANES, np.uint64),
    )
    return users, buffer, spare, np.empty(users, np.uint8), scratch


@jit
def randomize(key, first, numbers, values, last, p, owned, cells, fractions, out):
    """Randomize the row of each user (see ``read_users``).

    A user owns two bytes for each byte of the row and two for the own bit. A negative value means
    that no bit is the own one.
    """
    width = out.shape[1]
    stride = 2 * width + 2
    users, buffer, spare, own, scratch = workspace(key, stride)
    for low in range(0, values.size, users):
        high = min(values.size, low + users)
        words = buffer.view(np.uint16)[
            read_users(key, first, numbers, low, high, stride, buffer) // 2 :
        ]
        fill_rows(
            first,
            numbers,
            low,
            stride,
            words,
            owned,
            cells,
            fractions,
            last,
            spare,
            scratch,
            out[low:high],
        )
        own_bits(first, numbers, low, stride, 2 * width, words, p, spare, own[: high - low])
        for i in range(low, high):
            if values[i] >= 0:
                write_bit(out, i, values[i], own[i - low])


@jit
def again(key, first, rows, last, half, owned, cells, fractions, out):
    """Send every bit of the ``rows`` of users ``first``, ``first`` + 1, … through a second round.

    A bit b becomes n ⊕ (b ∧ u), where n is 1 with probability q. With u = 1, the bit is flipped
    with probability q. With a uniform u (``half``), a 0 becomes 1 with probability q and a 1 stays
    1 with probability 1/2. A user owns two bytes for each byte of the row. With ``half``, the user
    also owns one byte for the u of each byte, rounded up to an even number.
    """
    width = out.shape[1]
    stride = 2 * width + (width + 1) // 2 * 2 * np.int64(half)
    users, buffer, spare, _, scratch = workspace(key, stride)
    nobody = np.empty(0, np.uint64)
    for low in range(0, out.shape[0], users):
        high = min(out.shape[0], low + users)
        start = read_users(key, first, nobody, low, high, stride, buffer)
        words, uniform = (
            buffer.view(np.uint16)[start // 2 :],
            buffer.view(np.uint8)[start + 2 * width :],
        )
        fill_rows(
            first,
            nobody,
            low,
            stride,
            words,
            owned,
            cells,
            fractions,
            last,
            spare,
            scratch,
            out[low:high],
        )
        for i in range(low, high):
            for c in range(uint64(width)):
                out[i, c] ^= rows[i, c] & (
                    uniform[uint64((i - low) * stride) + c] if half else uint8(0xFF)
                )
