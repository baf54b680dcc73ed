"""Tests of poisoning: the formulas are compared with all reports and with simulated attacks."""

from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import GRR, OUE, RSFD, SHE, SMP, SPL, SS, DBitFlipPM, influence, wire
from multi_freq_ldpy.protocol import Protocol

from .cases import SMALL, SMALL_SOLUTIONS

LISTED = [
    each
    for each in [*SMALL, *SMALL_SOLUTIONS]
    if not any(isinstance(one, SHE) for one in getattr(each, "protocols", [each]))
]


@pytest.mark.parametrize(
    "protocol", [each for each in SMALL if not isinstance(each, SHE)], ids=repr
)
def test_most_is_the_most_of_all_reports(protocol: Any) -> None:
    """Compare the stated largest contribution with the largest over all reports."""
    for values in range(1, protocol.cells + 1):
        assert protocol._most(values) == Protocol._most(protocol, values)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", LISTED, ids=repr)
def test_attacks_shift_as_much_as_is_said(mechanism: Any) -> None:
    """Compare the stated shift with the mean shift of 60 simulated attacks.

    One user in ten is malicious and sends the worst of all possible reports. The targets are one
    value, and all values of an attribute but the last. Honest users hold the last value. The
    tolerance is six standard deviations of the mean.
    """
    n, m, times = 2000, 200, 60
    law = mechanism.law(0) if isinstance(mechanism, Protocol) else mechanism.law([0] * mechanism.d)
    every = wire.decode(mechanism, b"".join(law))
    contributed = mechanism.contributions(every)
    protocols = mechanism.leaves
    said = influence(mechanism, n, m)
    honest = np.array([[each.k - 1 for each in protocols]] * (n - m))
    for j, (each, (_, part), one) in enumerate(
        zip(protocols, mechanism.parts, said if isinstance(said, tuple) else (said,), strict=True)
    ):
        for size in {1, each.cells - 1}:
            chosen = np.arange(size)
            if each._most(size) < size:  # the best targets for the attack
                chosen = max(
                    (np.argsort(-row[part], kind="stable")[:size] for row in contributed),
                    key=lambda x: _gain(contributed, part, x),
                )
            held = int(each.cell_of(np.array([each.k - 1]))[0])
            if held in chosen or (each.answering[0] < 1 and size > each._most(size)):
                continue
            gains = contributed[:, part][:, chosen].sum(axis=1, dtype=np.int64)
            lies = np.repeat(every[[int(gains.argmax())]], m, axis=0)
            shifts = []
            for seed in range(times):
                reports = mechanism.randomize(
                    honest[:, 0] if isinstance(mechanism, Protocol) else honest, seed
                )
                found = mechanism.estimate(np.concatenate((reports, lies)))
                frequencies = (found if isinstance(mechanism, Protocol) else found[j]).frequencies
                shifts.append(frequencies[chosen].sum())
            error = np.std(shifts, ddof=1) / times**0.5
            assert abs(np.mean(shifts) - one.of(size)) < 6 * error + 0.003, (j, size)


@pytest.mark.parametrize(
    "mechanism",
    [
        GRR(3, 1.0),
        OUE(3, 1.0),
        SMP(GRR, [3, 3, 3], 1.0),
        RSFD(OUE, [2, 3], 1.0),
        DBitFlipPM(4, 2.0, d_bits=2),
    ],
)
def test_attacks_lower_as_much_as_is_said(mechanism: Any) -> None:
    """Compare the stated decrease with the mean decrease of 60 simulated attacks.

    All honest users hold value 0 of attribute 0. Malicious users send the report about attribute 0
    that supports this value least.
    """
    n, m, times = 4000, 400, 60
    several = not isinstance(mechanism, Protocol)
    law = mechanism.law([1] * mechanism.d) if several else mechanism.law(1)
    every = wire.decode(mechanism, b"".join(law))
    first = influence(mechanism, n, m)[0] if several else influence(mechanism, n, m)
    speaks = [mechanism.tally(every[[i]]) for i in range(len(every))]
    worst = min(
        range(len(every)),
        key=lambda i: (
            not speaks[i].n[0],
            speaks[i].counts[0],
        ),
    )
    honest, shifts = np.zeros((n - m, mechanism.d) if several else n - m, np.int64), []
    for seed in range(times):
        found = mechanism.estimate(
            np.concatenate(
                (mechanism.randomize(honest, seed), np.repeat(every[[worst]], m, axis=0))
            )
        )
        shifts.append((n - m) / n - (found[0] if several else found).frequencies[0])
    error = np.std(shifts, ddof=1) / times**0.5
    assert abs(np.mean(shifts) - first.lowered) < 6 * error + 0.003


def _gain(contributed: Any, part: slice, chosen: Any) -> int:
    return int(contributed[:, part][:, chosen].sum(axis=1, dtype=np.int64).max())


def test_in_numbers() -> None:
    e = np.e
    grr = influence(GRR(10, 1.0), 1000, 10)
    assert grr.value == pytest.approx(0.01 * (1 - 1 / (e + 9)) * (e + 9) / (e - 1))
    assert grr.lowered == pytest.approx(0.01 / (e - 1))
    oue = influence(OUE(10, 1.0), 1000, 10)
    assert oue.of(9) == pytest.approx(9 * oue.value)
    omega, channel = SS(100, 1.0).omega, SS(100, 1.0).channel
    assert influence(SS(100, 1.0), 1000, 10).of(99) == pytest.approx(
        0.01 * (omega - 99 * channel.q) / channel.slope
    ), "a set has a fixed size"
    assert influence(GRR(10, 1e-15), 1000, 10).value == pytest.approx(
        0.01 * 0.9 / GRR(10, 1e-15).channel.slope
    )
    assert influence(SHE(3, 1.0), 1000, 1).value > 2e6, "entries of SHE are almost unbounded"
    smp, spl, rsfd = (
        influence(cls(GRR, [4, 4, 4], 1.0), 3000, 30)[0].value for cls in (SMP, SPL, RSFD)
    )
    assert smp == pytest.approx(
        30 / (2970 / 3 + 30) * (1 - GRR(4, 1.0).channel.q) / GRR(4, 1.0).channel.slope
    )
    assert rsfd < smp < spl
    half = influence(DBitFlipPM(8, 2.0, b=8, d_bits=3), 1000, 10)
    assert half.of(6) == pytest.approx(
        6 * 5 / (990 * 3 / 8 + 5) * half.value / (10 / (990 * 3 / 8 + 10))
    )
    assert influence(GRR(3, 1.0), 10, 0).value == 0.0 and influence(GRR(3, 1.0), 10, 10).of(1) > 1.0


def test_bad_arguments() -> None:
    for call, message in (
        (lambda: influence(3, 10, 1), "mechanism must be"),
        (lambda: influence(GRR(3, 1.0), 0, 0), "n must be"),
        (lambda: influence(GRR(3, 1.0), 10, 11), "m must be"),
        (lambda: influence(GRR(3, 1.0), 10, 1).of(3), "size must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()
