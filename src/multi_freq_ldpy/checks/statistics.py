"""Statistical laws, with fixed seeds and a stated rate of failure."""

import numpy as np

from .. import intervals
from ..protocol import Protocol
from ..randomness import Stream
from .tools import Z, holds, laws_of, many


def fit(protocol: Protocol) -> None:
    """Reports fit the law (chi-square), for the first and the last value."""
    laws = laws_of(protocol)
    for v in (0, protocol.k - 1):
        n = many(protocol) // 4
        reports = protocol.randomize(np.full(n, v), 9 + v)
        rows = np.ascontiguousarray(reports).view(np.dtype((np.void, protocol.report_bytes))).reshape(-1)
        found, counts = np.unique(rows, return_counts=True)
        seen = dict(zip((row.tobytes() for row in found), counts.tolist(), strict=True))
        holds(seen.keys() <= laws[v].keys(), "a report that the law does not have")
        expected = np.array([float(n * chance) for chance in laws[v].values()])
        observed = np.array([seen.get(report, 0) for report in laws[v]], float)
        common = expected >= 5
        groups = [(observed[common], expected[common])]
        if not common.all():
            groups.append((observed[~common].sum(keepdims=True), expected[~common].sum(keepdims=True)))
        squares = sum(((o - e) ** 2 / e).sum() for o, e in groups)
        freedom = max(1, sum(len(o) for o, _ in groups) - 1)
        # Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is close to normal
        z = ((squares / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / (2 / (9 * freedom)) ** 0.5
        holds(z < Z, f"chi-square of value {v} is {squares:.1f} with {freedom} degrees of freedom, {z:.1f} deviations")


def unbiased(protocol: Protocol) -> None:
    """Counts of users who all hold one value have the channel's means, one by one and all others taken together."""
    channel, n, k = protocol.channel, many(protocol), protocol.k
    own, other = (float(s) for s in channel.spread)
    for v in sorted({0, k // 2, k - 1}):
        counts = protocol.tally(protocol.randomize(np.full(n, v), 20 + v)).counts
        mean = np.where(np.arange(k) == v, float(channel.p), float(channel.q))
        sigma = np.sqrt(np.where(np.arange(k) == v, own, other) * n)
        z = (counts - n * mean) / np.maximum(sigma, 1e-3)
        holds(np.abs(z) < Z, f"counts of users with {v} are off by {z[np.abs(z).argmax()]:.1f} deviations at {np.abs(z).argmax()}")
        if channel.others is not None and k > 2:
            q = float(channel.q)
            together = (k - 1) * (other + (k - 2) * (float(channel.others) - q * q))
            off = (np.delete(counts, v).sum() - n * (k - 1) * q) / np.sqrt(max(n * together, 1.0))
            holds(abs(off) < 2 * Z, f"all others of users with {v} are off by {off:.1f} deviations")


def variance(protocol: Protocol) -> None:
    """Estimates of many small groups of users have the stated mean and variance; so have simulated ones."""
    k, users, groups = protocol.k, 200, min(2000, 10**6 // protocol.k + 50)
    held = np.zeros(k, np.int64)
    held[0], held[-1] = users // 2, users - users // 2
    reports = protocol.randomize(np.tile(np.repeat(np.arange(k), held), groups), 30)
    drawn = [protocol.tally(reports[i * users : (i + 1) * users]) for i in range(groups)]
    stream = Stream(31)
    simulated = [protocol.simulate(held, stream) for _ in range(groups)]
    holds(all(t.n == users for t in simulated), "a simulated tally has another n")
    for what, found in (("reports", drawn), ("simulate", simulated)):
        estimates = protocol.channel.estimate(np.array([t.counts for t in found]), users)
        expected = protocol.variance(users, held / users)
        off = (estimates.mean(axis=0) - held / users) / np.sqrt(np.maximum(expected, 1e-12) / groups)
        ratio = estimates.var(axis=0, ddof=1) / np.maximum(expected, 1e-12)
        holds(np.abs(off) < Z, f"the mean of {what} is off by {np.abs(off).max():.1f} deviations")
        rough = expected * (users * protocol.channel.slope) ** 2 > 2  # else too few events
        holds(np.abs(ratio - 1)[rough] < Z * (3 / groups) ** 0.5, f"the variance of {what} is off: ratios {ratio[rough]}")


def coverage(protocol: Protocol) -> None:
    """Intervals of 95 % cover at least 94 % of the time, and no more than 96 % where counts are large."""
    channel, users, times = protocol.channel, 4000, 4000
    generator = np.random.default_rng(40)
    for f in (0.0, 0.1, 0.5):
        start, law = channel.count_law(users, f, sampled=False)
        counts = start + generator.choice(law.size, times, p=law / law.sum())
        x = channel.estimate(counts, users)
        limits = intervals.limits(x, counts, users, users, channel, 0.95, "sample")
        covered = ((limits[:, 0] <= f) & (f <= limits[:, 1])).mean()
        slack = Z * (0.05 * 0.95 / times) ** 0.5
        holds(covered > 0.94 - slack, f"intervals cover {covered:.3f} at f={f}")
        if float(channel.spread[1]) * users > intervals.SMALL:
            holds(covered < 0.96 + slack, f"intervals cover {covered:.3f} at f={f}")
