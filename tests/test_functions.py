"""Tests of the paper's functions: names, parameters, results of clients, input of aggregators."""

import importlib
import inspect
import os
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    LBLH,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    SHE,
    SS,
    SUE,
    DBitFlipPM,
    Stream,
    wire,
)
from multi_freq_ldpy.estimators.Histogram_estimator import IBU, MI, MI_long
from multi_freq_ldpy.long_freq_est import L_ADP, L_GRR, L_LH, L_OSUE, L_OUE, L_SOUE, L_SUE
from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Aggregator, dBitFlipPM_Client
from multi_freq_ldpy.long_freq_est.Variance_LONG_PURE import VAR_Long_Pure
from multi_freq_ldpy.longitudinal.memoized import Chain
from multi_freq_ldpy.paper.forms import form_of
from multi_freq_ldpy.pure_frequency_oracles import ADP, HE, LH, UE
from multi_freq_ldpy.pure_frequency_oracles import GRR as GRR_functions
from multi_freq_ldpy.pure_frequency_oracles import SS as SS_functions
from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure

SIGNATURES = Path(__file__).with_name("signatures.txt").read_text()
"""Signatures of the functions in the paper's package."""


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_signature(line: str) -> None:
    module, _, call = line.partition(": ")
    name, _, parameters = call.partition("(")
    function = getattr(importlib.import_module(f"multi_freq_ldpy.{module}"), name)
    positional = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    shown = ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in positional
    )
    assert shown == parameters[:-1]
    assert function.__doc__


@pytest.mark.process
@pytest.mark.parametrize(("number", "shape"), [(1, (5,)), (2, (5,)), (3, (3, 4)), (4, (3, 4))])
def test_listings_of_the_paper(number: int, shape: tuple[int, ...]) -> None:
    """Run the listings, with a million users each: 0.02 is more than six standard errors."""
    found = runpy.run_path(str(Path(__file__).parent / f"listing_{number}.py"))["est_freq"]
    assert all(each.dtype == np.float64 for each in found)
    assert np.shape(found) == shape
    assert np.abs(np.array(found) - 1 / shape[-1]).max() < 0.02


# Client, its options, its protocol, its aggregators
FUNCTIONS: list[tuple[Any, dict[str, Any], Any, Any, Any]] = [
    (
        GRR_functions.GRR_Client,
        {},
        GRR,
        GRR_functions.GRR_Aggregator,
        GRR_functions.GRR_Aggregator_IBU,
    ),
    (UE.UE_Client, {"optimal": True}, OUE, UE.UE_Aggregator, UE.UE_Aggregator_IBU),
    (UE.UE_Client, {"optimal": False}, SUE, UE.UE_Aggregator, UE.UE_Aggregator_IBU),
    (LH.LH_Client, {"optimal": True}, OLH, LH.LH_Aggregator, LH.LH_Aggregator_IBU),
    (LH.LH_Client, {"optimal": False}, BLH, LH.LH_Aggregator, LH.LH_Aggregator_IBU),
    (SS_functions.SS_Client, {}, SS, SS_functions.SS_Aggregator, SS_functions.SS_Aggregator_IBU),
    (HE.HE_Client, {}, SHE, HE.HE_Aggregator, HE.HE_Aggregator_IBU),
    (L_GRR.L_GRR_Client, {}, LGRR, L_GRR.L_GRR_Aggregator, L_GRR.L_GRR_Aggregator_IBU),
    (L_SUE.L_SUE_Client, {}, LSUE, L_SUE.L_SUE_Aggregator, L_SUE.L_SUE_Aggregator_IBU),
    (L_SOUE.L_SOUE_Client, {}, LSOUE, L_SOUE.L_SOUE_Aggregator, L_SOUE.L_SOUE_Aggregator_IBU),
    (L_OUE.L_OUE_Client, {}, LOUE, L_OUE.L_OUE_Aggregator, L_OUE.L_OUE_Aggregator_IBU),
    (L_OSUE.L_OSUE_Client, {}, LOSUE, L_OSUE.L_OSUE_Aggregator, L_OSUE.L_OSUE_Aggregator_IBU),
    (L_LH.L_LH_Client, {"optimal": True}, LOLH, L_LH.L_LH_Aggregator, L_LH.L_LH_Aggregator_IBU),
    (L_LH.L_LH_Client, {"optimal": False}, LBLH, L_LH.L_LH_Aggregator, L_LH.L_LH_Aggregator_IBU),
    (ADP.ADP_Client, {"optimal": True}, GRR, ADP.ADP_Aggregator, ADP.ADP_Aggregator_IBU),
    (L_ADP.L_ADP_Client, {}, LGRR, L_ADP.L_ADP_Aggregator, L_ADP.L_ADP_Aggregator_IBU),
]
DRAWN_AHEAD = FUNCTIONS[:-2]
TRUTH = np.array([0.5, 0.3, 0.1, 0.1, 0.0, 0.0])


def budgets(cls: Any, epsilon: float) -> tuple[float, ...]:
    """Return the budgets of a protocol whose first report costs epsilon."""
    return (2 * epsilon, epsilon) if issubclass(cls, Chain) else (epsilon,)


def aggregate(
    aggregator: Any, reports: Any, k: int, epsilon: tuple[float, ...], options: dict[str, Any]
) -> Any:
    """Call an aggregator, with k as its second argument or by name."""
    if "k" in list(inspect.signature(aggregator).parameters)[:2]:
        return aggregator(reports, k, *epsilon, **options)
    return aggregator(reports, *epsilon, **options, k=k)


@pytest.mark.statistical
@pytest.mark.parametrize(("client", "options", "cls", "mi", "ibu"), FUNCTIONS)
def test_clients_and_aggregators(
    client: Any, options: dict[str, Any], cls: Any, mi: Any, ibu: Any
) -> None:
    """Check estimates of clients that draw from the operating system.

    The tolerance 0.06 is more than six standard errors of every protocol (10⁻⁸ per comparison).
    """
    k, epsilon = 6, budgets(cls, 2.0)
    values = np.repeat(np.arange(k), (TRUTH * 16_000).astype(int))
    reports = [client(v, k, *epsilon, **options) for v in values]
    seeded = [client(v, k, *epsilon, **options, rng=Stream(1)) for v in values[:50]]
    assert all(
        np.array_equal(a, client(v, k, *epsilon, **options, rng=Stream(1)))
        for a, v in zip(seeded, values[:50], strict=True)
    )
    for found in (
        aggregate(mi, reports, k, epsilon, options),
        ibu(reports, k, *epsilon, **options),
    ):
        assert found.dtype == np.float64
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        assert np.abs(found - TRUTH).max() < 0.06
    ours = cls(k, *epsilon).randomize(values, 1)
    assert np.abs(aggregate(mi, ours, k, epsilon, options) - TRUTH).max() < 0.06
    for wrong in (-1, k, 0.5, "a", None):
        with pytest.raises((ValueError, TypeError), match="input_data"):
            client(wrong, k, *epsilon, **options)
    for repeating in (1, np.random.SeedSequence(1)):
        with pytest.raises(TypeError, match="rng"):
            client(0, k, *epsilon, **options, rng=repeating)
    for bad_k, bad_epsilon in ((1, 1.0), (2.5, 1.0), ([3], 1.0), (3, 0), (3, "1"), (3, True)):
        with pytest.raises((ValueError, TypeError), match="k|epsilon|eps_"):
            client(0, bad_k, *[bad_epsilon] * len(epsilon), **options)
    with pytest.raises(ValueError, match="empty"):
        aggregate(mi, [], k, epsilon, options)
    with pytest.raises((ValueError, TypeError), match="reports"):
        aggregate(mi, ["nonsense"] * 3, k, epsilon, options)
    with pytest.raises((ValueError, TypeError), match="reports"):
        aggregate(
            mi,
            (
                np.ma.array(ours, mask=np.ones(len(ours), bool))
                if ours.ndim == 1
                else np.ma.masked_less(ours, 9)
            ),
            k,
            epsilon,
            options,
        )
    for nonsense in (None, 5, {0: 1}, "reports"):
        with pytest.raises(TypeError, match="reports"):
            aggregate(mi, nonsense, k, epsilon, options)
    if "optimal" in options:
        with pytest.raises(TypeError, match="optimal"):
            client(0, k, *epsilon, optimal="no")
    for option in ({"nb_iter": 0}, {"tol": 0}, {"err_func": "rmse"}):
        with pytest.raises(ValueError, match=next(iter(option))):
            ibu(reports[:10], k, *epsilon, **options, **option)


@pytest.mark.statistical
@pytest.mark.parametrize("k", [4, 6])
@pytest.mark.parametrize(("client", "options", "cls", "mi", "ibu"), DRAWN_AHEAD)
def test_drawn_ahead_reports_follow_the_law(
    client: Any, options: dict[str, Any], cls: Any, mi: Any, ibu: Any, k: int
) -> None:
    """Compare reports with the distribution of the protocol, to six deviations per report.

    Reports are drawn ahead for value 0 and turned into reports about value 2. Sets of SS have one
    value for k = 4, and two values for k = 6.
    """
    epsilon, value, n = budgets(cls, 1.0), 2, 40_000
    protocol = cls(k, *epsilon)
    reports = [client(value, k, *epsilon, **options) for _ in range(n)]
    if cls is SHE:
        rows = np.array(reports)
        assert abs(rows[:, value].mean() - 1) < 6 * rows[:, value].std() / n**0.5
        assert (
            np.abs(np.delete(rows, value, axis=1).mean(axis=0)) < 6 * rows[:, 0].std() / n**0.5
        ).all()
        return
    if cls in (GRR, LGRR):
        packed = np.array(reports, np.uint8)
    elif cls in (OLH, BLH, LOLH, LBLH):
        packed = np.array([(seed, symbol) for symbol, seed in reports], protocol.report_dtype)
    else:
        rows = (
            np.array(reports).astype(np.uint8)
            if cls is not SS
            else np.array([np.isin(np.arange(k), r) for r in reports])
        )
        packed = np.packbits(rows, axis=1, bitorder="little")
    data, size = packed.tobytes(), protocol.report_bytes
    seen: dict[bytes, int] = {}
    for i in range(n):
        report = data[i * size : (i + 1) * size]
        seen[report] = seen.get(report, 0) + 1
    law = protocol.law(value)
    assert seen.keys() <= law.keys()
    for report, chance in law.items():
        mean = float(chance) * n
        assert abs(seen.get(report, 0) - mean) < 6 * mean**0.5 + 3


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_sets_of_many_values(epsilon: float) -> None:
    """Draw sets from more values than the tables of exchanges have, to six deviations."""
    k, value, n = 300, 299, 3000
    protocol = SS(k, epsilon)
    sets = np.array([SS_functions.SS_Client(value, k, epsilon) for _ in range(n)])
    assert sets.shape == (n, protocol.omega)
    assert (np.diff(sets, axis=1) > 0).all(), "values must be different and in ascending order"
    p = protocol.channel.p
    assert abs((sets == value).any(axis=1).mean() - p) < 6 * (p * (1 - p) / n) ** 0.5
    zero = (sets == 0).any(axis=1).mean()
    assert abs(zero - protocol.channel.q) < 6 * (protocol.channel.q / n) ** 0.5


def test_what_clients_return() -> None:
    assert type(GRR_functions.GRR_Client(np.int64(1), np.int64(5), np.float64(1))) is int
    row = UE.UE_Client(1, 5, 1.0)
    assert (row.dtype, row.shape, row.base) == (np.float64, (5,), None)
    assert set(row) <= {0.0, 1.0}
    symbol, seed = LH.LH_Client(1, 5, 1.0)
    assert type(symbol) is type(seed) is int
    chosen = SS_functions.SS_Client(1, 10, 1.0)
    assert chosen.dtype == np.int64
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) == SS(10, 1.0).omega
    noisy = HE.HE_Client(1, 5, 1.0)
    assert noisy.dtype == np.float64
    assert (noisy == np.rint(noisy)).all()
    assert isinstance(ADP.ADP_Client(1, 50, 1.0), np.ndarray)
    assert isinstance(ADP.ADP_Client(1, 3, 1.0), int)


def test_dbitflip_functions() -> None:
    """Compare reports with the distribution of dBitFlipPM, to six deviations per report.

    Reports are drawn ahead for bucket 0 and turned into reports about another bucket.
    """
    k, b, d_bits, eps_perm, value, n = 8, 4, 2, 2.0, 5, 40_000
    client, aggregator = dBitFlipPM_Client, dBitFlipPM_Aggregator
    protocol = DBitFlipPM(k, eps_perm, b, d_bits)
    reports = [client(value, k, b, d_bits, eps_perm) for _ in range(n)]
    law: dict[bytes, float] = {}
    for report, chance in protocol.law(value).items():
        row = form_of(protocol).unpack(protocol, wire.decode(protocol, report))[0]
        law[row.tobytes()] = float(chance)
    seen = Counter(row.tobytes() for row in reports)
    assert seen.keys() <= law.keys()
    for row, share in law.items():
        assert abs(seen[row] - n * share) < 6 * (n * share) ** 0.5 + 3
    assert (reports[0].dtype, reports[0].shape, reports[0].base) == (np.float64, (4,), None)
    assert set(reports[0]) <= {-1.0, 0.0, 1.0}
    found = aggregator(reports, b, d_bits, eps_perm)
    assert np.abs(found - [0, 0, 1, 0]).max() < 0.1
    ours = protocol.randomize(np.full(n, value), 1)
    assert np.allclose(aggregator(ours, b, d_bits, eps_perm), protocol.estimate(ours).norm())
    assert np.allclose(
        aggregator(form_of(protocol).unpack(protocol, ours), b, d_bits, eps_perm),
        protocol.estimate(ours).norm(),
    )
    assert np.array_equal(
        client(1, k, b, d_bits, eps_perm, rng=Stream(1)),
        client(1, k, b, d_bits, eps_perm, rng=Stream(1)),
    )
    full = [client(v, 4, 4, 4, 3.0) for v in [0, 1, 1, 1] * 2000]
    assert np.abs(aggregator(full, 4, 4, 3.0) - [0.25, 0.75, 0, 0]).max() < 0.1
    for wrong in (
        [[0, 1, -1, 1]],
        [[0, -1, -1, -1]],
        [[0, 0.5, -1, -1]],
        [[0, 1, -1]],
        [[-2, 0, -1, -1]],
        [3],
        ["a"],
    ):
        with pytest.raises((ValueError, TypeError), match="reports"):
            aggregator(wrong, b, d_bits, eps_perm)
    for arguments in (
        (8, k, b, d_bits, 1.0),
        (0, k, 9, 2, 1.0),
        (0, k, 4, 5, 1.0),
        (0, k, 4, 2, 0),
        (0, k, 4, True, 1.0),
    ):
        with pytest.raises(
            (ValueError, TypeError), match="input_data|b must|d_bits must|eps_perm must"
        ):
            client(*arguments)


def test_unary_reports_of_several_kinds() -> None:
    reports = [UE.UE_Client(v % 3, 9, 2.0) for v in range(3000)]
    expected = UE.UE_Aggregator(reports, 2.0)
    for same in (
        np.array(reports),
        np.array(reports).astype(int),
        iter(reports),
        [list(r) for r in reports],
    ):
        assert np.allclose(UE.UE_Aggregator(same, 2.0), expected)
    packed = np.packbits(np.array(reports, np.uint8), axis=1, bitorder="little")
    assert np.allclose(UE.UE_Aggregator(packed, 2.0, k=9), expected)
    for wrong in (
        [[0, 1, 2]],
        [[0, 0.5]],
        [[0, 1], [0, 1, 1]],
        [1, 0],
        [["1", "0"]],
        [np.ma.array([1, 0], mask=[1, 0])],
    ):
        with pytest.raises((ValueError, TypeError), match="reports"):
            UE.UE_Aggregator(wrong, 2.0)


def test_histogram_encoding_refuses_floats_and_sums_without_thresholds() -> None:
    with pytest.raises(ValueError, match="integers"):
        HE.HE_Aggregator([[0.5, 1.0]], 2, 1.0)
    with pytest.raises(ValueError, match="use_thresh"):
        HE.HE_Aggregator_IBU([[0.0, 1.0]], 2, 1.0, use_thresh=False)
    reports = [HE.HE_Client(v % 2, 3, 2.0) for v in range(6000)]
    assert np.abs(HE.HE_Aggregator(reports, 3, 2.0, use_thresh=False) - [0.5, 0.5, 0]).max() < 0.1


def test_estimators() -> None:
    assert VAR_Pure(0.5, 0.25) == pytest.approx(3.0)
    assert VAR_Pure(0.5, 0.25, n=100, f=1) == pytest.approx(0.04)
    for protocol in (LGRR(5, 2.0, 1.0), LOSUE(5, 2.0, 1.0), LOUE(5, 2.0, 1.0)):
        first, (own, other) = (
            protocol.permanent.channel,
            (weight / 2**64 for weight in protocol.second),
        )
        for f in (0, 0.3, 1):
            assert VAR_Long_Pure(first.p, first.q, own, other, n=50, f=f) == pytest.approx(
                protocol.variance(50, f)
            )
    assert np.allclose(
        VAR_Long_Pure(0.8, 0.1, 0.9, 0.1, n=[1, 2]),
        VAR_Long_Pure(0.8, 0.1, 0.9, 0.1) / np.array([1, 2]),
    )
    assert np.allclose(MI(np.array([50, 50]), 100, 0.75, 0.25), 0.5)
    assert np.allclose(MI([0, 0], 100, 0.75, 0.25), 0.5), "uniform if all are clipped"
    assert np.allclose(MI_long([50, 50], 100, 0.75, 0.25, 0.9, 0.1), 0.5)
    matrix = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    for error in ("max_abs", "mse", "mae", "max_squared"):
        assert np.allclose(
            IBU(3, matrix, matrix @ [0.6, 0.4, 0.0], 10_000, 1e-14, error),
            [0.6, 0.4, 0.0],
            atol=0.01,
        )
    for call in (
        lambda: IBU(3, matrix, [0.5, 0.5], 10, 1e-9, "mse"),
        lambda: IBU(2, matrix, [0.5, 0.5, 0], 10, 1e-9, "mse"),
        lambda: IBU(3, matrix, [0.5, 0.5, 0], 10, 1e-9, "rmse"),
        lambda: MI([1, np.nan], 2, 0.5, 0.1),
        lambda: MI([1, 1], 0, 0.5, 0.1),
        lambda: MI([1, 1], 2, 0.1, 0.5),
        lambda: MI([1, 1], 2, 5, -1),
        lambda: MI_long([1, 1], 2, 0.5, 0.1, 2, 0.1),
        lambda: VAR_Pure(2, 0.1),
        lambda: VAR_Pure(0.5, 0.1, n=-5),
        lambda: VAR_Pure(0.5, 0.1, f=-1),
        lambda: VAR_Long_Pure(0.1, 0.5, 0.9, 0.1),
        lambda: VAR_Long_Pure(0.5, 0.1, 0.1, 0.9),
    ):
        with pytest.raises(ValueError, match="A|obs_freq|err_func|count_report|n|p"):
            call()


def test_functions_are_quick_enough_to_be_called_once_a_user() -> None:
    """Check that 1000 calls read the operating system at most twice: reports are drawn ahead."""
    calls = []
    original = os.urandom
    os.urandom = lambda n: calls.append(n) or original(n)  # type: ignore[func-returns-value]
    try:
        for _ in range(1000):
            UE.UE_Client(1, 20, 1.5)
    finally:
        os.urandom = original
    assert len(calls) <= 2
