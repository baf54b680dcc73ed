"""The one idea: the aggregator sees every protocol as an affine channel from frequencies to
expected counts.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number: TypeAlias = float | Fraction


@dataclass(frozen=True)
class Channel:
    """The moments of what a report contributes to a value.

    p and q are the means of the contribution to the user's own value and to another one, p2 and q2
    the second moments (p and q themselves for contributions of 0 and 1, which is the default).
    ``own_other`` and ``others`` are the means of the product of contributions to two values, one of
    them the user's own, or neither; they give the errors of groups. ``gap`` is p − q, kept apart
    because for small budgets the difference of floats loses its digits; ``largest`` bounds a
    contribution, and ``unit`` says in what portions counts come, which is what a normal law needs
    many of. Numbers are floats, or Fractions where exactness is wanted.

    >>> grr = Channel(p=0.5, q=0.25, own_other=0.0, others=0.0)
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
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.p - self.q if self.gap is None else self.gap)
        if not (self.gap is not None and self.gap > 0):
            raise ValueError(f"p must be greater than q, not p={self.p!r}, q={self.q!r}")
        object.__setattr__(self, "p2", self.p if self.p2 is None else self.p2)
        object.__setattr__(self, "q2", self.q if self.q2 is None else self.q2)

    def rounded(self) -> "Channel":
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

    def estimate(self, counts: ArrayLike, n: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased frequencies (counts/n − q)/(p − q); NaN where n is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.asarray(counts, np.float64) / np.asarray(n, np.float64)
        frequencies: NDArray[np.float64] = (share - float(self.q)) / self.slope
        return frequencies

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> Any:
        """Return the variance of an estimated frequency whose true value among the n users is f."""
        own, other = (max(0.0, float(v)) for v in self.spread)
        f = np.asarray(f, np.float64)
        with np.errstate(divide="ignore"):
            result = (f * own + (1 - f) * other) / (np.asarray(n, np.float64) * self.slope**2)
        return float(result) if result.ndim == 0 else result

    def sampled_variance(self, share: Fraction, n: NDArray[np.int64], f: NDArray[Any]) -> Any:
        """Return the same for users each of whom answers with probability ``share``, if anybody
        does: the noise, and who answers.
        """
        if share == 1:
            return self.variance(n, f)
        each = np.vectorize(lambda users: mean_inverse(int(users), float(share)), otypes=[float])(n)
        with np.errstate(invalid="ignore"):
            sampling = np.where(n > 1, f * (1 - f) * (n * each - 1) / np.maximum(n - 1, 1), 0.0)
        result = self.variance(1, f) * each + sampling
        return float(result) if result.ndim == 0 else result

    def averaged(self) -> "Channel":
        """Return the channel of the mean contribution itself.

        What averaging independent reports of a user comes to.
        """
        p, q = self.p, self.q
        return Channel(p, q, p * p, q * q, p * q, q * q, self.gap)

    def over(self, rounds: int, lasting: "Channel") -> "Channel":
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
        return Channel(
            rounds * self.p,
            rounds * self.q,
            added(self.p2, lasting.p2),
            added(self.q2, lasting.q2),
            added(self.own_other, lasting.own_other),
            added(self.others, lasting.others),
            rounds * self.gap,
            rounds * self.largest,
            unit * self.unit,
        )

    def then(self, p: Number, q: Number) -> "Channel":
        """Return the channel of 0/1 contributions sent through a second round that keeps a 1 with p
        and sets a 0 with q.
        """
        if not self.binary:
            raise ValueError("a second round needs contributions of 0 and 1")
        return Channel(q + self.p * (p - q), q + self.q * (p - q))

    def mixed(self, share: Number, fake: Number, pair: Number | None = None) -> "Channel":
        """Return the channel where a ``share`` of reports is real and the rest contribute 1 with
        probability ``fake``.

        ``pair`` is the probability that a fake report contributes to two given values.
        """
        if not self.binary:
            raise ValueError("mixing with fake reports needs contributions of 0 and 1")

        def mix(real: Any, other: Any) -> Any:
            return None if real is None or other is None else share * real + (1 - share) * other

        p, q = mix(self.p, fake), mix(self.q, fake)
        return Channel(
            p,
            q,
            own_other=mix(self.own_other, pair),
            others=mix(self.others, pair),
            gap=mix(self.gap, 0),
        )

    def group(self, m: int) -> "Channel":
        """Return the channel of a group of m values, whose contribution is the sum of theirs."""
        if self.own_other is None or self.others is None:
            raise ValueError(
                "this channel does not say how contributions to two values go together: no error"
                " for a group"
            )
        assert self.p2 is not None and self.q2 is not None
        own_second = self.p2 + (m - 1) * (self.q2 + 2 * self.own_other + (m - 2) * self.others)
        other_second = m * (self.q2 + (m - 1) * self.others)
        return Channel(
            self.p + (m - 1) * self.q,
            m * self.q,
            own_second,
            other_second,
            gap=self.gap,
            largest=m * self.largest,
            unit=self.unit,
        )

    @property
    def known_law(self) -> bool:
        """Whether ``count_law`` knows the law of a count."""
        return self.binary

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, NDArray[np.float64]]:
        """Return the law of a count as (smallest value, probabilities), negligible tails left out.

        A share f of the n users holds the value: exactly, or, if ``sampled``, each with probability
        f.
        """
        if not self.binary:
            raise ValueError("the law of this count is not a sum of two binomials")
        p, q = float(self.p), float(self.q)
        if sampled:
            return binomial(n, q + f * (p - q))
        own = round(n * f)
        start, law = binomial(own, p)
        other_start, other_law = binomial(n - own, q)
        return start + other_start, convolve(law, other_law)


def binomial(n: int, p: float) -> tuple[int, NDArray[np.float64]]:
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


def probabilities_of(log_ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities whose successive ratios have these logarithms."""
    logs = np.concatenate(([0.0], np.cumsum(log_ratios)))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def convolve(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the law of the sum of two independent variables."""
    if min(a.size, b.size) < 1000:
        return np.convolve(a, b)
    size = a.size + b.size - 1
    return np.clip(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), 0.0, None)
