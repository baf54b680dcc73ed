"""What the statistical checks measure, for any number of reports.

The checks compare it with limits; the long verification draws more reports and prints it.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.channel import Channel
from ..core.randomness import Stream
from ..estimation import intervals
from ..mechanism import Mechanism
from .tools import cell_of, chi_square, count_reports, inputs_of_all

BATCH = 2**20
"""Reports that are drawn together."""


@dataclass(frozen=True)
class Fit:
    """How often each report of a law was seen and expected, and which were seen beyond it."""

    reports: list[bytes]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    unknown: list[bytes]

    @property
    def deviations(self) -> float:
        """How many standard deviations the chi-square is above its mean."""
        return chi_square(self.observed, self.expected)[0]

    def describe(self) -> str:
        """Return the worst report and the chi-square in words."""
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
    """Count the reports of n users who all hold this record, beside what the law expects."""
    reports = mechanism.randomize(inputs_of_all(mechanism, record, n), seed)
    # As they are: wire.encode would refuse wrong ones
    seen = count_reports(np.ascontiguousarray(reports).tobytes(), mechanism.report_bytes)
    return Fit(
        list(law),
        np.array([seen.get(report, 0) for report in law], float),
        np.array([float(n * chance) for chance in law.values()]),
        sorted(seen.keys() - law.keys()),
    )


@dataclass(frozen=True)
class Means:
    """Counts of users who all hold one value, beside what the channel expects of them."""

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
        """How many standard deviations each count is above its mean."""
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

    Of the users, n answer. Neighbouring counts have neighbouring limits: where there are many, each
    of ``points`` counts stands for those around it.
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


def _count_laws(
    channel: Channel, users: int, n: int, f: float, of: str
) -> list[tuple[float, int, NDArray[np.float64]]]:
    """Return laws of a count, each with its probability and its first count.

    One per number of holders among those who answer, which is hypergeometric.
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
