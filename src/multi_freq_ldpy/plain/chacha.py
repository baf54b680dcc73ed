"""ChaCha20, many blocks side by side: see ``kernels.chacha`` for the layout of the streams."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILL = 64  # bytes; read() writes whole multiples
TOGETHER = 2**11  # blocks computed side by side: they stay in the second-level cache
AHEAD = 16  # blocks that a draw of unknown length reads at a time
PIECE = 2**20  # bytes of users that are read at a time
CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")[:, np.newaxis]
TURNS = tuple(np.array([(i + by) % 4 for i in range(4)]) for by in (1, 2, 3))

Words = NDArray[np.uint64]


def blocks(key: NDArray[np.uint32], nonces: Words, numbers: Words) -> NDArray[np.uint32]:
    """Return the blocks with these nonces and numbers, sixteen words each."""
    out = np.empty((len(numbers), 16), np.uint32)
    for low in range(0, len(numbers), TOGETHER):
        part = slice(low, low + TOGETHER)
        _permute(key, nonces[part], numbers[part], out[part])
    return out


def _permute(key: NDArray[np.uint32], nonces: Words, numbers: Words, out: NDArray[Any]) -> None:
    start = np.empty((4, 4, len(numbers)), np.uint32)
    start[0] = CONSTANTS
    start[1:3] = key.reshape(2, 4, 1)
    start[3, :2] = numbers, numbers >> np.uint64(32)
    start[3, 2:] = nonces, nonces >> np.uint64(32)
    a, b, c, d = start.copy()
    for _ in range(10):
        for turns in (TURNS, TURNS[::-1]):
            for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x += y
                z ^= x
                high = z >> np.uint32(32 - bits)
                z <<= np.uint32(bits)
                z |= high
            b[:], c[:], d[:] = (row[turn] for row, turn in zip((b, c, d), turns, strict=True))
    out[:] = (np.stack((a, b, c, d)) + start).reshape(16, -1).T


def read(key: NDArray[np.uint32], address: np.uint64, size: int, buffer: Words) -> int:
    """Put ``size`` bytes of the main stream from byte ``address`` on into ``buffer``.

    Return the index at which they start.
    """
    first, skipped = divmod(int(address), 64)
    many = -(-(skipped + size) // 64)
    numbers = np.arange(first, first + many, dtype=np.uint64)
    drawn = blocks(key, np.zeros(many, np.uint64), numbers)
    buffer[: 8 * many] = drawn.view(np.uint64).reshape(-1)
    return skipped


def addresses_of(first: int, numbers: Words, part: slice, stride: int) -> Words:
    """Return the addresses of the bytes of some users in the main stream."""
    if numbers.size:
        return numbers[part] * np.uint64(stride)
    users = np.arange(part.start, part.stop, dtype=np.uint64) + np.uint64(first)
    return users * np.uint64(stride)


def read_pieces(
    key: NDArray[np.uint32], first: int, numbers: Words, n: int, stride: int
) -> Iterator[tuple[slice, Words, NDArray[np.uint8]]]:
    """Go through n users, some at a time.

    Yield the slice of users, the addresses of their bytes, and the bytes, ``stride`` for each user.
    Users have the numbers ``first``, ``first`` + 1 and so on. If ``numbers`` is not empty, they
    have the numbers listed there.
    """
    step = max(1, PIECE // stride)
    for low in range(0, n, step):
        part = slice(low, min(n, low + step))
        addresses = addresses_of(first, numbers, part, stride)
        if not numbers.size:
            size = stride * len(addresses)
            buffer = np.empty(size // 8 + 16, np.uint64)
            start = read(key, addresses[0], size, buffer)
            drawn = buffer.view(np.uint8)[start : start + size].reshape(-1, stride)
        else:
            each = np.arange(stride // 64 + 2, dtype=np.uint64)
            blocked = (addresses >> np.uint64(6))[:, np.newaxis] + each
            found = blocks(key, np.zeros(blocked.size, np.uint64), blocked.reshape(-1))
            rows = found.view(np.uint8).reshape(len(addresses), -1)
            places = (addresses & np.uint64(63)).astype(np.int64)[:, np.newaxis] + np.arange(stride)
            drawn = np.take_along_axis(rows, places, axis=1)
        yield part, addresses, drawn


def gather(key: NDArray[np.uint32], numbers: Words, stride: int, buffer: Words) -> None:
    """Put the ``stride`` bytes of each numbered user side by side into ``buffer``."""
    rows = buffer.view(np.uint8)[: stride * len(numbers)].reshape(-1, stride)
    for part, _, drawn in read_pieces(key, 0, numbers, len(numbers), stride):
        rows[part] = drawn


def read_word(key: NDArray[np.uint32], addresses: Words, index: int = 0) -> Words:
    """Return the 64-bit word ``index`` of the draw at each address."""
    return read_block(key, addresses, index // 8)[:, index % 8]


def read_block(key: NDArray[np.uint32], addresses: Words, block: int = 0) -> Words:
    """Return a block of the draw at each address, eight words each."""
    numbers = np.full(len(addresses), block, np.uint64)
    return blocks(key, addresses + np.uint64(1), numbers).view(np.uint64)


def words_on(key: NDArray[np.uint32], address: np.uint64, head: Words) -> Iterator[int]:
    """Yield the words of the draw at an address. ``head`` holds the first words."""
    yield from head.tolist()
    block = len(head) // 8
    while True:
        numbers = np.arange(block, block + AHEAD, dtype=np.uint64)
        nonces = np.full(AHEAD, address + np.uint64(1))
        yield from blocks(key, nonces, numbers).view(np.uint64).reshape(-1).tolist()
        block += AHEAD
