"""The laws that every protocol keeps, as functions: for the protocols of this package and for those written elsewhere.

Statistical laws use fixed seeds and reject beyond six standard deviations: a right protocol fails one with probability 2·10⁻⁹.
"""

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import exact, intervals, parallel, registry, wire
from .protocol import Protocol
from .randomness import Stream
from .tally import Tally

Z = 6.0
ENUMERATED = 2**16
"""Largest number of (report, value, value) that is gone through in exact arithmetic."""
LAWS: dict[str, Callable[[Protocol], None]] = {}


class LawBroken(AssertionError):
    """A protocol breaks a law; ``law`` is its name."""

    def __init__(self, law: str, protocol: object, why: str) -> None:
        super().__init__(f"{protocol!r} breaks the law {law!r}: {why}")
        self.law = law


class NotApplicable(Exception):  # noqa: N818
    """A law says nothing about this protocol."""


def check_protocol(protocol: Protocol) -> dict[str, str]:
    """Hold a protocol to every law; return what was found by law, or raise ``LawBroken`` at the first that is broken.

    >>> from multi_freq_ldpy import GRR
    >>> found = check_protocol(GRR(3, epsilon=1.0))
    >>> set(found.values())
    {'holds'}
    """
    found = {}
    for name in LAWS:
        try:
            check_law(name, protocol)
            found[name] = "holds"
        except NotApplicable as reason:
            found[name] = f"not applicable: {reason}"
    return found


def check_law(name: str, protocol: Protocol) -> None:
    """Hold a protocol to one law."""
    try:
        LAWS[name](protocol)
    except (NotApplicable, LawBroken):
        raise
    except Exception as error:
        raise LawBroken(name, protocol, f"{type(error).__name__}: {error}") from error


def _law(function: Callable[[Protocol], None]) -> Callable[[Protocol], None]:
    LAWS[function.__name__] = function
    return function


def _holds(truth: Any, why: str) -> None:
    if not np.all(truth):
        raise AssertionError(why)


def _refuses(call: Callable[[], object], name: str, shown: object) -> None:
    try:
        call()
    except (ValueError, TypeError) as error:
        _holds(name in str(error), f"the error for {shown!r} does not name {name!r}: {error}")
    else:
        raise AssertionError(f"{name}={shown!r} is accepted")


def _values(protocol: Protocol, n: int) -> NDArray[np.int64]:
    return np.arange(n) % protocol.k


def _laws(protocol: Protocol) -> list[dict[bytes, Fraction]]:
    try:
        laws = [protocol.law(0)]
    except ValueError as error:
        raise NotApplicable(str(error)) from None
    if len(laws[0]) * protocol.k**2 > ENUMERATED:
        raise NotApplicable(f"k={protocol.k} gives {len(laws[0])} reports, too many to go through for all pairs of values")
    return laws + [protocol.law(v) for v in range(1, protocol.k)]


def _many(protocol: Protocol) -> int:
    """Return how many reports the statistical laws draw: enough to see an error of one per cent."""
    n = min(3_000_000, 60_000_000 // protocol.k)
    return n if protocol.channel.binary else n // 4  # exact noise takes longer to draw


@_law
def integers(protocol: Protocol) -> None:
    """Reports hold integers only."""

    def plain(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
        for name in dtype.names or ():
            yield from plain(dtype[name])
        if not dtype.names:
            yield dtype.base

    _holds([part.kind in "iu" for part in plain(protocol.report_dtype)], f"reports are {protocol.report_dtype}")


@_law
def randomness(protocol: Protocol) -> None:
    """Reports follow the rng, differ without one, and leave NumPy's global state alone."""
    values = _values(protocol, 1000)
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    drawn = [protocol.randomize(values, rng).tobytes() for rng in (Stream(1), Stream(1), 1, Stream(2), None, None)]
    _holds(np.array_equal(before, np.random.get_state()[1]), "NumPy's global state has changed")  # type: ignore[index]  # noqa: NPY002
    _holds(drawn[0] == drawn[1] == drawn[2], "the same rng gives different reports")
    _holds(len(set(drawn)) == 4, "different rngs, or none, give the same reports")


@_law
def batches(protocol: Protocol) -> None:
    """A scalar is a batch of one, an empty batch is a batch; any split and any number of threads give the same bits."""
    values = _values(protocol, 3 * parallel.GRAIN + 5)
    with parallel.using(1):
        whole = protocol.randomize(values, Stream(3))
    for n in (2, 3):
        with parallel.using(n):
            _holds(protocol.randomize(values, Stream(3)).tobytes() == whole.tobytes(), f"{n} threads change the reports")
    stream = Stream(3)
    parts = [protocol.randomize(part, stream) for part in np.split(values, [0, 1, 2, 65, 1000, 8191])]
    _holds(np.concatenate(parts).tobytes() == whole.tobytes(), "a split into batches changes the reports")
    one = protocol.randomize(int(values[0]), Stream(3))
    _holds(np.asarray(one).tobytes() == whole[0].tobytes(), "a scalar is not a batch of one")
    _holds(len(protocol.randomize([])) == 0 and protocol.tally(protocol.randomize([])).n == 0, "an empty batch fails")


@_law
def bad_values(protocol: Protocol) -> None:
    """Values outside the domain or of a wrong type are refused before anything is drawn."""
    stream = Stream(4)
    for wrong in (-1, protocol.k, 2**70, [0, protocol.k], [-1, 0], 0.5, [0.0], np.nan, "0", ["a"], None, True, [[0]], 1j):
        _refuses(lambda wrong=wrong: protocol.randomize(wrong, stream), "values", wrong)  # type: ignore[misc]
    _holds(stream.position == 0, "a refused call has moved the stream")


@_law
def bad_parameters(protocol: Protocol) -> None:
    """Every declared field refuses the values its validator names as wrong."""
    given = {each.name: getattr(protocol, each.name) for each in fields(protocol)}
    for each in fields(protocol):
        for wrong in each.metadata["check"].wrong():
            _refuses(lambda e=each, w=wrong: type(protocol)(**{**given, e.name: w}), each.name, wrong)  # type: ignore[misc]


@_law
def equality(protocol: Protocol) -> None:
    """Equal fields make equal objects, also through pickle, with equal reports."""
    same = type(protocol)(*(getattr(protocol, each.name) for each in fields(protocol)))
    copy = pickle.loads(pickle.dumps(protocol))
    _holds(same == protocol == copy and hash(same) == hash(protocol) == hash(copy), "copies differ")
    values = _values(protocol, 100)
    _holds(copy.randomize(values, 5).tobytes() == protocol.randomize(values, 5).tobytes(), "a pickled copy reports differently")


@_law
def spec(protocol: Protocol) -> None:
    """A spec survives JSON and gives an equal protocol."""
    if type(protocol) not in registry.PROTOCOLS.values():
        raise NotApplicable("it is not in the registry")
    there = json.loads(json.dumps(registry.to_spec(protocol)))
    _holds(registry.from_spec(there) == protocol, "the spec gives another protocol")
    _refuses(lambda: registry.from_spec({**there, "extra": 1}), "extra", "extra field")


@_law
def encoding(protocol: Protocol) -> None:
    """Reports survive the wire; decoding accepts exactly the support of the law."""
    reports = protocol.randomize(_values(protocol, 500), 6)
    data = wire.encode(protocol, reports)
    _holds(len(data) == 500 * protocol.report_bytes, "a report has another length than declared")
    _holds(wire.decode(protocol, data).tobytes() == reports.tobytes(), "reports change on the wire")
    if protocol.report_bytes > 1:
        _refuses(lambda: wire.decode(protocol, data[:-1]), "data", "truncated data")
    if protocol.report_bytes > 2:
        return  # too many byte strings to try them all
    try:
        support = set().union(*_laws(protocol))
    except NotApplicable:
        return
    every = [number.to_bytes(protocol.report_bytes, "little") for number in range(256**protocol.report_bytes)]
    refused = protocol._refused(np.frombuffer(b"".join(every), protocol.report_dtype, count=len(every)))
    for report, no in zip(every, refused.tolist(), strict=True):
        _holds(no != (report in support), f"{report!r} is {'refused' if no else 'accepted'}")
    if refused.any():
        wrong = every[int(refused.argmax())]
        _refuses(lambda: wire.decode(protocol, wrong), "reports", wrong)


@_law
def counting(protocol: Protocol) -> None:
    """Counting gives the contributions added up."""
    for n in (0, 1, 7, 127, 128, 129, 1000, 5 * 10**6 // (protocol.k + 100)):
        reports = protocol.randomize(_values(protocol, n), 7)
        step = max(1, 10**7 // protocol.k)
        parts = [protocol.contributions(reports[i : i + step]).sum(axis=0, dtype=np.int64) for i in range(0, n, step)]
        _holds(np.array_equal(protocol.tally(reports).counts, np.sum(parts, axis=0) if n else np.zeros(protocol.k)), f"n={n}")


@_law
def tallies(protocol: Protocol) -> None:
    """Tallies add in any grouping and order, to the bit, and survive bytes; what another protocol counted is refused."""
    reports = protocol.randomize(_values(protocol, 1000), 8)
    whole = protocol.tally(reports)
    a, b, c = (protocol.tally(part) for part in np.split(reports, [10, 500]))
    _holds([whole == t for t in (a + b + c, c + (b + a), sum([b, c, a]))], "grouping changes a tally")
    _holds(protocol.tally(iter(np.split(reports, [0, 3, 700]))) == whole, "a tally of batches differs")
    _holds(protocol.tally(list(reports)) == whole, "a tally of a list of reports differs")
    if type(protocol) in registry.PROTOCOLS.values():
        _holds(Tally.from_bytes(whole.to_bytes()) == whole, "a tally changes in bytes")
    fewer = {each.name: getattr(protocol, each.name) for each in fields(protocol)}
    other = type(protocol)(**{**fewer, "k": protocol.k + 1})
    _refuses(lambda: whole + other.simulate(np.ones(other.k, np.int64), 1), "protocols", "another protocol's tally")
    _refuses(lambda: other.estimate(whole), "tally", "another protocol's tally")


@_law
def moments(protocol: Protocol) -> None:
    """The law adds up to 1, and its moments are the channel's: exactly where they are fractions."""
    laws = _laws(protocol)
    channel = getattr(protocol, "moments", protocol.channel)
    same = (lambda a, b: a == b) if isinstance(channel.p, Fraction) else (lambda a, b: abs(a - b) < 1e-12)
    for v, law in enumerate(laws):
        _holds(sum(law.values()) == 1, f"the law of {v} adds up to {float(sum(law.values()))!r}")
        contributed = protocol.contributions(wire.decode(protocol, b"".join(law))).astype(np.int64)
        chances = np.array(list(law.values()), object)
        for u, (mean, second) in enumerate(zip(chances @ contributed, chances @ contributed**2, strict=True)):
            expected = (channel.p, channel.p2) if u == v else (channel.q, channel.q2)
            _holds(same(mean, expected[0]) and same(second, expected[1]), f"the contribution to {u} of a user with {v}")
    _holds(protocol.channel == channel.rounded(), "the channel is not the rounded moments")


@_law
def privacy(protocol: Protocol) -> None:
    """The largest ratio over all pairs of values and all reports is what ``privacy`` says, and within the budget."""
    said, budget = protocol.privacy, getattr(protocol, "epsilon", None)
    if hasattr(protocol, "log_law"):  # unbounded reports: on exponents, for the two entries that differ
        box = [(y, z) for y in range(-3, 4) for z in range(-3, 4)]
        exponent = protocol.log_law
        loss = max(exponent(y - 1) + exponent(z) - exponent(y) - exponent(z - 1) for y, z in box)
        _holds(said.report == loss and loss <= Fraction(protocol.epsilon), f"the loss is {float(loss)!r}")  # type: ignore[attr-defined]
        return
    laws = _laws(protocol)
    _holds([law.keys() == laws[0].keys() for law in laws], "some report is possible for one value and not for another")
    ratio = max(a[report] / b[report] for a, b in permutations(laws, 2) for report in a)
    _holds(said.ratio is None or said.ratio == ratio, f"the ratio is {float(ratio)!r}")
    _holds(said.report == exact.log(ratio), f"the loss is {exact.log(ratio)!r}, not {said.report!r}")
    if budget is not None:
        _holds(ratio <= exact.exp(Fraction(budget))[0], f"the ratio exceeds e^{budget!r}")


@_law
def fit(protocol: Protocol) -> None:
    """Reports fit the law (chi-square), for the first and the last value."""
    laws = _laws(protocol)
    for v in (0, protocol.k - 1):
        n = _many(protocol) // 4
        reports = protocol.randomize(np.full(n, v), 9 + v)
        rows = np.ascontiguousarray(reports).view(np.dtype((np.void, protocol.report_bytes))).reshape(-1)
        found, counts = np.unique(rows, return_counts=True)
        seen = dict(zip((row.tobytes() for row in found), counts.tolist(), strict=True))
        _holds(seen.keys() <= laws[v].keys(), "a report that the law does not have")
        expected = np.array([float(n * chance) for chance in laws[v].values()])
        observed = np.array([seen.get(report, 0) for report in laws[v]], float)
        common = expected >= 5
        groups = [(observed[common], expected[common])]
        if not common.all():
            groups.append((observed[~common].sum(keepdims=True), expected[~common].sum(keepdims=True)))
        squares = sum(((o - e) ** 2 / e).sum() for o, e in groups)
        freedom = max(1, sum(len(o) for o, _ in groups) - 1)
        # Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is close to normal
        z = ((squares / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / (2 / (9 * freedom)) ** 0.5
        _holds(z < Z, f"chi-square of value {v} is {squares:.1f} with {freedom} degrees of freedom, {z:.1f} deviations")


@_law
def unbiased(protocol: Protocol) -> None:
    """Counts of users who all hold one value have the channel's means, one by one and all others taken together."""
    channel, n, k = protocol.channel, _many(protocol), protocol.k
    own, other = (float(s) for s in channel.spread)
    for v in sorted({0, k // 2, k - 1}):
        counts = protocol.tally(protocol.randomize(np.full(n, v), 20 + v)).counts
        mean = np.where(np.arange(k) == v, float(channel.p), float(channel.q))
        sigma = np.sqrt(np.where(np.arange(k) == v, own, other) * n)
        z = (counts - n * mean) / np.maximum(sigma, 1e-3)
        _holds(np.abs(z) < Z, f"counts of users with {v} are off by {z[np.abs(z).argmax()]:.1f} deviations at {np.abs(z).argmax()}")
        if channel.others is not None and k > 2:
            q = float(channel.q)
            together = (k - 1) * (other + (k - 2) * (float(channel.others) - q * q))
            off = (np.delete(counts, v).sum() - n * (k - 1) * q) / np.sqrt(max(n * together, 1.0))
            _holds(abs(off) < 2 * Z, f"all others of users with {v} are off by {off:.1f} deviations")


@_law
def variance(protocol: Protocol) -> None:
    """Estimates of many small groups of users have the stated mean and variance; so have simulated ones."""
    k, users, groups = protocol.k, 200, min(2000, 10**6 // protocol.k + 50)
    held = np.zeros(k, np.int64)
    held[0], held[-1] = users // 2, users - users // 2
    reports = protocol.randomize(np.tile(np.repeat(np.arange(k), held), groups), 30)
    drawn = [protocol.tally(reports[i * users : (i + 1) * users]) for i in range(groups)]
    stream = Stream(31)
    simulated = [protocol.simulate(held, stream) for _ in range(groups)]
    _holds(all(t.n == users for t in simulated), "a simulated tally has another n")
    for what, found in (("reports", drawn), ("simulate", simulated)):
        estimates = protocol.channel.estimate(np.array([t.counts for t in found]), users)
        expected = protocol.variance(users, held / users)
        off = (estimates.mean(axis=0) - held / users) / np.sqrt(np.maximum(expected, 1e-12) / groups)
        ratio = estimates.var(axis=0, ddof=1) / np.maximum(expected, 1e-12)
        _holds(np.abs(off) < Z, f"the mean of {what} is off by {np.abs(off).max():.1f} deviations")
        rough = expected * (users * float(protocol.channel.p - protocol.channel.q)) ** 2 > 2  # else too few events
        _holds(np.abs(ratio - 1)[rough] < Z * (3 / groups) ** 0.5, f"the variance of {what} is off: ratios {ratio[rough]}")


@_law
def coverage(protocol: Protocol) -> None:
    """Intervals of 95 % cover at least 94 % of the time, and no more than 96 % where counts are large."""
    channel, users, times = protocol.channel, 4000, 4000
    generator = np.random.default_rng(40)
    for f in (0.0, 0.1, 0.5):
        start, law = channel.count_law(users, f, sampled=False)
        counts = start + generator.choice(law.size, times, p=law / law.sum())
        x = channel.estimate(counts, users)
        limits = intervals.limits(x, counts, users, users, channel, 0.95, "sample")
        covered = ((limits[:, 0] <= f) & (f <= limits[:, 1])).mean()
        slack = Z * (0.05 * 0.95 / times) ** 0.5
        _holds(covered > 0.94 - slack, f"intervals cover {covered:.3f} at f={f}")
        if float(channel.spread[1]) * users > intervals.SMALL:
            _holds(covered < 0.96 + slack, f"intervals cover {covered:.3f} at f={f}")


@_law
def documented(protocol: Protocol) -> None:
    """The class says what it is, with an example."""
    _holds(">>>" in (type(protocol).__doc__ or ""), "no example in the docstring")
