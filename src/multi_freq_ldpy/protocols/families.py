"""Families of hash functions."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws
from ..mechanism import Counts, as_readonly


@lru_cache(maxsize=256)
def next_prime(k: int) -> int:
    """Return the least prime that is at least k.

    The test is Miller–Rabin with bases that decide below 2⁶⁴.
    """
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)

    def prime(n: int) -> bool:
        if n < 2 or any(n % b == 0 for b in bases):
            return n in bases
        odd, twos = n - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        return all(
            any(pow(b, odd << r, n) == n - 1 for r in range(twos)) or pow(b, odd, n) == 1
            for b in bases
        )

    while not prime(k):
        k += 1
    return k


def collision_probability(prime: int, g: int, together: int = 2) -> Fraction:
    """Return the probability that ``together`` different residues fall into one bucket.

    The buckets are g parts of [0, P). Two values hash to a uniform pair of different residues. For
    two residues, the result is therefore the exact probability that two values collide. For three
    residues, it is the mean over values.
    """
    small, larger = divmod(prime, g)
    ways, total = 0, 1
    for size, buckets in ((small, g - larger), (small + 1, larger)):
        product = buckets
        for i in range(together):
            product *= size - i
        ways += product
    for i in range(together):
        total *= prime - i
    return Fraction(ways, total) if total else Fraction(0)


@dataclass(frozen=True)
class PrimeFamily:
    """Balanced affine functions modulo a prime, from k values to g buckets.

    P is the least prime ≥ k. The seed is uniform in [0, P(P − 1)), a = 1 + seed div P, s = seed mod
    P. The bucket of x is ⌊g·((a·x + s) mod P)/P⌋. The probability that two values collide is exact:
    it does not assume an ideal hash function.
    """

    k: int
    g: int

    @cached_property
    def prime(self) -> int:
        """The modulus of the hash functions."""
        return next_prime(self.k)

    @property
    def functions(self) -> int:
        """The number of functions."""
        return self.prime * (self.prime - 1)

    @property
    def smallest_bucket(self) -> int:
        """The number of residues in a smallest bucket."""
        return self.prime // self.g

    @property
    def largest_bucket(self) -> int:
        """The number of residues in a largest bucket."""
        return -(-self.prime // self.g)

    def collision(self, together: int) -> Fraction:
        """Return the probability that ``together`` different values fall into one bucket."""
        return collision_probability(self.prime, self.g, together)

    def buckets(
        self, seeds: NDArray[np.uint64], x: NDArray[np.uint64] | np.uint64
    ) -> NDArray[np.uint64]:
        """Return the buckets of values under the functions of these seeds."""
        prime, g = np.uint64(self.prime), np.uint64(self.g)
        residue = ((np.uint64(1) + seeds // prime) * x + seeds % prime) % prime
        return np.asarray(g * residue // prime)

    def draw(self, users: tuple[Any, ...], values: Counts) -> tuple[NDArray[np.uint64], Counts]:
        """Return a seed for each user, drawn from the user's bytes, and the values' buckets."""
        seeds, buckets = np.empty(len(values), np.uint64), np.empty(len(values), np.int64)
        hashing = draws.choose("hashing", 10 * len(values))
        hashing.seeds(*users, np.uint64(self.prime), seeds)
        hashing.buckets(values, seeds, np.uint64(self.prime), np.uint64(self.g), buckets)
        return seeds, buckets

    def find_refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports whose seed or symbol does not exist."""
        refused, hashing = np.empty(len(reports), np.bool_), draws.choose("hashing", len(reports))
        hashing.find_refused(
            *_unpacked(reports, hashing), np.uint64(self.prime), np.uint64(self.g), refused
        )
        return refused

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return, for each value, the number of reports whose symbol is the value's bucket."""
        hashing, space = self.counting(len(reports))
        hashing.count_reports(*_unpacked(reports, hashing), np.uint64(self.prime), *space)
        counts: Counts = space[-1]
        return counts[: self.k]

    def counting(self, reports: int) -> tuple[Any, tuple[NDArray[Any], ...]]:
        """Return the kernel that counts ``reports`` reports, and the arrays that it needs.

        The arrays are the edges of the windows, working space and counts. The working space has the
        smallest type that holds two residues.
        """
        hashing = draws.choose("hashing", reports * self.k)
        return hashing, (
            self._edges,
            np.empty((3, hashing.LANES), np.min_scalar_type(2 * self.prime)),
            np.zeros(-(-self.k // 4) * 4, np.int64),
        )

    @cached_property
    def _edges(self) -> NDArray[np.uint64]:
        """The first residues of the windows of the symbols: ⌈yP/g⌉ for y = 0, …, g."""
        symbols = np.arange(self.g + 1, dtype=np.uint64)
        return (symbols * np.uint64(self.prime) + np.uint64(self.g - 1)) // np.uint64(self.g)


def _unpacked(
    reports: NDArray[Any], hashing: Any
) -> tuple[NDArray[np.uint8], NDArray[Any], NDArray[Any]]:
    """Return reports as rows of bytes, and working space for their seeds and symbols."""
    dtype = reports.dtype
    seed, symbol = (np.empty(hashing.SOME, dtype[name]) for name in ("seed", "symbol"))
    return as_readonly(reports).view(np.uint8).reshape(len(reports), dtype.itemsize), seed, symbol
