"""ChaCha20 (RFC 8439): random bytes as a pure function of key, nonce and block number.

The block counter and the nonce of the RFC are 128 bits together. Here the low half is a 64-bit
block number and the high half a 64-bit nonce. Nonce 0 is the main stream, addressed in bytes. If
its own bytes do not settle a draw at byte address A, the draw reads on in nonce A + 1. Addresses
are distinct, so no two draws ever share a byte, in any order of draws. ``read_on`` reads the words
of such a draw one after the other. If many draws begin at once, ``begin`` computes the first HEAD
words of eight draws side by side. ``read_on`` then continues from there.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import uint32, uint64
from numba.core import types
from numba.extending import intrinsic

from .jit import jit

LANES = 8  # blocks computed side by side: one 256-bit vector holds a word of each
FILL = 64 * LANES  # bytes; fill() writes whole multiples
HEAD = 8  # 64-bit words of a block


@intrinsic
def _permute(typing_context: Any, state: Any, out: Any, place: Any) -> Any:
    """Run the twenty rounds on the (16, LANES) array ``state`` and add the input.

    The blocks are written one after the other into ``out``, from ``place`` on.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), LANES)
        index = ir.IntType(64)

        def rows(position: int) -> Any:
            array = context.make_array(signature.args[position])(
                context, builder, arguments[position]
            )
            return builder.bitcast(array.data, vector.as_pointer())

        def row(pointer: Any, i: int) -> Any:
            return builder.gep(pointer, [index(i)])

        def transposed(rows: list[Any]) -> list[Any]:
            """Return the rows of LANES × LANES words, transposed.

            Off-diagonal blocks of 4 × 4 words are exchanged first, then blocks of 2 × 2 words, then
            single words.
            """
            for d in (4, 2, 1):
                low = ir.Constant(vector, [i - d + LANES if i & d else i for i in range(LANES)])
                high = ir.Constant(vector, [i + LANES if i & d else i + d for i in range(LANES)])
                for i in range(LANES):
                    if not i & d:
                        pair = rows[i], rows[i + d]
                        rows[i], rows[i + d] = (
                            builder.shuffle_vector(*pair, low),
                            builder.shuffle_vector(*pair, high),
                        )
            return rows

        source, target = rows(0), builder.gep(rows(1), [builder.udiv(arguments[2], index(LANES))])
        initial = [builder.load(row(source, i), align=4) for i in range(16)]
        before, loop, after = (
            builder.block,
            builder.append_basic_block("rounds"),
            builder.append_basic_block("rounded"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        turn = builder.phi(index)
        turn.add_incoming(index(0), before)
        x = [builder.phi(vector) for _ in range(16)]
        for value, start in zip(x, initial, strict=True):
            value.add_incoming(start, before)
        carried = list(x)

        def quarter_round(a: int, b: int, c: int, d: int) -> None:
            for i, j, m, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[i] = builder.add(x[i], x[j])
                mixed = builder.xor(x[m], x[i])
                left = builder.shl(mixed, ir.Constant(vector, [bits] * LANES))
                right = builder.lshr(mixed, ir.Constant(vector, [32 - bits] * LANES))
                x[m] = builder.or_(left, right)

        for diagonal in (0, 1):
            for i in range(4):
                quarter_round(i, *(4 * r + (i + diagonal * r) % 4 for r in (1, 2, 3)))
        for value, end in zip(carried, x, strict=True):
            value.add_incoming(end, loop)
        following = builder.add(turn, index(1))
        turn.add_incoming(following, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, index(10)), loop, after)
        builder.position_at_end(after)
        words = [builder.add(mixed, start) for mixed, start in zip(x, initial, strict=True)]
        for half in (0, 1):
            for lane, vectors in enumerate(transposed(words[8 * half : 8 * half + 8])):
                builder.store(vectors, row(target, 2 * lane + half), align=4)
        return context.get_dummy_value()

    return types.void(state, out, types.int64), codegen


@jit
def keyed(key):
    """Return the state of LANES blocks under a key. ``aim`` chooses the blocks."""
    state = np.empty((16, LANES), np.uint32)
    for lane in range(LANES):
        state[0, lane] = uint32(0x61707865)
        state[1, lane] = uint32(0x3320646E)
        state[2, lane] = uint32(0x79622D32)
        state[3, lane] = uint32(0x6B206574)
        for i in range(8):
            state[4 + i, lane] = key[i]
    return state


@jit
def aim(state, lane, nonce, block):
    """Let a lane compute the block with this number and nonce."""
    state[12, lane], state[13, lane] = uint32(block), uint32(uint64(block) >> uint64(32))
    state[14, lane], state[15, lane] = uint32(nonce), uint32(uint64(nonce) >> uint64(32))


@jit
def fill_from(state, nonce, block, out):
    """Write the key stream from ``block`` on into ``out`` (uint32, a multiple of FILL bytes)."""
    for lane in range(LANES):
        aim(state, lane, nonce, uint64(block) + uint64(lane))
    for first in range(0, out.size, FILL // 4):
        _permute(state, out, first)
        for lane in range(LANES):  # the next block numbers, 64 bits in two words
            state[12, lane] += uint32(LANES)
            state[13, lane] += uint32(state[12, lane] < uint32(LANES))


@jit
def fill(key, nonce, block, out):
    """Write the key stream as ``fill_from`` does, given the key."""
    fill_from(keyed(key), nonce, block, out)


@jit
def read(key, address, size, buffer):
    """Put ``size`` bytes of the main stream, from byte ``address`` on, into ``buffer`` (uint64).

    Return the index at which they start.
    """
    skipped = uint64(address) & uint64(63)
    words = (uint64(size) + skipped + uint64(FILL - 1)) // uint64(FILL) * uint64(FILL // 8)
    fill(key, uint64(0), uint64(address) >> uint64(6), buffer[: np.int64(words)].view(np.uint32))
    return np.int64(skipped)


@jit
def gather(key, numbers, stride, buffer):
    """Put the ``stride`` bytes of each numbered user side by side into ``buffer`` (uint64).

    ``stride`` is an even number. Blocks of several users are computed side by side, LANES at a
    time.
    """
    state, mixed = keyed(key), np.empty(FILL // 4, np.uint32)
    blocks, pieces = mixed.view(np.uint16), buffer.view(np.uint16)
    start, size = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    lane, done = 0, 0
    for i in range(numbers.size):
        address = numbers[i] * uint64(stride)
        missing = np.int64(stride)
        while missing > 0:
            block, skipped = address >> uint64(6), np.int64(address & uint64(63))
            aim(state, lane, uint64(0), block)
            start[lane], size[lane] = skipped // 2, min(missing, np.int64(64) - skipped) // 2
            address += uint64(2 * size[lane])
            missing -= 2 * size[lane]
            lane += 1
            if lane == LANES or (missing == 0 and i == numbers.size - 1):
                _permute(state, mixed, 0)
                for each in range(lane):
                    for piece in range(
                        32 * each + start[each], 32 * each + start[each] + size[each]
                    ):
                        pieces[done] = blocks[piece]
                        done += 1
                lane = 0


@jit
def read_users(key, first, numbers, low, high, stride, buffer):
    """Put the bytes of users ``low`` to ``high`` side by side into ``buffer``.

    Return the index at which they start. Users have the numbers ``first``, ``first`` + 1 and so on.
    If ``numbers`` is not empty, they have the numbers listed there.
    """
    if numbers.size == 0:
        return read(
            key, (uint64(first) + uint64(low)) * uint64(stride), (high - low) * stride, buffer
        )
    gather(key, numbers[low:high], stride, buffer)
    return np.int64(0)


@jit
def address_of(first, numbers, i, stride):
    """Return the address of the bytes of user i in the main stream."""
    if numbers.size == 0:
        return (uint64(first) + uint64(i)) * uint64(stride)
    return numbers[i] * uint64(stride)


@jit
def read_on(address, index, spare, known=0):
    """Return 64-bit word ``index`` of the draw at ``address``.

    Indexes are asked for in ascending order, from ``known`` on.
    """
    state, words = spare
    place = (index - known) % (FILL // 8)
    if place == 0:
        fill_from(state, uint64(address) + uint64(1), uint64(index // 8), words.view(np.uint32))
    return words[place]


@jit
def begin(addresses, state, words):
    """Put the first HEAD words of the draws at up to LANES ``addresses`` into ``words``.

    The draws are written one after the other.
    """
    for lane in range(addresses.size):
        aim(state, lane, addresses[lane] + uint64(1), uint64(0))
    _permute(state, words.view(np.uint32), 0)


@jit
def read_block(key, addresses, block):
    """Return a block of the draw at each address, eight words each."""
    state, words = keyed(key), np.empty(FILL // 8, np.uint64)
    found = np.empty((addresses.size, 8), np.uint64)
    for low in range(0, addresses.size, LANES):
        lanes = min(LANES, addresses.size - low)
        for lane in range(lanes):
            aim(state, lane, addresses[low + lane] + uint64(1), uint64(block))
        _permute(state, words.view(np.uint32), 0)
        for lane in range(lanes):
            found[low + lane] = words[8 * lane : 8 * lane + 8]
    return found


@jit
def reader(key):
    """Return the state and the buffer that ``read_on`` reads with."""
    return keyed(key), np.empty(FILL // 8, np.uint64)


@jit
def buffers(key, stride):
    """Return the number of users to read at a time, a buffer, and a ``reader``.

    A user has ``stride`` bytes, and the buffer has room for all these users.
    """
    users = max(np.int64(1), np.int64(16384) // stride)
    return users, np.empty((users * stride + 64 + FILL) // 8, np.uint64), reader(key)
