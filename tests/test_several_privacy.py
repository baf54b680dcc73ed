"""Tests of the stated privacy of solutions.

They cover exact losses over all records and reports, budgets, and the distribution of fakes.
"""

from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import exp, log
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
    THE,
    checks,
    exact_epsilon,
    wire,
)
from multi_freq_ldpy.protocols.unary import UnaryEncoding

from .cases import HIDDEN, SMALL_SOLUTIONS, UNARY
from .test_privacy import e_to

SIZES = [ks for d in (2, 3) for ks in combinations_with_replacement((2, 3, 4), d)] + [
    (3, 2),
    (4, 2, 3),
]
EPSILONS = (0.5, 1.0, 2.0)


# Exact losses. The distribution of a report is computed here from those of the protocols. Reports
# whose likelihoods are proportional for all values are one class.


def fake_law(protocol: Any, kind: str) -> dict[bytes, Fraction]:
    """Return the distribution of a fake report, from its definition."""
    laws = [protocol.law(v) for v in range(protocol.k)]
    if not isinstance(protocol, UnaryEncoding):
        return dict.fromkeys(laws[0], Fraction(1, len(laws[0])))  # uniform
    if kind == "random":
        return {y: sum((law[y] for law in laws), Fraction(0)) / protocol.k for y in laws[0]}
    q, law = Fraction(protocol.weights[1], 2**64), {}
    for y in laws[0]:
        ones = int.from_bytes(y, "little").bit_count()
        law[y] = q**ones * (1 - q) ** (protocol.k - ones)
    return law


def classes(protocol: Any, fake: dict[bytes, Fraction] | None) -> np.ndarray:
    """Return the different rows of likelihoods, relative to a fake report or to value 0."""
    laws = [protocol.law(v) for v in range(protocol.k)]
    rows = {tuple(law[y] / (fake[y] if fake else laws[0][y]) for law in laws) for y in laws[0]}
    return np.array([[float(x) for x in row] for row in rows])


def losses(solution: Any, kind: str) -> tuple[float, float]:
    """Return the largest log-ratios over all reports, for two sets of pairs of records.

    The first set has all pairs. The second set has the pairs that differ in one attribute.
    """
    hidden = isinstance(solution, RSFD)
    if any(hasattr(each, "protocols") for each in solution.protocols):  # nested solutions
        each = [
            losses(
                part if hasattr(part, "protocols") else SMP.of([part]), getattr(part, "fake", "")
            )
            for part in solution.protocols
        ]
        wholes, ones = zip(*each, strict=True)
        return (max if isinstance(solution, SMP) else sum)(wholes), max(ones)
    tables = [
        classes(each, fake_law(each, kind) if hidden else None) for each in solution.protocols
    ]
    if isinstance(solution, SMP):  # a report is about one attribute
        found = max(log((table.max(axis=1) / table.min(axis=1)).max()) for table in tables)
        return found, found
    d, likelihoods = solution.d, np.array(0.0 if hidden else 1.0)
    for j, table in enumerate(tables):  # axes: the classes of every attribute, then its values
        shape = [1] * (2 * d)
        shape[j], shape[d + j] = table.shape
        likelihoods = (
            likelihoods + float(solution.shares[j]) * table.reshape(shape)
            if hidden
            else likelihoods * table.reshape(shape)
        )
    records = tuple(range(d, 2 * d))
    whole = (likelihoods.max(axis=records) / likelihoods.min(axis=records)).max()
    one = max((likelihoods.max(axis=axis) / likelihoods.min(axis=axis)).max() for axis in records)
    return log(whole), log(one)


WAYS: dict[str, Any] = {
    "SPL": SPL,
    "SMP": SMP,
    "RSFD": RSFD,
    "RSFD-random": partial(RSFD, fake="random"),
    "RSFD-whole": partial(RSFD, amplify=False),
    "RSFD-balanced": partial(RSFD, balance=True),
}
MIXED: list[Any] = [[GRR, OUE, SS], [OLH, SUE, GRR]]
GRID = [
    (way, over) for way in WAYS for over in [*(UNARY if way == "RSFD-random" else HIDDEN), *MIXED]
]
NAMES = [f"{way}-{getattr(over, '__name__', 'mixed')}" for way, over in GRID]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "over"), GRID, ids=NAMES)
def test_exact_loss_of_solutions(way: str, over: Any) -> None:
    kind = "random" if way == "RSFD-random" else "zero"
    for ks in SIZES:
        for epsilon in EPSILONS:
            solution = WAYS[way](over[: len(ks)] if isinstance(over, list) else over, ks, epsilon)
            whole, one = losses(solution, kind)
            assert solution.privacy.report == pytest.approx(whole, abs=1e-9)
            assert solution.privacy.report_attribute == pytest.approx(one, abs=1e-9)
            if not way.startswith("RSFD") or way == "RSFD-whole":
                assert solution.privacy.report <= epsilon
            if way == "RSFD-balanced":
                assert solution.privacy.report_attribute <= epsilon + 1e-12
                assert over in (THE, *MIXED) or solution.privacy.report_attribute == pytest.approx(
                    epsilon, abs=1e-9
                )


@pytest.mark.parametrize(
    "solution", [s for s in SMALL_SOLUTIONS if SHE not in map(type, s.protocols)], ids=repr
)
def test_law_of_solutions_is_that_of_their_protocols(solution: Any) -> None:
    """Compare the loss from the stated distribution with the enumeration in this file."""
    found = exact_epsilon(solution)
    assert [found, found.attribute] == pytest.approx(
        losses(solution, getattr(solution, "fake", "zero")), abs=1e-9
    )
    assert (found.ratio, found.attribute.ratio) == (
        solution.privacy.ratio,
        solution.privacy.ratio_attribute,
    ), "ratios must be exactly equal"


@pytest.mark.parametrize("kind", ["zero", "random"])
@pytest.mark.parametrize("cls", HIDDEN)
def test_moments_of_fakes(cls: Any, kind: str) -> None:
    """Compare the moments of a fake report with its distribution, exactly."""
    for k, epsilon in ((2, 1.0), (4, 0.5), (5, 3.0)):
        protocol = cls(k, epsilon)
        fake, law = protocol._fake(kind), fake_law(protocol, kind)
        assert fake.law() == law
        contributed = protocol.contributions(wire.decode(protocol, b"".join(law))).astype(np.int64)
        chances = np.array(list(law.values()), object)
        products = chances @ (contributed[:, :, None] * contributed[:, None, :]).reshape(
            len(law), -1
        )
        for (u, v), found in zip(product(range(k), repeat=2), products, strict=True):
            assert found == (fake.mean if u == v else fake.pair)


def test_losses_in_numbers() -> None:
    amplified = log(2 * (exp(1) - 1) + 1)
    for solution, whole, one in (
        (RSFD(GRR, [3, 3], 1.0), amplified, 1.0),
        (RSFD(GRR, [2, 6], 1.0), amplified, 1.15593),
        (RSFD(OUE, [3, 3], 1.0, fake="random"), amplified, 1.12504),
        (RSFD(OUE, [3, 7], 1.0), amplified, 1.0),
        (RSFD(GRR, [2, 6], 1.0, balance=True), amplified, 1.0),
        (RSFD(GRR, [3, 3], 1.0, amplify=False), 1.0, log((exp(1) + 1) / 2)),
        (SMP(GRR, [3, 3], 1.0), 1.0, 1.0),
        (SPL(GRR, [3, 3], 1.0), 1.0, 0.5),
        (SMP(THE, [3, 3], 1.0), THE(3, 1.0).privacy.report, THE(3, 1.0).privacy.report),
    ):
        assert solution.privacy.report == pytest.approx(whole, abs=1e-5)
        assert solution.privacy.report_attribute == pytest.approx(one, abs=1e-5)
        assert solution.privacy.lifetime == solution.privacy.lifetime_attribute == float("inf")


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 11, 49])
@pytest.mark.parametrize("cls", HIDDEN)
def test_splitting_never_exceeds_the_budget_by_a_rounding(cls: Any, d: int) -> None:
    for epsilon in (0.1, 0.3, 1.0, 1.1, 2.0, 7.0):
        solution: Any = SPL(cls, [2 + j % 3 for j in range(d)], epsilon)
        assert solution.privacy.ratio <= e_to(epsilon), "compared without floating point"
        assert solution.privacy.report <= epsilon
        assert sum(Fraction(each.epsilon) for each in solution.protocols) <= Fraction(epsilon)
        if cls is not THE:
            assert epsilon - solution.privacy.report < 1e-9


@pytest.mark.parametrize("epsilon", [0.001, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("d", [1, 2, 7, 100])
def test_amplified_budget_is_rounded_down(d: int, epsilon: float) -> None:
    protocols: Any = RSFD(OUE, [3] * d, epsilon).protocols
    (each,) = {protocol.epsilon for protocol in protocols}
    assert Fraction(each) <= Fraction(np.nextafter(each, 0)) * 2
    if epsilon <= 5:
        assert e_to(each) <= d * (e_to(epsilon) - 1) + 1 <= e_to(float(np.nextafter(each, 100)))
    assert RSFD(OUE, [3] * d, epsilon).privacy.report_attribute <= epsilon or epsilon == 40


def test_mixed_budgets() -> None:
    """Check the stated losses of solutions whose protocols have different budgets."""
    protocols = [GRR(2, 0.5), OUE(3, 2.0), SS(4, 1.0)]
    for make in (
        SPL.of,
        SMP.of,
        RSFD.of,
        partial(RSFD.of, fake="random"),
        partial(RSFD.of, balance=True),
    ):
        for given in (protocols, protocols[::-1], protocols[:2]):
            checks.run_check("privacy", make(given))
