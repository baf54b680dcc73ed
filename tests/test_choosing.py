"""Tests of choosing a protocol: comparisons, recommendations, sample sizes and budgets."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    DDRM,
    GRR,
    LGRR,
    LOSUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    DBitFlipPM,
    Once,
    Steps,
    Stream,
    Tree,
    compare,
    datasets,
    epsilon_for,
    recommend,
    sample_size,
)

from .cases import CHAINS, ONE_SHOT

VALUES = np.repeat(np.arange(20), np.arange(20) * 10)


@pytest.mark.statistical
def test_errors_are_those_of_theory() -> None:
    """Compare the mean error of 300 repetitions with the expected error, for every mechanism.

    The difference must be less than five standard deviations of the mean.
    """
    found = [*compare(ONE_SHOT, VALUES, [0.5, 2.0], repeats=300, rng=1)]
    found += compare(CHAINS, VALUES, [(3.0, 1.0)], repeats=300, rng=2)
    found += compare(
        {"buckets": lambda k, eps: DBitFlipPM(k, eps, b=5, d_bits=2)},
        VALUES,
        [1.0],
        repeats=300,
        rng=2,
    )
    records = np.column_stack([VALUES, VALUES % 7])
    found += compare(
        [partial(SMP, OUE), partial(SPL, GRR), partial(RSFD, OUE)],
        records,
        [1.0],
        repeats=300,
        rng=3,
    )
    assert len(found) == 2 * len(ONE_SHOT) + len(CHAINS) + 1 + 3
    for cell in found:
        assert cell.theory is not None
        assert abs(cell.error - cell.theory) < 5 * cell.errors.std() / 300**0.5, cell
        if cell.limit is not None:
            assert cell.theory > 0.999 * cell.limit, cell
    for cell in found:
        if cell.protocol == "SS":
            assert cell.theory is not None and cell.limit is not None
            assert cell.theory < 1.02 * cell.limit, "SS must attain the limit"


@pytest.mark.parametrize("estimator", ["raw", "norm", "norm_sub"])
@pytest.mark.parametrize("metric", ["mse", "mae", "max"])
def test_metrics_and_estimators(metric: str, estimator: str) -> None:
    """Compare the errors with the errors of estimates drawn from the same stream."""
    found = compare([OUE], VALUES, [1.0], 5, estimator, metric, rng=4)
    stream = Stream(4).part(b"compare 0, OUE, 1.0")
    true = np.bincount(VALUES) / len(VALUES)
    for error in found[0].errors:
        estimate = OUE(20, 1.0).estimate(OUE(20, 1.0).simulate(np.bincount(VALUES), stream))
        errors = (
            estimate if estimator == "raw" else getattr(estimate, estimator)()
        ).frequencies - true
        expected = {
            "mse": np.mean(errors**2),
            "mae": np.mean(abs(errors)),
            "max": np.max(abs(errors)),
        }[metric]
        assert error == pytest.approx(expected)
    assert (found[0].theory is None) == (metric != "mse" or estimator != "raw")


def test_tables_and_pictures_of_comparisons() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    found = compare({"mine": GRR, "other": OUE}, VALUES, [0.5, 1.0, 4.0], repeats=4, rng=5)
    frame = found.to_frame("pandas")
    assert (
        list(frame.columns) == ["protocol", "epsilon", "repeat", "mse", "theory"]
        and len(frame) == 2 * 3 * 4
    )
    assert frame.groupby(["protocol", "epsilon"])["mse"].mean()[("mine", 0.5)] == pytest.approx(
        found[0].error
    )
    assert found.best() == {0.5: "other", 1.0: "other", 4.0: "mine"}
    lines = repr(found).splitlines()
    assert (
        lines[0].startswith("mse of raw estimates ±")
        and len(lines) == 4
        and lines[2].startswith("mine ")
    )
    ax = found.plot()
    said = {label.split(":")[0] for label in ax.get_legend_handles_labels()[1]}
    assert said == {"mine", "other", "band", "theory", "limit"}
    pairs = compare([LGRR], VALUES, [(2.0, 1.0), (4.0, 2.0)], repeats=2, rng=6)
    assert list(pairs.to_frame("pandas")["eps_perm"]) == [2.0, 2.0, 4.0, 4.0] and list(
        pairs.best()
    ) == [(2.0, 1.0), (4.0, 2.0)]
    page = found._repr_html_()
    assert page.count("<tr>") == 3 and "mse of raw" in page
    exact = compare([GRR], VALUES, [1.0, 50.0], repeats=1, rng=7).plot()
    assert "GRR (0 at 50)" in exact.get_legend_handles_labels()[1], (
        "an error of 0 is named because a logarithmic axis cannot show it"
    )
    mpl.pyplot.close("all")


def test_comparisons_of_tables() -> None:
    people = datasets.population(500, rng=1)
    found = compare(
        [partial(SMP, GRR)],
        {name: people[name] for name in ("sex", "smokes")},
        [1.0],
        repeats=2,
        rng=1,
    )
    assert found[0].protocol == "SMP[GRR]" and found[0].errors.shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], VALUES, [1.0]), {}, "protocols"),
        (([GRR, GRR], VALUES, [1.0]), {}, "two have the name 'GRR'"),
        (([3], VALUES, [1.0]), {}, "protocols must be classes"),
        (([GRR], [], [1.0]), {}, "data"),
        (([GRR], [0.5], [1.0]), {}, "data"),
        (([GRR], [-1], [1.0]), {}, "data"),
        (([GRR], np.zeros((2, 2, 2), int), [1.0]), {}, "data"),
        (([GRR], VALUES, []), {}, "budgets"),
        (([GRR], VALUES, [0]), {}, r"budgets\[0\]"),
        (([GRR], VALUES, [(1.0, 2.0, 3.0)]), {}, r"budgets\[0\] must be a number or a pair"),
        (([GRR], VALUES, [(1.0, 2.0)]), {}, "budgets must have numbers for GRR"),
        (([LGRR], VALUES, [1.0]), {}, "budgets must have pairs"),
        (([LGRR], VALUES, [(1.0, 2.0)]), {}, "LGRR with budget"),
        (([lambda k, eps: 3], VALUES, [1.0]), {}, "must make a protocol"),
        (([GRR], VALUES, 1.0), {}, "budgets must be a list"),
        (({"a": "GRR"}, VALUES, [1.0]), {}, "protocols must be classes"),
        (([GRR], ["a", None, "b"], [1.0]), {}, "row 1 is missing"),
        (([GRR], ["a", "b"], [1.0]), {"k": 2}, "k must not be given"),
        (([partial(SMP, OUE)], np.zeros((3, 2), int), [1.0]), {"estimator": "mle"}, "mle"),
        (([GRR], VALUES, [1.0]), {"k": 3}, "k must be at least 20"),
        (([GRR], VALUES, [1.0]), {"repeats": 0}, "repeats"),
        (([GRR], VALUES, [1.0]), {"estimator": "best"}, "estimator"),
        (([GRR], VALUES, [1.0]), {"metric": "rmse"}, "metric"),
        (([OUE], VALUES, [1.0]), {"estimator": "mle"}, "mle"),
        (([partial(SMP, GRR)], VALUES, [1.0]), {}, "SMP"),
        (([GRR], np.zeros((3, 2), int), [1.0]), {}, "GRR"),
        (([GRR], np.zeros((3, 2), int), [1.0]), {"k": 2}, "GRR must make a history"),
        (([partial(Once, rounds=3)], np.zeros((3, 2), int), [1.0]), {"k": 2}, "2 rounds"),
        (([partial(Once, rounds=2)], VALUES, [1.0]), {}, "Once protects whole histories"),
        (
            ([partial(SMP, Once, rounds=2)], np.zeros((3, 2), int), [1.0]),
            {},
            "protects whole histories",
        ),
        (([partial(Once, rounds=2)], np.full((3, 2), 2), [1.0]), {"k": 2}, "data"),
        (([partial(Once, rounds=2)], np.zeros((0, 2), int), [1.0]), {"k": 2}, "one history"),
        (
            ([partial(Once, rounds=2)], np.zeros((3, 2), int), [1.0]),
            {"k": 2, "estimator": "mle"},
            "'mle' is not for whole histories",
        ),
    ],
)
def test_wrong_comparisons(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        compare(*arguments, **options)


def test_cells_do_not_depend_on_each_other() -> None:
    """Check that other protocols, other budgets and another order do not change a cell."""
    alone = compare([OUE], VALUES, [1.0], repeats=3, rng=4)[0]
    for protocols, budgets in (([GRR, OUE], [1.0]), ([OUE, SS], [0.5, 1.0]), ([OUE, GRR], [1.0])):
        cells = compare(protocols, VALUES, budgets, repeats=3, rng=4)
        (same,) = [each for each in cells if (each.protocol, each.budget) == ("OUE", 1.0)]
        assert np.array_equal(same.errors, alone.errors)
    stream = Stream(4)
    first, second = (compare([OUE], VALUES, [1.0], repeats=3, rng=stream)[0] for _ in range(2))
    assert np.array_equal(first.errors, alone.errors)
    assert not np.array_equal(second.errors, alone.errors), (
        "a second comparison must use new randomness"
    )
    fresh = [compare([OUE], VALUES, [1.0], repeats=3)[0].errors for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_recommendations() -> None:
    for k, epsilon in ((4, 3.0), (100, 1.0), (1000, 2.0), (2, 0.5)):
        found = recommend(k, epsilon, n=5000)
        assert {type(each.protocol) for each in found} == set(ONE_SHOT)
        assert [each.total for each in found] == sorted(each.total for each in found)
        grid = np.linspace(0, 1, 1001)
        for each in found:
            protocol = each.protocol

            def population(f: Any, protocol: Any = protocol) -> Any:
                return protocol.variance(5000, f) + f * (1 - f) / 5000

            assert each.error == pytest.approx(protocol.variance(5000) ** 0.5)
            assert each.total == pytest.approx(k * population(1 / k))
            assert each.worst == pytest.approx(population(grid).max() ** 0.5, rel=1e-5)
            assert each.limit >= 1 - 1e-9
            assert each.report_bytes == each.protocol.report_bytes
        assert found[0].limit == pytest.approx(1, rel=1e-6)
    short = recommend(1000, 1.0, max_bytes=5)
    assert {type(each.protocol).__name__ for each in short} == {"GRR", "OLH", "BLH", "HR"}
    assert {type(each.protocol).__name__[0] for each in recommend(10, (2.0, 1.0))} == {"L"}
    assert list(short.to_frame("pandas").columns) == [
        *("protocol", "total", "limit", "error", "worst", "bytes", "work")
    ]
    assert [each.work for each in recommend(100, 1.0) if type(each.protocol) is OUE] == [2]
    for wrong in (
        lambda: recommend(1, 1.0),
        lambda: recommend(5, 0),
        lambda: recommend(5, (1, 2, 3)),
        lambda: recommend(5, 1.0, n=0),
    ):
        with pytest.raises((ValueError, TypeError), match="k|epsilon|n "):
            wrong()
    with pytest.raises(ValueError, match="no protocol"):
        recommend(10**6, 0.001, max_bytes=1)


@pytest.mark.parametrize(
    ("factory", "k", "epsilon"),
    [
        (GRR, 10, 1.0),
        (OLH, 1000, 0.5),
        (LOSUE, 5, (3.0, 1.0)),
        (partial(SMP, OUE), [3, 50], 1.0),
        (partial(SPL, LGRR), [3, 4], (8.0, 4.0)),
    ],
    ids=str,
)
def test_how_many_users_and_how_much_budget(factory: Any, k: Any, epsilon: Any) -> None:
    """Check that one user fewer is not enough, and that the budget found is the least one."""
    budgets = epsilon if isinstance(epsilon, tuple) else (epsilon,)

    def reach(n: int, share: float = 1.0) -> float:
        return (
            1.959963984540054
            * float(np.max(factory(k, *(share * each for each in budgets)).variance(n, 0.1))) ** 0.5
        )

    n = sample_size(factory, k, epsilon, 0.02, f=0.1, of="sample")
    assert reach(n) <= 0.02 < reach(n - 1)
    single = (
        factory
        if len(budgets) == 1
        else (lambda k, eps: factory(k, eps * budgets[0] / budgets[1], eps))
    )
    least = epsilon_for(single, k, n, 0.02, f=0.1, of="sample")
    assert least == pytest.approx(budgets[-1], rel=1e-4)
    assert reach(n, least / budgets[-1]) <= 0.02


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("factory", "k", "epsilon"), [(GRR, 2, 4.0), (OUE, 5, 2.0), (partial(SMP, GRR), [2, 3], 3.0)]
)
def test_sample_sizes_are_for_the_worst_frequency_of_a_population(
    factory: Any, k: Any, epsilon: float
) -> None:
    """Draw 4000 samples of a population with the worst f: 95 % must be within the error.

    The tolerance is six standard deviations, and 0.01 for the normal approximation.
    """
    error, generator, times = 0.05, np.random.default_rng(7), 4000
    n = sample_size(factory, k, epsilon, error)
    mechanism, grid = factory(k, epsilon), np.linspace(0, 1, 201)
    needed = [sample_size(factory, k, epsilon, error, f=f) for f in grid.tolist()]
    assert n - 2 <= max(needed) <= n
    f, within = float(grid[int(np.argmax(needed))]), 0
    sizes = [k] if isinstance(k, int) else k
    for _ in range(times):
        held = [
            generator.multinomial(n, [f] + [(1 - f) / (size - 1)] * (size - 1)) for size in sizes
        ]
        counted = mechanism.simulate(held if len(held) > 1 else held[0], generator)
        found = mechanism.estimate(counted)
        attributes = list(found) if len(held) > 1 else [found]
        worst = max(attributes, key=lambda each: each.std[0])
        within += abs(float(worst.frequencies[0]) - f) <= error
    assert abs(within / times - 0.95) < 6 * (0.95 * 0.05 / times) ** 0.5 + 0.01
    assert sample_size(factory, k, epsilon, error, of="sample") < n or epsilon < 3


@pytest.mark.parametrize(("k", "rounds", "changes"), [(2, 8, 1), (2, 64, 3), (10, 12, 2)])
def test_recommended_histories(k: int, rounds: int, changes: int) -> None:
    """Check the candidates, their unbiased parameters, their mean errors and their order."""
    found = recommend(k, 1.0, n=5000, rounds=rounds, changes=changes)
    once = Once(k, 1.0, rounds)
    steps = Steps(k, 1.0, rounds, changes)
    boolean = [
        Tree(1.0, rounds, changes + 1),
        DDRM(1.0, rounds, (changes + 1) * (1 + int(np.log2(rounds)))),
    ]
    assert {repr(each.protocol) for each in found} == {
        repr(each) for each in (once, steps, *(boolean if k == 2 else ()))
    }
    assert [each.total for each in found] == sorted(each.total for each in found)
    for each in found:
        history: Any = each.protocol
        assert each.history == history.privacy.history <= 1 + 1e-9
        assert each.error == pytest.approx(np.sqrt(history.variance(5000)).mean())
        uniform = history.variance(5000, 1 / k).mean() + (1 - 1 / k) / k / 5000
        assert each.total == pytest.approx(k * uniform)
        grid = np.linspace(0, 1, 401)
        spread = np.sqrt(history.variance(5000, grid) + grid * (1 - grid) / 5000)
        assert each.worst == pytest.approx(spread.max(axis=1).mean(), rel=1e-5)
        assert each.report_bytes == history.at(0).report_bytes
    # Time sampling has 1/T of the users in each round, so it has T times the least total
    limit = next(each.limit for each in found if type(each.protocol) is Once)
    assert limit == pytest.approx(rounds, rel=1e-3)
    assert "history" in repr(found).splitlines()[0] and "ε = 1" in repr(found)
    assert found.to_frame("dict")["history"] == [each.history for each in found]
    short = max(each.report_bytes for each in found) - 1
    assert len(recommend(k, 1.0, None, short, rounds=rounds, changes=changes)) == 1


@pytest.mark.parametrize(
    ("factory", "k"),
    [
        (partial(Steps, rounds=8, changes=1), 2),
        (partial(Once, rounds=8), 5),
        (lambda k, epsilon: Tree(epsilon, 8, 2), 2),
        (partial(SMP, Steps, rounds=8, changes=1), [2, 3]),
        (partial(SPL, Once, rounds=4), [2, 3]),
    ],
    ids=["Steps", "Once", "Tree", "SMP", "SPL"],
)
def test_how_many_users_for_every_round(factory: Any, k: Any) -> None:
    """Check that the round with the largest error decides, and that the answers agree."""
    n = sample_size(factory, k, 2.0, 0.02, f=0.3)
    for users, reaches in ((n, True), (n - 1, False)):
        variance = factory(k, 2.0).variance(users, 0.3).max() + 0.21 / users
        assert (1.959964 * variance**0.5 <= 0.02) == reaches
    assert sample_size(factory, k, 2.0, 0.02, f=0.3, of="sample") < n
    assert sample_size(factory, k, 2.0, 0.02) >= n
    assert epsilon_for(factory, k, n, 0.02, f=0.3) == pytest.approx(2.0, rel=1e-3)


def test_few_users_are_not_enough_for_every_round() -> None:
    # Each round needs some reports, so a weak aim needs ten of them in every round
    assert sample_size(partial(Once, rounds=8), 2, 8.0, 1.0) == 80


@pytest.mark.statistical
def test_comparisons_of_histories() -> None:
    """Compare mean errors with the variances of unchanging values, and see a bias beyond c."""
    still = np.repeat(np.arange(2)[:, None] * np.ones((1, 8), int), [700, 300], axis=0)
    factories = [partial(Once, rounds=8), partial(Steps, rounds=8, changes=1)]
    found = compare(factories, still, [2.0], repeats=200, k=2, rng=1)
    assert [cell.protocol for cell in found] == ["Once", "Steps"] and found.users == 1000
    for cell, factory in zip(found, factories, strict=True):
        expected = factory(2, 2.0).variance(1000, 0.3).mean()
        assert abs(cell.error - expected) < 5 * cell.errors.std() / 200**0.5
        assert cell.theory is None and cell.limit is None
    again = compare(factories[1:], still, [2.0], repeats=200, k=2, rng=1)
    assert (again[0].errors == found[1].errors).all()
    moved = np.tile([0, 0, 0, 1, 1, 1, 1, 1], (100_000, 1))  # the truth is that of each round
    unbiased = compare([partial(Steps, rounds=8, changes=1)], moved, [1.0], 3, k=2, rng=1)
    assert unbiased[0].error < 3 * Steps(2, 1.0, 8, 1).variance(100_000).mean()
    restless = np.tile([0, 1, 1, 0, 1, 1, 0, 0], (100_000, 1))
    biased = compare([partial(Steps, rounds=8, changes=1)], restless, [8.0], 3, k=2, rng=1)
    assert biased[0].error > 20 * Steps(2, 8.0, 8, 1).variance(100_000).mean()
    assert "norm_sub" in repr(compare(factories, still, [2.0], 3, "norm_sub", k=2, rng=1))


def test_planning_refuses() -> None:
    for wrong in (
        lambda: sample_size(GRR, 5, 1.0, 0),
        lambda: sample_size(GRR, 5, 1.0, 2.0),
        lambda: sample_size(GRR, 5, 1.0, 0.1, level=1.0),
        lambda: sample_size(GRR, 5, 1.0, 0.1, f=2),
        lambda: sample_size(GRR, 5, 1.0, 0.1, of="all"),
        lambda: sample_size(3, 5, 1.0, 0.1),
        lambda: sample_size(GRR, 5, (1.0, 2.0), 0.1),
        lambda: epsilon_for(LGRR, 5, 100, 0.1),
        lambda: epsilon_for(GRR, 5, 0, 0.1),
        lambda: recommend(5, (2.0, 1.0), rounds=4, changes=1),
    ):
        with pytest.raises(
            (ValueError, TypeError), match="error|level|f must|of must|factory|budget|n must"
        ):
            wrong()
    with pytest.raises(ValueError, match="cannot be reached with n=10 users"):
        epsilon_for(partial(SMP, GRR), [5, 5], 10, 1e-3, f=0.5)
    assert epsilon_for(GRR, 2, 10**15, 0.5) == 1e-3


def test_populations_are_what_they_say() -> None:
    n = 200_000
    people, laws = datasets.population(n, rng=3), datasets.marginals()
    assert people == datasets.population(n, rng=3)
    assert list(people) == list(datasets.CATEGORIES) and len(people) == 9
    assert {len(each) for each in datasets.CATEGORIES.values()} >= {2, 74} and max(
        map(len, datasets.CATEGORIES.values())
    ) == 74
    codes = {
        name: np.array([datasets.CATEGORIES[name].index(each) for each in column])
        for name, column in people.items()
    }
    dependent = {second for _, second in datasets.DEPENDENCE}
    for name, law in laws.items():
        assert law.sum() == pytest.approx(1) and set(people[name]) <= set(datasets.CATEGORIES[name])
        if name not in dependent:
            assert (
                np.abs(np.bincount(codes[name], minlength=len(law)) / n - law).max()
                < 6 * (0.25 / n) ** 0.5
            )
    for (first, second), share in datasets.DEPENDENCE.items():
        assert share > 0.1 and dependence(codes[first], codes[second]) > 0.4 * share, (
            first,
            second,
        )
    share, by_chance = datasets.DEPENDENCE["sex", "smokes"], float(laws["sex"] @ laws["smokes"])
    assert (
        abs(np.mean(codes["sex"] == codes["smokes"]) - (share + (1 - share) * by_chance))
        < 6 * (0.25 / n) ** 0.5
    )
    assert dependence(codes["region"], codes["work"]) < 0.02
    ages = np.bincount(codes["age"], minlength=74)
    assert ages[41] > 1.2 * ages[27] < ages[11], "ages have two peaks"


def dependence(a: Any, b: Any) -> float:
    """Return Cramér's V."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    held = expected > 0
    return float(
        np.sqrt(
            (((table - expected) ** 2)[held] / expected[held]).sum()
            / table.sum()
            / (min(table.shape) - 1)
        )
    )


def test_drifting_answers() -> None:
    answers = datasets.drifting(50_000, 10, rng=1)
    assert answers.shape == (10, 50_000) and answers.max() == len(datasets.DRIFTING) - 1
    assert np.array_equal(answers, datasets.drifting(50_000, 10, rng=1))
    shares = np.array([np.bincount(each, minlength=6) / 50_000 for each in answers])
    assert (np.diff(shares[:, 4]) < 0).all() and (np.diff(shares[:, 1]) > 0).all()
    assert 0.89 < (answers[1:] == answers[:-1]).mean() < 0.95


def test_data_of_many_forms() -> None:
    """Check that labels, Series and tables with one column are read as vectors.

    Records with as many values as attributes must not be read as histograms.
    """
    import pandas as pd
    import polars as pl

    labels = ["b", "a", "b", "c"] * 50
    expected = compare([GRR], [1, 0, 1, 2] * 50, [1.0], repeats=3, rng=1)[0].errors
    for data in (
        labels,
        np.array(labels),
        pd.Series(labels),
        pl.Series(labels),
        pd.DataFrame({"x": labels}),
        {"x": labels},
        pd.Series([1, 0, 1, 2] * 50),
    ):
        assert np.array_equal(compare([GRR], data, [1.0], repeats=3, rng=1)[0].errors, expected)
    assert (
        len(compare([partial(SMP, GRR)], np.array([[0, 1], [1, 0]] * 9), [1.0], repeats=2, rng=1))
        == 1
    )
    mixed = compare([GRR, LOSUE, OUE], VALUES, [1.0, (2.0, 1.0), 1.0], repeats=2, rng=1)
    assert [(cell.protocol, cell.budget) for cell in mixed] == [
        ("GRR", 1.0),
        ("LOSUE", (2.0, 1.0)),
        ("OUE", 1.0),
    ]
    buckets = compare(
        {
            "d": lambda ks, eps: SMP(
                lambda k, eps_perm: DBitFlipPM(k, eps_perm, 4, 2), ks, eps_perm=eps
            )
        },
        [[0, 1], [7, 7]] * 500,
        [2.0],
        repeats=3,
        rng=1,
    )
    assert buckets[0].error < 0.2
    few = compare(
        {"A": partial(SMP, GRR), "B": partial(SPL, GRR)},
        np.array([[0, 1, 2]] * 3),
        [1.0],
        repeats=5,
        rng=1,
    )
    assert few.best() == {1.0: "B"}, "an unknown error must not be the least"


def test_samples_of_attributes_need_some_answers() -> None:
    sizes = [
        sample_size(partial(SMP, GRR), [2, 3], epsilon, 0.1, f=0.5, of="sample")
        for epsilon in (2.0, 6.0, 8.0, 50.0)
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 90
    assert sample_size(partial(SMP, GRR), [2, 3], 50.0, 0.5, f=0.0) == 20
    needed = epsilon_for(lambda k, eps: LOSUE(k, eps, 0.5), 10, 10_000_000, 0.01)
    assert needed == pytest.approx(0.5, rel=1e-3)
    with pytest.raises(TypeError, match="factory must make a protocol"):
        sample_size(lambda k, eps: 3, 5, 1.0, 0.1)
