"""Differences of frequencies: two groups of values, or one value among two groups of users.

A difference d does not determine the two frequencies. The score test of d takes the two frequencies
of difference d that fit the estimates best.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.channel import Channel
from ..tables.labels import as_python, identity_of
from . import intervals, rendering
from .intervals import FINE, Vector, variance_of

ENDS = (-1.0, 1.0)
OF = ("sample", "population")
GROUPS = "the first group", "the second group"
"""Default names of two groups of users."""

NORMAL = np.linspace(-6, 6, 97)
"""Values of a standard normal variable, six standard deviations to either side."""


@dataclass(frozen=True, eq=False)
class Part:
    """One of the two estimated frequencies of a difference."""

    frequency: float
    n: int
    users: int | None
    channel: Channel
    counts: NDArray[np.int64] | None

    def variance(self, of: str, f: ArrayLike) -> Vector:
        """Return the variance of the estimate if the true frequency is f."""
        return variance_of(self.channel, self.n, self.users, of)(f)

    def limits(self, level: float, of: str) -> Vector:
        """Return the limits of the frequency itself."""
        x = np.array([self.frequency])
        n, users = self.n, self.users
        found: Vector = intervals.limits(x, self.counts, n, users, self.channel, level, of)[0]
        return found

    def is_sampled(self, of: str) -> bool:
        """Tell whether the choice of the users who answered is random too."""
        return of == "population" or (self.users is not None and self.n < self.users)

    def clip(self, x: ArrayLike, of: str) -> Vector:
        """Return estimates, clipped at one standard error below 0 and one above 1."""
        below, above = np.sqrt(self.variance(of, np.array([0.0, 1.0])))
        return np.clip(x, -below, 1 + above)

    def is_normal(self, of: str, f: float) -> bool:
        """Tell whether there are enough reports for a normal distribution."""
        spread = (self.n * self.channel.slope) ** 2 * float(self.variance(of, f))
        return self.n > intervals.FEW and spread >= self.channel.unit**2 * intervals.SMALL


class Pair(ABC):
    """Two frequencies whose difference is estimated."""

    first: Part
    second: Part

    @property
    def value(self) -> float:
        """The estimated difference."""
        return self.first.frequency - self.second.frequency

    def observed(self, of: str) -> float:
        """Return the estimated difference that the test uses."""
        return self.value

    @abstractmethod
    def split(self, d: ArrayLike) -> tuple[Vector, Vector]:
        """Return the two frequencies of difference d that fit the estimates best."""

    @abstractmethod
    def variance(self, of: str, shares: tuple[ArrayLike, ArrayLike]) -> Vector:
        """Return the variance of the estimated difference, given the true frequencies."""

    @abstractmethod
    def law_of(self, of: str) -> tuple[intervals.Law, int] | None:
        """Return the distribution of the estimate given d, and the number of steps of d.

        The result is None if the distribution is not known.
        """

    def std(self, of: str) -> float:
        """Return the standard error at the estimated frequencies."""
        if not (self.first.n and self.second.n):
            return float("inf")
        shares = tuple(np.clip(each.frequency, 0.0, 1.0) for each in (self.first, self.second))
        return float(np.sqrt(max(0.0, float(self.variance(of, (shares[0], shares[1]))))))

    def limits(self, level: float, of: str) -> tuple[float, float]:
        """Return lower and upper limits of the difference."""
        if not (self.first.n and self.second.n):
            return ENDS

        def sigma2(d: ArrayLike) -> Vector:
            return np.maximum(self.variance(of, self.split(d)), 0.0)

        x = self.observed(of)
        low, high = intervals.normal_limits(np.array([x]), sigma2, level, ENDS)[0]
        if all(
            part.counts is None or part.is_normal(of, float(f))
            for d in (low, high)
            for part, f in zip((self.first, self.second), self.split(d), strict=True)
        ):
            return float(low), float(high)
        if found := self.law_of(of):
            return intervals.exact_limits(x, sigma2, found[0], level, found[1], ENDS)
        return self.apart(level, of)

    def apart(self, level: float, of: str) -> tuple[float, float]:
        """Return limits from the two single intervals, each with half of the error probability."""
        own, other = (part.limits((1 + level) / 2, of) for part in (self.first, self.second))
        return float(own[0] - other[1]), float(own[1] - other[0])


@dataclass(frozen=True, eq=False)
class Within(Pair):
    """Two groups of values among the same users, and both groups together."""

    first: Part
    second: Part
    both: Part
    channel: Channel
    sizes: tuple[int, int]

    def split(self, d: ArrayLike) -> tuple[Vector, Vector]:
        """Return the two frequencies of difference d whose sum is nearest to the estimated sum."""
        total = np.clip(self.both.frequency, np.abs(d), 1.0)
        return (total + d) / 2, (total - d) / 2

    def variance(self, of: str, shares: tuple[ArrayLike, ArrayLike]) -> Vector:
        """Return Var(a − b) = 2 Var(a) + 2 Var(b) − Var(a + b)."""
        one, two = (np.asarray(each, np.float64) for each in shares)
        apart = 2 * self.first.variance(of, one) + 2 * self.second.variance(of, two)
        return np.asarray(apart - self.both.variance(of, np.minimum(one + two, 1.0)))

    def law_of(self, of: str) -> tuple[intervals.Law, int] | None:
        """Return the distribution of the difference of two counts, if it is known."""
        if not self.channel.knows_difference(self.sizes):
            return None
        n, sampled = self.first.n, self.first.is_sampled(of)

        def law(d: float) -> list[tuple[Vector, Vector]]:
            one, two = (float(each) for each in self.split(d))
            if not sampled:  # whole numbers of users, with difference n·d
                more = round(n * d)
                own = min(max(round(n * one), more, 0), (n + more) // 2)
                one, two = own / n, (own - more) / n
            start, chances = self.channel.difference_law(self.sizes, n, (one, two), sampled=sampled)
            return [((start + np.arange(chances.size)) / (n * self.channel.slope), chances)]

        return law, FINE if sampled else 2 * n


@dataclass(frozen=True, eq=False)
class Between(Pair):
    """The frequencies of one value in two disjoint groups of users."""

    first: Part
    second: Part

    def limits(self, level: float, of: str) -> tuple[float, float]:
        """Return lower and upper limits of the difference.

        The interval is cut to the differences that nearly certain limits of both frequencies
        allow. If one group is very large and the other small, the frequency in the large group is
        nearly known. This bounds the difference.
        """
        low, high = super().limits(level, of)
        least, most = self.apart(1 - (1 - level) / 25, of)
        return max(low, least), min(high, most)

    @cached_property
    def weights(self) -> tuple[float, float]:
        """The weights of the two estimates: the inverses of their variances."""
        one, two = (
            1 / max(float(part.variance("population", np.clip(part.frequency, 0, 1))), 1e-300)
            for part in (self.first, self.second)
        )
        return one, two

    def observed(self, of: str) -> float:
        """Return the difference of the two estimates, each clipped near 0 and 1."""
        own, other = (part.clip(part.frequency, of) for part in (self.first, self.second))
        return float(own - other)

    def split(self, d: ArrayLike) -> tuple[Vector, Vector]:
        """Return the two frequencies of difference d that are nearest to the estimates.

        Distances are measured in standard errors.
        """
        d, (one, two) = np.asarray(d, np.float64), self.weights
        nearest = (one * (self.first.frequency - d) + two * self.second.frequency) / (one + two)
        second = np.clip(nearest, np.maximum(0.0, -d), np.minimum(1.0, 1.0 - d))
        return second + d, second

    def variance(self, of: str, shares: tuple[ArrayLike, ArrayLike]) -> Vector:
        """Return the sum of both variances."""
        return np.asarray(self.first.variance(of, shares[0]) + self.second.variance(of, shares[1]))

    def law_of(self, of: str) -> tuple[intervals.Law, int] | None:
        """Return the distribution of the difference of two independent estimates.

        The result is None if the distribution of an estimate is not known.
        """
        if not (self.first.channel.known_law and self.second.channel.known_law):
            return None

        def law(d: float) -> list[tuple[Vector, Vector]]:
            # The two frequencies of difference d are known only up to a standard error
            nearest, reach = float(self.split(d)[1]), 1 / sqrt(sum(self.weights))
            least, most = max(0.0, -d), min(1.0, 1.0 - d)
            tried = {min(max(nearest + z * reach, least), most) for z in (-1, 0, 1)}
            return [self._law_at(d, second, of) for second in tried]

        return law, FINE

    def _law_at(self, d: float, second: float, of: str) -> tuple[Vector, Vector]:
        """Return the distribution of the difference, given the second frequency."""
        if not self.second.is_sampled(of):  # a whole number of users
            second = round(self.second.n * second) / self.second.n
        first = min(max(second + d, 0.0), 1.0)
        parts = []
        for part, f in ((self.first, first), (self.second, second)):
            values, chances = _law_of(part, f, of)
            parts.append((part.clip(values, of), chances))
        (own, chances), (other, weights) = parts
        return np.subtract.outer(own, other), np.multiply.outer(chances, weights)


@dataclass(frozen=True, eq=False)
class OverTime(Pair):
    """The frequencies of one value in two rounds of a history.

    Parameters
    ----------
    first, second : Part
        The two estimates.
    spread : callable
        Variance of the difference, given the mean of the two true frequencies.
    """

    first: Part
    second: Part
    spread: Callable[[Vector], Vector]

    def split(self, d: ArrayLike) -> tuple[Vector, Vector]:
        """Return the two frequencies of difference d whose sum is nearest to the estimated sum."""
        size = np.abs(np.asarray(d, np.float64))
        total = np.clip(self.first.frequency + self.second.frequency, size, 2 - size)
        return (total + d) / 2, (total - d) / 2

    def variance(self, of: str, shares: tuple[ArrayLike, ArrayLike]) -> Vector:
        """Return the variance of the estimated change."""
        return self.spread((np.asarray(shares[0]) + np.asarray(shares[1])) / 2)

    def law_of(self, of: str) -> tuple[intervals.Law, int] | None:
        """Return None, because the distribution of the estimate is not known."""
        return None


def _law_of(part: Part, f: float, of: str) -> tuple[Vector, Vector]:
    """Return the values of an estimate and their probabilities.

    If n·f is not a whole number of users, the distribution is a mixture of two. They belong to the
    two nearest whole numbers. For very many reports, a normal distribution is used.
    """
    if part.is_normal(of, f):
        density = np.exp(-(NORMAL**2) / 2)
        return f + np.sqrt(part.variance(of, f)) * NORMAL, density / density.sum()
    sampled = part.is_sampled(of)
    below = int(part.n * f + 1e-9)
    more = max(0.0, part.n * f - below)
    sides = {f: 1.0} if sampled else {below / part.n: 1 - more, (below + 1) / part.n: more}
    values, chances = [], []
    for share, weight in sides.items():
        if weight > 1e-9:
            start, law = part.channel.count_law(part.n, share, sampled=sampled)
            values.append(part.channel.estimate(start + np.arange(law.size), part.n))
            chances.append(weight * law)
    return np.concatenate(values), np.concatenate(chances)


@dataclass(frozen=True, repr=False, eq=False)
class Difference:
    """The difference of the frequencies of two groups of values, or of two groups of users.

    Printed, it is a sentence with the interval. ``Estimate.difference`` makes it.

    Parameters
    ----------
    first : str
        Name of the first group of values or users.
    second : str
        Name of the second group. Its frequency is subtracted.
    pair : Pair
        The two estimated frequencies.
    about : str, optional
        Value that is compared between two groups of users. None means that two groups of values are
        compared.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR
    >>> estimate = GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300).labelled(["yes", "no"])
    >>> estimate.difference("yes", "no")
    yes is more frequent than no by 52.5 percentage points (95 % interval: 47.2 to 57.8)
    """

    first: str
    second: str
    pair: Pair
    about: str | None = None

    @property
    def value(self) -> float:
        """The estimated difference of the frequencies."""
        return self.pair.value

    @cached_property
    def std(self) -> float:
        """The standard error, for the users who took part."""
        return self.pair.std("sample")

    @cached_property
    def std_population(self) -> float:
        """The standard error, for the population that the users were drawn from."""
        return self.pair.std("population")

    def interval(self, level: float = 0.95, of: str = "sample") -> tuple[float, float]:
        """Return lower and upper limits in [−1, 1].

        Parameters
        ----------
        level : float
            Probability with which an interval covers the true value.
        of : {"sample", "population"}
            Group whose frequency is meant: the users who took part, or the population that they
            were drawn from.

        Returns
        -------
        tuple of float
            The lower and the upper limit. They come from the score test. For few reports, or counts
            of small variance, the test uses the exact distribution.

        Raises
        ------
        ValueError
            If ``level`` is not between 0 and 1, or ``of`` is unknown.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300)
        >>> low, high = estimate.difference(0, 1).interval(level=0.99)
        >>> round(low, 3), round(high, 3)
        (0.456, 0.595)
        """
        validate.choice("of", of, OF)
        return self.pair.limits(validate.probability("level", level, 1e-6, 1 - 1e-12), of)

    def __repr__(self) -> str:
        if self.value != self.value:
            return f"{self._subject} cannot be compared: there are no reports"
        low, high = self.interval()
        names, value = (self.first, self.second), self.value
        outside = (
            ""
            if low <= value <= high
            else f". The estimate comes from raw frequencies: each is {rendering.UNBIASED}"
        )
        if high < 0:
            low, high, value, names = -high, -low, -value, (self.second, self.first)
        size = f"{100 * value:.1f} percentage points"
        shown = f"{size} (95 % interval: {100 * low:.1f} to {100 * high:.1f}){outside}"
        if low <= 0:
            minus = f"{names[0]} minus {names[1]} is {shown}"
            return f"{self._subject} may be equally frequent: {minus}"
        if isinstance(self.pair, OverTime):
            return f"{self.about} is more frequent in {names[0]} than in {names[1]} by {shown}"
        if self.about is None:
            return f"{names[0]} is more frequent than {names[1]} by {shown}"
        return f"{self.about} is more frequent among {names[0]} than among {names[1]} by {shown}"

    @property
    def _subject(self) -> str:
        both = f"{self.first} and {self.second}"
        where = "in" if isinstance(self.pair, OverTime) else "among"
        return both if self.about is None else f"{self.about} {where} {both}"


@dataclass(frozen=True, repr=False, eq=False)
class Differences:
    """The differences of the frequencies of all values between two groups of users.

    ``Estimate.difference`` makes them. ``differences["yes"]`` is the difference of one label.

    Parameters
    ----------
    entries : tuple of Difference
        One difference per value.
    labels : tuple
        Labels of the values, or their numbers.
    name : str, optional
        Name of the attribute.
    kind : {"pandas", "polars", "pyarrow", "dict"}, optional
        Kind of the tables that ``to_frame`` makes.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR
    >>> protocol = GRR(2, epsilon=2.0)
    >>> men, women = (protocol.estimate([0] * n + [1] * (1000 - n)) for n in (700, 500))
    >>> men.difference(women, names=("men", "women"))
    Difference, men minus women: frequency ± standard error
    0   0.263 ± 0.019
    1  -0.263 ± 0.019
    """

    entries: tuple[Difference, ...]
    labels: tuple[Any, ...]
    name: str | None = None
    kind: str | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, value: Any) -> Difference:
        return self.entries[place_of(value, self.labels)]

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.entries)

    @property
    def values(self) -> Vector:
        """The estimated difference of each value."""
        return np.array([each.value for each in self.entries])

    @property
    def std(self) -> Vector:
        """The standard error of each difference, for the users who took part."""
        return np.array([each.std for each in self.entries])

    def interval(self, level: float = 0.95, of: str = "sample") -> Vector:
        """Return lower and upper limits of each difference: see ``Difference.interval``.

        Parameters
        ----------
        level : float
            Probability with which an interval covers the true value.
        of : {"sample", "population"}
            Group whose frequency is meant: the users who took part, or the population that they
            were drawn from.

        Returns
        -------
        array of shape (k, 2)
            The lower and the upper limit of each value.

        Raises
        ------
        ValueError
            If ``level`` is not between 0 and 1, or ``of`` is unknown.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(2, epsilon=2.0)
        >>> men, women = (protocol.estimate([0] * n + [1] * (1000 - n)) for n in (700, 500))
        >>> men.difference(women).interval().round(3)
        array([[ 0.225,  0.3  ],
               [-0.3  , -0.225]])
        """
        found: dict[Any, tuple[float, float]] = {}  # equal estimates have equal limits
        keys = [
            tuple((part.frequency, part.n) for part in (each.pair.first, each.pair.second))
            for each in self.entries
        ]
        for key, each in zip(keys, self.entries, strict=True):
            if key not in found:
                found[key] = each.interval(level, of)
        return np.array([found[key] for key in keys])

    def to_frame(self, kind: str | None = None, level: float = 0.95) -> Any:
        """Return a table with one row per value.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is the kind that the reports came in.
        level : float
            Probability with which an interval covers the true value.

        Returns
        -------
        table
            Columns are value, difference, std, low and high. ``low`` and ``high`` are the limits of
            the interval.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or ``level`` is out of range.
        ImportError
            If the library of this kind is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(2, epsilon=2.0)
        >>> men, women = (protocol.estimate([0] * n + [1] * (1000 - n)) for n in (700, 500))
        >>> table = men.difference(women).to_frame("dict")
        >>> table["value"], [round(each, 3) for each in table["difference"]]
        ([0, 1], [0.263, -0.263])
        """
        from ..tables import frames

        low, high = self.interval(level).T
        columns = {"value": list(self.labels), "difference": self.values, "std": self.std}
        return frames.build_table(kind or self.kind, columns | {"low": low, "high": high})

    def __repr__(self) -> str:
        one = self.entries[0]
        name = "" if self.name is None else f" of {self.name}"
        head = f"Difference{name}, {one.first} minus {one.second}: frequency ± standard error"
        rows = rendering.number_rows(self.labels, self.values, self.std)
        return "\n".join([head, *rendering.align_rows(rows)])


def place_of(value: Any, labels: Sequence[Any]) -> int:
    """Return the place of a value among the labels."""
    places = {identity_of(label): i for i, label in enumerate(labels)}
    value = as_python(value)
    if not isinstance(value, Hashable) or identity_of(value) not in places:
        shown = ", ".join(map(repr, labels[:20])) + ", …" * (len(labels) > 20)
        raise KeyError(f"value must be one of {shown}, not {validate.quote(value)}")
    return places[identity_of(value)]
