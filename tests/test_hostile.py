"""Tests of hostile input: documented errors refuse it, within seconds and with little memory."""

import copy
import json
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import targets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets import HEADER, TARGETS

from multi_freq_ldpy import GRR, OUE, RSFD, SPL, Survey, Tally, registry, wire
from multi_freq_ldpy.longitudinal.ledger import State
from multi_freq_ldpy.sending.outbox import Contents
from multi_freq_ldpy.service import batch

CORPUS = Path(__file__).parent.parent / "fuzz" / "corpus"
FILES = {name: sorted((CORPUS / name).iterdir()) for name in TARGETS}
Proved = Callable[[str, int], None]
SECONDS, MEMORY = 5.0, 100 * 10**6
BINARY = ("wire_decode", "submission")
"""The targets whose input holds no JSON."""

FIXED = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@contextmanager
def limits() -> Iterator[None]:
    """Allow at most MEMORY bytes and, if the system has timers, at most SECONDS seconds."""

    def late(*_: Any) -> None:
        raise AssertionError(f"the call takes more than {SECONDS} seconds")

    timer = getattr(signal, "setitimer", None)
    if timer:
        before = signal.signal(signal.SIGALRM, late)
        timer(signal.ITIMER_REAL, SECONDS)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        if timer:
            timer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert peak < MEMORY, f"the call takes {peak} bytes"


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the kernels for accepted input, so that compiling is not measured."""
    for name, files in FILES.items():
        for path in files:
            if path.name.startswith("valid"):
                TARGETS[name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus(name: str, proved: Proved) -> None:
    assert len(FILES[name]) > 10 and sum(path.stat().st_size for path in FILES[name]) < 200_000
    for path in FILES[name]:
        with limits():
            TARGETS[name](path.read_bytes())
    proved("hostile inputs refused or read correctly", len(FILES[name]))


@pytest.mark.parametrize("name", TARGETS)
def test_valid_seeds_are_accepted(name: str) -> None:
    """Check that valid inputs are accepted, so that the corpus reaches beyond the first check."""
    use = {
        "wire_decode": lambda data: wire.decode(targets.MECHANISMS[data[0]], data[1:]),
        "tally_from_bytes": Tally.from_bytes,
        "from_spec": lambda data: registry.from_spec(json.loads(data)),
        "survey_load": lambda data: Survey.from_spec(json.loads(data)),
        "survey_unpack": targets.ONCE.unpack,
        "client_file": State.from_bytes,
        "outbox": Contents.from_bytes,
        "submission": lambda data: batch.count_records(data[1:], 1 + data[0]),
    }[name]
    valid = [path for path in FILES[name] if path.name.startswith("valid")]
    assert len(valid) >= 2
    for path in valid:
        use(path.read_bytes())


# Properties

hows = st.sampled_from(["flip", "insert", "delete", "truncate", "repeat"])
edits = st.lists(
    st.tuples(hows, st.integers(0, 2**16), st.binary(min_size=1, max_size=9)),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    """Return the data after the given changes."""
    for how, number, more in changes:
        i = number % (len(data) + 1)
        if how == "flip" and i < len(data):
            data = data[:i] + bytes([data[i] ^ 1 << more[0] % 8]) + data[i + 1 :]
        elif how == "insert":
            data = data[:i] + more + data[i:]
        elif how == "delete":
            data = data[:i] + data[i + len(more) :]
        elif how == "truncate":
            data = data[:i]
        elif how == "repeat":
            data = data[:i] + data[max(0, i - 8 * len(more)) :]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_arbitrary_bytes(name: str, proved: Proved) -> None:
    @FIXED
    @given(st.binary(max_size=200))
    def holds(data: bytes) -> None:
        with limits():
            TARGETS[name](data)

    holds()
    proved("hostile inputs refused or read correctly", FIXED.max_examples)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_valid_bytes_with_a_few_changes(name: str, proved: Proved) -> None:
    seeds = [path.read_bytes() for path in FILES[name] if path.stat().st_size < 3000]

    @FIXED
    @given(st.sampled_from(seeds), edits)
    def holds(data: bytes, changes: list[tuple[str, int, bytes]]) -> None:
        with limits():
            TARGETS[name](edited(data, changes))

    holds()
    proved("hostile inputs refused or read correctly", FIXED.max_examples)


words = [
    "version",
    "protocol",
    "k",
    "epsilon",
    "b",
    "d_bits",
    "fake",
    "0",
    "1",
    "00",
    "",
    "\ud800",
    "grr",
]
names = st.sampled_from([*registry.PROTOCOLS, *registry.SOLUTIONS, *words])
numbers = st.sampled_from(
    [-(2**63), -1, 0, 1, 2, 3, 5, 2**28, 2**31, 2**32 - 5, 2**32, 2**62, 2**63, 2**64, 10**400]
)
floats = st.floats() | st.sampled_from([5e-324, 1e-300, 1e-18, 0.5, 1.0, 30.0, 1000.0, 1e308])
leaves = st.none() | st.booleans() | numbers | floats | names | st.text(max_size=5)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)


def places(value: Any) -> list[tuple[Any, ...]]:
    """Return the path to each entry of nested objects and lists."""
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [
        place
        for name, each in entries
        for place in [(name,), *((name, *rest) for rest in places(each))]
    ]


@st.composite
def almost(draw: Any, seeds: list[Any]) -> Any:
    """Draw an object that the package wrote, with one or two entries replaced, removed or added."""
    value = copy.deepcopy(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 2))):
        if not (ways := places(value)):
            break
        *way, last = draw(st.sampled_from(ways))
        within = value
        for step in way:
            within = within[step]
        how = draw(st.sampled_from(["replace", "replace", "remove", "add", "repeat"]))
        if how == "replace":
            within[last] = draw(anything)
        elif how == "remove":
            del within[last]
        elif isinstance(within, list):
            within.append(draw(anything) if how == "add" else within[last])
        else:
            within[draw(names)] = draw(anything) if how == "add" else within[last]
    return value


def objects(name: str) -> list[Any]:
    """Return the JSON objects in the valid seeds of a target."""
    found = [path.read_bytes() for path in FILES[name] if path.name.startswith("valid")]
    if name in ("tally_from_bytes", "survey_unpack"):
        found = [data[data.index(b'{"') :] for data in found]
    return [json.JSONDecoder().raw_decode(data.decode("latin1"))[0] for data in found]


def written(name: str, value: Any, users: int, counts: list[int]) -> bytes:
    """Return an object in the format of a target.

    The target itself repairs digests and the length of a spec.
    """
    data = json.dumps(value, sort_keys=name in ("client_file", "outbox")).encode()
    if name in ("tally_from_bytes", "survey_unpack"):
        entries = len(counts) // 2 if users % 2 else 0
        data = (
            HEADER.pack(b"MFLT", 1, 0, users, entries)
            + data
            + np.array(counts, "<i8").tobytes()
            + bytes(16)
        )
        return bytes(20) + data if name == "survey_unpack" else data
    return data + b"\n" * (name in ("client_file", "outbox"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in BINARY])
def test_objects_that_are_almost_right(name: str, proved: Proved) -> None:
    @FIXED
    @given(
        almost(objects(name)) | anything,
        st.integers(0, 5),
        st.lists(st.integers(-1, 4), max_size=11),
    )
    def holds(value: Any, users: int, counts: list[int]) -> None:
        with limits():
            TARGETS[name](written(name, value, users, counts))

    holds()
    proved("hostile inputs refused or read correctly", FIXED.max_examples)


DEEP: list[Any] = []
for _ in range(10**5):
    DEEP = [DEEP]


ODD: list[Any] = [
    10**5000,
    DEEP,
    {1},
    object(),
    b"3",
    3j,
    np.float64("nan"),
    np.array([3]),
    "x" * 10**6,
]


@pytest.mark.parametrize("wrong", ODD, ids=lambda wrong: type(wrong).__name__)
def test_specs_that_are_no_json(wrong: Any) -> None:
    changed = [
        {**registry.to_spec(OUE(3, 1.0)), name: wrong}
        for name in ("version", "protocol", "k", "epsilon", "x")
    ]
    for spec in (wrong, {"version": wrong}, *changed):
        with limits():
            targets.check_spec(spec)
    with limits(), pytest.raises((ValueError, TypeError)):
        registry.from_spec({**registry.to_spec(SPL(GRR, [2, 3], 1.0)), "protocols": wrong})


# Input that must be refused by its declared size

K = 2**32 - 5
MANY = [{"protocol": "OUE", "k": 3 + j, "epsilon": 1 + j / 1000} for j in range(1024)]


@pytest.mark.parametrize(
    ("name", "protocols", "message"),
    [
        (
            "SMP",
            [{"protocol": "GRR", "k": 2, "epsilon": 1.0}] * 10**6,
            "protocols must be at most 1024, one per attribute, not 1000000",
        ),
        (
            "SPL",
            [{"protocol": "OUE", "k": K, "epsilon": 30.0}] * 4,
            "report of at most 2147483647 bytes, not 2147483648",
        ),
    ],
)
def test_what_is_too_large_is_refused(name: str, protocols: list[Any], message: str) -> None:
    with limits(), pytest.raises(ValueError, match=message):
        registry.from_spec({"version": 1, "protocol": name, "protocols": protocols})


@pytest.mark.slow
def test_the_most_attributes_take_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SECONDS", 20.0)
    for fake in ("zero", "random"):
        with limits():
            hidden = registry.from_spec(
                {
                    "version": 1,
                    "protocol": "RSFD",
                    "protocols": MANY,
                    "fake": fake,
                    "balance": fake == "zero",
                }
            )
        assert hidden.privacy.report_attribute < hidden.privacy.report
    with pytest.raises(ValueError, match="ks must be at most 1024"):
        RSFD(GRR, [2] * 1025, 1.0)


@pytest.mark.parametrize("protocol", [*registry.PROTOCOLS])
def test_a_tally_of_a_huge_domain_allocates_nothing(protocol: str) -> None:
    budgets = (
        {"eps_perm": 40.0, "eps_1": 15.0 if protocol == "LSOUE" else 30.0}
        if protocol.startswith("L")
        else {"epsilon": 30.0}
    )
    if protocol == "DBitFlipPM":
        budgets = {"eps_perm": 32.0, "b": K, "d_bits": 5}
    if protocol == "Bloom":
        budgets |= {"bits": 64, "hashes": 1}
    k = 2**28 if protocol in ("SHE", "HR", "Bloom") else K
    spec = {"version": 1, "protocol": protocol, "k": k, **budgets}
    for users in (4, 5):
        *_, data = targets.tallies(written("tally_from_bytes", spec, users, [3] * 6))
        with (
            limits(),
            pytest.raises(
                ValueError, match="counts must have shape|n must have an entry|n must say"
            ),
        ):
            Tally.from_bytes(data)


# The targets themselves

ENTRANCES = {
    "wire_decode": (wire, "decode"),
    "tally_from_bytes": (Tally, "from_bytes"),
    "from_spec": (registry, "from_spec"),
    "survey_load": (Survey, "load"),
    "survey_unpack": (Survey, "unpack"),
    "client_file": (State, "from_bytes"),
    "outbox": (Contents, "from_bytes"),
    "submission": (batch, "read_header"),
}


def undocumented(*_: Any) -> Any:
    raise KeyError("k")


def greedy(*_: Any) -> Any:
    np.ones(2 * MEMORY // 8)
    raise ValueError("k")


def endless(*_: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize("fault", [undocumented, greedy, endless])
@pytest.mark.parametrize("name", TARGETS)
def test_targets_see_faults(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*ENTRANCES[name], fault)
    monkeypatch.setattr(f"{__name__}.SECONDS", 0.2)
    with pytest.raises((KeyError, AssertionError)), limits():
        TARGETS[name](
            next(path for path in FILES[name] if path.name.startswith("valid")).read_bytes()
        )
