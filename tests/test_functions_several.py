"""Tests of the paper's functions for several attributes.

They cover results of clients, input of aggregators, and the distribution of reports drawn ahead.
"""

import copy
import importlib
import os
import pickle
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    LGRR,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    SUE,
    DBitFlipPM,
    Stream,
    Tally,
    best,
)
from multi_freq_ldpy.long_mdim_freq_est import L_SMP_Solution, L_SPL_Solution
from multi_freq_ldpy.mdim_freq_est import RSpFD_solution, SMP_solution, SPL_solution
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

SIZES = [2, 5, 3]
TRUTH = [np.array([0.7, 0.3]), np.array([0.5, 0.3, 0.2, 0.0, 0.0]), np.array([0.2, 0.2, 0.6])]
CHOICES: dict[str, dict[Any, Any]] = {
    "GRR": {None: GRR},
    "UE": {True: OUE, False: SUE},
    "UE_zero": {True: OUE, False: SUE},
    "UE_rnd": {True: OUE, False: SUE},
    "LH": {True: OLH, False: BLH},
    "SS": {None: SS},
    "ADP": {
        True: best,
        False: lambda k, epsilon, channel=None: best(k, epsilon, of=(GRR, SUE), channel=channel),
    },
}


OVER_TIME: dict[str, Any] = {
    "L_GRR": LGRR,
    "L_SUE": LSUE,
    "L_SOUE": LSOUE,
    "L_OUE": LOUE,
    "L_OSUE": LOSUE,
    "L_ADP": best,
}


def two_budgets(function: Any) -> Any:
    """Return a function of two budgets as a function of the second, with a first twice as large.

    A wrong budget is passed as both.
    """

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        *others, epsilon = arguments
        return function(
            *others, 2 * epsilon if isinstance(epsilon, float) else epsilon, epsilon, **options
        )

    return call


def cases() -> Any:
    for module, make, name in (
        (SPL_solution, SPL, "SPL"),
        (SMP_solution, SMP, "SMP"),
        (RSpFD_solution, RSFD, "RSpFD"),
    ):
        for protocol, choices in CHOICES.items():
            client = getattr(module, f"{name}_{protocol}_Client", None)
            for optimal, factory in choices.items() if client else ():
                more = {"fake": "random"} if protocol == "UE_rnd" else {}
                options = {} if optimal is None else {"optimal": optimal}
                aggregator = getattr(module, f"{name}_{protocol}_Aggregator")
                yield pytest.param(
                    client,
                    aggregator,
                    options,
                    lambda ks, e, m=make, f=factory, o=more: m(f, ks, e, **o),
                    id=f"{name}_{protocol}_{optimal}",
                )
    for module, make, name in ((L_SPL_Solution, SPL, "SPL"), (L_SMP_Solution, SMP, "SMP")):
        for protocol, factory in OVER_TIME.items():
            yield pytest.param(
                two_budgets(getattr(module, f"{name}_{protocol}_Client")),
                two_budgets(getattr(module, f"{name}_{protocol}_Aggregator")),
                {},
                lambda ks, e, m=make, f=factory: m(f, ks, 2 * e, e),
                id=f"{name}_{protocol}",
            )


CASES = list(cases())


def aggregate(
    aggregator: Any, reports: Any, ks: Any, epsilon: float, options: dict[str, Any]
) -> Any:
    if "UE_A" in aggregator.__name__ and "RSpFD" not in aggregator.__name__:
        return aggregator(reports, len(ks), epsilon, **options, lst_k=ks)
    return aggregator(reports, ks, len(ks), epsilon, **options)


SIGNATURES = Path(__file__).with_name("signatures.txt").read_text()


@pytest.mark.parametrize("line", SIGNATURES.strip().splitlines())
def test_functions_are_found_by_their_names(line: str) -> None:
    """Find functions by their names in pickles, in copies and in the message of a wrong call."""
    path, _, call = line.partition(": ")
    module = importlib.import_module(f"multi_freq_ldpy.{path}")
    function = getattr(module, call.partition("(")[0])
    assert function.__module__ == module.__name__
    assert getattr(module, function.__name__) is function
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.copy(function) == copy.deepcopy(function) == function
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) missing"):
        function()


def test_every_function_is_a_case() -> None:
    assert len(CASES) == 8 + 8 + 10 + 6 + 6


@pytest.mark.statistical
@pytest.mark.parametrize(("client", "aggregator", "options", "make"), CASES)
def test_clients_and_aggregators(
    client: Any, aggregator: Any, options: dict[str, Any], make: Any
) -> None:
    """Check estimates of clients that draw from the operating system.

    The tolerance is six standard errors of the raw estimate (2·10⁻⁹ per value).
    """
    d, epsilon, n = 3, 4.0, 6000
    columns = [
        np.random.default_rng(j).permutation(
            np.repeat(np.arange(len(f)), (f * n).round().astype(int))
        )
        for j, f in enumerate(TRUTH)
    ]
    records = np.stack(columns, axis=1)
    reports = [client(record, SIZES, d, epsilon, **options) for record in records]
    found = aggregate(aggregator, reports, SIZES, epsilon, options)
    assert isinstance(found, list)
    solution = make(SIZES, epsilon)
    for j, (each, truth) in enumerate(zip(found, TRUTH, strict=True)):
        assert each.dtype == np.float64
        assert each.sum() == pytest.approx(1)
        assert (each >= 0).all()
        slack = 6 * solution.variance(n, 0.5)[j] ** 0.5
        # Clipping and normalising move errors between values
        assert np.abs(each - truth).max() < slack * len(truth) / 2
    ours = solution.randomize(records, 1)
    expected = solution.estimate(ours).norm()
    for each, same in zip(
        aggregate(aggregator, ours, SIZES, epsilon, options), expected, strict=True
    ):
        assert np.allclose(each, same)
    for record in ((1, 4, 2), [1, 4, 2], np.array([1, 4, 2]), [np.int64(1), 4, np.uint8(2)]):
        a, b = (
            client(record, tuple(SIZES), d, epsilon, **options, rng=Stream(5)) for _ in range(2)
        )
        assert repr(a) == repr(b)
    seeded = [
        client(record, SIZES, d, epsilon, **options, rng=stream)
        for stream in [Stream(1)]
        for record in records[:300]
    ]
    same = solution.estimate(solution.randomize(records[:300], Stream(1))).norm()
    for each, other in zip(
        aggregate(aggregator, seeded, SIZES, epsilon, options), same, strict=True
    ):
        assert np.allclose(each, other), (
            "with the same stream, functions and classes must make the same reports"
        )


@pytest.mark.parametrize(("client", "aggregator", "options", "make"), CASES)
def test_wrong_arguments(client: Any, aggregator: Any, options: dict[str, Any], make: Any) -> None:
    good = [client((1, 4, 2), SIZES, 3, 1.0, **options) for _ in range(40)]
    for record in (
        (1, 4),
        (1, 4, 3),
        (1, -1, 0),
        (1, 0.5, 0),
        (1, None, 0),
        (1, "a", 0),
        "abc",
        None,
        5,
        [[1, 4, 2]],
    ):
        with pytest.raises((ValueError, TypeError), match="input_tuple"):
            client(record, SIZES, 3, 1.0, **options)
    for ks, d in (
        ([2, 5], 3),
        (SIZES, 2),
        ([2, 5, 1], 3),
        ([2.0, 5.0, 3.0], 3),
        (5, 3),
        ("253", 3),
        (None, 3),
        (SIZES, 3.0),
        (SIZES, None),
    ):
        with pytest.raises((ValueError, TypeError), match="lst_k|d=|d must"):
            client((1, 4, 2), ks, d, 1.0, **options)
    for epsilon in (0, -1, "1", None, float("nan")):
        with pytest.raises((ValueError, TypeError), match="epsilon|eps_perm"):
            client((1, 4, 2), SIZES, 3, epsilon, **options)
    for rng in (1, np.random.SeedSequence(1)):
        with pytest.raises(TypeError, match="rng"):
            client((1, 4, 2), SIZES, 3, 1.0, **options, rng=rng)
    if options:
        with pytest.raises(TypeError, match="optimal"):
            client((1, 4, 2), SIZES, 3, 1.0, optimal="yes")
    for reports in (
        [],
        None,
        5,
        "reports",
        {0: 1},
        ["nonsense"] * 3,
        [*good[:3], None],
        [*good[:3], (9, 9, 9, 9)],
        [*good[:3], (7, good[0])],
    ):
        with pytest.raises((ValueError, TypeError), match="reports|empty"):
            aggregate(aggregator, reports, SIZES, 1.0, options)


def on_the_wire(solution: Any, report: Any) -> bytes:
    """Return a client's report in wire format."""

    def each(protocol: Any, entry: Any) -> bytes:
        if isinstance(protocol, GRR | LGRR):
            return int(entry).to_bytes(protocol.report_bytes, "little")
        if isinstance(protocol, OLH | BLH):
            symbol, seed = entry
            return np.array([(seed, symbol)], protocol.report_dtype).tobytes()
        row = (
            np.isin(np.arange(protocol.k), entry)
            if isinstance(protocol, SS)
            else np.asarray(entry) == 1
        )
        return np.packbits(row, bitorder="little").tobytes()

    if isinstance(solution, SMP):
        j, entry = report
        return (bytes([j]) + each(solution.protocols[j], entry)).ljust(solution.report_bytes, b"\0")
    return b"".join(
        each(protocol, entry) for protocol, entry in zip(solution.protocols, report, strict=True)
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("client", "aggregator", "options", "make"), CASES)
def test_drawn_ahead_reports_follow_the_law(
    client: Any, aggregator: Any, options: dict[str, Any], make: Any
) -> None:
    """Compare reports with the distribution of the solution, for all attributes together.

    Reports are drawn ahead for a record of zeros and turned into reports about another record.
    """
    ks, epsilon, record, n = [3, 2], 1.0, (2, 1), 20_000
    solution = make(ks, epsilon)
    law = solution.law(record)
    # Many reports are equal: each different report is encoded once
    drawn = Counter(pickle.dumps(client(record, ks, 2, epsilon, **options)) for _ in range(n))
    seen: Counter[bytes] = Counter()
    for report, often in drawn.items():
        seen[on_the_wire(solution, pickle.loads(report))] += often
    assert seen.keys() <= law.keys()
    for report, chance in law.items():
        mean = float(chance) * n
        assert abs(seen.get(report, 0) - mean) < 6 * mean**0.5 + 3
    expected = np.array([float(chance) * n for chance in law.values()])
    squares = ((np.array([seen.get(report, 0) for report in law]) - expected) ** 2 / expected).sum()
    assert squares < len(law) + 6 * (2 * len(law)) ** 0.5 + 20


@pytest.mark.parametrize(
    ("module", "make", "name"), [(L_SPL_Solution, SPL, "SPL"), (L_SMP_Solution, SMP, "SMP")]
)
def test_dbitflip_of_several_attributes(module: Any, make: Any, name: str) -> None:
    ks, lst_b, d_bits, eps_perm = [8, 3], [4, 3], 2, 6.0
    client, aggregator = (
        getattr(module, f"{name}_dBitFlipPM_Client"),
        getattr(module, f"{name}_dBitFlipPM_Aggregator"),
    )
    reports = [client((5, 1), ks, lst_b, d_bits, 2, eps_perm) for _ in range(4000)]
    found = aggregator(reports, lst_b, d_bits, 2, eps_perm)
    assert [len(each) for each in found] == lst_b
    assert [int(each.argmax()) for each in found] == [2, 1]
    solution = make(DBitFlipPM, ks, eps_perm, b=lst_b, d_bits=d_bits)
    ours = solution.randomize([[5, 1], [0, 0]] * 500, 1)
    for each, same in zip(
        aggregator(ours, lst_b, d_bits, 2, eps_perm), solution.estimate(ours).norm(), strict=True
    ):
        assert np.allclose(each, same)
    for record, sizes, b, bits, d, budget, wrong in (
        ((5,), ks, lst_b, 2, 2, 1.0, "input_tuple"),
        ((5, 1), ks, [9, 3], 2, 2, 1.0, "b must"),
        ((5, 1), ks, 4, 2, 2, 1.0, "lst_b"),
        ((5, 1), ks, [4], 2, 2, 1.0, "b must"),
        ((5, 1), ks, lst_b, 4, 2, 1.0, "d_bits"),
        ((5, 1), ks, lst_b, 2, 3, 1.0, "d=3"),
        ((5, 1), ks, lst_b, 2, 2, 0, "budget|epsilon|eps_perm"),
    ):
        with pytest.raises((ValueError, TypeError), match=wrong):
            client(record, sizes, b, bits, d, budget)


def test_what_clients_return() -> None:
    split = SPL_solution.SPL_UE_Client((0, 1), [2, 9], 2, 1.0)
    assert isinstance(split, list)
    assert [(row.dtype, row.shape, row.base) for row in split] == [
        (np.float64, (2,), None),
        (np.float64, (9,), None),
    ]
    attribute, report = SMP_solution.SMP_LH_Client((0, 1), [2, 9], 2, 1.0)
    assert type(attribute) is type(report[0]) is type(report[1]) is int
    hidden = RSpFD_solution.RSpFD_GRR_Client((0, 1), [2, 9], 2, 1.0)
    assert [type(entry) for entry in hidden] == [int, int]
    mixed = RSpFD_solution.RSpFD_ADP_Client((0, 1), [2, 40], 2, 1.0)
    assert (type(mixed[0]), mixed[1].shape) == (int, (40,))
    sets = RSpFD_solution.RSpFD_SS_Client((0, 1), [2, 40], 2, 1.0)
    assert all((np.diff(chosen) > 0).all() for chosen in sets)


def test_one_attribute() -> None:
    for client, aggregator in (
        (SPL_solution.SPL_GRR_Client, SPL_solution.SPL_GRR_Aggregator),
        (SMP_solution.SMP_GRR_Client, SMP_solution.SMP_GRR_Aggregator),
        (RSpFD_solution.RSpFD_SS_Client, RSpFD_solution.RSpFD_SS_Aggregator),
    ):
        reports = [client([v % 2], [4], 1, 4.0) for v in range(4000)]
        assert aggregator(reports, [4], 1, 4.0)[0] == pytest.approx([0.5, 0.5, 0, 0], abs=0.1)


def test_attributes_that_nobody_reported() -> None:
    reports = [(0, 1), (0, 0), (2, 2)]
    found = SMP_solution.SMP_GRR_Aggregator(reports, SIZES, 3, 1.0)
    assert np.allclose(found[1], 1 / 5)
    rows = [(0, [1.0, 0.0]), (2, np.array([0.0, 1.0, 1.0]))]
    with pytest.raises(ValueError, match="lst_k must be given: no user reported attribute 1"):
        SMP_solution.SMP_UE_Aggregator(rows, 3, 1.0)
    assert [
        len(each) for each in SMP_solution.SMP_UE_Aggregator(rows, 3, 1.0, lst_k=SIZES)
    ] == SIZES
    assert [len(each) for each in SMP_solution.SMP_UE_Aggregator(rows[:1], 1, 1.0)] == [2]


def test_unary_reports_tell_their_domain_sizes() -> None:
    rows = [SPL_solution.SPL_UE_Client((1, 4, 2), SIZES, 3, 9.0) for _ in range(2000)]
    found = SPL_solution.SPL_UE_Aggregator(rows, 3, 9.0)
    assert [int(each.argmax()) for each in found] == [1, 4, 2]
    packed = SPL(OUE, SIZES, 9.0).randomize([[1, 4, 2]] * 100)
    with pytest.raises(ValueError, match="lst_k must be given"):
        SPL_solution.SPL_UE_Aggregator(packed, 3, 9.0)
    for wrong in (0, -1, 2.5, "3"):
        with pytest.raises((ValueError, TypeError), match="d must be"):
            SPL_solution.SPL_UE_Aggregator(rows, wrong, 9.0)
    with pytest.raises(ValueError, match=r"reports\[0\] must have d=2 entries"):
        SPL_solution.SPL_UE_Aggregator(rows, 2, 9.0)
    with pytest.raises((ValueError, TypeError), match="attribute 1: reports"):
        SPL_solution.SPL_UE_Aggregator([*rows, [rows[0][0], rows[0][0], rows[0][2]]], 3, 9.0)


def test_records_are_drawn_ahead_and_forgotten_after_a_fork() -> None:
    def some() -> list[Any]:
        return [SMP_solution.SMP_GRR_Client((0, 0), [1000, 1000], 2, 1.0) for _ in range(20)]

    some()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, repr(some()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 2**16).decode() != repr(some())


@pytest.mark.parametrize(
    "record",
    [
        np.array([1, True], object),
        np.array([1, 2.0], object),
        np.array([1.0, 2.0]),
        np.array(3),
        np.array([[1, 2]]),
    ],
)
def test_records_of_the_wrong_kind_find_no_quick_way(record: Any) -> None:
    SPL_solution.SPL_GRR_Client(np.array([1, 2]), [5, 6], 2, 1.0)
    for client in (
        SPL_solution.SPL_GRR_Client,
        SMP_solution.SMP_GRR_Client,
        SMP_solution.SMP_UE_Client,
    ):
        with pytest.raises((TypeError, ValueError), match="input_tuple"):
            client(record, [5, 6], 2, 1.0)


def test_parameters_changed_in_place_are_noticed() -> None:
    sizes, k, record = [5, 6], np.array(7), np.array([4, 5])
    SPL_solution.SPL_GRR_Client(record, sizes, 2, 1.0)
    sizes[0] = 3
    with pytest.raises(ValueError, match="input_tuple"):
        SPL_solution.SPL_GRR_Client(record, sizes, 2, 1.0)
    sizes[0] = 5
    SPL_solution.SPL_GRR_Client(record, sizes, 2, 1.0)
    sizes[0] = 5.0
    with pytest.raises(TypeError, match="lst_k"):
        SPL_solution.SPL_GRR_Client(record, sizes, 2, 1.0)
    domains, buckets = [5, 6], list[Any]([3, 4])
    for changed, message in ((3.0, "b must be"), (9, "b must be")):
        buckets[0] = 3
        L_SMP_Solution.SMP_dBitFlipPM_Client(record, domains, buckets, 2, 2, 1.0)
        buckets[0] = changed
        with pytest.raises((TypeError, ValueError), match=message):
            L_SMP_Solution.SMP_dBitFlipPM_Client(record, domains, buckets, 2, 2, 1.0)
    for client in (GRR_Client, UE_Client):
        k[...] = 7
        client(6, k, 1.0)
        k[...] = 5
        with pytest.raises(ValueError, match="input_data"):
            client(6, k, 1.0)


@pytest.mark.parametrize(
    "reports",
    [
        [(0, 1, 2)] * 3,
        [()],
        [([0], np.zeros(3))],
        [(2, np.zeros(3))],
        [(True, np.zeros(3))],
        [("a", np.zeros(3))],
        [{0, 1}],
    ],
)
def test_pairs_that_are_none(reports: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"reports\[0\]"):
        SMP_solution.SMP_UE_Aggregator(reports, 2, 1.0)
    with pytest.raises((TypeError, ValueError), match=r"reports"):
        SMP_solution.SMP_GRR_Aggregator(reports, [3, 3], 2, 1.0)


@pytest.mark.parametrize("sizes", [[4, 4], [4, 5], [600, 600]])
def test_sampled_rows_of_one_length_and_of_several(sizes: list[int]) -> None:
    """Count rows of one length and rows of several lengths.

    Both ways give the same result and refuse the same input.
    """
    values = np.random.default_rng(3).integers(4, size=(3000, 2))
    reports = [SMP_solution.SMP_UE_Client(record, sizes, 2, 1.0) for record in values]
    protocols, found = (
        SMP(OUE, sizes, 1.0).protocols,
        SMP_solution.SMP_UE_Aggregator(reports, 2, 1.0),
    )
    own = [np.array([row for attribute, row in reports if attribute == j]) for j in (0, 1)]
    for j, rows in enumerate(own):
        counted = Tally(protocols[j], rows.sum(axis=0).astype(int), len(rows))
        assert np.allclose(found[j], protocols[j].estimate(counted).norm())
    one = np.ones(sizes[1])
    for wrong, message in (
        ((1, one * 2), "attribute 1: reports must be rows of 0 and 1"),
        ((1, one[:-1]), r"attribute 1: reports\[\d+\] must be a row"),
        ((2, one), r"attribute of reports\[3000\]"),
        ((True, one), r"attribute of reports\[3000\]"),
        ((np.float64(1), one), r"attribute of reports\[3000\]"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            SMP_solution.SMP_UE_Aggregator([*reports, wrong], 2, 1.0)
    mixed = [*reports, (np.int64(1), one)]
    assert len(SMP_solution.SMP_UE_Aggregator(mixed, 2, 1.0)) == 2
