"""Tests of senders with a service of their own: kills between all steps, and shared outboxes."""

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import OUE, Sender, Survey
from multi_freq_ldpy.sender import Refused
from multi_freq_ldpy.service.batch import HEADER, read_header
from multi_freq_ldpy.service.ids import report_id

from .conftest import DATABASES
from .devices import Between, Devices, devices
from .harness import Server, serving

pytestmark = [pytest.mark.process, pytest.mark.extras]

KILLS = int(os.environ.get("KILLS", "30"))
ROUNDS = 3
LABELS = [f"{i:02}" for i in range(90)]
# Reports have many random bits, so a second draw is seen
SURVEYS = {
    "once": Survey({"a": LABELS}, epsilon=1.0, protocol=OUE),
    "waves": Survey({"a": LABELS}, eps_perm=3.0, eps_1=1.0),
    "year": Survey({"a": LABELS}, epsilon=2.0, rounds=ROUNDS, changes=1),
}


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Server]:
    paths = [tmp_path / f"{name}.json" for name in SURVEYS]
    for path in paths:
        SURVEYS[path.stem].save(path)
    with serving(database, paths) as made:
        yield made


def entries(outbox: Path) -> list[dict[str, Any]]:
    """Return the entries of an outbox as its text has them."""
    return json.loads(outbox.read_text().partition("\n")[0])["reports"]


def compare(server: Server, folder: Path, bodies: list[tuple[str, bytes]]) -> dict[str, int]:
    """Return what differs between the outboxes, the bodies that were sent, and the service.

    "again" counts bodies that differ from the first one of the same device and round. "more" counts
    ids that are in no outbox, and "unsent" entries that are not final. "users" and "counts" are
    differences between the service and the first bodies.
    """
    own: dict[bytes, tuple[str, int]] = {}
    unsent = 0
    for outbox in folder.glob("device*"):
        if "." in outbox.name:
            continue
        secret = bytes.fromhex(Path(f"{outbox}.secret").read_text())
        for each in entries(outbox):
            name, number = each["survey"], each["round"]
            unsent += each["state"] not in ("sent", "silent")
            if each["state"] == "sent":
                own[report_id(secret, name, SURVEYS[name].digest, number)] = name, number
    first: dict[tuple[str, int, bytes], bytes] = {}
    again = 0
    for name, body in bodies:
        number, sent = read_header(body).round, body[HEADER.size :]
        again += first.setdefault((name, number, sent[:16]), sent[16:]) != sent[16:]
    found = {"again": again, "unsent": unsent, "users": 0, "counts": 0}
    found["more"] = sum(own.get(key) != (name, number) for name, number, key in first)
    for name, survey in SURVEYS.items():
        for each in server.ask("GET", f"/v1/surveys/{name}/rounds")[1]:
            number = each["number"]
            _, data = server.ask("GET", f"/v1/surveys/{name}/rounds/{number}/tally")
            expected = [report for (a, b, _), report in first.items() if (a, b) == (name, number)]
            at = number if survey.rounds is not None else None
            tally, counted = survey.tally(expected, round=at), survey.unpack(data)
            wanted = sum((name, number) == each for each in own.values())
            found["users"] += abs(counted.users - wanted)
            found["counts"] += int(np.abs(counted.counts - tally.counts).sum())
    return found


NOTHING = dict.fromkeys(["again", "unsent", "users", "counts", "more"], 0)


def answer_all(
    running: Devices,
    url: str,
    folder: Path,
    numbers: range,
    chooser: random.Random,
    names: list[str],
) -> int:
    """Let devices answer, and kill each on its way, until all have answered. Returns the kills.

    After a kill, the person has changed the answer.
    """
    kills = 0
    for device in numbers:
        for name in names:
            steps, tried = 60, 0
            while True:
                job: dict[str, Any] = {
                    "url": url,
                    "outbox": str(folder / f"device{device}"),
                    "name": name,
                    "answers": {"a": chooser.choice(LABELS)},
                }
                if not tried or chooser.random() < 0.4:
                    if chooser.random() < 0.8:
                        job["last"] = chooser.randint(1, steps)
                    else:
                        job["after"] = chooser.uniform(0, 0.06)
                tried += 1
                ((code, _, state),) = running.run(job)
                assert code in (0, -signal.SIGKILL), code
                kills += code != 0
                if code == 0:
                    assert state in ("sent", "sent before", "silent")
                    break
    return kills


def run(server: Server, folder: Path, kills: int, fault: str = "") -> tuple[int, dict[str, int]]:
    """Kill devices over some rounds, and compare. Returns the number of kills too."""
    chooser, between = random.Random(1), Between(server.port)
    done, many = 0, max(2, kills // 5)
    try:
        with devices(fault) as running:
            for number in range(ROUNDS):
                if number:
                    for name in ("waves", "year"):
                        path = f"/v1/surveys/{name}/rounds"
                        assert server.ask("POST", path, {"number": number})[0] == 201
                names = ["once", "waves", "year"] if not number else ["waves", "year"]
                done += answer_all(running, between.url, folder, range(many), chooser, names)
            while done < kills:
                many += 1
                last = range(many - 1, many)
                done += answer_all(running, between.url, folder, last, chooser, ["once"])
            for device in range(many):
                job = {"url": between.url, "outbox": str(folder / f"device{device}")}
                assert running.run(job)[0][0] == 0
    finally:
        between.close()
    return done, compare(server, folder, between.bodies)


@pytest.mark.slow
def test_killed_devices_report_once(server: Server, tmp_path: Path) -> None:
    """Check one draw per device and round, and one report of it at the service."""
    done, found = run(server, tmp_path, KILLS)
    assert found == NOTHING
    assert done >= KILLS, done
    print(f"{done} kills")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "signs"),
    [("send before the outbox", ["again"]), ("an id per attempt", ["more", "users"])],
)
def test_planted_faults_are_found(
    fault: str, signs: list[str], server: Server, tmp_path: Path
) -> None:
    _, found = run(server, tmp_path, 30, fault)
    assert all(found[sign] for sign in signs), found


@pytest.mark.slow
def test_a_kill_at_every_step(server: Server, tmp_path: Path) -> None:
    """Kill a device before each of its steps in turn, and let another process go on.

    A device over time has all steps of the others. These are killed at every third step. Without
    PostgreSQL, which `make service` has, it is a quarter of them.
    """
    between = Between(server.port, losses=0.0)
    try:
        with devices() as running:
            for name in SURVEYS:
                device, last, ended = 0, 1, False
                step = (1 if name == "waves" else 3) * (1 if "postgresql" in DATABASES else 4)
                while not ended:
                    outbox = str(tmp_path / f"device-{name}-{device}")
                    job = {"url": between.url, "outbox": outbox, "name": name}
                    first = running.run({**job, "answers": {"a": "01"}, "last": last})[0][0]
                    ended, device, last = (
                        first == 0,
                        device + 1,
                        last + step,
                    )
                    assert running.run({**job, "answers": {"a": "02"}})[0][0] == 0
                assert last > 30, last
    finally:
        between.close()
    assert compare(server, tmp_path, between.bodies) == NOTHING


def test_two_processes_share_an_outbox(server: Server, tmp_path: Path) -> None:
    """Check that processes which answer at the same time draw once."""
    between = Between(server.port)
    try:
        with devices() as running:
            for device in range(4):
                outbox = str(tmp_path / f"device{device}")
                for name in SURVEYS:
                    jobs = [
                        {"url": between.url, "outbox": outbox, "name": name, "answers": {"a": each}}
                        for each in LABELS[:4]
                    ]
                    ended = running.run(*jobs)
                    assert [code for code, _, _ in ended] == [0] * 4
                assert len(entries(Path(outbox))) == 3
    finally:
        between.close()
    assert compare(server, tmp_path, between.bodies) == NOTHING


def test_a_service_refuses_and_counts(server: Server, tmp_path: Path) -> None:
    """Check a device and a gateway against the words of the real service."""
    url = f"http://127.0.0.1:{server.port}"
    device, gateway = Sender(url, tmp_path / "device"), Sender(url, tmp_path / "gateway")
    assert device.answer("once", {"a": "05"}).state == "sent"
    size = SURVEYS["once"].solution.report_bytes
    data = SURVEYS["once"].solution.randomize([[i % 90] for i in range(2500)]).tobytes()
    ids = [os.urandom(16) for _ in range(2500)]
    assert gateway.submit("once", data, ids) == (2500, 0)
    assert gateway.submit("once", data[: 100 * size], ids[:100]) == (0, 100)
    assert Sender(url).submit("once", data[:size], ids[:1]) == (0, 1)
    assert server.ask("GET", "/v1/surveys/once/rounds")[1][0]["users"] == 2501
    with pytest.raises(Refused, match="round 7|last round") as refused:
        gateway.submit("once", data[:size], round=7)
    assert (refused.value.status, refused.value.kind) == (409, "round-closed")
    with pytest.raises(Refused, match="no survey of this name"):
        device.answer("none", {"a": "05"})
    assert server.ask("PATCH", "/v1/surveys/waves", {"state": "closed"})[0] == 200
    with pytest.raises(Refused, match="closed"):
        device.answer("waves", {"a": "05"})
    assert gateway.flush() == device.flush() == 0


def test_senders_with_tokens_and_invites(server: Server, tmp_path: Path) -> None:
    """Check that an invite counts once, also from two devices, and that a token sends."""
    url = f"http://127.0.0.1:{server.port}"
    for rule in ("token", "invite"):
        content = {"name": rule, "spec": SURVEYS["once"].to_spec(), "submission": rule}
        assert server.ask("POST", "/v1/surveys", content)[0] == 201
        assert server.ask("PATCH", f"/v1/surveys/{rule}", {"state": "open"})[0] == 200
    _, made = server.ask("POST", "/v1/tokens", {"scope": "submit", "survey": "token"})
    _, invited = server.ask("POST", "/v1/surveys/invite/invites", {"count": 1})
    tokens = {"token": made["token"], "invite": invited["invites"][0]}
    expected = {"token": 2, "invite": 1}
    for rule, token in tokens.items():
        for device in range(2):
            outbox = tmp_path / f"{rule}{device}"
            with pytest.raises(Refused, match="token"):
                Sender(url, outbox).answer(rule, {"a": "05"})
            held = entries(outbox)
            assert [each["state"] for each in held] == ["waiting"]
            delivery = Sender(url, outbox, token).answer(rule, {"a": "06"})
            assert delivery.state == "sent" and delivery.report.hex() == held[0]["report"]
        listed = server.ask("GET", f"/v1/surveys/{rule}/rounds")[1]
        assert [each["users"] for each in listed] == [expected[rule]]
