"""Tests of the structure: few calls between a method and its kernel, and work done only once."""

import inspect
import re
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_hadamard import Hadamard

import multi_freq_ldpy as ldp
from multi_freq_ldpy import (
    GRR,
    LGRR,
    LOLH,
    LOSUE,
    OLH,
    OUE,
    SHE,
    SMP,
    SPL,
    SS,
    Affine,
    Channel,
    Client,
    DBitFlipPM,
    Stream,
    Survey,
    Tally,
    checks,
    registry,
    wire,
)
from multi_freq_ldpy.core import parallel
from multi_freq_ldpy.core import tally as tallies
from multi_freq_ldpy.core.fakes import Fake
from multi_freq_ldpy.estimation import intervals
from multi_freq_ldpy.longitudinal.ledger import State
from multi_freq_ldpy.mechanism import Mechanism
from multi_freq_ldpy.protocol import OneShot, budgets_of

from .cases import NESTED, SMALL, SMALL_SOLUTIONS

PACKAGE = Path(ldp.__file__).parent
ONE_EACH: list[Any] = [
    *(cls(5, *[3.0, 1.0][: len(budgets_of(cls))]) for cls in registry.BY_BUDGETS.values()),
    ldp.Bloom(5, 1.0, 16),
    SPL(GRR, [3, 2], 1.0),
    SMP(OUE, [3, 2], 1.0),
    ldp.RSFD(GRR, [3, 2], 1.0),
]


@pytest.mark.parametrize("mechanism", ONE_EACH, ids=repr)
def test_from_randomize_to_its_kernel_are_four_calls(mechanism: Any) -> None:
    """Count the calls on the shortest way from ``randomize`` to a compiled function."""
    values = np.zeros((3, len(mechanism.ks)), np.int64)
    inputs = values if len(mechanism.ks) > 1 else values[:, 0]
    mechanism.randomize(inputs, 1)
    called: list[int] = []

    def watch(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            names = [each.function for each in inspect.stack()[1:]]
            called.append(names.index("randomize") + 1)
            return function(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("multi_freq_ldpy.kernels."):
                for each in ("randomize", "read"):  # a protocol without a kernel reads words
                    if hasattr(module, each):
                        patch.setattr(module, each, watch(getattr(module, each)))
        mechanism.randomize(inputs, 1)
    assert called
    assert min(called) <= 4, called


@pytest.mark.parametrize("cls", [entry.cls for entry in registry.ENTRIES.values()])
def test_at_most_six_classes_of_the_package(cls: type) -> None:
    ours = [each for each in cls.__mro__ if each.__module__.startswith("multi_freq_ldpy")]
    assert len(ours) <= 6, ours


def test_nobody_asks_for_a_solution_by_its_class() -> None:
    asked = re.compile(r"isinstance\([^()]*,\s*[^()]*\b(SMP|SPL)\b|issubclass\([^()]*\b(SMP|SPL)\b")
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "solutions":
            assert not asked.search(path.read_text()), path


def bare_any(annotation: Any) -> bool:
    """Return True if an annotation is Any, or a union or sequence that contains Any."""
    if annotation is Any:
        return True
    origin, arguments = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    single = origin in (None, list, tuple) and not inspect.isclass(annotation)
    return single and any(map(bare_any, arguments or ()))


ANYTHING = {
    "Estimate.to_frame": "a table of any kind",
    "Estimates.to_frame": "a table of any kind",
    "Differences.to_frame": "a table of any kind",
    "Rounds.to_frame": "a table of any kind",
    "Comparison.to_frame": "a table of any kind",
    "Survey.randomize": "a table of any kind",
    "Mechanism.law": "a value, or a record",
    "audit": "anything that can be called",
    "Survey.from_table": "options of any protocol",
    "compare": "factories and data of every kind",
    "sample_size": "a domain size, or several",
    "epsilon_for": "a domain size, or several",
    "recommend": "a domain size, or several",
    "Comparison.plot": "axes of matplotlib",
}
"""Functions with parameters or results of any type, and the reason."""


@pytest.mark.parametrize("name", [*ldp.__all__, "Mechanism"])
def test_public_signatures_have_types(name: str) -> None:
    found = Mechanism if name == "Mechanism" else getattr(ldp, name)
    members: dict[str, Any] = {name: found} if inspect.isfunction(found) else {}
    if inspect.isclass(found):
        members = {
            f"{name}.{key}": each.fget if isinstance(each, property) else each
            for key, each in vars(found).items()
            if not key.startswith("_") and key != "protocol"  # an old name
        }
    for place, member in members.items():
        if inspect.isfunction(member) and place not in ANYTHING:
            hints = inspect.get_annotations(member, eval_str=False)
            for parameter, annotation in hints.items():
                kind = inspect.signature(member).parameters.get(parameter)
                options = kind is not None and kind.kind is kind.VAR_KEYWORD
                assert options or not bare_any(annotation), f"{place}: {parameter} is {annotation}"


@pytest.mark.parametrize("mechanism", [*SMALL, *SMALL_SOLUTIONS, Hadamard(5, 1.0)], ids=repr)
def test_counts_of_checked_reports(mechanism: Any) -> None:
    """Compare ``count`` with the counts of ``tally`` and its numbers of reports per value."""
    values = np.zeros((300, len(mechanism.ks)), np.int64)
    reports = mechanism.randomize(values if hasattr(mechanism, "protocols") else values[:, 0], 1)
    counts, n = mechanism.count(wire.decode(mechanism, wire.encode(mechanism, reports)))
    tally = mechanism.tally(reports)
    assert counts.shape == n.shape == tally.n.shape == (mechanism._entries,)
    assert np.array_equal(counts, tally.counts)
    assert np.array_equal(n, tally.n)
    assert not any(each.any() for each in mechanism.count(reports[:0]))


@pytest.mark.parametrize("make", [lambda: Hadamard(60, 1.0), lambda: SMP(Hadamard, [9, 60], 1.0)])
def test_a_tally_settles_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, settled, gathered = make(), [], []
    settle, gather = Hadamard._settle, Hadamard._gather
    monkeypatch.setattr(
        Hadamard, "_settle", lambda self, *given: settled.append(1) or settle(self, *given)
    )
    monkeypatch.setattr(
        Hadamard, "_gather", lambda self, *given: gathered.append(1) or gather(self, *given)
    )
    n = 3 * parallel.GRAIN
    values = np.zeros((n, len(mechanism.ks)), np.int64)
    reports = mechanism.randomize(values if len(mechanism.ks) > 1 else values[:, 0], 1)
    with parallel.use_threads(3):
        tally = mechanism.tally(iter(np.split(reports, [10, 5000])))
    assert len(settled) == len(mechanism.ks)
    assert len(gathered) > 3 * len(mechanism.ks)
    assert np.array_equal(tally.counts, mechanism.contributions(reports).sum(axis=0))


def test_a_report_is_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey({"a": ["x", "y"], "b": ["u", "v", "w"]}, epsilon=1.0)
    reports = survey.randomize({"a": ["x"] * 500, "b": ["w"] * 500}, 1)
    looked: list[int] = []
    refused = SMP._refused
    monkeypatch.setattr(
        SMP, "_refused", lambda self, each: looked.append(len(each)) or refused(self, each)
    )
    survey.estimate(reports)
    assert sum(looked) == 500
    looked.clear()
    found = wire.tally(survey.solution, b"".join(reports["report"]))
    assert sum(looked) == 500
    assert found == survey.tally(reports)
    with pytest.raises(ValueError, match="reports"):
        wire.tally(survey.solution, b"\xff" * survey.solution.report_bytes)


@pytest.mark.parametrize(
    "mechanism",
    [
        LGRR(5, 2.0, 1.0),
        LOSUE(5, 2.0, 1.0),
        LOLH(5, 2.0, 1.0),
        DBitFlipPM(5, 2.0, d_bits=2),
        SPL(LGRR, [3, 2], 4.0, 2.0),
        SMP(LOSUE, [3, 2], 4.0, 2.0),
        NESTED[3],
    ],
    ids=repr,
)
def test_a_report_recalls_once_and_writes_once(
    mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that permanent answers are derived once per leaf, and the file is written once."""
    record = [0] * len(mechanism.ks)
    value = record if hasattr(mechanism, "protocols") else 0
    client = Client.open(tmp_path / "client", mechanism)
    recalled: list[str] = []
    written: list[bytes] = []
    for cls in {type(leaf) for leaf in mechanism.leaves}:
        remember = cls._remember  # type: ignore[attr-defined]
        monkeypatch.setattr(
            cls,
            "_remember",
            lambda self, *given, remember=remember: (
                recalled.append(repr(self)) or remember(self, *given)
            ),
        )
    to_bytes = State.to_bytes
    monkeypatch.setattr(State, "to_bytes", lambda self: written.append(b"") or to_bytes(self))
    for expected in (1, 0, 0):
        recalled.clear()
        written.clear()
        client.report(value)
        assert len(recalled) == len(set(recalled)) <= len(mechanism.leaves)
        assert recalled
        assert len(written) == expected


def test_a_file_that_others_write_is_read_again(tmp_path: Path) -> None:
    """Check that a cached state is used only while the file has the same bytes."""
    mechanism, path = LGRR(5, 2.0, 1.0), tmp_path / "client"
    one, other = Client.open(path, mechanism), Client.open(path, mechanism)
    old = path.read_bytes()
    for value, client in enumerate((one, other, one, other)):
        client.report(value)
        assert one.spent == other.spent == 2.0 * (value + 1)
    path.write_bytes(old)
    path.chmod(0o600)
    assert one.spent == other.spent == 0.0
    path.write_bytes(old[:-3] + b"abc")
    for client in (one, other):
        with pytest.raises(ValueError, match="digest"):
            client.report(0)


@pytest.mark.parametrize("mechanism", [*SMALL, *SMALL_SOLUTIONS, Hadamard(5, 1.0)], ids=repr)
def test_likelihoods_are_those_of_the_law(mechanism: Any) -> None:
    """Compare likelihoods with the distribution, for the first and the last input.

    Reports may be given as reports or as bytes.
    """
    single = not hasattr(mechanism, "protocols")
    if any(isinstance(each, SHE) for each in mechanism.leaves):
        nothing: Any = 0 if single else [0] * len(mechanism.ks)
        with pytest.raises(ValueError, match="is not a fraction"):
            mechanism.likelihood(mechanism.randomize(nothing), nothing)
        return
    for place in (0, -1):
        record = [place % k for k in mechanism.ks]
        value = record[0] if single else record
        for report, chance in mechanism.law(value).items():
            assert mechanism.likelihood(report, value) == chance
    drawn = mechanism.randomize(value, 1)
    assert mechanism.likelihood(drawn, value) == mechanism.law(value)[np.asarray(drawn).tobytes()]


def test_likelihoods_of_large_domains() -> None:
    for mechanism in (GRR(2**31, 20.0), OUE(5000, 1.0), SS(3000, 2.0), OLH(10**6, 1.0)):
        report = mechanism.randomize(7, Stream(1))
        ratio = mechanism.likelihood(report, 7) / mechanism.likelihood(report, 8)
        assert ratio in (1, mechanism.ratio, 1 / mechanism.ratio)


@pytest.mark.parametrize(
    ("report", "value", "message"),
    [
        (5, 0, r"report\[0\] = 5"),
        (b"12", 0, "report must have 1 bytes"),
        (b"\x09", 0, r"report\[0\] = 9"),
        ([0, 1], 0, "report"),
        ("0", 0, "report"),
        (0, 5, "value"),
        (0, [0, 1], "value must be that of one user"),
    ],
)
def test_likelihoods_of_what_is_none(report: Any, value: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        GRR(5, 1.0).likelihood(report, value)


def test_channels() -> None:
    """Check that ``Channel`` makes an affine channel, and the distribution for ±1."""
    assert type(Channel(0.5, 0.25)) is Affine
    assert Channel(0.5, q=0.25) == Affine(0.5, 0.25)
    binary, signs = Affine(0.75, 0.5), Affine(0.5, 0.0, 1.0, 1.0, 0.0, 0.0)
    assert (binary.smallest, binary.largest, binary.known_law) == (0, 1, True)
    assert (signs.smallest, signs.largest, signs.known_law, signs.binary) == (-1, 1, True, False)
    for sampled in (False, True):
        start, law = binary.count_law(40, 0.25, sampled=sampled)
        low, spread = signs.count_law(40, 0.25, sampled=sampled)
        assert low == 2 * start - 40
        assert np.allclose(spread[::2], law)
        assert not spread[1::2].any()
    assert not Affine(1.0, 0.0, 3.0, 2.0).known_law
    with pytest.raises(ValueError, match="not a sum of two binomials"):
        Affine(1.0, 0.0, 3.0, 2.0).count_law(10, 0.5, sampled=True)
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (Channel,), {})()


def test_a_second_round_is_written_once() -> None:
    """Compare two rounds of independent bits, and their permanent part, with the formulas."""
    p, q, keep, flip = Fraction(3, 4), Fraction(1, 3), Fraction(4, 5), Fraction(1, 5)
    first = Affine(p, q, own_other=p * q, others=q * q)
    both = first.then(keep, flip)
    own, other = flip + p * (keep - flip), flip + q * (keep - flip)
    assert (both.p, both.q, both.own_other, both.others) == (own, other, own * other, other**2)
    assert both.binary
    lasting = first.recalled(keep, flip)
    assert lasting.p2 == p * keep**2 + (1 - p) * flip**2
    assert lasting.q2 == q * keep**2 + (1 - q) * flip**2
    alone = first.then(keep, flip, exclusive=True)
    assert (alone.own_other, alone.others) == (0, 0)
    chain = LGRR(3, 2.0, 1.0)
    weights = [Fraction(weight, 2**64) for weight in chain.second]
    assert chain.lasting == chain.permanent.moments.recalled(*weights)


def test_threads_do_not_change_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a read returns its own content, even if another thread reads meanwhile."""
    client = Client.open(tmp_path / "client", LGRR(5, 2.0, 1.0))
    old = client._store.read()
    other = Client.open(tmp_path / "client", LGRR(5, 2.0, 1.0))
    other.report(3)
    from_bytes = State.from_bytes

    def meanwhile(data: bytes) -> State:
        found = from_bytes(data)
        threading.Thread(target=setattr, args=(client._store, "_latest", (b"", old))).start()
        return found

    monkeypatch.setattr(State, "from_bytes", meanwhile)
    for _ in range(50):
        client._store._latest = None
        assert client._store.read().ledger.classes == {0: frozenset({3})}


@pytest.mark.parametrize("n", [2**33, 3 * 2**32, 2**40])
def test_counts_of_many_noisy_reports(n: int) -> None:
    """Check the bounds of very large counts, for which products would overflow."""
    protocol = SHE(3, 1.0)
    tally = protocol.simulate([n, 1, 1], 1)
    assert tally.users == n + 2
    with pytest.raises(ValueError, match="is outside"):
        Tally(protocol, [2**62, 0, 0], 2**30)
    with pytest.raises(ValueError, match="is outside"):
        Tally(protocol, [-(2**62), 0, 0], 2**30)


def test_signs_come_in_portions_of_two() -> None:
    """Compare the limits of counts of ±1 with those of the same reports counted as 0 and 1."""
    for epsilon, n in ((2.0, 51), (3.0, 150)):
        p = np.exp(epsilon) / (1 + np.exp(epsilon))
        zeros, signs = Affine(p, 0.5), Affine(2 * p - 1, 0.0, 1.0, 1.0)
        assert (zeros.unit, signs.unit) == (1.0, 2.0)
        counts = np.arange(n + 1)
        both = [
            intervals.limits(channel.estimate(each, n), each, n, n, channel, 0.95, "sample")
            for channel, each in ((zeros, counts), (signs, 2 * counts - n))
        ]
        assert np.allclose(both[0], both[1], atol=1e-9)


class Doubled(Channel):
    """A channel of another kind: an affine channel with doubled counts."""

    def __init__(self, inner: Affine) -> None:
        self.inner = inner
        self.p, self.q, self.unit = 2 * inner.p, 2 * inner.q, 2.0
        self.p2, self.q2, self.own_other, self.others = 4 * inner.p2, 4 * inner.q2, None, None
        self.smallest, self.largest = 0, 2

    slope = property(lambda self: 2 * self.inner.slope)
    spread = property(lambda self: tuple(4 * each for each in self.inner.spread))

    def estimate(self, counts: Any, n: Any) -> Any:
        return self.inner.estimate(np.asarray(counts) / 2, n)

    def variance(self, n: Any, f: Any = 0.0) -> Any:
        return self.inner.variance(n, f)

    def group(self, m: int) -> Channel:
        raise ValueError("no groups")

    def over(self, rounds: int, lasting: Channel) -> Channel:
        raise ValueError("no rounds")


class CountedTwice(GRR):
    """Protocol whose report contributes 2 to the reported value. >>>"""

    @property
    def moments(self) -> Any:
        return Doubled(GRR(self.k, self.epsilon).channel)

    @property
    def channel(self) -> Any:
        return self.moments

    def contributions(self, reports: Any) -> Any:
        return 2 * super().contributions(reports)

    def _count(self, reports: Any) -> Any:
        return 2 * super()._count(reports)

    def _simulate(self, counts: Any, rng: Any, nobody: int = 0) -> Any:
        found, n = super()._simulate(counts, rng, nobody)
        return 2 * found, n

    def _check_counts(self, counts: Any, n: Any, users: int) -> None:
        super()._check_counts(np.asarray(counts) // 2, n, users)


def test_a_channel_of_another_kind_is_checked_as_far_as_that_goes() -> None:
    """Run all checks: some are not applicable and say so, and no check fails."""
    for mechanism in (CountedTwice(4, 1.0), SMP(CountedTwice, [3, 2], 1.0)):
        found = checks.check_protocol(mechanism)
        away = {name for name, what in found.items() if what != "holds"}
        assert away == {"spec", "moments", "coverage", "rounds"}
        assert all(found[name].startswith("not applicable: ") for name in away)


class Shifted(Hadamard):
    """Protocol that gathers the count of each index, and needs n to settle. >>>"""

    def _gather(self, reports: Any) -> Any:
        return np.bincount(reports >> 1 << 1 | reports & 1, minlength=2 * self._space)[
            : 2 * self._space : 2
        ]

    def _settle(self, gathered: Any, n: Any) -> Any:
        assert n.shape == (self.k,)
        # The other reports, which were not gathered, have the sign −1
        return n - gathered.sum()


def test_settling_gets_the_numbers_of_its_own_part() -> None:
    """Check that every part settles with the number of reports about its own values."""
    solution = SMP.of([Shifted(3, 1.0), Shifted(5, 1.0)])
    reports = solution.randomize(np.zeros((4000, 2), np.int64), 1)
    counts, n = solution.count(reports)
    negative = np.array(
        [(reports["payload"][reports["attribute"] == j, 0] & 1).sum() for j in (0, 1)]
    )
    assert np.array_equal(counts, np.repeat(negative, [3, 5]))
    assert n[0] + n[-1] == 4000


def test_groups_of_signs_have_limits_that_cover() -> None:
    """Check the limits of a group, which has no known distribution.

    Bernstein's inequality uses the whole width of a contribution.
    """
    channel = Affine(0.5, 0.0, 1.0, 1.0, 0.0, 0.0).group(3)
    assert (channel.smallest, channel.largest, channel.unit) == (-3, 3, 2.0)
    assert not channel.known_law
    low, high = intervals.bernstein_limits(0.2, 400, channel, 0.95, False)
    rarity, spread = np.log(40), 400 * max(float(each) for each in channel.spread)
    size = 6 * rarity / 3
    reach = (size + np.sqrt(size**2 + 2 * spread * rarity)) / (400 * channel.slope)
    assert (low, high) == pytest.approx((0.0, min(1.0, 0.2 + reach)))


@pytest.mark.parametrize("mechanism", [GRR(3, 1.0), SMP(GRR, [3, 2], 1.0)], ids=repr)
def test_tallies_have_n_as_they_are_written(mechanism: Any) -> None:
    """Check n in bytes: one number if all reports are about all values, else one per value."""
    values = np.zeros((50, len(mechanism.ks)), np.int64)
    tally = mechanism.tally(mechanism.randomize(values if len(mechanism.ks) > 1 else values[:, 0]))
    data = tally.to_bytes()[: -tallies.DIGEST]
    spec = int.from_bytes(data[5:9], "little")
    entries = int.from_bytes(data[17:25], "little")
    assert entries == (0 if len(mechanism.ks) == 1 else 5)
    body = tallies._HEADER.size + spec
    n = tally.n if entries else tally.n[:1]
    assert data[body : body + n.nbytes] == n.astype("<i8").tobytes()
    other = len(tally.n) if not entries else 0
    written = (tally.n if other else tally.n[:1]).astype("<i8").tobytes()
    changed = data[:17] + other.to_bytes(8, "little") + data[25:body] + written
    changed += data[body + n.nbytes :]
    with pytest.raises(ValueError, match="n must|does not write"):
        Tally.from_bytes(changed + tallies.digest_of(changed))


class Bare(OneShot):
    """Protocol that does not define its reports. >>>"""

    def _randomize(self, values: Any, source: Any, out: Any) -> None:
        out[:] = 0


class Short(Hadamard):
    """Protocol that gathers fewer numbers than stated. >>>"""

    def _gather(self, reports: Any) -> Any:
        return super()._gather(reports)[1:]


class Long(Hadamard):
    """Protocol that settles more counts than it has values. >>>"""

    def _settle(self, gathered: Any, n: Any) -> Any:
        return np.concatenate((super()._settle(gathered, n), [0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bare(3, 1.0), "Bare must define report_dtype, contributions, moments, ratio, law"),
        (lambda: Short(5, 1.0).tally([0]), "_gather must return _space=8 numbers"),
        (lambda: Long(5, 1.0).tally([0]), "_settle must return 5 counts"),
        (lambda: checks.check_protocol(GRR), "an object and not a class"),  # type: ignore[arg-type]
        (lambda: ldp.RSFD(Hidden, [3, 2], 1.0), "RSFD needs contributions of 0 and 1"),
    ],
)
def test_protocols_that_are_not_whole(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


class Hidden(Hadamard):
    """Protocol with fakes, and with contributions of −1 and 1. >>>"""

    def _fake(self, kind: str) -> Fake:
        return Fake.of_uniform_value(self, Fraction(1), Fraction(1))


class Plain(GRR):
    """Protocol with fakes whose probability is a sum over all values. >>>"""

    def _fake(self, kind: str) -> Fake:
        low = self.k * self.chances[1]
        return Fake.of_uniform_value(self, low, low)


def test_fakes_of_uniform_values() -> None:
    solution, right = ldp.RSFD(Plain, [3, 2], 1.0), ldp.RSFD(GRR, [3, 2], 1.0)
    for report, chance in solution.law([1, 0]).items():
        assert chance == right.law([1, 0])[report] == solution.likelihood(report, [1, 0])
