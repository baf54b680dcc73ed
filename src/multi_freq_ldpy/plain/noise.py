"""Discrete Laplace noise, drawn exactly: see ``kernels.noise``."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .chacha import blocks, words_on

# Entries are int32 and saturate after the value's 1 was added, so noise goes one step further
LIMIT = 2**31 - 1
WORDS = 15  # somewhat more words than one noise reads on average
TOGETHER = 2**11  # blocks that are computed ahead


def toss_coin(words: Iterator[int], gamma: int) -> bool:
    """Toss a coin of probability e^(−gamma/2³²), gamma ≤ 2³²."""
    run = 1
    while True:
        word = next(words)
        product = (word >> 32) * run
        if product & 0xFFFFFFFF < 2**32 % run:  # rejected: not uniform below run
            continue
        if product >> 32 or word & 0xFFFFFFFF >= gamma:
            return run % 2 == 1
        run += 1


def draw(words: Iterator[int], m: int) -> int:
    """Return noise with P(x) ∝ e^(−m|x|/2³²)."""
    while True:
        word = next(words)
        whole = word >> 32
        if not toss_coin(words, whole):
            continue
        while toss_coin(words, 2**32):
            whole += 2**32
        size = min(whole // m, LIMIT + 1)
        if size or not word & 1:
            return -size if word & 1 else size


def randomize(
    key: NDArray[np.uint32],
    first: int,
    values: NDArray[np.int64],
    m: np.uint64,
    out: NDArray[np.int32],
) -> None:
    """Write one-hot rows plus noise for users ``first``, ``first`` + 1, ….

    All words of a user are read on at the user's number.
    """
    k = out.shape[1]
    ahead = min(TOGETHER, k * WORDS // 8 + 1)
    step = TOGETHER // ahead
    for low in range(0, len(values), step):
        users = np.arange(low, min(len(values), low + step), dtype=np.uint64) + np.uint64(first)
        nonces = np.repeat(users + np.uint64(1), ahead)
        numbers = np.tile(np.arange(ahead, dtype=np.uint64), len(users))
        heads = blocks(key, nonces, numbers).view(np.uint64).reshape(len(users), -1)
        for i, (user, head) in enumerate(zip(users, heads, strict=True), low):
            words = words_on(key, user, head)
            noise = np.array([draw(words, int(m)) for _ in range(k)])
            if values[i] >= 0:
                noise[values[i]] += 1
            out[i] = np.clip(noise, -LIMIT, LIMIT)
