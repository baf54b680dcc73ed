"""Tests of output: labels, text, HTML, tables and figures.

They also cover groups, differences and simultaneous intervals.
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from multi_freq_ldpy import (
    GRR,
    LOSUE,
    OLH,
    OUE,
    SMP,
    SS,
    DBitFlipPM,
    Estimate,
    Estimates,
    Once,
    Panel,
    Rounds,
    Survey,
    Tally,
    compare,
    registry,
)
from multi_freq_ldpy.estimation import plots, rendering
from multi_freq_ldpy.estimation.postprocess import METHODS, Method


def made(n: int = 4000, **options: Any) -> Estimate:
    protocol = OUE(3, epsilon=2.0)
    return protocol.estimate(protocol.randomize(np.arange(n) % 3, rng=1)).labelled(
        ["<b>", "no", "a & b"], **options
    )


def test_text() -> None:
    lines = repr(made(name="answer")).splitlines()
    assert lines[0] == "Estimate of answer from 4,000 users: frequency ± standard error"
    assert [line.split()[0] for line in lines[1:]] == ["<b>", "no", "a"]
    assert all(" ± 0.0" in line for line in lines[1:])
    assert repr(made().norm()).splitlines()[0] == "Estimate from 4,000 users: frequency (norm)"
    many = repr(GRR(1000, 1.0).estimate([1]))
    assert len(many.splitlines()) == 22 and "…" in many and "1 user:" in many
    nobody = repr(GRR(3, 1.0).estimate([]))
    assert nobody.splitlines()[1] == "0  nan ± inf"
    long = made().labelled(["x" * 100, "two\nlines", "c"])
    assert max(map(len, repr(long).splitlines())) < 80 and len(repr(long).splitlines()) == 4


def test_html_escapes_labels() -> None:
    page = made(name="<script>")._repr_html_()
    assert (
        "<script>" not in page
        and "&lt;script&gt;" in page
        and "&lt;b&gt;" in page
        and "a &amp; b" in page
    )
    assert page.count("<tr>") == 4 and "95 % interval" in page
    assert "95 % interval" not in made().norm()._repr_html_()
    assert "nan" in GRR(3, 1.0).estimate([])._repr_html_()
    rounds = Rounds([made(), made(name="last")])
    assert repr(rounds).startswith(
        "2 rounds, the last:\nEstimate of last from"
    ) and "0 rounds" in repr(Rounds())
    assert rounds._repr_html_().count("<table>") == 1 and "0 rounds" in Rounds()._repr_html_()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames(kind: str) -> None:
    estimate = made()
    frame = estimate.to_frame(kind)
    assert type(frame).__module__.startswith(kind)
    columns = {
        name: frame[name].to_numpy() for name in ("value", "frequency", "std", "low", "high")
    }
    assert list(columns["value"]) == ["<b>", "no", "a & b"]
    assert np.array_equal(columns["frequency"], estimate.frequencies) and np.array_equal(
        columns["std"], estimate.std
    )
    assert np.array_equal(np.column_stack([columns["low"], columns["high"]]), estimate.interval())
    assert len(estimate.norm().to_frame(kind)) == 3
    several = Estimates([estimate, made().labelled([1, 2, 3], "b")]).to_frame(kind)
    assert list(several["value"].to_numpy()) == [
        "<b>",
        "no",
        "a & b",
        "1",
        "2",
        "3",
    ], "labels of several types become text"
    assert list(several["attribute"].to_numpy()) == ["0"] * 3 + ["b"] * 3
    assert len(Estimates([estimate.norm(), estimate]).to_frame(kind)) == 6, (
        "post-processed estimates have no standard error"
    )
    assert list(made().labelled([1, 2.5, 3]).to_frame(kind)["value"].to_numpy()) == [1.0, 2.5, 3.0]


@pytest.mark.process
def test_without_the_extras() -> None:
    """Check that the core works without the extras, and that errors name the extra to install."""
    code = """
import sys
for name in ("narwhals", "pandas", "polars", "pyarrow", "matplotlib"):
    sys.modules[name] = None
import multi_freq_ldpy as m
survey = m.Survey({"a": ["x", "y"]}, epsilon=1.0)
estimates = survey.estimate(survey.randomize({"a": ["x", "y"] * 50}))
written = repr(estimates), estimates._repr_html_()
print(estimates.to_frame("dict")["value"], *(len(each) > 10 for each in written))
found = m.compare([m.GRR], [0, 1, 2], [1.0], 1)
for call in (estimates.plot, lambda: estimates.to_frame("pandas"), found.plot):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == "['x', 'y'] True True"
    assert len(lines) == 4 and all("pip install 'multi-freq-ldpy[" in line for line in lines[1:])


def test_labels_must_fit() -> None:
    for wrong in (["a", "b"], ["a", "a", "b"]):
        with pytest.raises(ValueError, match="labels must be 3"):
            made().labelled(wrong)
    for call in (
        lambda: made().group(["no", "perhaps"]),
        lambda: made().difference("perhaps", "no"),
        lambda: made().group("no"),
    ):
        with pytest.raises(ValueError, match="among the labels|list of labels"):
            call()
    estimates = Survey({"a": ["x", "y"]}, epsilon=1.0).estimate({"report": []})
    with pytest.raises(KeyError, match="attribute must be one of 'a', not 'b'"):
        estimates["b"]
    assert estimates["a"] is estimates[0] and isinstance(estimates[:1], Estimates)


def test_groups_by_label() -> None:
    estimate = made()
    group = estimate.group(["<b>", "no"], label="either")
    assert group.labels == ("either",) and group.frequencies[0] == pytest.approx(
        estimate.frequencies[:2].sum()
    )
    assert estimate.group(["no"]).labels == ("no",) and estimate.group(["no"]).std == pytest.approx(
        estimate.std[1:2]
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    "protocol",
    [GRR(5, 1.0), OUE(5, 1.0), SS(8, 1.0), LOSUE(5, 3.0, 1.0), SMP(GRR, [5, 3], 2.0)],
    ids=repr,
)
def test_differences_have_the_right_error(protocol: Any) -> None:
    """Compare the stated error with the deviation over 2500 repetitions, and check the mean.

    The tolerance is 7 %, which is five standard deviations.
    """
    n, times = 3000, 2500
    held = [
        np.array([1500, 600, 500, 300, 100, 0, 0, 0][: each.k])
        for each in getattr(protocol, "protocols", [protocol])
    ]
    held = [each + (n - each.sum()) * (np.arange(len(each)) == 0) for each in held]
    true = (held[0][0] + held[0][1] - held[0][2]) / n
    generator, found, stated = np.random.default_rng(1), [], []
    for _ in range(times):
        estimate = protocol.estimate(
            protocol.simulate(held if len(held) > 1 else held[0], generator)
        )
        difference = (estimate[0] if isinstance(estimate, Estimates) else estimate).difference(
            [0, 1], 2
        )
        found.append(difference.value)
        stated.append(difference.std)
    assert np.std(found) == pytest.approx(np.mean(stated), rel=0.07)
    assert abs(np.mean(found) - true) < 5 * np.std(found) / times**0.5
    inside = [abs(value - true) < 1.959964 * std for value, std in zip(found, stated, strict=True)]
    assert abs(np.mean(inside) - 0.95) < 0.025


@pytest.mark.statistical
@pytest.mark.parametrize("protocol", [GRR(5, 2.0), SMP(GRR, [5, 3], 4.0)], ids=repr)
def test_differences_in_the_population(protocol: Any) -> None:
    """Compare std_population with the deviation over 2500 repetitions, to within 7 %.

    Users are drawn anew in each repetition. The deviation is larger than std.
    """
    shares, n, generator, found, stated = (
        np.array([0.5, 0.2, 0.15, 0.1, 0.05]),
        2000,
        np.random.default_rng(3),
        [],
        [],
    )
    for _ in range(2500):
        held = generator.multinomial(n, shares)
        several = isinstance(protocol, SMP)
        estimate = protocol.estimate(
            protocol.simulate([held, [n, 0, 0]] if several else held, generator)
        )
        difference = (estimate[0] if several else estimate).difference([0, 1], 2)
        found.append(difference.value)
        stated.append((difference.std, difference.std_population))
    std, population = np.mean(stated, axis=0)
    assert np.std(found) == pytest.approx(population, rel=0.07) and population > 1.07 * std
    low, high = difference.interval(of="population")
    assert high - low == pytest.approx(2 * 1.959964 * difference.std_population, rel=0.01)
    with pytest.raises(ValueError, match="of must be one of 'sample', 'population', not 'all'"):
        difference.interval(of="all")


def test_differences_refuse() -> None:
    estimate = GRR(4, 1.0).estimate([0, 1, 2, 3])
    for first, second in (([0, 1], [1]), (0, 0), (0, 4), ([], [1]), (0, [1, 1])):
        with pytest.raises(ValueError, match="first|second|values"):
            estimate.difference(first, second)
    with pytest.raises(ValueError, match="norm estimates have no group"):
        estimate.norm().difference(0, 1)
    assert GRR(4, 1.0).estimate([]).difference(0, {1, 2}).std == np.inf
    low, high = estimate.difference(0, 1).interval()
    assert -1 <= low < 0 < high <= 1


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([600, 300, 100], "a is more frequent than b by 82.4 percentage points"),
        ([300, 600, 100], "b is more frequent than a by 82.4 percentage points"),
        (
            [305, 300, 395],
            "a and b may be equally frequent: a minus b is 1.4 percentage points",
        ),
        (
            [300, 305, 395],
            "a and b may be equally frequent: a minus b is -1.4 percentage points",
        ),
    ],
)
def test_differences_are_sentences(counts: list[int], sentence: str) -> None:
    protocol = GRR(3, 1.0)
    estimate = protocol.estimate(Tally(protocol, np.array(counts), 1000)).labelled("abc")
    difference = estimate.difference("a", "b")
    low, high = difference.interval()
    low, high = (-high, -low) if high < 0 else (low, high)
    assert repr(difference) == f"{sentence} (95 % interval: {100 * low:.1f} to {100 * high:.1f})"


def test_impossible_differences_say_why() -> None:
    estimate = GRR(2, 1.0).estimate([0])
    assert "percentage points (95 % interval: -100.0 to 100.0). The estimate" in repr(
        estimate.difference(0, 1)
    )


def test_differences_between_groups_of_people() -> None:
    """Compare two estimates of different users with different budgets: values, errors, labels."""
    young, old = GRR(3, 1.0), OUE(3, 2.0)
    first = young.estimate(young.simulate([500, 300, 200], 1)).labelled("abc", "answer")
    second = old.estimate(old.simulate([2000, 1000, 1000], 2)).labelled("abc", "answer")
    found = first.difference(second, names=("the young", "the old"))
    assert np.array_equal(found.values, first.frequencies - second.frequencies)
    assert np.allclose(found.std, np.hypot(first.std, second.std))
    assert np.array_equal(found.interval()[1], found["b"].interval())
    assert [each.value for each in found] == found.values.tolist() and len(found) == 3
    table = found.to_frame("dict")
    assert list(table) == ["value", "difference", "std", "low", "high"]
    assert table["value"] == ["a", "b", "c"]
    assert repr(found).splitlines()[0] == (
        "Difference of answer, the young minus the old: frequency ± standard error"
    )
    assert "a among the young and the old may be equally frequent" in repr(found["a"])
    for wrong, match in (
        (lambda: first.difference(first), "of other users"),
        (lambda: first.difference(second.labelled("abd")), "of the values"),
        (lambda: first.difference(second.norm_sub()), "norm_sub estimates have no difference"),
        (lambda: first.difference(second, names=("x",)), "names must be two names"),  # type: ignore
        (lambda: first.difference(second, names="mw"), "names must be two names"),  # type: ignore
        (lambda: found["d"], "value must be one of 'a', 'b', 'c', not 'd'"),
    ):
        with pytest.raises((ValueError, KeyError), match=match):
            wrong()
    for wrong in (lambda: first.difference(second, "a"), lambda: first.difference("a")):
        with pytest.raises(TypeError, match="second must"):
            wrong()


def test_differences_of_several_attributes() -> None:
    survey = Survey({"a": [1, 2], "b": ["x", "y", "z"]}, epsilon=2.0)
    found = []
    for seed in (1, 2):
        people = {"a": [1, 2, 2] * 500, "b": ["x", "y", "z"] * 500}
        found.append(survey.estimate(survey.randomize(people, rng=seed)))
    differences = found[0].difference(found[1], names=("the first", "the second"))
    assert list(differences) == ["a", "b"]
    for name, each in differences.items():
        alone = found[0][name].difference(found[1][name], names=("the first", "the second"))
        assert repr(each) == repr(alone) and np.array_equal(each.values, alone.values)
    assert differences["b"]["z"].value == differences["b"].values[2]
    with pytest.raises(ValueError, match="other must have the attributes a, b, not b"):
        found[0].difference(found[1][1:])
    with pytest.raises(TypeError, match="other must be estimates"):
        found[0].difference(found[1]["a"])  # type: ignore[arg-type]


def test_one_group_of_people_may_be_large() -> None:
    """Compare few users with very many users: the error is that of the few users."""
    protocol = OUE(4, 1.0)
    few = protocol.estimate(protocol.simulate([10, 10, 10, 10], 1))
    many = protocol.estimate(protocol.simulate([10**6] * 4, 1))
    for found, alone in zip(few.difference(many).interval(), few.interval(), strict=True):
        assert -0.255 < found[0] < found[1] < 0.755
        assert abs(found[1] - (alone[1] - 0.25)) < 0.15


def test_estimates_by_label() -> None:
    estimate = GRR(3, 1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
    named = estimate.labelled([1, True, "no"], "answer")
    for label, i in ((1, 0), (True, 1), ("no", 2), (np.int64(1), 0)):
        one = named[label]
        assert float(one) == estimate.frequencies[i] and one.std[0] == estimate.std[i]
        assert np.array_equal(one.interval(), estimate.interval()[i : i + 1])
    assert float(estimate[2]) == estimate.frequencies[2]
    assert [float(each) for each in named.norm_sub()] == estimate.norm_sub().frequencies.tolist()
    assert repr(named["no"]).splitlines()[1].startswith("no  -0.17")
    for wrong in ("yes", 3, None, [1], 2**70):
        with pytest.raises(KeyError, match="value must be one of"):
            named[wrong]
    with pytest.raises(TypeError, match="an estimate of 3 values is not one number"):
        float(estimate)


def test_estimates_outside_their_intervals_are_marked() -> None:
    """Check the marks in tables and HTML, with one footnote, and no mark if none is outside."""
    estimate = GRR(3, 1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
    low, high = estimate.interval().T
    outside = (estimate.frequencies < low) | (estimate.frequencies > high)
    assert outside.tolist() == estimate.to_frame("dict")["outside"] == [True, False, True]
    page = estimate._repr_html_()
    assert page.count("%*") == 2 and page.count(rendering.OUTSIDE) == 1
    for plain in (estimate.norm_sub(), GRR(3, 1.0).estimate([0, 1, 2] * 50)):
        assert "*" not in plain._repr_html_()
    assert "outside" not in estimate.norm_sub().to_frame("dict")


@pytest.mark.statistical
def test_all_intervals_together() -> None:
    """Check that ten simultaneous intervals all cover in about 95 % of 600 repetitions.

    Single intervals all cover in less than 75 %.
    """
    protocol, held, generator = OUE(10, 1.0), np.arange(10) * 100, np.random.default_rng(2)
    true, n = held / held.sum(), int(held.sum())
    each = [protocol.estimate(protocol.simulate(held, generator)) for _ in range(600)]
    # One estimate for all repetitions: an interval depends on its own count only
    counts, frequencies = (
        np.concatenate([getattr(one, name) for one in each]) for name in ("counts", "frequencies")
    )
    stacked = Estimate(frequencies, n, protocol.channel, counts, n)
    covered = {}
    for simultaneous, level in ((True, 1 - 0.05 / 10), (False, 0.95)):
        limits = stacked.interval(level).reshape(600, 10, 2)
        for i in range(10):
            assert np.allclose(limits[i], each[i].interval(simultaneous=simultaneous), atol=1e-9)
        inside = (limits[:, :, 0] <= true) & (true <= limits[:, :, 1])
        covered[simultaneous] = inside.all(axis=1).mean()
    assert 0.92 < covered[True] < 0.985
    assert covered[False] < 0.75


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    ("protocol", "n"),
    [(GRR(2, 1.0), 30), (GRR(3, 1.0), 3000), (OLH(4, 2.0), 40), (OUE(50, 1.0), 900)],
)
def test_all_intervals_share_the_error(protocol: Any, n: int, level: float) -> None:
    """Check that each of k simultaneous intervals has exactly a k-th of the error."""
    k = protocol.k
    estimate = protocol.estimate(protocol.simulate(np.bincount(np.arange(n) % k), 3))
    together = estimate.interval(level, simultaneous=True)
    assert np.allclose(together, estimate.interval(1 - (1 - level) / k), rtol=0, atol=1e-9)
    if k > 2:
        fewer = estimate.interval(1 - (1 - level) / (k - 1))
        assert not np.allclose(together, fewer, rtol=0, atol=1e-5)


def test_plots_show_what_they_are_given() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    estimate = made()
    ax = estimate.plot(truth=[0.5, 0.25, 0.25])
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(100 * estimate.frequencies)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["<b>", "no", "a & b"]
    assert ax.lines[-2].get_ydata() == pytest.approx([50, 25, 25]) or any(
        np.allclose(line.get_ydata(), [50, 25, 25])
        for line in ax.lines
        if len(line.get_ydata()) == 3
    )
    assert estimate.plot(truth=[2, 1, 1]) is not None, "counts are accepted"
    assert len(estimate.norm().plot().patches) == 3
    assert OLH(200, 1.0).estimate([]).plot() is not None
    with pytest.raises(ValueError, match="truth must have 3 entries"):
        estimate.plot(truth=[0.5, 0.5])
    plt.close("all")
    several = SMP(GRR, [2, 3, 4, 5], 1.0)
    figure = several.estimate(several.randomize(np.zeros((50, 4), int))).plot(
        truth=[[1, 0], [1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0, 0]]
    )
    assert sum(axes.get_visible() for axes in figure.axes) == 4
    rounds = Panel(LOSUE(12, 3.0, 1.0), 300, 1).run([np.arange(300) % 12] * 4)
    drawn = rounds.plot(truth=np.full((4, 12), 1 / 12)).axes[0]
    assert len(drawn.collections) == 8 + 1
    assert len(rounds.plot(values=[3, 4]).axes[0].collections) == 2 + 1
    with pytest.raises(ValueError, match="truth must have one row per round"):
        rounds.plot(truth=np.zeros((3, 12)))
    with pytest.raises(ValueError, match="no rounds"):
        Rounds().plot()
    history = Once(3, 2.0, 8)  # with six users, some rounds have no report
    few = history.estimate(history.simulate([[0] * 8, [1] * 8], 1, counts=[3, 3]))
    drawn = few.plot(truth=np.full((8, 3), 1 / 3)).axes[0]
    assert [line.get_label() for line in drawn.lines][::2][:3] == ["0", "1", "2"]
    silent = [r for r, each in enumerate(few) if not np.isfinite(each.frequencies).all()]
    corners = drawn.collections[0].get_paths()[0].vertices
    assert silent and not set(silent) & set(corners[:, 0].tolist())
    panel = Panel(SMP(LOSUE, [3, 4], 3.0, 1.0), 100, 1)
    assert len(panel.run([np.zeros((100, 2), int)] * 2).plot().axes) == 2
    assert DBitFlipPM(10, 1.0, b=5, d_bits=2).estimate([]).plot() is not None
    plt.close("all")
    assert estimate.plot(truth={"no": 0.5, "<b>": 0.5}).get_title(loc="left") == "4,000 users"
    with pytest.raises(ValueError, match="among the labels"):
        estimate.plot(truth={"perhaps": 1.0})
    odd = made().labelled(["$10k to $20k", "_hidden", "x" * 60])
    assert [text.get_text() for text in odd.plot().get_xticklabels()] == [
        r"\$10k to \$20k",
        "\u200b_hidden",
        "x" * 23 + "…",
    ]
    assert (
        len(
            Estimates([estimate.group(["no"]), estimate.norm(), estimate])
            .plot()
            .legends[0]
            .get_texts()
        )
        == 2
    )
    assert (
        len(rounds[1:].plot().axes) == 1
        and len(rounds[:1].plot().axes) == 1
        and len(Rounds([each.norm() for each in rounds]).plot().axes) == 1
    )
    labelled = (
        Survey({"a": ["_x", "y"], "b": [1, 2]}, eps_perm=3.0, eps_1=1.0)
        .panel(50, 1)
        .run([{"a": ["y"] * 50, "b": [1] * 50}] * 2)
    )
    legend = labelled.plot(values={"a": ["_x"]}).axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["\u200b_x", "band: 95 %\ninterval"]
    for values in (["zzz"], {"c": [1]}):
        with pytest.raises(ValueError, match="values must"):
            labelled.plot(values=values)
    plt.close("all")
    many = GRR(50, 1.0).estimate([0]).labelled([f"label {i}" for i in range(50)])
    assert "label 49" in [text.get_text() for text in many.plot().get_xticklabels()]
    plt.close("all")


def test_postprocessings_are_read_from_one_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that estimates and comparisons accept exactly the methods of the dict."""
    for name, process in (
        ("halved", lambda raw: raw.frequencies / 2),
        ("short", lambda raw: raw.frequencies[1:]),
    ):
        monkeypatch.setitem(METHODS, name, Method(process))
    estimate = made()
    assert np.allclose(estimate.postprocess("halved").frequencies, estimate.frequencies / 2)
    assert estimate.postprocess("halved").method == "halved"
    assert estimate.postprocess("raw") is estimate
    both = Estimates([estimate, estimate]).postprocess("halved")
    assert np.allclose(both[1].frequencies, estimate.frequencies / 2)
    assert compare([GRR], [0, 1, 1], [1.0], repeats=2, estimator="halved", rng=1).best()
    with pytest.raises(ValueError, match="short must return 3 finite frequencies, not"):
        estimate.postprocess("short")
    with pytest.raises(
        ValueError, match="method must be one of 'raw', 'norm_sub', 'mle', 'norm', .*not 'best'"
    ):
        estimate.postprocess("best")
    with pytest.raises(ValueError, match="further post-processing"):
        estimate.postprocess("halved").postprocess("norm")


def test_every_protocol_has_one_look_in_all_figures() -> None:
    """Check that a protocol always has the same colour and marker, and that all look different."""
    assert {name for names in plots.LOOKS for name in names.split()} == {
        *registry.PROTOCOLS,
        *registry.HISTORIES,
    }
    names = list(registry.PROTOCOLS)
    together = dict(zip(names, plots.looks_of(names), strict=True))
    seen = [(look["color"], look["marker"], look["ls"]) for look in together.values()]
    assert len(set(seen)) == len(names)
    for name in names:
        (alone,) = plots.looks_of([name])
        (inside,) = plots.looks_of([f"SMP[{name}]"])
        for look in (alone, inside):
            assert (look["color"], look["marker"]) == (
                together[name]["color"],
                together[name]["marker"],
            )
    own = plots.looks_of(["mine", "GRR", "SMP[GRR]", "yours"])
    assert own[1]["color"] == own[2]["color"] and own[1]["ls"] != own[2]["ls"]
    assert len({own[i]["color"] for i in (0, 1, 3)}) == 3


def test_figures_explain_what_they_show() -> None:
    found = compare([GRR, OUE], np.arange(300) % 5, [0.5, 2.0], repeats=3, rng=1)
    axes = found.plot(title="five values", colors={"GRR": "red"}, markersize=9)
    said = [text.get_text().replace("\n", " ") for text in axes.get_legend().get_texts()]
    assert said[:2] == ["GRR", "OUE"]
    for word in ("band: 8 of 10 repetitions", "theory: the expected", "limit: the least that"):
        assert any(word in each for each in said)
    assert axes.get_title(loc="left") == "five values"
    assert axes.get_ylabel() == "mean squared error"
    line = axes.get_lines()[0]
    assert line.get_color() == "red" and line.get_markersize() == 9
    with pytest.raises(ValueError, match="keys of colors must be protocols, GRR, OUE, not SS"):
        found.plot(colors={"SS": "red"})
    plt.close("all")


def test_titles_colours_and_keywords_reach_the_figure() -> None:
    estimate = GRR(3, 1.0).estimate([0] * 60 + [1] * 25 + [2] * 15).labelled("abc", "answer")
    axes = estimate.plot([0.5, 0.3, 0.2], title="one", color="red", hatch="/")
    assert axes.get_title(loc="left") == "one"
    assert axes.patches[0].get_hatch() == "/"
    assert axes.patches[0].get_facecolor()[:3] == (1.0, 0.0, 0.0)
    said = [text.get_text().split(" (")[0] for text in axes.get_legend().get_texts()]
    assert said == ["estimate", "95 % interval", "truth", "outside its interval"]
    figure = Estimates([estimate, estimate]).plot(title="two", color="red")
    assert figure.get_suptitle() == "two" and len(figure.legends) == 1
    assert not any(panel.get_legend() for panel in figure.axes)
    rounds = Rounds([estimate, estimate]).plot(title="time", colors=["red"] * 3, lw=5)
    line = rounds.axes[0].get_lines()[0]
    assert rounds.get_suptitle() == "time" and (line.get_color(), line.get_lw()) == ("red", 5)
    assert any("band" in text.get_text() for text in rounds.axes[0].get_legend().get_texts())
    plt.close("all")


def test_labels_are_horizontal_where_they_fit() -> None:
    few = GRR(4, 1.0).estimate([0, 1, 2, 3] * 50)
    for labels, rotation in (
        (["no", "yes", "perhaps", "often or always"], 0),
        (["no", "yes", "x" * 40, "y"], 90),
    ):
        ticks = few.labelled(labels).plot().get_xticklabels()
        assert {tick.get_rotation() for tick in ticks} == {rotation}
        assert all(len(tick.get_text().splitlines()) <= 3 for tick in ticks)
    plt.close("all")


def test_figures_on_dark_ground_have_light_ink() -> None:
    estimate = GRR(3, 1.0).estimate([0, 1, 2] * 50)
    for style, colour in (("default", "black"), ("dark_background", "white")):
        with plt.style.context(style):
            axes = estimate.plot()
            assert axes.get_lines()[-1].get_color() == colour
    plt.close("all")
