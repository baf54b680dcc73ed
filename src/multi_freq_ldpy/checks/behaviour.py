"""Checks of behaviour.

They cover the parameters, the inputs, the reports and the tallies of a protocol or solution.
"""

import json
import pickle
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from .. import registry, wire
from ..core import parallel, validate
from ..core.randomness import Source, Stream
from ..core.tally import Tally
from ..longitudinal.history import History
from ..longitudinal.memoized import Memoized
from ..longitudinal.panel import Panel
from ..mechanism import Mechanism, as_readonly
from ..protocol import Protocol
from ..protocols.grr import GRR
from .tools import (
    NotApplicable,
    Watched,
    Z,
    holds,
    is_registered,
    laws_of,
    rebuild,
    refuses,
    spread_inputs,
    widen,
)

CHANGES = "a user's attribute changes"
NO_INTEGER = (-1, 2**70, 0.5, np.nan, "0", None, True, 1j)


def integers(mechanism: Mechanism) -> None:
    """Check that reports hold integers only, in little endian."""

    def plain(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
        for name in dtype.names or ():
            yield from plain(dtype[name])
        if not dtype.names:
            yield dtype.base

    dtype = mechanism.report_dtype
    holds(isinstance(dtype, np.dtype), f"report_dtype must be an np.dtype, not {dtype!r}")
    holds([part.kind in "iu" for part in plain(dtype)], f"reports are {dtype}")
    holds(
        [part.newbyteorder("<") == part for part in plain(dtype)],
        f"report_dtype must be little endian, not {dtype!r}",
    )


def randomness(mechanism: Any) -> None:
    """Check that reports follow the rng, differ without one, and leave NumPy's global state alone.

    No byte is read twice, for one user or for two.
    """
    values = spread_inputs(mechanism, 1000)
    before = repr(np.random.get_state())  # noqa: NPY002
    drawn = [
        mechanism.randomize(values, rng).tobytes()
        for rng in (Stream(1), Stream(1), 1, Stream(2), None, None)
    ]
    holds(before == repr(np.random.get_state()), "NumPy's global state has changed")  # noqa: NPY002
    holds(drawn[0] == drawn[1] == drawn[2], "the same rng, Stream(1) or 1, gives different reports")
    holds(
        len(set(drawn)) == 4, "different rngs, Stream(1), Stream(2) or None, give the same reports"
    )
    source = Watched.over(Source.of(Stream(1), mechanism._label, len(values)))
    inputs, _ = mechanism._inputs(values)
    mechanism._randomize(as_readonly(inputs), source, np.empty(len(values), mechanism.report_dtype))
    holds(
        not source.find_twice(),
        "bytes of the source are read twice: use source.part(name) for every further draw",
    )


def batches(mechanism: Any) -> None:
    """Check that any split into batches and any number of threads give the same bits.

    A single input is a batch of one. An empty batch is a valid batch.
    """
    values = spread_inputs(mechanism, 3 * parallel.GRAIN + 5)
    with parallel.use_threads(1):
        whole = mechanism.randomize(values, Stream(3))
    who = f"the reports of {len(values)} users of Stream(3)"
    for n in (2, 3):
        with parallel.use_threads(n):
            holds(
                mechanism.randomize(values, Stream(3)).tobytes() == whole.tobytes(),
                f"{n} threads change {who}",
            )
    stream = Stream(3)
    parts = [
        mechanism.randomize(part, stream) for part in np.split(values, [0, 1, 2, 65, 1000, 8191])
    ]
    holds(np.concatenate(parts).tobytes() == whole.tobytes(), f"a split into batches changes {who}")
    one = mechanism.randomize(values[0], Stream(3))
    holds(
        np.asarray(one).tobytes() == whole[0].tobytes(),
        f"with Stream(3), a single input gives {one}, but the same input in a batch gives"
        f" {whole[0]}",
    )
    nobody = mechanism.randomize([])
    holds(
        len(nobody) == 0 and mechanism.tally(nobody).users == mechanism.tally([]).users == 0,
        "an empty batch fails",
    )


def bad_values(mechanism: Any) -> None:
    """Check that values outside the domain or of a wrong type are refused.

    They are refused before anything is drawn.
    """
    stream = Stream(4)

    def refused(wrong: Any, name: str) -> None:
        refuses(lambda: mechanism.randomize(wrong, stream), name, wrong)

    if isinstance(mechanism, Protocol):
        for wrong in (*NO_INTEGER, mechanism.k, [0, mechanism.k], [-1, 0], [0.0], ["a"], [[0]]):
            refused(wrong, "values")
    else:
        d = len(mechanism.parts)
        for j, k in enumerate(mechanism.ks):
            for wrong in (*NO_INTEGER, k):
                row: list[Any] = [0] * d
                row[j] = wrong
                if wrong is not True:  # among integers, NumPy reads True as 1
                    refused([[0] * d, [0] * d, row], f"table[2, {j}] = {wrong!r}")
        shapes: list[Any] = [
            [0] * (d + 1),
            [[0] * (d + 1)],
            [[0] * d, [0] * (d - 1)],
            [[[0] * d]],
            [[0.0] * d],
            ["a"] * d,
        ]
        for wrong in (*NO_INTEGER, *shapes):
            refused(wrong, "table")
    holds(stream.position == 0, "a refused call has moved the stream")


def bad_parameters(mechanism: Any) -> None:
    """Check that every declared field refuses the values that its validator lists as invalid.

    k = 1 is refused too. A solution also refuses an invalid factory.
    """
    cls = type(mechanism)
    if isinstance(mechanism, Protocol | History):
        for each in fields(mechanism):
            for wrong in each.metadata["check"].list_invalid():
                if wrong is None and each.default is None:
                    continue
                refuses(lambda e=each, w=wrong: rebuild(mechanism, **{e.name: w}), each.name, wrong)  # type: ignore[misc]
        if "k" in {each.name for each in fields(mechanism)}:
            refuses(lambda: rebuild(mechanism, k=1), "k", 1)
        return
    for ks in (
        [],
        3,
        None,
        "23",
        [[2, 3]],
        {2, 3},
        2.0,
        *([2, wrong] for wrong in validate.domain_size.list_invalid()),
    ):
        refuses(lambda ks=ks: cls(GRR, ks, 1.0), "ks", ks)  # type: ignore[misc]
    for wrong in validate.budget.list_invalid():
        refuses(lambda wrong=wrong: cls(GRR, [2, 3], wrong), "epsilon", wrong)  # type: ignore[misc]
        refuses(lambda wrong=wrong: cls(GRR, [2, 3], epsilon=wrong), "epsilon", wrong)  # type: ignore[misc]
    for factory in (
        None,
        "GRR",
        [GRR],
        [GRR] * 3,
        [GRR, None],
        lambda k, epsilon: k,
        lambda k, epsilon: GRR(k + 1, epsilon),
    ):
        refuses(lambda factory=factory: cls(factory, [2, 3], 1.0), "factory", factory)  # type: ignore[misc]
    refuses(lambda: cls(GRR, [2, 3]), "budget", "no budget")
    for each in fields(mechanism)[1:]:
        refuses(lambda e=each: rebuild(mechanism, **{e.name: "neither"}), each.name, "neither")  # type: ignore[misc]


def equality(mechanism: Any) -> None:
    """Check that equal fields make equal objects with equal reports, also through pickle."""
    same, copy = rebuild(mechanism), pickle.loads(pickle.dumps(mechanism))
    holds(
        same == mechanism == copy and hash(same) == hash(mechanism) == hash(copy), "copies differ"
    )
    values = spread_inputs(mechanism, 100)
    holds(
        copy.randomize(values, 5).tobytes() == mechanism.randomize(values, 5).tobytes(),
        "a pickled copy reports differently",
    )


def spec(mechanism: Any) -> None:
    """Check that a spec survives JSON and gives an equal object."""
    if not is_registered(mechanism):
        raise NotApplicable("it is not in the registry")
    there = json.loads(json.dumps(registry.to_spec(mechanism)))
    holds(registry.from_spec(there) == mechanism, "the spec gives another object")
    refuses(lambda: registry.from_spec({**there, "extra": 1}), "extra", "extra field")


def encoding(mechanism: Any) -> None:
    """Check that reports survive the wire.

    Decoding accepts exactly the support of the distribution.
    """
    size = mechanism.report_bytes
    reports = mechanism.randomize(spread_inputs(mechanism, 500), 6)
    data = wire.encode(mechanism, reports)
    holds(len(data) == 500 * size, "a report has another length than declared")
    holds(wire.decode(mechanism, data).tobytes() == reports.tobytes(), "reports change on the wire")
    if size > 1:
        refuses(lambda: wire.decode(mechanism, data[:-1]), "data", "truncated data")
    try:
        support = set().union(*laws_of(mechanism))
    except NotApplicable:
        return
    if size <= 2:
        every = [number.to_bytes(size, "little") for number in range(256**size)]
    else:  # too many byte strings to try all: honest reports, and copies with one byte changed
        honest = sorted(support)[:: -(-len(support) // 100)]
        other = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 255)
        every = [
            report[:i] + bytes([b]) + report[i + 1 :]
            for report in honest
            for i in range(size)
            for b in other
        ]
    refused = mechanism._refused(
        np.frombuffer(b"".join(every), mechanism.report_dtype, count=len(every))
    )
    for report, no in zip(every, refused.tolist(), strict=True):
        why = f"{report!r} is refused, but it has a probability above 0"
        why = why if no else f"{report!r} is accepted, but impossible: _refused must mark it"
        holds(no != (report in support), why)
    if refused.any():
        wrong = every[int(refused.argmax())]
        refuses(lambda: wire.decode(mechanism, wrong), "reports", wrong)


def counting(mechanism: Any) -> None:
    """Check that counts are the sums of contributions."""
    entries = mechanism.parts[-1][1].stop
    for n in (0, 1, 7, 127, 128, 129, 1000, 5 * 10**6 // (entries + 100)):
        reports = mechanism.randomize(spread_inputs(mechanism, n), 7)
        step = max(1, 10**7 // entries)
        for seen, part in mechanism.parts:
            found = mechanism.contributions(reports[:1000])[:, part]
            low, high = seen.channel.smallest, seen.channel.largest
            holds(
                (found >= low) & (found <= high),
                f"contributions are not within {low} and {high}: the channel needs p2 and q2 if"
                " contributions are not 0 and 1, and smallest and largest if they go beyond",
            )
        parts = [
            mechanism.contributions(reports[i : i + step]).sum(axis=0, dtype=np.int64)
            for i in range(0, n, step)
        ]
        added = np.sum(parts, axis=0) if n else np.zeros(entries, np.int64)
        # A tally refuses impossible counts, so counts are compared first
        for tallied in (
            False,
            True,
        ):
            counted = (
                mechanism.tally(reports).counts
                if tallied
                else mechanism.count(mechanism._as_reports(reports))[0]
            )
            v = int(np.argmax(counted != added))
            holds(
                np.array_equal(counted, added),
                f"seed 7: the count of entry {v} is {counted[v]} from {n} reports, not {added[v]}",
            )


def tallies(mechanism: Any) -> None:
    """Check that tallies add in any grouping and order, to the bit, and survive bytes.

    The tally of another mechanism is refused.
    """
    reports = mechanism.randomize(spread_inputs(mechanism, 1000), 8)
    whole = mechanism.tally(reports)
    a, b, c = (mechanism.tally(part) for part in np.split(reports, [10, 500]))
    for t in (a + b + c, c + (b + a), sum([b, c, a])):
        holds(whole == t, f"seed 8: parts of {whole} add up to {t}")
    holds(
        mechanism.tally(iter(np.split(reports, [0, 3, 700]))) == whole, "a tally of batches differs"
    )
    holds(mechanism.tally(list(reports)) == whole, "a tally of a list of reports differs")
    holds(
        np.array_equal(np.concatenate([part.counts for part in whole]), whole.counts),
        "the attributes of a tally do not make up the whole tally",
    )
    if is_registered(mechanism):
        holds(
            Tally.from_bytes(whole.to_bytes()) == whole,
            "a tally changes when it is written to bytes",
        )
    other = widen(mechanism)
    refuses(
        lambda: whole + other.tally(other.randomize(spread_inputs(other, 5), 1)),
        "mechanisms",
        "the tally of another mechanism",
    )
    refuses(lambda: other.estimate(whole), "tally", "the tally of another mechanism")


def memory(mechanism: Any) -> None:
    """Check that the permanent state of users is the same in every round, by memo class.

    It does not depend on how users are split into calls, or on the number of threads.
    """
    n = 2 * parallel.GRAIN + 5
    values = spread_inputs(mechanism, n)
    whole = [panel.report(values) for panel in [Panel(mechanism, n, 9)] for _ in range(2)]
    holds(
        whole[0].dtype == np.empty(0, mechanism.report_dtype).dtype
        and mechanism.tally(whole[0]).users == n,
        "a panel does not make one report per user",
    )
    with parallel.use_threads(2):
        panel = Panel(mechanism, n, Stream(9))
        split = [
            panel.report(values[part], part) for part in np.split(np.arange(n), [1, 700, n - 3])
        ]
        holds(
            np.concatenate(split).tobytes() == whole[0].tobytes(),
            "a split of a round into several calls changes the reports",
        )
        holds(
            panel.report(values).tobytes() == whole[1].tobytes(),
            "the number of threads changes the reports",
        )
    first, second = (list_sampled(mechanism, each) for each in whole)
    holds([np.array_equal(a, b) for a, b in zip(first, second, strict=True)], CHANGES)
    _require_prices(mechanism)
    if mechanism.samples:
        parts = len(mechanism.protocols)
        sampled, expected = whole[0]["attribute"], n / parts
        often = [
            *np.bincount(sampled, minlength=parts),
            *((sampled == np.roll(sampled, lag)).sum() for lag in range(1, 17)),
        ]
        holds(
            np.abs(np.array(often) - expected) < 2 * Z * expected**0.5,
            "the attributes that users sample are not independent",
        )
    for j, protocol in enumerate(mechanism.leaves):
        if isinstance(protocol, Memoized):
            _require_memory(protocol, Source.keyed(bytes([j]) * 32))


def list_sampled(mechanism: Any, reports: Any) -> list[Any]:
    """Return the part that each report speaks of, for the mechanism and for all parts within it."""
    if mechanism.samples:
        inner = [(mechanism.protocols[j], own) for j, _, _, own in mechanism._by_part(reports)]
        return [
            reports["attribute"],
            *(each for part, own in inner for each in list_sampled(part, own)),
        ]
    if not hasattr(mechanism, "_fields_of"):
        return []
    pairs = zip(mechanism.protocols, mechanism._fields_of(reports), strict=True)
    return [each for part, own in pairs for each in list_sampled(part, own)]


def _require_prices(mechanism: Any) -> None:
    """Require that a user's first report costs at most the promised loss.

    For some users it costs exactly this loss.
    """
    if len(mechanism.ks) > 16:
        return
    memory, costs = Source.keyed(bytes(range(32))), []
    inputs, _ = mechanism._inputs(spread_inputs(mechanism, 1))
    for user in range(200):
        recalled = mechanism._recall(inputs, np.array([user]), memory)
        costs.append(sum(mechanism._prices[j] for j, _ in mechanism._charges(recalled)))
    said = mechanism.privacy
    promised = said.report if mechanism.permanent is None else said.lifetime
    holds(
        abs(max(costs) - promised) <= 1e-9 * promised,
        f"the largest charge for a first report is {max(costs)!r}, not {promised!r}",
    )


def _require_memory(protocol: Memoized, memory: Source) -> None:
    """Require that values of one memo class have one permanent answer.

    Users may be asked in any order. Values of one cell have one memo class. A report is charged for
    its memo class.
    """
    users = np.arange(200)

    def recalled(value: int, users: Any) -> tuple[Any, Any]:
        out = np.empty(len(users), protocol.report_dtype)
        return protocol._remember(np.full(len(users), value), users, memory, out), out

    some = sorted({*range(min(protocol.k, 12)), protocol.k - 1})
    found = [recalled(value, users) for value in some]
    classes, answers = np.array([each for each, _ in found]), np.array([out for _, out in found])
    holds(
        (classes >= 0).all() and max(len(set(each)) for each in classes.T) <= protocol.classes,
        "there are more memo classes than protocol.classes",
    )
    same = classes[:, None] == classes[None, :]
    equal = (answers[:, None] == answers[None, :]).reshape(*same.shape, -1).all(axis=-1)
    holds(equal | ~same, "a memo class has two permanent answers")
    alike = (protocol.cell_of(np.array(some))[:, None] == protocol.cell_of(np.array(some)))[
        ..., None
    ]
    holds(same | ~alike, "values of one cell have different memo classes")
    holds(
        recalled(0, users[::-7])[1].tobytes() == answers[0][::-7].tobytes(),
        "the order of users changes their permanent answers",
    )
    for value in some[:3]:
        charged = protocol._charges(protocol._recall(np.array([value]), users[:1], memory))
        holds(
            charged == [(0, int(classes[some.index(value), 0]))],
            f"a report about {value} is charged as {charged}",
        )


def documented(mechanism: Mechanism) -> None:
    """Check that the class has a docstring with an example."""
    holds(">>>" in (type(mechanism).__doc__ or ""), "the docstring of the class has no example")
