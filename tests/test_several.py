"""Tests of several attributes: constructors, errors with sampled users, tallies, tables, memory."""

import json
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    GRR,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    Estimate,
    Estimates,
    Stream,
    Tally,
    best,
    checks,
    registry,
    wire,
)
from multi_freq_ldpy.core.channel import binomial, mean_inverse
from multi_freq_ldpy.mdim_freq_est.Variance_RSpFD import (
    VAR_RSpFD_GRR,
    VAR_RSpFD_UE_rnd,
    VAR_RSpFD_UE_zero,
)

from .cases import HIDDEN, ONE_SHOT, SMALL_SOLUTIONS

# Constructors


def test_what_a_solution_is_made_of() -> None:
    assert SMP(OUE, [3, 4], 1.0).protocols == (OUE(3, 1.0), OUE(4, 1.0))
    assert (
        SMP(OUE, np.array([3, 4]), epsilon=np.float32(1))
        == SMP([OUE, OUE], (3, 4), 1)
        == SMP.of([OUE(3, 1.0), OUE(4, 1.0)])
    )
    assert SMP(lambda k, epsilon: SS(k, epsilon / 2), [3, 4], 1.0).protocols == (
        SS(3, 0.5),
        SS(4, 0.5),
    )
    assert SPL(best, [3, 60], 3.0).protocols == (GRR(3, 1.5), OUE(60, 1.5))
    assert SMP(best, [3, 60], 1.0, of=(GRR, SS)).protocols == (
        GRR(3, 1.0),
        SS(60, 1.0),
    ), "a tuple is for all attributes"
    assert SMP(best, [3, 60], 1.0, of=[(SUE,), (OUE,)]).protocols == (
        SUE(3, 1.0),
        OUE(60, 1.0),
    ), "a list has one entry per attribute"
    assert RSFD(OUE, [3, 4], 1.0, amplify=False).protocols == (OUE(3, 1.0), OUE(4, 1.0))
    assert SMP(GRR, [2, 3], 1.0) != SPL(GRR, [2, 3], 2.0)
    assert RSFD(OUE, [2, 3], 1.0) != RSFD(OUE, [2, 3], 1.0, fake="random")
    assert eval(repr(RSFD(OUE, [2, 3], 1.0, fake="random"))) == RSFD(
        OUE, [2, 3], 1.0, fake="random"
    )
    assert hash(SMP(GRR, [2, 3], 1.0)) == hash(SMP(GRR, [2, 3], 1.0))
    solution = SMP(GRR, [2, 3, 4], 1.0)
    assert (solution.d, solution.ks) == (3, (2, 3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RSFD(SHE, [2, 3], 1.0), "RSFD cannot hide SHE"),
        (lambda: RSFD(best, [2, 3], 1.0, of=(GRR, SHE)), "RSFD cannot hide SHE"),
        (
            lambda: RSFD(OUE, [2, 3], 1.0, fake="random", balance=True),
            "balance=True needs .* fake='zero'",
        ),
        (
            lambda: RSFD(OUE, [2, 3], 1.0, fake="one"),
            "fake must be one of 'zero', 'random', not 'one'",
        ),
        (lambda: RSFD(OUE, [2, 3], 1.0, amplify="no"), "amplify must be True or False"),
        (lambda: RSFD(OUE, [2, 3], 1.0, balance=None), "balance must be True or False"),
        (lambda: SMP(OUE, [2, 3], 1.0, fake="zero"), "fake"),
        (lambda: SMP(OUE, [2, 3], 1.0, 2.0, 3.0), "budget"),
        (lambda: SMP(OUE, [2, 3], 1.0, epsilon=1.0), "budget"),
        (lambda: SMP(OUE, [2, 3.5], 1.0), r"ks\[1\] must be an integer, not 3.5"),
        (lambda: SMP(OUE, 5, 1.0), "ks must be a list of domain sizes"),
        (lambda: SMP([GRR, OUE], [2, 3, 4], 1.0), "factory .* d=3"),
        (
            lambda: SPL(GRR, [10**6] * 4, 1e-12),
            r"attribute 0 of k=1000000: epsilon=.* is too small",
        ),
        (lambda: RSFD(GRR, [3, 2], 1e-300), r"attribute 0 of k=3: epsilon=1e-300 is too small"),
        (lambda: SMP.of([]), "protocols"),
        (lambda: SMP.of([GRR]), "protocols"),
        (lambda: RSFD.of([SMP(GRR, [2], 1.0)]), "RSFD takes protocols only"),
        (
            lambda: registry.from_spec({"version": 1, "protocol": "SMP", "protocols": 3}),
            "protocols",
        ),
        (
            lambda: registry.from_spec(
                {
                    "version": 1,
                    "protocol": "SMP",
                    "protocols": [{"protocol": "SMP", "protocols": []}],
                }
            ),
            "protocol",
        ),
        (
            lambda: registry.from_spec(
                {"version": 1, "protocol": "SMP", "protocols": [{"protocol": "GRR", "k": 3}]}
            ),
            "epsilon",
        ),
        (
            lambda: registry.from_spec({"version": 1, "protocol": "RSFD", "protocols": []}),
            "balance",
        ),
    ],
)
def test_wrong_parameters(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_errors_of_factories_name_the_attribute() -> None:
    for call, message in (
        (lambda: SMP(GRR, [3, 2], 1.0, theta=0.3), "factory for attribute 0 of k=3: .*theta"),
        (lambda: SMP([GRR, lambda k: k], [3, 2], 1.0), "factory for attribute 1 of k=2"),
        (lambda: SMP(GRR, [3, 2], eps=2.0), "budget .* eps"),
        (lambda: SMP.of(GRR(3, 1.0)), "protocols must be a list"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_best_compares_variances_as_they_are_among_fakes() -> None:
    """Compare the choice with that of the paper's RSpFD_ADP.

    It compares variances at f = 0, with p and q of the amplified budget.
    """
    different = 0
    for d, k, epsilon in product((2, 3, 5, 10), (2, 3, 4, 6, 8, 10, 15, 30), (0.5, 1.0, 2.0, 4.0)):
        e = d * (exp(epsilon) - 1) + 1
        grr = VAR_RSpFD_GRR(e / (e + k - 1), 1 / (e + k - 1), k, d)
        oue = VAR_RSpFD_UE_zero(0.5, 1 / (e + 1), d)
        chosen = RSFD(best, [k] * d, epsilon).protocols[0]
        assert isinstance(chosen, GRR if grr <= oue else OUE)
        different += type(chosen) is not type(best(k, chosen.epsilon))
    assert different, "some choices differ from the choices without fakes"


# Errors


@pytest.mark.statistical
def test_sampling_of_users_is_in_the_error() -> None:
    """Check the coverage of 7500 intervals at ε = 5, k = 5, d = 5 and f = 0.5.

    The tolerance is six standard deviations. Intervals without the variance of sampling cover 42 %.
    """
    solution, n, times, stream = SMP(GRR, [5] * 5, 5.0), 10_000, 1500, Stream(1)
    held = [np.array([n // 2, n // 2, 0, 0, 0])] * 5
    parts = [part for _ in range(times) for part in solution.simulate(held, stream)]
    counts, answers = (
        np.array([part.counts[0] for part in parts]),
        np.array([part.n[0] for part in parts]),
    )
    channel = solution.protocols[0].channel

    def half(users: int | None) -> tuple[float, float]:
        """Return the coverage of 0.5, and the deviation in standard errors, of all first values."""
        together = Estimate(channel.estimate(counts, answers), answers, channel, counts, users)
        low, high = together.interval().T
        return float(((low <= 0.5) & (high >= 0.5)).mean()), float(
            np.std((together.frequencies - 0.5) / together.std)
        )

    covered, deviation = half(n)
    assert abs(covered - 0.95) < 6 * (0.95 * 0.05 / len(parts)) ** 0.5
    assert deviation == pytest.approx(1, abs=6 * (0.5 / len(parts)) ** 0.5)
    assert half(None)[0] == pytest.approx(0.42, abs=0.03)
    whole = Tally(
        solution, np.concatenate([part.counts for part in parts[:5]]), np.repeat(answers[:5], 5), n
    )
    stated = [estimate.interval()[0] for estimate in solution.estimate(whole)]
    assert np.allclose(
        stated,
        Estimate(channel.estimate(counts, answers), answers, channel, counts, n).interval()[:5],
    )


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_variance_under_sampling(cls: Any) -> None:
    """Compare the stated variance with the mean over all possible numbers of answering users.

    The variance for a number of users has two parts: the noise, and the choice of the users.
    """
    solution, n, f = SMP(cls, [3, 3, 3], 1.0), 40, 0.25
    channel = solution.protocols[0].channel
    answering = [(m, float(w)) for m, w in enumerate(binomial_law(n, Fraction(1, 3)))]
    expected = sum(
        w * (channel.variance(m, f) + f * (1 - f) / m * (n - m) / (n - 1)) for m, w in answering[1:]
    ) / (1 - answering[0][1])
    assert solution.variance(n, f) == pytest.approx([expected] * 3, rel=1e-9)
    large = solution.variance([10**6, 10**9], [[0.0], [f]])
    assert large.shape == (3, 2, 2)
    assert large[0, 0] == pytest.approx(
        channel.variance(1) * 3 / np.array([10**6, 10**9]), rel=1e-5
    )
    assert solution.variance(0)[0] == float("inf")
    assert solution.variance(1, f) == pytest.approx([channel.variance(1, f)] * 3)
    for users in (29_999_000, 30_001_000):  # below and above the limit of a series
        start, law = binomial(users, 1 / 3)
        assert mean_inverse(users, 1 / 3) == pytest.approx(
            (law / np.arange(start, start + law.size)).sum(), rel=1e-13
        )


def binomial_law(n: int, p: Fraction) -> list[Fraction]:
    law = [Fraction(1)]
    for _ in range(n):
        law = [
            a + b
            for a, b in zip(
                [*((1 - p) * x for x in law), Fraction(0)],
                [Fraction(0), *(p * x for x in law)],
                strict=True,
            )
        ]
    return law


def test_variance_functions_of_the_paper_are_for_sampled_data() -> None:
    """Compare the variances of the package, for given users, with the variances of the paper.

    The difference is exactly the variance of a sample, f·(1 − f)/n.
    """
    d, n, epsilon = 3, 1000, 1.0
    for k, f in product((2, 5, 40), (0.0, 0.1, 0.5, 1.0)):
        for cls, fake in (
            (GRR, "zero"),
            (OUE, "zero"),
            (SUE, "zero"),
            (OUE, "random"),
            (SUE, "random"),
        ):
            solution = RSFD(cls, [k] * d, epsilon, fake=fake)
            p, q = float(solution.protocols[0].channel.p), float(solution.protocols[0].channel.q)
            share = 1 / k if cls is GRR else q if fake == "zero" else (p + (k - 1) * q) / k
            sigma = (q + f * (p - q) + (d - 1) * share) / d
            published = d**2 * sigma * (1 - sigma) / (n * (p - q) ** 2)
            if cls is GRR:
                ours = VAR_RSpFD_GRR(p, q, k, d, n, f)
            else:
                ours = (
                    VAR_RSpFD_UE_zero(p, q, d, n, f)
                    if fake == "zero"
                    else VAR_RSpFD_UE_rnd(p, q, k, d, n, f)
                )
            assert ours == pytest.approx(published, rel=1e-12)
            assert ours - solution.variance(n, f)[0] == pytest.approx(f * (1 - f) / n, abs=1e-12)
    curve = VAR_RSpFD_GRR(0.5, 0.1, 3, 2, np.array([1e3, 1e6]), 0.2)
    assert curve == pytest.approx([VAR_RSpFD_GRR(0.5, 0.1, 3, 2, n, 0.2) for n in (1000, 10**6)])
    for wrong in (
        {"p": 2},
        {"q": -1},
        {"k": 1},
        {"d": 0},
        {"n": -1},
        {"f": 2},
        {"p": 0.1, "q": 0.5},
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            VAR_RSpFD_GRR(**{"p": 0.5, "q": 0.1, "k": 3, "d": 2, **wrong})


GROUPED = [
    RSFD(OUE, [6, 3], 2.0),
    RSFD(OLH, [7, 3], 2.0),
    RSFD(SUE, [6, 3], 2.0, fake="random"),
    SMP(SS, [6, 3], 2.0),
]


@pytest.mark.statistical
@pytest.mark.parametrize("solution", GROUPED, ids=repr)
def test_groups_of_values(solution: Any) -> None:
    """Check the error of a group with sampling or fakes, over 3000 tallies.

    The tolerance is five standard deviations.
    """
    k = solution.ks[0]
    held = [np.array([60, 10, 0, 40, 30, 60, 10][:k]), np.zeros(3, np.int64)]
    held[1][0] = held[0].sum()
    chosen, times, stream = [0, 2, 4], 3000, Stream(6)
    truth = held[0][chosen].sum() / held[0].sum()
    groups = [
        solution.estimate(solution.simulate(held, stream))[0].group(chosen) for _ in range(times)
    ]
    found, stated = (
        np.array([g.frequencies[0] for g in groups]),
        np.array([g.std[0] for g in groups]),
    )
    assert abs(found.mean() - truth) < 5 * found.std() / times**0.5
    # Hashes of three values depend on each other
    slack = 0.1 if isinstance(solution.protocols[0], OLH) else 0.02
    assert found.var() == pytest.approx((stated**2).mean(), rel=5 * (2 / times) ** 0.5 + slack)


@pytest.mark.statistical
@pytest.mark.parametrize("solution", SMALL_SOLUTIONS, ids=repr)
def test_reports_and_simulations_agree_on_tables(solution: Any) -> None:
    """Check the estimates from reports, records and histograms, to six standard errors."""
    rng = np.random.default_rng(5)
    table = np.stack([rng.integers(0, k, 30_000) // 2 for k in solution.ks], axis=1)
    held = [np.bincount(table[:, j], minlength=k) for j, k in enumerate(solution.ks)]
    for tally in (
        solution.tally(solution.randomize(table, 1)),
        solution.simulate(table, 2),
        solution.simulate(held, rng),
    ):
        assert tally.users == 30_000
        for j, (estimate, each) in enumerate(
            zip(solution.estimate(tally), solution.leaves, strict=True)
        ):
            counts = np.bincount(each.cell_of(table[:, j]), minlength=each.cells)
            assert (np.abs(estimate.frequencies - counts / 30_000) < 6 * estimate.std + 1e-12).all()
    assert solution.simulate(table, 2) == solution.simulate(held, 2)
    nobody = solution.simulate(np.empty((0, solution.d), int))
    assert nobody.users == 0
    assert all(np.isnan(estimate.frequencies).all() for estimate in solution.estimate(nobody))


def test_simulation_of_more_users_than_numpy_samples_at_once() -> None:
    n = 3 * 10**9
    for solution in (
        SMP(OUE, [3, 2], 1.0),
        RSFD(OUE, [3, 2], 1.0),
        RSFD(GRR, [3, 2], 1.0),
        SPL(GRR, [3, 2], 1.0),
    ):
        tally = solution.simulate([[n // 2, n // 2, 0], [0, n]], 1)
        for estimate, truth in zip(
            solution.estimate(tally), ([0.5, 0.5, 0.0], [0.0, 1.0]), strict=True
        ):
            assert (np.abs(estimate.frequencies - truth) < 6 * estimate.std).all()
            assert estimate.std.max() < 1e-3


def test_histograms_or_a_table() -> None:
    solution = SMP(GRR, [2, 2], 40.0)
    assert solution.simulate(np.array([[1, 0], [1, 1], [1, 1]]), 1).users == 3
    assert solution.simulate([[5, 0], [0, 5]], 1).users == 5, "these cannot be records"
    assert solution.simulate(np.array([[1, 0], [0, 1]]), 1).users == 2, (
        "an array of d columns is a table"
    )
    assert solution.simulate([[1, 0], [0, 1], [1, 1]], 1).users == 3
    assert SMP(GRR, [3, 3], 1.0).simulate(np.array([[2, 0, 1], [0, 2, 1]]), 1).users == 3, (
        "an array of d histograms is no table"
    )
    with pytest.raises(ValueError, match="data could be d=2 records or 2 histograms"):
        solution.simulate([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="d=3 columns"):
        SMP(GRR, [3, 3, 3], 1.0).simulate([[0, [1, 2], 1], [0, 1, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match=r"same number of users .* \[3, 2\]"):
        solution.simulate([[1, 2], [1, 1]])
    with pytest.raises(ValueError, match=r"data\[1\]\[0\] = -1"):
        solution.simulate([[1, 2], [-1, 1]])
    with pytest.raises(ValueError, match=r"data\[0, 1\] = 500"):
        solution.simulate(np.array([[0, 500], [1, 1]]))


# Tallies and estimates


def test_tallies_by_attribute() -> None:
    solution = SMP([GRR, OUE], [3, 9], 1.0)
    tally = solution.tally(solution.randomize(np.zeros((1000, 2), int), 1))
    first, second = tally
    assert first.n[0] + second.n[0] == tally.users == first.users == 1000
    assert first == tally[0] == tally[-2]
    assert solution.protocols[1].estimate(second).std[0] == solution.estimate(tally)[1].std[0]
    with pytest.raises(IndexError, match="attribute must be one of 0, …, 1, not 2"):
        tally[2]
    with pytest.raises(TypeError, match="attribute"):
        tally[0:1]  # type: ignore[index]
    with pytest.raises(ValueError, match="f must have a shape"):
        solution.variance([10, 20, 30], [0.1, 0.2])
    with pytest.raises((ValueError, TypeError), match="reports"):
        solution.tally(solution.randomize(np.zeros((3, 2), int), 1).tolist())
    masked = np.ma.array(solution.randomize(np.zeros((3, 2), int), 1))
    assert solution.tally(masked).users == 3
    masked[1] = np.ma.masked
    with pytest.raises(ValueError, match=r"missing .* \[1\]"):
        solution.tally(masked)
    estimates = solution.estimate(tally)
    assert isinstance(estimates, Estimates)
    assert isinstance(estimates, tuple)
    assert len(estimates) == 2
    assert [len(f) for f in estimates.frequencies] == [3, 9]
    assert [e.method for e in estimates.norm()] == ["norm", "norm"]
    assert sum(estimates.norm_sub()[1].frequencies) == pytest.approx(1)
    assert repr(estimates).startswith(f"Estimate from {first.n[0]} of 1,000 users")
    hidden = RSFD(GRR, [3, 2], 1.0)
    tally = hidden.tally(hidden.randomize(np.zeros((1000, 2), int), 1))
    assert tally[0].n.tolist() == [1000] * 3
    assert np.array_equal(Estimate.of(tally[0]).frequencies, hidden.estimate(tally)[0].frequencies)
    assert GRR(3, 1.0).tally([0, 1])[0] == GRR(3, 1.0).tally([0, 1])
    assert json.loads(json.dumps(registry.to_spec(hidden)))["protocols"][0]["protocol"] == "GRR"


def test_impossible_tallies_are_refused() -> None:
    sampled, hidden = SMP(GRR, [2, 3], 1.0), RSFD(GRR, [2, 3], 1.0)
    right = Tally(sampled, [1, 2, 0, 3, 4], np.array([3, 3, 7, 7, 7]), 10)
    assert Tally.from_bytes(right.to_bytes()) == right
    for counts, n, users, message in (
        ([1, 2, 0, 3], [3, 3, 7, 7], 10, "counts"),
        ([1, 2, 0, 3, 4], [3, 3, 7, 7, 7], 11, "n must say"),
        ([1, 2, 0, 3, 4], [3, 2, 7, 7, 7], 10, "n must be the same"),
        ([1, 2, 0, 3, 4], 10, 10, "n must say"),
        ([1, 1, 0, 3, 4], [3, 3, 7, 7, 7], 10, "attribute 0: counts must add up to n=3"),
    ):
        with pytest.raises(ValueError, match=message):
            Tally(sampled, counts, np.array(n), users)
    with pytest.raises(ValueError, match="attribute 1: counts"):
        Tally(hidden, [1, 2, 0, 3, 1], 3)
    with pytest.raises(ValueError, match="n must say"):
        Tally(hidden, [1, 2, 0, 3, 0], 3, 4)


def test_attributes_that_nobody_reported() -> None:
    solution = SMP(OUE, [3] * 50, 1.0)
    tally = solution.tally(solution.randomize(np.zeros((5, 50), int), 1))
    estimates = solution.estimate(tally)
    silent = [j for j, part in enumerate(tally) if not part.n.any()]
    assert len(silent) >= 45
    assert np.isnan(estimates[silent[0]].frequencies).all()
    assert np.isinf(estimates[silent[0]].std).all()
    assert (estimates[silent[0]].interval() == [0, 1]).all()
    assert np.allclose(estimates.norm()[silent[0]].frequencies, 1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("make", [SPL, SMP, RSFD])
def test_many_attributes(make: Any) -> None:
    solution = make([GRR, OUE] * 150, [2, 3] * 150, 30.0)
    for law in ("batches", "encoding", "counting", "tallies", "spec", "unbiased", "coverage"):
        checks.run_check(law, solution)


# Tables


@pytest.mark.parametrize("make", [SPL, SMP, RSFD])
def test_every_kind_of_table(make: Any) -> None:
    solution = make(OUE, [3, 9], 1.0)
    rows = [[0, 8], [2, 0], [1, 5]]
    array = np.array(rows)
    expected = solution.randomize(rows, 1).tobytes()
    tuples = [tuple(row) for row in rows]
    for same in (
        array,
        array.astype(np.uint8),
        array.astype(">i4"),
        np.asfortranarray(array),
        tuples,
        list(array),
        array.astype(object),
    ):
        assert solution.randomize(same, 1).tobytes() == expected
    assert solution.randomize(np.ma.array(array), 1).tobytes() == expected
    nobody = solution.randomize(np.ma.array(array[:0]))
    assert len(nobody) == solution.tally(np.ma.array(nobody)).users == 0
    one = solution.randomize(rows[0], 1)
    assert one.tobytes() == expected[: solution.report_bytes]
    assert solution.tally(one).users == 1
    assert wire.decode(solution, wire.encode(solution, one)).tobytes() == one.tobytes()
    assert len(solution.randomize([])) == len(solution.randomize(np.empty((0, 2)))) == 0
    assert np.array_equal(array, rows), "the caller's table has changed"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            [[0, 0, 0], [0, 0, 4]],
            r"table\[1, 2\] = 4 is outside \[0, 3\]: attribute 2 of row 1 has k=4 values",
        ),
        ([[0, 0, 0], [-1, 0, 0]], r"table\[1, 0\] = -1 is outside \[0, 1\]: attribute 0 of row 1"),
        (
            [[0, 0, 0], [0, None, 0]],
            r"table\[1, 1\] = None: attribute 1 of row 1 must be an integer from 0 to 2",
        ),
        ([[0, 0, 0], [0, float("nan"), 0]], r"table\[1, 1\] = nan: attribute 1 of row 1"),
        ([[0, 0, 0], [0, 2.0, 0]], r"table\[1, 1\] = 2.0: attribute 1 of row 1"),
        ([[0, 0, 0], [0, [1], 0]], r"row 1 is \[0, \[1\], 0\]"),
        ([[0, 0, 0]] * 9999 + ["abc"], r"row 9999 is 'abc'"),
        ([[0, 0, 0], [0, 1, "no"]], r"table\[1, 2\] = 'no': attribute 2 of row 1"),
        (np.array([[0, 0, 0], [0, 1, np.nan]]), r"table\[1, 2\] = .*nan.*: attribute 2 of row 1"),
        (
            np.ma.array([[0, 0, 0], [0, 1, 2]], mask=[[0, 0, 0], [0, 1, 0]]),
            r"table has missing .* \[1, 1\]",
        ),
        ([[0, 0], [0, 0]], r"table must have d=3 columns, one per attribute; not shape \(2, 2\)"),
        (
            [[0, 0, 0], [0, 0], [0, 0, 0]],
            r"table must have d=3 columns, one per attribute; row 1 is \[0, 0\]",
        ),
        ([0, 0], r"table must have d=3 columns, one per attribute; not shape \(2,\)"),
        (np.zeros((2, 3, 1), int), r"not shape \(2, 3, 1\)"),
        (7, "table must have d=3 columns"),
        ("abc", "table must have d=3 columns"),
        (None, "table must have d=3 columns"),
        ({"a": [0]}, "table must have d=3 columns"),
        ([[0, 0, 2**70]], r"table\[0, 2\] = 1180591620717411303424"),
        (
            np.array([[0, 0, 2**64 - 1]], np.uint64),
            r"table\[0, 2\] = 18446744073709551615 is outside",
        ),
        (np.zeros((2, 3), bool), r"table\[0, 0\] = False"),
        (np.zeros((2, 3)), r"table\[0, 0\] = 0.0"),
    ],
)
def test_wrong_tables(table: Any, message: str) -> None:
    stream = Stream(1)
    for make in (SPL, SMP, RSFD):
        solution = make(GRR, [2, 3, 4], 1.0)
        with pytest.raises((ValueError, TypeError), match=message):
            solution.randomize(table, stream)
        with pytest.raises((ValueError, TypeError)) as refused:
            solution.randomize(table, stream)
        assert len(str(refused.value)) < 500, "the message must be short"
        with pytest.raises((ValueError, TypeError), match=message.replace("table", "data")):
            solution.simulate(table, stream)
    assert stream.position == 0, "no report was drawn"


def test_law_of_a_record() -> None:
    solution = RSFD(GRR, [2, 3], 1.0)
    assert solution.law([1, 2]) == solution.law(np.array([1, 2]))
    for wrong in ([1], [[1, 2]], [1, 3], 1, None):
        with pytest.raises((ValueError, TypeError), match="record"):
            solution.law(wrong)
    for large in (SPL(OUE, [9, 12], 1.0), RSFD(GRR, [2000, 2000], 1.0), SMP(OUE, [30, 2], 1.0)):
        with pytest.raises(ValueError, match="cannot be listed"):
            large.law([0, 0])


@pytest.mark.parametrize("epsilon", [0.001, 50.0])
@pytest.mark.parametrize("make", [SPL, SMP, RSFD])
@pytest.mark.parametrize("cls", HIDDEN)
def test_extreme_budgets_of_solutions(make: Any, cls: Any, epsilon: float) -> None:
    solution = make(cls, [2, 7, 100], epsilon)
    table = np.stack([np.arange(3000) % k for k in solution.ks], axis=1)
    for j, estimate in enumerate(solution.estimate(solution.randomize(table, 1))):
        truth = np.bincount(table[:, j], minlength=solution.ks[j]) / 3000
        assert (
            np.abs(estimate.frequencies - truth)
            < 6 * solution.variance(3000, truth)[j] ** 0.5 + 1e-9
        ).all()
        assert np.isfinite(estimate.interval()).all()


@pytest.mark.slow
def test_a_million_values_beside_two() -> None:
    for solution in (
        SMP(best, [10**6, 2], 12.0),
        RSFD([OLH, GRR], [10**6, 2], 12.0),
        SPL([GRR, OUE], [10**6, 2], 24.0),
    ):
        table = np.array([[999_999, 1]] * 4000)
        estimates = solution.estimate(solution.randomize(table, 1))
        assert estimates[0].frequencies.argmax() == 999_999
        assert estimates[1].frequencies[1] == pytest.approx(1, abs=6 * estimates[1].std[1] + 1e-9)


MEMORY = """
import pathlib
import resource
import numpy as np
from multi_freq_ldpy import OUE, GRR, RSFD, SMP, SPL, Stream
records = np.stack([np.arange(500_000) % k for k in (2, 5, 10, 20, 50)], axis=1)
for make in (SPL, SMP, RSFD):
    solution, stream = make([GRR, GRR, OUE, OUE, OUE], [2, 5, 10, 20, 50], 2.0), Stream()
    tally = solution.tally(solution.randomize(records, stream) for _ in range(20))
    assert tally.users == 10_000_000
status = pathlib.Path("/proc/self/status")  # elsewhere, ru_maxrss includes the parent
lines = status.read_text().splitlines() if status.exists() else []
peak = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print(*peak or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])
"""


@pytest.mark.process
def test_ten_million_records_of_five_attributes_within_a_gibibyte() -> None:
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 2**20


def test_sampled_attributes_are_uniform_and_do_not_depend_on_the_record() -> None:
    """Count the attributes that a million users sample, for two records.

    The tolerance is six standard deviations.
    """
    for solution in (SMP(GRR, [2, 2, 2], 1.0), RSFD(GRR, [2, 2, 2], 1.0)):
        for record in ([0, 0, 0], [1, 0, 1]):
            table = np.tile(record, (10**6, 1))
            reports = solution.randomize(table, 3)
            if isinstance(solution, SMP):
                found = np.bincount(reports["attribute"], minlength=3) / 10**6
                assert np.abs(found - 1 / 3).max() < 6 * (2 / 9 / 10**6) ** 0.5
            else:
                p, q = (
                    float(solution.parts[0][0].channel.p),
                    float(solution.parts[0][0].channel.q),
                )
                same = [(reports[f"a{j}"] == record[j]).mean() for j in range(3)]
                assert np.abs(np.array(same) - p).max() < 6 * (p * q / 10**6) ** 0.5


# Builds solutions over the largest domains. An interpreter of its own can be stopped if it hangs.
LARGEST = """
from multi_freq_ldpy import GRR, HR, OLH, OUE, RSFD, SMP, SPL, SS, SUE
for cls in (GRR, HR, OLH, OUE, SS, SUE):
    for solution in (SPL, SMP, RSFD):
        assert solution.of([cls(2**31 - 1, 1.0), GRR(3, 1.0)]).privacy.report > 0.5
"""


@pytest.mark.process
def test_large_domains_are_derived_at_once() -> None:
    subprocess.run([sys.executable, "-c", LARGEST], check=True, timeout=60)
