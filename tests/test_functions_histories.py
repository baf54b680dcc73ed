"""Tests of the functions for whole histories: the same reports and estimates as the classes."""

import copy
import pickle
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from multi_freq_ldpy import DDRM, Once, Steps, Stream, Tree
from multi_freq_ldpy.checks.tools import chi_square
from multi_freq_ldpy.long_freq_est import Histories
from multi_freq_ldpy.longitudinal.history import History
from multi_freq_ldpy.mechanism import find_silent

ROUNDS = 6
# Name, parameters of the functions, the same mechanism as an object
FUNCTIONS: list[tuple[str, dict[str, Any], History]] = [
    ("Once", {"k": 3, "epsilon": 4.0}, Once(3, 4.0, ROUNDS)),
    (
        "Once",
        {"k": 3, "epsilon": 4.0, "protocol": "GRR", "window": 2},
        Once(3, 4.0, ROUNDS, "GRR", 2),
    ),
    ("Steps", {"k": 3, "epsilon": 4.0, "changes": 1}, Steps(3, 4.0, ROUNDS, 1)),
    (
        "Steps",
        {
            "k": 3,
            "epsilon": 4.0,
            "changes": 2,
            "protocol": "OUE",
            "encoding": "row",
            "values": 0.5,
        },
        Steps(3, 4.0, ROUNDS, 2, "OUE", "row", 0.5),
    ),
    ("Tree", {"epsilon": 4.0, "told": 2}, Tree(4.0, ROUNDS, 2)),
    ("Tree", {"epsilon": 4.0, "told": 2, "kernel": "linear"}, Tree(4.0, ROUNDS, 2, "linear")),
    ("DDRM", {"epsilon": 4.0, "told": 6}, DDRM(4.0, ROUNDS, 6)),
    ("DDRM", {"epsilon": 4.0, "told": 6, "kernel": "ball"}, DDRM(4.0, ROUNDS, 6, "ball")),
]
NAMES = [
    f"{name}_{role}"
    for name in ("Once", "Steps", "Tree", "DDRM")
    for role in ("Client", "Aggregator")
]


def functions(name: str) -> tuple[Any, Any]:
    return getattr(Histories, f"{name}_Client"), getattr(Histories, f"{name}_Aggregator")


def draw_histories(k: int, n: int) -> NDArray[np.int64]:
    """Return n histories that change at most once, from a value below the last one."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, max(1, k - 1), n), rng.integers(0, k, n)
    changed = np.arange(ROUNDS) >= rng.integers(1, ROUNDS + 2, n)[:, np.newaxis]
    return np.where(changed, second[:, np.newaxis], first[:, np.newaxis])


def as_lists(reports: NDArray[Any]) -> list[list[bytes | None]]:
    """Return reports of ``randomize`` in the form that clients return."""
    return [
        [
            None if quiet else each.tobytes()
            for quiet, each in zip(find_silent(row), row, strict=True)
        ]
        for row in reports
    ]


def shares(histories: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return the true frequencies of each round."""
    return np.array([np.bincount(row, minlength=k) for row in histories.T]) / len(histories)


@pytest.mark.parametrize(("name", "given", "history"), FUNCTIONS)
def test_clients_report_as_the_classes_do(
    name: str, given: dict[str, Any], history: History
) -> None:
    client, _ = functions(name)
    histories, stream = draw_histories(history.k, 40), Stream(3)
    found = [client(values.tolist(), **given, rng=stream) for values in histories]
    wanted = history.randomize(histories, rng=Stream(3))
    assert found == as_lists(wanted)
    assert client(histories[0], **given, rng=Stream(3)) == found[0]
    assert client(tuple(histories[0].tolist()), **given, rng=Stream(3)) == found[0]


@pytest.mark.parametrize(("name", "given", "history"), FUNCTIONS)
def test_aggregators_estimate_as_the_classes_do(
    name: str, given: dict[str, Any], history: History
) -> None:
    _, aggregate = functions(name)
    reports = history.randomize(draw_histories(history.k, 300), rng=2)
    found = aggregate(as_lists(reports), **given)
    assert found.shape == (ROUNDS, history.k)
    assert found.dtype == np.float64
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(ROUNDS))
    raw = np.array([each.frequencies for each in history.estimate(reports)])
    wanted = np.clip(raw, 0, None)
    assert found == pytest.approx(wanted / wanted.sum(axis=1, keepdims=True))
    assert (aggregate(reports, **given) == found).all()
    assert (aggregate(iter(as_lists(reports)), **given) == found).all()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "given", "history"),
    [
        ("Once", {"k": 3, "epsilon": 1.0}, Once(3, 1.0, 2)),
        (
            "Steps",
            {"k": 2, "epsilon": 2.0, "changes": 1, "values": 0.5},
            Steps(2, 2.0, 2, 1, values=0.5),
        ),
        ("Tree", {"epsilon": 2.0, "told": 1}, Tree(2.0, 2, 1)),
        ("DDRM", {"epsilon": 2.0, "told": 2}, DDRM(2.0, 2, 2)),
    ],
)
def test_clients_draw_from_the_operating_system(
    name: str, given: dict[str, Any], history: History
) -> None:
    """Compare the reports of 2000 users with their distribution, to 5 deviations of chi-square."""
    client, _ = functions(name)
    n, law = 2000, history.law([1, 0])
    observed = Counter(tuple(client([1, 0], **given)) for _ in range(n))
    assert observed.keys() <= law.keys()
    counts = np.array([observed[each] for each in law])
    assert chi_square(counts, n * np.array([float(p) for p in law.values()]))[0] < 5


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "given", "history"), FUNCTIONS)
def test_estimates_of_many_users(name: str, given: dict[str, Any], history: History) -> None:
    """Estimate from 40 000 users, to six stated standard errors."""
    _, aggregate = functions(name)
    histories = draw_histories(history.k, 40_000)
    reports = history.randomize(histories, rng=4)
    errors = np.array([each.std for each in history.estimate(reports)])  # type: ignore[union-attr]
    found = aggregate(reports, **given)
    assert errors.max() < 0.03
    assert (np.abs(found - shares(histories, history.k)) < 6 * errors).all()


@pytest.mark.parametrize("name", NAMES)
def test_functions_have_their_names(name: str) -> None:
    """Find functions by their names in pickles, in copies and in the message of a wrong call."""
    function = getattr(Histories, name)
    alias = getattr(Histories, name.replace("Aggregator", "Aggregator_MI"))
    assert alias == function
    assert alias.__name__ == name.replace("Aggregator", "Aggregator_MI")
    assert pickle.loads(pickle.dumps(function)) == copy.deepcopy(function) == function
    with pytest.raises(TypeError, match=rf"^{alias.__name__}\(\) missing"):
        function()


def test_rounds_without_reports_are_uniform() -> None:
    nothing: list[list[bytes | None]] = [[None] * 4] * 3
    assert (Histories.Once_Aggregator(nothing, k=4, epsilon=1.0) == 0.25).all()
    assert (Histories.DDRM_Aggregator(nothing, epsilon=1.0, told=2) == 0.5).all()


STEPS = {"k": 3, "epsilon": 1.0, "changes": 1}
BAD_CLIENTS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("Steps", [0, 1, 3], STEPS, r"input_data\[2\] = 3 is outside"),
    ("Steps", [0, 1, -1], STEPS, r"input_data\[2\] = -1 is outside"),
    ("Steps", [0, 1.5, 1], STEPS, "input_data must be integers"),
    ("Steps", ["a", "b"], STEPS, "input_data"),
    ("Steps", None, STEPS, "input_data"),
    ("Steps", 1, STEPS, "input_data must be the values of one user"),
    ("Steps", [[0, 1], [1, 0]], STEPS, "input_data must be the values of one user"),
    ("Steps", [0], STEPS, "length of input_data must be an integer from 2"),
    ("Steps", [], STEPS, "length of input_data"),
    ("Steps", [0, 1], STEPS | {"k": 1}, "k must be"),
    ("Steps", [0, 1], STEPS | {"k": [3]}, "k must be"),
    ("Steps", [0, 1], STEPS | {"epsilon": True}, "epsilon must be"),
    ("Steps", [0, 1], STEPS | {"changes": 0}, "changes must be"),
    ("Steps", [0, 1], STEPS | {"protocol": "XY"}, "protocol must be"),
    ("Steps", [0, 1], STEPS | {"rng": 1}, "rng of a client"),
    ("Steps", [0, 1], STEPS | {"rng": np.random.SeedSequence(1)}, "rng of a client"),
    ("Once", [0, 1], {"k": 2, "epsilon": 1.0, "window": 0}, "window must be"),
    ("Tree", [0, 2], {"epsilon": 1.0, "told": 1}, r"input_data\[1\] = 2 is outside"),
    ("Tree", [0, 1], {"epsilon": 1.0, "told": 1, "kernel": "product"}, "kernel must be"),
    ("Tree", [0, 1], {"epsilon": 1.0, "told": 33}, "told must be"),
    ("DDRM", [0, 1], {"epsilon": 1.0, "told": 0}, "told must be"),
    ("DDRM", [0, 1], {"epsilon": 1e-20, "told": 1}, "epsilon=1e-20 is too small"),
]


@pytest.mark.parametrize(("name", "values", "given", "message"), BAD_CLIENTS)
def test_clients_refuse_wrong_input(
    name: str, values: Any, given: dict[str, Any], message: str
) -> None:
    client, _ = functions(name)
    with pytest.raises((ValueError, TypeError), match=message):
        client(values, **given)


GOOD = Histories.Once_Client([0, 1], k=2, epsilon=1.0, protocol="GRR", rng=Stream(1))
BAD_REPORTS: list[tuple[Any, str]] = [
    ([], "reports must not be empty"),
    (None, "reports must be a list"),
    ("reports", "reports must be a list"),
    ({0: GOOD}, "reports must be a list"),
    ([b"ab", b"cd"], "reports must be lists, one per user"),
    ([GOOD, None], "reports must be lists, one per user"),
    ([GOOD, [None]], r"reports\[1\] must have 2 entries"),
    ([[None]], r"length of reports\[0\]"),
    ([GOOD, [b"\0", None]], r"reports\[1\]\[0\] must be None or 2 bytes"),
    ([GOOD, [None, 7]], r"reports\[1\]\[1\] must be None or 2 bytes, not 7"),
    ([GOOD, [b"\1\0", None]], "reports"),
    ([GOOD, [b"\0\2", None]], "reports"),
]


@pytest.mark.parametrize(("reports", "message"), BAD_REPORTS)
def test_aggregators_refuse_wrong_reports(reports: Any, message: str) -> None:
    assert Histories.Once_Aggregator([GOOD], k=2, epsilon=1.0, protocol="GRR").shape == (2, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        Histories.Once_Aggregator(reports, k=2, epsilon=1.0, protocol="GRR")


def test_a_mechanism_is_made_once_and_types_are_kept_apart() -> None:
    """Refuse a wrong type although an equal number was accepted before."""
    for _ in range(2):
        assert len(Histories.Tree_Client([0, 1], epsilon=1.0, told=1)) == 2
        for wrong in ({"epsilon": True, "told": 1}, {"epsilon": 1.0, "told": 1.0}):
            with pytest.raises(TypeError, match="epsilon|told"):
                Histories.Tree_Client([0, 1], **wrong)  # type: ignore[arg-type]


def test_histories_change_at_most_once() -> None:
    """Check the data of these tests, because estimates are unbiased only within the bound."""
    changes = sum(a != b for a, b in pairwise(draw_histories(3, 500).T))
    assert changes.max() == 1
    assert draw_histories(2, 500)[:, 0].max() == 0
