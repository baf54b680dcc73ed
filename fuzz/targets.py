"""Fuzzing targets: functions that give hostile bytes to the package.

There is one function per target. It returns where the package keeps its promises, and raises where
it does not.

Input may be refused by the documented errors only. An object that was read is written again, and
the bytes must be the same. The object must also be usable at little cost.
"""

import atexit
import json
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from multi_freq_ldpy import (
    BLH,
    DDRM,
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
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    Client,
    DBitFlipPM,
    Once,
    Steps,
    Survey,
    Tally,
    Tree,
    registry,
    wire,
)
from multi_freq_ldpy.core.sealed import digest_line
from multi_freq_ldpy.core.tally import DIGEST, MAGIC, VERSION, digest_of
from multi_freq_ldpy.longitudinal.ledger import State
from multi_freq_ldpy.sending.outbox import Contents
from multi_freq_ldpy.service import batch
from multi_freq_ldpy.service.ids import report_id

LARGEST = 2**32 - 5
# Header of a tally: magic, version, length of the spec, users, entries of n
HEADER = struct.Struct("<4sBIQQ")

SMALL: tuple[Any, ...] = (
    *(cls(3, 1.0) for cls in (GRR, BLH, OLH, SS, SUE, OUE, THE)),
    *(cls(3, 2.0, 1.0) for cls in (LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH)),
    GRR(300, 1.0),
    SS(9, 1.0),
    OUE(9, 1.0),
    DBitFlipPM(4, 2.0),
    DBitFlipPM(9, 2.0, b=5, d_bits=2),
    SPL([GRR, OUE, OLH], [3, 5, 2], 2.0),
    SPL(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=[2, 1]),
    SMP([GRR, SS, OLH], [3, 9, 2], 2.0),
    SMP([LGRR, LOSUE], [3, 5], 2.0, 1.0),
    SMP(DBitFlipPM, [3, 4], 2.0, b=[3, 2], d_bits=2),
    RSFD([OUE, GRR], [3, 5], 1.0),
    RSFD(SS, [3, 4], 1.0, balance=True),
)
"""Protocols and solutions whose reports can be listed: exactly these reports must be accepted."""

WIDE: tuple[Any, ...] = (
    SHE(3, 1.0),
    *(cls(LARGEST, 30.0) for cls in (GRR, BLH, OLH, SS, SUE, OUE, THE)),
    SHE(2**28, 1.0),
    LOLH(LARGEST, 12.0, 10.0),
    DBitFlipPM(LARGEST, 2.0),
    DBitFlipPM(LARGEST, 2.0, b=40, d_bits=3),
    SPL.of([OUE(LARGEST, 30.0), GRR(LARGEST, 30.0)]),
    SMP.of([GRR(LARGEST, 30.0), BLH(LARGEST, 1.0), OUE(9, 1.0), SHE(2, 1.0)]),
    SMP(GRR, [2] * 300, 1.0),
)
SMALL_HISTORIES: tuple[Any, ...] = (
    Once(2, 1.0, 3, "GRR"),
    Steps(3, 1.0, 3, 1, values=0.5),
    Steps(3, 1.0, 4, 1, "GRR", "row", 0.5),
    Tree(2.0, 4, 1),
    DDRM(1.0, 4, 2),
)
ROUNDS: tuple[Any, ...] = tuple(
    history.at(r) for history in SMALL_HISTORIES for r in range(history.rounds)
)
WIDE_ROUNDS: tuple[Any, ...] = (
    Steps(300, 2.0, 64, 3, values=0.5).at(31),
    SMP(Steps, [3, 20], epsilon=1.0, rounds=8, changes=1).at(3),
    SPL(Steps, [3, 20], epsilon=1.0, rounds=8, changes=1).at(3),
)
MECHANISMS = SMALL + WIDE + ROUNDS + WIDE_ROUNDS

ONCE = Survey({"smokes": ["yes", "no"], "age": [1, 2, 3]}, epsilon=2.0)
DEVICE = LGRR(5, eps_perm=2.0, eps_1=1.0)
HISTORY = Steps(3, 2.0, 8, 2, values=0.5)


@cache
def listed(number: int) -> frozenset[bytes]:
    """Return every report of a small protocol or solution, in wire format."""
    mechanism = SMALL[number]
    return frozenset(mechanism.law([0] * mechanism.d if hasattr(mechanism, "d") else 0))


@cache
def listed_round(number: int) -> frozenset[bytes]:
    """Return every report of one round of a small history, in wire format."""
    own = ROUNDS[number]
    inputs = product(range(own.history.k), repeat=own.history.rounds)
    sent = (report for each in inputs for report in own.history.law(each))
    return frozenset(report[own.round] for report in sent if report[own.round] is not None)


def cheap(mechanism: Any) -> None:
    """Use a protocol or solution that was read, without making a report."""
    assert repr(mechanism) and mechanism.report_bytes > 0
    assert 0 < mechanism.privacy.report < math.inf
    assert len(wire.decode(mechanism, b"")) == 0
    spec = json.loads(json.dumps(registry.to_spec(mechanism), allow_nan=False))
    assert registry.from_spec(spec) == mechanism


def wire_decode(data: bytes) -> None:
    """Decode as reports of the protocol that the first byte chooses."""
    number, data = (data[0] if data else 0) % len(MECHANISMS), data[1:]
    mechanism = MECHANISMS[number]
    try:
        reports = wire.decode(mechanism, data)
    except ValueError:
        accepted = False
    else:
        accepted = True
        assert wire.encode(mechanism, reports) == data
        if mechanism.parts[-1][1].stop < 10_000:
            assert mechanism.tally(reports).users == len(reports)
    size, small = mechanism.report_bytes, number - len(SMALL + WIDE)
    if number < len(SMALL) or 0 <= small < len(ROUNDS):
        support = listed(number) if small < 0 else listed_round(small)
        parts = [data[i : i + size] for i in range(0, len(data), size)]
        assert accepted == (len(data) % size == 0 and all(each in support for each in parts))


def tallies(data: bytes) -> Iterator[bytes]:
    """Yield the data unchanged, then with the right digest, then with the right length of the spec.

    The spec of the third one ends at its last brace. Its digest is right as well.
    """
    yield data
    body = (MAGIC + bytes([VERSION]) + data[5:-DIGEST]).ljust(HEADER.size, b"\0")
    yield body + digest_of(body)
    _, _, _, users, entries = HEADER.unpack_from(body)
    rest = body[HEADER.size :]
    body = HEADER.pack(MAGIC, VERSION, rest.rfind(b"}") + 1, users, entries) + rest
    yield body + digest_of(body)


def counted(tally: Tally) -> None:
    """Use a tally that was read."""
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert len(repr(tally)) and tally.counts.size == tally.mechanism.parts[-1][1].stop
    if not any(hasattr(leaf, "history") for leaf in tally.mechanism.leaves):
        tally.mechanism.estimate(tally)  # a round is estimated together with others


def tally_from_bytes(data: bytes) -> None:
    """Read a tally."""
    for each in tallies(data):
        try:
            tally = Tally.from_bytes(each)
        except ValueError:
            continue
        counted(tally)


def specs(given: Any) -> Iterator[Any]:
    """Yield a spec unchanged, with a version, and as a part of each solution."""
    yield given
    if isinstance(given, dict):
        inner = {name: each for name, each in given.items() if name != "version"}
        yield {**given, "version": 1}
        yield {"version": 1, "protocol": "SPL", "protocols": [inner] * 3}
        yield {
            "version": 1,
            "protocol": "SMP",
            "protocols": [inner, {"protocol": "GRR", "k": 3, "epsilon": 1.0}],
        }
        yield {"version": 1, "protocol": "SMP", "protocols": [inner] * 10**6}
        for fake in ("zero", "random"):
            hidden = [inner, {"protocol": "OUE", "k": 3, "epsilon": 1.0}]
            yield {
                "version": 1,
                "protocol": "RSFD",
                "protocols": hidden,
                "fake": fake,
                "balance": fake == "zero",
            }


def check_spec(spec: Any) -> None:
    """Build the mechanism of a spec, or expect a short error."""
    try:
        mechanism = registry.from_spec(spec)
    except (ValueError, TypeError) as error:
        assert len(str(error)) < 2000  # noqa: PT017
        return
    told = [entry for part in (spec, *spec.get("protocols", ())) for entry in part.items()]
    assert not any(isinstance(each, bool) for name, each in told if name != "balance"), (
        "a bool was accepted as a number"
    )
    cheap(mechanism)


def from_spec(data: bytes) -> None:
    """Read JSON as a spec. Data that the json module refuses are skipped."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    for spec in specs(given):
        check_spec(spec)


@cache
def folder() -> Path:
    """Return a directory for the files that targets write; it is removed when this process ends."""
    made = Path(tempfile.mkdtemp(prefix="hostile-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def survey_load(data: bytes) -> None:
    """Read a file as a survey."""
    path = folder() / "survey.json"
    path.write_bytes(data)
    try:
        survey = Survey.load(path)
    except ValueError:
        return
    assert repr(survey) and len(survey.digest) == 2 * DIGEST
    cheap(survey.solution)
    survey.save(path, force=True)
    assert Survey.load(path) == survey


def survey_unpack(data: bytes) -> None:
    """Read a tally of a survey, with the given and with the right first bytes."""
    own = ONCE.pack(ONCE.solution.tally([]))[: 4 + DIGEST]
    for each in (data, *(own + tally for tally in tallies(data[len(own) :]))):
        try:
            tally = ONCE.unpack(each)
        except ValueError:
            continue
        assert tally.mechanism == ONCE.solution and ONCE.unpack(ONCE.pack(tally)) == tally
        ONCE.estimate(tally)


def client_file(data: bytes) -> None:
    """Read a client file, with the given and with the right digest.

    A client is opened from every valid file, and makes a report.
    """
    line = data.partition(b"\n")[0] + b"\n"
    for each in (data, line + digest_line(line)):
        try:
            state = State.from_bytes(each)
        except ValueError:
            continue
        assert repr(state) and state.to_bytes() == each
        path = folder() / "client"
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        path.write_bytes(each)
        try:
            device = DEVICE if state.history is None else HISTORY
            client = Client.open(path, device)
        except ValueError:
            assert path.read_bytes() == each, "a file that is refused was changed"
            continue
        before = client.spent
        assert client.secret == state.secret and 0 <= before < math.inf
        if device is DEVICE:
            assert client.report(1) in range(DEVICE.k)
        else:
            report_rounds(client)
        assert client.spent >= before


def outbox(data: bytes) -> None:
    """Read an outbox, with the given and with the right digest, and use what it has."""
    line = data.partition(b"\n")[0] + b"\n"
    for each in (data, line + digest_line(line)):
        try:
            contents = Contents.from_bytes(each)
        except ValueError as error:
            assert len(str(error)) < 1000  # noqa: PT017
            continue
        assert repr(contents) and contents.to_bytes() == each
        for entry in contents.reports.values():
            assert (entry.report is not None) == (entry.state == "waiting")
            report_id(bytes(32), *entry.key)
            if entry.report:
                records = [(entry.id, entry.report)]
                body = batch.write_batch(entry.digest, entry.round, records)
                assert batch.count_records(body, len(entry.report)) == 1
        for pinned in contents.surveys.values():
            try:
                survey = pinned.build()
            except ValueError:
                continue
            assert survey.digest == pinned.digest
            cheap(survey.solution)


def report_rounds(client: Client) -> None:
    """Ask a device for the last round of its file and for all later rounds."""
    for r in range(max(0, client._members.last), HISTORY.rounds):
        report = client.report(1, round=r)
        if report is not None:
            wire.decode(HISTORY.at(r), report.tobytes())


def submission(data: bytes) -> None:
    """Read a body of reports of the length that the first byte says, as it is and with a header."""
    size, data = 1 + (data[0] if data else 0), data[1:]
    header = batch.HEADER.pack(batch.MAGIC, batch.VERSION, bytes(16), 7)
    for body in (data, header + data):
        try:
            found = batch.read_header(body)
            many = batch.count_records(body, size)
        except ValueError as error:
            assert len(str(error)) < 300  # noqa: PT017
            continue
        cut = [body[i : i + 16 + size] for i in range(batch.HEADER.size, len(body), 16 + size)]
        records = [(each[:16], each[16:]) for each in cut]
        assert len(records) == many > 0
        assert batch.write_batch(found.digest, found.round, records) == body


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        wire_decode,
        tally_from_bytes,
        from_spec,
        survey_load,
        survey_unpack,
        client_file,
        outbox,
        submission,
    )
}
