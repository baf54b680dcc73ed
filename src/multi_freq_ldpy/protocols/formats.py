"""What reports are: symbols, packed bits, sets, hashed symbols.

A format is an object that a protocol has. It knows what a report contributes, how reports are
counted, which ones no honest client sends, and how likely each is, given two probabilities: with
which the report supports the user's own value, and with which it supports another.
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
    """Return how many rows of packed bits have a 1 at each of k places."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    draws.choose("bit_counts", rows.size).count(rows, counts)
    return counts[:k]


def multiply(*factors: Fraction) -> Fraction:
    """Return a product of fractions, reduced once: that takes long where they are long."""
    above = prod(each.numerator for each in factors)
    return Fraction(above, prod(each.denominator for each in factors))


class Format(ABC):
    """Base of the formats."""

    k: int
    dtype: np.dtype[Any]

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return self.k

    @property
    @abstractmethod
    def size(self) -> int:
        """How many reports there are; a large number where it takes long to work out."""

    @abstractmethod
    def every(self) -> NDArray[Any]:
        """Return every report."""

    @abstractmethod
    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports that no honest client can send."""

    @abstractmethod
    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value, shape (n, k)."""

    @abstractmethod
    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the contributions added up over reports."""

    @abstractmethod
    def most(self, values: int) -> int:
        """Return the most that one report contributes to that many values together."""

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts that do not add up to what n reports contribute."""
        return

    @abstractmethod
    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel, in fractions."""

    @abstractmethod
    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the largest ratio of probabilities of a report between two values."""

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return numbers, equal where reports are equally likely for a user with this value."""
        return self.contributions(reports)[:, value]

    @abstractmethod
    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a report at this level."""

    def spread(
        self, counts: Counts, own: Fraction, other: Fraction, nobody: int, rng: Generators
    ) -> Counts | None:
        """Draw counts given how many users hold each value; None where reports must be drawn.

        ``rng()`` makes a generator.
        """
        return None


@dataclass(frozen=True)
class Symbols(Format):
    """A report is a value of the domain."""

    k: int
    work = 1

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The smallest unsigned integer type."""
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
        """Return how often each value was reported."""
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
        """Return the channel: no report supports two values."""
        return Affine(own, other, own_other=Fraction(0), others=Fraction(0))

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of the own value's probability to another's."""
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
        """Draw: with probability p − q the own value for certain, otherwise one of all k alike."""
        generator = rng()
        kept = generator.binomial(counts, float(own - other))
        rest = int((counts - kept).sum())
        return kept + generator.multinomial(rest, np.full(self.k, 1 / self.k))


class Packed(Format):
    """Base of the formats of one bit a value: k bits in ⌈k/8⌉ bytes, little bit order, zero
    padding.
    """

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Packed bits, little bit order."""
        return np.dtype((np.uint8, ((self.k + 7) // 8,)))

    @property
    def work(self) -> int:
        """Words of 64 bits."""
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
        """Return how many reports have each bit."""
        return count_columns(reports, self.k)

    def _rows(self, numbers: Iterable[int], size: int) -> NDArray[Any]:
        """Return numbers as packed rows."""
        width = self.dtype.itemsize
        data = b"".join(number.to_bytes(width, "little") for number in numbers)
        return np.frombuffer(data, self.dtype, count=size)


@dataclass(frozen=True)
class Bits(Packed):
    """Independent bits: the own is 1 with one probability, every other with another."""

    k: int

    @property
    def size(self) -> int:
        """All combinations of bits."""
        return 1 << min(self.k, 64)

    def every(self) -> NDArray[Any]:
        """Return all combinations of bits, as numbers in ascending order."""
        numbers = np.arange(2**self.k, dtype="<u8")
        return numbers.view(np.uint8).reshape(-1, 8)[:, : self.dtype.itemsize]

    def most(self, values: int) -> int:
        """Return one for each value."""
        return values

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel of independent bits."""
        return Affine(own, other, own_other=own * other, others=other * other, bits=1)

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio of a report that supports one value and not the other."""
        return own * (1 - other) / (other * (1 - own))

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return twice the number of ones at other values, plus the bit at the own."""
        bits = self.contributions(reports)
        return np.asarray(2 * bits.sum(axis=1, dtype=np.int64) - bits[:, value])

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the product of the bits' probabilities."""
        ones, bit = divmod(level, 2)
        return multiply(other**ones, (1 - other) ** (self.k - 1 - ones), own if bit else 1 - own)

    def spread(
        self, counts: Counts, own: Fraction, other: Fraction, nobody: int, rng: Generators
    ) -> Counts | None:
        """Draw every bit's count."""
        generator, others = rng(), nobody + counts.sum() - counts
        own_ones = generator.binomial(counts, float(own))
        return np.asarray(own_ones + generator.binomial(others, float(other)))


@dataclass(frozen=True)
class Sets(Packed):
    """A set of ω of the k values, as packed bits.

    It holds the own value with a probability, and is uniform given whether it does.
    """

    k: int
    omega: int

    @property
    def size(self) -> int:
        """The number of sets."""
        few = min(self.omega, self.k - self.omega) <= 32
        return comb(self.k, self.omega) if few else 2**64

    def every(self) -> NDArray[Any]:
        """Return all sets."""
        sets = combinations(range(self.k), self.omega)
        return self._rows((sum(1 << v for v in chosen) for chosen in sets), self.size)

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark sets of another size too."""
        return np.asarray(super().refused(reports) | (count_ones(reports) != self.omega))

    def most(self, values: int) -> int:
        """Return at most ω."""
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
        """Return the ratio of a set with the own value to one without it."""
        return own * (self.k - self.omega) / ((1 - own) * self.omega)

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a set with, or without, the own value."""
        if level:
            return own / comb(self.k - 1, self.omega - 1)
        return (1 - own) / comb(self.k - 1, self.omega)


@dataclass(frozen=True)
class HashedSymbols(Format):
    """A hash function, told by its seed, and a symbol out of g that is likelier to be the own
    value's bucket than any other one.
    """

    family: PrimeFamily

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of values."""
        return self.family.k

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """A seed and a symbol, each in the smallest unsigned integer type."""
        seed, symbol = symbol_dtype(self.family.functions), symbol_dtype(self.family.g)
        return np.dtype([("seed", seed), ("symbol", symbol)])

    @property
    def size(self) -> int:
        """Every function with every symbol."""
        return self.family.functions * self.family.g

    def every(self) -> NDArray[Any]:
        """Return every function with every symbol."""
        reports = np.zeros(self.size, self.dtype)
        reports["seed"] = np.repeat(np.arange(self.family.functions), self.family.g)
        reports["symbol"] = np.tile(np.arange(self.family.g), self.family.functions)
        return reports

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark functions and symbols that do not exist."""
        return self.family.find_refused(reports)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the values that hash to the reported symbol and 0 for the others."""
        seeds = reports["seed"].astype(np.uint64)[:, np.newaxis]
        buckets = self.family.buckets(seeds, np.arange(self.k, dtype=np.uint64))
        return np.asarray(buckets == reports["symbol"][:, np.newaxis], np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return how many reports support each value."""
        return self.family.count(reports)

    def most(self, values: int) -> int:
        """Return at most the size of a bucket."""
        return min(values, self.k, self.family.largest_bucket)

    def check_sum(self, counts: Counts, n: int) -> None:
        """Refuse counts that add up to more or less than buckets hold."""
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
        """Return the ratio of the own symbol's probability to another's."""
        return own / other

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return whether the value hashes to the reported symbol."""
        seeds = reports["seed"].astype(np.uint64)
        return np.asarray(self.family.buckets(seeds, np.uint64(value)) == reports["symbol"])

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of a function with the own symbol, or with another."""
        return (own if level else other) / self.family.functions
