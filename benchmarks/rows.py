"""Mechanisms that are measured, their names in other packages, and the limits of the machine."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multi_freq_ldpy import (
    BLH,
    GRR,
    LGRR,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    SUE,
    DBitFlipPM,
)
from multi_freq_ldpy.core import parallel
from multi_freq_ldpy.randomness import Source

DOMAINS = (5, 100, 1000)
D = 3
MOST = 10**7


@dataclass(frozen=True)
class Row:
    """A protocol or a solution for any k, with its names in other packages."""

    name: str
    make: Callable[[int], Any]
    paper: tuple[str, bool]
    """The stem of the functions in the paper's package, and ``optimal``."""
    pure: tuple[str, dict[str, Any]] | None = None
    """The stem of the classes in pure-ldp, and their options."""


def over(solution: Any, factory: Any, *budgets: float) -> Callable[[int], Any]:
    return lambda k: solution(factory, [k] * D, *budgets)


def buckets(k: int) -> Any:
    return DBitFlipPM(k, 2.0, b=k, d_bits=max(1, k // 5))


ROWS = (
    Row("GRR", lambda k: GRR(k, 1.0), ("GRR", True), ("DE", {})),
    Row("SUE", lambda k: SUE(k, 1.0), ("UE", False), ("UE", {})),
    Row("OUE", lambda k: OUE(k, 1.0), ("UE", True), ("UE", {"use_oue": True})),
    Row("BLH", lambda k: BLH(k, 1.0), ("LH", False), ("LH", {})),
    Row("OLH", lambda k: OLH(k, 1.0), ("LH", True), ("LH", {"use_olh": True})),
    Row("SS", lambda k: SS(k, 1.0), ("SS", True)),
    Row("L-GRR", lambda k: LGRR(k, 2.0, 1.0), ("L_GRR", True)),
    Row("L-SUE", lambda k: LSUE(k, 2.0, 1.0), ("L_SUE", True)),
    Row("L-SOUE", lambda k: LSOUE(k, 2.0, 1.0), ("L_SOUE", True)),
    Row("L-OUE", lambda k: LOUE(k, 2.0, 1.0), ("L_OUE", True)),
    Row("L-OSUE", lambda k: LOSUE(k, 2.0, 1.0), ("L_OSUE", True)),
    Row("dBitFlipPM", buckets, ("dBitFlipPM", True)),
    Row("SPL[GRR]", over(SPL, GRR, 1.0), ("SPL_GRR", True)),
    Row("SPL[OUE]", over(SPL, OUE, 1.0), ("SPL_UE", True)),
    Row("SMP[GRR]", over(SMP, GRR, 1.0), ("SMP_GRR", True)),
    Row("SMP[OUE]", over(SMP, OUE, 1.0), ("SMP_UE", True)),
    Row("RS+FD[GRR]", over(RSFD, GRR, 1.0), ("RSpFD_GRR", True)),
    Row("RS+FD[OUE]", over(RSFD, OUE, 1.0), ("RSpFD_UE_zero", True)),
    Row("SMP[L-GRR]", over(SMP, LGRR, 2.0, 1.0), ("SMP_L_GRR", True)),
)


def inputs(protocol: Any, n: int) -> np.ndarray[Any, Any]:
    """Return uniform values, or records, of n users."""
    d = len(protocol.parts)
    k = protocol.k if d == 1 else protocol.ks[0]
    return np.random.default_rng(n).integers(k, size=n if d == 1 else (n, d))


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def with_threads(threads: int, work: Callable[[], object]) -> float:
    with parallel.use_threads(threads):
        return timed(work)


class Ours:
    """The two tasks of one protocol or solution of this package, for n users.

    The number n is chosen such that both tasks together take about a given time.
    """

    def __init__(self, protocol: Any, seconds: float) -> None:
        self.protocol = protocol
        n = 2000
        while True:
            self.values = inputs(protocol, n)
            self.reports = protocol.randomize(self.values)
            took = min(timed(self.randomize) + timed(self.aggregate) for _ in range(2))
            if took > seconds / 3 or n >= MOST:
                break
            n = min(MOST, int(n * min(10.0, 0.7 * seconds / took)) + 1)
        self.n = n

    def randomize(self) -> object:
        return self.protocol.randomize(self.values)

    def aggregate(self) -> object:
        return self.protocol.estimate(self.protocol.tally(self.reports))

    def consumed(self) -> float:
        """Return the number of random bytes per user.

        Further bytes, which rare cases read, are not counted.
        """
        with counted_bytes() as total:
            self.randomize()
        return total[0] / self.n

    def copy(self) -> float:
        """Copy the input, which is the limit for reports of about the size of their input."""
        return timed(self.values.copy)

    def generate(self) -> float:
        """Make the random bytes of all users with OpenSSL's ChaCha20."""
        return openssl(round(self.consumed() * self.n))

    def read(self) -> float:
        """Read the reports once."""
        size = self.reports.nbytes // 8 * 8
        words = self.reports.view(np.uint8).reshape(-1)[:size].view(np.uint64)
        return timed(partial(np.bitwise_or.reduce, words))


@contextmanager
def counted_bytes() -> Iterator[list[int]]:
    """Count the bytes of the main stream that sources hand out."""
    total, users = [0], Source.users

    def counting(self: Source, n: int, stride: int) -> Any:
        total[0] += n * stride
        return users(self, n, stride)

    Source.users = counting  # type: ignore[method-assign]
    try:
        yield total
    finally:
        Source.users = users  # type: ignore[method-assign]


ZEROS, BUFFER = bytes(2**16), bytearray(2**16 + 64)


def openssl(size: int) -> float:
    """Return the seconds that OpenSSL takes for ``size`` bytes of a ChaCha20 key stream.

    They are measured on 64 megabytes at most.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    stream = Cipher(algorithms.ChaCha20(bytes(32), bytes(16)), None).encryptor()
    pieces = max(1, min(size, 2**26) // len(ZEROS))

    def fill() -> None:
        for _ in range(pieces):
            stream.update_into(ZEROS, BUFFER)

    return timed(fill) * size / (pieces * len(ZEROS))
