"""Local hashing: the value is hashed to a small domain by a function of the user's own, and the
symbol randomized.
"""

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.channel import Channel
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import as_readonly
from ..protocol import Exact, OneShot
from .grr import symbol_dtype


def next_prime(k: int) -> int:
    """Return the least prime that is at least k (Miller–Rabin with bases that decide below 2⁶⁴)."""
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
    """Return the probability that ``together`` different residues fall into one bucket of [0, P), g
    buckets.

    Two values hash to a uniform pair of different residues, so for two this is their exact
    probability of collision; for three it is the mean over values.
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


def best_range(prime: int, excess: Fraction) -> int:
    """Return the g in [2, P] of least variance for a budget with e^ε − 1 = ``excess``.

    The probability γ that two values collide is linear in g as long as s = P div g stays the same,
    so there the variance is a quadratic function of 1/(1 − γ): its least value is at an end or next
    to the stationary point. Blocks of equal s are searched outwards from the best g for even
    buckets, which bound the variance from below, until that bound exceeds the best found.
    """

    def cost(g: int, pair: Fraction) -> Fraction:
        return (1 + pair * excess) * (g - 1 + (1 - pair) * excess) / ((1 - pair) * excess) ** 2

    def even(g: int) -> Fraction:
        return cost(g, Fraction(prime - g, g * (prime - 1)))

    def least(s: int) -> tuple[Fraction, int]:
        low, high = max(2, prime // (s + 1) + 1), prime // s
        size = prime * (prime - 1)
        # Γ = start − slope·g
        start, slope = (
            Fraction(2 * s * prime, size),
            Fraction(s * (s + 1), size),
        )
        # In u = 1/(1 − γ): (1 + γ·x)·u = (1 + x)·u − x and (g − 1)·u + x = (1/u − 1 +
        # start)/slope·u − u + x
        a, b = 1 + excess, -excess
        c, d = (start - 1) / slope - 1, 1 / slope + excess
        candidates = {low, high}
        if a * c > 0:
            u = -(a * d + b * c) / (2 * a * c)
            if u > 0:
                still = floor((1 / u - 1 + start) / slope)
                candidates |= {min(max(g, low), high) for g in (still, still + 1)}
        return min((cost(g, collision_probability(prime, g)), g) for g in candidates)

    low, high = 2, prime
    while high - low > 2:
        middle = (low + high) // 2
        low, high = (low, middle + 1) if even(middle) <= even(middle + 1) else (middle, high)
    nearest = prime // min(range(low, high + 1), key=even)
    best = least(nearest)
    # The g next to the blocks searched so far
    below, above = (
        prime // (nearest + 1),
        prime // nearest + 1,
    )
    while below >= 2 and even(below) <= best[0]:
        best = min(best, least(prime // below))
        below = prime // (prime // below + 1)
    while above <= prime and even(above) <= best[0]:
        best = min(best, least(prime // above))
        above = prime // (prime // above) + 1
    return best[1]


class Hashing(Exact):
    """Base of the protocols that hash.

    A report is a seed, and a symbol out of g that is likelier to be the value's own.

    P is the least prime ≥ k. The seed is uniform in [0, P(P − 1)), a = 1 + seed div P, s = seed mod
    P, and the bucket of x is ⌊g·((a·x + s) mod P)/P⌋. The probability γ that two values collide is
    exact: no assumption of an ideal hash.
    """

    @property
    @abstractmethod
    def g(self) -> int:
        """The number of symbols."""

    @property
    @abstractmethod
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the own and of each other symbol."""

    @cached_property
    def prime(self) -> int:
        """The modulus of the hash functions."""
        return next_prime(self.k)

    @cached_property
    def moments(self) -> Channel:
        """The channel in exact fractions.

        ``others`` is a mean over values, because three values do not hash independently.
        """
        own, other = self.chances
        pair, triple = (collision_probability(self.prime, self.g, together) for together in (2, 3))
        return Channel(
            own,
            other + pair * (own - other),
            own_other=pair * own,
            others=pair * other + triple * (own - other),
        )

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        own, other = self.chances
        return own / other

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """A seed and a symbol, each in the smallest unsigned integer type."""
        return np.dtype(
            [
                ("seed", symbol_dtype(self.prime * (self.prime - 1))),
                ("symbol", symbol_dtype(self.g)),
            ]
        )

    def _counting(self) -> tuple[NDArray[np.uint64], NDArray[Any], NDArray[np.int64]]:
        """Return what counting needs.

        Where windows begin, space of the smallest type that holds two residues, and counts.
        """
        from ..kernels import hashing

        return (
            self._edges,
            np.empty((3, hashing.LANES), np.min_scalar_type(2 * self.prime)),
            np.zeros(-(-self.k // 4) * 4, np.int64),
        )

    @cached_property
    def _edges(self) -> NDArray[np.uint64]:
        """Where the windows of residues of the symbols begin: ⌈yP/g⌉ for y = 0, …, g."""
        symbols = np.arange(self.g + 1, dtype=np.uint64)
        return (symbols * np.uint64(self.prime) + np.uint64(self.g - 1)) // np.uint64(self.g)

    def _reading(
        self, reports: NDArray[Any]
    ) -> tuple[NDArray[np.uint8], NDArray[Any], NDArray[Any]]:
        """Return reports as rows of bytes, and space for some of their seeds and symbols."""
        from ..kernels import hashing

        seed, symbol = (
            np.empty(hashing.SOME, self.report_dtype[name]) for name in ("seed", "symbol")
        )
        return (
            as_readonly(reports).view(np.uint8).reshape(len(reports), self.report_bytes),
            seed,
            symbol,
        )

    def _most(self, values: int) -> int:
        return min(values, self.k, -(-self.prime // self.g))

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        from ..kernels import hashing

        refused = np.empty(len(reports), np.bool_)
        hashing.find_refused(
            *self._reading(reports), np.uint64(self.prime), np.uint64(self.g), refused
        )
        return refused

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the values that hash to the reported symbol and 0 for the others, shape (n,
        k).
        """
        seed = reports["seed"].astype(np.uint64)[:, np.newaxis]
        prime, g, x = np.uint64(self.prime), np.uint64(self.g), np.arange(self.k, dtype=np.uint64)
        residue = ((np.uint64(1) + seed // prime) * x + seed % prime) % prime
        return np.asarray(g * residue // prime == reports["symbol"][:, np.newaxis], np.uint8)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        from ..kernels import hashing

        edges, lanes, counts = self._counting()
        hashing.count_reports(*self._reading(reports), np.uint64(self.prime), edges, lanes, counts)
        return counts[: self.k]

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        super()._check_counts(counts, n, users)
        fewest, most = (
            self.prime // self.g - (self.prime - self.k),
            min(self.k, -(-self.prime // self.g)),
        )
        if not max(0, fewest) * int(n) <= validate.sum_exactly(counts) <= most * int(n):
            raise ValueError(
                f"counts add up to {validate.sum_exactly(counts)}, which n={n} reports of {self!r}"
                " cannot"
            )

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        functions = self.prime * (self.prime - 1)
        value = self._check_law(value, functions * self.g)
        own, other = (chance / functions for chance in self.chances)
        reports = np.zeros(functions * self.g, self.report_dtype)
        reports["seed"] = np.repeat(np.arange(functions), self.g)
        reports["symbol"] = np.tile(np.arange(self.g), functions)
        supported = self.contributions(reports)[:, value]
        return {
            report.tobytes(): own if held else other
            for report, held in zip(reports, supported, strict=True)
        }


class LocalHashing(Hashing, OneShot):
    """Base of the local hashing protocols of one round."""

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities of the own and of each other symbol, times 2⁶⁴."""
        return exact.symbol_weights(self.g, self.epsilon, self.k)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the own and of each other symbol."""
        own, other = self.weights
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    def _arguments(self, values: NDArray[np.int64], source: Source) -> tuple[Any, ...]:
        """Return what the kernels draw from."""
        from ..kernels import hashing

        first = source.start(len(values), hashing.STRIDE)
        return (
            source.key,
            first,
            values,
            *(np.uint64(x) for x in (self.prime, self.g, *self.weights)),
        )

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        from ..kernels import hashing

        seeds, symbols = np.empty((2, len(values)), np.uint64)
        hashing.randomize(*self._arguments(values, source), seeds, symbols)
        out["seed"], out["symbol"] = seeds, symbols

    def _draw_and_count(self, values: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        from ..kernels import hashing

        edges, lanes, counts = self._counting()
        hashing.draw_and_count(*self._arguments(values, source), edges, lanes, counts)
        return counts[: self.k]

    def _fake(self, kind: str) -> Fake:
        low, pair = (
            self.g * Fraction(self.weights[1], exact.WORD),
            collision_probability(self.prime, self.g),
        )
        reports = self.prime * (self.prime - 1) * self.g
        return Fake(
            Fraction(1, self.g),
            pair / self.g,
            (low, low),
            lambda: dict.fromkeys(self.law(0), Fraction(1, reports)),
        )


class BLH(LocalHashing):
    """Binary local hashing: a seed and one randomized bit.

    p = e^ε/(e^ε + 1), q = γ·p + (1 − γ)/(e^ε + 1), γ just below 1/2. One bit besides the seed,
    which need not be secret; OLH has less variance.

    Bassily and Smith, "Local, private, efficient protocols for succinct histograms", STOC 2015.

    >>> protocol = BLH(100, epsilon=1.0)
    >>> protocol.report_dtype
    dtype([('seed', '<u2'), ('symbol', 'u1')])
    >>> round(protocol.channel.q, 4)
    0.4977
    """

    @property
    def g(self) -> int:
        """The number of symbols: two."""
        return 2


class OLH(LocalHashing):
    """Optimal local hashing.

    A seed and a randomized symbol out of g, with the g of least variance for rare values.

    p = e^ε/(e^ε + g − 1), q = γ·p + (1 − γ)/(e^ε + g − 1), g near e^ε + 1. About the variance of
    OUE with a report of a few bytes; choose it for large k when reports have to be small. Counting
    takes time proportional to k for each report.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    >>> protocol = OLH(1000, epsilon=1.0)
    >>> protocol.g, protocol.report_bytes
    (4, 5)
    """

    @cached_property
    def g(self) -> int:
        """The number of symbols: the integer in [2, P] that minimises q(1 − q)/(p − q)², exactly.

        g = P is one bucket a residue, without collisions: what large budgets need where k is not a
        prime.
        """
        e, _ = exact.exp(exact.budget(self.epsilon))
        if (e - 1) * exact.WORD < 1:
            raise exact.too_small(self.epsilon, self.k)
        return best_range(self.prime, e - 1)
