"""Laws of behaviour: what a protocol does with its parameters, its input, its reports and its tallies."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from .. import parallel, registry, wire
from ..protocol import Protocol
from ..randomness import Stream
from ..tally import Tally
from .tools import NotApplicable, holds, laws_of, refuses, spread


def integers(protocol: Protocol) -> None:
    """Reports hold integers only."""

    def plain(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
        for name in dtype.names or ():
            yield from plain(dtype[name])
        if not dtype.names:
            yield dtype.base

    holds([part.kind in "iu" for part in plain(protocol.report_dtype)], f"reports are {protocol.report_dtype}")


def randomness(protocol: Protocol) -> None:
    """Reports follow the rng, differ without one, and leave NumPy's global state alone."""
    values = spread(protocol, 1000)
    before = repr(np.random.get_state())  # noqa: NPY002
    drawn = [protocol.randomize(values, rng).tobytes() for rng in (Stream(1), Stream(1), 1, Stream(2), None, None)]
    holds(before == repr(np.random.get_state()), "NumPy's global state has changed")  # noqa: NPY002
    holds(drawn[0] == drawn[1] == drawn[2], "the same rng gives different reports")
    holds(len(set(drawn)) == 4, "different rngs, or none, give the same reports")


def batches(protocol: Protocol) -> None:
    """A scalar is a batch of one, an empty batch is a batch; any split and any number of threads give the same bits."""
    values = spread(protocol, 3 * parallel.GRAIN + 5)
    with parallel.using(1):
        whole = protocol.randomize(values, Stream(3))
    for n in (2, 3):
        with parallel.using(n):
            holds(protocol.randomize(values, Stream(3)).tobytes() == whole.tobytes(), f"{n} threads change the reports")
    stream = Stream(3)
    parts = [protocol.randomize(part, stream) for part in np.split(values, [0, 1, 2, 65, 1000, 8191])]
    holds(np.concatenate(parts).tobytes() == whole.tobytes(), "a split into batches changes the reports")
    one = protocol.randomize(int(values[0]), Stream(3))
    holds(np.asarray(one).tobytes() == whole[0].tobytes(), "a scalar is not a batch of one")
    holds(len(protocol.randomize([])) == 0 and protocol.tally(protocol.randomize([])).n == 0, "an empty batch fails")


def bad_values(protocol: Protocol) -> None:
    """Values outside the domain or of a wrong type are refused before anything is drawn."""
    stream = Stream(4)
    for wrong in (-1, protocol.k, 2**70, [0, protocol.k], [-1, 0], 0.5, [0.0], np.nan, "0", ["a"], None, True, [[0]], 1j):
        refuses(lambda wrong=wrong: protocol.randomize(wrong, stream), "values", wrong)  # type: ignore[misc]
    holds(stream.position == 0, "a refused call has moved the stream")


def bad_parameters(protocol: Protocol) -> None:
    """Every declared field refuses the values its validator names as wrong."""
    given = {each.name: getattr(protocol, each.name) for each in fields(protocol)}
    for each in fields(protocol):
        for wrong in each.metadata["check"].wrong():
            refuses(lambda e=each, w=wrong: type(protocol)(**{**given, e.name: w}), each.name, wrong)  # type: ignore[misc]


def equality(protocol: Protocol) -> None:
    """Equal fields make equal objects, also through pickle, with equal reports."""
    same = type(protocol)(*(getattr(protocol, each.name) for each in fields(protocol)))
    copy = pickle.loads(pickle.dumps(protocol))
    holds(same == protocol == copy and hash(same) == hash(protocol) == hash(copy), "copies differ")
    values = spread(protocol, 100)
    holds(copy.randomize(values, 5).tobytes() == protocol.randomize(values, 5).tobytes(), "a pickled copy reports differently")


def spec(protocol: Protocol) -> None:
    """A spec survives JSON and gives an equal protocol."""
    if type(protocol) not in registry.PROTOCOLS.values():
        raise NotApplicable("it is not in the registry")
    there = json.loads(json.dumps(registry.to_spec(protocol)))
    holds(registry.from_spec(there) == protocol, "the spec gives another protocol")
    refuses(lambda: registry.from_spec({**there, "extra": 1}), "extra", "extra field")


def encoding(protocol: Protocol) -> None:
    """Reports survive the wire; decoding accepts exactly the support of the law."""
    reports = protocol.randomize(spread(protocol, 500), 6)
    data = wire.encode(protocol, reports)
    holds(len(data) == 500 * protocol.report_bytes, "a report has another length than declared")
    holds(wire.decode(protocol, data).tobytes() == reports.tobytes(), "reports change on the wire")
    if protocol.report_bytes > 1:
        refuses(lambda: wire.decode(protocol, data[:-1]), "data", "truncated data")
    if protocol.report_bytes > 2:
        return  # too many byte strings to try them all
    try:
        support = set().union(*laws_of(protocol))
    except NotApplicable:
        return
    every = [number.to_bytes(protocol.report_bytes, "little") for number in range(256**protocol.report_bytes)]
    refused = protocol._refused(np.frombuffer(b"".join(every), protocol.report_dtype, count=len(every)))
    for report, no in zip(every, refused.tolist(), strict=True):
        holds(no != (report in support), f"{report!r} is {'refused' if no else 'accepted'}")
    if refused.any():
        wrong = every[int(refused.argmax())]
        refuses(lambda: wire.decode(protocol, wrong), "reports", wrong)


def counting(protocol: Protocol) -> None:
    """Counting gives the contributions added up."""
    for n in (0, 1, 7, 127, 128, 129, 1000, 5 * 10**6 // (protocol.k + 100)):
        reports = protocol.randomize(spread(protocol, n), 7)
        step = max(1, 10**7 // protocol.k)
        parts = [protocol.contributions(reports[i : i + step]).sum(axis=0, dtype=np.int64) for i in range(0, n, step)]
        holds(np.array_equal(protocol.tally(reports).counts, np.sum(parts, axis=0) if n else np.zeros(protocol.k)), f"n={n}")


def tallies(protocol: Protocol) -> None:
    """Tallies add in any grouping and order, to the bit, and survive bytes; what another protocol counted is refused."""
    reports = protocol.randomize(spread(protocol, 1000), 8)
    whole = protocol.tally(reports)
    a, b, c = (protocol.tally(part) for part in np.split(reports, [10, 500]))
    holds([whole == t for t in (a + b + c, c + (b + a), sum([b, c, a]))], "grouping changes a tally")
    holds(protocol.tally(iter(np.split(reports, [0, 3, 700]))) == whole, "a tally of batches differs")
    holds(protocol.tally(list(reports)) == whole, "a tally of a list of reports differs")
    if type(protocol) in registry.PROTOCOLS.values():
        holds(Tally.from_bytes(whole.to_bytes()) == whole, "a tally changes in bytes")
    fewer = {each.name: getattr(protocol, each.name) for each in fields(protocol)}
    other = type(protocol)(**{**fewer, "k": protocol.k + 1})
    refuses(lambda: whole + other.simulate(np.ones(other.k, np.int64), 1), "protocols", "another protocol's tally")
    refuses(lambda: other.estimate(whole), "tally", "another protocol's tally")


def documented(protocol: Protocol) -> None:
    """The class says what it is, with an example."""
    holds(">>>" in (type(protocol).__doc__ or ""), "no example in the docstring")
