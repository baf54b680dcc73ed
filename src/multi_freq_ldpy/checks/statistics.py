"""Statistical checks, with fixed seeds and a stated rate of failure."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from ..core.channel import Affine
from ..core.randomness import Source
from ..estimation import intervals
from ..longitudinal.memoized import Memoized
from ..longitudinal.panel import Panel
from ..mechanism import Mechanism
from ..protocol import Protocol
from ..protocols.formats import HashedSymbols
from .measures import measure_coverage, measure_fit, measure_means
from .tools import (
    NotApplicable,
    Z,
    as_inputs,
    cell_of,
    count_draws,
    holds,
    inputs_of_all,
    laws_of,
)

KEYED = "key bytes(range(32))"


def fit(mechanism: Any) -> None:
    """Check that reports fit the exact distribution, by chi-square.

    This is done for the first and the last input.
    """
    laws, n = laws_of(mechanism), count_draws(mechanism) // 4
    for v in (0, -1):
        record, seed = [v % k for k in mechanism.ks], 10 + v
        found = measure_fit(mechanism, laws[v], record, n, seed)
        shown = f"seed {seed}, input {v}: of {n} reports,"
        holds(
            not found.unknown,
            f"{shown} {len(found.unknown)} have probability 0, such as {found.unknown[:1]}",
        )
        holds(found.deviations < Z, f"{shown} {found.describe()}")


def unbiased(mechanism: Any) -> None:
    """Check that counts of users who all hold one value have the means of the channel.

    Each count is compared, and so is the sum over all other values.
    """
    for place in (0, 1, 2):
        n = count_draws(mechanism) // (1, 4, 4)[place]
        record, seed = [(0, k // 2, k - 1)[place] for k in mechanism.ks], 20 + place
        for found in measure_means(mechanism, record, n, seed):
            channel, k, counts, answers = found.channel, len(found.counts), found.counts, found.n
            z, v = found.deviations, found.cell
            worst = int(np.abs(z).argmax())
            shown = (
                f"{counts[worst]} of {answers[worst]} support {worst}, not"
                f" {found.expected[worst]:.1f}"
            )
            holds(
                np.abs(z) < Z,
                f"seed {seed}: of the reports of users with {v}, {shown}: {z[worst]:.1f}"
                " deviations",
            )
            if channel.others is not None and k > 2:
                q, other = float(channel.q), float(channel.spread[1])
                together = (k - 1) * (other + (k - 2) * (float(channel.others) - q * q))
                others, expected = counts.sum() - counts[v], answers[0] * (k - 1) * q
                off = (others - expected) / np.sqrt(max(answers[0] * together, 1.0))
                shown = (
                    f"seed {seed}: reports of users with {v} support others {others} times, not"
                    f" {expected:.1f}"
                )
                holds(abs(off) < 2 * Z, f"{shown}: {off:.1f} deviations")


def variance(mechanism: Any) -> None:
    """Check that estimates of many small groups of users have the stated mean and variance.

    Simulated estimates are held to the same mean and variance.
    """
    d, entries, users = len(mechanism.parts), mechanism.parts[-1][1].stop, 200
    groups = min(1500 // min(d, 2), 10**6 // entries + 50)
    ends = np.array([[0] * d, [k - 1 for k in mechanism.ks]])
    group = np.repeat(ends, users // 2, axis=0)
    reports = mechanism.randomize(as_inputs(mechanism, np.tile(group, (groups, 1))), 30)
    parts = [reports[i * users : (i + 1) * users] for i in range(groups)]
    drawn = [mechanism.count(part) for part in parts]
    held = [np.bincount(group[:, j], minlength=k) for j, k in enumerate(mechanism.ks)]
    cells = [
        np.bincount(each.cell_of(group[:, j]), minlength=each.cells)
        for j, each in enumerate(mechanism.leaves)
    ]
    generator = np.random.default_rng(31)
    tallies = [
        mechanism.simulate(held[0] if isinstance(mechanism, Protocol) else held, generator)
        for _ in range(groups)
    ]
    holds(
        all(t.users == users for t in tallies),
        f"simulated tallies of {users} users have users={[t.users for t in tallies[:3]]}",
    )
    simulated = [(t.counts, t.n) for t in tallies]
    counted = mechanism.tally(parts[0]).counts
    holds(
        np.array_equal(counted, drawn[0][0]),
        f"seed 30: a tally of {users} reports has {counted}, not {drawn[0][0]}",
    )
    for what, found in (("reports, seed 30", drawn), ("simulate, seed 31", simulated)):
        counts = np.array([each for each, _ in found])
        answers = np.array([n for _, n in found])
        for j, (seen, part) in enumerate(mechanism.parts):
            truth, channel = cells[j] / users, seen.channel
            estimates = channel.estimate(counts[:, part], answers[:, part])
            expected = np.asarray(mechanism.variance(users, truth))
            expected = expected if isinstance(mechanism, Protocol) else expected[j]
            off = (estimates.mean(axis=0) - truth) / np.sqrt(np.maximum(expected, 1e-12) / groups)
            ratio = estimates.var(axis=0, ddof=1) / np.maximum(expected, 1e-12)
            worst, shown = (
                int(np.abs(off).argmax()),
                f"{what}: of {groups} estimates from {users} users, the",
            )
            numbers = f"{estimates.mean(axis=0)[worst]:.6g}, not {truth[worst]:.6g}"
            holds(
                np.abs(off) < Z,
                f"{shown} mean of value {worst} is {numbers}: {off[worst]:.1f} deviations",
            )
            rough = expected * (users * channel.slope) ** 2 > 2  # otherwise too few events
            worst = int(np.argmax(np.abs(ratio - 1) * rough))
            numbers = f"{expected[worst] * ratio[worst]:.4g}, not {expected[worst]:.4g}"
            holds(
                np.abs(ratio - 1)[rough] < Z * (3 / groups) ** 0.5,
                f"{shown} variance of value {worst} is {numbers}",
            )


def rounds(mechanism: Any) -> None:
    """Check the mean products of the contributions of one user in two rounds of a panel.

    They agree with ``lasting``: for one value, for the own value and another, and for two other
    values. Permanent answers of two memo classes, and of two users, are independent. So are the
    reports of one user on two attributes.
    """
    if not all(isinstance(seen.channel, Affine) for seen, _ in mechanism.parts):
        raise NotApplicable("its channel is not Affine")
    n, entries = count_draws(mechanism) // 10, mechanism.parts[-1][1].stop
    values = inputs_of_all(mechanism, [k - 1 for k in mechanism.ks], n)
    panel = Panel(mechanism, n, 50)
    first, second = (panel.report(values) for _ in range(2))
    step = max(1, 2**22 // entries)
    owns = np.concatenate(
        [
            np.full(each.cells, part.start + cell_of(each, each.k - 1))
            for each, (_, part) in _protocols_and_parts(mechanism)
        ]
    )
    nexts = np.concatenate(
        [
            part.start + (np.arange(each.cells) + 1) % each.cells
            for each, (_, part) in _protocols_and_parts(mechanism)
        ]
    )
    sums = np.zeros((3, 2, entries))
    for i in range(0, n, step):
        one, other = (
            mechanism.contributions(each[i : i + step]).astype(np.float64)
            for each in (first, second)
        )
        for at, chosen in enumerate((slice(None), owns, nexts)):
            both = one * other[:, chosen]
            sums[at] += both.sum(axis=0), (both**2).sum(axis=0)
    if mechanism.independent:
        _require_independent_attributes(mechanism, mechanism.contributions(first[:step]))
    answers = mechanism.tally(first).n
    means, seconds = sums[:, 0] / answers, sums[:, 1] / answers
    for each, (seen, part) in _protocols_and_parts(mechanism):
        own, lasting = cell_of(each, each.k - 1), seen.lasting
        where = np.arange(each.cells)
        both_other = (where != own) & ((where + 1) % each.cells != own) & (each.cells > 3)
        # With hashing, ``others`` is only a mean over all pairs of values
        for at, chosen, expected in (
            (0, where == own, lasting.p2),
            (0, where != own, lasting.q2),
            (1, where != own, lasting.own_other),
            (
                2,
                both_other,
                None if is_hashed(each) else lasting.others,
            ),
        ):
            if expected is not None and chosen.any():
                mean, square, number = (x[part][chosen] for x in (means[at], seconds[at], answers))
                # The deviation is above 0 even if no rare event was seen
                sigma = np.sqrt((square - mean**2 + Z / number) / number)
                off = np.abs(mean - float(expected)) / sigma
                worst = int(off.argmax())
                shown = (
                    f"the mean product of two rounds is {mean[worst]:.6f}, not"
                    f" {float(expected):.6f}"
                )
                holds(
                    off < Z,
                    f"seed 50, {n} users who hold {each.k - 1}: {shown}: {off[worst]:.1f}"
                    " deviations",
                )
        if isinstance(each, Memoized):
            _require_independent_memory(each, n // 4)


def is_hashed(protocol: Protocol) -> bool:
    """Return True if the moments of three values are only means over values."""
    return protocol._formatted and isinstance(protocol.format, HashedSymbols)


def _protocols_and_parts(mechanism: Any) -> list[tuple[Any, Any]]:
    return list(zip(mechanism.leaves, mechanism.parts, strict=True))


def _require_independent_attributes(mechanism: Any, contributed: Any) -> None:
    """Require that the attributes of different parts are randomized independently of each other.

    The contributions to their own values are uncorrelated.
    """
    parts = [j for j, each in enumerate(mechanism.protocols) for _ in each.leaves]
    owns = [
        contributed[:, part.start + cell_of(each, each.k - 1)].astype(np.float64)
        for each, (_, part) in _protocols_and_parts(mechanism)
    ]
    for (i, x), (j, y) in combinations(enumerate(owns), 2):
        if parts[i] == parts[j]:
            continue
        shares = [
            float(mechanism.answering[at] * Fraction(mechanism.parts[at][0].channel.p))
            for at in (i, j)
        ]
        products = (x - shares[0]) * (y - shares[1])
        z = products.sum() / max(products.std() * len(products) ** 0.5, 1e-9)
        shown = (
            f"seed 50: reports of {len(products)} users on attributes {i} and {j} depend on each"
            " other"
        )
        holds(
            abs(z) < Z, f"{shown}, with a covariance of {products.mean():.6f}: {z:.1f} deviations"
        )


def _require_independent_memory(protocol: Memoized, n: int) -> None:
    """Require that permanent answers are independent.

    This concerns two memo classes of one user, two users, and memo classes of users with close
    numbers. Contributions to their own values are uncorrelated. Support of a third value under one
    class does not make its support under the other class likelier.
    """
    users, memory, values = np.arange(n), Source.keyed(bytes(range(32))), (0, protocol.k - 1)
    found, third = [], 1 if protocol.cells > 2 else 0
    for value in values:
        out = np.empty(n, protocol.report_dtype)
        classes = protocol._remember(np.full(n, value), users, memory, out)
        contributed = protocol.contributions(out).astype(np.float64)
        found.append((classes, contributed[:, cell_of(protocol, value)], contributed[:, third]))
    (one, a, c), (other, b, d) = found
    # Class 0 means that the user does not hold the cell of the value
    speaks = (one > 0) & (other > 0) if protocol.answering[0] < 1 else np.ones(n, np.bool_)
    moments = protocol.permanent.leaves[0].moments  # type: ignore[union-attr]
    p, q, spread = float(moments.p), float(moments.q), float(moments.spread[0])
    pairs = [
        ("memo classes", speaks & (one != other), a, b),
        ("users", speaks & np.roll(speaks, 1), a, np.roll(a, 1)),
    ]
    pairs += [  # users with close numbers, whose classes might share numbers
        (
            f"memo classes of users {apart} apart",
            speaks & np.roll(speaks, apart),
            a,
            np.roll(b, apart),
        )
        for apart in (*range(-8, 0), *range(1, 9))
    ]
    for what, chosen, x, y in pairs:
        if chosen.sum() > 100:
            z = ((x - p) * (y - p))[chosen].sum() / (spread * chosen.sum() ** 0.5)
            shown = (
                f"{KEYED}: permanent answers of two {what} depend on each other, in"
                f" {chosen.sum()} pairs"
            )
            holds(
                abs(z) < Z,
                f"{shown}, with a covariance of {z * spread / chosen.sum() ** 0.5:.6f}: {z:.1f}"
                " deviations",
            )
    again = d[(c == 1) & (one != other)]
    if third and not is_hashed(protocol) and again.size > 100:
        z = (again.sum() - again.size * q) / (again.size * q * (1 - q)) ** 0.5
        shown = (
            f"{KEYED}: for {again.size} users one class supports value {third}. The other class"
            f" supports it {again.sum():.0f} times"
        )
        holds(abs(z) < Z, f"{shown}, not {again.size * q:.1f}: {z:.1f} deviations")


def coverage(mechanism: Mechanism) -> None:
    """Check that intervals of 95 % cover the truth with probability at least 94 %.

    If counts are large, the probability is at most 96 %.
    """
    if not all(seen.channel.known_law for seen, _ in mechanism.parts):
        raise NotApplicable("the distribution of its counts is not known")
    users = 4000
    for share, channel in {
        (share, seen.channel): None
        for share, (seen, _) in zip(mechanism.answering, mechanism.parts, strict=True)
    }:
        n = round(users * share)
        for f in (0.0, 0.1, 0.5):
            covered = measure_coverage(channel, users, n, f, "sample")
            shown = (
                f"intervals from {n} reports of {users} users cover f={f} with probability"
                f" {covered:.4f}"
            )
            holds(covered > 0.94, f"{shown}, not at least 0.94")
            if float(channel.spread[1]) * n > intervals.SMALL:
                holds(covered < 0.96, f"{shown}, not at most 0.96")
