"""The formats of reports: symbols, packed bits, sets, hashed symbols.

A format describes the reports of a protocol. It computes the contributions of a report, counts
reports and finds invalid reports. It also computes the probability of each report, given two
probabilities. The report supports the user's own value with the first probability. It supports
another value with the second probability.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core import draws, validate
from ..core.channel import Affine
from ..mechanism import Counts, as_readonly
from .families import PrimeFamily

Generators: TypeAlias = Callable[[], "np.random.Generator"]


def symbol_dtype(m: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type for 0, …, m − 1, little endian."""
    return np.dtype(np.min_scalar_type(m - 1)).newbyteorder("<")


def unpack(reports: NDArray[Any], k: int) -> NDArray[np.uint8]:
    """Return packed bits as zeros and ones, shape (n, k)."""
    return np.unpackbits(reports, axis=1, count=k, bitorder="little")


def count_ones(reports: NDArray[Any]) -> Counts:
    """Return the number of ones in each row of packed bits."""
    sizes = np.empty(len(reports), np.int64)
    draws.choose("bit_counts", reports.size).sizes(reports, sizes)
    return sizes


def count_columns(rows: NDArray[np.uint8], k: int) -> Counts:
    """Return, for each of k places, the number of rows of packed bits that have a 1 there."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    draws.choose("bit_counts", rows.size).count(rows, counts)
    return counts[:k]


def multiply(*factors: Fraction) -> Fraction:
    """Return a product of fractions.

    It is reduced only once, because reducing long fractions takes long.
    """
    above = prod(each.numerator for each in factors)
    return Fraction(above, prod(each.denominator for each in factors))


class Format(ABC):
    """Base of the formats."""

    k: int
    dtype: np.dtype[Any]

    @property
    def work(self) -> int:
        """The approximate number of machine words that are read to count one report."""
        return self.k

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of possible reports, or a large number if the exact one is slow to compute."""

    @abstractmethod
    def every(self) -> NDArray[Any]:
        """Return every possible report."""

    @abstractmethod
    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports that no honest client can send."""

    @abstractmethod
    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each value, shape (n, k)."""

    @abstractmethod
    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the sum of the contributions of all reports."""

    @abstractmethod
    def most(self, values: int) -> int:
        """Return the largest contribution of one report to a group of ``values`` values."""

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts whose sum is impossible for n reports."""
        return

    @abstractmethod
    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel, in fractions."""

    @abstractmethod
    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the largest ratio of probabilities of a report between two values."""

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return a level for each report.

        Reports of the same level are equally likely for a user with this value.
        """
        return self.contributions(reports)[:, value]

    @abstractmethod
    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a report at this level."""

    def spread(
        self, counts: Counts, own: Fraction, other: Fraction, nobody: int, rng: Generators
    ) -> Counts | None:
        """Draw counts, given the number of users who hold each value.

        ``nobody`` is the number of users who hold no value. The result is None if reports must be
        drawn instead. ``rng()`` makes a generator.
        """
        return None


@dataclass(frozen=True)
class Symbols(Format):
    """The format in which a report is a value of the domain."""

    k: int
    work = 1

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The smallest unsigned integer type that holds a value."""
        return symbol_dtype(self.k)

    @property
    def size(self) -> int:
        """The number of values."""
        return self.k

    def every(self) -> NDArray[Any]:
        """Return all values."""
        return np.arange(self.k, dtype=self.dtype)

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark values that do not exist."""
        return np.asarray(reports >= self.k)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the reported value and 0 for the others."""
        return np.asarray(reports[:, np.newaxis] == np.arange(self.k), np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports of each value."""
        counts = np.zeros(self.k, np.int64)
        draws.choose("symbols", len(reports)).count(as_readonly(reports), counts)
        return counts

    def most(self, values: int) -> int:
        """Return 1."""
        return 1

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts that do not add up to n."""
        if (total := validate.sum_exactly(counts)) != n:
            raise ValueError(f"counts must add up to n={n}, one report per user, not to {total}")

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel. No report supports two values."""
        return Affine(own, other, own_other=Fraction(0), others=Fraction(0))

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of the own value's probability to another value's."""
        return own / other

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return 1 for the own value and 0 for others."""
        return np.asarray(reports == value, np.int64)

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of the own value, or of another."""
        return own if level else other

    def spread(
        self, counts: Counts, own: Fraction, other: Fraction, nobody: int, rng: Generators
    ) -> Counts | None:
        """Draw counts.

        A report is the own value with probability p − q. Otherwise it is one of all k values,
        uniformly.
        """
        generator = rng()
        kept = generator.binomial(counts, float(own - other))
        rest = int((counts - kept).sum())
        return kept + generator.multinomial(rest, np.full(self.k, 1 / self.k))


class Packed(Format):
    """Base of the formats with one bit per value.

    The k bits are stored in ⌈k/8⌉ bytes, in little bit order and with zero padding.
    """

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The dtype of packed bits, in little bit order."""
        return np.dtype((np.uint8, ((self.k + 7) // 8,)))

    @property
    def work(self) -> int:
        """The number of words of 64 bits."""
        return -(-self.k // 64)

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark reports with bits beyond the last value."""
        beyond = self.k % 8
        return (
            np.asarray(reports[:, -1] >> beyond != 0)
            if beyond
            else np.zeros(len(reports), np.bool_)
        )

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the bits."""
        return unpack(reports, self.k)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return, for each bit, the number of reports in which it is 1."""
        return count_columns(reports, self.k)

    def _rows(self, numbers: Iterable[int], size: int) -> NDArray[Any]:
        """Return numbers as packed rows."""
        width = self.dtype.itemsize
        data = b"".join(number.to_bytes(width, "little") for number in numbers)
        return np.frombuffer(data, self.dtype, count=size)


@dataclass(frozen=True)
class Bits(Packed):
    """The format of independent bits.

    The own bit is 1 with one probability, and every other bit with another.
    """

    k: int

    @property
    def size(self) -> int:
        """The number of combinations of bits, or 2⁶⁴ if there are more."""
        return 1 << min(self.k, 64)

    def every(self) -> NDArray[Any]:
        """Return all combinations of bits, as numbers in ascending order."""
        numbers = np.arange(2**self.k, dtype="<u8")
        return numbers.view(np.uint8).reshape(-1, 8)[:, : self.dtype.itemsize]

    def most(self, values: int) -> int:
        """Return 1 for each value, so ``values`` in all."""
        return values

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel of independent bits."""
        return Affine(own, other, own_other=own * other, others=other * other, bits=1)

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio for a report that supports one value and not the other."""
        return own * (1 - other) / (other * (1 - own))

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return twice the number of ones at other values, plus the bit of the own value."""
        bits = self.contributions(reports)
        return np.asarray(2 * bits.sum(axis=1, dtype=np.int64) - bits[:, value])

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the product of the bits' probabilities."""
        ones, bit = divmod(level, 2)
        return multiply(other**ones, (1 - other) ** (self.k - 1 - ones), own if bit else 1 - own)

    def spread(
        self, counts: Counts, own: Fraction, other: Fraction, nobody: int, rng: Generators
    ) -> Counts | None:
        """Draw the count of every bit."""
        generator, others = rng(), nobody + counts.sum() - counts
        own_ones = generator.binomial(counts, float(own))
        return np.asarray(own_ones + generator.binomial(others, float(other)))


@dataclass(frozen=True)
class Sets(Packed):
    """The format of a set of ω of the k values, as packed bits.

    The set holds the own value with a given probability. All sets with the own value are equally
    likely. All sets without it are equally likely.
    """

    k: int
    omega: int

    @property
    def size(self) -> int:
        """The number of sets, or 2⁶⁴ if ω and k − ω are both above 32."""
        few = min(self.omega, self.k - self.omega) <= 32
        return comb(self.k, self.omega) if few else 2**64

    def every(self) -> NDArray[Any]:
        """Return all sets."""
        sets = combinations(range(self.k), self.omega)
        return self._rows((sum(1 << v for v in chosen) for chosen in sets), self.size)

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark sets of another size, and reports with bits beyond the last value."""
        return np.asarray(super().refused(reports) | (count_ones(reports) != self.omega))

    def most(self, values: int) -> int:
        """Return the smaller of ``values`` and ω."""
        return min(values, self.omega)

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts that do not add up to ω·n."""
        if (total := validate.sum_exactly(counts)) != self.omega * n:
            raise ValueError(f"counts must add up to omega·n = {self.omega * n}, not to {total}")

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel, which the probability of the own value determines."""
        k, w, p = self.k, self.omega, own
        pairs = (
            (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((k - 1) * (k - 2))
            if k > 2
            else Fraction(0)
        )
        return Affine(p, other, own_other=p * (w - 1) / (k - 1), others=pairs)

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of the probabilities of a set with the own value and one without it."""
        return own * (self.k - self.omega) / ((1 - own) * self.omega)

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a set with, or without, the own value."""
        if level:
            return own / comb(self.k - 1, self.omega - 1)
        return (1 - own) / comb(self.k - 1, self.omega)


@dataclass(frozen=True)
class HashedSymbols(Format):
    """The format of a seed, which names a hash function, and a symbol out of g.

    The symbol is more likely to be the bucket of the own value than any other.
    """

    family: PrimeFamily

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of values."""
        return self.family.k

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The dtype of a seed and a symbol, each in the smallest unsigned integer type."""
        seed, symbol = symbol_dtype(self.family.functions), symbol_dtype(self.family.g)
        return np.dtype([("seed", seed), ("symbol", symbol)])

    @property
    def size(self) -> int:
        """The number of pairs of a function and a symbol."""
        return self.family.functions * self.family.g

    def every(self) -> NDArray[Any]:
        """Return every function with every symbol."""
        reports = np.zeros(self.size, self.dtype)
        reports["seed"] = np.repeat(np.arange(self.family.functions), self.family.g)
        reports["symbol"] = np.tile(np.arange(self.family.g), self.family.functions)
        return reports

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark reports whose function or symbol does not exist."""
        return self.family.find_refused(reports)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the values that hash to the reported symbol and 0 for the others."""
        seeds = reports["seed"].astype(np.uint64)[:, np.newaxis]
        buckets = self.family.buckets(seeds, np.arange(self.k, dtype=np.uint64))
        return np.asarray(buckets == reports["symbol"][:, np.newaxis], np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports that support each value."""
        return self.family.count(reports)

    def most(self, values: int) -> int:
        """Return the smaller of ``values`` and the size of a largest bucket, and at most k."""
        return min(values, self.k, self.family.largest_bucket)

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts whose sum is more or less than the buckets of n reports can hold."""
        fewest = max(0, self.family.smallest_bucket - (self.family.prime - self.k))
        most, total = min(self.k, self.family.largest_bucket), validate.sum_exactly(counts)
        if not fewest * n <= total <= most * n:
            raise ValueError(f"counts add up to {total}, which n={n} reports of {self!r} cannot")

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel.

        ``others`` is a mean over values, because three values do not hash independently.
        """
        pair, triple = (self.family.collision(together) for together in (2, 3))
        return Affine(
            own,
            other + pair * (own - other),
            own_other=pair * own,
            others=pair * other + triple * (own - other),
        )

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of the own symbol's probability to another symbol's."""
        return own / other

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return True where the value hashes to the reported symbol."""
        seeds = reports["seed"].astype(np.uint64)
        return np.asarray(self.family.buckets(seeds, np.uint64(value)) == reports["symbol"])

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a function with the own symbol, or with another."""
        return (own if level else other) / self.family.functions
