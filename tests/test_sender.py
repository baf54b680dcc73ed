"""Tests of senders: one draw per survey and round, stored first, and sent until it is counted."""

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import OUE, LimitReached, Sender, Survey, sender, wire
from multi_freq_ldpy.core.sealed import digest_line, seal
from multi_freq_ldpy.sender import NotDelivered, Refused
from multi_freq_ldpy.sending import known, spool
from multi_freq_ldpy.sending.outbox import Contents, Outbox
from multi_freq_ldpy.service import delivery, remote
from multi_freq_ldpy.service.batch import HEADER, read_header
from multi_freq_ldpy.service.ids import report_id
from multi_freq_ldpy.service.schedule import Schedule

from .fake_service import (
    Fake,
    broken,
    faking,
    garbage,
    half,
    lost,
    redirect,
    status,
)

LABELS = [f"{i:02}" for i in range(90)]
# Reports have many random bits, so a second draw is seen
ONCE = Survey({"a": LABELS}, epsilon=1.0, protocol=OUE)
WAVES = Survey({"a": LABELS}, eps_perm=3.0, eps_1=1.0)
YEAR = Survey({"a": ["x", "y"]}, epsilon=2.0, rounds=4, changes=1)
SURVEYS = {"once": ONCE, "waves": WAVES, "year": YEAR}
DOWN = "http://127.0.0.1:1"


class Clock:
    """A clock whose sleep takes no time."""

    def __init__(self, start: float = 10.0**9) -> None:
        self.now, self.slept = start, []

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let retries take no time."""
    made = Clock()
    for module in (sender, delivery, known, remote):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def fake() -> Iterator[Fake]:
    with faking(surveys=dict(SURVEYS)) as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox"


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of an outbox as its text has them."""
    return json.loads(path.read_text().partition("\n")[0])["reports"]


def answers(value: str = "07") -> dict[str, str]:
    return {"a": value}


# One device


def test_a_device_answers_once(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    first = one.answer("once", answers())
    assert (first.round, first.state) == (0, "sent") and len(
        first.report
    ) == ONCE.solution.report_bytes
    for value in ("07", "08"):
        again = Sender(fake.url, path).answer("once", answers(value))
        assert (again.round, again.report, again.state) == (0, None, "sent before")
    assert list(fake.counted.values()) == [first.report] and len(fake.bodies) == 1
    secret = bytes.fromhex(Path(f"{path}.secret").read_text())
    assert list(fake.counted) == [report_id(secret, "once", ONCE.digest, 0)]
    (entry,) = entries(path)
    assert (entry["state"], entry["report"]) == ("sent", None)
    assert one.flush() == 0
    for name in ("outbox", "outbox.secret", "outbox.lock"):
        assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600


def test_a_device_over_time_draws_once_per_round(fake: Fake, path: Path) -> None:
    one, found = Sender(fake.url, path), []
    for number in range(3):
        fake.accepted["waves"] = [number]
        found.append(one.answer("waves", answers(), limit=3.5))
        assert (found[-1].round, found[-1].state) == (number, "sent")
        assert one.answer("waves", answers("08")).state == "sent before"
    assert len({each.report for each in found}) == len(fake.counted) == 3
    client = WAVES.client(f"{path}.{WAVES.digest}", context=bytes.fromhex(WAVES.digest))
    assert client.spent == pytest.approx(WAVES.privacy.lifetime)
    fake.accepted["waves"] = [3]
    before = path.read_bytes(), client.client._store.read_bytes()
    with pytest.raises(LimitReached):
        one.answer("waves", answers("08"), limit=3.5)
    assert (path.read_bytes(), client.client._store.read_bytes()) == before


def test_silent_rounds_are_kept_and_never_sent(fake: Fake, tmp_path: Path) -> None:
    """Check that a device of histories sends exactly what its client reports."""
    states = set()
    for device in range(8):
        one, sent = Sender(fake.url, tmp_path / str(device)), len(fake.bodies)
        for number in range(4):
            fake.accepted["year"] = [number]
            found = one.answer("year", {"a": "x"})
            assert (found.state == "silent") == (found.report is None)
            assert one.answer("year", {"a": "y"}).state in ("silent", "sent before")
            sent += found.state == "sent"
            states.add(found.state)
        assert len(fake.bodies) == sent and one.flush() == 0
        assert len(entries(tmp_path / str(device))) == 4
    assert states == {"sent", "silent"}


def test_a_late_device_begins_with_its_first_round(fake: Fake, path: Path) -> None:
    fake.accepted["year"] = [2]
    Sender(fake.url, path).answer("year", {"a": "x"})
    context = bytes.fromhex(YEAR.digest)
    client = YEAR.client(f"{path}.{YEAR.digest}", context=context)
    assert client.client._store.read().history["parts"][0]["first"] == 2


# Answers of the service

RETRIED = {
    "lost": lost,
    "broken": broken,
    "half": half,
    "500": status(500),
    "502 of a proxy": status(502),
    "503": status(503, "unavailable"),
    "429": status(429, "too-many"),
    "408": status(408),
    "a page": garbage(b"<html>Log in</html>"),
    "nothing": garbage(b""),
    "a list": garbage(b"[]"),
    "another object": garbage(b"{}"),
    "another number": garbage(b'{"counted": 2, "duplicates": 0}'),
    "a negative number": garbage(b'{"counted": 2, "duplicates": -1}'),
    "a truth value": garbage(b'{"counted": true, "duplicates": 0}'),
    "garbage after counting": garbage(b"<html>", counted=True),
    "no number": garbage(b'{"counted": "1", "duplicates": 0}'),
}


@pytest.mark.parametrize("name", RETRIED)
def test_retries_send_the_same_bytes(name: str, fake: Fake, path: Path, clock: Clock) -> None:
    fake.script = [RETRIED[name]] * 3
    found = Sender(fake.url, path).answer("once", answers())
    assert found.state == "sent" and list(fake.counted.values()) == [found.report]
    assert len(fake.bodies) == 4 and len(set(fake.bodies)) == 1
    assert len(clock.slept) == 3 and all(0 <= each <= 2 for each in clock.slept)


@pytest.mark.parametrize("name", RETRIED)
def test_a_report_is_kept_until_it_is_counted(name: str, fake: Fake, path: Path) -> None:
    fake.script = [RETRIED[name]] * 1000
    one = Sender(fake.url, path)
    with pytest.raises(NotDelivered, match=r"The report is kept and will be sent by flush\(\)"):
        one.answer("once", answers(), timeout=5.0)
    (entry,) = entries(path)
    assert entry["state"] == "waiting" and not Path(f"{path}.new").exists()
    with pytest.raises(NotDelivered):
        one.answer("once", answers("09"), timeout=5.0)
    with pytest.raises(NotDelivered):
        one.flush(timeout=5.0)
    fake.script = []
    assert Sender(fake.url, path).flush() == 1
    assert {each.hex() for each in fake.counted.values()} == {entry["report"]}
    assert len(set(fake.bodies)) == 1 and one.flush() == 0
    assert one.answer("once", answers()).state == "sent before"


REFUSED = {
    "401": (status(401, "no-token"), "waiting"),
    "403": (status(403, "forbidden"), "waiting"),
    "404": (status(404, "not-found"), "waiting"),
    "413 of a proxy": (status(413), "waiting"),
    "415": (status(415, "media-type"), "waiting"),
    "400": (status(400, "malformed"), "waiting"),
    "not open": (status(409, "not-open"), "waiting"),
    "redirect": (redirect, "waiting"),
    "round closed": (status(409, "round-closed"), "refused"),
    "another survey": (status(409, "wrong-survey"), "refused"),
    "not a report": (status(422, "not-a-report"), "refused"),
    "too large": (status(413, "too-large"), "refused"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_final_for_this_call(name: str, fake: Fake, path: Path, clock: Clock) -> None:
    answer, state = REFUSED[name]
    fake.script = [answer]
    one = Sender(fake.url, path)
    with pytest.raises(Refused):
        one.answer("once", answers())
    (entry,) = entries(path)
    assert entry["state"] == state and (entry["report"] is None) == (state == "refused")
    assert len(fake.bodies) == 1 and clock.slept == []
    if state == "waiting":
        assert one.answer("once", answers("08")).state == "sent"
        assert len(set(fake.bodies)) == 1
    else:
        with pytest.raises(Refused, match="was refused. None is drawn again"):
            one.answer("once", answers("08"))
        assert len(fake.bodies) == 1 and one.flush() == 0


def test_flush_goes_on_after_a_refusal(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    for number in range(3):
        fake.accepted["waves"], fake.script = [number], [status(500)] * 100
        with pytest.raises(NotDelivered):
            one.answer("waves", answers(), timeout=1.0)
    fake.accepted["waves"], fake.script = [1, 2], []
    with pytest.raises(Refused, match="The round is closed"):
        one.flush()
    assert [each["state"] for each in entries(path)] == ["refused", "sent", "sent"]
    assert one.flush() == 0 and len(fake.counted) == 2


def test_a_description_is_not_taken_from_elsewhere(fake: Fake, path: Path) -> None:
    fake.asked = [redirect]
    with pytest.raises(Refused, match="status 302"):
        Sender(fake.url, path, token="canary").answer("once", answers())
    assert entries(path) == [] and not fake.bodies


def test_a_late_refusal_does_not_change_a_report_that_was_sent(fake: Fake, path: Path) -> None:
    """Check two processes that send one entry: one is answered, the other comes too late."""
    fake.script = [status(500)] * 100
    with pytest.raises(NotDelivered):
        Sender(fake.url, path).answer("once", answers(), timeout=1.0)
    first, second = Outbox(path), Outbox(path)
    (entry,) = second.read().reports.values()
    first.mark(entry, "sent")
    second.mark(entry, "refused")
    assert [each["state"] for each in entries(path)] == ["sent"]


DELAYS = {
    "7": 7.0,
    "Sun, 09 Sep 2001 01:47:00 GMT": 20.0,  # the clock of the tests is at 01:46:40
    "Sun, 09 Sep 2001 01:00:00 GMT": 0.0,
    "soon": 0.0,
    "-5": 0.0,
    "1e3": 0.0,
    "²": 0.0,
    "": 0.0,
}


@pytest.mark.parametrize("text", DELAYS)
def test_retry_after_is_obeyed(text: str, fake: Fake, path: Path, clock: Clock) -> None:
    fake.script = [status(503, "too-busy", Retry_After=text.encode("ascii", "replace").decode())]
    Sender(fake.url, path).answer("once", answers())
    (slept,) = clock.slept
    assert DELAYS[text] <= slept <= max(DELAYS[text], 0.5)


def test_a_long_delay_ends_the_call(fake: Fake, path: Path, clock: Clock) -> None:
    for text in ("60", "9" * 400):
        fake.script = [status(429, "too-many", Retry_After=text)]
        with pytest.raises(NotDelivered):
            Sender(fake.url, path).answer("once", answers())
        assert clock.slept == [] and fake.script == []


def test_delays_are_drawn_and_grow(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    asked: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    monkeypatch.setattr(delivery, "jitter", draw)

    def fail(seconds: float) -> None:
        assert 0 < seconds <= remote.PATIENCE
        raise OSError("no service")

    with pytest.raises(OSError, match="no service"):
        delivery.repeat(fail, 200.0)
    assert [high for _, high in asked] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert {low for low, _ in asked} == {0} and sum(clock.slept) <= 200


# Rounds, states and surveys


def test_a_survey_that_takes_no_reports_draws_nothing(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    before = path.read_bytes()
    fake.closed = {"once", "waves"}
    for name in ("once", "waves"):
        with pytest.raises(Refused, match="takes no reports: it is closed"):
            one.answer(name, answers())
    fake.closed, fake.accepted["waves"] = set(), [2]
    for number in (0, 3):
        with pytest.raises(Refused, match=f"Round {number} of waves takes no reports now"):
            one.answer("waves", answers(), round=number)
    with pytest.raises(Refused, match="no survey of this name"):
        one.answer("none", answers())
    assert path.read_bytes() == before and not fake.bodies
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "outbox",
        "outbox.lock",
        "outbox.secret",
    ]
    assert one.answer("waves", answers(), round=2).round == 2


def test_a_report_of_a_closed_survey_is_not_forgotten(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    one.answer("once", answers())
    fake.closed = {"once"}
    assert one.answer("once", answers()).state == "sent before"


WRONG: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "no answer": (ValueError, {"answers": {}}),
    "another label": (ValueError, {"answers": {"a": "none"}}),
    "no mapping": (TypeError, {"answers": "07"}),
    "a name": (ValueError, {"name": "Once"}),
    "no name": (ValueError, {"name": 1}),
    "a round": (ValueError, {"round": 1}),
    "a negative round": (ValueError, {"round": -1}),
    "a round in words": (TypeError, {"round": "0"}),
    "a limit": (ValueError, {"limit": 1.0}),
    "no time": (ValueError, {"timeout": 0}),
    "for ever": (ValueError, {"timeout": float("inf")}),
    "a wrong limit": (ValueError, {"limit": -1.0, "name": "waves"}),
    "another label over time": (ValueError, {"answers": {"a": "none"}, "name": "waves"}),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_changes_nothing(what: str, fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    error, given = WRONG[what]
    call = {"name": "once", "answers": answers(), **given}
    with pytest.raises(error):
        one.answer(call.pop("name"), call.pop("answers"), **call)
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before
    assert not fake.bodies


def test_another_survey_under_the_name_is_an_error(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    one.answer("once", answers())
    before = path.read_bytes()
    fake.surveys["once"] = Survey({"a": LABELS}, epsilon=5.0, protocol=OUE)
    for each in (one, Sender(fake.url, path)):
        with pytest.raises(ValueError, match="another survey under the name once"):
            each.answer("once", answers())
        with pytest.raises(ValueError, match="another survey under the name once"):
            each.submit("once", [ONCE.randomize_one(answers())])
    assert path.read_bytes() == before and len(fake.bodies) == 1


def test_a_digest_that_does_not_fit_the_spec_is_an_error(fake: Fake, path: Path) -> None:
    about = fake.describe("once") | {"digest": "00" * 16}
    fake.asked = [garbage(json.dumps(about).encode())]
    with pytest.raises(ValueError, match="the digest of once does not fit its spec"):
        Sender(fake.url, path).answer("once", answers())
    assert entries(path) == [] and not fake.bodies


NO_SURVEY = [b"", b"<html>", b"[]", b"{}", b'{"digest": 1}', b'{"spec": {}, "digest": ""}']


@pytest.mark.parametrize("content", NO_SURVEY)
def test_an_answer_that_is_no_survey_is_no_answer(
    content: bytes, fake: Fake, path: Path, clock: Clock
) -> None:
    one = Sender(fake.url, path)
    fake.asked = [garbage(content)] * 2
    assert one.answer("once", answers()).state == "sent"
    assert len(clock.slept) == 2
    fake.asked = [garbage(content)]
    assert one.answer("once", answers()).state == "sent before"  # known, so not asked again


def test_a_device_without_network(fake: Fake, path: Path, clock: Clock) -> None:
    """Check the round that a device chooses, and that its report is kept."""
    fake.now, fake.schedules["waves"] = clock.time, Schedule(10**9 - 250, 100, 10)
    online, offline = Sender(fake.url, path), Sender(DOWN, path)
    with pytest.raises(OSError, match="no service answers"):
        offline.answer("once", answers(), timeout=5.0)
    assert entries(path) == []
    assert online.answer("waves", answers()).round == 2
    clock.now = 10**9 + 175.0
    with pytest.raises(NotDelivered, match="is kept"):
        offline.answer("waves", answers(), timeout=5.0)
    assert (entries(path)[-1]["round"], entries(path)[-1]["state"]) == (4, "waiting")
    assert online.flush() == 1
    online.answer("once", answers())
    assert offline.answer("once", answers()).state == "sent before"
    clock.now = 10**9 - 300.0
    with pytest.raises(ValueError, match="has no round now"):
        offline.answer("waves", answers())
    with pytest.raises(NotDelivered):
        offline.answer("waves", answers(), round=7, timeout=5.0)
    assert [each["round"] for each in entries(path)] == [0, 2, 4, 7]
    fake.accepted["year"] = [0]
    online.answer("year", {"a": "x"})
    with pytest.raises(OSError, match="the round of year is not known"):
        offline.answer("year", {"a": "x"})


def test_a_device_without_an_open_service(fake: Fake, path: Path) -> None:
    """Check that a device which knows a survey needs no description of it."""
    fake.accepted["waves"] = [0]
    one = Sender(fake.url, path)
    one.answer("waves", answers())
    for number, answer in enumerate((status(503, "unavailable"), status(429), broken), 1):
        fake.accepted["waves"], fake.asked = [number], [answer]
        assert one.answer("waves", answers(), round=number).state == "sent"
    fake.asked = [status(403, "forbidden")]
    with pytest.raises(Refused):
        one.answer("waves", answers(), round=9)
    assert len(entries(path)) == 4


def test_reports_of_another_survey_are_not_sent(fake: Fake) -> None:
    """Check that a gateway that names its survey sends nothing to another one."""
    name, own = next(iter(fake.surveys.items()))
    reports = own.solution.randomize([[0] * own.solution.d] * 3)
    other = Survey({"a": ["x", "y"]}, epsilon=0.5)
    with pytest.raises(ValueError, match=other.digest):
        Sender(fake.url).submit(name, reports, survey=other)
    assert fake.bodies == []
    assert Sender(fake.url).submit(name, reports, survey=own) == (3, 0)


def test_tokens_are_sent_and_never_shown(fake: Fake, path: Path) -> None:
    fake.script = [status(401, "no-token")]
    one = Sender(fake.url, path, token="canary-canary")
    with pytest.raises(Refused) as refused:
        one.answer("once", answers())
    one.flush()
    assert fake.tokens == ["Bearer canary-canary"] * 2
    shown = f"{one!r} {refused.value!r} {vars(refused.value)}"
    assert "canary" not in shown and "outbox" in repr(one)
    for wrong in ("canary\n", "", "cañary"):
        with pytest.raises(ValueError, match="token") as error:
            Sender(fake.url, path, token=wrong)
        assert not wrong or wrong not in str(error.value)


# The files of a device


def test_without_an_outbox_nothing_is_drawn(fake: Fake) -> None:
    for call in (lambda s: s.answer("once", answers()), lambda s: s.flush()):
        with pytest.raises(ValueError, match="needs an outbox"):
            call(Sender(fake.url))


def test_a_lost_outbox_is_not_replaced_in_silence(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    one.answer("once", answers())
    kept = path.read_bytes()
    path.unlink()
    for call in (
        lambda: Sender(fake.url, path),
        lambda: one.answer("once", answers()),
        lambda: one.flush(),
    ):
        with pytest.raises(FileNotFoundError, match="is gone.*costs their budget again"):
            call()
    path.write_bytes(kept)
    path.chmod(0o600)
    assert one.answer("once", answers()).state == "sent before"
    secret = Path(f"{path}.secret")
    text = secret.read_bytes()
    secret.unlink()
    for call in (lambda: Sender(fake.url, path), lambda: one.answer("waves", answers())):
        with pytest.raises(FileNotFoundError, match="secret is gone: restore it"):
            call()
    assert len(fake.bodies) == 1 and not secret.exists()
    for wrong in (text[:-1], text[:-2] + b"\n", text.upper(), b"x" * 65, b"", text * 2):
        secret.write_bytes(wrong)
        secret.chmod(0o600)
        with pytest.raises(ValueError, match="secret cannot be used") as error:
            Sender(fake.url, path)
        assert text.decode().strip() not in str(error.value)
    secret.write_bytes(os.urandom(32).hex().encode() + b"\n")
    with pytest.raises(ValueError, match="ids of another secret"):
        Sender(fake.url, path)
    secret.write_bytes(text)
    assert Sender(fake.url, path).answer("once", answers()).state == "sent before"


def test_an_unused_secret_may_be_lost(fake: Fake, path: Path) -> None:
    Sender(fake.url, path)
    Path(f"{path}.secret").unlink()
    assert Sender(fake.url, path).answer("once", answers()).state == "sent"


def test_an_outbox_after_its_lock_was_removed_too(fake: Fake, path: Path) -> None:
    """Check that the service counts a device once, even if it begins again with its secret."""
    Sender(fake.url, path).answer("once", answers())
    path.unlink()
    Path(f"{path}.lock").unlink()
    Sender(fake.url, path).answer("once", answers())
    assert len(fake.bodies) == 2 and len(fake.counted) == 1


def damages(data: bytes) -> Iterator[bytes]:
    """Yield damaged texts of an outbox, also with the digest that fits."""
    yield from (
        b"",
        data[:-1],
        data[: len(data) // 2],
        data + b"\n",
        data.replace(b"sent", b"Sent"),
    )
    body = json.loads(data.partition(b"\n")[0])
    entry, pinned = body["reports"][0], body["surveys"]["once"]
    for change in (
        {"version": 2},
        {"version": True},
        {"more": 1},
        {"reports": {}},
        {"reports": [entry, entry]},
        {"reports": None},
        {"surveys": []},
        *(
            {"reports": [entry | each]}
            for each in (
                {"state": "waiting"},
                {"state": "waiting", "report": ""},
                {"state": "sent", "report": "00"},
                {"state": "done"},
                {"state": ["sent"]},
                {"round": -1},
                {"round": 2**32},
                {"round": 0.0},
                {"round": True},
                {"id": entry["id"][:-2]},
                {"id": entry["id"].upper()},
                {"id": None},
                {"digest": "xyz"},
                {"digest": None},
                {"survey": "A"},
                {"more": 1},
            )
        ),
        *(
            {"surveys": {"once": pinned | each}}
            for each in (
                {"digest": 1},
                {"spec": {}},
                {"spec": None},
                {"schedule": 1},
                {"schedule": {"starts": 0, "period": 0, "grace": 0}},
                {"schedule": {"starts": 0, "period": 10, "grace": None}},
                {"schedule": {"starts": 0, "period": 10, "grace": 1, "more": 1}},
                {"more": 1},
            )
        ),
        {"surveys": {"Once": pinned}},
    ):
        yield seal(body | change)
    yield seal(body).replace(b'", "', b'","', 1)
    for line in (
        b"[]\n",
        b"null\n",
        b"{}\n",
        b"[" * 10**5 + b"\n",
        b'{"version": 1, "version": 1}\n',
    ):
        yield line + digest_line(line)


def test_a_damaged_outbox_is_an_error(fake: Fake, path: Path) -> None:
    one = Sender(fake.url, path)
    one.answer("once", answers())
    good, many = path.read_bytes(), 0
    canary = Path(f"{path}.secret").read_text().strip()
    for wrong in damages(good):
        path.write_bytes(wrong)
        for call in (
            lambda: Sender(fake.url, path),
            lambda: one.answer("once", answers()),
            lambda: one.flush(),
            lambda: one.submit("once", [bytes(12)]),
        ):
            with pytest.raises(ValueError, match="outbox cannot be used: ") as error:
                call()
            assert canary not in str(error.value) and len(str(error.value)) < 1000
        assert path.read_bytes() == wrong
        many += 1
    assert many > 35 and len(fake.bodies) == 1
    path.write_bytes(good)
    assert one.answer("once", answers()).state == "sent before"


def test_foreign_files_are_refused(fake: Fake, path: Path) -> None:
    WAVES.client(path).report(answers())
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be used: it is not an outbox"):
        Sender(fake.url, path)
    assert path.read_bytes() == kept and not Path(f"{path}.secret").exists()
    Sender(fake.url, path.parent / "own")
    with pytest.raises(ValueError, match="cannot be used: it is not a client's file"):
        WAVES.client(path.parent / "own")
    (path.parent / "own").chmod(0o644)
    with pytest.raises(PermissionError, match="accessible to no other user"):
        Sender(fake.url, path.parent / "own")
    for wrong in (1, "", "a\0b"):
        with pytest.raises(TypeError, match="outbox must be"):
            Sender(fake.url, wrong)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Sender(fake.url, path.parent / "none" / "outbox")


def test_a_spec_of_another_digest_is_refused(fake: Fake, path: Path) -> None:
    """Check that an outbox whose spec was exchanged draws nothing."""
    one = Sender(fake.url, path)
    fake.accepted["waves"] = [0]
    one.answer("waves", answers())
    body = json.loads(path.read_bytes().partition(b"\n")[0])
    body["surveys"]["waves"]["spec"] = json.dumps(ONCE.to_spec())
    path.write_bytes(seal(body))
    fake.accepted["waves"] = [1]
    with pytest.raises(ValueError, match="does not fit its spec"):
        Sender(fake.url, path).answer("waves", answers())
    assert len(fake.bodies) == 1


def test_a_full_disk_sends_nothing(fake: Fake, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail at each write in turn. A report whose write failed never leaves the device."""
    one, real, failed = Sender(fake.url, path), os.write, 0
    for name in ("once", "waves"):
        for at in range(20):
            made: list[int] = []

            def write(descriptor: int, data: Any, at: int = at, made: list[int] = made) -> int:
                made.append(descriptor)
                if len(made) > at:
                    raise OSError(28, "No space left on device")
                return real(descriptor, data)

            known_before, sent = entries(path), len(fake.bodies)
            with monkeypatch.context() as patch:
                patch.setattr(os, "write", write)
                try:
                    found = one.answer(name, answers(f"{at:02}"))
                except OSError:
                    failed += 1
                else:
                    assert found.state in ("sent", "sent before")
                    break
            if len(fake.bodies) > sent:  # only the mark could not be written
                (new,) = [each for each in entries(path) if each not in known_before]
                assert new["state"] == "waiting"
        assert len([each for each in entries(path) if each["survey"] == name]) == 1
    assert failed >= 4 and len(fake.counted) == 2 and len(set(fake.bodies)) == 2


def test_an_outbox_writes_what_it_reads(fake: Fake, path: Path) -> None:
    fake.schedules["waves"] = Schedule(int(time.time()) - 50, 1000, 10)
    one = Sender(fake.url, path)
    for name in ("once", "waves"):
        one.answer(name, answers())
    data = path.read_bytes()
    assert Contents.from_bytes(data).to_bytes() == data
    body = json.loads(data.partition(b"\n")[0])
    assert body["surveys"]["waves"]["schedule"] == vars(fake.schedules["waves"])
    assert body["surveys"]["once"]["schedule"] is None
    assert json.loads(body["surveys"]["once"]["spec"]) == ONCE.to_spec()
    assert [each["survey"] for each in body["reports"]] == ["once", "waves"]
    assert "report" not in repr(Outbox(path).read().reports).replace("report=", "")


STORED = Path(__file__).parent.parent / "fuzz" / "corpus" / "outbox" / "valid_four_states"


def test_a_stored_outbox_is_read_as_before(fake: Fake, path: Path) -> None:
    """Check that the text and the ids of a device keep their meaning in later versions."""
    for name, text in (("", STORED.read_bytes()), (".secret", bytes(range(32)).hex().encode())):
        os.close(os.open(f"{path}{name}", os.O_CREAT | os.O_EXCL, 0o600))
        Path(f"{path}{name}").write_bytes(text + b"\n" * bool(name))
    fake.surveys |= {
        "smoking": Survey({"smokes": ["yes", "no"]}, epsilon=2.0),
        "weekly": Survey({"a": [1, 2, 3]}, eps_perm=3.0, eps_1=1.0),
    }
    fake.accepted["weekly"] = [3]
    states = [(each["survey"], each["round"], each["state"]) for each in entries(path)]
    assert states == [
        ("smoking", 0, "sent"),
        ("weekly", 1, "silent"),
        ("weekly", 2, "refused"),
        ("weekly", 3, "waiting"),
    ]
    one = Sender(fake.url, path)
    assert one.flush() == 1
    assert {key.hex(): each.hex() for key, each in fake.counted.items()} == {
        "054b789aabb7b80d494136b553897144": "0002"
    }
    assert one.answer("smoking", {"smokes": "no"}).state == "sent before"
    with pytest.raises(Refused, match="None is drawn again"):
        one.answer("weekly", {"a": 1}, round=2)


# Gateways


def many(count: int, survey: Survey = ONCE) -> list[bytes]:
    data = survey.solution.randomize([[i % 90] for i in range(count)]).tobytes()
    size = survey.solution.report_bytes
    return [data[i : i + size] for i in range(0, len(data), size)]


@pytest.mark.parametrize("kept", [False, True])
def test_a_gateway_sends_batches(kept: bool, fake: Fake, path: Path) -> None:
    one, reports = Sender(fake.url, path if kept else None), many(2500)
    fake.script = [lost, status(503), half]
    assert one.submit("once", reports) == (1500, 1000)
    assert sorted(fake.counted.values()) == sorted(reports)
    sizes = {(len(body) - HEADER.size) // (16 + len(reports[0])) for body in fake.bodies}
    assert sizes == {1000, 500}
    ids = [bytes([i]) * 16 for i in range(200)]
    assert one.submit("once", reports[:200], ids) == (200, 0)
    assert one.submit("once", reports[:200], ids) == (0, 200)
    if kept:
        assert one.flush() == 0 and not list(path.parent.glob("*.batch*"))
        assert entries(path) == []


FORMS = {
    "list": lambda reports: reports,
    "bytes": b"".join,
    "memory": lambda reports: memoryview(b"".join(reports)),
    "table": lambda reports: {"report": reports},
    "array": lambda reports: wire.decode(ONCE.solution, b"".join(reports)),
    "batches": lambda reports: iter([reports[:30], reports[30:]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_reports(form: str, fake: Fake) -> None:
    reports = many(50)
    assert Sender(fake.url).submit("once", FORMS[form](reports)) == (50, 0)
    assert sorted(fake.counted.values()) == sorted(reports)


def test_large_reports_make_small_batches(fake: Fake) -> None:
    fake.surveys["large"] = Survey({"a": range(40_000)}, epsilon=1.0, protocol=OUE)
    reports = many(450, fake.surveys["large"])
    assert Sender(fake.url).submit("large", reports) == (450, 0)
    assert len(fake.bodies) == 3 and max(map(len, fake.bodies)) <= 10**6


NO_SUBMISSION: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "nothing": (ValueError, {"reports": []}),
    "a short report": (ValueError, {"reports": [b"x"]}),
    "no report": (ValueError, {"reports": [b"\xff" * 13]}),
    "half a report": (ValueError, {"reports": bytes(14)}),
    "a number": (TypeError, {"reports": 3}),
    "too few ids": (ValueError, {"ids": [bytes(16)]}),
    "equal ids": (ValueError, {"ids": [bytes(16)] * 2}),
    "short ids": (ValueError, {"ids": [b"a", b"b"]}),
    "ids as text": (ValueError, {"ids": ["a" * 16, "b" * 16]}),
    "a negative round": (ValueError, {"round": -1}),
    "a large round": (ValueError, {"round": 2**32}),
    "no round": (TypeError, {"round": None}),
    "a name": (ValueError, {"name": "../x"}),
    "no time": (ValueError, {"timeout": -1}),
}


@pytest.mark.parametrize("what", NO_SUBMISSION)
@pytest.mark.parametrize("kept", [False, True])
def test_wrong_submissions_send_nothing(what: str, kept: bool, fake: Fake, path: Path) -> None:
    error, given = NO_SUBMISSION[what]
    call = {"name": "once", "reports": many(2), **given}
    with pytest.raises(error):
        Sender(fake.url, path if kept else None).submit(**call)
    assert not fake.bodies and not list(path.parent.glob("*.batch*"))


def test_a_gateway_sends_later_what_was_kept(fake: Fake, path: Path) -> None:
    one, reports = Sender(fake.url, path), many(2500)
    fake.script = [lost] + [status(500)] * 1000
    with pytest.raises(NotDelivered, match=r"The reports are kept and will be sent by flush\(\)"):
        one.submit("once", reports, timeout=5.0)
    (waiting,) = path.parent.glob("outbox.*.batch")
    assert stat.S_IMODE(waiting.stat().st_mode) == 0o600 and len(waiting.name) == 29
    fake.script = []
    assert Sender(fake.url, path).flush() == 2500
    assert sorted(fake.counted.values()) == sorted(reports) and not waiting.exists()
    fake.script = [status(500)] * 1000
    with pytest.raises(NotDelivered, match="with the same ids"):
        Sender(fake.url).submit("once", reports, timeout=5.0)


def test_equal_surveys_keep_their_names(fake: Fake, path: Path) -> None:
    """Check that reports of two surveys with one digest wait for their own survey."""
    fake.surveys["twice"] = ONCE
    one = Sender(fake.url, path)
    reports = {"once": many(3), "twice": many(5)}
    for name, each in reports.items():
        fake.script = [status(500)] * 1000
        with pytest.raises(NotDelivered):
            one.submit(name, each, timeout=5.0)
    fake.script, fake.closed = [], {"once"}
    with pytest.raises(Refused, match="closed"):
        one.flush()
    assert sorted(fake.counted.values()) == sorted(reports["twice"])
    fake.closed = set()
    assert one.flush() == 3 and len(fake.counted) == 8


def test_refused_files_are_kept_and_not_sent_again(fake: Fake, path: Path) -> None:
    one, reports = Sender(fake.url, path), many(3)
    with pytest.raises(Refused, match="The round is closed"):
        one.submit("once", reports, round=5)
    (refused,) = path.parent.glob("outbox.*.batch.refused")
    assert read_header(refused.read_bytes()).round == 5
    assert one.flush() == 0 and not fake.counted
    fake.script = [status(403, "forbidden")]
    with pytest.raises(Refused):
        one.submit("once", reports)
    assert len(list(path.parent.glob("outbox.*.batch"))) == 1
    assert one.flush() == 3


def test_spool_files_of_others(fake: Fake, path: Path) -> None:
    """Check that a file that another process sends is left to it, and unknown files are errors."""
    one = Sender(fake.url, path)
    fake.script = [status(500)] * 1000
    with pytest.raises(NotDelivered):
        one.submit("once", many(3), timeout=5.0)
    fake.script = []
    (waiting,) = path.parent.glob("outbox.*.batch")
    with spool.hold_spool(str(waiting)) as file:
        assert file is not None and one.flush() == 0
    part = path.parent / "outbox.0123456789abcdef.batch.new"
    part.write_bytes(b"MFLB")
    part.chmod(0o600)
    with spool.create_spool(str(path), "once", b"") as (own, _):
        assert one.flush() == 3 and os.path.exists(own)
    os.unlink(own)
    assert not part.exists() and not waiting.exists()
    foreign = path.parent / "outbox.0123456789abcdef.batch"
    for content in (b"", b"MFLB", bytes(25) + b"x" * 100):
        foreign.write_bytes(content)
        foreign.chmod(0o600)
        with pytest.raises(ValueError, match="cannot be used: (the body|its survey)"):
            one.flush()
        assert foreign.read_bytes() == content
    with spool.hold_spool(str(path.parent / "none")) as file:
        assert file is None


def test_a_full_disk_submits_nothing(
    fake: Fake, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, reports = Sender(fake.url, path), many(3)
    one.submit("once", reports)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            one.submit("once", reports)
    assert len(fake.counted) == 3 and not list(path.parent.glob("*.batch*"))


def test_rounds_of_a_history(fake: Fake) -> None:
    """Check that a gateway's reports are those of their round."""
    fake.accepted["year"] = [1]
    table = YEAR.panel(300).report({"a": ["x"] * 300}, round=1)
    sent = list(table["report"])
    assert Sender(fake.url).submit("year", sent, round=1) == (len(sent), 0)
    with pytest.raises(ValueError, match="no report|report"):
        Sender(fake.url).submit("year", [b"\xff" * len(sent[0])], round=1)
    assert len(np.unique(sent)) > 1
