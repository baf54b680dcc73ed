"""Tests of the mechanisms that protect whole histories: their numbers, devices and files."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    DDRM,
    GRR,
    LGRR,
    LOSUE,
    RSFD,
    SMP,
    SPL,
    Client,
    LimitReached,
    Once,
    Panel,
    Rounds,
    Steps,
    Stream,
    Tally,
    Tree,
    audit,
    checks,
    exact_epsilon,
    influence,
    over_rounds,
    registry,
    wire,
)
from multi_freq_ldpy.checks.tools import chi_square
from multi_freq_ldpy.longitudinal import averages
from multi_freq_ldpy.longitudinal.averages import Asked
from multi_freq_ldpy.longitudinal.blocks import spread_ball, weigh_margins
from multi_freq_ldpy.longitudinal.history import PROTOCOLS, History
from multi_freq_ldpy.longitudinal.simulation import Chain
from multi_freq_ldpy.mechanism import find_silent
from multi_freq_ldpy.randomness import Source, subkey

from .reference import whole_history

SMALL: list[History] = [
    Once(2, 1.0, 3),
    Once(3, 1.0, 4, "GRR"),
    Once(2, 1.0, 4, "GRR", window=2),
    Steps(2, 1.0, 4, 1, "GRR", values=0.5),
    Steps(2, 4.0, 4, 3, "GRR", values=0.75),
    Steps(3, 1.0, 3, 1, values=0.5),
    Steps(3, 1.0, 3, 1, "OUE", values=0.5),
    Steps(3, 1.0, 4, 1, "GRR", values=0.5),
    Steps(3, 1.0, 4, 1, "GRR", "row", 0.5),
    Tree(1.0, 4, 2),
    Tree(1.0, 4, 2, "linear"),
    Tree(2.0, 4, 1),
    Tree(1.0, 3, 3),
    DDRM(1.0, 4, 2),
    DDRM(1.0, 4, 2, "ball"),
    DDRM(2.0, 4, 6),
]
LARGE: list[History] = [
    Steps(2, 1.0, 64, 3),
    Steps(4, 1.0, 16, 2),
    Steps(5, 1.0, 16, 2, encoding="row", values=0.5),
    Steps(2, 4.0, 32, 8, "OUE"),
    Once(4, 1.0, 16, "HR"),
    Once(3, 1.0, 16, "GRR", window=4),
    Tree(1.0, 64, 3),
    Tree(1.0, 16, 2, "linear"),
    DDRM(1.0, 16, 15),
    DDRM(2.0, 16, 15, "ball"),
]
EXACT = sorted(checks.OF_HISTORIES - {"over_time"})


@pytest.mark.parametrize("check", EXACT)
@pytest.mark.parametrize("history", SMALL, ids=repr)
def test_small_histories(history: History, check: str, proved: Callable[[str, int], None]) -> None:
    checks.run_check(check, history)
    proved("checks passed by mechanisms", 1)


@pytest.mark.statistical
@pytest.mark.parametrize("history", LARGE, ids=repr)
def test_large_histories(history: History, proved: Callable[[str, int], None]) -> None:
    """Check bias and variance over all rounds, and everything that needs no enumeration."""
    for name in ("over_time", "round_by_round", "counted", "bad_histories", "spec"):
        checks.run_check(name, history)
        proved("checks passed by mechanisms", 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_values_are_reported_by_any_of_these_protocols(protocol: str) -> None:
    for name in ("whole_histories", "round_by_round", "round_encoding", "counted", "over_time"):
        checks.run_check(name, Steps(3, 1.0, 2, 1, protocol, values=0.5))


@pytest.mark.parametrize("history", SMALL, ids=repr)
def test_likelihoods_are_those_of_the_distribution(history: History) -> None:
    values = [1, 0, 1, 0][: history.rounds]
    law, size = history.law(values), history.at(0).report_bytes
    for sent in list(law)[:: max(1, len(law) // 20)]:
        data = b"".join(bytes([255]) * size if each is None else each for each in sent)
        assert history.likelihood(data, values) == law[sent]


def test_likelihoods_need_no_list() -> None:
    history = Steps(4, 1.0, 64, 3)
    one, two = np.zeros(64, np.int64), np.arange(64) // 20
    for seed in range(20):
        reports = history.randomize(one, seed)
        ratio = history.likelihood(reports, one) / history.likelihood(reports, two)
        bound = history.privacy.ratio_history
        assert bound is not None and 1 / bound <= ratio <= bound


def test_analyses_of_single_reports_refuse_histories() -> None:
    for history in (SMALL[3], SMALL[3].at(1), SMP.of([SMALL[3]])):
        for analyse in (exact_epsilon, audit, lambda h: influence(h, 100, 3)):
            with pytest.raises(TypeError, match="single reports, not for whole histories"):
                analyse(history)
    empty = SMALL[3].at(0).tally([])
    with pytest.raises(ValueError, match="history.estimate"):
        over_rounds([empty, empty])


def test_every_class_is_checked() -> None:
    for cases in (SMALL, LARGE):
        assert {type(each).__name__ for each in cases} == registry.HISTORIES.keys()


def test_checks_of_single_reports_do_not_apply() -> None:
    with pytest.raises(checks.NotApplicable, match="whole histories"):
        checks.run_check("privacy", SMALL[0])
    with pytest.raises(checks.NotApplicable, match="does not protect"):
        checks.run_check("missed_rounds", GRR(3, 1.0))


# k, rounds; then for ε = 1 and 4: time sampling, and Steps for 1, 3 and 8 changes, unary/row
MEAN_VARIANCES = {
    (2, 16): ("18.731 10.897 18.035 18.731", "4.3041 1.0218 1.6128 2.4270"),
    (2, 64): ("74.923 18.684 38.427 62.675", "17.216 1.5136 2.6337 4.4340"),
    (2, 256): ("299.69 31.360 68.076 121.39", "68.865 2.4168 4.3800 7.6267"),
    (10, 64): (
        "192.03 45.791/57.106 86.274/116.13 145.66/178.99",
        "8.1098 1.5190/2.0708 2.7904/3.8019 4.6882/6.2107",
    ),
    (100, 64): (
        "235.94 50.183/66.641 94.714/136.06 161.94/214.47",
        "9.4788 1.6301/2.3637 2.9888/4.3427 5.0465/7.1136",
    ),
    (100, 256): (
        "943.76 83.681/112.50 164.02/244.47 301.10/433.16",
        "37.915 2.6962/3.9673 5.0989/7.6009 9.0526/13.437",
    ),
}


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("size", MEAN_VARIANCES)
def test_mean_variances(size: tuple[int, int], epsilon: float) -> None:
    k, rounds = size
    once, *others = MEAN_VARIANCES[size][epsilon == 4.0].split()
    alone = Once(k, epsilon, rounds).network(1).variances
    assert alone.mean() == pytest.approx(float(once), rel=5e-5)
    for changes, wanted in zip((1, 3, 8), others, strict=True):
        for encoding, number in zip(("unary", "row"), wanted.split("/"), strict=False):
            found = Steps(k, epsilon, rounds, changes, encoding=encoding).network(1).variances
            assert found.mean() == pytest.approx(float(number), rel=5e-5), (changes, encoding)


def test_variances_of_eight_rounds() -> None:
    history = Steps(5, 1.0, 8, 2, "GRR", values=0.5)
    assert history._estimator.costs == pytest.approx(
        [2.445950, 22.7581, 22.7581, 11.0750], abs=5e-5
    )
    network = history.network(1)
    variances = [29.3297, 21.6899, 23.4157, 16.9515, 23.3458, 19.7727, 23.6446, 21.2503]
    assert network.variances == pytest.approx(variances, abs=5e-5)
    assert network.covariances_with(0)[1] == pytest.approx(6.52111, abs=5e-6)
    assert network.covariances_with(3)[4] == pytest.approx(4.65593, abs=5e-6)
    from_values = [9.4707, 5.7992, 6.3558, 3.8711, 6.3039, 4.9611, 6.5661, 5.4700]
    assert network.shares[0] == pytest.approx(from_values, abs=5e-5)


def odds_of(history: Any, odds: int) -> Any:
    """Give the blocks of a history exact odds in place of e^ε."""
    kinds = []
    for kind in history.kinds:
        block = copy.copy(kind.block)
        for name in ("densities", "ratio", "gap", "second", "outcomes"):
            block.__dict__.pop(name, None)
        if block.kind == "ball":
            ways = weigh_margins(block.symbols, block.bits)
            high = sum(w for m, w in ways.items() if m >= block.threshold)
            rest = sum(ways.values()) - high
            weight = Fraction(odds * high, odds * high + rest)
            densities = spread_ball(block.symbols, block.bits, block.threshold, weight)
            object.__setattr__(block, "densities", densities)
        else:
            object.__setattr__(block, "weight", 2**64 * odds // (odds + 1))
        kinds.append(replace(kind, block=block))
    found = copy.copy(history)
    for name in ("privacy", "_estimator"):
        found.__dict__.pop(name, None)
    found.__dict__["kinds"] = tuple(kinds)
    return found


def largest_ratio(history: Any) -> Fraction:
    laws = [history.law(each) for each in product(range(2), repeat=history.rounds)]
    return max(max(p) / min(p) for p in zip(*(law.values() for law in laws), strict=True))


def test_ddrm_loses_the_odds_of_all_its_reports() -> None:
    for reports, wanted in ((1, 3), (2, 9), (3, 27)):
        assert largest_ratio(odds_of(DDRM(1.0, 4, reports), 3)) == wanted
    for odds in (3, 6):
        assert largest_ratio(odds_of(DDRM(1.0, 4, 2, "ball"), odds)) == odds


def test_the_published_cover_has_its_second_moment() -> None:
    """Check the sum of the steps that cover the rounds so far, over all histories.

    A report counts 3·2/(2p − 1) with p = 3/4: three lengths are drawn, and two changes are allowed.
    """
    tree = odds_of(Tree(1.0, 4, 2, "linear"), 3)
    scale = 3 * 2 / Fraction(1, 2)
    for values in product(range(2), repeat=4):
        law = tree.law(values)
        for cover, wanted in (
            ({(1, 1)}, 48),
            ({(2, 2)}, 48),
            ({(2, 2), (1, 3)}, 96),
            ({(4, 4)}, 48),
        ):
            total = Fraction(0)
            for sent, chance in law.items():
                symbols = [
                    1 - 2 * report[2]
                    for r, report in enumerate(sent)
                    if report is not None and (2 ** (report[0] - 1), r + 1) in cover
                ]
                total += chance * (scale * sum(symbols)) ** 2
            assert total == wanted, (values, cover)


@pytest.mark.parametrize(
    "history",
    [Steps(2, 1.0, 4, 1, "GRR", values=0.5), Steps(3, 1.0, 3, 1, "GRR", values=0.5)],
    ids=repr,
)
def test_contributions_have_their_exact_moments(history: Any) -> None:
    """Check means and second moments of one user, with shares in place of numbers of reports.

    Means are those of smoothed estimates and of online ones.
    """
    shares = [
        [history._chance(node, Asked()) for node in history.nodes(r)] for r in range(history.rounds)
    ]
    p, q = (float(each) for each in history._one_shot.chances)
    for values in product(range(history.k), repeat=history.rounds):
        if sum(a != b for a, b in pairwise(values)) > history.changes:
            continue
        law = history.law(values)
        for last in range(1, history.rounds + 1):
            mean, second = np.zeros((2, last, history.k))
            for sent, chance in law.items():
                means = history._estimator.average(shares[:last])
                for r, report in enumerate(sent[:last]):
                    if report is not None:
                        put_report(history, means, r, report, (p, q))
                found = means.network.estimate(means.values, means.steps)
                mean += float(chance) * found
                second += float(chance) * found**2
            assert mean == pytest.approx(np.eye(history.k)[list(values[:last])], abs=1e-9)
        if len(set(values)) == 1:
            from_values, from_steps = means.network.shares
            own = p * (1 - p) / (p - q) ** 2 + 1
            other = q * (1 - q) / (p - q) ** 2
            for v in range(history.k):
                noise = own if v == values[0] else other
                assert second[:, v] == pytest.approx(from_values * noise + from_steps, rel=1e-9)


def put_report(
    history: Any, means: Any, r: int, report: bytes, chances: tuple[float, float]
) -> None:
    """Add the report of one user to the means of its node."""
    own, (p, q) = history.at(r), chances
    decoded = wire.decode(own, report)
    counts = own.contributions(decoded)[0]
    for i, node in enumerate(own.nodes):
        if node.kind != report[0]:
            continue
        found = counts[own._slots[i]][: history.k]
        share = history._chance(node, Asked())
        if node.start is None:
            means.values[r] = (found - q) / (p - q) / share
        else:
            h = (node.end - node.start).bit_length() - 1
            gap = float(history.kinds[node.kind].block.gap)
            means.steps[h][node.end // 2**h - 2] = found / gap / share


def test_trees_have_their_variances() -> None:
    for rounds, wanted in ((16, 37.3), (64, 64.8), (256, 99.8)):
        found = Tree(1.0, rounds, 2).network(1).variances.mean()
        assert found == pytest.approx(wanted, abs=0.05), rounds
    assert Tree(1.0, 256, 4).network(1).variances.mean() == pytest.approx(189.4, abs=0.05)


# k = 2, ε = 1, three changes, 64 rounds: missing, gap; restorable or not
MISSED = {
    (0.0, None): (38.4, 38.4),
    (0.01, None): (44.5, 39.0),
    (0.05, None): (72.1, 41.6),
    (0.05, 4.0): (49.7, 40.8),
    (0.2, None): (93.6, 54.0),
}


@pytest.mark.parametrize("missed", MISSED)
def test_missed_rounds_have_their_price(missed: tuple[float, float | None]) -> None:
    missing, gap = missed
    for restorable, wanted in zip((True, False), MISSED[missed], strict=True):
        least = min(
            Steps(2, 1.0, 64, 3, values=share).network(1, missing, gap, restorable).variances.mean()
            for share in (0.5, 0.75, 1.0)
        )
        assert least == pytest.approx(wanted, abs=0.06)
    assert Steps(2, 1.0, 64, 3, missing=0.2).values == 1.0
    assert Steps(2, 1.0, 64, 3).values == 0.5


def test_rounds_are_published_online_at_a_price() -> None:
    """Compare the variances of estimates as they could be published with smoothed ones."""
    for rounds, changes, wanted in ((16, 1, 1.62), (16, 3, 1.16), (64, 1, 1.91), (64, 3, 1.62)):
        history = Steps(2, 1.0, rounds, changes)
        numbers = [
            [history._chance(node, Asked()) for node in history.nodes(r)] for r in range(rounds)
        ]
        online = [
            history._estimator.average(numbers[: r + 1]).network.variances[r] for r in range(rounds)
        ]
        smooth = history.network(1).variances
        assert np.mean(online) / smooth.mean() == pytest.approx(wanted, abs=0.006), rounds
        tally = history.simulate(np.zeros((1, rounds), np.int64), 1, counts=[10**8])
        last = [history.estimate(tally, way)[-1].std for way in (True, False)]  # type: ignore[union-attr]
        assert last[0] == pytest.approx(last[1], rel=1e-9)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "history",
    [
        *SMALL,
        Steps(20, 2.0, 8, 2, "GRR", values=0.5),
        Steps(20, 2.0, 8, 8, "GRR", "row", 0.5),
        Steps(9, 15.0, 8, 2, values=0.5),
        Tree(1.0, 11, 3),
        DDRM(1.0, 11, 3),
    ],
    ids=repr,
)
def test_reports_equal_the_reference(history: History) -> None:
    """Compare whole histories of some users with plain integers, for both engines."""
    stream, n = Stream(bytes(range(32)), position=2**33 + 5), 25
    values = np.random.default_rng(8).integers(0, history.k, (n, history.rounds))
    reports = history.randomize(values, stream)
    key = subkey(bytes(range(32)), history._label)
    for i in range(n):
        wanted = whole_history(history, key, 2**33 + 5 + i, values[i].tolist())
        for r, report in enumerate(wanted):
            sent = None if find_silent(reports[i : i + 1, r])[0] else reports[i, r].tobytes()
            assert sent == report, (i, r)


@pytest.mark.parametrize("values", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("rounds", [2, 5, 64])
def test_paths_have_their_shares(rounds: int, values: float) -> None:
    """Check kinds, rounds and rows by chi-square, with 10⁵ users and a limit of 5 deviations.

    By chance the test fails less than once in 10⁵.
    """
    n, history = 10**5, Steps(7, 1.0, rounds, 1, "GRR", "row", values)
    memory = Source.keyed(bytes(range(32)))
    drawn = history._draw_paths(memory, n)
    for found, shares in (
        (drawn.kinds, [float(kind.share) for kind in history.kinds]),
        (drawn.rounds, [1 / rounds] * rounds),
        (drawn.rows - 1, [1 / 7] * 7),
    ):
        assert 0 <= found.min() <= found.max() < len(shares)
        observed = np.bincount(found, minlength=len(shares))
        assert len(shares) == 1 or chi_square(observed, n * np.array(shares))[0] < 5
    some = np.array([n // 2, 3, 99_999])
    again = history._draw_paths(memory.at(some), 3)
    for name in ("kinds", "rounds", "rows"):
        assert (getattr(again, name) == getattr(drawn, name)[some]).all()


@pytest.mark.parametrize(
    "history", [SMALL[3], SMALL[7], SMALL[8], Tree(2.0, 4, 2), SMALL[11], SMALL[13]], ids=repr
)
def test_drawn_reports_have_their_distribution(history: History) -> None:
    """Check whole histories of 10⁵ users by chi-square, with a limit of 5 deviations."""
    n, values = 10**5, [1, 0, 0, 1][: history.rounds]
    law = history.law(values)
    reports = history.randomize(np.tile(values, (n, 1)), 3)
    rows, numbers = np.unique(reports.view(np.uint8).reshape(n, -1), axis=0, return_counts=True)
    size = history.at(0).report_bytes
    observed: dict[Any, int] = {}
    for row, number in zip(rows, numbers.tolist(), strict=True):
        parts = [row[i : i + size].tobytes() for i in range(0, len(row), size)]
        observed[tuple(None if set(each) == {255} else each for each in parts)] = number
    assert observed.keys() <= law.keys()
    counts = np.array([observed.get(each, 0) for each in law])
    assert chi_square(counts, n * np.array([float(p) for p in law.values()]))[0] < 5


def test_simulated_blocks_have_their_distribution() -> None:
    """Check the sums of two entries of a block, by chi-square with 10⁵ users."""
    block = Tree(2.0, 8, 3).kinds[0].block
    assert block is not None
    n, chain = 10**5, Chain(block, 10**5, np.random.default_rng(1))
    chain.tell()
    chain.tell()
    law: dict[int, float] = {}
    for entries, chance in block.law().items():
        law[sum(entries[:2])] = law.get(sum(entries[:2]), 0) + float(chance)
    counts = np.array([chain._users.get(margin, 0) for margin in law])
    assert chi_square(counts, n * np.array(list(law.values())))[0] < 5


# Promises of other mechanisms


@pytest.mark.parametrize("protocol", [GRR(3, 1.0), LGRR(3, 2.0, 1.0), LOSUE(4, 2.0, 1.0)], ids=repr)
def test_other_mechanisms_do_not_protect_histories(protocol: Any) -> None:
    assert protocol.privacy.history == inf and protocol.privacy.ratio_history is None


def test_chains_show_changes_with_growing_certainty() -> None:
    """Check two histories of a chain whose ratio grows with the rounds, without bound.

    The permanent answers of the values 0 and 1 are independent. Among T reports of each half, an
    observer finds out whether the permanent answer changed in the middle.
    """
    chain = LGRR(2, 3.0, 2.0)
    first = chain.permanent.law(0)
    second = {b: chain._second_chances[b == 0] for b in (0, 1)}

    def likelihood(rounds: int, changes: bool) -> float:
        """Return the probability of all 0 and then all 1, for half of the rounds each."""
        total = 0.0
        for start, chance in ((x, first[bytes([x])]) for x in range(2)):
            ends = ((x, chain.permanent.law(1)[bytes([x])]) for x in range(2))
            for end, more in ends if changes else ((start, 1),):
                one = second[0] if start == 0 else second[1]
                two = second[0] if end == 1 else second[1]
                total += float(chance * more) * float(one) ** rounds * float(two) ** rounds
        return total

    ratios = [likelihood(rounds, True) / likelihood(rounds, False) for rounds in (1, 4, 16, 64)]
    assert all(a < b for a, b in pairwise(ratios)) and ratios[-1] > 10**6


# Devices and their files

HISTORY = Steps(3, 2.0, 8, 2, values=0.5)


def answers(client: Client, values: list[int]) -> list[bytes | None]:
    found = [client.report(v, round=r) for r, v in enumerate(values)]
    return [None if each is None else each.tobytes() for each in found]


def test_a_client_survives_restarts(tmp_path: Path) -> None:
    values = [0, 1, 1, 2, 2, 2, 0, 0]
    for i in range(12):
        path = tmp_path / f"client{i}"
        first = Client.open(path, HISTORY)
        whole = answers(Client(HISTORY, first.secret), values)
        for r, value in enumerate(values):
            client = Client.open(path, HISTORY)
            found = client.report(value, round=r)
            assert (None if found is None else found.tobytes()) == whole[r]
            for other in (0, 1, 2):  # asked again, with any value
                again = Client.open(path, HISTORY).report(other, round=r)
                assert (None if again is None else again.tobytes()) == whole[r]
        reported = any(each is not None for each in whole)
        assert client.spent == (HISTORY.privacy.history if reported else 0.0)
        with pytest.raises(ValueError, match="round=3 is over: the last round of a user was 7"):
            client.report(0, round=3)


def test_a_restored_file_falls_silent_unless_it_has_room(tmp_path: Path) -> None:
    """Check the third rule on files: a copy that missed a round of its path stops."""
    narrow, roomy = Steps(2, 2.0, 8, 1, values=0.5), Steps(2, 2.0, 8, 7, values=0.5)
    stopped = kept = 0
    for history in (narrow, roomy):
        for i in range(40):
            path = tmp_path / f"{history.changes}-{i}"
            client = Client.open(path, history)
            client.report(0, round=0)
            old = path.read_bytes()
            sent = [client.report(1, round=r) for r in (1, 2, 3)]
            path.write_bytes(old)
            restored = Client.open(path, history)
            later = [restored.report(0, round=r) for r in (4, 5, 6, 7)]
            if sent[0] is not None and sent[0]["kind"] == 1:  # a path of steps of length 1
                assert later[0] is None  # the start of the step was missed
                if history is narrow:
                    assert later == [None] * 4
                    stopped += 1
                else:
                    assert all(each is not None for each in later[1:])
                    kept += 1
    assert stopped > 3 and kept > 3


def test_a_file_that_is_never_copied_may_miss_rounds(tmp_path: Path) -> None:
    history, going = Steps(2, 2.0, 8, 1, values=0.5), 0
    for i in range(40):
        client = Client.open(tmp_path / f"{i}", history, restorable=False)
        sent = [client.report(0, round=r) for r in (0, 1, 4, 5, 6, 7)]
        if sent[1] is not None and sent[1]["kind"] == 1:
            assert sent[2] is None and all(each is not None for each in sent[3:])
            going += 1
    assert going > 3
    with pytest.raises(ValueError, match="restorable=True is not the choice"):
        Client.open(tmp_path / "0", history)


def test_late_devices_start_with_their_first_round(tmp_path: Path) -> None:
    tree = Tree(2.0, 8, 2)
    for i in range(30):
        client = Client.open(tmp_path / f"{i}", tree, first_round=3)
        with pytest.raises(ValueError, match="before the first round of the users, which is 3"):
            client.report(0, round=2)
        again = Client.open(tmp_path / f"{i}", tree)  # the file knows the first round
        sent = [again.report(1, round=r) for r in range(3, 8)]
        # A value before round 3 is not known to be 0, so the first step of the path is silent
        lengths = [2 ** (int(each["kind"]) - 1) for each in sent if each is not None]
        if lengths:
            assert len(set(lengths)) == 1
            ends = [r + 4 for r, each in enumerate(sent) if each is not None]
            assert min(ends) - lengths[0] >= 4


@pytest.mark.parametrize(
    "solution",
    [
        SMP(Steps, [3, 2], epsilon=2.0, rounds=8, changes=1),
        SPL(Steps, [3, 2], epsilon=2.0, rounds=8, changes=1, protocol="GRR"),
        SMP.of([Tree(1.0, 8, 2), Once(4, 1.0, 8)]),
    ],
    ids=repr,
)
def test_solutions_over_histories(solution: Any, tmp_path: Path) -> None:
    n, rounds = 40_000, 8
    records = np.zeros((n, rounds, 2), np.int64)
    records[::2, 4:, 0] = 1
    records[::4, :, 1] = 1
    reports = solution.randomize(records, 1)
    estimates = solution.estimate(reports)
    panel = Panel(solution, n, rng=2)
    others = panel.run([records[:, r] for r in range(rounds)])
    for found in (estimates, others):
        for r, each in enumerate(found):
            for j, share in enumerate((0.5 if r > 3 else 0.0, 0.25)):
                assert abs(each[j].frequencies[1] - share) < 5 * each[j].std[1]
    stated = solution.variance(n, 0.25)
    assert stated.shape == (2, rounds)
    assert [each[1].std[1] ** 2 for each in estimates] == pytest.approx(stated[1], rel=0.2)
    losses = [each.privacy.history for each in solution.protocols]
    whole = max(losses) if solution.samples else sum(losses)
    assert solution.privacy.history == pytest.approx(whole, abs=1e-12)
    for r in (0, 3):
        own = solution.at(r)
        assert registry.from_spec(json.loads(json.dumps(registry.to_spec(own)))) == own
        sent = np.ascontiguousarray(reports[:, r])
        tally = own.tally(sent[~find_silent(sent)])
        assert Tally.from_bytes(tally.to_bytes()) == tally
        assert wire.tally(own, wire.encode(own, sent[~find_silent(sent)])) == tally
    for batch in (7, 20_000):  # any split gives the same reports
        stream = Stream(1)
        starts = range(0, 2 * batch, batch)
        parts = [solution.randomize(records[i : i + batch], stream) for i in starts]
        assert np.concatenate(parts).tobytes() == reports[: 2 * batch].tobytes()
    client = Client.open(tmp_path / "client", solution)
    whole_life = [client.report(records[0, r], round=r) for r in range(rounds)]
    again = Client.open(tmp_path / "client", solution).report([0, 0], round=7)
    assert (again is None) == (whole_life[7] is None)
    assert client.spent in (0.0, *losses, solution.privacy.history)


def test_solutions_over_histories_pass_the_checks_that_apply() -> None:
    for solution in (
        SMP(Steps, [3, 2], epsilon=2.0, rounds=8, changes=1),
        SPL(Once, [3, 2], epsilon=2.0, rounds=4),
    ):
        found = checks.check_protocol(solution)
        held = {name for name, result in found.items() if result == "holds"}
        assert held == {"bad_parameters", "equality", "spec", "documented"}


def test_histories_are_not_hidden_among_fakes() -> None:
    with pytest.raises(TypeError, match="RSFD takes protocols only"):
        RSFD(Steps, [3, 2], epsilon=1.0, rounds=8, changes=1)
    with pytest.raises(ValueError, match="same number of rounds"):
        SMP.of([Once(3, 1.0, 4), Once(3, 1.0, 8)])
    with pytest.raises(ValueError, match="same number of rounds"):
        SPL.of([Once(3, 1.0, 4), GRR(3, 1.0)])
    with pytest.raises(ValueError, match="not be nested"):
        SMP.of([SPL.of([Once(3, 1.0, 4)])])


def test_the_limit_is_kept_before_a_round_is_answered(tmp_path: Path) -> None:
    client = Client.open(tmp_path / "client", Once(2, 1.0, 2), limit=0.5)
    before = (tmp_path / "client").read_bytes()
    refused = 0
    for r in range(2):
        try:
            assert client.report(1, round=r) is None
            before = (tmp_path / "client").read_bytes()
        except LimitReached:
            refused += 1
            assert (tmp_path / "client").read_bytes() == before
    assert refused == 1 and client.spent == 0.0


def test_a_file_needs_the_round(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="round must be given"):
        Client.open(tmp_path / "client", HISTORY).report(1)
    with pytest.raises(ValueError, match="round=2 is for mechanisms with rounds"):
        Client(GRR(3, 1.0)).report(1, round=2)
    with pytest.raises(ValueError, match="round=2 is for mechanisms with rounds"):
        Panel(GRR(3, 1.0), 3, rng=1).report([0, 1, 2], round=2)
    with pytest.raises(ValueError, match="for mechanisms with rounds"):
        Client(GRR(3, 1.0), first_round=1)
    with pytest.raises(ValueError, match="value must be that of one user"):
        Client(HISTORY).report([1, 2])
    with pytest.raises(ValueError, match="round must be an integer from 0 to 7, not 8"):
        Client(HISTORY).report(1, round=8)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int64, np.uint64])
@pytest.mark.parametrize("history", [Tree(1.0, 4, 4), SMALL[4], SMALL[13], HISTORY], ids=repr)
def test_rounds_may_be_numpy_integers(history: History, kind: Any, tmp_path: Path) -> None:
    """Check that unsigned rounds do not wrap into entries of a block."""
    for i in range(20):
        secret = bytes([i]) * 32
        one, two = Client(history, secret), Client(history, secret)
        panels = [Panel(history, 50, rng=i) for _ in range(2)]
        values = np.zeros(50, np.int64)
        for r in range(history.rounds):
            found = one.report(0, round=kind(r)), two.report(0, round=r)
            sent = [None if each is None else each.tobytes() for each in found]
            assert sent[0] == sent[1]
            first, second = (
                panels[0].report(values, round=kind(r)),
                panels[1].report(values, round=r),
            )
            assert first.tobytes() == second.tobytes()
    for wrong in (1.0, "1", True):
        with pytest.raises(TypeError, match="round must be an integer"):
            one.report(0, round=wrong)  # type: ignore[arg-type]


def test_refused_rounds_change_no_part_of_a_record() -> None:
    solution = SMP.of([Steps(2, 1.0, 8, 1), Steps(3, 1.0, 8, 1)])
    panel = Panel(solution, 20, rng=3)
    ahead = int(panel._members.groups[1][0])
    panel.report([[0, 0]], users=[ahead], round=3)
    with pytest.raises(ValueError, match="round=1 is over"):
        panel.report(np.zeros((20, 2), np.int64), round=1)
    assert panel._members.parts[0].last == -1


def test_runs_begin_with_round_0() -> None:
    values = np.zeros(100, np.int64)
    panel = Panel(HISTORY, 100, rng=1)
    with pytest.raises(ValueError, match="rounds must be at most 8, not 9"):
        panel.run([values] * 9)
    assert len(panel.run([values] * 3)) == 3
    with pytest.raises(ValueError, match="round 2 was asked already"):
        panel.run([values] * 2)
    assert panel._members.last == 2


def test_reports_that_no_path_sends_are_refused() -> None:
    history = Steps(2, 1.0, 4, 1, "GRR", values=0.5)
    value, step, none = bytes([0, 1, 0]), bytes([1, 1, 1]), b"\xff" * 3
    for data in (value * 4, value + value + none * 2, none + value + step * 2):
        with pytest.raises(ValueError, match="is not a report"):
            wire.decode(history, data)
    assert len(wire.decode(history, none * 3 + value + none + step * 3)) == 2
    solution = SPL(Steps, [2, 3, 4], 3.0, rounds=8, changes=1)
    silent = b"\xff" * solution.at(0).report_bytes
    with pytest.raises(ValueError, match="is not a report"):
        wire.tally(solution.at(0), silent * 5)


def test_nothing_is_counted_without_users() -> None:
    empty: list[int] = []
    tally = Panel(Once(2, 1.0, 4), 5, rng=1).tally(empty, users=empty, round=0)
    assert tally.users == 0
    with pytest.raises(ValueError, match="at least one round"):
        HISTORY.estimate([])


# Prints how much a panel's memory grows from its 1024th to its 3072nd round.
# An interpreter of its own: other threads and caches of the tests do not count.
GROWTH = """
import gc, tracemalloc
import numpy as np
from multi_freq_ldpy import Once, Panel
panel, values, sizes = Panel(Once(3, 1.0, 3072), 50, rng=1), np.zeros(50, np.int64), []
tracemalloc.start()
for rounds in (1024, 2048):
    for _ in range(rounds):
        panel.tally(values)
    gc.collect()
    sizes.append(tracemalloc.get_traced_memory()[0])
print(sizes[1] - sizes[0])
"""


def test_panels_keep_no_rounds() -> None:
    """Check that the memory of a panel does not grow with the rounds."""
    run = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 64 * 1024


# A state, and a part of the message that refuses it
DAMAGED: dict[str, Any] = {
    "last": (99, "last"),
    "first": (-1, "first"),
    "told": ("many", "told"),
    "stopped": (2, "stopped"),
    "starts": ([7], "starts"),
    "asked": ([1, 2], "asked"),
    "answer": ("ff", "answer"),
    "restorable": (None, "restorable"),
    "more": (1, "fields"),
}


@pytest.mark.parametrize("field", DAMAGED)
def test_damaged_states_are_refused(field: str, tmp_path: Path) -> None:
    from multi_freq_ldpy.longitudinal.ledger import State

    path = tmp_path / "client"
    Client.open(path, HISTORY).report(1, round=0)
    good = path.read_bytes()
    state = State.from_bytes(good)
    wrong, message = DAMAGED[field]
    state.history[field] = wrong
    path.write_bytes(state.to_bytes())
    with pytest.raises(ValueError, match=f"cannot be used: .*{message}"):
        Client.open(path, HISTORY)
    path.write_bytes(good)
    Client.open(path, HISTORY).report(1, round=0)
    assert json.loads(good.split(b"\n")[0])["version"] == 2


@pytest.mark.parametrize(
    "fields",
    [{"answer": "00AB00"}, {"answer": "00 ab 00"}, {"stopped": 0}, {"restorable": 1}],
    ids=str,
)
def test_states_in_another_form_are_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    from multi_freq_ldpy.longitudinal.ledger import State

    path, history = tmp_path / "client", Once(300, 1.0, 4, "GRR")
    Client.open(path, history)
    state = State.from_bytes(path.read_bytes())
    state.history.update(last=0, answer="00ab00")
    path.write_bytes(state.to_bytes())
    Client.open(path, history)
    state.history.update(fields)
    path.write_bytes(state.to_bytes())
    with pytest.raises(ValueError, match="cannot be used: its state is not in the form"):
        Client.open(path, history)


KILLED = """
import os, sys
from multi_freq_ldpy import Client, Steps
from multi_freq_ldpy.longitudinal import ledger
step = int(sys.argv[2])
calls = 0
def dying(name):
    real = getattr(os, name)
    def call(*given, **named):
        global calls
        calls += 1
        if calls == step:
            os._exit(9)
        return real(*given, **named)
    return call
client = Client.open(sys.argv[1], Steps(3, 2.0, 8, 2, values=0.5))
for name in ("write", "fsync", "replace", "unlink", "open"):
    setattr(ledger.os, name, dying(name))
report = client.report(2, round=5)
print("none" if report is None else report.tobytes().hex())
"""


@pytest.mark.process
def test_a_killed_device_gives_the_same_answer_later(tmp_path: Path) -> None:
    """Kill a device at every call that changes files, then ask the same round again."""
    path = tmp_path / "client"
    for i in range(50):  # a device that reports steps of length 1
        client = Client.open(tmp_path / f"{i}", HISTORY)
        sent = [client.report(1, round=r) for r in range(5)]
        if sent[1] is not None and sent[1]["kind"] == 1:
            break
    good = (tmp_path / f"{i}").read_bytes()
    lock = (tmp_path / f"{i}.lock").read_bytes()
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    found, died = set(), 0
    for step in range(1, 12):
        path.write_bytes(good)
        path.chmod(0o600)
        (tmp_path / "client.lock").write_bytes(lock)
        (tmp_path / "client.lock").chmod(0o600)
        done = subprocess.run(
            [sys.executable, script, path, str(step)], capture_output=True, text=True, check=False
        )
        died += done.returncode == 9
        answer = Client.open(path, HISTORY).report(2, round=5)
        found.add(None if answer is None else answer.tobytes().hex())
        if done.returncode == 0:
            assert done.stdout.strip() in found
            break
    assert died > 3 and len(found) == 1


def test_panels_of_histories_can_be_pickled() -> None:
    panel = Panel(HISTORY, 1000)
    panel.report(np.zeros(1000, np.int64))
    copy = pickle.loads(pickle.dumps(panel))
    values = np.arange(1000) % 3
    assert copy.report(values).tobytes() == panel.report(values).tobytes()


def test_users_beyond_the_bound_are_counted_and_move_the_estimate() -> None:
    """Check that more changes than the bound are allowed, and bias toward no change."""
    history = Steps(2, 2.0, 16, 1, values=0.5)
    values = np.zeros((1, 16), np.int64)
    values[0, 4:8], values[0, 12:] = 1, 1
    off = []
    for seed in range(30):
        rounds = history.estimate(history.simulate(values, seed, counts=[10**6]))
        off.append([float(each.frequencies[1]) for each in rounds])  # type: ignore[union-attr]
    bias = np.mean(off, axis=0) - values[0]
    assert np.abs(bias).max() > 0.02 and np.abs(bias).max() < 0.6


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_errors_hold_if_all_users_change(epsilon: float) -> None:
    """Compare standard errors with 300 repetitions in which half rise and half fall."""
    history = Steps(2, epsilon, 4, 1, values=0.5)
    values = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])
    found, stated = [], []
    for seed in range(300):
        rounds = history.estimate(history.simulate(values, seed, counts=[1000, 1000]))
        found.append([float(each.frequencies[1]) for each in rounds])  # type: ignore[union-attr]
        stated.append([float(each.std[1]) for each in rounds])  # type: ignore[union-attr]
    ratio = np.mean(np.var(found, axis=0) / np.mean(np.square(stated), axis=0))
    assert ratio == pytest.approx(1, abs=0.2)


def test_errors_of_many_rounds_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the two ways to add up the noise of steps. For k = 2 they agree."""
    history = Steps(2, 4.0, 64, 3, values=0.5)
    values = np.zeros((2, 64), np.int64)
    values[0, 20:], values[1, 30:50] = 1, 1
    tally = history.simulate(values, 1, counts=[5000, 5000])
    few = [each.std for each in history.estimate(tally)]  # type: ignore[union-attr]
    monkeypatch.setattr(averages, "DENSE", 1)
    many = [each.std for each in history.estimate(tally)]  # type: ignore[union-attr]
    assert np.array(many) == pytest.approx(np.array(few), rel=1e-3)


def test_online_estimates_use_no_later_reports() -> None:
    history = Steps(3, 1.0, 16, 2, values=0.5)
    tally = history.simulate(np.tile([0, 1] * 8, (1, 1)), 1, counts=[10_000])
    tallies = list(tally)
    online = history.estimate(tallies, smooth=False, users=10_000)
    for r in (0, 3, 9, 15):
        last = history.estimate(tallies[: r + 1], users=10_000)[r]
        assert online[r].frequencies == pytest.approx(last.frequencies, abs=1e-9)  # type: ignore[union-attr]
        assert online[r].std == pytest.approx(last.std, rel=1e-6)  # type: ignore[union-attr]


@pytest.mark.parametrize("f", [0.0, 0.3])
def test_variances_before_collecting_are_those_of_estimates(f: float) -> None:
    """Compare for users whose values do not change, where both are exact."""
    n = 10**6
    held = round(f * n)
    for history in (Steps(2, 1.0, 16, 2), Once(3, 4.0, 16), Tree(1.0, 16, 2), Tree(4.0, 16, 2)):
        values = np.zeros((2, 16), np.int64)
        values[1] = 1
        tally = history.simulate(values, 1, counts=[n - held, held])
        found = np.array([each.std[1] ** 2 for each in history.estimate(tally)])  # type: ignore[union-attr]
        assert found == pytest.approx(history.variance(n, f), rel=0.1 if f == 0 else 0.02), history


def test_differences_between_rounds() -> None:
    """Check the standard errors of changes against 150 repetitions, within 20 per cent."""
    history = Steps(2, 1.0, 16, 2)
    values = np.array([[0] * 16, [0] * 5 + [1] * 11, [0] * 3 + [1] * 4 + [0] * 9, [1] * 16])
    for smooth in (True, False):
        changes, stated = [], []
        for seed in range(150):
            tally = history.simulate(values, seed, counts=[9000, 4000, 4000, 3000])
            rounds = history.estimate(tally, smooth)
            pairs = [rounds.difference(12, 2), rounds.difference(9, 8)]
            changes.append([each.values[1] for each in pairs])
            stated.append([each.std[1] for each in pairs])
        spread = np.std(changes, axis=0)
        assert (np.abs(np.mean(changes, axis=0) - [0.2, 0.0]) < 6 * spread / 12).all()
        assert spread == pytest.approx(np.mean(stated, axis=0), rel=0.2)
    difference = pairs[0]
    low, high = difference[1].interval()
    assert low < difference[1].value < high
    assert "in round 12" in repr(difference[1])
    with pytest.raises(IndexError, match="first must be a round from 0 to 15, not 16"):
        history.estimate(tally).difference(16, 0)
    with pytest.raises(ValueError, match="not known together"):
        Rounds([GRR(2, 1.0).estimate([0, 1])]).difference(0, 0)


@pytest.mark.statistical
def test_intervals_over_time_cover() -> None:
    """Check coverage at f ≈ 0.43 with most users changing, in 8 of 64 rounds of 100 collections.

    Rounds are correlated, so the standard error is about 0.8 per cent.
    """
    history = Steps(2, 1.0, 64, 3)
    rng, rows = np.random.default_rng(1), []
    for _ in range(30):
        row = np.full(64, int(rng.random() < 0.4))
        for t in sorted(rng.choice(np.arange(1, 64), 2, replace=False)):
            row[t:] = 1 - row[t]
        rows.append(row)
    values = np.array(rows)
    counts = rng.multinomial(20_000, np.full(30, 1 / 30))
    truth = counts @ values / 20_000
    inside = total = 0
    for seed in range(100):
        rounds = history.estimate(history.simulate(values, seed, counts=counts))
        for r in range(0, 64, 8):
            low, high = rounds[r].interval()[1]  # type: ignore[union-attr]
            inside += low <= truth[r] <= high
            total += 1
    assert inside / total == pytest.approx(0.95, abs=0.02)
