"""Tests of estimates and their errors, with fixed seeds.

Each comparison rejects at five standard deviations (6·10⁻⁷) or more.
"""

import pickle
from functools import partial, reduce
from math import comb
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    OLH,
    OUE,
    SHE,
    SS,
    SUE,
    THE,
    Affine,
    Estimate,
    Stream,
    Tally,
    wire,
)
from multi_freq_ldpy.checks.measures import (
    group_law,
    measure_between,
    measure_coverage,
    measure_difference,
    measure_few,
)
from multi_freq_ldpy.core.channel import binomial, convolve
from multi_freq_ldpy.estimation import intervals, postprocess
from multi_freq_ldpy.protocol import OneShot

from .cases import ONE_SHOT


@pytest.mark.statistical
@pytest.mark.parametrize("cls", ONE_SHOT)
def test_moments_of_millions_of_reports(cls: type[OneShot]) -> None:
    """Check the moments of millions of reports: half a per cent is five standard deviations."""
    protocol = cls(4, 1.0)
    n, batch = 3 * 10**6 if cls is not SHE else 10**6, 10**6  # exact noise takes longer to draw
    first, second = np.zeros(4), np.zeros(4)
    fourth = np.zeros(4)
    stream = Stream(77)
    for _ in range(n // batch):
        contributed = protocol.contributions(
            protocol.randomize(np.zeros(batch, np.int64), stream)
        ).astype(np.float64)
        first += contributed.sum(axis=0)
        second += (contributed**2).sum(axis=0)
        fourth += (contributed**4).sum(axis=0)
    channel = protocol.channel
    for v in range(4):
        mean, square = (channel.p, channel.p2) if v == 0 else (channel.q, channel.q2)
        assert mean is not None
        assert square is not None
        assert abs(first[v] / n - float(mean)) < 5 * np.sqrt((float(square) - float(mean) ** 2) / n)
        assert abs(second[v] / n - float(square)) < 5 * np.sqrt(
            (fourth[v] / n - (second[v] / n) ** 2) / n
        )
        assert second[v] / n == pytest.approx(float(square), rel=0.01)


# Small counts, large counts, and cases where the normal distribution is furthest from the exact one
GRID = [
    (cls, k, epsilon, n)
    for cls in (GRR, OLH, SS, SUE, OUE, THE, BLH)
    for k, epsilon, n in (
        (2, 1.0, 300),
        (10, 1.0, 1000),
        (10, 3.0, 5000),
        (100, 1.0, 10000),
        (100, 6.0, 2000),
        (100, 6.0, 100),
        (5, 8.0, 3000),
    )
] + [(SHE, 10, 1.0, n) for n in (1, 3, 20, 49, 50, 1000)]


@pytest.mark.statistical
@pytest.mark.parametrize("of", ["sample", "population"])
@pytest.mark.parametrize(("cls", "k", "epsilon", "n"), GRID)
def test_intervals_cover(cls: type[OneShot], k: int, epsilon: float, n: int, of: str) -> None:
    """Compute the exact coverage of 95 % intervals, without drawing reports."""
    channel = cls(k, epsilon).channel
    for f in (0.0, 0.1, 0.5):
        if of == "sample" and n * f != round(n * f):
            f = round(n * f) / n
        covered = measure_coverage(channel, n, n, f, of, points=max(2 * n, 150))
        assert covered > 0.94, f"f={f}"
        if n > intervals.FEW and n * float(channel.spread[1]) >= intervals.SMALL:
            assert covered < 0.96, f"f={f}"


@pytest.mark.statistical
@pytest.mark.parametrize("cls", [GRR, OUE, SS, OLH])
def test_intervals_of_estimates_cover(cls: type[OneShot]) -> None:
    """Check the coverage through the public methods: simulate, estimate, interval."""
    protocol = cls(4, 1.0)
    held, times = np.array([0, 100, 500, 400]), 1000
    stream = Stream(5)
    each = [protocol.estimate(protocol.simulate(held, stream)) for _ in range(times)]
    # One estimate for all repetitions: an interval depends on its own count only
    counts, frequencies = (
        np.concatenate([getattr(one, name) for one in each]) for name in ("counts", "frequencies")
    )
    together = Estimate(frequencies, 1000, protocol.channel, counts, 1000).interval()
    limits = together.reshape(times, 4, 2)
    assert ((limits >= 0) & (limits <= 1)).all()
    assert (limits[:, :, 0] <= limits[:, :, 1]).all()
    assert all(np.array_equal(limits[i], each[i].interval()) for i in range(20))
    covered = ((limits[:, :, 0] <= held / 1000) & (held / 1000 <= limits[:, :, 1])).mean(axis=0)
    assert np.abs(covered - 0.95).max() < 0.01 + 5 * np.sqrt(0.95 * 0.05 / times)


@pytest.mark.parametrize(
    ("epsilon", "k", "n"),
    [
        *((3.0, 5, 300), (5.0, 5, 300), (8.0, 5, 300), (5.0, 50, 300)),
        *((5.0, 50, 220), (6.0, 5, 400), (6.0, 50, 600), (5.0, 5, 1000)),
    ],
)
def test_intervals_cover_where_only_large_frequencies_are_certain(
    epsilon: float,
    k: int,
    n: int,
) -> None:
    """Compute the exact coverage for BLH with large budgets, without drawing reports.

    The variance of a count falls from 50 to nearly 0 as f grows. For counts with so small a
    variance, the normal distribution covers less than 93 % at some of these sizes. The exact
    distribution covers 97 %.
    """
    channel = BLH(k, epsilon).channel
    for f in (0.0, 0.1, 0.5, 0.8, 0.95, 0.97, 0.99, 1.0):
        f = round(n * f) / n
        covered = measure_coverage(channel, n, n, f, "sample")
        assert covered > 0.94, f"f={f}"
        assert covered < 0.96 or f > 0.5, f"f={f}"


@pytest.mark.parametrize("n", [20, 70, 200])
def test_few_reports_cover(n: int) -> None:
    """Check that 95 % intervals cover at least 95 % for all counts, and below 97 % on average.

    Limits with half of the error on either side cover 98.5 % on average.
    """
    covered = [
        each
        for protocol in (GRR(2, 6.0), GRR(10, 1.0), GRR(100, 3.0), OUE(10, 1.0), SS(100, 0.5))
        for of in ("sample", "population")
        for each in measure_few(protocol.channel, n, of)
    ]
    assert min(covered) >= 0.95 - 1e-6
    assert np.mean(covered) < 0.97


@pytest.mark.parametrize(
    ("protocol", "n", "f", "level", "of"),
    [
        (OUE(2, 0.01), 187, 58 / 187, 0.5, "sample"),
        (GRR(2, 0.01), 87, 54 / 87, 0.6, "sample"),
        (SS(10, 0.05), 14, 5 / 14, 0.5, "sample"),
        (THE(2, 5.0), 147, 0.1208482029592127, 0.95, "population"),
        (OUE(2, 20.0), 165, 0.2666666626105219, 0.95, "population"),
        (GRR(3, 10.0), 122, 0.9468048595931683, 0.9, "population"),
    ],
)
def test_no_parameter_is_stepped_over(
    protocol: Any, n: int, f: float, level: float, of: str
) -> None:
    """Check cases where the frequencies that fit are no interval: a coarse search misses some."""
    channel = protocol.channel
    start, law = channel.count_law(n, f, sampled=of == "population")
    counts = start + np.arange(law.size)
    low, high = intervals.limits(channel.estimate(counts, n), counts, n, n, channel, level, of).T
    assert law[(low <= f + 1e-12) & (f - 1e-12 <= high)].sum() >= level - 1e-9


@pytest.mark.parametrize(("protocol", "most"), [(OUE(8, 1.0), 0.97), (SS(8, 0.5), 1.0)])
def test_few_reports_of_groups_cover(protocol: Any, most: float) -> None:
    """Check coverage with the distribution of the listed reports, not that of the channel."""
    for of in ("sample", "population"):
        law = partial(group_law, protocol, 3, sampled=of == "population")
        covered = measure_few(protocol.channel.group(3), 50, of, law)
        assert min(covered) >= 0.95 - 1e-6
        assert np.mean(covered) < most


@pytest.mark.parametrize(
    ("protocol", "n", "shares", "of"),
    [
        (GRR(10, 6.0), 30, (0.1, 0.0), "sample"),
        (GRR(3, 4.0), 40, (0.3, 0.3), "sample"),
        (GRR(10, 3.0), 15, (0.5, 0.1), "population"),
        (OUE(10, 3.0), 20, (0.5, 0.1), "sample"),
        (SS(20, 1.0), 20, (0.0, 0.0), "sample"),
    ],
)
def test_differences_of_few_reports_cover(
    protocol: Any, n: int, shares: tuple[float, float], of: str
) -> None:
    """Compute the exact coverage. Limits of a normal distribution cover 83 % in the first case."""
    assert 0.945 < measure_difference(protocol.channel, n, shares, of) < 0.995


@pytest.mark.parametrize(
    ("protocol", "shares", "of"),
    [(GRR(3, 2.0), (0.5, 0.1), "sample"), (GRR(3, 4.0), (0.1, 0.0), "population")],
)
def test_differences_between_few_users_cover(
    protocol: Any, shares: tuple[float, float], of: str
) -> None:
    assert 0.945 < measure_between(protocol.channel, (10, 20), shares, of) < 0.99


@pytest.mark.parametrize(
    ("protocol", "sizes"),
    [(GRR(8, 1.0), (2, 3)), (OUE(6, 1.0), (1, 2)), (SS(8, 0.5), (1, 1)), (OLH(7, 1.0), (1, 1))],
)
@pytest.mark.parametrize("sampled", [False, True])
def test_laws_of_differences(protocol: Any, sizes: tuple[int, int], sampled: bool) -> None:
    """Compare the distribution of a difference of counts with that of the listed reports."""
    one, two = sizes
    n, shares = 5, (0.4, 0.2)
    start, law = protocol.channel.difference_law(sizes, n, shares, sampled=sampled)
    laws = []
    for value in (0, one, one + two):
        reports = protocol.law(value)
        supported = protocol._supports(wire.decode(protocol, b"".join(reports))).astype(int)
        difference = supported[:, :one].sum(axis=1) - supported[:, one : one + two].sum(axis=1)
        chances = np.array([float(each) for each in reports.values()])
        laws.append(np.bincount(difference + two, weights=chances, minlength=one + two + 1))
    users = [laws[0], laws[0], laws[1], laws[2], laws[2]]
    if sampled:
        users = [0.4 * laws[0] + 0.2 * laws[1] + 0.4 * laws[2]] * n
    expected = reduce(np.convolve, users)
    found = np.zeros(expected.size)
    found[start + n * two : start + n * two + law.size] = law[: expected.size]
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


FEW: list[tuple[Any, int, int, int]] = [
    (GRR(4, 8.0), 1, 10, 30),
    (GRR(4, 8.0), 1, 40, 4000),
    (GRR(4, 3.0), 1, 20, 40),
    (OLH(10, 6.0), 1, 40, 120),
    (SUE(10, 8.0), 1, 100, 300),
    (SUE(10, 10.0), 2, 100, 3000),
]


@pytest.mark.parametrize(("protocol", "m", "n", "users"), FEW)
def test_intervals_cover_where_few_users_were_sampled(
    protocol: Any,
    m: int,
    n: int,
    users: int,
) -> None:
    """Compute the exact coverage if n of the users answered, where any n are equally likely.

    The frequency f is the share of m values among all users. The number of holders among the n
    users is hypergeometric, and the noise is binomial. With little noise, limits without the
    variance of sampling would cover 13 %.
    """
    single, channel = protocol.channel, protocol.channel.group(m) if m > 1 else protocol.channel
    counts = np.arange(m * n + 1)
    frequencies = channel.estimate(counts, n)
    low, high = Estimate(frequencies, n, channel, counts, users).interval().T
    for held in (0, users // 10, users // 3, users // 2, users - users // 10):
        law, f = np.zeros(m * n + 1), held / users
        for own in range(max(0, n - users + held), min(n, held) + 1):
            chance = comb(held, own) * comb(users - held, n - own) / comb(users, n)
            supported = binomial(own, float(single.p))
            others = binomial(own * (m - 1) + (n - own) * m, float(single.q))
            part, start = convolve(supported[1], others[1]), supported[0] + others[0]
            law[start : start + part.size] += chance * part
        assert law.sum() == pytest.approx(1)
        assert law[(low <= f) & (f <= high)].sum() > 0.94, f"f={f}"


@pytest.mark.parametrize(
    ("m", "epsilon", "n", "f"),
    [(3, 5.0, 10, 0.0), (2, 5.0, 49, 0.0), (3, 3.0, 1, 0.0), (2, 1.0, 5, 0.0), (3, 3.0, 20, 0.5)],
)
def test_intervals_of_groups_cover_for_few_reports(
    m: int, epsilon: float, n: int, f: float
) -> None:
    protocol, own = OUE(10, epsilon), round(n * f)
    p, q = float(protocol.channel.p), float(protocol.channel.q)
    parts = [binomial(own, p), binomial(own * (m - 1) + (n - own) * m, q)]
    start, law = sum(part[0] for part in parts), convolve(parts[0][1], parts[1][1])
    counts = start + np.arange(law.size)
    channel = protocol.channel.group(m)
    limits = intervals.limits(channel.estimate(counts, n), counts, n, n, channel, 0.95, "sample")
    assert law[(limits[:, 0] <= f) & (f <= limits[:, 1])].sum() > 0.94


def test_no_interval_shrinks_to_a_point() -> None:
    for protocol, counts in (
        (GRR(10, 1.0), [9, 22, 22] + [21] * 7),
        (GRR(100, 1.0), [8, *np.repeat([20, 21], [87, 12])]),
    ):
        n = sum(counts)
        limits = protocol.estimate(Tally(protocol, np.array(counts), n)).interval()
        assert limits[0, 0] == 0
        assert (limits[:, 1] - limits[:, 0] > 0.01).all()


def test_wider_levels_contain_narrower_ones() -> None:
    estimate = OUE(20, 1.0).estimate(OUE(20, 1.0).randomize(np.arange(2000) % 5, 3))
    narrow, wide = estimate.interval(0.5), estimate.interval(0.999)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()
    assert (estimate.interval(of="population")[:, 1] >= estimate.interval()[:, 1] - 1e-12).all()
    for wrong in (0, 1, -0.5, 1.5, "0.95", None, float("nan"), 1e-300, 1 - 1e-16):
        with pytest.raises(ValueError, match="level"):
            estimate.interval(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'everyone'"):
        estimate.interval(of="everyone")


def test_sampled_users_widen_the_error() -> None:
    """Check the variance that is added if n of the users answered at random.

    It is f(1 − f)/n·(users − n)/(users − 1).
    """
    channel = Affine(0.9, 0.1)
    part = Estimate(np.array([0.5]), 100, channel, np.array([50]), users=500)
    whole = Estimate(np.array([0.5]), 100, channel, np.array([50]), users=100)
    assert part.std[0] ** 2 - whole.std[0] ** 2 == pytest.approx(0.25 / 100 * 400 / 499)
    assert part.totals[0] == 250


@pytest.mark.statistical
@pytest.mark.parametrize("cls", ONE_SHOT)
def test_groups_have_the_right_error(cls: type[OneShot]) -> None:
    protocol, held = cls(7, 1.0), np.array([50, 10, 0, 40, 30, 60, 10])
    times, stream = 3000, Stream(6)
    chosen = [0, 2, 5]
    found = np.array(
        [
            protocol.estimate(protocol.simulate(held, stream)).frequencies[chosen].sum()
            for _ in range(times)
        ]
    )
    stated = protocol.estimate(protocol.simulate(held * 10**4, 1)).group(chosen)
    assert abs(found.mean() - 0.55) < 5 * found.std() / times**0.5
    assert found.var() == pytest.approx(stated.std[0] ** 2 * 10**4, rel=5 * (2 / times) ** 0.5)
    everyone = protocol.estimate(protocol.simulate(held, 1)).group(range(7))
    assert everyone.interval().shape == (1, 2)


def test_group_refuses_what_is_no_group() -> None:
    estimate = GRR(4, 1.0).estimate([0, 1, 2])
    for wrong in ([], [0, 0], [4], [-1], ["a"], [[1]], 1):
        with pytest.raises((ValueError, TypeError), match="values"):
            estimate.group(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="group"):
        estimate.norm().group([1])
    with pytest.raises(ValueError, match="group"):
        Affine(0.5, 0.25).group(2)


def test_nobody_and_one() -> None:
    for cls in ONE_SHOT:
        protocol = cls(3, 1.0)
        nobody = protocol.estimate(protocol.tally(protocol.randomize([])))
        assert np.isnan(nobody.frequencies).all()
        assert np.isinf(nobody.std).all()
        assert (nobody.interval() == [0, 1]).all()
        assert np.isnan(nobody.totals).all()
        assert np.allclose(nobody.norm().frequencies, 1 / 3)
        assert np.allclose(nobody.norm_sub().frequencies, 1 / 3)
        assert np.allclose(protocol.em(protocol.randomize([])).frequencies, 1 / 3)
        one = protocol.estimate(protocol.randomize([1], 1))
        assert one.n.tolist() == [1] * protocol.k
        assert np.isfinite(one.std).all()
        assert one.interval().shape == (3, 2)
    assert np.allclose(GRR(3, 1.0).estimate([]).mle().frequencies, 1 / 3)


def test_estimate_is_an_array() -> None:
    estimate = GRR(3, 1.0).estimate([0, 0, 1, 2])
    assert np.array_equal(np.asarray(estimate), estimate.frequencies)
    assert np.asarray(estimate, np.float32).dtype == np.float32
    assert len(estimate) == 3
    assert estimate.totals.sum() == pytest.approx(4)
    with pytest.raises(ValueError, match="read-only"):
        estimate.frequencies[0] = 1


def test_what_is_counted_and_estimated_pickles() -> None:
    tally = SS(9, 1.0).simulate(np.arange(9), 1)
    assert pickle.loads(pickle.dumps(tally)) == tally
    estimate = SS(9, 1.0).estimate(tally)
    copy = pickle.loads(pickle.dumps(estimate))
    assert np.array_equal(copy.interval(), estimate.interval())
    assert copy.channel == estimate.channel
    assert pickle.loads(pickle.dumps(SHE(9, 1.0).channel)) == SHE(9, 1.0).channel
    assert pickle.loads(pickle.dumps(SS(9, 1.0).privacy)) == SS(9, 1.0).privacy


def test_postprocessed_estimates_carry_no_error() -> None:
    estimate = GRR(3, 1.0).estimate([0, 0, 1, 2])
    for processed in (
        estimate.norm(),
        estimate.norm_sub(),
        estimate.mle(),
        GRR(3, 1.0).em([0, 0, 1, 2]),
    ):
        assert processed.frequencies.sum() == pytest.approx(1)
        assert (processed.frequencies >= 0).all()
        for ask in (lambda p: p.std, lambda p: p.interval(), lambda p: p.norm()):
            with pytest.raises(ValueError, match=processed.method):
                ask(processed)
    with pytest.raises(ValueError, match="mle"):
        OUE(3, 1.0).estimate(OUE(3, 1.0).randomize([0, 1], 1)).mle()


def test_projection_is_the_nearest_distribution() -> None:
    generator = np.random.default_rng(1)
    for _ in range(50):
        raw = generator.normal(0.2, 0.4, 6)
        projected = postprocess.norm_sub(raw)
        assert projected.sum() == pytest.approx(1)
        assert (projected >= 0).all()
        others = generator.dirichlet(np.ones(6), 2000)
        assert ((others - raw) ** 2).sum(axis=1).min() >= ((projected - raw) ** 2).sum() - 1e-12
    assert np.allclose(postprocess.norm(np.array([-1.0, -2.0])), 0.5)


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_maximum_likelihood(cls: type[OneShot]) -> None:
    """Check that no other distribution has a higher likelihood, and the closed form for GRR."""
    protocol = cls(4, 1.5)
    reports = protocol.randomize(np.repeat([0, 1, 2], [150, 100, 50]), 4)
    found = protocol.em(reports, tol=1e-6).frequencies
    supports, ratio = protocol._supports(reports), float(protocol.ratio)

    def likelihood(f: np.ndarray) -> float:
        return float(np.log(1 + (ratio - 1) * (supports @ f)).sum())

    generator = np.random.default_rng(2)
    nearby = [
        (1 - step) * found + step * other
        for step in (0.001, 0.01, 0.3)
        for other in generator.dirichlet(np.ones(4), 200)
    ]
    assert max(map(likelihood, nearby)) <= likelihood(found) + 2e-6
    if cls is GRR:
        assert np.allclose(protocol.estimate(reports).mle().frequencies, found, atol=1e-4)
        # Two frequencies become 0, which changes the other frequencies
        few = protocol.randomize(np.repeat([0, 1], [150, 5]), 4)
        closed = protocol.estimate(few).mle().frequencies
        assert (closed == 0).sum() == 2 and np.allclose(
            closed, protocol.em(few, tol=1e-6).frequencies, atol=1e-4
        )


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.3, 1.0, 3.0])
def test_maximum_likelihood_is_reached_for_small_budgets(epsilon: float) -> None:
    protocol = GRR(10, epsilon)
    tally = protocol.simulate(np.array([30, 20, 15, 10, 10, 5, 5, 3, 2, 0]) * 10**4, 1)
    found = protocol.em(np.repeat(np.arange(10), tally.counts)).frequencies
    assert (
        np.abs(found - protocol.estimate(tally).mle().frequencies).max()
        < 1e-3 * protocol.variance(10**6) ** 0.5 + 1e-6
    )
    with pytest.warns(RuntimeWarning, match="converged"):
        protocol.em(np.repeat(np.arange(10), tally.counts), iterations=1)


@pytest.mark.parametrize("epsilon", [1e-17, 1e-15, 1e-12, 1e-3])
def test_tiny_budgets_keep_their_digits(epsilon: float) -> None:
    estimate = GRR(3, epsilon).estimate([0] * 60 + [1] * 25 + [2] * 15)
    for processed in (estimate.norm(), estimate.norm_sub(), estimate.mle()):
        assert processed.frequencies.sum() == pytest.approx(1)
        assert processed.frequencies.argmax() == 0
    assert np.allclose(estimate.norm_sub().frequencies, [1, 0, 0])


def test_likelihood_ratio_is_that_of_the_law() -> None:
    """Check the assumption of em: two likelihoods of a report differ by ``ratio`` or not at all.

    They differ if and only if the report supports exactly one of the two values.
    """
    for cls in ONE_SHOT:
        if cls is SHE:
            continue
        protocol = cls(3, 1.0)
        laws = [protocol.law(v) for v in range(3)]
        reports = protocol._as_reports(
            np.frombuffer(b"".join(laws[0]), protocol.report_dtype, count=len(laws[0]))
        )
        for report, supported in zip(laws[0], protocol._supports(reports), strict=True):
            for u in range(3):
                for v in range(3):
                    expected = {
                        (True, False): protocol.ratio,
                        (False, True): 1 / protocol.ratio,
                    }.get((supported[u], supported[v]), 1)
                    assert laws[u][report] / laws[v][report] == expected


def test_em_in_slices_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = OUE(8, 1.0)
    reports = protocol.randomize(np.arange(400) % 3, 8)
    whole = protocol.em(reports).frequencies
    original = OUE._supports
    calls = []

    def supports(self: OUE, part: Any) -> Any:
        calls.append(len(part))
        return original(self, part)

    monkeypatch.setattr(OUE, "_supports", supports)
    monkeypatch.setattr(postprocess, "SLICE", 8 * 10)
    assert np.allclose(protocol.em(reports).frequencies, whole, atol=1e-6)
    assert max(calls) <= 10


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_estimates_are_unbiased_where_frequencies_differ(cls: type[OneShot]) -> None:
    protocol = cls(6, 0.7)
    held = np.array([0, 5, 50, 300, 645, 0]) * 200
    estimate = protocol.estimate(protocol.randomize(np.repeat(np.arange(6), held), 9))
    assert (np.abs(estimate.frequencies - held / held.sum()) < 5 * estimate.std).all()
