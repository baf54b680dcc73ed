"""Base noise of reports of steps: symbols −1, 0 and 1 as two packed rows of bits."""

import numpy as np
from numba import uint64

from .chacha import FILL, gather
from .jit import jit


@jit
def write(key, numbers, symbols, size, bits, out):
    """Write the base noise of numbered users into rows: bits of non-zero symbols, then of negative.

    A symbol has ``size`` bytes, 2 or 8. It is not 0 if their first bits − 1 are 0, and the next bit
    is its sign. One shift leaves the sign as the last bit, below the bits that must be 0.
    """
    stride = symbols * size
    together = max(np.int64(1), np.int64(16384) // stride)
    buffer = np.empty((together * stride + 64 + FILL) // 8, np.uint64)
    short, sign = buffer.view(np.uint16), uint64(8 * size - bits)
    width = out.shape[1] // 2
    for low in range(0, numbers.size, together):
        high, at = min(numbers.size, low + together), 0
        gather(key, numbers[low:high], stride, buffer)
        for i in range(low, high):
            for byte in range(width):
                some, minus = uint64(0), uint64(0)
                for bit in range(min(8, symbols - 8 * byte)):
                    head = (uint64(short[at]) if size == 2 else buffer[at]) >> sign
                    some |= uint64(head < uint64(2)) << uint64(bit)
                    minus |= uint64(head == uint64(1)) << uint64(bit)
                    at += 1
                out[i, byte], out[i, width + byte] = some, minus
