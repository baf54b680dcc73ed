"""Parts of the verification.

Each part is a list of jobs. A job returns rows of results, and the claims that do not hold.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import services
from numpy.typing import NDArray

from multi_freq_ldpy import (
    GRR,
    HR,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    DBitFlipPM,
    Stream,
    audit,
    exact_epsilon,
    registry,
    wire,
)
from multi_freq_ldpy.analysis.worst_case import laws_of
from multi_freq_ldpy.checks.measures import (
    SHARES,
    Fit,
    compare_reports,
    group_law,
    measure_between,
    measure_coverage,
    measure_difference,
    measure_few,
    measure_fit,
    measure_means,
)
from multi_freq_ldpy.checks.tools import Z, chi_square
from multi_freq_ldpy.estimation import intervals
from multi_freq_ldpy.protocol import OneShot, budgets_of
from multi_freq_ldpy.randomness import Source
from multi_freq_ldpy.solutions.base import Solution

NODE = Path(__file__).parent.parent / "tools" / "node.py"

_BUDGETS: dict[Any, int] = {cls: len(budgets_of(cls)) for cls in registry.BY_BUDGETS.values()}
ONE_SHOT: list[Any] = [cls for cls in _BUDGETS if issubclass(cls, OneShot) and cls is not SHE]
CHAINS: list[Any] = [cls for cls, budgets in _BUDGETS.items() if budgets == 2]


@dataclass
class Found:
    """Result of a job: numbers to add up, rows for the page, and claims that do not hold.

    Rows of the part "coverage" are also the points of the picture.
    """

    proved: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def holds(self, truth: bool, mechanism: Any, seed: int | None, why: str) -> None:
        """Note a claim that does not hold.

        The note has the mechanism with its parameters, the seed and the numbers, so the job can be
        repeated.
        """
        if not truth:
            self.wrong.append(f"{mechanism!r}, seed {seed}: {why}")

    def add(self, what: str, many: int) -> None:
        """Add to the number of reports, settings or pairs that were tested."""
        self.proved[what] = self.proved.get(what, 0) + many


Job = Callable[[], Found]


def jobs(quick: bool) -> dict[str, list[Job]]:
    """Return the jobs of each part, or a sample of them if ``quick``."""
    many = 10**5 if quick else 4 * 10**6
    audits: list[Job] = [partial(audited, i, 20 if quick else 200) for i in range(4)]
    fits: list[Job] = [partial(fit, each, many) for each in small()]
    fews: list[Job] = [partial(few, cls, quick) for cls in [*ONE_SHOT, *CHAINS]]
    return {
        "enumeration": [
            partial(enumerated, way) for way in ("one attribute", "over time", "SPL", "SMP", "RSFD")
        ],
        "audits": [*audits, partial(audited_closely, 10**6)],
        "moments": [partial(moments, each, quick) for each in settings(quick)],
        "fit": [*fits, below, partial(noise, many)],
        "clients": [
            partial(client_fit, each, 10**4 if quick else 10**6) for each in DRAWN_BY_CLIENT
        ],
        "kills": [partial(kill_devices, 50 if quick else 2000)],
        "outbox kills": [partial(kill_senders, 20 if quick else 1000)],
        "service kills": [
            partial(service_kills, each, *((5, 0) if quick else (200, 10**6)))
            for each in services.DATABASES
        ],
        "service races": [
            partial(service_races, each, 20 if quick else 2000) for each in services.DATABASES
        ],
        "sender kills": [partial(sender_kills, 30 if quick else 1000)],
        "releases": [
            *(
                partial(releases, "sqlite", 100 if quick else 12_500, seed)
                for seed in range(1, 2 if quick else 9)
            ),
            partial(releases, "postgresql", 50 if quick else 1_000, 9),
        ],
        "hostile bodies": [
            partial(hostile_bodies, 5_000 if quick else 250_000, seed)
            for seed in range(1, 2 if quick else 5)
        ],
        "many ids": [
            partial(many_ids, each, 10**6 if quick else 10**7) for each in services.DATABASES
        ],
        "coverage": [
            partial(coverage, cls, epsilon, quick)
            for cls in [*ONE_SHOT, SHE, *CHAINS]
            for epsilon in (0.5, 1.0, 3.0, 6.0)
        ],
        "few reports": [*fews, partial(few_in_groups, quick)],
        "differences": [
            partial(difference, protocol, of, quick)
            for protocol in COMPARED[:: 3 if quick else 1]
            for of in ("sample", "population")
        ],
    }


COMPARED: list[Any] = [
    *(GRR(10, 1.0), GRR(10, 3.0), GRR(3, 6.0)),
    *(OUE(10, 1.0), OUE(10, 3.0), SS(20, 1.0), OLH(10, 1.0)),
]


# Exact losses


def enumerated(way: str) -> Found:
    """Compare the exact loss, over all reports and pairs of inputs, with ``privacy``, on a grid."""
    found = Found()
    for mechanism in _grid(way):
        worst, said = exact_epsilon(mechanism), mechanism.privacy
        losses = (worst, worst.attribute, worst.lifetime, worst.lifetime_attribute)
        stated = (said.report, said.report_attribute, said.lifetime, said.lifetime_attribute)
        found.holds(
            losses == stated,
            mechanism,
            None,
            f"losses {tuple(map(float, losses))}, stated {stated}",
        )
        found.add("settings enumerated", 1)
        found.add("pairs of a report and an input", sum(map(len, laws_of(mechanism))))
    found.rows.append((way, *found.proved.values()))
    return found


def _grid(way: str) -> list[Any]:
    epsilons = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
    if way == "one attribute":
        return [
            cls(k, epsilon) for cls in ONE_SHOT for k in (2, 3, 4, 5, 6, 7) for epsilon in epsilons
        ]
    if way == "over time":
        chains = [
            cls(k, 2.5 * epsilon, epsilon)
            for cls in CHAINS
            for k in (2, 3, 4, 5)
            for epsilon in (0.1, 0.5, 1.0, 1.5)
        ]
        return chains + [
            DBitFlipPM(k, e, b, d)
            for k, b, d in ((4, 4, 4), (6, 3, 2), (7, 5, 1), (5, 5, 3))
            for e in epsilons
        ]
    solutions = {"SPL": SPL, "SMP": SMP, "RSFD": RSFD}[way]
    sizes = ([2, 3], [3, 3], [4, 2], [2, 2, 3])
    return [
        solutions(cls, ks, epsilon)
        for cls in ONE_SHOT
        for ks in sizes
        for epsilon in (0.5, 1.0, 2.0)
        if len(ks) < 3 or cls is not OLH
    ]


# Audits


def audited(i: int, runs: int) -> Found:
    """Count the bounds of 99 % confidence that exceed the exact loss, over seeded runs.

    With a correct audit, 14 or more of 200 bounds do so with a probability below 10⁻⁷.
    """
    mechanism = (GRR(10, 1.0), OUE(6, 1.0), SS(8, 1.0), OLH(7, 1.0))[i]
    exact, n = exact_epsilon(mechanism), 50_000
    bounds = [audit(mechanism, n, 0.99, rng=seed).epsilon for seed in range(runs)]
    above = sum(bound > exact for bound in bounds)
    found = Found(
        {"reports audited": runs * n},
        [(repr(mechanism), runs, f"{n:,}", f"{np.mean(bounds):.4f}", f"{max(bounds):.4f}", above)],
    )
    found.holds(above <= 13, mechanism, 0, f"{above} of {runs} bounds exceed {float(exact)}")
    return found


def audited_closely(n: int) -> Found:
    """Check that the bound of a million reports is within five per cent of the exact loss."""
    found = Found()
    for mechanism in (GRR(10, 1.0), OUE(10, 1.0), SS(10, 1.0), OLH(10, 1.0)):
        bound = audit(mechanism, n, rng=1).epsilon
        found.holds(
            0.95 <= bound <= mechanism.privacy.report,
            mechanism,
            1,
            f"the bound of {n} reports is {bound}",
        )
        found.add("reports audited", n)
        found.rows.append(
            (
                repr(mechanism),
                1,
                f"{n:,}",
                f"{bound:.4f}",
                f"{bound:.4f}",
                int(bound > mechanism.privacy.report),
            )
        )
    return found


# Moments


def settings(quick: bool) -> list[Any]:
    """Return the protocols whose moments are measured."""
    made = [
        cls(k, epsilon) for cls in ONE_SHOT for k, epsilon in ((2, 1.0), (10, 0.5), (30, 2.0))
    ] + [SHE(4, 1.0)]
    made += [
        cls(k, eps_perm, eps_1)
        for cls in CHAINS
        for k, eps_perm, eps_1 in ((3, 2.0, 1.0), (20, 3.0, 1.0))
    ]
    made += [DBitFlipPM(20, 2.0, b=10, d_bits=5)]
    return made[::9] if quick else made


def moments(protocol: Any, quick: bool) -> Found:
    """Compare counts of users who all hold one value with the channel's p and q.

    The number of reports is large enough to show an error of half a per cent.
    """
    channel, found, seed = protocol.channel, Found(), 11
    own, other = (float(s) for s in channel.spread)
    p, q, share = float(channel.p), float(channel.q), float(protocol.answering[0])
    wanted = (
        max((Z / 0.005) ** 2 * own / p**2, (Z / 0.005) ** 2 * other / max(q, p / 4) ** 2) / share
    )
    n = min(int(wanted) + 1, 10**6 if quick else 10**8)
    (measured,) = measure_means(protocol, [protocol.k - 1], n, seed)
    means, off = measured.counts / measured.n, np.abs(measured.deviations).max()
    found.holds(
        off < Z,
        protocol,
        seed,
        f"means {means}, expected {p} at {measured.cell} and {q}, {n} reports",
    )
    seen = Z * np.sqrt(own / measured.n.min()) / p
    found.add("reports drawn for moments", n)
    found.rows.append(
        (
            repr(protocol),
            f"{n:,}",
            f"{means[measured.cell]:.6f}",
            f"{p:.6f}",
            f"{off:.1f}",
            f"{100 * seen:.2f} %",
        )
    )
    return found


# Goodness of fit


def small() -> list[Any]:
    """Return mechanisms whose reports can be listed."""
    made = [cls(k, epsilon) for cls in ONE_SHOT for k, epsilon in ((3, 1.0), (5, 2.0))]
    made += [cls(3, 2.0, 1.0) for cls in CHAINS] + [DBitFlipPM(6, 2.0, b=4, d_bits=2)]
    return [
        *made,
        SPL(OUE, [2, 3], 2.0),
        SMP([GRR, OUE], [3, 3], 1.0),
        RSFD(OUE, [2, 2], 1.0),
        RSFD(GRR, [2, 3], 1.0, balance=True),
    ]


def fit(mechanism: Any, n: int) -> Found:
    """Compare reports with their distribution.

    As a control, a distribution that is one per cent off has to be rejected.
    """
    seed, law = 13, laws_of(mechanism)[0]
    measured = measure_fit(mechanism, law, [0] * len(mechanism.ks), n, seed)
    return judge_fit(measured, mechanism, repr(mechanism), n, seed)


def judge_fit(measured: Fit, mechanism: Any, source: str, n: int, seed: int | None) -> Found:
    """Return the result of a comparison, and that of its control."""
    found = Found()
    found.holds(not measured.unknown, mechanism, seed, "a report that has probability 0")
    z, control = (
        measured.deviations,
        replace(measured, expected=tilted(measured.expected)).deviations,
    )
    found.holds(z < Z, mechanism, seed, f"{z:.1f} deviations from its distribution")
    found.holds(
        control > Z or n < 10**6,
        mechanism,
        seed,
        f"a wrong distribution is only {control:.1f} deviations away",
    )
    found.add("reports drawn for fits", n)
    found.add("wrong distributions rejected", int(control > Z))
    outcomes = len(measured.expected)
    found.rows.append((source, f"{n:,}", outcomes, f"{z:.1f}", f"{control:.1f}"))
    return found


DRAWN_BY_CLIENT: list[Any] = [
    *(GRR(4, 1.0), OUE(4, 1.0), SS(6, 1.0), OLH(5, 1.0), HR(5, 1.0), THE(3, 2.0)),
    *(SPL([GRR, SUE], [3, 3], 2.0), SMP([GRR, OUE], [3, 4], 1.0), RSFD([GRR, OUE], [3, 3], 1.0)),
]
"""Mechanisms whose reports are also drawn by the JavaScript client."""


def client_fit(mechanism: Any, n: int) -> Found:
    """Compare reports of the JavaScript client with their distribution.

    Node draws them from fresh random bytes, so this part has no seed. An honest run fails with a
    probability below 10⁻⁸.
    """
    record = [0] * len(mechanism.ks)
    value = record if isinstance(mechanism, Solution) else 0
    given = json.dumps([registry.to_spec(mechanism), value, n])
    command = [sys.executable, str(NODE), "node", "tests/draw.mjs", given]
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    measured = compare_reports(data, mechanism, laws_of(mechanism)[0])
    found = judge_fit(measured, mechanism, f"JavaScript, {mechanism!r}", n, None)
    found.holds(len(wire.decode(mechanism, data)) == n, mechanism, None, "reports are missing")
    estimates = mechanism.estimate(wire.tally(mechanism, data))
    for each in estimates if isinstance(mechanism, Solution) else [estimates]:
        far = abs(each.frequencies - (np.arange(each.frequencies.size) == 0)) / each.std
        found.holds(far.max() < Z, mechanism, None, f"an estimate is {far.max():.1f} errors away")
    return found


def kill_devices(kills: int) -> Found:
    """Kill processes of the JavaScript client that keep their records in files."""
    found = Found()
    command = [sys.executable, str(NODE), "node", "tests/kills.mjs", str(kills)]
    said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    wrong = [said[name] for name in ("lost", "twice", "invented")]
    found.holds(not any(wrong) and said["reports"] > kills, "kills", None, f"{said}")
    found.rows.append(
        ("a protocol over time, and four histories", kills, f"{said['reports']:,}", *wrong[:2])
    )
    return found


def kill_senders(kills: int) -> Found:
    """Kill processes of the JavaScript client that share an outbox."""
    found = Found()
    command = [sys.executable, str(NODE), "node", "tests/sender_kills.mjs", str(kills)]
    said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    wrong = [said[name] for name in ("lost", "twice", "invented")]
    found.holds(not any(wrong) and said["reports"] > kills // 2, "senders", None, f"{said}")
    found.rows.append(("two surveys over time", kills, f"{said['reports']:,}", *wrong[:2]))
    return found


def service_kills(database: str, kills: int, reports: int) -> Found:
    """Kill services under load, and compare the tally with a recount."""
    found = Found()
    many, wrong = services.kill_services(database, kills, reports)
    found.holds(not wrong and many >= reports, f"service on {database}", None, wrong)
    found.rows.append((database, kills, f"{many:,}", 0 if not wrong else "see below"))
    return found


def service_races(database: str, races: int) -> Found:
    """Send equal batches to two processes at once, and close rounds while reports arrive."""
    found = Found()
    wrong = services.race_services(database, races)
    found.holds(not wrong, f"races on {database}", None, wrong)
    stops = str(max(3, min(races // 10, 10))) if database == "postgresql" else ""
    failed = 0 if not wrong else "see below"
    found.rows.append((database, f"{5 * races:,}", f"{races:,}", stops, failed))
    return found


def sender_kills(kills: int) -> Found:
    """Kill devices between their steps, and compare outboxes, sent bodies and the service."""
    found = Found()
    many, wrong = services.kill_senders(kills)
    found.holds(not wrong and many >= kills, "senders", None, wrong)
    found.rows.append(("one report, two budgets, a history", many, *[0 if not wrong else "?"] * 2))
    return found


def releases(database: str, orders: int, seed: int) -> Found:
    """Let reports arrive in random orders, and compare what the public sees."""
    found = Found()
    many, wrong = services.release_orders(database, orders, seed)
    found.holds(not wrong and many > 0, f"releases on {database}", seed, wrong)
    found.add("orders of arrival", orders)
    found.rows.append((database, f"{orders:,}", f"{many:,}", 0 if not wrong else "see below"))
    return found


def hostile_bodies(bodies: int, seed: int) -> Found:
    """Send changed bodies to a service, and compare its answers and its tally."""
    found = Found()
    many, wrong = services.send_hostile_bodies(bodies, seed)
    found.holds(not wrong and many > 0, "hostile bodies", seed, wrong)
    found.add("hostile bodies", bodies)
    found.rows.append((seed, f"{bodies:,}", f"{many:,}", 0 if not wrong else "see below"))
    return found


def many_ids(database: str, many: int) -> Found:
    """Measure groups and sizes with few and with many ids in a round."""
    found = Found()
    early, late, size, left = services.count_many_ids(database, 10**5, many)
    most = 30 if database == "sqlite" else 110
    sizes = f"{size:.1f} bytes per id, {left} rows left"
    found.holds(size <= most and not left, f"ids on {database}", None, sizes)
    ratio = late / early
    found.holds(ratio <= 3, f"ids on {database}", None, f"groups take {ratio:.1f} times as long")
    found.rows.append(
        (database, f"{many:,}", f"{early:.1f}", f"{late:.1f}", f"{ratio:.1f}", f"{size:.1f}", left)
    )
    return found


def tilted(expected: NDArray[Any]) -> NDArray[Any]:
    """Return expected numbers in which the likelier half of the outcomes has one per cent more.

    The other outcomes have less, such that the sum is the same.
    """
    order = np.argsort(-expected)
    more = order[: max(1, len(order) // 2)]
    wrong = expected.copy()
    wrong[more] *= 1.01
    rest = np.setdiff1d(order, more)
    wrong[rest] *= (expected.sum() - wrong[more].sum()) / expected[rest].sum()
    return wrong


def below() -> Found:
    """Check that whole numbers below m are uniform.

    As a control, a distribution that is one per cent off has to be rejected.
    """
    found = Found()
    for m in (2, 3, 7, 1000):
        n = max(4 * 10**6, 2000 * m)
        observed = np.bincount(Source.of(Stream(17), b"verify", n).below(n, m), minlength=m)
        expected = np.full(m, n / m)
        z, control = chi_square(observed, expected)[0], chi_square(observed, tilted(expected))[0]
        found.holds(
            z < Z and control > Z,
            f"below {m}",
            17,
            f"{z:.1f} deviations, the control {control:.1f}",
        )
        found.rows.append((f"whole numbers below {m}", f"{n:,}", m, f"{z:.1f}", f"{control:.1f}"))
        found.add("wrong distributions rejected", int(control > Z))
    return found


def noise(n: int) -> Found:
    """Compare the noise of SHE with its distribution.

    As a control, the distribution for a budget one per cent larger has to be rejected.
    """
    found, reach = Found(), 40
    for epsilon in (0.5, 2.0):
        protocol = SHE(2, epsilon)
        drawn = np.clip(protocol.randomize(np.zeros(n, np.int64), 19)[:, 1], -reach, reach)
        observed = np.bincount(drawn + reach, minlength=2 * reach + 1)
        laws = []
        for exponent in (
            Fraction(protocol.weight, 2**32),
            Fraction(protocol.weight, 2**32) * Fraction(101, 100),
        ):
            weights = np.exp(-float(exponent) * np.abs(np.arange(-2000, 2001)))
            folded = np.bincount(
                np.clip(np.arange(-2000, 2001), -reach, reach) + reach, weights=weights
            )
            laws.append(n * folded / weights.sum())
        z, control = (chi_square(observed, law)[0] for law in laws)
        found.holds(
            z < Z and (control > Z or n < 10**6),
            protocol,
            19,
            f"{z:.1f} deviations, the control {control:.1f}",
        )
        found.rows.append(
            (f"noise of {protocol!r}", f"{n:,}", 2 * reach + 1, f"{z:.1f}", f"{control:.1f}")
        )
        found.add("wrong distributions rejected", int(control > Z))
    return found


# Coverage


def coverage(cls: Any, epsilon: float, quick: bool) -> Found:
    """Compute the exact probability that 95 % intervals cover, on a grid of k, n and f.

    It is computed for frequencies of the users and of the population.
    """
    found = Found()
    cells = product(
        (2, 10, 100),
        (100, 1000, 20_000) if not quick else (1000,),
        (0.0, 0.01, 0.1, 0.5, 0.9),
        ("sample", "population"),
    )
    for k, n, f, of in cells:
        protocol = cls(k, 2.5 * epsilon, epsilon) if cls in CHAINS else cls(k, epsilon)
        channel = protocol.channel
        f = round(n * f) / n
        covered = measure_coverage(channel, n, n, f, of)
        large = n > intervals.FEW and n * float(channel.spread[1]) >= intervals.SMALL
        found.holds(
            covered > 0.94,
            protocol,
            None,
            f"intervals of the {of} cover {covered:.4f} at n={n}, f={f}",
        )
        found.holds(
            covered < 0.96 or not large,
            protocol,
            None,
            f"intervals of the {of} cover {covered:.4f} at n={n}, f={f}",
        )
        found.add("settings of intervals", 1)
        found.rows.append(
            (cls.__name__, k, epsilon, n, f, of, covered, n * float(channel.spread[1]))
        )
    return found


# Few reports


def few(cls: Any, quick: bool) -> Found:
    """Check that the exact coverage of 20 to 200 reports is at least 95 %, over k, ε, n and f."""
    found, covered = Found(), []
    for k, epsilon, n, of in _few_cells(quick):
        protocol = cls(k, 2.5 * epsilon, epsilon) if cls in CHAINS else cls(k, epsilon)
        covered += _hold_few(found, protocol, measure_few(protocol.channel, n, of), n, of)
    found.rows.append((cls.__name__, "one", len(covered), min(covered), float(np.mean(covered))))
    return found


def few_in_groups(quick: bool) -> Found:
    """Check that the exact coverage for groups of two values is at least 95 %.

    Distributions of counts come from the listed reports, also if the channel knows them.
    """
    found = Found()
    for cls in (GRR, OUE, SS, OLH):
        covered = []
        for _, epsilon, n, of in _few_cells(quick):
            protocol = cls(8, min(epsilon, 2.0))
            law = partial(group_law, protocol, 2, sampled=of == "population")
            measured = measure_few(protocol.channel.group(2), n, of, law)
            covered += _hold_few(found, protocol, measured, n, of)
        found.rows.append((cls.__name__, "two", len(covered), min(covered), np.mean(covered)))
    return found


def _few_cells(quick: bool) -> Any:
    return product(
        (10,) if quick else (2, 10, 100),
        (1.0,) if quick else (0.5, 1.0, 3.0, 6.0),
        (50,) if quick else (20, 50, 100, 200),
        ("sample", "population"),
    )


def _hold_few(found: Found, protocol: Any, covered: list[float], n: int, of: str) -> list[float]:
    for f, each in zip(SHARES, covered, strict=True):
        why = f"intervals of the {of} cover {each:.4f} at n={n}, f={f}"
        found.holds(each >= 0.95 - 1e-6, protocol, None, why)
    found.add("settings of intervals", len(covered))
    return covered


# Differences


def difference(protocol: Any, of: str, quick: bool) -> Found:
    """Check that the exact coverage of differences is at least 95 %.

    Differences are between two values among the same users, and between two groups of users in one
    value.
    """
    found, within, between = Found(), [], []
    pairs = [(0.0, 0.0), (0.1, 0.0), (0.5, 0.1), (0.3, 0.3)]
    for shares in pairs[::3] if quick else pairs:
        numbers = (20,) if quick else (20, 50)
        within += [measure_difference(protocol.channel, n, shares, of) for n in numbers]
        between.append(measure_between(protocol.channel, (15, 30), shares, of))
    for what, covered in (("two values", within), ("two groups of users", between)):
        why = f"differences of {what} of the {of} cover {min(covered):.4f}"
        found.holds(min(covered) >= 0.95 - 1e-6, protocol, None, why)
        found.add("settings of differences", len(covered))
        least, mean = f"{min(covered):.4f}", f"{np.mean(covered):.4f}"
        found.rows.append((repr(protocol), what, of, len(covered), least, mean))
    return found
