"""Tests of nested solutions: attributes are the leaves, in order, and all methods work."""

import json
import pickle
from fractions import Fraction
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_solution import PerAttribute

from multi_freq_ldpy import (
    GRR,
    LGRR,
    LOSUE,
    OUE,
    RSFD,
    SMP,
    SPL,
    SUE,
    THE,
    Client,
    Estimates,
    LimitReached,
    Panel,
    Survey,
    Tally,
    checks,
    exact_epsilon,
    influence,
    over_rounds,
    registry,
    wire,
)
from multi_freq_ldpy.core import validate
from multi_freq_ldpy.solutions.base import DEEPEST

from .cases import NESTED

GROUPS = SMP.of([SPL([GRR, OUE], [2, 3], 1.0), GRR(4, 1.0)])
OVER_TIME = SPL.of([SMP.of([LGRR(3, 2.0, 1.0), LOSUE(2, 4.0, 1.0)]), LGRR(2, 1.5, 1.0)])


def test_attributes_are_leaves() -> None:
    assert (GROUPS.d, GROUPS.ks) == (3, (2, 3, 4))
    assert GROUPS.leaves == (GRR(2, 0.5), OUE(3, 0.5), GRR(4, 1.0))
    assert GROUPS.answering == (Fraction(1, 2),) * 3
    records = np.array([[1, 2, 3], [0, 2, 3], [1, 0, 0]] * 1000)
    tally = GROUPS.tally(GROUPS.randomize(records, 1))
    assert [part.mechanism for part in tally] == list(GROUPS.leaves)
    assert tally[0].n[0] == tally[1].n[0] and tally[0].n[0] + tally[2].n[0] == tally.users == 3000
    assert tally[0] == pickle.loads(pickle.dumps(tally[0]))
    estimates = GROUPS.estimate(tally)
    assert isinstance(estimates, Estimates)
    assert [len(each) for each in estimates] == [2, 3, 4]
    truth = [np.bincount(records[:, j], minlength=k) / 3000 for j, k in enumerate(GROUPS.ks)]
    for each, true in zip(estimates, truth, strict=True):
        assert (np.abs(each.frequencies - true) < 5 * each.std).all()
    assert len(influence(GROUPS, 1000, 10)) == 3


def test_a_solution_of_one_kind_is_the_flat_one_of_all_parts() -> None:
    """Compare a nested SPL with a flat SPL: the distributions are equal, and the keys differ."""
    flat = SPL.of([GRR(2, 0.5), GRR(3, 0.5), GRR(2, 1.0)])
    nested = SPL.of([SPL.of([GRR(2, 0.5), GRR(3, 0.5)]), GRR(2, 1.0)])
    assert nested.privacy == flat.privacy
    assert nested._label != flat._label
    for record in product(*map(range, flat.ks)):
        assert nested.law(record) == flat.law(record)
    assert np.allclose(nested.variance(100, 0.3), flat.variance(100, 0.3))


@pytest.mark.parametrize("mechanism", NESTED, ids=repr)
def test_specs_and_tallies_of_nested_solutions(mechanism: Any) -> None:
    spec = json.loads(json.dumps(registry.to_spec(mechanism)))
    assert [set(each) >= {"protocol"} for each in spec["protocols"]]
    assert registry.from_spec(spec) == mechanism == pickle.loads(pickle.dumps(mechanism))
    assert hash(registry.from_spec(spec)) == hash(mechanism)
    records = np.zeros((200, mechanism.d), np.int64)
    tally = mechanism.tally(mechanism.randomize(records, 1))
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert wire.decode(mechanism, wire.encode(mechanism, mechanism.randomize(records, 2))).size
    assert exact_epsilon(mechanism) == mechanism.privacy.report


@pytest.mark.parametrize("wrong", range(5))
def test_counts_that_no_reports_have_are_refused(wrong: int) -> None:
    tally = GROUPS.tally(GROUPS.randomize(np.zeros((100, 3), np.int64), 1))
    counts, n, users = tally.counts.copy(), tally.n.copy(), tally.users
    if wrong == 0:
        n[0] += 1
    elif wrong == 1:
        n[:5] += 1
    elif wrong == 2:
        users += 1
    elif wrong == 3:
        counts[0] += 1
    else:
        n[:2] -= 1
    with pytest.raises(ValueError, match="n must|counts"):
        Tally(GROUPS, counts, n, users)
    assert Tally(GROUPS, tally.counts, tally.n, tally.users) == tally


def nest(depth: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"protocol": "GRR", "k": 2, "epsilon": 1.0}
    for _ in range(depth):
        spec = {"protocol": "SPL", "protocols": [spec]}
    return spec


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RSFD.of([SMP(GRR, [2, 3], 1.0), GRR(2, 1.0)]), "RSFD takes protocols only"),
        (lambda: SMP.of([GRR(2, 1.0), 3]), "protocols must be a list of protocols"),
        (lambda: SMP.of([GRR(2, 1.0)], "zero"), "fields protocols"),
        (lambda: SMP.of([GRR(2, 1.0)], fake="zero"), "fields protocols"),
        (lambda: registry.from_spec({"version": 1, **nest(DEEPEST + 1)}), "nested at most"),
        (lambda: registry.from_spec({"version": 1, **nest(900)}), "nested at most"),
        (
            lambda: SMP.of([SPL(GRR, [2] * 600, 1.0)] * 2),
            f"at most {validate.LARGEST_RECORD}, one per attribute",
        ),
        (
            lambda: registry.from_spec(
                {"version": 1, "protocol": "SMP", "protocols": [{**nest(1)}] * 1025}
            ),
            f"at most {validate.LARGEST_RECORD}, one per attribute",
        ),
        (
            lambda: registry.from_spec(
                {
                    "version": 1,
                    "protocol": "SMP",
                    "protocols": [{"protocol": "SPL", "protocols": [nest(0)] * 1000}] * 1000,
                }
            ),
            f"at most {validate.LARGEST_RECORD}, one per attribute",
        ),
        (lambda: GROUPS.randomize([[0, 0]]), "table must have d=3 columns"),
        (lambda: GROUPS.randomize([[0, 3, 0]]), r"table\[0, 1\] = 3"),
        (lambda: GROUPS.law([0, 0]), "record"),
        (lambda: GROUPS.likelihood(GROUPS.randomize([0, 0, 0]), [0, 0]), "value"),
    ],
)
def test_what_cannot_be_nested_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_nested_at_most_so_deep() -> None:
    deepest = registry.from_spec({"version": 1, **nest(DEEPEST)})
    assert deepest.ks == (2,)
    with pytest.raises(ValueError, match="nested at most"):
        SMP.of([deepest])


def test_clients_are_charged_for_what_they_tell(tmp_path: Path) -> None:
    """Check that each leaf has an account, in order, and that only the sampled part is charged."""
    assert OVER_TIME._prices == (2.0, 4.0, 1.5)
    seen = set()
    for i in range(20):
        client = Client(OVER_TIME, bytes([i]) * 32)
        for record in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0]):
            client.report(record)
        seen.add(client.spent)
    assert seen == {2 * 2.0 + 1.5, 2 * 4.0 + 1.5}
    client = Client.open(tmp_path / "client", OVER_TIME, limit=4.0 + 1.5)
    reports = [client.report([0, 1, 1]) for _ in range(3)]
    assert len({report["a0"]["attribute"] for report in reports}) == 1
    assert Client.open(tmp_path / "client", OVER_TIME).spent == client.spent


def test_panels_of_nested_solutions_over_rounds() -> None:
    """Combine five rounds of the same users: the error is the stated one.

    The sampled part of each user stays the same. There are 200 panels, so six standard deviations
    of a variance are 60 per cent.
    """
    n, errors = 400, []
    records = np.tile([0, 1, 1], (n, 1))
    for seed in range(200):
        panel = Panel(OVER_TIME, n, seed)
        tallies = [panel.tally(records) for _ in range(5)]
        assert all(np.array_equal(each.n, tallies[0].n) for each in tallies)
        whole = over_rounds(tallies)
        errors.append(
            [
                (each.frequencies[1] - true) / each.std[1]
                for each, true in zip(whole, (0, 1, 1), strict=True)
            ]
        )
    spread = np.array(errors).var(axis=0)
    assert ((spread > 0.5) & (spread < 1.6)).all(), spread
    assert (np.abs(np.array(errors).mean(axis=0)) < 6 / 200**0.5).all()


def test_surveys_of_nested_solutions(tmp_path: Path) -> None:
    """Check that a survey reads a nested solution from its file and labels the leaves."""
    flat = Survey({"a": ["x", "y"], "b": ["u", "v", "w"], "c": list("stuv")}, epsilon=1.0)
    spec = flat.to_spec() | {"solution": registry.to_spec(GROUPS)}
    survey = Survey.from_spec(json.loads(json.dumps(spec)))
    table = {"a": ["x"] * 500, "b": ["v"] * 500, "c": ["t", "u"] * 250}
    found = survey.estimate(survey.randomize(table, 1))
    assert found.names == ["a", "b", "c"]
    assert found["c"].labels == tuple("stuv")
    survey.save(tmp_path / "survey.json")
    assert Survey.load(tmp_path / "survey.json") == survey


def test_the_price_of_a_group_is_that_of_its_dearest_part() -> None:
    """Check the loss of groups of attributes, for any records and for a change of one attribute."""
    groups = SMP.of([SPL([GRR, GRR], [2, 2], 2.0), SUE(3, 0.25)])
    assert groups.privacy.report == pytest.approx(2.0)
    assert groups.privacy.report_attribute == pytest.approx(1.0)
    twice = SPL.of([SPL([GRR, GRR], [2, 2], 2.0), GRR(2, 0.25)])
    assert twice.privacy.report == pytest.approx(2.25)
    assert twice.privacy.report_attribute == pytest.approx(1.0)
    within = SPL.of([SMP.of([GRR(2, 1.0), GRR(3, 0.5)]), GRR(2, 0.75)])
    assert within.privacy.report == pytest.approx(1.75)
    assert within.privacy.report_attribute == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("mechanism", "record", "price"),
    [
        (RSFD.of([GRR(2, 0.1), GRR(2, 5.0)]), [0, 1], None),
        (SPL.of([RSFD.of([GRR(2, 0.1), GRR(2, 5.0)]), GRR(2, 1.0)]), [0, 1, 0], None),
        (SMP.of([RSFD.of([GRR(2, 0.1), GRR(2, 5.0)])] * 2), [0, 1, 0, 1], None),
        (PerAttribute(GRR, [3, 2], 1.0), [0, 1], 2.0),
    ],
    ids=repr,
)
def test_every_report_is_charged_for_in_full(
    mechanism: Any, record: list[int], price: float | None, tmp_path: Path
) -> None:
    """Check that a solution with one account charges its stated loss for every report."""
    client = Client(mechanism)
    for _ in range(3):
        client.report(record)
    promised = price or mechanism.privacy.report
    assert client.spent == pytest.approx(3 * promised)
    limited = Client.open(tmp_path / "client", mechanism, limit=2.5 * promised)
    limited.report(record)
    limited.report(record)
    with pytest.raises(LimitReached):
        limited.report(record)


class Undercharged(SMP):
    """Solution that charges every report like its cheapest part. >>>"""

    @property
    def _prices(self) -> tuple[float, ...]:
        return (min(self._part_prices),) * len(self._part_prices)


CALLS = count()


class ResampledWithin(SPL):
    """Solution whose inner part samples anew for every report. >>>"""

    def _recall(self, values: Any, users: Any, memory: Any) -> Any:
        return super()._recall(values, users + next(CALLS), memory)


@pytest.mark.parametrize(
    "mechanism",
    [
        Undercharged.of([GRR(2, 0.5), GRR(3, 1.0)]),
        SPL.of([Undercharged.of([GRR(2, 0.5), GRR(3, 1.0)]), GRR(2, 1.0)]),
        ResampledWithin.of([SMP(LGRR, [2, 3], 2.0, 1.0), LGRR(2, 2.0, 1.0)]),
    ],
    ids=repr,
)
def test_the_memory_check_sees_prices_and_inner_samples(mechanism: Any) -> None:
    with pytest.raises(checks.CheckFailed, match="charge for|attribute changes|into several calls"):
        checks.run_check("memory", mechanism)


def test_errors_number_attributes_of_the_whole_record() -> None:
    solution = SMP.of([GRR(2, 1.0), SPL(GRR, [2, 2], 1.0)])
    tally = solution.tally(solution.randomize(np.zeros((100, 3), np.int64), 1))
    counts = tally.counts.copy()
    counts[4] += 1
    with pytest.raises(ValueError, match="^attribute 2: counts must add up"):
        Tally(solution, counts, tally.n, tally.users)


def test_specs_are_refused_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(THE, "__post_init__", lambda self: made.append(1))
    parts = [{"protocol": "THE", "k": 5, "epsilon": 1.0 + i / 100} for i in range(20)]
    for wrong in ({"protocol": "X"}, {"protocol": "GRR", "k": 2}, {"protocol": "GRR"}):
        with pytest.raises(ValueError, match="protocol must be one of|must have the fields"):
            registry.from_spec({"version": 1, "protocol": "SPL", "protocols": [*parts, wrong]})
    assert not made


def test_accounts_of_a_sampled_group() -> None:
    """Check that the account of part 1 comes after the two accounts of part 0."""
    solution = SMP.of([SPL(LGRR, [2, 2], 4.0, 2.0), LGRR(3, 3.0, 1.0)])
    assert solution._prices == (2.0, 2.0, 3.0)
    seen = set()
    for i in range(20):
        client = Client(solution, bytes([i]) * 32)
        for record in ([0, 0, 0], [1, 0, 1], [1, 0, 2]):
            client.report(record)
        seen.add((tuple(sorted(client._ledger.classes)), client.spent))
    assert seen == {((0, 1), 3 * 2.0), ((2,), 3 * 3.0)}


@pytest.mark.parametrize("n", [[4, 4, 3, 3, 3], [3, 3, 4, 4, 4]])
def test_every_attribute_of_a_split_report_has_the_same_users(n: list[int]) -> None:
    split = SPL(OUE, [2, 3], 1.0)
    with pytest.raises(ValueError, match="n must be of the same users"):
        Tally(split, [0] * 5, np.array(n), 4)
