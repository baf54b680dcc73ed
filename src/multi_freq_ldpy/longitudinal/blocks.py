"""Blocks: the noise through which a user tells a limited number of symbols −1, 0 and 1.

A block is drawn before the first round. It has one entry in {−1, 0, 1} for each symbol that can be
told. A told symbol is multiplied by the next entry. Every other symbol is sent as *base noise*,
which is 1 and −1 with the same probability.

A block has the probability that base noise would have, times a density. The density depends only on
the margin, which is the sum of the entries. Entries that are never used average out. So the reports
of a history have the probability of base noise, times a mean of densities. The ratio between any
two histories is therefore at most the largest density divided by the smallest.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import ceil, comb, lcm

from ..core import exact, validate

KINDS = ("ball", "linear", "product")
MOST_SYMBOLS = 64
MOST_BITS = 60


@dataclass(frozen=True)
class Block:
    """The exact distribution of a block of noise.

    Parameters
    ----------
    symbols : int
        Number of symbols that can be told.
    epsilon : float
        Privacy budget of all symbols together, between any two sequences of symbols.
    kind : {"ball", "linear", "product"}
        Form of the density. "ball" prefers the blocks whose margin reaches a threshold, which gives
        the least variance. "linear" tells only one symbol, drawn beforehand (Erlingsson et al.
        2019). "product" divides the budget among the symbols (Xue et al. 2022).

    Raises
    ------
    ValueError
        If ``symbols`` is out of range, if ``kind`` is unknown, or if ``epsilon`` is too small.

    Examples
    --------
    >>> from multi_freq_ldpy.longitudinal.blocks import Block
    >>> block = Block(2, epsilon=1.0)
    >>> block.bits, block.threshold, round(float(block.gap), 6), round(float(block.cost), 4)
    (1, 2, 0.300489, 11.075)
    """

    symbols: int
    epsilon: float
    kind: str = "ball"
    bits: int = field(init=False)
    """Base noise is 1 with probability 2^−bits, and −1 with the same probability."""

    threshold: int = field(init=False)
    """The least margin that "ball" prefers. It is 0 for the other kinds."""

    weight: int = field(init=False, repr=False)
    """A probability times 2⁶⁴: of a margin above the threshold, or of telling the truth."""

    def __post_init__(self) -> None:
        validate.Integer(1, MOST_SYMBOLS)("symbols", self.symbols)
        validate.budget("epsilon", self.epsilon)
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if self.kind == "ball":
            chosen = choose_ball(self.symbols, self.epsilon)
        else:
            share = self.symbols if self.kind == "product" else 1
            chosen = 1, 0, _tell_truth(exact.budget(self.epsilon) / share, self.epsilon)
        for name, value in zip(("bits", "threshold", "weight"), chosen, strict=True):
            object.__setattr__(self, name, value)

    @cached_property
    def densities(self) -> dict[int, Fraction]:
        """The density of each possible margin."""
        own, k = Fraction(self.weight, exact.WORD), self.symbols
        margins = weigh_margins(k, self.bits)
        if self.kind == "linear":
            return {m: 1 + (2 * own - 1) * Fraction(m, k) for m in margins}
        if self.kind == "product":
            return {m: 2**k * own ** ((k + m) // 2) * (1 - own) ** ((k - m) // 2) for m in margins}
        return spread_ball(k, self.bits, self.threshold, own)

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities between two sequences of symbols."""
        return max(self.densities.values()) / min(self.densities.values())

    @cached_property
    def gap(self) -> Fraction:
        """The mean of an entry, which is the mean of a told symbol 1."""
        margins = weigh_margins(self.symbols, self.bits)
        total = sum((margins[m] * m * d for m, d in self.densities.items()), Fraction(0))
        return total / (self.symbols << self.bits * self.symbols)

    @cached_property
    def second(self) -> Fraction:
        """The second moment of an entry, which is that of a told symbol."""
        total = sum(weight for *_, weight in self.outcomes)
        ones = sum((plus + minus) * weight for plus, minus, weight in self.outcomes)
        return Fraction(ones, self.symbols * total)

    def spread(self, told: int, known: bool = False) -> Fraction:
        """Return the largest ratio of probabilities between users who tell few symbols.

        Parameters
        ----------
        told : int
            Number of symbols that a user may tell.
        known : bool
            True if the signs of these symbols are known, so that users differ only in whether they
            tell them.

        Returns
        -------
        Fraction
            The largest ratio.

        Examples
        --------
        >>> from multi_freq_ldpy.longitudinal.blocks import Block
        >>> block = Block(3, epsilon=1.0)
        >>> [round(float(each), 3) for each in (block.spread(1), block.spread(1, known=True))]
        [1.97, 1.436]
        """
        low, high = _extreme_densities(self, told)
        return max(high, 1 / low) if known else high / low

    @property
    def noise(self) -> Fraction:
        """The second moment of base noise."""
        return Fraction(2, 2**self.bits)

    @property
    def cost(self) -> Fraction:
        """The variance of an estimated step, times the number of reports, for unchanged values."""
        return self.noise / self.gap**2

    @cached_property
    def outcomes(self) -> tuple[tuple[int, int, int], ...]:
        """The numbers of entries 1 and −1, each pair with an integer weight.

        Blocks with the same two numbers are equally likely.
        """
        k, idle = self.symbols, 2**self.bits - 2
        scale = lcm(*(density.denominator for density in self.densities.values()))
        found = (
            (a, b, comb(k, a) * comb(k - a, b) * idle ** (k - a - b) * self.densities[a - b])
            for a in range(k + 1)
            for b in range(k + 1 - a)
            if idle or a + b == k
        )
        return tuple((a, b, int(weight * scale)) for a, b, weight in found)

    def law(self) -> dict[tuple[int, ...], Fraction]:
        """Return the exact distribution of a block.

        Returns
        -------
        dict
            Probability of each possible block, a tuple of entries, as a fraction.

        Examples
        --------
        >>> from multi_freq_ldpy.longitudinal.blocks import Block
        >>> law = Block(2, epsilon=1.0, kind="linear").law()
        >>> len(law), sum(law.values())
        (4, Fraction(1, 1))
        """
        base = self.base
        found = {}
        for entries in product(base, repeat=self.symbols):
            chance = self.densities[sum(entries)]
            for entry in entries:
                chance *= base[entry]
            found[entries] = chance
        return found

    def mean_density(self, told: int, margin: int) -> Fraction:
        """Return the density, averaged over the entries that were not told.

        Parameters
        ----------
        told : int
            Number of entries that were told.
        margin : int
            Sum of these entries.

        Returns
        -------
        Fraction
            The mean. Reports have the probability of base noise, times this number.
        """
        rest = self.symbols - told
        ways = weigh_margins(rest, self.bits)
        total = sum((self.densities[margin + m] * w for m, w in ways.items()), Fraction(0))
        return total / (1 << self.bits * rest)

    @property
    def base(self) -> dict[int, Fraction]:
        """The exact distribution of base noise."""
        q = Fraction(1, 2**self.bits)
        return {1: q, -1: q} if self.bits == 1 else {1: q, -1: q, 0: 1 - 2 * q}


@lru_cache(maxsize=1024)
def _extreme_densities(block: Block, told: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest density of some told entries."""
    return block.mean_density(told, -told), block.mean_density(told, told)


@lru_cache(maxsize=256)
def share_block(symbols: int, epsilon: float, kind: str = "ball") -> Block:
    """Return a block, the same object for the same parameters, because its numbers take time."""
    return Block(symbols, epsilon, kind)


@lru_cache(maxsize=256)
def weigh_margins(symbols: int, bits: int) -> dict[int, int]:
    """Return the number of ways to each margin, of 2^(bits·symbols) in all.

    These are the coefficients of (x + (2^bits − 2) + 1/x)^symbols.
    """
    idle = 2**bits - 2
    found = {0: 1}
    for _ in range(symbols):
        found = {
            m: ways
            for m in range(min(found) - 1, max(found) + 2)
            if (ways := found.get(m - 1, 0) + idle * found.get(m, 0) + found.get(m + 1, 0))
        }
    return found


def spread_ball(symbols: int, bits: int, threshold: int, high: Fraction) -> dict[int, Fraction]:
    """Return the density of each margin, if margins from the threshold on have probability high."""
    margins = weigh_margins(symbols, bits)
    above = Fraction(
        sum(ways for m, ways in margins.items() if m >= threshold), 2 ** (bits * symbols)
    )
    return {m: high / above if m >= threshold else (1 - high) / (1 - above) for m in margins}


@lru_cache(maxsize=256)
def choose_ball(symbols: int, epsilon: float) -> tuple[int, int, int]:
    """Return the bits, the threshold and the weight of the ball of least cost.

    All bits up to a bound are searched, because the cost often has two minima: one for dense and
    one for sparse blocks. Among equal costs the fewest bits and then the largest threshold win.
    """
    bound, _ = exact.exp(exact.budget(epsilon))
    most = min(MOST_BITS, ceil(max(Fraction(2), symbols * (bound - 1)) - 1).bit_length() + 1)
    best: tuple[Fraction, int, int, int] | None = None
    for bits in range(1, most + 1):
        total = 2 ** (bits * symbols)
        above = mean = 0
        margins = weigh_margins(symbols, bits)
        for threshold in range(symbols, 0, -1):
            above += margins.get(threshold, 0)
            mean += threshold * margins.get(threshold, 0)
            below = total - above
            weight = int(exact.WORD * bound * above / (bound * above + below)) if above else 0
            edge = weight * below - (exact.WORD - weight) * above
            if edge <= 0:
                continue
            # gap = mean·edge/(symbols·2⁶⁴·above·below), and the cost is 2^(1 − bits)/gap²
            inverse = Fraction(above * below, mean * edge)
            cost = inverse**2 / 2**bits
            if best is None or cost < best[0]:
                best = cost, bits, threshold, weight
    if best is None:
        raise ValueError(
            f"epsilon={epsilon!r} is too small to be realised with symbols={symbols}: the"
            " probabilities round to equality"
        )
    return best[1:]


def _tell_truth(budget: Fraction, epsilon: float) -> int:
    """Return the probability of telling the truth about a symbol, times 2⁶⁴."""
    weight = exact.WORD - ceil(exact.WORD / (exact.exp(budget)[0] + 1))
    if weight <= exact.WORD // 2:
        raise exact.too_small(epsilon, 2)
    return weight
