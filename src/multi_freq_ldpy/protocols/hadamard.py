"""Hadamard response: an index whose parity with the value's row tells one bit."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts, validate
from ..core.channel import Affine
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot, declared
from .formats import Format, symbol_dtype

Indices = NDArray[np.int64]


def find_parity(numbers: Indices) -> Indices:
    """Return 1 where the number of ones among the lowest 32 bits is odd, and 0 elsewhere."""
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1


def transform(numbers: Counts) -> Counts:
    """Return the Walsh–Hadamard transform of a vector whose length is a power of two."""
    for _ in range(len(numbers).bit_length() - 1):
        left, right = numbers.reshape(2, -1)
        numbers = np.stack([left + right, left - right], axis=1).reshape(-1)
    return numbers


@dataclass(frozen=True)
class Indexed(Format):
    """The format of an index below a power of two, which supports about half of the values.

    Value v has the row v + 1. An index supports v if it has an even number of ones in common with
    this row. Row 0 belongs to no value, because every index would support it.
    """

    k: int
    work = 1

    @property
    def size(self) -> int:
        """The number of indices, which is the least power of two above k."""
        return 1 << self.k.bit_length()

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The smallest unsigned integer type that holds an index."""
        return symbol_dtype(self.size)

    def every(self) -> NDArray[Any]:
        """Return all indices."""
        return np.arange(self.size, dtype=self.dtype)

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark indices that do not exist."""
        return np.asarray(reports >= self.size)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for each value that the index supports."""
        rows = np.arange(1, self.k + 1) & reports.astype(np.int64)[:, np.newaxis]
        return (1 - find_parity(rows)).astype(np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports that support each value."""
        return self.settle(self.gather(reports), len(reports))

    def gather(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports of each index."""
        return np.bincount(reports, minlength=self.size)

    def settle(self, gathered: Counts, n: int) -> Counts:
        """Return the number of reports that support each value, by one transform."""
        return (n + transform(gathered)[1 : self.k + 1]) // 2

    def most(self, values: int) -> int:
        """Return 1 for each value, so ``values`` in all: index 0 supports every value."""
        return values

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel.

        Given the parity with the own row, the parities with two other rows are independent fair
        coins. The exception is that the three rows add up to 0. Then all three parities are even
        with probability ``own``/2, or exactly one of them is. ``others`` is the mean over all
        choices of three values.
        """
        quarter = Fraction(1, 4)
        three = self.k * (self.k - 1) * (self.k - 2)
        special = Fraction(count_dependent(self.k), three) if three else Fraction(0)
        return Affine(own, other, own_other=own / 2, others=quarter + special * (own / 2 - quarter))

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio for an index that supports one value and not the other."""
        return own / (1 - own)

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return 1 for an index that supports the value, and 0 for another."""
        return 1 - find_parity(reports.astype(np.int64) & (value + 1))

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of an index at this level."""
        return 2 * (own if level else 1 - own) / self.size


def count_dependent(k: int) -> int:
    """Return the number of ordered pairs of rows, from 1 to k, whose sum is a third such row.

    >>> [count_dependent(k) for k in (2, 3, 4, 7)]
    [0, 6, 6, 42]
    """
    top = 1 << (k.bit_length() - 1)
    return top**2 + 3 * (k - top + 1) ** 2 - (k + 1) - 2 * k


@dataclass(frozen=True)
class HR(OneShot):
    """Hadamard response, with one block.

    A report is an index below K, the least power of two above k. The index has an even number of
    ones in common with the row v + 1 of the user's value v with probability p = e^ε/(e^ε + 1). All
    indices of one parity are equally likely. The report supports a value with another row with
    probability q = 1/2.

    Reports are short, and a tally needs only one transform. The variance is (e^ε + 1)²/(e^ε − 1)²
    for rare values, which is more than that of OUE. Choose it for large domains and small budgets,
    or below RS+FD: its fakes look alike for every domain.

    Acharya, Sun and Zhang, "Hadamard response: estimating distributions privately, efficiently, and
    with little communication", AISTATS 2019.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³¹ − 1.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import HR
    >>> protocol = HR(100, epsilon=1.0)
    >>> protocol.report_bytes, protocol.channel.q
    (1, 0.5)
    >>> round(protocol.variance(10_000) ** 0.5, 4)
    0.0216
    """

    k: int = declared(validate.Integer(2, 2**31 - 1))

    @cached_property
    def format(self) -> Indexed:
        """The format of a report, which is an index."""
        return Indexed(self.k)

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities of supporting the own value and another value, times 2⁶⁴."""
        return exact.symbol_weights(2, self.epsilon)[0], exact.WORD // 2

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        n, rows = len(values), values + 1
        index = source.part(b"index").below(n, self.format.size)
        odd = np.empty(n, np.uint8)
        coins = source.part(b"parity")
        own, _ = self.weights
        constants = layouts.symbol_constants(2, (own, exact.WORD - own))
        draws.choose("symbols", n).randomize(
            coins.key, *coins.users(n, 4), np.zeros(n, np.int64), *constants, odd
        )
        wrong = find_parity(index & rows) != odd
        out[:] = np.where(wrong, index ^ (rows & -rows), index)

    @property
    def _space(self) -> int:
        return self.format.size

    def _gather(self, reports: NDArray[Any]) -> Counts:
        return self.format.gather(reports)

    def _settle(self, gathered: Counts, n: Counts) -> Counts:
        return self.format.settle(gathered, int(n[0]))

    def _fake(self, kind: str) -> Fake:
        low = 2 * (1 - self.chances[0])
        half = Fraction(1, 2)
        size = self.format.size
        return Fake(half, half**2, (low, low), chance=lambda report: Fraction(1, size), of=self)
