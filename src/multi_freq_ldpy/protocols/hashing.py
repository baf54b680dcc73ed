"""Local hashing: the value is hashed to a small domain, and the resulting symbol is randomized.

Every user draws a hash function.
"""

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot
from .families import PrimeFamily, collision_probability, next_prime
from .formats import HashedSymbols


def best_range(prime: int, excess: Fraction) -> int:
    """Return the g in [2, P] of least variance for a budget with e^ε − 1 = ``excess``.

    γ is the probability that two values collide. It is linear in g as long as s = P div g stays the
    same. For a fixed s, the variance is a quadratic function of u = 1/(1 − γ). The coefficient of
    u² has the sign of −(P − s)·(P − s − 1), so it is never positive. So the least variance is at an
    end of the block.

    The search starts at the best g for even buckets and goes outwards over blocks of equal s. Even
    buckets bound the variance from below. The search ends when that bound exceeds the best variance
    found.

    Parameters
    ----------
    prime : int
        The prime P: the number of residues that are divided into g buckets.
    excess : Fraction
        The number e^ε − 1, greater than 0.

    Returns
    -------
    int
        The number of symbols g.
    """

    def cost(g: int, pair: Fraction) -> Fraction:
        return (1 + pair * excess) * (g - 1 + (1 - pair) * excess) / ((1 - pair) * excess) ** 2

    def even(g: int) -> Fraction:
        return cost(g, Fraction(prime - g, g * (prime - 1)))

    def least(s: int) -> tuple[Fraction, int]:
        ends = {max(2, prime // (s + 1) + 1), prime // s}
        return min((cost(g, collision_probability(prime, g)), g) for g in ends)

    low, high = 2, prime
    while high - low > 2:
        middle = (low + high) // 2
        low, high = (low, middle + 1) if even(middle) <= even(middle + 1) else (middle, high)
    nearest = prime // min(range(low, high + 1), key=even)
    best = least(nearest)
    # The values of g next to the blocks searched so far
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


class LocalHashing(OneShot):
    """Base of the local hashing protocols of one round.

    A report is a seed and one of g symbols. The seed names a hash function. The symbol is more
    likely to be the hash of the user's own value than any other.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.
    """

    @property
    @abstractmethod
    def g(self) -> int:
        """The number of symbols."""

    @cached_property
    def family(self) -> PrimeFamily:
        """The family of hash functions."""
        return PrimeFamily(self.k, self.g)

    @property
    def prime(self) -> int:
        """The modulus of the hash functions."""
        return self.family.prime

    @cached_property
    def format(self) -> HashedSymbols:
        """The format of a report, which is a seed and a symbol."""
        return HashedSymbols(self.family)

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities of the own symbol and of each other symbol, times 2⁶⁴."""
        return exact.symbol_weights(self.g, self.epsilon, self.k)

    def _arguments(self, values: Counts, source: Source) -> tuple[Any, ...]:
        """Return the arguments with which the kernels draw reports."""
        first = source.start(len(values), layouts.HASHED)
        return (
            source.key,
            first,
            values,
            *(np.uint64(x) for x in (self.prime, self.g, *self.weights)),
        )

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        seeds, symbols = np.empty((2, len(values)), np.uint64)
        hashing = draws.choose("hashing", layouts.HASHED * len(values))
        hashing.randomize(*self._arguments(values, source), seeds, symbols)
        out["seed"], out["symbol"] = seeds, symbols

    def _draw_and_gather(self, values: Counts, source: Source) -> tuple[Counts, Counts]:
        hashing, space = self.family.counting(len(values))
        hashing.draw_and_count(*self._arguments(values, source), *space)
        return space[-1][: self.k], np.full(self.k, len(values))

    def _fake(self, kind: str) -> Fake:
        low, chance = self.g * self.chances[1], Fraction(1, self.format.size)
        pair = self.family.collision(2) / self.g
        return Fake(Fraction(1, self.g), pair, (low, low), chance=lambda report: chance, of=self)


class BLH(LocalHashing):
    """Binary local hashing.

    A report is a seed and one randomized bit. The probabilities are p = e^ε/(e^ε + 1) and q = γ·p +
    (1 − γ)/(e^ε + 1). Here γ, the probability that two values collide, is just below 1/2. The seed
    need not be secret. OLH has less variance.

    Bassily and Smith, "Local, private, efficient protocols for succinct histograms", STOC 2015.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import BLH
    >>> protocol = BLH(100, epsilon=1.0)
    >>> protocol.report_dtype
    dtype([('seed', '<u2'), ('symbol', 'u1')])
    >>> round(protocol.channel.q, 4)
    0.4977
    """

    @property
    def g(self) -> int:
        """The number of symbols, which is 2."""
        return 2


class OLH(LocalHashing):
    """Optimal local hashing.

    A report is a seed and a randomized symbol out of g. The number g is the one with the least
    variance for rare values, near e^ε + 1. The probabilities are p = e^ε/(e^ε + g − 1) and q = γ·p
    + (1 − γ)/(e^ε + g − 1). Here γ is the probability that two values collide.

    It has about the variance of OUE, with a report of a few bytes. Choose it for large k when
    reports have to be small. Counting takes time proportional to k for each report.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import OLH
    >>> protocol = OLH(1000, epsilon=1.0)
    >>> protocol.g, protocol.report_bytes
    (4, 5)
    """

    @cached_property
    def g(self) -> int:
        """The number of symbols, which minimises q(1 − q)/(p − q)² exactly.

        It is an integer in [2, P]. P is the least prime that is at least k. With g = P there are no
        collisions. Large budgets need g = P where k is not a prime.
        """
        e, _ = exact.exp(exact.budget(self.epsilon))
        if (e - 1) * exact.WORD < 1:
            raise exact.too_small(self.epsilon, self.k)
        return best_range(next_prime(self.k), e - 1)
