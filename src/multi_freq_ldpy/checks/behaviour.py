"""Laws of behaviour: what a protocol or solution does with its parameters, its input, its reports and its tallies."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .. import _check, parallel, registry, wire
from ..longitudinal.memoized import Memoized
from ..longitudinal.panel import Panel
from ..mechanism import Mechanism
from ..protocol import Protocol
from ..protocols.grr import GRR
from ..randomness import Source, Stream
from ..solutions.smp import SMP
from ..tally import Tally
from .tools import NotApplicable, Z, holds, laws_of, listed, protocols, refuses, remade, sizes, spread

NO_INTEGER = (-1, 2**70, 0.5, np.nan, "0", None, True, 1j)


def integers(subject: Mechanism) -> None:
    """Reports hold integers only."""

    def plain(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
        for name in dtype.names or ():
            yield from plain(dtype[name])
        if not dtype.names:
            yield dtype.base

    holds([part.kind in "iu" for part in plain(subject.report_dtype)], f"reports are {subject.report_dtype}")


def randomness(subject: Any) -> None:
    """Reports follow the rng, differ without one, and leave NumPy's global state alone."""
    values = spread(subject, 1000)
    before = repr(np.random.get_state())  # noqa: NPY002
    drawn = [subject.randomize(values, rng).tobytes() for rng in (Stream(1), Stream(1), 1, Stream(2), None, None)]
    holds(before == repr(np.random.get_state()), "NumPy's global state has changed")  # noqa: NPY002
    holds(drawn[0] == drawn[1] == drawn[2], "the same rng, Stream(1) or 1, gives different reports")
    holds(len(set(drawn)) == 4, "different rngs, Stream(1), Stream(2) or none, give the same reports")


def batches(subject: Any) -> None:
    """A single input is a batch of one, an empty batch is a batch; any split and any number of threads give the same bits."""
    values = spread(subject, 3 * parallel.GRAIN + 5)
    with parallel.using(1):
        whole = subject.randomize(values, Stream(3))
    who = f"the reports of {len(values)} users of Stream(3)"
    for n in (2, 3):
        with parallel.using(n):
            holds(subject.randomize(values, Stream(3)).tobytes() == whole.tobytes(), f"{n} threads change {who}")
    stream = Stream(3)
    parts = [subject.randomize(part, stream) for part in np.split(values, [0, 1, 2, 65, 1000, 8191])]
    holds(np.concatenate(parts).tobytes() == whole.tobytes(), f"a split into batches changes {who}")
    one = subject.randomize(values[0], Stream(3))
    holds(np.asarray(one).tobytes() == whole[0].tobytes(), f"a single input of Stream(3) gives {one}, in a batch {whole[0]}")
    nobody = subject.randomize([])
    holds(len(nobody) == 0 and subject.tally(nobody).users == subject.tally([]).users == 0, "an empty batch fails")


def bad_values(subject: Any) -> None:
    """Values outside the domain or of a wrong type are refused before anything is drawn."""
    stream = Stream(4)

    def refused(wrong: Any, name: str) -> None:
        refuses(lambda: subject.randomize(wrong, stream), name, wrong)

    if isinstance(subject, Protocol):
        for wrong in (*NO_INTEGER, subject.k, [0, subject.k], [-1, 0], [0.0], ["a"], [[0]]):
            refused(wrong, "values")
    else:
        d = len(subject.parts)
        for j, k in enumerate(sizes(subject)):
            for wrong in (*NO_INTEGER, k):
                row: list[Any] = [0] * d
                row[j] = wrong
                if wrong is not True:  # NumPy takes it for 1 among integers
                    refused([[0] * d, [0] * d, row], f"table[2, {j}] = {wrong!r}")
        shapes: list[Any] = [[0] * (d + 1), [[0] * (d + 1)], [[0] * d, [0] * (d - 1)], [[[0] * d]], [[0.0] * d], ["a"] * d]
        for wrong in (*NO_INTEGER, *shapes):
            refused(wrong, "table")
    holds(stream.position == 0, "a refused call has moved the stream")


def bad_parameters(subject: Any) -> None:
    """Every declared field refuses the values its validator names as wrong, k also 1; a solution also what is no factory."""
    cls = type(subject)
    if isinstance(subject, Protocol):
        for each in fields(subject):
            for wrong in each.metadata["check"].wrong():
                if wrong is None and each.default is None:
                    continue
                refuses(lambda e=each, w=wrong: remade(subject, **{e.name: w}), each.name, wrong)  # type: ignore[misc]
        refuses(lambda: remade(subject, k=1), "k", 1)
        return
    for ks in ([], 3, None, "23", [[2, 3]], {2, 3}, 2.0, *([2, wrong] for wrong in _check.domain_size.wrong())):
        refuses(lambda ks=ks: cls(GRR, ks, 1.0), "ks", ks)  # type: ignore[misc]
    for wrong in _check.budget.wrong():
        refuses(lambda wrong=wrong: cls(GRR, [2, 3], wrong), "epsilon", wrong)  # type: ignore[misc]
        refuses(lambda wrong=wrong: cls(GRR, [2, 3], epsilon=wrong), "epsilon", wrong)  # type: ignore[misc]
    for factory in (None, "GRR", [GRR], [GRR] * 3, [GRR, None], lambda k, epsilon: k, lambda k, epsilon: GRR(k + 1, epsilon)):
        refuses(lambda factory=factory: cls(factory, [2, 3], 1.0), "factory", factory)  # type: ignore[misc]
    refuses(lambda: cls(GRR, [2, 3]), "budget", "no budget")
    for each in fields(subject)[1:]:
        refuses(lambda e=each: remade(subject, **{e.name: "neither"}), each.name, "neither")  # type: ignore[misc]


def equality(subject: Any) -> None:
    """Equal fields make equal objects, also through pickle, with equal reports."""
    same, copy = remade(subject), pickle.loads(pickle.dumps(subject))
    holds(same == subject == copy and hash(same) == hash(subject) == hash(copy), "copies differ")
    values = spread(subject, 100)
    holds(copy.randomize(values, 5).tobytes() == subject.randomize(values, 5).tobytes(), "a pickled copy reports differently")


def spec(subject: Any) -> None:
    """A spec survives JSON and gives an equal object."""
    if not listed(subject):
        raise NotApplicable("it is not in the registry")
    there = json.loads(json.dumps(registry.to_spec(subject)))
    holds(registry.from_spec(there) == subject, "the spec gives another object")
    refuses(lambda: registry.from_spec({**there, "extra": 1}), "extra", "extra field")


def encoding(subject: Any) -> None:
    """Reports survive the wire; decoding accepts exactly the support of the law."""
    size = subject.report_bytes
    reports = subject.randomize(spread(subject, 500), 6)
    data = wire.encode(subject, reports)
    holds(len(data) == 500 * size, "a report has another length than declared")
    holds(wire.decode(subject, data).tobytes() == reports.tobytes(), "reports change on the wire")
    if size > 1:
        refuses(lambda: wire.decode(subject, data[:-1]), "data", "truncated data")
    try:
        support = set().union(*laws_of(subject))
    except NotApplicable:
        return
    if size <= 2:
        every = [number.to_bytes(size, "little") for number in range(256**size)]
    else:  # too many byte strings to try them all: honest reports, and such with one byte changed
        honest = sorted(support)[:: -(-len(support) // 100)]
        other = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 255)
        every = [report[:i] + bytes([b]) + report[i + 1 :] for report in honest for i in range(size) for b in other]
    refused = subject._refused(np.frombuffer(b"".join(every), subject.report_dtype, count=len(every)))
    for report, no in zip(every, refused.tolist(), strict=True):
        holds(no != (report in support), f"{report!r} is {'refused' if no else 'accepted'}")
    if refused.any():
        wrong = every[int(refused.argmax())]
        refuses(lambda: wire.decode(subject, wrong), "reports", wrong)


def counting(subject: Any) -> None:
    """Counting gives the contributions added up."""
    entries = subject.parts[-1][1].stop
    for n in (0, 1, 7, 127, 128, 129, 1000, 5 * 10**6 // (entries + 100)):
        reports = subject.randomize(spread(subject, n), 7)
        step = max(1, 10**7 // entries)
        parts = [subject.contributions(reports[i : i + step]).sum(axis=0, dtype=np.int64) for i in range(0, n, step)]
        added = np.sum(parts, axis=0) if n else np.zeros(entries, np.int64)
        for tallied in (False, True):  # a tally refuses what cannot be, so counts are looked at first
            counted = subject.tally(reports).counts if tallied else subject._count(subject._as_reports(reports))
            v = int(np.argmax(counted != added))
            holds(np.array_equal(counted, added), f"seed 7: of {n} reports, {counted[v]} are counted for entry {v}, not {added[v]}")


def tallies(subject: Any) -> None:
    """Tallies add in any grouping and order, to the bit, and survive bytes; what another object counted is refused."""
    reports = subject.randomize(spread(subject, 1000), 8)
    whole = subject.tally(reports)
    a, b, c = (subject.tally(part) for part in np.split(reports, [10, 500]))
    for t in (a + b + c, c + (b + a), sum([b, c, a])):
        holds(whole == t, f"seed 8: parts of {whole} add up to {t}")
    holds(subject.tally(iter(np.split(reports, [0, 3, 700]))) == whole, "a tally of batches differs")
    holds(subject.tally(list(reports)) == whole, "a tally of a list of reports differs")
    holds(np.array_equal(np.concatenate([part.counts for part in whole]), whole.counts), "attributes are not all of a tally")
    if listed(subject):
        holds(Tally.from_bytes(whole.to_bytes()) == whole, "a tally changes in bytes")
    if isinstance(subject, Protocol):
        other = remade(subject, k=subject.k + 1)
    else:
        first, *rest = subject.protocols
        other = remade(subject, protocols=(replace(first, k=first.k + 1), *rest))
    refuses(lambda: whole + other.tally(other.randomize(spread(other, 5), 1)), "protocols", "another protocol's tally")
    refuses(lambda: other.estimate(whole), "tally", "another protocol's tally")


def memory(subject: Any) -> None:
    """Over time, what lasts is the same in every round, by memo class, for any split of users into calls and any number of threads."""
    n = 2 * parallel.GRAIN + 5
    values = spread(subject, n)
    whole = [panel.report(values) for panel in [Panel(subject, n, 9)] for _ in range(2)]
    holds(
        whole[0].dtype == np.empty(0, subject.report_dtype).dtype and subject.tally(whole[0]).users == n, "a panel reports something else"
    )
    with parallel.using(2):
        panel = Panel(subject, n, Stream(9))
        split = [panel.report(values[part], part) for part in np.split(np.arange(n), [1, 700, n - 3])]
        holds(np.concatenate(split).tobytes() == whole[0].tobytes(), "a split of a round into calls changes the reports")
        holds(panel.report(values).tobytes() == whole[1].tobytes(), "threads change the reports")
    if isinstance(subject, SMP):
        sampled, expected = whole[0]["attribute"], n / subject.d
        holds(sampled == whole[1]["attribute"], "a user's attribute changes")
        often = [*np.bincount(sampled, minlength=subject.d), *((sampled == np.roll(sampled, lag)).sum() for lag in range(1, 17))]
        holds(np.abs(np.array(often) - expected) < 2 * Z * expected**0.5, "users sample their attributes together")
    for j, protocol in enumerate(protocols(subject)):
        if isinstance(protocol, Memoized):
            _remembers(protocol, Source.keyed(bytes([j]) * 32))


def _remembers(protocol: Memoized, memory: Source) -> None:
    """Values of one memo class have one permanent answer, and another user another; users may be asked in any order."""
    users = np.arange(200)

    def recalled(value: int, users: Any) -> tuple[Any, Any]:
        out = np.empty(len(users), protocol.report_dtype)
        return protocol._remember(np.full(len(users), value), users, memory, out), out

    some = sorted({*range(min(protocol.k, 12)), protocol.k - 1})
    found = [recalled(value, users) for value in some]
    classes, answers = np.array([each for each, _ in found]), np.array([out for _, out in found])
    holds((classes >= 0).all() and max(len(set(each)) for each in classes.T) <= protocol.classes, "more classes than there are")
    same = classes[:, None] == classes[None, :]
    equal = (answers[:, None] == answers[None, :]).reshape(*same.shape, -1).all(axis=-1)
    holds(equal | ~same, "a memo class has two permanent answers")
    alike = (protocol.cell_of(np.array(some))[:, None] == protocol.cell_of(np.array(some)))[..., None]
    holds(same | ~alike, "values that are counted as one differ in their memo class")
    holds(recalled(0, users[::-7])[1].tobytes() == answers[0][::-7].tobytes(), "the order of users changes what they remember")
    for value in some[:3]:
        charged = protocol._charged(np.array([value]), memory)
        holds(charged == [(0, int(classes[some.index(value), 0]))], f"a report about {value} is charged as {charged}")


def documented(subject: Mechanism) -> None:
    """The class says what it is, with an example."""
    holds(">>>" in (type(subject).__doc__ or ""), "no example in the docstring")
