"""Tests of one device over time: permanent states, budgets, and the file of a client."""

import json
import os
import pickle
import random
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    GRR,
    LBLH,
    LGRR,
    LOLH,
    LOSUE,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    Client,
    DBitFlipPM,
    LimitReached,
    wire,
)
from multi_freq_ldpy.core.sealed import digest_line
from multi_freq_ldpy.longitudinal import ledger

SECRET = bytes(range(32))
# With these budgets a report is the permanent answer, and the permanent answer is the value
SURE = LGRR(1000, 40.0, 39.0)


def permanent(client: Client, values: Any) -> list[bytes]:
    """Return the permanent answer of a client for each value."""
    protocol: Any = client.mechanism
    out = np.empty(len(values), protocol.report_dtype)
    protocol._remember(np.array(values), np.zeros(len(values), np.int64), client._memory, out)
    return [each.tobytes() for each in out]


# Permanent states

PROTOCOLS: list[Any] = [
    LGRR(50, 1.0, 0.5),
    LOSUE(50, 1.0, 0.5),
    LOLH(50, 1.0, 0.5),
    DBitFlipPM(50, 1.0, b=25, d_bits=7),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_the_same_secret_remembers_the_same(protocol: Any) -> None:
    values = range(50)
    answers = permanent(Client(protocol, SECRET), values)
    assert answers == permanent(Client(protocol, SECRET), values)
    others = [
        Client(protocol),
        Client(protocol, SECRET[::-1]),
        Client(protocol, SECRET, b"another survey"),
        Client(
            type(protocol)(
                51,
                *(
                    list(vars(protocol).values())[1:3]
                    if not isinstance(protocol, DBitFlipPM)
                    else (1.0, 25, 7)
                ),
            ),
            SECRET,
        ),
    ]
    for other in others:
        assert sum(a == b for a, b in zip(answers, permanent(other, values), strict=True)) < 25
    assert Client(protocol, SECRET).secret == SECRET
    assert len(Client(protocol).secret) == 32


def test_contexts_do_not_run_into_specs() -> None:
    """Check that no context gives one protocol the permanent state of another.

    The hashed text contains the length of the spec.
    """
    labels = [LGRR(5, 2.0, 1.0)._label, LGRR(50, 2.0, 1.0)._label]
    keys = {
        Client(LGRR(k, 2.0, 1.0), SECRET, c)._memory.key.tobytes()
        for k in (5, 50)
        for c in (b"", b"0", *labels)
    }
    assert len(keys) == 8


def test_the_second_round_is_always_new() -> None:
    protocol = OUE(1000, 1.0)
    for made in (protocol, LOSUE(1000, 2.0, 1.0), SPL(LOSUE, [500, 500], 4.0, 2.0)):
        value = [1, 2] if isinstance(made, SPL) else 1
        reports = [
            wire.encode(made, client.report(value))
            for client in (Client(made, SECRET), Client(made, SECRET))
            for _ in range(3)
        ]
        assert len(set(reports)) == 6


def test_reports_are_reports() -> None:
    solutions: list[Any] = [
        SPL(LGRR, [3, 4], 2.0, 1.0),
        SMP([LOLH, LGRR], [30, 4], 2.0, 1.0),
        RSFD(OUE, [3, 4], 1.0),
        SMP(GRR, [3, 4], 1.0),
    ]
    for protocol in (
        *PROTOCOLS,
        GRR(50, 1.0),
        SS(50, 1.0),
        SHE(50, 1.0),
        LBLH(50, 1.0, 0.5),
        *solutions,
    ):
        value = [2, 3] if protocol in solutions else 49
        client = Client(protocol)
        reports = [client.report(value) for _ in range(20)]
        tally = protocol.tally(
            np.array(reports, protocol.report_dtype) if np.ndim(reports[0]) == 0 else reports
        )
        assert tally.users == 20
        assert (
            protocol.tally(
                wire.decode(protocol, b"".join(wire.encode(protocol, each) for each in reports))
            )
            == tally
        )
        if isinstance(protocol, SMP):
            assert len({int(each["attribute"]) for each in reports}) == 1


@pytest.mark.statistical
def test_clients_fit_the_law() -> None:
    """Check the estimate from the first reports of 4000 devices, each with its own secret.

    The tolerance is six standard deviations.
    """
    for protocol in (LGRR(3, 2.0, 1.0), LOLH(3, 2.0, 1.0)):
        reports = np.array([Client(protocol).report(1) for _ in range(4000)])
        estimate = protocol.estimate(reports)
        assert np.abs(estimate.frequencies - [0, 1, 0]).max() < 6 * estimate.std.max()


# Budgets


def test_the_ledger() -> None:
    client = Client(LGRR(5, 2.0, 1.0))
    assert client.spent == 0
    for value, spent in ((3, 2.0), (3, 2.0), (1, 4.0), (3, 4.0), (1, 4.0), (0, 6.0)):
        client.report(value)
        assert client.spent == pytest.approx(spent)
    once = Client(GRR(5, 0.5))
    for i in range(1, 5):
        once.report(2)
        assert once.spent == pytest.approx(0.5 * i)
    hashed = Client(LBLH(100, 2.0, 1.0), SECRET)
    for value in range(100):
        hashed.report(value)
    assert hashed.spent == pytest.approx(4.0), "two symbols, for any number of values"
    held = Client(DBitFlipPM(100, 2.0, b=50, d_bits=3), SECRET)
    for value in range(100):
        held.report(value)
    assert held.spent == pytest.approx(8.0), "four classes: three positions, and no position"
    assert DBitFlipPM(100, 2.0, b=4).classes == 4


def test_the_ledger_of_solutions() -> None:
    split = Client(SPL(LGRR, [3, 4], 4.0, 2.0))
    for record, spent in (((0, 0), 4.0), ((0, 1), 6.0), ((1, 1), 8.0), ((0, 0), 8.0)):
        split.report(record)
        assert split.spent == pytest.approx(spent)
    for seed in range(20):
        sampled = Client(SMP(LGRR, [3, 4], 4.0, 2.0), bytes([seed]) * 32)
        attribute = int(sampled.report((0, 0))["attribute"])
        sampled.report((0, 1))
        assert sampled.spent == pytest.approx(8.0 if attribute == 1 else 4.0)
    mixed = Client(SPL.of([LGRR(3, 2.0, 1.0), GRR(3, 0.5)]))
    for spent in (2.5, 3.0, 3.5):
        mixed.report((0, 0))
        assert mixed.spent == pytest.approx(spent)
    hidden = Client(RSFD(GRR, [3, 3], 1.0))
    for i in range(1, 4):
        hidden.report((0, 1))
        assert hidden.spent == pytest.approx(i * hidden.mechanism.privacy.report)


UNEQUAL: list[Any] = [LGRR(3, 2.0, 1.0), LOSUE(4, 3.0, 1.0), GRR(2, 0.5), DBitFlipPM(6, 5.0, b=3)]


@pytest.mark.parametrize("attribute", range(4))
def test_sampled_attributes_have_prices_of_their_own(attribute: int) -> None:
    """Check that a client is charged the budget of the attribute that it samples.

    The sampled attribute depends on the secret of the client.
    """
    solution = SMP.of(UNEQUAL)
    clients = (Client(solution, bytes([i]) * 32) for i in range(100))
    client = next(each for each in clients if each.report((0, 0, 0, 0))["attribute"] == attribute)
    price = (2.0, 3.0, 0.5, 5.0)[attribute]
    assert client.spent == pytest.approx(price)
    client.report((2, 3, 1, 5))
    assert client.spent == pytest.approx(2 * price)
    client.report((2, 3, 1, 5))
    assert client.spent == pytest.approx((3 if attribute == 2 else 2) * price), (
        "only GRR is charged again for the same value"
    )


def test_wrong_input() -> None:
    protocol = LGRR(5, 2.0, 1.0)
    client = Client(protocol)
    for value in (5, -1, 1.0, "1", None, [1], [1, 2], np.array([1])):
        with pytest.raises((ValueError, TypeError), match="value"):
            client.report(value)
    assert client.spent == 0
    assert client.report(np.int64(3)) in range(5)
    for secret in (b"short", b"", "a" * 32, 5, bytearray(32)):
        with pytest.raises((ValueError, TypeError), match="secret must be 32 bytes"):
            Client(protocol, secret)
    with pytest.raises(TypeError, match="context must be bytes"):
        Client(protocol, SECRET, "survey")
    with pytest.raises(TypeError, match="mechanism must be"):
        Client("LGRR")
    with pytest.raises(ValueError, match=r"limit=3 needs a file"):
        Client(protocol, limit=3)
    assert SECRET.hex() not in repr(Client(protocol, SECRET))
    with pytest.raises(TypeError, match="one device"):
        pickle.dumps(client)


# The file


def test_a_file_remembers(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LOLH(50, 2.0, 1.0)
    first = Client.open(path, protocol)
    first.report(7)
    again = Client.open(str(path), protocol)
    assert again.secret == first.secret
    assert (
        permanent(again, range(50))
        == permanent(first, range(50))
        == permanent(Client(protocol, first.secret), range(50))
    )
    assert again.spent == first.spent == protocol.privacy.lifetime
    for name in os.listdir(tmp_path):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["client", "client.lock"]
    written = path.stat().st_mtime_ns
    for _ in range(5):
        again.report(7)
    assert path.stat().st_mtime_ns == written, "the file is written only for a new charge"
    with pytest.raises(
        ValueError, match="mechanism of .* is .*LOLH.*, not .*LGRR.*one file per client"
    ):
        Client.open(path, LGRR(50, 2.0, 1.0))
    with pytest.raises(ValueError, match="context of"):
        Client.open(path, protocol, context=b"other")
    with pytest.raises(
        FileNotFoundError, match="path .*nowhere.* is in a directory that does not exist"
    ):
        Client.open(tmp_path / "nowhere" / "client", protocol)
    for wrong in ("", b"client", 5, None, ["client"], "a\0b"):
        with pytest.raises(TypeError, match="path must be"):
            Client.open(wrong, protocol)
    assert sorted(os.listdir(tmp_path)) == ["client", "client.lock"]


def test_limits(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    client = Client.open(path, protocol, limit=4.0)
    client.report(0)
    client.report(1)
    before = path.read_bytes()
    with pytest.raises(LimitReached, match=r"from 4\.0 to 6\.0, above limit=4\.0"):
        client.report(2)
    assert path.read_bytes() == before
    assert client.report(0) in range(5), "a value that was charged may be reported again"
    with pytest.raises(LimitReached):
        Client.open(path, protocol, limit=4).report(3)
    Client.open(path, protocol).report(3)
    assert client.spent == pytest.approx(6.0)
    for wrong in (0, -1, float("nan"), float("inf"), "4", True):
        with pytest.raises((ValueError, TypeError), match="limit"):
            Client.open(tmp_path / "other", protocol, limit=wrong)
    assert not (tmp_path / "other").exists()
    tenths = Client.open(tmp_path / "tenths", GRR(5, 0.1), limit=0.3)
    for _ in range(3):
        tenths.report(0)
    with pytest.raises(LimitReached):
        tenths.report(0)


@pytest.mark.parametrize("protocol", [LGRR(5, 2.0, 1.0), GRR(5, 0.1)], ids=repr)
@pytest.mark.parametrize(
    ("short", "refused"),
    [(0.0, False), (1e-14, False), (1e-10, True), (1e-6, True), (1e-3, True), (9e-3, True)],
)
def test_limits_forgive_rounding_only(
    protocol: Any,
    short: float,
    refused: bool,
    tmp_path: Path,
) -> None:
    """Make three charges, with a limit that is a small part lower than their sum."""
    client = Client.open(tmp_path / "client", protocol, limit=3 * protocol._prices[0] * (1 - short))
    for value in (0, 1):
        client.report(value)
    before = client.spent
    if refused:
        with pytest.raises(LimitReached):
            client.report(2)
        assert client.spent == before
    else:
        client.report(2)
        assert client.spent == pytest.approx(1.5 * before)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    Client.open(path, protocol).report(3)
    whole = path.read_bytes()
    damaged = [whole[:i] for i in range(0, len(whole), 7)]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole), 5)]
    damaged += [
        whole + b"x",
        whole[::-1],
        b"",
        b"\n",
        b"{}\n",
        whole.replace(b"version", b"Version"),
    ]
    for data in damaged:
        path.write_bytes(data)
        for use in (
            lambda: Client.open(path, protocol),
            lambda: Client.open(path, protocol, limit=2.0),
        ):
            with pytest.raises(ValueError, match="cannot be used"):
                use()
        assert path.read_bytes() == data, "a file that is refused stays unchanged"
    path.write_bytes(whole)
    assert Client.open(path, protocol).spent == pytest.approx(2.0)


CHANGES: list[dict[str, Any]] = [
    {"version": 2},
    {"secret": "00"},
    {"secret": 5},
    {"classes": []},
    {"classes": {"0": [-1]}},
    {"classes": {"x": [1]}},
    {"reports": {"0": 1.5}},
    {"reports": {"0": True}},
    {"protocol": 1},
    {"context": "zz"},
    {"classes": {"1": [0]}},
]


@pytest.mark.parametrize("change", CHANGES, ids=repr)
def test_files_that_were_never_written_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    Client.open(path, protocol)
    body = json.loads(path.read_bytes().partition(b"\n")[0])
    line = json.dumps(body | change).encode() + b"\n"
    path.write_bytes(line + digest_line(line))
    with pytest.raises(ValueError, match="cannot be used"):
        Client.open(path, protocol)


def test_a_lost_file_is_not_replaced_in_silence(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    client = Client.open(path, protocol)
    client.report(1)
    path.rename(tmp_path / "backup")
    with pytest.raises(FileNotFoundError, match="is gone, and the secret with it"):
        Client.open(path, protocol)
    for value in (1, 2):
        with pytest.raises(FileNotFoundError, match="is gone, and the secret with it"):
            client.report(value)
    (tmp_path / "backup").rename(path)
    assert Client.open(path, protocol).secret == client.secret
    path.unlink()
    (tmp_path / "client.lock").unlink()
    assert Client.open(path, protocol).secret != client.secret
    with pytest.raises(ValueError, match="another client's file"):
        client.report(3)


def test_others_must_not_read_it(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    old = os.umask(0)
    try:
        Client.open(path, protocol)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(PermissionError, match="accessible to no other user, not have mode 640"):
        Client.open(path, protocol)


def test_nobody_is_trusted_in_the_directory(tmp_path: Path) -> None:
    """Check that existing files are not written, links not followed, other objects refused."""
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    (tmp_path / "client.new").touch()
    (tmp_path / "client.new").chmod(0o666)
    with open(tmp_path / "client.new", "rb") as waiting:
        client = Client.open(path, protocol)
        client.report(1)
        assert waiting.read() == b""
    (tmp_path / "victim").touch()
    (tmp_path / "other.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="other.lock"):
        Client.open(tmp_path / "other", protocol)
    assert (tmp_path / "victim").read_bytes() == b""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(ValueError, match=f"{name} cannot be used: it is not a regular file"):
            Client.open(tmp_path / name, protocol)
        assert not (tmp_path / f"{name}.lock").exists()
    assert client.secret.hex() not in repr(client._state) + repr(client._memory)


def test_a_removed_lock_is_noticed(tmp_path: Path) -> None:
    """Check that a process does not use a lock that was removed while it waited."""
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    client, store = Client.open(path, protocol), ledger.Store(path)
    with store.lock_file():

        def work(pipe: int) -> None:
            os.write(pipe, b"0")
            client.report(1)
            os.write(pipe, b"1")

        child, reading = forked(work)
        assert os.read(reading, 1) == b"0"
        time.sleep(0.3)  # the child waits for the lock now
        os.unlink(f"{store.path}.lock")
        with store.lock_file() as new:  # a new lock, as another process would hold it
            time.sleep(0.1)
            assert store.read().ledger.classes == {}
            assert os.fstat(new).st_nlink == 1
    assert everything(reading) == b"1"
    os.waitpid(child, 0)
    assert client.spent == pytest.approx(2.0)


def test_a_fork_while_the_ledger_is_held(tmp_path: Path) -> None:
    client = Client(LGRR(5, 2.0, 1.0))
    client.report(0)
    with client._lock:
        child, reading = forked(lambda pipe: os.write(pipe, str(client.report(1)).encode()))
        assert everything(reading) in (b"0", b"1", b"2", b"3", b"4")
    os.waitpid(child, 0)


def test_a_file_rolled_back_is_charged_again(tmp_path: Path) -> None:
    path, protocol = tmp_path / "client", LGRR(5, 2.0, 1.0)
    client = Client.open(path, protocol)
    before = path.read_bytes()
    client.report(1)
    path.write_bytes(before)
    client.report(1)
    assert client.spent == pytest.approx(2.0)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "client")
    client = Client.open(tmp_path / "link", LGRR(5, 2.0, 1.0))
    client.report(1)
    assert (tmp_path / "link").is_symlink()
    assert Client.open(tmp_path / "real" / "client", LGRR(5, 2.0, 1.0)).spent == pytest.approx(2.0)


# Crashes


class Crash(BaseException):
    """A simulated stop of the machine."""


CALLS = ("open", "write", "lseek", "read", "fsync", "replace", "close", "unlink")


@contextmanager
def crashing(at: int, after: bool, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Stop the machine at call number ``at`` of a commit, before or after the call has effect."""
    made: list[str] = []
    with monkeypatch.context() as patch:
        for name in CALLS:
            real = getattr(os, name)

            def call(*arguments: Any, real: Any = real, name: str = name, **named: Any) -> Any:
                made.append(name)
                stopped = len(made) > at
                result = None
                # The system closes the files of a stopped process
                if not stopped or name == "close" or (after and len(made) == at + 1):
                    result = real(*arguments, **named)
                if stopped and (name != "close" or len(made) == at + 1):
                    raise Crash
                return result

            patch.setattr(os, name, call)
        yield made


@pytest.mark.parametrize("after", [False, True])
def test_interrupted_commits(after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop at every step of a commit.

    The secret stays the same, and the ledger contains all reports.
    """
    protocol, interrupted = LGRR(100, 2.0, 1.0), 0
    path = tmp_path / "client"
    client = Client.open(path, protocol)
    client.report(0)
    secret, spent = client.secret, client.spent
    for at in range(40):
        try:
            with crashing(at, after, monkeypatch) as made:
                Client.open(path, protocol).report(1 + at)
            spent += 2.0
        except Crash:
            interrupted += 1
        now = Client.open(path, protocol)
        assert now.secret == secret
        assert now.spent >= spent - 1e-9
        spent = now.spent
    assert interrupted >= 15
    assert at > len(made), "all steps were interrupted"


def test_a_commit_is_durable_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the order of a commit.

    The new file is on disk before it replaces the old one. The replacement is on disk before the
    report is returned.
    """
    path, protocol = tmp_path / "client", LGRR(100, 2.0, 1.0)
    client = Client.open(path, protocol)
    with crashing(1000, False, monkeypatch) as made:
        client.report(1)
    steps = [name for name in made if name in ("write", "fsync", "replace")]
    assert steps == ["write", "fsync", "replace", "fsync"]


@pytest.mark.parametrize("after", [False, True])
def test_interrupted_beginnings(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop at every step of the first opening.

    The client can be opened afterwards, and then keeps its secret.
    """
    protocol = LGRR(100, 2.0, 1.0)
    for at in range(30):
        path = tmp_path / f"client{at}"
        try:
            with crashing(at, after, monkeypatch):
                Client.open(path, protocol)
        except Crash:
            pass
        secret = Client.open(path, protocol).secret
        assert Client.open(path, protocol).secret == secret


def forked(work: Any) -> tuple[int, int]:
    """Run ``work(pipe)`` in a child process, and return its id and the end of the pipe to read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def everything(reading: int) -> bytes:
    data = b""
    while part := os.read(reading, 2**16):
        data += part
    os.close(reading)
    return data


@pytest.mark.process
def test_killed_twenty_times(tmp_path: Path) -> None:
    """Kill a child that reports as fast as it can, twenty times.

    Every report that the child showed is in the ledger, and the secret stays the same.
    """
    protocol, path = GRR(5, 1.0), tmp_path / "client"
    secret = Client.open(path, protocol).secret
    Client(protocol).report(0)  # kernels are ready before the fork

    def work(pipe: int) -> None:
        client = Client.open(path, protocol)
        while True:
            client.report(1)
            os.write(pipe, b".")

    shown, generator = 0, random.Random(1)
    for _ in range(20):
        child, reading = forked(work)
        shown += len(os.read(reading, 1))  # at least one report, even on a slow disk
        time.sleep(generator.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shown += len(everything(reading))
        now = Client.open(path, protocol)
        assert now.secret == secret
        assert shown <= round(now.spent) <= shown + 20
    assert shown >= 20


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    """Let processes use one file at once: they share permanent states, charges and the limit."""
    path, protocol = tmp_path / "client", SURE
    Client(protocol).report(0)

    def work(pipe: int) -> None:
        client = Client.open(path, protocol)
        for value in range(20):
            client.report(value)
        os.write(pipe, client.secret + b"".join(permanent(client, range(20))))

    children = [forked(work) for _ in range(3)]
    said = {everything(reading) for _, reading in children}
    for child, _ in children:
        os.waitpid(child, 0)
    assert len(said) == 1
    assert Client.open(path, protocol).spent == pytest.approx(20 * protocol.privacy.lifetime)

    def greedy(pipe: int) -> None:
        client = Client.open(tmp_path / "once", GRR(5, 1.0), limit=30.0)
        try:
            while True:
                client.report(0)
                os.write(pipe, b".")
        except LimitReached:
            pass

    children = [forked(greedy) for _ in range(2)]
    total = sum(len(everything(reading)) for _, reading in children)
    for child, _ in children:
        os.waitpid(child, 0)
    assert total == 30
    assert Client.open(tmp_path / "once", GRR(5, 1.0)).spent == pytest.approx(30.0)
