"""Tests over time: memoization against averaging attacks, second rounds, and combined rounds."""

import os
import pickle
import subprocess
import sys
from fractions import Fraction
from math import exp, inf, log, nextafter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from linked_reports import share_linked

from multi_freq_ldpy import (
    GRR,
    LBLH,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SUE,
    Client,
    DBitFlipPM,
    Panel,
    Stream,
    Tally,
    best,
    exact,
    over_rounds,
)
from multi_freq_ldpy.longitudinal.memoized import Memoized
from multi_freq_ldpy.protocols.formats import unpack

from .cases import CHAINS
from .faults import (
    AnsweredByValue,
    HashedByValue,
    RedrawnBits,
    RedrawnPositions,
    RedrawnSymbols,
    ThirdValuesLeftOut,
)

# The averaging attack: the values of a user stay within one memo class, and the attacker adds up
# the support of all reports.


def of_one_class(
    protocol: Memoized, memory: Any, users: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return k values per user, all in the memo class of the user's value, shape (users, k)."""
    out = np.empty(len(users), protocol.report_dtype)
    own = protocol._remember(values, users, memory, out)
    classes = np.stack(
        [protocol._remember(np.full(len(users), v), users, memory, out) for v in range(protocol.k)],
        axis=1,
    )
    if not isinstance(protocol, LBLH | LOLH | DBitFlipPM):
        return np.repeat(values[:, None], protocol.k, axis=1)
    # Values of the class come first
    order = np.argsort(classes != own[:, None], axis=1, kind="stable")
    size = (classes == own[:, None]).sum(axis=1)
    return np.take_along_axis(order, np.arange(protocol.k) % size[:, None], axis=1)


def said(protocol: Memoized, reports: Any) -> np.ndarray:
    """Return the support of each report for each answer that the attacker can guess.

    Answers are symbols, values or bits. A bit of dBitFlipPM that is 1 counts as +1, a bit that is 0
    as −1.
    """
    if isinstance(protocol, LGRR):
        return protocol.contributions(reports).astype(np.int64)
    if isinstance(protocol, LBLH | LOLH):
        return np.asarray(reports["symbol"][:, None] == np.arange(protocol.g), np.int64)
    if isinstance(protocol, DBitFlipPM):
        held = unpack(np.ascontiguousarray(reports["positions"]), protocol.b).astype(np.int64)
        return held * (2 * protocol.contributions(reports).astype(np.int64) - 1)
    return protocol.contributions(reports).astype(np.int64)


def right(protocol: Memoized, sums: np.ndarray, reports: Any, values: np.ndarray) -> np.ndarray:
    """Return 1 for each correct guess and 0 for each wrong one.

    A guess is the user's symbol, the user's value, or one of the user's bits.
    """
    if isinstance(protocol, DBitFlipPM):
        truth = np.arange(protocol.b) == protocol.cell_of(values)[:, None]
        return ((sums > 0) == truth)[sums != 0].astype(float)
    guess = sums.argmax(axis=1)
    if isinstance(protocol, LBLH | LOLH):
        seed, prime = reports["seed"].astype(object), protocol.prime
        return np.asarray(
            guess == protocol.g * (((1 + seed // prime) * values + seed % prime) % prime) // prime,
            float,
        )
    return np.asarray(guess == values, float)


def attack(protocol: Memoized, n: int, rounds: int) -> tuple[float, float, float]:
    """Return two shares of correct guesses, and the standard error of the second share.

    The first guess averages all reports of a panel. The second guess uses one permanent answer.
    """
    panel, users, values = Panel(protocol, n, 77), np.arange(n), np.arange(n) * 7 % protocol.k
    history = of_one_class(protocol, panel._memory, users, values)
    sums: Any = 0
    for t in range(rounds):
        reports = panel.report(history[:, t % protocol.k])
        sums = sums + said(protocol, reports)
    permanent = np.empty(n, protocol.report_dtype)
    protocol._remember(values, users, panel._memory, permanent)
    averaged, once = (
        right(protocol, s, permanent, values) for s in (sums, said(protocol, permanent))
    )
    share = once.mean()
    return averaged.mean(), share, (share * (1 - share) / len(once)) ** 0.5


MEMOIZED: list[Any] = [cls(12, 2.0, 1.0) for cls in CHAINS] + [
    DBitFlipPM(24, 2.0, b=12, d_bits=5),
    DBitFlipPM(12, 2.0),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "rounds"), [(2000, 300), (400, 3000)])
@pytest.mark.parametrize("protocol", MEMOIZED, ids=repr)
def test_averaging_a_panel_gains_nothing(protocol: Memoized, n: int, rounds: int) -> None:
    averaged, once, error = attack(protocol, n, rounds)
    assert averaged <= once + 3 * error


@pytest.mark.statistical
@pytest.mark.parametrize(
    "protocol",
    [
        RedrawnSymbols(12, 2.0, 1.0),
        RedrawnBits(12, 2.0, 1.0),
        RedrawnPositions(24, 2.0, b=12, d_bits=5),
        HashedByValue(12, 2.0, 1.0),
        AnsweredByValue(24, 2.0, b=12, d_bits=5),
    ],
    ids=repr,
)
def test_averaging_finds_the_planted_faults(protocol: Memoized) -> None:
    averaged, once, error = attack(protocol, 2000, 300)
    assert averaged > once + 10 * error


def attack_on_clients(protocol: Memoized, devices: int, reports: int) -> tuple[float, float, float]:
    clients = [Client(protocol, bytes([i]) * 32) for i in range(devices)]
    values = np.arange(devices) * 7 % protocol.k
    sums = [
        sum(said(protocol, np.array([c.report(v)]))[0] for _ in range(reports))
        for c, v in zip(clients, values, strict=True)
    ]
    answers = np.empty(devices, protocol.report_dtype)
    for i, client in enumerate(clients):
        protocol._remember(
            values[i : i + 1], np.zeros(1, np.int64), client._memory, answers[i : i + 1]
        )
        assert client.spent == protocol.privacy.lifetime
    averaged, once = (
        right(protocol, np.array(s), answers, values).mean()
        for s in (sums, said(protocol, answers))
    )
    return averaged, once, (once * (1 - once) / len(values)) ** 0.5


@pytest.mark.statistical
@pytest.mark.parametrize(("devices", "reports"), [(30, 300), (5, 3000)])
@pytest.mark.parametrize(
    "protocol", [LGRR(12, 2.0, 1.0), LOSUE(12, 2.0, 1.0), DBitFlipPM(12, 2.0, d_bits=5)], ids=repr
)
def test_averaging_clients_gains_nothing(protocol: Memoized, devices: int, reports: int) -> None:
    averaged, once, error = attack_on_clients(protocol, devices, reports)
    assert averaged <= once + 3 * error


@pytest.mark.statistical
@pytest.mark.parametrize(
    "protocol", [RedrawnSymbols(12, 2.0, 1.0), RedrawnBits(12, 2.0, 1.0)], ids=repr
)
def test_averaging_clients_finds_the_planted_faults(protocol: Memoized) -> None:
    averaged, once, error = attack_on_clients(protocol, 30, 300)
    assert averaged > once + 3 * error


def test_a_redrawn_client_gives_the_value_away() -> None:
    """Attack reports without memoization: 300 first reports of L-GRR reveal nearly every value."""
    protocol = LGRR(12, 2.0, 1.0)
    reports = protocol.randomize(np.repeat(np.arange(12), 300 * 20), 3).reshape(240, 300)
    guess = np.array([np.bincount(row, minlength=12).argmax() for row in reports])
    assert (guess == np.repeat(np.arange(12), 20)).mean() > 0.98


# Second rounds

BUDGETS = [
    (0.001, 0.0005),
    (0.5, 0.1),
    (1.0, 0.999),
    (2.0, 1.0),
    (8.0, 0.001),
    (10.0, 9.0),
    (40.0, 20.0),
    (40.0, 39.0),
]


@pytest.mark.parametrize("k", [2, 3, 100, 10**6])
@pytest.mark.parametrize("cls", CHAINS)
@pytest.mark.parametrize("budgets", BUDGETS)
def test_second_rounds_are_solved_exactly(cls: Any, k: int, budgets: tuple[float, float]) -> None:
    eps_perm, eps_1 = budgets
    try:
        protocol = cls(k, eps_perm, eps_1)
    except ValueError as refused:
        assert cls in (LOUE, LSOUE)
        largest = float(str(refused).rpartition("=")[2])
        a = exp(eps_perm)
        limit = (2 * a + 1) / 3 if cls is LOUE else a**0.5 * (2 * a**0.5 + 1) / (a**0.5 + 2)
        assert largest == pytest.approx(log(limit), rel=1e-9)
        assert eps_1 > largest
        protocol = cls(k, eps_perm, largest)
        with pytest.raises(
            ValueError, match=f"eps_1={nextafter(largest, inf)!r} has no second round"
        ):
            cls(k, eps_perm, nextafter(largest, inf))
        eps_1 = largest
    assert protocol.privacy.ratio <= exact.exp(Fraction(eps_1))[0]
    assert protocol.privacy.ratio_lifetime <= exact.exp(Fraction(eps_perm))[0]
    for loss, asked in ((protocol.privacy.report, eps_1), (protocol.privacy.lifetime, eps_perm)):
        # Probabilities are multiples of 2⁻⁶⁴
        granular = k * exp(asked) + k * (exp(asked) + k) / (exp(asked) - 1)
        assert loss == pytest.approx(asked, rel=1e-9 + granular * 2.0**-62)


@pytest.mark.parametrize("k", [2, 5, 100])
@pytest.mark.parametrize("budgets", [(2.0, 1.0), (0.2, 0.1), (6.0, 1.5)])
def test_one_report_is_that_of_the_one_shot_protocol(k: int, budgets: tuple[float, float]) -> None:
    eps_perm, eps_1 = budgets
    for chain, once in ((LGRR, GRR), (LSUE, SUE), (LOSUE, OUE), (LOLH, OLH)):
        found, expected = chain(k, eps_perm, eps_1).channel, once(k, eps_1).channel
        for name in ("p", "q", "own_other", "others"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
        assert chain(k, eps_perm, eps_1).variance(1000, 0.3) == pytest.approx(
            once(k, eps_1).variance(1000, 0.3), rel=1e-12
        )


def test_the_published_second_round_of_lgrr_is_far_from_its_budget() -> None:
    published = ThirdValuesLeftOut(100, 2.0, 1.0)
    assert published.privacy.report == pytest.approx(0.166, abs=0.001)
    assert published.variance(1) / LGRR(100, 2.0, 1.0).variance(1) == pytest.approx(90, abs=1)


@pytest.mark.parametrize("cls", [*CHAINS, best])
@pytest.mark.parametrize("budgets", [(1.0, 1.0), (1.0, 2.0), (90.0, 89.5), (1000.0, 200.0)])
def test_pairs_without_a_second_round(cls: Any, budgets: tuple[float, float]) -> None:
    with pytest.raises(
        ValueError, match=r"eps_1=.* has no second round: the permanent round leaves at most eps_1="
    ) as refused:
        cls(5, *budgets)
    largest = float(str(refused.value).rpartition("=")[2])
    assert cls(5, budgets[0], largest).privacy.report <= largest < budgets[0]


@pytest.mark.parametrize("cls", CHAINS)
def test_budgets_that_cannot_be_realised(cls: Any) -> None:
    with pytest.raises(ValueError, match=r"eps_(perm|1)=.* too small to be realised"):
        cls(10**6, 1e-20, 5e-21)
    with pytest.raises(ValueError, match=r"eps_1=.* too small to be realised"):
        cls(10**6, 1.0, 1e-22)
    for wrong in (0, -1.0, float("nan"), "1", None):
        with pytest.raises((ValueError, TypeError), match="eps_perm"):
            cls(5, wrong, 0.5)
        with pytest.raises((ValueError, TypeError), match="eps_1"):
            cls(5, 1.0, wrong)


def test_best_over_time() -> None:
    assert best(3, 2.0, 1.0) == LGRR(3, 2.0, 1.0)
    assert best(100, 2.0, 1.0) == LOSUE(100, 2.0, 1.0)
    assert best(100, 2.0, 1.9, of=(LOUE, LSUE)) == LSUE(100, 2.0, 1.9), (
        "protocols that cannot be realised are left out"
    )
    with pytest.raises(TypeError, match="one budget"):
        best(5, 1.0, 0.5, 0.1)


# Buckets


def test_buckets_are_integer_arithmetic() -> None:
    for k in range(2, 120):
        for b in range(2, k + 1):
            sizes: Any = SimpleNamespace(k=k, b=b)
            assert DBitFlipPM.cell_of(sizes, np.arange(k)).tolist() == [
                v * b // k for v in range(k)
            ]
    huge = DBitFlipPM(2**32 - 5, 1.0, b=2**31)
    assert huge.cell_of(np.array([2**32 - 6])).tolist() == [(2**32 - 6) * 2**31 // (2**32 - 5)]


def test_dbitflip_parameters() -> None:
    assert DBitFlipPM(9, 1.0) == DBitFlipPM(9, 1.0, 9, 9)
    assert DBitFlipPM(9, 1.0, 4) == DBitFlipPM(9, 1.0, b=4, d_bits=4)
    for b, d_bits, wrong in (
        (10, 1, "b must"),
        (1, 1, "b must"),
        (4, 5, "d_bits must"),
        (4, 0, "d_bits must"),
        (4.0, 1, "b must"),
    ):
        with pytest.raises((ValueError, TypeError), match=wrong):
            DBitFlipPM(9, 1.0, b, d_bits)
    assert DBitFlipPM(9, 1.0, d_bits=1).privacy.lifetime == pytest.approx(0.5)
    assert DBitFlipPM(9, 1.0, d_bits=2).privacy.lifetime == pytest.approx(1.0)
    with pytest.raises(TypeError, match="maximum likelihood"):
        DBitFlipPM(9, 1.0).em(DBitFlipPM(9, 1.0).randomize([0]))


def test_impossible_tallies_of_buckets() -> None:
    protocol = DBitFlipPM(10, 2.0, b=6, d_bits=2)
    assert Tally(protocol, [1] * 6, [2] * 6, users=6).users == 6
    assert Tally(protocol, [1] * 6, [2] * 6, users=9).users == 9, (
        "only some users may answer, as with SMP"
    )
    for counts, n, users, wrong in (
        ([1] * 6, [2] * 6, 5, "at most users=5, but 6"),
        ([3] * 6, [2] * 6, 6, r"counts\[0\] = 3 is outside \[0, n=2\]"),
        ([1] * 6, [2] * 5 + [1], 6, "number of users who hold each bucket"),
        ([0] * 6, [6, 0, 0, 0, 0, 0], 6, "number of users who hold each bucket"),
        ([1] * 6, 6, 6, "at most users=6, but 18"),
        ([1] * 10, [2] * 10, 10, "counts must have shape"),
    ):
        with pytest.raises(ValueError, match=wrong):
            Tally(protocol, counts, n, users)


def test_a_bucket_nobody_holds() -> None:
    protocol = DBitFlipPM(50, 2.0, d_bits=1)
    estimate = protocol.estimate(protocol.randomize([3], 1))
    assert np.isnan(estimate.frequencies).sum() == 49
    assert np.isinf(estimate.std).sum() == 49
    assert estimate.norm().frequencies.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="not every report speaks of all"):
        estimate.group([0, 1])
    assert (
        len(DBitFlipPM(50, 2.0).estimate(DBitFlipPM(50, 2.0).randomize([3], 1)).group([0, 1])) == 1
    )


# Several attributes


def test_privacy_of_solutions_over_time() -> None:
    split, sampled = SPL(LGRR, [3, 4, 5], 6.0, 3.0), SMP(LGRR, [3, 4, 5], 6.0, 3.0)
    assert split.protocols == tuple(LGRR(k, 2.0, 1.0) for k in (3, 4, 5))
    found = (
        split.privacy.report,
        split.privacy.lifetime,
        split.privacy.report_attribute,
        split.privacy.lifetime_attribute,
    )
    assert found == pytest.approx((3.0, 6.0, 1.0, 2.0))
    found = (
        sampled.privacy.report,
        sampled.privacy.lifetime,
        sampled.privacy.report_attribute,
        sampled.privacy.lifetime_attribute,
    )
    assert found == pytest.approx((3.0, 6.0, 3.0, 6.0))
    assert SPL.of([LGRR(3, 2.0, 1.0), GRR(3, 1.0)]).privacy.lifetime == inf
    buckets = SMP(DBitFlipPM, [9, 9], 2.0, b=[9, 3], d_bits=1)
    assert (buckets.privacy.report, buckets.privacy.lifetime) == pytest.approx((1.0, 1.0))
    for factory, budgets in ((LGRR, (2.0, 1.0)), (DBitFlipPM, (2.0,))):
        with pytest.raises(TypeError, match="RSFD cannot hide .* average out"):
            RSFD(factory, [3, 4], *budgets)


def test_budgets_of_solutions_by_name() -> None:
    """Check that each budget is passed on under its name, or refused."""
    assert SMP(LGRR, [3, 4], eps_1=1.0, eps_perm=2.0) == SMP(LGRR, [3, 4], 2.0, 1.0)
    assert SPL(DBitFlipPM, [3, 4], eps_perm=2.0) == SPL(DBitFlipPM, [3, 4], 2.0)
    assert SMP(best, [3, 4], eps_perm=2.0, eps_1=1.0).protocols[0] == LGRR(3, 2.0, 1.0)
    for factory, names in (
        (LGRR, {"epsilon": 2.0, "eps_perm": 1.0}),
        (LGRR, {"epsilon": 2.0, "eps_1": 1.0}),
        (LGRR, {"eps_1": 1.0}),
        (LGRR, {"eps_perm": 1.0}),
        (LGRR, {"epsilon": 1.0}),
        (GRR, {"eps_perm": 1.0}),
        (GRR, {"eps_1": 1.0}),
        (GRR, {"eps_perm": 2.0, "eps_1": 1.0}),
        (DBitFlipPM, {"epsilon": 1.0}),
    ):
        for solution in (SMP, SPL):
            with pytest.raises(TypeError, match="budget"):
                solution(factory, [3, 4], **names)
    for factory, budgets in ((DBitFlipPM, (2.0, 1.0)), (LGRR, (1.0,)), (GRR, (2.0, 1.0))):
        with pytest.raises(
            TypeError, match=f"{factory.__name__} takes the budgets? .*, not {len(budgets)}"
        ):
            SMP(factory, [3, 4], *budgets)
    with pytest.raises(TypeError, match="DBitFlipPM takes the budget eps_perm, not 2"):
        best(5, 2.0, 1.0, of=[LGRR, DBitFlipPM])


# Rounds combined


def group_counts(protocol: Any, reports: Any, groups: int) -> np.ndarray:
    return np.stack([protocol._count(part) for part in np.split(reports, groups)])


@pytest.mark.statistical
@pytest.mark.parametrize(
    "protocol", [LGRR(4, 2.0, 1.0), LOSUE(4, 2.0, 1.0), LOLH(5, 3.0, 1.0)], ids=repr
)
def test_rounds_of_the_same_users(protocol: Any) -> None:
    """Compare the stated standard error of 20 rounds with the deviation over 8000 groups of users.

    The tolerance is 2 %, which is five standard deviations.
    """
    groups, users, rounds = 8000, 120, 20
    values = np.tile(np.repeat([0, 1], (30, 90)), groups)
    panel, tallies = Panel(protocol, groups * users, 5), []
    counts: Any = 0
    for _ in range(rounds):
        reports = panel.report(values)
        tallies.append(protocol.tally(reports))
        counts = counts + group_counts(protocol, reports, groups)
    combined, channel = over_rounds(tallies), protocol.channel
    estimates = (counts / (users * rounds) - float(channel.q)) / channel.slope
    truth = np.bincount([0] * 30 + [1] * 90, minlength=protocol.k) / users
    assert np.abs(combined.frequencies - truth).max() < 6 * combined.std.max()
    ratio = estimates.std(axis=0) / (combined.std * groups**0.5)
    assert ratio[2:].mean() == pytest.approx(1, abs=0.02), "values that no user holds"
    assert ratio[:2] == pytest.approx(1, abs=0.035), "other values, deviation 0.8 %"
    wrong = protocol.estimate(sum(tallies))
    assert wrong.std[2] < 0.9 * combined.std[2], "rounds treated as new users"
    one = protocol.estimate(tallies[0])
    assert over_rounds(tallies[:1]).std == pytest.approx(one.std)
    pair = estimates[:, [1, 2]].sum(axis=1).std() / (combined.group([1, 2]).std[0] * groups**0.5)
    assert pair == pytest.approx(1, abs=0.035)


@pytest.mark.statistical
def test_intervals_of_combined_rounds_cover() -> None:
    protocol, groups, users, level = LGRR(4, 2.0, 1.0), 600, 400, 0.95
    panel, values = (
        Panel(protocol, groups * users, 6),
        np.tile(np.repeat([0, 1], (100, 300)), groups),
    )
    rounds = [panel.report(values).reshape(groups, users) for _ in range(8)]
    covered = [
        (low <= truth) & (truth <= high)
        for g in range(groups)
        for low, high in [over_rounds([protocol.tally(r[g]) for r in rounds]).interval(level).T]
        for truth in [np.array([0.25, 0.75, 0, 0])]
    ]
    assert np.mean(covered, axis=0) == pytest.approx(
        level, abs=4.5 * (level * (1 - level) / groups) ** 0.5 + 0.01
    )


@pytest.mark.statistical
@pytest.mark.parametrize("protocol", [LOSUE(4, 7.0, 6.0), DBitFlipPM(4, 8.0)], ids=repr)
def test_intervals_where_few_permanent_answers_are_rare(protocol: Any) -> None:
    """Check intervals where the distribution is not normal, in spite of many rounds.

    There are 30 rounds of 200 users, and hardly any user has a wrong permanent bit.
    """
    groups, users = 400, 200
    panel, values = Panel(protocol, groups * users, 7), np.tile(np.repeat([0, 1], (195, 5)), groups)
    rounds = [
        panel.report(values).reshape(groups, users, *np.empty(0, protocol.report_dtype).shape[1:])
        for _ in range(30)
    ]
    truth = np.array([0.975, 0.025, 0, 0])
    covered = []
    for g in range(groups):
        low, high = over_rounds([protocol.tally(r[g]) for r in rounds]).interval(0.95).T
        covered.append((low <= truth) & (truth <= high))
    assert (np.mean(covered, axis=0) > 0.95 - 4 * (0.05 * 0.95 / groups) ** 0.5).all()


def test_what_lasts_of_other_subjects() -> None:
    """Combine rounds of other mechanisms.

    Rounds of one-shot protocols are independent. Rounds of dBitFlipPM are all the same. The users
    of each attribute stay the same.
    """
    once = GRR(3, 1.0)
    panel = Panel(once, 1000, 1)
    tallies = [panel.tally(np.arange(1000) % 3) for _ in range(10)]
    assert over_rounds(tallies).std == pytest.approx(
        once.variance(10_000, over_rounds(tallies).frequencies) ** 0.5, rel=0.02
    )
    bits = DBitFlipPM(12, 2.0, d_bits=4)
    panel = Panel(bits, 1000, 1)
    tallies = [panel.tally(np.arange(1000) % 3) for _ in range(3)]
    assert tallies[0] == tallies[1] == tallies[2]
    assert over_rounds(tallies).std == pytest.approx(bits.estimate(tallies[0]).std)
    sampled = SMP([LGRR, LOSUE], [3, 5], 2.0, 1.0)
    panel = Panel(sampled, 5000, 1)
    tallies = [
        panel.tally(np.stack([np.arange(5000) % 3, np.arange(5000) % 5], axis=1)) for _ in range(6)
    ]
    found = over_rounds(tallies)
    assert [len(each) for each in found] == [3, 5]
    for each, first in zip(found, sampled.estimate(tallies[0]), strict=True):
        assert (0.4 * first.std < each.std).all()
        assert (each.std < 0.95 * first.std).all()
    hidden = RSFD(GRR, [3, 3], 1.0)
    panel = Panel(hidden, 1000, 1)
    assert len(over_rounds([panel.tally(np.zeros((1000, 2), int)) for _ in range(2)])) == 2
    noise = SHE(3, 1.0)
    assert over_rounds([noise.tally(noise.randomize([0, 1, 2] * 50, i)) for i in range(4)]).std[
        0
    ] == pytest.approx(noise.variance(600) ** 0.5, rel=0.05)


def test_rounds_that_do_not_go_together() -> None:
    protocol = LGRR(4, 2.0, 1.0)
    tally = protocol.tally(protocol.randomize([0, 1, 2], 1))
    for wrong in ([], None, 5, [tally, None], [tally, "tally"]):
        with pytest.raises((ValueError, TypeError), match="tallies"):
            over_rounds(wrong)
    with pytest.raises(ValueError, match=r"tallies\[1\] was counted by LGRR\(k=5"):
        over_rounds([tally, LGRR(5, 2.0, 1.0).tally([0, 1, 2])])
    sampled = SMP(LGRR, [3, 4], 2.0, 1.0)
    others = [Panel(sampled, 500, seed).tally(np.zeros((500, 2), int)) for seed in (1, 2)]
    with pytest.raises(
        ValueError, match=r"tallies\[1\] is not of the same users: users=500 and n="
    ):
        over_rounds(others)
    many = Tally(protocol, [2**60] * 4, 2**62)
    with pytest.raises(ValueError, match="100 rounds add up to more than"):
        over_rounds([many] * 100)
    with pytest.raises(ValueError, match=r"tallies\[1\] is not of the same users"):
        over_rounds([tally, protocol.tally([0, 1])])


# Panels


def test_panel_input() -> None:
    protocol = LGRR(4, 2.0, 1.0)
    panel = Panel(protocol, 5, 1)
    for n in (0, -1, 2.0, "5", None, True):
        with pytest.raises((ValueError, TypeError), match="n must"):
            Panel(protocol, n)
    with pytest.raises(TypeError, match="mechanism must be"):
        Panel(LGRR, 5)
    for values in ([0, 1], [0] * 6, [0, 1, 2, 3, 4], [0.0] * 5, None, 3, "abcde"):
        with pytest.raises((ValueError, TypeError), match="values"):
            panel.report(values)
    for users in ([0, 5], [-1, 0], [0, 0], [0.0, 1.0], [[0, 1]], "ab", [0], None):
        with pytest.raises((ValueError, TypeError), match="users|values"):
            panel.report([1, 2], users)
    for rounds in (5, "ab", None, {0: [0] * 5}, np.array(3)):
        with pytest.raises(TypeError, match="rounds"):
            panel.run(rounds)
    with pytest.raises(
        ValueError, match="values must be those of all n=1099511627776 users, not of 2"
    ):
        Panel(protocol, 2**40).report([0, 1])
    assert panel._fresh[0].position == 0, "a refused call draws nothing"
    assert panel.report([1, 2], users=[4, 0]).shape == (2,)
    assert panel.report(3, users=2) in range(4)
    assert panel.tally([], users=[]).users == 0
    assert "key" not in vars(panel)
    assert "LGRR(k=4" in repr(panel)
    with pytest.raises(ValueError, match="too far for 4294967291 classes"):
        Panel(LGRR(2**32 - 5, 2.0, 1.0), 2**40).report([0], users=[2**40 - 1])


def test_run_gives_an_estimate_a_round() -> None:
    protocol = LOSUE(4, 6.0, 5.0)
    rounds = (np.full(5000, t) for t in range(4))
    found = Panel(protocol, 5000, 1).run(rounds)
    assert [int(each.frequencies.argmax()) for each in found] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"round 1: values\[0\] = 4 is outside"):
        Panel(protocol, 1).run([[0], [4]])
    several = Panel(SPL(LGRR, [2, 3], 12.0, 10.0), 5000, 1).run([np.tile([1, 2], (5000, 1))])
    assert [int(each.frequencies.argmax()) for each in several[0]] == [1, 2]


def test_panels_share_nothing() -> None:
    """Check that two panels of one stream have different noise, and so have panel and randomize.

    The same seed repeats a panel.
    """
    protocol, values = LGRR(1000, 1.0, 0.5), np.zeros(1000, np.int64)
    stream = Stream(1)
    one, two = Panel(protocol, 1000, stream), Panel(protocol, 1000, stream)
    drawn = [
        one.report(values),
        two.report(values),
        protocol.randomize(values, stream),
        protocol.randomize(values, 1),
        one.report(values),
    ]
    agree = np.array([[np.mean(a == b) for b in drawn] for a in drawn])
    others = ~np.eye(5, dtype=bool)
    others[0, 4] = others[4, 0] = False  # two rounds of one panel
    assert (agree[others] < 0.02).all()
    assert agree[0, 4] > 0.1
    assert np.array_equal(
        Panel(protocol, 1000, 1).report(values), Panel(protocol, 1000, Stream(1)).report(values)
    )
    assert not np.array_equal(
        Panel(protocol, 1000).report(values), Panel(protocol, 1000).report(values)
    )


def test_copies_of_a_panel_remember_and_draw_anew() -> None:
    protocol, values = LOSUE(200, 2.0, 1.0), np.zeros(50, np.int64)
    panel = Panel(protocol, 50)
    copy = pickle.loads(pickle.dumps(panel))
    assert copy._memory.key.tobytes() == panel._memory.key.tobytes()
    assert not np.array_equal(copy.report(values), panel.report(values))
    with pytest.raises(TypeError, match="spawn"):
        pickle.dumps(Panel(protocol, 50, 1))
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, panel.report(values).tobytes())
        os._exit(0)
    os.wait()
    assert os.read(reading, 10**6) != panel.report(values).tobytes(), (
        "a forked panel draws its second round anew"
    )


MEMORY = """
import numpy as np
from multi_freq_ldpy import LGRR, LOSUE, Panel
peaks = []
for protocol in (LGRR(100, 2.0, 1.0), LOSUE(100, 2.0, 1.0)):
    panel = Panel(protocol, 10**6, 1)
    for i in range(6):
        panel.run([np.arange(10**6) % 100])
        with open("/proc/self/status") as status:
            peaks.append(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
print(*peaks)
"""


@pytest.mark.process
def test_rounds_of_a_million_users_need_no_memory() -> None:
    """Check the memory of six rounds of a million users, for two protocols with k = 100.

    It is below 2 GiB, and grows by less than 20 MB after the second round.
    """
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    peaks = [int(peak) for peak in run.stdout.split()]
    assert peaks[-1] < 2 * 2**20
    assert max(peaks[5] - peaks[1], peaks[11] - peaks[7]) < 20_000


LINKED: list[tuple[Any, float, float]] = [
    (LOLH(100, 4.0, 2.0), 0.9, 1.0),
    (LBLH(1000, 4.0, 2.0), 0.98, 1.0),
    (DBitFlipPM(100, 4.0, d_bits=4), 0.98, 1.0),
    (LSUE(1000, 4.0, 2.0), 0.9, 1.0),
    (LOSUE(100, 4.0, 2.0), 0.0, 0.05),
    (LGRR(20, 4.0, 2.0), 0.0, 0.02),
    (LGRR(1000, 4.0, 2.0), 0.0, 0.02),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("protocol", "least", "most"), LINKED, ids=lambda x: repr(x))
def test_reports_of_one_user_are_linked_as_documented(
    protocol: Any, least: float, most: float
) -> None:
    """Check the shares of linked users that the threat model documents.

    Shares are of 1000 users, so their errors are below 0.01. The limits are several errors away.
    The attribute ``linked`` of each protocol agrees with the table of the threat model.
    """
    assert least <= share_linked(protocol) <= most
    sent_for_ever = {"seed", "positions"} & set(protocol.report_dtype.names or ())
    hardly = "no" if isinstance(protocol, LGRR) else "for large k"
    assert protocol.linked == ("yes" if sent_for_ever else hardly)
