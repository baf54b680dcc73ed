"""Measurements of the statistical checks, for any number of reports.

The checks compare the measurements with limits. The long verification draws more reports and prints
the measurements.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import wire
from ..core.channel import Channel, users_law
from ..core.randomness import Stream
from ..estimation import intervals
from ..estimation.estimate import Estimate
from ..mechanism import Mechanism
from ..protocol import Protocol
from .tools import cell_of, chi_square, count_reports, inputs_of_all

BATCH = 2**20
"""The number of reports that are drawn together."""

CountLaw: TypeAlias = Callable[[int, float], tuple[int, NDArray[np.float64]]]
"""A function from n and a true frequency to the distribution of a count."""


@dataclass(frozen=True)
class Fit:
    """The observed and the expected number of each report.

    ``unknown`` lists reports that were seen although their probability is 0.
    """

    reports: list[bytes]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    unknown: list[bytes]

    @property
    def deviations(self) -> float:
        """The distance of the chi-square above its mean, in standard deviations."""
        return chi_square(self.observed, self.expected)[0]

    def describe(self) -> str:
        """Return a sentence with the worst report and the chi-square."""
        z, squares, freedom = chi_square(self.observed, self.expected)
        worst = int(np.argmax((self.observed - self.expected) ** 2 / np.maximum(self.expected, 5)))
        return (
            f"{self.reports[worst]!r} came {self.observed[worst]:.0f} times, not"
            f" {self.expected[worst]:.1f}; chi-square is {squares:.1f} with {freedom} degrees of"
            f" freedom, {z:.1f} deviations"
        )


def measure_fit(
    mechanism: Mechanism, law: dict[bytes, Fraction], record: list[int], n: int, seed: int
) -> Fit:
    """Count the reports of n users who all hold this record, with their expected numbers."""
    reports = mechanism.randomize(inputs_of_all(mechanism, record, n), seed)
    # The bytes of the array, because wire.encode would refuse invalid reports
    return compare_reports(np.ascontiguousarray(reports).tobytes(), mechanism, law)


def compare_reports(data: bytes, mechanism: Mechanism, law: dict[bytes, Fraction]) -> Fit:
    """Count reports on the wire, with their expected numbers under a distribution."""
    seen, n = count_reports(data, mechanism.report_bytes), len(data) // mechanism.report_bytes
    return Fit(
        list(law),
        np.array([seen.get(report, 0) for report in law], float),
        np.array([float(n * chance) for chance in law.values()]),
        sorted(seen.keys() - law.keys()),
    )


@dataclass(frozen=True)
class Means:
    """The counts of users who all hold one value, with the counts that the channel expects."""

    channel: Channel
    cell: int
    counts: NDArray[np.int64]
    n: NDArray[np.int64]

    @property
    def expected(self) -> NDArray[np.float64]:
        """The mean of each count."""
        return np.asarray(self.n * self._at_cell(self.channel.p, self.channel.q))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The distance of each count above its mean, in standard deviations."""
        sigma = np.sqrt(self._at_cell(*self.channel.spread) * self.n)
        return np.asarray((self.counts - self.expected) / np.maximum(sigma, 1e-3))

    def _at_cell(self, own: float | Fraction, other: float | Fraction) -> NDArray[np.float64]:
        return np.where(np.arange(len(self.counts)) == self.cell, float(own), float(other))


def measure_means(mechanism: Mechanism, record: list[int], n: int, seed: int) -> list[Means]:
    """Count the reports of n users who all hold this record, one result per attribute."""
    stream, total = Stream(seed), mechanism.tally([])
    for done in range(0, n, BATCH):
        held = inputs_of_all(mechanism, record, min(BATCH, n - done))
        total += mechanism.tally(mechanism.randomize(held, stream))
    return [
        Means(part.channel, cell_of(each, value), part.counts, part.n)
        for part, each, value in zip(total, mechanism.leaves, record, strict=True)
    ]


def measure_coverage(
    channel: Channel, users: int, n: int, f: float, of: str, points: int = 600
) -> float:
    """Return the probability that 95 % intervals of n reports cover a frequency.

    Of all ``users``, n answer. Adjacent counts have nearly the same limits. If there are many
    counts, about ``points`` of them are used, and each stands for the counts around it.
    """
    parts = _count_laws(channel, users, n, f, of)
    start = min(first for _, first, _ in parts)
    law = np.zeros(max(first + part.size for _, first, part in parts) - start)
    for chance, first, part in parts:
        law[first - start : first - start + part.size] += chance * part
    drawn = np.flatnonzero(law > 1e-9)
    step = max(1, len(drawn) // points)
    chosen = drawn[step // 2 :: step]
    counts = start + chosen
    found = intervals.limits(channel.estimate(counts, n), counts, n, users, channel, 0.95, of)
    weights = np.add.reduceat(law[drawn], np.arange(0, len(drawn), step))[: len(chosen)]
    return float(weights[(found[:, 0] <= f) & (f <= found[:, 1])].sum() / weights.sum())


SHARES = 0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0
"""The true frequencies for which intervals of few reports are checked."""


def measure_few(channel: Channel, n: int, of: str, laws: CountLaw | None = None) -> list[float]:
    """Return the probabilities that 95 % intervals of n reports cover each of ``SHARES``.

    Every count is considered. ``laws`` gives the distribution of a count. None means that the
    channel gives it.
    """
    law_of = laws or partial(channel.count_law, sampled=of == "population")
    shares = [f if of == "population" else round(n * f) / n for f in SHARES]
    parts = [(f, *law_of(n, f)) for f in shares]
    first = min(start for _, start, _ in parts)
    likely = np.zeros(max(start + law.size for _, start, law in parts) - first)
    for _, start, law in parts:
        np.maximum.at(likely, np.arange(start - first, start - first + law.size), law)
    places = np.flatnonzero(likely > 1e-9)
    counts, found = first + places, np.full((likely.size, 2), np.nan)
    x = channel.estimate(counts, n)
    found[places] = intervals.limits(x, counts, n, n, channel, 0.95, of)
    covered = []
    for f, start, law in parts:
        low, high = found[start - first : start - first + law.size].T
        covered.append(float(law[(low <= f) & (f <= high)].sum()))
    return covered


def group_law(
    protocol: Protocol, m: int, n: int, f: float, *, sampled: bool
) -> tuple[int, NDArray[np.float64]]:
    """Return the distribution of the total count of the first m values, from listed reports."""
    laws = []
    for value in (0, m):
        law = protocol.law(value)
        reports = wire.decode(protocol, b"".join(law))
        supported = protocol._supports(reports)[:, :m].sum(axis=1)
        weights = np.array([float(chance) for chance in law.values()])
        counted = np.bincount(supported, weights=weights, minlength=m + 1)
        laws.append(counted.astype(np.float64))
    return users_law([laws[0], laws[0], laws[1]], n, (f, 0.0), sampled=sampled)


def measure_difference(channel: Channel, n: int, shares: tuple[float, float], of: str) -> float:
    """Return the probability that 95 % intervals cover the difference of two values' frequencies.

    For each sum of the two counts, the limits grow with their difference. Bisection finds the
    differences whose intervals cover.
    """
    chances = _joint_law(channel, n, shares, of == "population")
    first, second = (f if of == "population" else round(n * f) / n for f in shares)
    true, total = first - second, 0.0

    def limits(own: int, other: int) -> tuple[float, float]:
        counts = np.array([own, other])
        estimate = Estimate(channel.estimate(counts, n), np.full(2, n), channel, counts, n)
        return estimate.difference(0, 1).interval(0.95, of)

    for both in range(2 * n + 1):
        owns = np.arange(max(0, both - n), min(n, both) + 1)
        weights = chances[owns, both - owns]
        if weights.sum() < 1e-5:
            continue
        bounds = partial(lambda own, both: limits(int(own), both - int(own)), both=both)
        low = bisect_left(owns, True, key=lambda own: bounds(own)[1] >= true - 1e-9)
        high = bisect_left(owns, True, key=lambda own: bounds(own)[0] > true + 1e-9)
        total += float(weights[low:high].sum())
    return total / float(chances.sum())


def _joint_law(
    channel: Channel, n: int, shares: tuple[float, float], sampled: bool
) -> NDArray[np.float64]:
    """Return the probabilities of all pairs of counts of two values."""
    p, q, own_other, others = (
        float(m or 0) for m in (channel.p, channel.q, channel.own_other, channel.others)
    )

    def pairs(one: float, two: float, both: float) -> NDArray[np.complex128]:
        law = np.array([[1 - one - two + both, two - both], [one - both, both]])
        return np.fft.rfft2(law, (n + 1, n + 1))

    parts = [pairs(p, q, own_other), pairs(q, p, own_other), pairs(q, q, others)]
    weights = [*shares, 1 - sum(shares)]
    if sampled:
        transform = sum(w * part for w, part in zip(weights, parts, strict=True)) ** n
    else:
        held = [round(n * f) for f in shares]
        numbers = [*held, n - sum(held)]
        transform = np.prod([part**m for part, m in zip(parts, numbers, strict=True)], axis=0)
    return np.clip(np.fft.irfft2(transform, (n + 1, n + 1)), 0.0, None)


def measure_between(
    channel: Channel, users: tuple[int, int], shares: tuple[float, float], of: str
) -> float:
    """Return the probability that 95 % intervals cover a difference between two groups of users.

    It is the difference of the frequencies of one value.
    """
    first, second = (
        f if of == "population" else round(n * f) / n for n, f in zip(users, shares, strict=True)
    )
    laws = [
        channel.count_law(n, f, sampled=of == "population")
        for n, f in zip(users, (first, second), strict=True)
    ]
    true, total = first - second, 0.0

    def limits(own: int, other: int) -> tuple[float, float]:
        one, two = (
            Estimate(channel.estimate([c], n), np.array([n]), channel, np.array([c]), n)
            for c, n in zip((own, other), users, strict=True)
        )
        return one.difference(two)[0].interval(0.95, of)

    (start, chances), (other_start, weights) = laws
    owns = start + np.arange(chances.size)
    for i in np.flatnonzero(weights > 1e-5):
        bounds = partial(lambda own, other: limits(int(own), other), other=int(other_start + i))
        low = bisect_left(owns, True, key=lambda own: bounds(own)[1] >= true - 1e-9)
        high = bisect_left(owns, True, key=lambda own: bounds(own)[0] > true + 1e-9)
        total += float(weights[i] * chances[low:high].sum())
    return total / float(weights[weights > 1e-5].sum())


def _count_laws(
    channel: Channel, users: int, n: int, f: float, of: str
) -> list[tuple[float, int, NDArray[np.float64]]]:
    """Return distributions of a count, each with its probability and its first count.

    There is one distribution per number of holders among the users who answer. This number is
    hypergeometric.
    """
    if of == "population" or users == n:
        return [(1.0, *channel.count_law(n, f, sampled=of == "population"))]
    ways = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, users + 1)))))
    all_held = round(users * f)
    held = np.arange(max(0, n - users + all_held), min(n, all_held) + 1)

    def choose(of_all: int, some: Any) -> Any:
        return ways[of_all] - ways[some] - ways[of_all - some]

    chances = np.exp(choose(all_held, held) + choose(users - all_held, n - held) - choose(users, n))
    return [
        (float(chance), *channel.count_law(n, v / n, sampled=False))
        for v, chance in zip(held, chances, strict=True)
        if chance > 1e-12
    ]
