"""Discrete Laplace noise, P(x) ∝ e^(−s|x|) with s = m/2³², drawn exactly.

The sampler is that of Canonne, Kamath and Steinke (2020). It needs only uniform integers and
comparisons. The first failure in a run of Bernoulli(γ/1), Bernoulli(γ/2), … comes at an odd place
with probability e^(−γ).
"""

import numpy as np
from numba import uint32, uint64

from .chacha import read_on, reader
from .jit import jit
from .symbols import below

# Entries are int32 and saturate after the value's 1 was added, so noise goes one step further
LIMIT = 2**31 - 1


@jit
def exponential_coin(address, index, gamma, spare):
    """Toss a coin of probability e^(−gamma/2³²), gamma ≤ 2³².

    Return the coin and the index of the next unread word.
    """
    run = 1
    while True:
        choice = np.int64(run)
        low = uint64(0)
        while choice == run:
            word = read_on(address, index, spare)
            index += 1
            choice = below(uint32(word >> uint64(32)), run, uint64(2**32 % run))
            low = word & uint64(0xFFFFFFFF)
        if choice != 0 or low >= gamma:
            return run % 2 == 1, index
        run += 1


@jit
def randomize(key, first, values, m, out):
    """Write one-hot rows plus noise for users ``first``, ``first`` + 1, ….

    All words of a user are read on at the user's number.
    """
    spare = reader(key)
    one = uint64(2**32)
    for i in range(values.size):
        address = uint64(first) + uint64(i)
        index = 0
        for v in range(out.shape[1]):
            while True:
                word = read_on(address, index, spare)
                index += 1
                whole = word >> uint64(32)
                accepted, index = exponential_coin(address, index, whole, spare)
                if not accepted:
                    continue
                more = True
                while more:
                    more, index = exponential_coin(address, index, one, spare)
                    if more:
                        whole += one
                size = np.int64(min(whole // m, uint64(LIMIT + 1)))
                negative = word & uint64(1)
                if not (negative and size == 0):
                    break
            noisy = np.int64(v == values[i]) + (-size if negative else size)
            out[i, v] = max(-LIMIT, min(LIMIT, noisy))
