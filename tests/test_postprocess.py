"""Tests of post-processing: results and input of every method, and methods that are refused."""

from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import GRR, OUE, RSFD, SMP, SPL, Estimate, Survey
from multi_freq_ldpy.estimation.postprocess import METHODS, Method, Raw

TALLY = GRR(5, 1.0).tally(GRR(5, 1.0).randomize([0, 0, 1, 4] * 50, 3))
ESTIMATES: list[Estimate] = [
    GRR(5, 1.0).estimate(TALLY),
    GRR(5, 1.0).estimate([]),
    GRR(5, 1.0).estimate([4]),
    SMP(GRR, [5, 3], 1.0).estimate(SMP(GRR, [5, 3], 1.0).randomize([[0, 2]] * 9, 1))[1],
]


@pytest.mark.parametrize("estimate", ESTIMATES, ids=range(len(ESTIMATES)))
@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_a_distribution(name: str, estimate: Estimate) -> None:
    found = estimate.postprocess(name)
    assert found.method == name
    assert (found.frequencies >= 0).all()
    assert found.frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize("mechanism", [OUE(4, 1.0), SMP(GRR, [3, 4], 3.0)], ids=repr)
def test_a_method_gets_the_standard_error(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the standard error includes the sampling of users, unlike the channel."""
    given: list[Raw] = []

    def keep(raw: Raw) -> Any:
        given.append(raw)
        return np.full(len(raw.frequencies), 0.25)

    monkeypatch.setitem(METHODS, "keep", Method(keep))
    values = [2] * 400 if mechanism.ks == (4,) else [[0, i % 4] for i in range(400)]
    estimate = mechanism.estimate(mechanism.randomize(values, 1))
    last = estimate if isinstance(estimate, Estimate) else estimate[1]
    last.postprocess("keep")
    assert np.array_equal(given[0].std, last.std)
    alone = np.sqrt(last.channel.variance(last.n, np.clip(last.frequencies, 0, 1)))
    assert (given[0].std > 1.05 * alone).any() == (mechanism.ks != (4,))


WRONG: dict[str, tuple[Any, str]] = {
    "short": (Method(lambda raw: raw.frequencies[1:]), "short must return 5 finite"),
    "nan": (Method(lambda raw: raw.frequencies * np.nan), "nan must return 5 finite"),
    "bare": (lambda raw: raw.frequencies, r"METHODS\['bare'\] must be a Method"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_methods_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, why = WRONG[name]
    monkeypatch.setitem(METHODS, name, method)
    with pytest.raises((ValueError, TypeError), match=why):
        ESTIMATES[0].postprocess(name)


def test_a_method_for_some_channels_says_for_which() -> None:
    with pytest.raises(ValueError, match="limits must say"):
        Method(lambda raw: raw.frequencies, applies=lambda channel: False)


LIKELY: dict[str, Any] = {
    "sampling": SMP(GRR, [5, 3], 1.0),
    "splitting": SPL(OUE, [5, 3], 4.0),
    "nested": SMP.of([SPL(GRR, [5, 3], 4.0), OUE(4, 1.0)]),
}


@pytest.mark.parametrize("name", LIKELY)
def test_solutions_take_the_likeliest_distribution_of_each_attribute(name: str) -> None:
    """Check EM of a solution against the likelihood of its own reports, attribute by attribute."""
    solution = LIKELY[name]
    generator = np.random.default_rng(1)
    table = np.stack([generator.binomial(k - 1, 0.2, 3000) for k in solution.ks], axis=1)
    reports = solution.randomize(table, 1)
    found = solution.em(reports)
    assert [each.method for each in found] == ["em"] * solution.d
    assert [len(each) for each in found] == list(solution.ks)
    contributions = solution.contributions(reports)
    starts = np.cumsum([0, *solution.ks])
    for j, leaf in enumerate(solution.leaves):
        own = contributions[:, starts[j] : starts[j + 1]] > 0
        sent = find_senders(solution, reports, j)
        ratio = float(leaf.ratio)

        def likelihood(f: Any, own: Any = own, sent: Any = sent, ratio: float = ratio) -> float:
            return float(np.log(1 + (ratio - 1) * (own[sent] @ np.asarray(f))).sum())

        truth = np.bincount(table[:, j], minlength=leaf.k) / len(table)
        best = likelihood(found[j].frequencies)
        assert best >= likelihood(truth)
        for _ in range(200):
            other = generator.dirichlet(50 * found[j].frequencies + 0.5)
            assert best >= likelihood(other) - 1e-3
        assert len(found[j].n) == leaf.k and set(found[j].n) == {int(sent.sum())}


def find_senders(solution: Any, reports: Any, j: int) -> Any:
    """Mark the reports that are about an attribute."""
    if not solution.samples:
        return np.ones(len(reports), bool)
    part = next(i for i, own in enumerate(solution._own_columns) if own.start <= j < own.stop)
    return reports["attribute"] == part


def test_fakes_have_no_likeliest_distribution() -> None:
    """Check that RS+FD and whole histories refuse EM in one sentence."""
    fakes = RSFD(GRR, [3, 2], 1.0)
    with pytest.raises(TypeError, match="em is not known for RSFD"):
        fakes.em(fakes.randomize([[0, 1]] * 9, 1))
    survey = Survey({"a": [1, 2]}, epsilon=1.0, rounds=3, changes=1)
    with pytest.raises(TypeError, match="em is for surveys without rounds"):
        survey.em([])
