"""Statistical laws, with fixed seeds and a stated rate of failure."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from .. import intervals
from ..channel import Channel
from ..longitudinal.memoized import Memoized
from ..longitudinal.panel import Panel
from ..mechanism import Mechanism
from ..protocol import Protocol
from ..protocols.hashing import Hashing
from ..randomness import Source
from ..solutions.spl import SPL
from .tools import Z, cell, chi_square, counted, everyone, holds, inputs, laws_of, many, protocols, sizes

KEYED = "key bytes(range(32))"


def fit(subject: Any) -> None:
    """Reports fit the law (chi-square), for the first and the last input."""
    laws = laws_of(subject)
    for v in (0, -1):
        n = many(subject) // 4
        reports = subject.randomize(everyone(subject, lambda k, v=v: v % k, n), seed := 10 + v)  # type: ignore[misc]
        seen = counted(np.ascontiguousarray(reports).tobytes(), subject.report_bytes)  # as they are: wire.encode would refuse wrong ones
        beyond = sorted(seen.keys() - laws[v].keys())
        holds(not beyond, f"seed {seed}, input {v}: of {n} reports, {len(beyond)} are unknown to the law, such as {beyond[:1]}")
        expected = np.array([float(n * chance) for chance in laws[v].values()])
        observed = np.array([seen.get(report, 0) for report in laws[v]], float)
        z, squares, freedom = chi_square(observed, expected)
        most = int(np.argmax((observed - expected) ** 2 / np.maximum(expected, 5)))
        worst = f"{list(laws[v])[most]!r} came {observed[most]:.0f} times, not {expected[most]:.1f}"
        shown = f"chi-square is {squares:.1f} with {freedom} degrees of freedom, {z:.1f} deviations"
        holds(z < Z, f"seed {seed}, input {v}: of {n} reports, {worst}; {shown}")


def unbiased(subject: Any) -> None:
    """Counts of users who all hold one value have the channel's means, one by one and all others taken together."""
    for place in (0, 1, 2):
        n = many(subject) // (1, 4, 4)[place]
        held = [(0, k // 2, k - 1)[place] for k in sizes(subject)]
        tally = subject.tally(subject.randomize(inputs(subject, np.tile(held, (n, 1))), seed := 20 + place))
        for part, each, value in zip(tally, protocols(subject), held, strict=True):
            v = cell(each, value)
            channel, k, answers = part.protocol.channel, len(part.counts), part.n
            own, other = (float(s) for s in channel.spread)
            mean = np.where(np.arange(k) == v, float(channel.p), float(channel.q))
            sigma = np.sqrt(np.where(np.arange(k) == v, own, other) * answers)
            z = (part.counts - answers * mean) / np.maximum(sigma, 1e-3)
            worst, each_n = int(np.abs(z).argmax()), np.broadcast_to(answers, k)
            shown = f"{part.counts[worst]} of {each_n[worst]} support {worst}, not {(each_n * mean)[worst]:.1f}"
            holds(np.abs(z) < Z, f"seed {seed}: of the reports of users with {v}, {shown}: {z[worst]:.1f} deviations")
            if channel.others is not None and k > 2:
                q = float(channel.q)
                together = (k - 1) * (other + (k - 2) * (float(channel.others) - q * q))
                found, expected = int(np.delete(part.counts, v).sum()), answers * (k - 1) * q
                off = (found - expected) / np.sqrt(max(answers * together, 1.0))
                shown = f"seed {seed}: reports of users with {v} support others {found} times, not {expected:.1f}"
                holds(abs(off) < 2 * Z, f"{shown}: {off:.1f} deviations")


def variance(subject: Any) -> None:
    """Estimates of many small groups of users have the stated mean and variance; so have simulated ones."""
    d, entries, users = len(subject.parts), subject.parts[-1][1].stop, 200
    groups = min(1500 // min(d, 2), 10**6 // entries + 50)
    ends = np.array([[0] * d, [k - 1 for k in sizes(subject)]])
    group = np.repeat(ends, users // 2, axis=0)
    reports = subject.randomize(inputs(subject, np.tile(group, (groups, 1))), 30)
    parts = [reports[i * users : (i + 1) * users] for i in range(groups)]
    drawn = [(subject._count(part), subject._answers(part)) for part in parts]
    held = [np.bincount(group[:, j], minlength=k) for j, k in enumerate(sizes(subject))]
    cells = [np.bincount(each.cell_of(group[:, j]), minlength=each.cells) for j, each in enumerate(protocols(subject))]
    generator = np.random.default_rng(31)
    tallies = [subject.simulate(held[0] if isinstance(subject, Protocol) else held, generator) for _ in range(groups)]
    holds(all(t.users == users for t in tallies), f"a tally simulated of {users} users is of {[t.users for t in tallies[:3]]}")
    simulated = [(t.counts, t.n) for t in tallies]
    counted = subject.tally(parts[0]).counts
    holds(np.array_equal(counted, drawn[0][0]), f"seed 30: a tally of {users} reports has {counted}, not {drawn[0][0]}")
    for what, found in (("reports, seed 30", drawn), ("simulate, seed 31", simulated)):
        counts = np.array([each for each, _ in found])
        answers = np.array([np.broadcast_to(n, each.shape) for each, n in found])
        for j, (seen, part) in enumerate(subject.parts):
            truth, channel = cells[j] / users, seen.channel
            estimates = channel.estimate(counts[:, part], answers[:, part])
            expected = np.asarray(subject.variance(users, truth))
            expected = expected if isinstance(subject, Protocol) else expected[j]
            off = (estimates.mean(axis=0) - truth) / np.sqrt(np.maximum(expected, 1e-12) / groups)
            ratio = estimates.var(axis=0, ddof=1) / np.maximum(expected, 1e-12)
            worst, shown = int(np.abs(off).argmax()), f"{what}: of {groups} estimates from {users} users, the"
            numbers = f"{estimates.mean(axis=0)[worst]:.6g}, not {truth[worst]:.6g}"
            holds(np.abs(off) < Z, f"{shown} mean of value {worst} is {numbers}: {off[worst]:.1f} deviations")
            rough = expected * (users * channel.slope) ** 2 > 2  # else too few events
            worst = int(np.argmax(np.abs(ratio - 1) * rough))
            numbers = f"{expected[worst] * ratio[worst]:.4g}, not {expected[worst]:.4g}"
            holds(np.abs(ratio - 1)[rough] < Z * (3 / groups) ** 0.5, f"{shown} variance of value {worst} is {numbers}")


def rounds(subject: Any) -> None:
    """Of two rounds of a panel, the products of what a user contributes have the means that ``lasting`` states.

    Contributions to one value, to the own and another, and to two others. Permanent answers of two memo classes, and of two users, are
    independent; so are a user's reports on two attributes.
    """
    n, entries = many(subject) // 10, subject.parts[-1][1].stop
    values = everyone(subject, lambda k: k - 1, n)
    panel = Panel(subject, n, 50)
    first, second = (panel.report(values) for _ in range(2))
    step = max(1, 2**22 // entries)
    owns = np.concatenate([np.full(each.cells, part.start + cell(each, each.k - 1)) for each, (_, part) in _parts(subject)])
    nexts = np.concatenate([part.start + (np.arange(each.cells) + 1) % each.cells for each, (_, part) in _parts(subject)])
    sums = np.zeros((3, 2, entries))
    for i in range(0, n, step):
        one, other = (subject.contributions(each[i : i + step]).astype(np.float64) for each in (first, second))
        for at, chosen in enumerate((slice(None), owns, nexts)):
            both = one * other[:, chosen]
            sums[at] += both.sum(axis=0), (both**2).sum(axis=0)
    if isinstance(subject, SPL):
        _apart(subject, subject.contributions(first[:step]))
    answers = np.broadcast_to(subject.tally(first).n, (entries,))
    means, seconds = sums[:, 0] / answers, sums[:, 1] / answers
    for each, (seen, part) in _parts(subject):
        own, lasting = cell(each, each.k - 1), seen.lasting
        where = np.arange(each.cells)
        both_other = (where != own) & ((where + 1) % each.cells != own) & (each.cells > 3)
        for at, chosen, expected in (
            (0, where == own, lasting.p2),
            (0, where != own, lasting.q2),
            (1, where != own, lasting.own_other),
            (2, both_other, None if isinstance(each, Hashing) else lasting.others),  # a mean over values only, for hashing
        ):
            if expected is not None and chosen.any():
                mean, square, number = (x[part][chosen] for x in (means[at], seconds[at], answers))
                sigma = np.sqrt((square - mean**2 + Z / number) / number)  # not 0 where nothing rare was seen
                off = np.abs(mean - float(expected)) / sigma
                worst = int(off.argmax())
                shown = f"the mean product of two rounds is {mean[worst]:.6f}, not {float(expected):.6f}"
                holds(off < Z, f"seed 50, {n} users who hold {each.k - 1}: {shown}: {off[worst]:.1f} deviations")
        if isinstance(each, Memoized):
            _independent(each, n // 4)


def _parts(subject: Any) -> list[tuple[Any, Any]]:
    return list(zip(protocols(subject), subject.parts, strict=True))


def _apart(subject: SPL, contributed: Any) -> None:
    """Hold attributes to be randomized independently of each other: their own contributions do not go together."""
    owns = [contributed[:, part.start + cell(each, each.k - 1)].astype(np.float64) for each, (_, part) in _parts(subject)]
    for (i, x), (j, y) in combinations(enumerate(owns), 2):
        shares = [float(subject.answering[at] * Fraction(subject.parts[at][0].channel.p)) for at in (i, j)]
        products = (x - shares[0]) * (y - shares[1])
        z = products.sum() / max(products.std() * len(products) ** 0.5, 1e-9)
        shown = f"seed 50: of {len(products)} users, reports on attributes {i} and {j} go together"
        holds(abs(z) < Z, f"{shown}, with a covariance of {products.mean():.6f}: {z:.1f} deviations")


def _independent(protocol: Memoized, n: int) -> None:
    """Hold permanent answers of two classes of a user, of two users, and of classes of users near each other, to be independent.

    Own contributions do not go together, and to support a third value under one class does not make it likelier under the other.
    """
    users, memory, values = np.arange(n), Source.keyed(bytes(range(32))), (0, protocol.k - 1)
    found, third = [], 1 if protocol.cells > 2 else 0
    for value in values:
        out = np.empty(n, protocol.report_dtype)
        classes = protocol._remember(np.full(n, value), users, memory, out)
        contributed = protocol.contributions(out).astype(np.float64)
        found.append((classes, contributed[:, cell(protocol, value)], contributed[:, third]))
    (one, a, c), (other, b, d) = found
    speaks = (one > 0) & (other > 0) if protocol.answering[0] < 1 else np.ones(n, np.bool_)  # 0: the value's cell is not held
    moments: Channel = protocol.permanent.moments  # type: ignore[union-attr]
    p, q, spread = float(moments.p), float(moments.q), float(moments.spread[0])
    pairs = [("memo classes", speaks & (one != other), a, b), ("users", speaks & np.roll(speaks, 1), a, np.roll(a, 1))]
    pairs += [  # users near each other, whose numbers might run into those of each other's classes
        (f"memo classes of users {apart} apart", speaks & np.roll(speaks, apart), a, np.roll(b, apart))
        for apart in (*range(-8, 0), *range(1, 9))
    ]
    for what, chosen, x, y in pairs:
        if chosen.sum() > 100:
            z = ((x - p) * (y - p))[chosen].sum() / (spread * chosen.sum() ** 0.5)
            shown = f"{KEYED}: of {chosen.sum()} pairs, permanent answers of two {what} go together"
            holds(abs(z) < Z, f"{shown}, with a covariance of {z * spread / chosen.sum() ** 0.5:.6f}: {z:.1f} deviations")
    again = d[(c == 1) & (one != other)]
    if third and not isinstance(protocol, Hashing) and again.size > 100:
        z = (again.sum() - again.size * q) / (again.size * q * (1 - q)) ** 0.5
        shown = f"{KEYED}: of {again.size} users whose one class supports value {third}, the other does {again.sum():.0f} times"
        holds(abs(z) < Z, f"{shown}, not {again.size * q:.1f}: {z:.1f} deviations")


def coverage(subject: Mechanism) -> None:
    """Intervals of 95 % cover at least 94 % of the time, and no more than 96 % where counts are large."""
    users, times = 4000, 20_000
    generator = np.random.default_rng(40)
    for share, channel in {(share, seen.channel): None for share, (seen, _) in zip(subject.answering, subject.parts, strict=True)}:
        n = round(users * share)
        for f in (0.0, 0.1, 0.5):
            # How many of those who answer hold the value, then what is counted of them
            own = generator.hypergeometric(round(users * f), users - round(users * f), n, size=times)
            held, often = np.unique(own, return_counts=True)
            laws = [channel.count_law(n, v / n, sampled=False) for v in held]
            drawn = [start + generator.choice(law.size, m, p=law / law.sum()) for (start, law), m in zip(laws, often, strict=True)]
            counts = np.concatenate(drawn)
            x = channel.estimate(counts, n)
            limits = intervals.limits(x, counts, n, users, channel, 0.95, "sample")
            covered = ((limits[:, 0] <= f) & (f <= limits[:, 1])).mean()
            slack = Z * (0.05 * 0.95 / times) ** 0.5
            shown = f"seed 40: {times} intervals from {n} reports cover f={f} {covered:.4f} of the time"
            holds(covered > 0.94 - slack, f"{shown}, not at least {0.94 - slack:.4f}")
            if float(channel.spread[1]) * n > intervals.SMALL:
                holds(covered < 0.96 + slack, f"{shown}, not at most {0.96 + slack:.4f}")
