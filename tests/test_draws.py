"""Tests that draws with and without a compiler have the same functions and give the same bytes."""

import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    GRR,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    Bloom,
    DBitFlipPM,
    Panel,
    Stream,
    registry,
)
from multi_freq_ldpy.core import draws
from multi_freq_ldpy.protocol import budgets_of

from .cases import NESTED

EVERY: list[Any] = [
    *(
        cls(k, *[3.0, 1.0][: len(budgets_of(cls))])
        for cls in registry.BY_BUDGETS.values()
        for k in (2, 9, 100)
    ),
    *(OUE(3, 40.0), GRR(2**20, 1.0), SS(5000, 1.0), OLH(2**16, 2.0)),
    # Domains with as many values as an integer type, with one less and with one more
    *(GRR(k, 3.0) for k in (255, 256, 257, 2**16 - 1, 2**16, 2**16 + 1)),
    *(SMP(GRR, [2] * d, 1.0) for d in (255, 256, 257)),
    DBitFlipPM(40, 2.0, b=20, d_bits=3),
    *(Bloom(9, 1.0, 13), Bloom(100, 2.0, 128, 2), RSFD(Bloom, [3, 20], 1.0, bits=16)),
    *(SPL([GRR, OLH], [3, 30], 2.0), SMP([OUE, SS, GRR], [3, 20, 7], 1.0)),
    *(RSFD(GRR, [3, 2], 1.0), RSFD(OUE, [3, 20], 1.0, fake="zero"), RSFD(OLH, [9, 9], 1.0)),
    *NESTED,
]


def draw_and_count(mechanism: Any, n: int) -> tuple[bytes, bytes, bytes]:
    """Return reports, their counts, and simulated counts."""
    values = np.arange(n)[:, np.newaxis] * (5 + np.arange(len(mechanism.ks))) % mechanism.ks
    inputs = values if hasattr(mechanism, "protocols") else values[:, 0]
    reports = mechanism.randomize(inputs, Stream(3, position=2**33 + 1))
    counted = mechanism.tally(reports)
    held = [np.bincount(v, minlength=k) for v, k in zip(values.T, mechanism.ks, strict=True)]
    simulated = mechanism.simulate(held if hasattr(mechanism, "protocols") else held[0], 5)
    return reports.tobytes(), counted.to_bytes(), simulated.to_bytes()


@pytest.mark.parametrize("n", [1, 300])
@pytest.mark.parametrize("mechanism", EVERY, ids=repr)
def test_both_ways_give_the_same_bytes(
    mechanism: Any, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for mode in ("always", "never"):
        monkeypatch.setenv(draws.VARIABLE, mode)
        monkeypatch.setattr(draws, "_chosen", {})
        found.append(draw_and_count(mechanism, n))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "mechanism", [each for each in EVERY if each.permanent is not None], ids=repr
)
def test_both_ways_remember_the_same(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, users = [], np.array([7, 0, 999, 3])
    values = np.arange(4)[:, np.newaxis] % np.array(mechanism.ks)
    for mode in ("always", "never"):
        monkeypatch.setenv(draws.VARIABLE, mode)
        monkeypatch.setattr(draws, "_chosen", {})
        panel = Panel(mechanism, 1000, Stream(3))
        inputs = values if hasattr(mechanism, "protocols") else values[:, 0]
        found.append([panel.report(inputs, users).tobytes() for _ in range(2)])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", sorted(draws.COSTS))
def test_both_ways_have_the_same_functions(name: str) -> None:
    ours, theirs = (
        {
            each: [*inspect.signature(getattr(function, "py_func", function)).parameters]
            for each, function in vars(import_module(f"multi_freq_ldpy.{room}.{name}")).items()
            if callable(function)
            and not each.startswith("_")
            and getattr(function, "__module__", "").endswith(f"{room}.{name}")
        }
        for room in ("plain", "kernels")
    )
    shared = ours.keys() & theirs.keys()
    assert shared
    assert {each: ours[each] for each in shared} == {each: theirs[each] for each in shared}


def test_work_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(draws.VARIABLE, "auto")
    monkeypatch.setattr(draws, "_chosen", {})
    monkeypatch.setattr(draws, "_done", 0.0)

    def chosen(name: str, work: int) -> str:
        return draws.choose(name, work).__name__.split(".")[1]

    few = int(draws.PATIENCE / draws.COSTS["symbols"] / 3)
    assert [chosen("symbols", few) for _ in range(4)] == ["plain", "plain", "kernels", "kernels"]
    assert chosen("bits", 1) == "kernels", "kernels are chosen once numba is loaded"
    monkeypatch.setattr(draws, "_chosen", {})
    monkeypatch.setattr(draws, "_done", 0.0)
    assert chosen("symbols", 10 * few) == "kernels"
