"""The one idea: the aggregator sees every protocol as a channel from frequencies to expected
counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import ceil
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number: TypeAlias = float | Fraction
Floats: TypeAlias = NDArray[np.float64]


class Channel(ABC):
    """What the aggregator knows of the counts: how they are estimated from, and with what error.

    ``Channel(p, q, …)`` makes an ``Affine`` channel, the one that every protocol of this package
    has. Another kind derives from this class and says what is abstract here.

    >>> Channel(p=0.5, q=0.25).estimate([40, 35, 25], 100)
    array([0.6, 0.4, 0. ])
    """

    p: Number
    """The mean contribution of a report to the user's own value."""
    q: Number
    """The mean contribution to another value."""
    p2: Number | None
    """The second moment of the contribution to the own value."""
    q2: Number | None
    """That of the contribution to another."""
    own_other: Number | None
    """The mean product of the contributions to the own value and another."""
    others: Number | None
    """The mean product of the contributions to two other values."""
    smallest: int
    """The least that one report contributes to a value."""
    largest: int
    """The most that one report contributes to a value."""
    unit: float
    """In what portions counts come: a normal law needs many of them."""

    def __new__(cls, *moments: Any, **named: Any) -> Self:
        """Make an affine channel where no other kind is asked for."""
        return object.__new__(Affine if cls is Channel else cls)  # type: ignore[return-value]

    @property
    @abstractmethod
    def slope(self) -> float:
        """How much the mean contribution grows with the frequency."""

    @property
    @abstractmethod
    def spread(self) -> tuple[Number, Number]:
        """The variance of a contribution to the own value, and to another."""

    @abstractmethod
    def estimate(self, counts: ArrayLike, n: ArrayLike) -> Floats:
        """Return the unbiased frequencies; NaN where n is 0."""

    @abstractmethod
    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | Floats:
        """Return the variance of an estimated frequency whose true value among the n users is f."""

    @abstractmethod
    def group(self, m: int) -> "Channel":
        """Return the channel of a group of m values, whose contribution is the sum of theirs."""

    @abstractmethod
    def over(self, rounds: int, lasting: "Channel") -> "Channel":
        """Return the channel of the sum of a user's contributions over rounds, given the channel of
        what lasts over them.
        """

    def rounded(self) -> "Channel":
        """Return the same channel in floats."""
        return self

    def averaged(self) -> "Channel":
        """Return the channel of the mean contribution itself."""
        raise ValueError("this channel does not say what averages of reports come to")

    @property
    def known_law(self) -> bool:
        """Whether ``count_law`` knows the law of a count."""
        return False

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, Floats]:
        """Return the law of a count as (smallest value, probabilities), negligible tails left out.

        A share f of the n users holds the value: exactly, or, if ``sampled``, each with probability
        f.
        """
        raise ValueError("the law of this count is not known")

    def knows_difference(self, sizes: tuple[int, int]) -> bool:
        """Tell whether ``difference_law`` knows the law for two groups of these sizes."""
        return False

    def difference_law(
        self, sizes: tuple[int, int], n: int, shares: tuple[float, float], *, sampled: bool
    ) -> tuple[int, Floats]:
        """Return the law of the count of one group of values minus the count of another.

        It is given as (smallest value, probabilities). The two groups have ``sizes`` values, and
        ``shares`` of the n users hold one of them: exactly, or, if ``sampled``, on average.
        """
        raise ValueError("the law of this difference is not known")

    def sampled_variance(
        self, share: Fraction, n: NDArray[np.int64], f: Floats, of: str = "sample"
    ) -> float | Floats:
        """Return the variance for users each of whom answers with probability ``share``, if anybody
        does: the noise, and who answers.

        Of a population, the n users are drawn as well.
        """
        everyone, population = share == 1, of == "population"
        if everyone and not population:
            return self.variance(n, f)
        each = np.vectorize(lambda users: mean_inverse(int(users), float(share)), otypes=[float])(n)
        with np.errstate(invalid="ignore"):
            drawn = np.where(n > 1, (n * each - 1) / np.maximum(n - 1, 1), 0.0)
        result = self.variance(1, f) * each + f * (1 - f) * (each if population else drawn)
        return float(result) if result.ndim == 0 else result


@dataclass(frozen=True)
class Affine(Channel):
    """A channel whose mean contributions are p for the user's own value and q for every other.

    p2 and q2 are the second moments (p and q themselves for contributions of 0 and 1, which is the
    default). ``own_other`` and ``others`` are the means of the product of contributions to two
    values, one of them the user's own, or neither; they give the errors of groups. ``gap`` is
    p − q, kept apart because for small budgets the difference of floats loses its digits.
    ``smallest`` and ``largest`` bound a contribution: 0 and 1, or −1 and 1 where the second moments
    are other ones. ``bits`` is the number of independent bits whose sum a contribution is, and 0
    where bits depend on each other. Numbers are floats, or Fractions where exactness is wanted.

    >>> grr = Affine(p=0.5, q=0.25, own_other=0.0, others=0.0)
    >>> grr.estimate([40, 35, 25], 100)
    array([0.6, 0.4, 0. ])
    >>> round(grr.variance(100), 4)
    0.03
    """

    p: Number
    q: Number
    p2: Number | None = None
    q2: Number | None = None
    own_other: Number | None = None
    others: Number | None = None
    gap: Number | None = None
    largest: int = 1
    unit: float = None  # type: ignore[assignment]
    smallest: int = None  # type: ignore[assignment]
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.p - self.q if self.gap is None else self.gap)
        if not (self.gap is not None and self.gap > 0):
            raise ValueError(f"p must be greater than q, not p={self.p!r}, q={self.q!r}")
        object.__setattr__(self, "p2", self.p if self.p2 is None else self.p2)
        object.__setattr__(self, "q2", self.q if self.q2 is None else self.q2)
        if self.smallest is None:
            object.__setattr__(self, "smallest", 0 if self.binary else -self.largest)
        if self.unit is None:
            low, high = self._two_values
            step = high - low if Affine.known_law.fget(self) else 1
            object.__setattr__(self, "unit", float(step))

    def rounded(self) -> "Affine":
        """Return the same channel in floats."""
        exact = {each.name: getattr(self, each.name) for each in fields(self)}
        floats: dict[str, Any] = {
            name: float(m) for name, m in exact.items() if isinstance(m, Fraction)
        }
        return replace(self, **floats)

    @property
    def slope(self) -> float:
        """p − q as a float: rounded after the subtraction where the channel was rounded from
        fractions.
        """
        assert self.gap is not None
        return float(self.gap)

    @property
    def binary(self) -> bool:
        """Whether every contribution is 0 or 1."""
        return self.p == self.p2 and self.q == self.q2

    @property
    def spread(self) -> tuple[Number, Number]:
        """The variance of a contribution to the own value, and to another."""
        assert self.p2 is not None and self.q2 is not None
        return self.p2 - self.p * self.p, self.q2 - self.q * self.q

    def estimate(self, counts: ArrayLike, n: ArrayLike) -> Floats:
        """Return the unbiased frequencies (counts/n − q)/(p − q); NaN where n is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.asarray(counts, np.float64) / np.asarray(n, np.float64)
        frequencies: Floats = (share - float(self.q)) / self.slope
        return frequencies

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | Floats:
        """Return the variance of an estimated frequency whose true value among the n users is f."""
        own, other = (max(0.0, float(v)) for v in self.spread)
        f = np.asarray(f, np.float64)
        with np.errstate(divide="ignore"):
            result = (f * own + (1 - f) * other) / (np.asarray(n, np.float64) * self.slope**2)
        return float(result) if result.ndim == 0 else result

    def averaged(self) -> "Affine":
        """Return the channel of the mean contribution itself.

        What averaging independent reports of a user comes to.
        """
        p, q = self.p, self.q
        return Affine(p, q, p * p, q * q, p * q, q * q, self.gap)

    def over(self, rounds: int, lasting: Channel) -> "Affine":
        """Return the channel of the sum of a user's contributions over rounds, given the channel of
        what lasts over them.
        """

        def added(same: Any, different: Any) -> Any:
            return (
                None
                if same is None or different is None
                else rounds * same + rounds * (rounds - 1) * different
            )

        assert self.gap is not None
        unit = 1.0
        # Of its variance, the part that lasts comes in portions of T
        for whole, lasts in zip(self.spread, lasting.spread, strict=True):
            if whole > 0:
                share = float(rounds * lasts / (whole + (rounds - 1) * lasts))
                unit = max(unit, 1 + (rounds - 1) * share)
        return Affine(
            rounds * self.p,
            rounds * self.q,
            added(self.p2, lasting.p2),
            added(self.q2, lasting.q2),
            added(self.own_other, lasting.own_other),
            added(self.others, lasting.others),
            rounds * self.gap,
            rounds * self.largest,
            unit * self.unit,
            rounds * self.smallest,
        )

    def then(self, p: Number, q: Number, *, exclusive: bool = False) -> "Affine":
        """Return the channel of 0/1 contributions sent through a second round that keeps a 1 with p
        and sets a 0 with q.

        The second round is independent for every value, or ``exclusive``: then a report
        contributes to one value only.
        """
        lasting = self.recalled(p, q)
        own_other, others = (0 * q, 0 * q) if exclusive else (lasting.own_other, lasting.others)
        bits = 0 if exclusive else self.bits
        return Affine(lasting.p, lasting.q, own_other=own_other, others=others, bits=bits)

    def recalled(self, p: Number, q: Number) -> "Affine":
        """Return the channel of what a report contributes on average after such a second round,
        given the first: what lasts where the first is remembered.
        """
        if not self.binary:
            raise ValueError("a second round needs contributions of 0 and 1")
        gap = p - q

        def product(one: Number, other: Number, both: Number | None) -> Any:
            if both is None:
                return None
            return q * q + q * gap * (one + other) + gap * gap * both

        return Affine(
            q + self.p * gap,
            q + self.q * gap,
            product(self.p, self.p, self.p),
            product(self.q, self.q, self.q),
            product(self.p, self.q, self.own_other),
            product(self.q, self.q, self.others),
        )

    def mixed(self, share: Number, fake: Number, pair: Number | None = None) -> "Affine":
        """Return the channel where a ``share`` of reports is real and the rest contribute 1 with
        probability ``fake``.

        ``pair`` is the probability that a fake report contributes to two given values.
        """
        if not self.binary:
            raise ValueError("mixing with fake reports needs contributions of 0 and 1")

        def mix(real: Any, other: Any) -> Any:
            return None if real is None or other is None else share * real + (1 - share) * other

        p, q = mix(self.p, fake), mix(self.q, fake)
        return Affine(
            p,
            q,
            own_other=mix(self.own_other, pair),
            others=mix(self.others, pair),
            gap=mix(self.gap, 0),
        )

    def group(self, m: int) -> "Affine":
        """Return the channel of a group of m values, whose contribution is the sum of theirs."""
        if self.own_other is None or self.others is None:
            raise ValueError(
                "this channel does not say how contributions to two values go together: no error"
                " for a group"
            )
        assert self.p2 is not None and self.q2 is not None
        own_second = self.p2 + (m - 1) * (self.q2 + 2 * self.own_other + (m - 2) * self.others)
        other_second = m * (self.q2 + (m - 1) * self.others)
        return Affine(
            self.p + (m - 1) * self.q,
            m * self.q,
            own_second,
            other_second,
            gap=self.gap,
            largest=m * self.largest,
            unit=self.unit,
            smallest=m * self.smallest,
            bits=m * self.bits,
        )

    @property
    def known_law(self) -> bool:
        """Whether contributions are independent bits, or have two values only."""
        low, high = self._two_values
        return self.bits > 0 or all(
            second == (low + high) * mean - low * high
            for mean, second in ((self.p, self.p2), (self.q, self.q2))
        )

    @property
    def _two_values(self) -> tuple[int, int]:
        """What a contribution is, if it is one of two values."""
        return (0, 1) if self.binary else (self.smallest, self.largest)

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, Floats]:
        """Return the law of a count as (smallest value, probabilities), negligible tails left out.

        A share f of the n users holds the value: exactly, or, if ``sampled``, each with probability
        f.
        """
        if not self.known_law:
            raise ValueError("the law of this count is not a sum of two binomials")
        low, high = (0, 1) if self.bits else self._two_values
        many = max(1, self.bits)
        q = (float(self.q) - low) / (high - low) / many
        p = q + self.slope / (high - low)
        if sampled:
            parts = binomial(n, q + f * (p - q)), binomial((many - 1) * n, q)
        else:
            own = round(n * f)
            parts = binomial(own, p), binomial(many * n - own, q)
        start, law = parts[0][0] + parts[1][0], convolve(parts[0][1], parts[1][1])
        if high - low > 1:  # nothing is counted in between
            law = np.insert(law, np.repeat(np.arange(1, law.size), high - low - 1), 0.0)
        return n * low + (high - low) * start, law

    def knows_difference(self, sizes: tuple[int, int]) -> bool:
        """Tell whether what a report contributes to both groups together is known."""
        if not self.binary or self.own_other is None or self.others is None:
            return False
        exclusive = self.own_other == self.others == 0
        return self.bits == 1 or exclusive or sizes == (1, 1)

    def difference_law(
        self, sizes: tuple[int, int], n: int, shares: tuple[float, float], *, sampled: bool
    ) -> tuple[int, Floats]:
        """Return the law of the count of one group of values minus the count of another.

        It is given as (smallest value, probabilities). The two groups have ``sizes`` values, and
        ``shares`` of the n users hold one of them: exactly, or, if ``sampled``, on average.
        """
        if not self.knows_difference(sizes):
            raise ValueError("the law of this difference is not known")
        laws = [self._contributed(sizes, own) for own in ((1, 0), (0, 1), (0, 0))]
        start, law = users_law(laws, n, shares, sampled=sampled)
        return start - n * sizes[1], law

    def _contributed(self, sizes: tuple[int, int], own: tuple[int, int]) -> Floats:
        """Return the law of what a report contributes to the first group minus to the second.

        Contributions start at minus the second size. ``own`` tells to which group the user's own
        value belongs.
        """
        p, q = float(self.p), float(self.q)
        if self.bits == 1:
            bits = []
            for size, bit in zip(sizes, own, strict=True):
                start, others = binomial(size - bit, q)
                whole = np.zeros(size - bit + 1)
                whole[start : start + others.size] = others
                bits.append(convolve(whole, np.array([1 - p, p])) if bit else whole)
            return convolve(bits[0], bits[1][::-1])
        assert self.own_other is not None and self.others is not None
        both = float(self.own_other if any(own) else self.others)
        # Several values only where a report supports one of them
        more, less = (
            (size - bit) * q + bit * p - both for size, bit in zip(sizes, own, strict=True)
        )
        law = np.zeros(sum(sizes) + 1)
        law[sizes[1] - 1 : sizes[1] + 2] = less, 1 - more - less, more
        return law


def users_law(
    laws: Sequence[Floats], n: int, shares: tuple[float, float], *, sampled: bool
) -> tuple[int, Floats]:
    """Return the law of the sum of what n users contribute, as (smallest value, probabilities).

    Users have one of three laws, each from 0 on. ``shares`` of them have the first and the second:
    exactly, or, if ``sampled``, on average.
    """
    first, second = shares
    weights = [first, second, 1 - first - second]
    if sampled:
        mixed = np.sum([w * law for w, law in zip(weights, laws, strict=True)], axis=0)
        parts, numbers = [mixed], [n]
    else:
        own, other = round(n * first), round(n * second)
        parts, numbers = list(laws), [own, other, n - own - other]
    at = np.arange(laws[0].size)
    means = [float(part @ at) for part in parts]
    spreads = [float(part @ (at - mean) ** 2) for part, mean in zip(parts, means, strict=True)]
    centre, spread = (float(np.dot(numbers, each)) for each in (means, spreads))
    reach = max(12 * max(spread, 0.0) ** 0.5 + 25, at.size / 2)
    size = 1 << (ceil(2 * reach) - 1).bit_length()
    # A transform of this size wraps around: what is beyond the reach has no weight
    transform = np.ones(size // 2 + 1, np.complex128)
    for part, number in zip(parts, numbers, strict=True):
        transform *= np.fft.rfft(part, size) ** number
    law = np.clip(np.fft.irfft(transform, size), 0.0, None)
    start = max(0, ceil(centre - reach))
    law = np.roll(law, -start)[: min(size, n * (at.size - 1) - start + 1)]
    return start, np.asarray(law / law.sum())


def binomial(n: int, p: float) -> tuple[int, Floats]:
    """Return the binomial law as (smallest value, probabilities), tails below about 1e-30 left
    out.
    """
    if p <= 0 or p >= 1 or n == 0:
        return (n if p >= 1 else 0), np.ones(1)
    reach = 12 * (n * p * (1 - p)) ** 0.5 + 25
    low, high = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    j = np.arange(low, high, dtype=np.float64)
    return low, probabilities_of(np.log((n - j) / (j + 1)) + np.log(p) - np.log1p(-p))


def mean_inverse(n: int, p: float) -> float:
    """Return the mean of 1/N for a binomial number N that is not 0; infinite for n = 0."""
    mean = n * p
    if n == 0 or p >= 1:
        return 1 / n if n else np.inf
    # The series 1/N = (1/mean)·(1 − δ + δ² − …) with δ = N/mean − 1, to the third order
    if mean > 1e7:
        return (1 + (1 - p) / mean + (1 - p) * (2 - p) / mean**2) / mean
    start, law = binomial(n, p)
    numbers = np.arange(start, start + law.size)
    return float((law / np.maximum(numbers, 1))[numbers > 0].sum() / law[numbers > 0].sum())


def probabilities_of(log_ratios: Floats) -> Floats:
    """Return the probabilities whose successive ratios have these logarithms."""
    logs = np.concatenate(([0.0], np.cumsum(log_ratios)))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def convolve(a: Floats, b: Floats) -> Floats:
    """Return the law of the sum of two independent variables."""
    if min(a.size, b.size) < 1000:
        return np.convolve(a, b)
    size = a.size + b.size - 1
    return np.clip(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), 0.0, None)
