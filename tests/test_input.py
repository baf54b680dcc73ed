"""Tests of input: extreme parameters and all kinds of arrays work.

Messages about invalid input name the parameter, and a refused call changes nothing.
"""

import json
import math
import tracemalloc
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    HR,
    OLH,
    OUE,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    Affine,
    DBitFlipPM,
    Stream,
    Tally,
    best,
    checks,
    registry,
    wire,
)
from multi_freq_ldpy import mechanism as mechanism_module
from multi_freq_ldpy.core import validate
from multi_freq_ldpy.mechanism import BATCH
from multi_freq_ldpy.protocol import OneShot, Protocol, declared

from .cases import ONE_SHOT

VALUES = [0, 2, 1, 4, 3, 0, 1]


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_every_kind_of_array(cls: type[OneShot]) -> None:
    protocol = cls(5, 1.0)
    expected = protocol.randomize(VALUES, 1).tobytes()
    array = np.array(VALUES)
    frozen = array.copy()
    frozen.flags.writeable = False
    types = [
        np.uint8,
        np.int8,
        np.uint16,
        np.int16,
        np.uint32,
        np.int32,
        np.uint64,
        np.int64,
        ">i4",
    ]
    for given in (
        tuple(VALUES),
        range(0),
        frozen,
        np.repeat(array, 3)[::3],
        array[::-1][::-1],
        *(array.astype(t) for t in types),
    ):
        if len(given):
            assert protocol.randomize(given, 1).tobytes() == expected
    for scalar in (np.int64(3), np.uint8(3), np.array(3), 3):
        assert (
            np.asarray(protocol.randomize(scalar, 1)).tobytes()
            == np.asarray(protocol.randomize(3, 1)).tobytes()
        )
    reports = protocol.randomize(VALUES, 1)
    whole = protocol.tally(reports)
    locked = reports.copy()
    locked.flags.writeable = False
    for same in (
        locked,
        np.repeat(reports, 2, axis=0)[::2],
        list(reports),
        tuple(reports),
        (r for r in reports),
    ):
        assert protocol.tally(same) == whole
    assert (protocol.tally(reports[0]).n == 1).all()
    assert np.array_equal(array, VALUES), "the caller's array has changed"


def test_numpy_scalars_as_parameters() -> None:
    for k in (np.int64(5), np.uint8(5), np.array(5)[()]):
        assert GRR(k, np.float32(0.5)) == GRR(5, 0.5)
    assert GRR(5, 1) == GRR(5, 1.0) == GRR(5, Fraction(1)) == GRR(5, np.float64(1))
    assert isinstance(GRR(np.int64(5), np.float64(1)).k, int)
    assert json.dumps(registry.to_spec(GRR(np.int64(5), np.float64(1))))


@pytest.mark.parametrize("epsilon", [0.001, 700.0])
@pytest.mark.parametrize("k", [2, 3, 7, 100])
@pytest.mark.parametrize("cls", ONE_SHOT)
def test_extreme_budgets(cls: type[OneShot], k: int, epsilon: float) -> None:
    protocol = cls(k, epsilon)
    values = np.arange(2000) % k
    reports = protocol.randomize(values, 1)
    estimate = protocol.estimate(reports)
    assert np.isfinite(estimate.frequencies).all()
    assert np.isfinite(estimate.interval()).all()
    assert (
        np.abs(estimate.frequencies - np.bincount(values, minlength=k) / 2000)
        <= 6 * estimate.std + 1e-9
    ).all()
    assert wire.decode(protocol, wire.encode(protocol, reports)).tobytes() == reports.tobytes()
    assert (protocol.simulate(np.bincount(values, minlength=k), 1).n == 2000).all()
    if epsilon == 700 and cls not in (OUE, BLH, THE, HR):
        assert np.allclose(estimate.frequencies, np.bincount(values, minlength=k) / 2000)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [GRR, OLH])
def test_a_million_values(cls: type[OneShot]) -> None:
    protocol = cls(10**6, 12.0)
    estimate = protocol.estimate(protocol.randomize(np.full(2000, 999_999), 1))
    assert estimate.frequencies.argmax() == 999_999
    assert abs(estimate.frequencies[-1] - 1) < 5 * estimate.std[-1]
    assert abs(estimate.frequencies[:-1].mean()) < 1e-4
    assert estimate.interval()[-1, 1] > 0.9


@pytest.mark.parametrize("cls", [GRR, OLH, BLH])
def test_the_largest_domain(cls: type[OneShot]) -> None:
    k = 2**32 - 5
    protocol = cls(k, 30.0)
    reports = protocol.randomize([0, k - 1, 12345], 1)
    assert wire.decode(protocol, wire.encode(protocol, reports)).tobytes() == reports.tobytes()
    with pytest.raises(ValueError, match="k must be an integer from 2 to 4294967291"):
        cls(k + 1, 1.0)


def test_budgets_that_cannot_be_realised() -> None:
    for protocol, k in (
        (GRR, 10**6),
        (SUE, 5),
        (OUE, 5),
        (THE, 5),
        (SS, 5),
        (BLH, 5),
        (OLH, 5),
        (SHE, 5),
    ):
        with pytest.raises(ValueError, match=r"epsilon=.* is too small"):
            protocol(k, 1e-20)
    with pytest.raises(
        ValueError, match=r"epsilon=1e-12 is too small to be realised with k=1000000"
    ):
        GRR(10**6, 1e-12)
    for cls in ONE_SHOT:
        for epsilon in (1e-300, 1e-80, 1e-18, 1e-17, 1e-16, 1e-15, 1e-12, 1e300):
            try:
                channel = cls(10, epsilon).channel
            except ValueError as error:
                assert "is too small to be realised" in str(error)  # noqa: PT017
            else:
                assert channel.slope > 0
    assert GRR(5, 1e300).privacy.report < 45, "the stated loss is the realised one"


WRONG_REPORTS: list[tuple[Protocol, Any]] = [
    (GRR(5, 1.0), [0, 5]),
    (GRR(5, 1.0), [-1]),
    (GRR(5, 1.0), [0.0, 1.0]),
    (GRR(5, 1.0), ["a"]),
    (GRR(5, 1.0), [[0, 1], [1, 2], "a"]),
    (GRR(5, 1.0), np.zeros((2, 2), int)),
    (GRR(300, 1.0), [2**16]),
    (OUE(9, 1.0), np.zeros((3, 1), np.uint8)),
    (OUE(9, 1.0), np.zeros((3, 9))),
    (OUE(9, 1.0), np.array([[0, 2]], np.uint8)),
    (OUE(9, 1.0), [[0, 256]]),
    (OUE(9, 1.0), np.zeros(3, np.uint8)),
    (SS(9, 1.0), np.array([[0b1, 0]], np.uint8)),
    (SS(9, 1.0), np.array([[0b1111, 0]], np.uint8)),
    (SS(9, 1.0), np.array([[0b11, 2]], np.uint8)),
    (OLH(5, 1.0), [(1, 2)]),
    (OLH(5, 1.0), np.array([(20, 0)], OLH(5, 1.0).report_dtype)),
    (OLH(5, 1.0), np.array([(0, OLH(5, 1.0).g)], OLH(5, 1.0).report_dtype)),
    (OLH(5, 1.0), np.array([(0, 0)], OLH(500, 1.0).report_dtype)),
    (SHE(2, 1.0), np.zeros((1, 2))),
    (SHE(2, 1.0), [[2**31, 0]]),
    (SHE(2, 1.0), np.array([[-(2**31), 0]])),
    (SHE(2, 1.0), [[0, 1, 2]]),
]


@pytest.mark.parametrize(("protocol", "reports"), WRONG_REPORTS)
def test_wrong_reports(protocol: Protocol, reports: Any) -> None:
    for use in (protocol.tally, protocol.estimate, protocol.em, lambda r: wire.encode(protocol, r)):
        with pytest.raises((ValueError, TypeError), match="reports"):
            use(reports)  # type: ignore[operator]


def test_a_wrong_batch_among_good_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="reports"):
        GRR(3, 1.0).tally(iter([np.array([0, 1]), np.array([2, 3])]))
    for wrong in ("012", b"\x00\x01", None, 1.5, object(), GRR(3, 1.0).tally([0])):
        with pytest.raises((ValueError, TypeError), match="reports"):
            GRR(3, 1.0).tally(wrong)


@pytest.mark.parametrize(
    "counts",
    [
        [1, 2],
        [1, 2, -1],
        [1.0, 2, 3],
        ["a", "b", "c"],
        [[1, 2, 3]],
        None,
        5,
        [2**62, 2**62, 1],
        [np.nan] * 3,
    ],
)
def test_wrong_histograms(counts: Any) -> None:
    for cls in ONE_SHOT:
        with pytest.raises((ValueError, TypeError), match="counts"):
            cls(3, 1.0).simulate(counts)


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_missing_entries_and_nonsense_are_refused(cls: type[OneShot]) -> None:
    protocol = cls(3, 1.0)
    with pytest.raises(ValueError, match="values has missing"):
        protocol.randomize(np.ma.array([0, 1], mask=[0, 1]))
    with pytest.raises(ValueError, match="counts has missing"):
        protocol.simulate(np.ma.array([0, 1, 2], mask=[0, 1, 0]))
    reports = protocol.randomize([0, 1, 2], 1)
    if reports.dtype.names is None:
        with pytest.raises(ValueError, match="reports has missing"):
            protocol.tally(np.ma.array(reports, mask=np.ones(reports.shape, bool)))
    for wrong in (
        {0: 1},
        {0, 1},
        0,
        sum([]),
        None,
        object(),
        "0",
        b"0",
        iter([object()]),
        np.zeros((0, 77)),
        np.zeros((2, 3, 4), int),
    ):
        with pytest.raises((ValueError, TypeError), match="reports"):
            protocol.tally(wrong)
    with pytest.raises((ValueError, TypeError), match="protocol"):
        wire.encode(None, reports)  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError), match="protocol"):
        wire.decode(cls, b"")  # type: ignore[arg-type]
    for argument in (
        {"iterations": 0},
        {"iterations": 1.5},
        {"tol": 0},
        {"tol": "x"},
        {"tol": math.nan},
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(argument))):
            protocol.em(reports, **argument)
    for nothing in ([], (), iter([]), reports[:0], iter([reports[:0]])):
        assert not protocol.tally(nothing).n.any()
    assert wire.encode(protocol, []) == b""


def test_errors_show_the_entry_at_fault() -> None:
    for values, shown in (
        ([0, 1, math.nan], "nan"),
        ([0, 2, 0.5], "0.5"),
        (["a"], "'a'"),
        ([0, 2**64], "18446744073709551616"),
        ([0, None], "None"),
    ):
        with pytest.raises(
            (ValueError, TypeError), match=f"values must be integers, not .*{shown}"
        ):
            GRR(5, 1.0).randomize(values)
    for of in ("GRR", GRR, ["GRR"], 5):
        with pytest.raises(TypeError, match="of must be"):
            best(5, 1.0, of=of)
    with pytest.raises(ValueError, match="name"):
        checks.run_check("nope", GRR(5, 1.0))


def test_wrong_arguments_of_variance() -> None:
    for n, f in (
        (-1, 0.0),
        (1.5, 0.0),
        ("3", 0.0),
        (10, -0.1),
        (10, 1.1),
        (10, math.nan),
        (10, "0.5"),
        (10, None),
    ):
        with pytest.raises((ValueError, TypeError), match=r"^[nf] |^n must|^f must"):
            GRR(3, 1.0).variance(n, f)  # type: ignore[arg-type]
    assert GRR(3, 1.0).variance(0) == math.inf
    assert GRR(3, 1.0).variance([10, 20], 0.5).shape == (2,)


def test_wrong_channels() -> None:
    for p, q in ((0.5, 0.5), (0.1, 0.9), (math.nan, 0.1)):
        with pytest.raises(ValueError, match="p must be greater than q"):
            Affine(p, q)


def test_a_refused_call_changes_nothing() -> None:
    stream, protocol = Stream(1), OUE(5, 1.0)
    values = np.array([0, 1, 5])
    with pytest.raises(ValueError, match=r"values\[2\] = 5"):
        protocol.randomize(values, stream)
    assert stream.position == 0
    assert values.tolist() == [0, 1, 5]


WRONG_SPECS: list[Any] = [
    None,
    [],
    {},
    {"version": 1},
    {"version": 2, "protocol": "GRR", "k": 3, "epsilon": 1.0},
    {"version": True, "protocol": "GRR", "k": 3, "epsilon": 1.0},
    {"version": 1, "protocol": "grr", "k": 3, "epsilon": 1.0},
    {"version": 1, "protocol": ["GRR"], "k": 3, "epsilon": 1.0},
    {"version": 1, "protocol": "GRR", "k": 3},
    {"version": 1, "protocol": "GRR", "k": 3, "epsilon": 1.0, "g": 2},
    {"version": 1, "protocol": "GRR", "k": "3", "epsilon": 1.0},
    {"version": 1, "protocol": "GRR", "k": 3, "epsilon": "1"},
    {"version": 1, "protocol": "GRR", "k": 10**30, "epsilon": 1.0},
    {"version": 1, "protocol": "GRR", "k": 3, "epsilon": math.nan},
]


@pytest.mark.parametrize("spec", WRONG_SPECS)
def test_wrong_specs(spec: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        registry.from_spec(spec)


def test_a_protocol_outside_the_registry_has_no_spec() -> None:
    class Mine(GRR):
        pass

    with pytest.raises(ValueError, match="registry"):
        registry.to_spec(Mine(3, 1.0))


def test_tallies_refuse_what_nobody_counted() -> None:
    protocol = GRR(3, 1.0)
    for counts, n in (
        ([1, 2, 3], 7),
        ([-1, 2, 3], 4),
        ([1, 2], 3),
        ([1.0, 2, 3], 6),
        ([7, 0, 0], 6),
    ):
        with pytest.raises((ValueError, TypeError), match="counts"):
            Tally(protocol, np.array(counts), n)
    with pytest.raises(ValueError, match="omega"):
        Tally(SS(9, 1.0), np.ones(9, np.int64), 1)
    with pytest.raises(ValueError, match="users"):
        Tally(OUE(2, 1.0), np.array([1, 1]), np.array([2, 2]))
    with pytest.raises(ValueError, match="n must be the same"):
        Tally(OUE(2, 1.0), np.array([1, 1]), np.array([2, 3]), users=3)
    for counts, n, of in (
        ([2**62] * 5, 2**62, GRR(5, 1.0)),
        ([5, 5, 5], 0, SHE(3, 1.0)),
        ([2**61, 5, 5], 1, SHE(3, 1.0)),
        ([0] * 100, 1000, OLH(100, 1.0)),
        ([1000] * 101, 1000, BLH(101, 1.0)),
    ):
        with pytest.raises(ValueError, match="counts"):
            Tally(of, np.array(counts), n)
    with pytest.raises(ValueError, match="n must"):
        Tally(OUE(2, 1.0), np.array([1, 1]), 5, users=3)
    with pytest.raises(TypeError):
        protocol.tally([0]) + 1  # type: ignore[operator]
    tally = protocol.tally([0, 1])
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 5


def test_every_damaged_tally_is_refused() -> None:
    data = GRR(3, 1.0).tally([0, 1, 1, 2]).to_bytes()
    for i in range(len(data)):
        with pytest.raises(ValueError):  # noqa: PT011
            Tally.from_bytes(data[:i])
        for bit in range(8):
            damaged = data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :]
            with pytest.raises(ValueError):  # noqa: PT011
                Tally.from_bytes(damaged)
    for wrong in (data + b"\0" * 8, data + b"\0", b"", b"MFLT", b"\0" * 100):
        with pytest.raises(ValueError):  # noqa: PT011
            Tally.from_bytes(wrong)
    with pytest.raises(TypeError, match="data"):
        Tally.from_bytes("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="data"):
        wire.decode(GRR(3, 1.0), "text")  # type: ignore[arg-type]


def test_tally_of_batches_needs_the_memory_of_one() -> None:
    protocol, stream = OUE(100, 1.0), Stream(1)
    batch = np.zeros(100_000, np.int64)
    protocol.tally(protocol.randomize(batch, stream))
    tracemalloc.start()
    tally = protocol.tally(protocol.randomize(batch, stream) for _ in range(20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tally.n == 2 * 10**6).all()
    assert peak < 10 * batch.size * protocol.report_bytes


@pytest.mark.parametrize("cls", [SS, OLH, BLH, GRR, OUE, THE, SHE])
def test_simulating_many_users_needs_no_reports(cls: type[OneShot]) -> None:
    protocol = cls(20, 1.0)
    n = 2_000_000
    held = np.full(20, n // 20)
    protocol.simulate(held // 10**4, 1)  # loads the kernels before the measurement
    tracemalloc.start()
    tally = protocol.simulate(held, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tally.n == n).all()
    assert peak < 2**24 < n * protocol.report_bytes * 9
    estimate = protocol.estimate(tally)
    assert (np.abs(estimate.frequencies - 0.05) < 5.5 * estimate.std).all()


@pytest.mark.parametrize(
    "protocol", [SS(9, 1.0), SS(100, 0.5), OLH(9, 1.0), OLH(100, 0.5), BLH(300, 2.0)], ids=repr
)
def test_simulated_counts_are_those_of_the_reports(protocol: OneShot) -> None:
    """Check that a simulation counts exactly the reports of ``randomize`` with the same stream."""
    for n in (1, 255, 256, 257, 1024, 1025, 40_000):
        values = np.sort(np.random.default_rng(n).integers(0, protocol.k, n))
        simulated = protocol.simulate(
            np.bincount(values, minlength=protocol.k), Stream(3, position=77)
        )
        assert simulated == protocol.tally(protocol.randomize(values, Stream(3, position=77)))


@pytest.mark.parametrize("k", [8, 40, 4096])
def test_counters_do_not_overflow(k: int) -> None:
    """Count rows of ones, the worst case for counters of one byte.

    The numbers of rows are around the limit of the counters.
    """
    protocol = OUE(k, 1.0)
    together = max(1, 512 // protocol.report_bytes)
    for n in (254, 255, 256, 255 * together, 256 * together + 1, 300 * together - 1):
        assert (protocol.tally(np.full((n, k // 8), 255, np.uint8)).counts == n).all()


def test_reports_are_as_small_as_said() -> None:
    assert OUE(1000, 1.0).report_bytes == SS(1000, 1.0).report_bytes == 125
    assert [GRR(k, 1.0).report_bytes for k in (2, 256, 257, 65536, 65537)] == [1, 1, 2, 2, 4]
    assert OLH(100, 1.0).report_bytes == 3
    assert SHE(10, 1.0).report_bytes == 40


class Undeclared(GRR):
    size: int = 2


class Undecorated(GRR):
    size: int = declared(validate.Integer(1, 8), 2)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (dataclass(frozen=True)(Undeclared), "field size must have a validator"),
        (Undecorated, r"field size must be one of a dataclass: @dataclass\(frozen=True\)"),
    ],
)
def test_fields_of_own_protocols_are_declared(cls: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        cls(3, 1.0)


def test_messages_that_are_no_reports_can_be_left_out() -> None:
    """Check that invalid messages are left out and counted, and that all reports are tallied."""
    rows = OUE(9, 1.0).randomize([0, 3, 8], 1)
    pairs = OLH(9, 1.0).randomize([0, 3, 8], 1)
    beyond = pairs.copy()
    beyond["symbol"] = 255
    both = SMP(GRR, [3, 4], 1.0)
    records = both.randomize([[0, 1], [2, 3]], 1)
    cases: list[tuple[Any, Any, Any, int]] = [
        (GRR(3, 1.0), [0, "x", 2, None, 3, 2.5, -1, True, 2**70, 1], [0, 2, 1], 7),
        (GRR(3, 1.0), np.array([0, 3, 200, 2], np.uint8), [0, 2], 2),
        (GRR(300, 1.0), np.array([0, -1, 10**6, 299]), [0, 299], 2),
        (OUE(9, 1.0), [*rows, np.full(2, 255, np.uint8), None, [1]], rows, 3),
        (OUE(9, 1.0), np.concatenate([rows, np.full((2, 2), 255, np.uint8)]), rows, 2),
        (OLH(9, 1.0), np.concatenate([pairs, beyond]), pairs, 3),
        (
            both,
            np.concatenate([records, np.full(2, 255, np.uint8).view(records.dtype)]),
            records,
            1,
        ),
    ]
    for mechanism, messages, reports, wrong in cases:
        expected = mechanism.tally(reports)
        found = mechanism.tally(messages, invalid="skip")
        assert found == expected and found.invalid == wrong, mechanism
        batches = mechanism.tally(iter([messages, messages]), invalid="skip")
        if not isinstance(messages, list):
            assert batches == expected + expected and batches.invalid == 2 * wrong
        if wrong:
            with pytest.raises((ValueError, TypeError), match="report"):
                mechanism.tally(messages)
    data = bytes([0, 9, 2])
    assert wire.tally(GRR(3, 1.0), data, invalid="skip") == GRR(3, 1.0).tally([0, 2])
    for wrong_shape in (np.zeros((2, 2)), np.zeros(3), np.array(["a"])):
        with pytest.raises((ValueError, TypeError), match="reports"):
            GRR(3, 1.0).tally(wrong_shape, invalid="skip")
    with pytest.raises(ValueError, match="invalid must be one of 'raise', 'skip', not 'no'"):
        GRR(3, 1.0).tally([0], invalid="no")


def test_one_message_is_one_message() -> None:
    """Check that an invalid message counts as one, at any place and also as a list of numbers."""
    protocol, rows = GRR(3, 1.0), OUE(3, 1.0)
    ones = np.ones(1000, int)
    cases: list[tuple[Any, Any, int, int]] = [
        (protocol, [np.array([0, 1]), None, ones], 1002, 1),
        (protocol, [np.array([0, 1]), 2, ones], 1003, 0),
        (protocol, [[2] * 1000, 0, 1], 2, 1),
        (protocol, iter([0] * BATCH + [[2] * 1000] + [1]), BATCH + 1, 1),
        (protocol, iter([None, 0, 1]), 2, 1),
        (protocol, [[0, 1], [2]], 3, 0),
        (protocol, iter([[0, 1], [2]]), 3, 0),
        (rows, [[[1]] * 500, [1], [2]], 2, 1),
        (rows, iter([None, *rows.randomize([0, 1, 2], 1)]), 3, 1),
        (rows, [*rows.randomize([0] * 3000, 1), None, b"", [1, 2]], 3000, 3),
    ]
    for mechanism, messages, users, invalid in cases:
        found = mechanism.tally(messages, invalid="skip")
        assert (found.users, found.invalid) == (users, invalid)


def test_errors_name_the_batch_and_the_index() -> None:
    protocol, good = GRR(3, 1.0), np.zeros(5, np.uint8)
    bad = good.copy()
    bad[3] = 7
    for reports, shown in (
        (bad, r"reports\[3\] = 7"),
        ([good, good, bad], r"reports\[2\]\[3\] = 7"),
        (iter([good, bad]), r"reports\[1\]\[3\] = 7"),
        ([0, 1, 7], r"reports\[2\] = 7"),
        (iter([0] * 70_000 + [7]), r"reports\[65536:\]\[4464\] = 7"),
    ):
        with pytest.raises(ValueError, match=shown):
            protocol.tally(reports)


HUGE: list[Any] = [
    GRR(2**31, 1.0),
    OLH(2**31, 1.0),
    OUE(2**31, 1.0),
    SMP(GRR, [2**30, 2**30], 1.0),
    SPL(OLH, [2**31, 2], 2.0),
    DBitFlipPM(2**31, 2.0, b=2**31, d_bits=3),
]


@pytest.mark.parametrize("mechanism", HUGE, ids=repr)
def test_a_large_domain_costs_nothing_until_it_is_counted(mechanism: Any) -> None:
    tracemalloc.start()
    tally = mechanism.tally([])
    assert tally.users == tally.n[-1] == 0 and tally.counts.shape == (sum(mechanism.ks),)
    values = [0] * len(mechanism.ks)
    if mechanism.report_bytes < 2**10:  # a report of k bits is too large here
        report = mechanism.randomize(values if len(values) > 1 else 0, 1)
        for count in (mechanism.tally, mechanism.count, mechanism.estimate):
            with pytest.raises(ValueError, match=r"tally\(reports, large=True\) counts them"):
                count(np.atleast_1d(report))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_a_large_domain_is_counted_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mechanism_module, "LARGE", 9)
    reports = GRR(10, 1.0).randomize([3] * 50, 1)
    assert GRR(10, 1.0).tally(reports, large=True).users == 50
    assert GRR(10, 1.0).count(reports, large=True)[0].sum() == 50
    assert GRR(9, 1.0).tally([3]).users == 1
    both = SMP(GRR, [5, 5], 1.0)
    for mechanism, sent in ((GRR(10, 1.0), reports), (both, both.randomize([[1, 1]]))):
        with pytest.raises(ValueError, match="10 values to count, more than 9"):
            mechanism.tally(sent)
    with pytest.raises(TypeError, match="large must be True or False, not 'yes'"):
        GRR(10, 1.0).tally(reports, large="yes")  # type: ignore[arg-type]
