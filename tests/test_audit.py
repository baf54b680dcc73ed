"""Tests of audits: bounds hold, are close to the loss, and find leaks."""

from collections.abc import Callable
from itertools import count
from math import comb, inf, log
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    LGRR,
    LOLH,
    LOSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    Client,
    DBitFlipPM,
    Stream,
    audit,
    wire,
)
from multi_freq_ldpy.analysis import auditing, evidence
from multi_freq_ldpy.protocols.formats import unpack

from .faults import (
    LifetimeOfOneReport,
    MoreThanItSays,
    NeverClears,
    OwnValueFirst,
    RedrawnBits,
    RedrawnSymbols,
)

Proved = Callable[[str, int], None]


@pytest.mark.parametrize(
    ("successes", "n"), [(0, 7), (1, 7), (6, 7), (7, 7), (3, 40), (20, 40), (39, 40), (150, 400)]
)
@pytest.mark.parametrize("risk", [0.2, 0.005, 1e-7])
def test_limits_are_those_of_clopper_and_pearson(successes: int, n: int, risk: float) -> None:
    """Check the two tail probabilities, each of which must be ``risk``.

    At the lower limit it is the probability of at least the given number of successes. At the
    upper limit it is the probability of at most this number.
    """

    def chance(held: range, p: float) -> float:
        return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in held)

    low, high = evidence.lower_limit(successes, n, risk), evidence.upper_limit(successes, n, risk)
    assert (
        low == 0
        if successes == 0
        else chance(range(successes, n + 1), low) == pytest.approx(risk, rel=1e-6)
    )
    assert (
        high == 1
        if successes == n
        else chance(range(successes + 1), high) == pytest.approx(risk, rel=1e-6)
    )


def test_limits_of_large_counts_are_close_to_normal_ones() -> None:
    n, p = 10**6, 0.3
    reach = 2.5758293 * (p * (1 - p) / n) ** 0.5
    assert evidence.lower_limit(round(n * p), n, 0.005) == pytest.approx(p - reach, abs=3e-6)
    assert evidence.upper_limit(round(n * p), n, 0.005) == pytest.approx(p + reach, abs=3e-6)
    assert evidence.upper_limit(0, n, 0.005) == pytest.approx(-log(0.005) / n, rel=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "protocol", [GRR(10, 1.0), OUE(10, 1.0), SS(10, 1.0), OLH(10, 1.0)], ids=repr
)
def test_a_million_reports_come_within_five_per_cent(protocol: Any, proved: Proved) -> None:
    assert (
        0.95 * protocol.privacy.report < audit(protocol, rng=1).epsilon <= protocol.privacy.report
    )
    proved("reports audited", 10**6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "share"),
    [
        (SUE(10, 1.0), 0.9),
        (BLH(6, 2.0), 0.9),
        (GRR(500, 3.0), 0.8),
        (OUE(40, 1.0), 0.9),
        (SS(60, 1.0), 0.9),
        (SHE(4, 1.0), 0.9),
        (RSFD(GRR, [2, 6], 1.0), 0.9),
        (RSFD(OUE, [20, 20], 1.0), 0.8),
        (SPL(GRR, [3, 3], 1.0), 0.9),
        (SMP(OUE, [3, 3], 1.0), 0.9),
        (LGRR(5, 2.0, 1.0), 0.9),
        (DBitFlipPM(8, 2.0, b=8, d_bits=2), 0.8),
    ],
    ids=repr,
)
def test_bounds_hold_and_come_close(mechanism: Any, share: float, proved: Proved) -> None:
    """Audit records and values, with distributions that can be listed and others that cannot."""
    found = audit(mechanism, 200_000, rng=2)
    proved("reports audited", 200_000)
    assert share * mechanism.privacy.report < found.epsilon <= mechanism.privacy.report
    assert (
        found.of[0] == found.of[1]
        and found.tests == 1
        and "confidence 99 %" in repr(found)
        and float(found) == found.epsilon
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        LGRR(5, 2.0, 1.0),
        LOSUE(5, 2.0, 1.0),
        LOLH(20, 2.0, 1.0),
        DBitFlipPM(6, 2.0),
        SMP(LGRR, [4, 5], 2.0, 1.0),
    ],
)
def test_memory_holds_over_sequences(mechanism: Any, proved: Proved) -> None:
    """Audit a hundred reports about an unchanged value.

    The bound exceeds the loss of one report, and is at most the stated lifetime loss.
    """
    found = audit(mechanism, 8000, rounds=100, rng=3)
    proved("reports audited", 800_000)
    assert 0.75 * mechanism.privacy.lifetime < found.epsilon <= mechanism.privacy.lifetime
    assert found.tests == 2 and found.of == (2000, 2000)
    if mechanism.privacy.report < mechanism.privacy.lifetime:
        assert audit(mechanism, 8000, rng=3).epsilon <= mechanism.privacy.report < found.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "rounds", "n"),
    [
        (MoreThanItSays(4, 1.0), 1, 200_000),
        (NeverClears(6, 1.0), 1, 50_000),
        (RedrawnSymbols(5, 2.0, 1.0), 100, 4000),
        (RedrawnBits(5, 2.0, 1.0), 100, 4000),
        (LifetimeOfOneReport(5, 2.0, 1.0), 100, 8000),
        (GRR(5, 1.0), 100, 4000),
    ],
    ids=repr,
)
def test_faults_are_measured(mechanism: Any, rounds: int, n: int) -> None:
    """Audit mechanisms that leak more than they state, or whose lifetime loss is infinite.

    The bound exceeds the stated loss. If the stated loss is infinite, the bound exceeds 4.
    """
    said = mechanism.privacy.lifetime if rounds > 1 else mechanism.privacy.report
    assert audit(mechanism, n, rounds=rounds, rng=4).epsilon > (said if said < inf else 4.0)


@pytest.mark.statistical
def test_callables_of_anyone() -> None:
    """Audit callables that return bytes or other objects, with a given and with a learnt event.

    A learnt event is chosen with half of the sample.
    """
    stream, inputs = Stream(5), (0, 3)
    grr, oue = GRR(4, 1.0), OUE(6, 1.0)

    def drawn(protocol: Any) -> Any:
        reports = {
            value: iter(protocol.randomize(np.full(10_000, value), stream)) for value in inputs
        }
        return lambda value: next(reports[value])

    for made in (
        lambda report: report,
        lambda report: wire.encode(grr, report),
        int,
        lambda report: ("report", [int(report)]),
    ):
        source = drawn(grr)
        found = audit(
            lambda value, source=source, made=made: made(source(value)), 20_000, inputs=inputs
        )  # type: ignore[misc]
        assert 0.7 < found.epsilon <= 1.0 and sum(found.of) == 10_000
    source = drawn(oue)
    bits = audit(
        lambda value: unpack(source(value)[None], 6)[0].astype(float), 20_000, inputs=inputs
    )
    assert 0.7 < bits.epsilon <= 1.0
    for statistic in (
        lambda report: float(report == 3),
        lambda report: float(report == 0),
        lambda report: -int(report),
    ):
        known = audit(drawn(grr), 20_000, inputs=inputs, statistic=statistic)
        assert 0.7 < known.epsilon <= 1.0 and "the statistic" in known.event
    nothing = audit(lambda value: 7, 1000, inputs=inputs)
    assert nothing.epsilon == 0.0


def test_order_leaks_are_learnt() -> None:
    """Audit a list that starts with the user's value: the learnt event finds this leak."""
    leaking, stream = OwnValueFirst(12, 0.5), Stream(6)
    reports = {value: iter(leaking.randomize(np.full(20_000, value), stream)) for value in (0, 5)}
    found = audit(lambda value: next(reports[value]), 20_000, inputs=(0, 5))
    assert found.epsilon > 3.0 and 0 in found.seen


def test_what_is_no_leak_is_none() -> None:
    """Audit reports with counters: they differ in time, but reveal nothing about the input."""
    numbers, generator = count(), np.random.default_rng(9)

    def counted(value: int) -> tuple[int, int]:
        return next(numbers), value ^ int(generator.random() < 0.25)

    assert audit(counted, 4000, inputs=(0, 1)).epsilon <= log(3)
    assert (
        audit(
            lambda value: next(numbers).to_bytes(4, "big") + generator.bytes(1), 4000, inputs=(0, 1)
        ).epsilon
        < 0.1
    )


def test_leaks_of_every_kind_are_learnt() -> None:
    """Find leaks in lengths, first bytes, entries of dicts, letters and unbounded numbers."""
    generator = np.random.default_rng(10)
    for leak in (
        lambda value: generator.bytes(3 + value),
        lambda value: bytes([value]) + generator.bytes(int(generator.integers(5, 9))),
        lambda value: {"nonce": generator.random(), "answer": value},
        lambda value: f"{generator.integers(10**6):06}, {'yes' if value else 'no'}",
        lambda value: [np.inf, 10**400, -(10**400), generator.random(), value],
    ):
        assert audit(leak, 4000, inputs=(0, 1)).epsilon > 4.0


@pytest.mark.statistical
def test_clients_of_anyone() -> None:
    """Audit a callable that makes clients, with permanent states and without."""
    protocol = LGRR(4, 2.0, 1.0)
    remembered = audit(lambda: Client(protocol).report, 240, inputs=(0, 1), rounds=20)
    assert remembered.epsilon <= 2.0 and remembered.tests == 2
    reports = {
        value: iter(protocol.randomize(np.full(18_000, value), 7 + value)) for value in (0, 1)
    }
    forgotten = audit(lambda: lambda value: next(reports[value]), 600, inputs=(0, 1), rounds=60)
    assert forgotten.epsilon > 2.0


def test_statistics_of_bytes() -> None:
    found = audit(GRR(3, 1.0), 20_000, statistic=lambda report: report[0], inputs=(0, 2), rng=8)
    assert 0.7 < found.epsilon <= 1.0


@pytest.mark.statistical
def test_two_hundred_audits_keep_their_confidence(proved: Proved) -> None:
    """Check the coverage of 200 bounds with a confidence of 90 %.

    Each bound may exceed the exact loss with a probability of at most 1/10. More than 40 of 200 do
    so with a probability below 10⁻⁵. Estimates that are no bounds exceed the loss in about half of
    the runs. Nearly all bounds exceed half of the loss.
    """
    mechanisms = [GRR(4, 1.0), OUE(4, 1.0), SS(5, 1.0), OLH(5, 1.0)]
    found = [audit(mechanisms[i % 4], 4000, 0.9, rng=i) for i in range(200)]
    assert (
        sum(each.epsilon > mechanisms[i % 4].privacy.report for i, each in enumerate(found)) <= 40
    )
    assert sum(each.epsilon > 0.5 for each in found) > 190
    proved("reports audited", 200 * 4000)
    estimates = [log((each.seen[0] / each.of[0]) / (each.seen[1] / each.of[1])) for each in found]
    assert (
        70
        < sum(estimate > mechanisms[i % 4].privacy.report for i, estimate in enumerate(estimates))
        < 130
    )


@pytest.mark.parametrize(
    ("mechanism", "rounds", "tests"),
    [(GRR(4, 1.0), 1, 1), (LGRR(4, 2.0, 1.0), 20, 2), (OUE(4, 1.0), 3, 2)],
    ids=repr,
)
def test_bounds_are_corrected_for_what_was_tried(mechanism: Any, rounds: int, tests: int) -> None:
    """Check that the risk is divided among all tests and the two limits of each test."""
    found = audit(mechanism, 2000, 0.9, rounds=rounds, rng=5)
    assert found.tests == tests and found.epsilon > 0
    risk = 0.1 / (2 * tests)
    low = evidence.lower_limit(found.seen[0], found.of[0], risk)
    high = evidence.upper_limit(found.seen[1], found.of[1], risk)
    assert found.epsilon == pytest.approx(log(low / high), rel=1e-9)


@pytest.mark.statistical
def test_the_best_of_many_attacks_keeps_its_confidence() -> None:
    """Try 100 independent attacks on a loss of log 3, with a confidence of 90 %.

    Each attack has its part of the risk. The best bound therefore exceeds log 3 in one of 1000
    such tests. Without this correction it exceeds log 3 in four of five.
    """
    generator, chances = np.random.default_rng(7), np.array([[0.75], [0.25]])
    for _ in range(3):
        drawn = (generator.random((100, 2, 2000)) < chances).astype(np.float64)
        scores = [(first, second) for first, second in drawn]
        found = auditing._test_scores((0, 1), scores, ["a coin"] * 100, 0.1, 0)
        assert 0.7 * log(3) < found.epsilon <= log(3)


def test_bad_arguments() -> None:
    made = count()
    for call, message in (
        (lambda: audit(3), "mechanism must be a protocol, a solution or a callable, not 3"),
        (lambda: audit(lambda value: next(made)), "inputs must be given for a callable"),
        (lambda: audit(GRR(3, 1.0), 10), "n must be an integer from 20"),
        (lambda: audit(GRR(3, 1.0), confidence=1.0), "confidence must be"),
        (lambda: audit(GRR(3, 1.0), inputs=(0, 3)), "inputs"),
        (lambda: audit(GRR(3, 1.0), inputs=[0]), "inputs must be a pair"),
        (
            lambda: audit(GRR(3, 1.0), inputs=([0, 1], [1, 2])),
            "inputs must be a pair of single inputs",
        ),
        (lambda: audit(SMP(GRR, [3, 3], 1.0), inputs=((0, 0), (0, 3))), "inputs"),
        (lambda: audit(GRR(3, 1.0), statistic=1), "statistic must be a callable"),
        (lambda: audit(GRR(3, 1.0), rounds=0), "rounds must be"),
        (
            lambda: audit(Client(LGRR(3, 2.0, 1.0)).report, 100, inputs=(0, 1)),
            "independent reports, which one client does not",
        ),
        (
            lambda: audit(GRR(3, 1.0), 100, statistic=lambda report: float("nan")),
            "statistic must be a number, not nan",
        ),
        (
            lambda: audit(
                lambda value: value, 100, inputs=(0, 1), statistic=lambda report: float("nan")
            ),
            "statistic must be a number",
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    assert next(made) == 0, "the callable was called"
