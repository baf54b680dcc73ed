"""Tests of the exact worst case: it is the stated loss, and its inputs and report attain it."""

import copy
import pickle
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import GRR, OUE, RSFD, SHE, SMP, SPL, SS, exact, exact_epsilon
from multi_freq_ldpy.analysis.worst_case import MOST_LEVELS, WorstCase

from .cases import SMALL, SMALL_SOLUTIONS
from .faults import FAULTS, NeverClearsAndSaysSo, OwnValueFirst

LISTED = [
    each
    for each in [*SMALL, *SMALL_SOLUTIONS]
    if not any(isinstance(one, SHE) for one in getattr(each, "protocols", [each]))
]


@pytest.mark.parametrize("mechanism", LISTED, ids=repr)
def test_it_is_what_is_promised(mechanism: Any) -> None:
    found, said = exact_epsilon(mechanism), mechanism.privacy
    assert [found, found.attribute, found.lifetime, found.lifetime_attribute] == [
        said.report,
        said.report_attribute,
        said.lifetime,
        said.lifetime_attribute,
    ]


@pytest.mark.parametrize("mechanism", LISTED, ids=repr)
def test_it_is_attained(mechanism: Any) -> None:
    """Check that the probabilities of the report for the two inputs have the stated ratio.

    Records of ``attribute`` differ in one place.
    """
    found = exact_epsilon(mechanism)
    for case, law in (
        (found, mechanism.law),
        (found.attribute, mechanism.law),
        (found.lifetime, getattr(mechanism.permanent, "law", None)),
        (found.lifetime_attribute, getattr(mechanism.permanent, "law", None)),
    ):
        if law is None:
            assert case == inf and case.inputs is None and case.report is None
            continue
        assert case.inputs is not None and case.report is not None
        first, second = (law(each)[case.report] for each in case.inputs)
        assert first / second == case.ratio and case == exact.log(Fraction(first / second))
    assert found.attribute.inputs is not None
    assert (
        int((np.asarray(found.attribute.inputs[0]) != np.asarray(found.attribute.inputs[1])).sum())
        == 1
    )


def test_faults_are_measured_for_what_they_are() -> None:
    """Measure protocols outside the package by their distribution, not by their stated loss."""
    leak = exact_epsilon(OwnValueFirst(8, 0.1))
    assert (
        leak == inf and leak.ratio is None and leak.report is not None and leak.inputs is not None
    )
    first, second = (OwnValueFirst(8, 0.1).law(each) for each in leak.inputs)
    assert leak.report in first and leak.report not in second and "not for" in repr(leak)
    assert exact_epsilon(NeverClearsAndSaysSo(3, 1.0)) == inf

    class Modest(GRR):
        @cached_property
        def privacy(self) -> Any:
            return GRR(self.k, self.epsilon / 2).privacy

    assert (
        exact_epsilon(Modest(4, 2.0)) == GRR(4, 2.0).privacy.report > Modest(4, 2.0).privacy.report
    )
    assert {law for _, law in FAULTS} >= {"privacy", "lifetime"}


def test_what_cannot_be_listed_says_how_large_it_is() -> None:
    for mechanism, size in (
        (OUE(30, 1.0), "2**30"),
        (SS(100, 1.0), "2**"),
        (SHE(3, 1.0), "unbounded"),
        (GRR(7000, 1.0), f"7000 reports of 7000 inputs, which are more than the {MOST_LEVELS}"),
        (SMP(GRR, [10] * 8, 1.0), "80 reports of 100000000 inputs"),
        (SPL(OUE, [12, 12], 1.0), "16777216"),
        (RSFD(GRR, [40, 40], 1.0), "1600 reports of 1600 inputs"),
    ):
        with pytest.raises(ValueError, match="cannot be listed|pairs") as refused:
            exact_epsilon(mechanism)
        assert size in str(refused.value)
    with pytest.raises(TypeError, match="mechanism must be a protocol or a solution, not 3"):
        exact_epsilon(3)  # type: ignore[arg-type]


def test_laws_that_are_none() -> None:
    """Refuse distributions that are no fractions with the sum 1, or that have too many reports."""

    class Doubles(GRR):
        def law(self, value: int) -> dict[bytes, Any]:
            return {report: float(chance) for report, chance in super().law(value).items()}

    class Twice(GRR):
        def law(self, value: int) -> dict[bytes, Any]:
            return {report: 2 * chance for report, chance in super().law(value).items()}

    class Nothing(GRR):
        def law(self, value: int) -> dict[bytes, Any]:
            return {}

    class Lawless(GRR):
        def law(self, value: int) -> dict[bytes, Any]:
            raise NotImplementedError

    class Disjoint(GRR):
        def law(self, value: int) -> dict[bytes, Any]:
            return {bytes([value % 256, value // 256, i]): Fraction(1, 2) for i in range(2)}

    for cls in (Doubles, Twice, Nothing):
        with pytest.raises(TypeError, match="fractions that add up to 1"):
            exact_epsilon(cls(3, 1.0))
    with pytest.raises(ValueError, match="has no distribution"):
        exact_epsilon(Lawless(3, 1.0))
    assert exact_epsilon(Disjoint(300, 1.0)) == inf
    with pytest.raises(ValueError, match="1600 reports of 800 inputs"):
        exact_epsilon(Disjoint(800, 1.0))


def test_it_is_a_number_and_a_sentence() -> None:
    found = exact_epsilon(GRR(3, 1.0))
    assert isinstance(found, float) and found <= 1.0 and isinstance(found.attribute, WorstCase)
    lines = repr(found).splitlines()
    assert (
        lines[0]
        == "one report              1.0: report 0x00 is 2.71828 times as likely for 0 as for 1"
    )
    assert lines[2] == "lifetime                inf: every further report tells more"
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (
            copied == found
            and copied.inputs == found.inputs
            and copied.attribute.report == found.attribute.report
        )
    assert "e^800 times as likely" in repr(
        WorstCase(Fraction(exact.exp(Fraction(800))[0]), (0, 1), b"x")
    )
    assert (
        repr(exact_epsilon(RSFD(GRR, [2, 6], 1.0)))
        .splitlines()[1]
        .endswith("for (0, 0) as for (0, 1)")
    )
