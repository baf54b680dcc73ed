"""Tests of the command that watches a survey in the terminal."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from multi_freq_ldpy.cli import watching
from multi_freq_ldpy.service.following import follow, open_stream, read_events
from multi_freq_ldpy.service.remote import Refused, Remote

from .conftest import ONCE
from .harness import TOKEN, Server, serving
from .test_api import batch as make_batch
from .test_api import draw
from .test_commands import run

PROGRAM = "from multi_freq_ldpy.cli import main; main()"


@contextmanager
def watching_process(*arguments: str, token: str | None = TOKEN) -> Iterator[Any]:
    """Run the command for a block."""
    environment = dict(os.environ) | ({} if token is None else {"MULTI_FREQ_LDPY_TOKEN": token})
    command = [sys.executable, "-c", PROGRAM, "watch", *arguments]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def send(server: Server, many: int) -> None:
    """Send reports."""
    body = make_batch(ONCE, draw(ONCE, many))
    assert server.ask("POST", "/v1/surveys/smoking/reports", body)[0] == 200


def wait_for(process: Any, users: int) -> Any:
    """Return the line with this number of users."""
    for line in process.stdout:
        found = json.loads(line)
        if found["rounds"][0]["users"] == users:
            return found
    raise AssertionError(process.stderr.read())


@pytest.mark.slow
@pytest.mark.process
def test_watch(tmp_path: Path, files: list[Path]) -> None:
    """Check that each change is a line, also after a lost connection, until the survey closes."""
    with serving(f"sqlite:///{tmp_path}/a.sqlite", files) as server:
        url = f"http://127.0.0.1:{server.port}"
        with watching_process(url, "smoking", "--json", "--method", "norm") as process:
            found = wait_for(process, 0)
            assert (found["method"], found["state"]) == ("norm", "open")
            send(server, 5)
            wait_for(process, 5)
            server.kill()
            server.start()
            send(server, 2)
            wait_for(process, 7)
            server.ask("PATCH", "/v1/surveys/smoking", {"state": "closed"})
            assert wait_for(process, 7)["state"] == "closed"
            assert process.wait(60) == 0 and not process.stderr.read()
        said = run("watch", url, "smoking")
        assert "smoking is closed, round 0: 7 reports (final)" in said
        for values in ONCE.attributes.values():
            assert all(str(each) in said for each in values)
        assert "95 % interval" in said


@pytest.mark.slow
@pytest.mark.process
def test_watch_ends(tmp_path: Path, files: list[Path]) -> None:
    """Check that the command ends with Ctrl-C, with a deleted survey, and with what is refused."""
    with serving(f"sqlite:///{tmp_path}/a.sqlite", files) as server:
        url = f"http://127.0.0.1:{server.port}"
        with watching_process(url, "smoking", "--json") as process:
            wait_for(process, 0)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0 and not process.stderr.read()
        assert "needs a token" in run("watch", url, "smoking", token=None, code=2)
        assert "no survey of this name" in run("watch", url, "none", code=2)
        server.ask("POST", "/v1/surveys", {"name": "gone", "spec": ONCE.to_spec(), "public": True})
        with watching_process(url, "gone", "--json") as process:
            server.ask("PATCH", "/v1/surveys/gone", {"state": "open"})
            line = json.loads(process.stdout.readline())
            assert line["survey"] == "gone"
            server.ask("PATCH", "/v1/surveys/gone", {"state": "closed"})
            assert process.wait(60) == 0
    run("watch", "http://127.0.0.1:1", "a", code=2)
    run("watch", "no address", "a", code=2)
    for option in (["--method", "em"], ["--level", "1"]):
        run("watch", "http://127.0.0.1:1", "a", *option, code=2)


WRONG: dict[str, list[bytes]] = {
    "nothing": [],
    "a comment": [b": hello\n", b"\n"],
    "not complete": [b"event: estimate\n", b"data: {}\n"],
    "no data": [b"event: ping\n", b"\n"],
}


@pytest.mark.parametrize("name", WRONG)
def test_lines_that_are_no_event(name: str) -> None:
    """Check that lines which are no event are left out."""
    assert list(read_events(WRONG[name])) == []


def test_data_that_is_no_json() -> None:
    """Check that data of another program is refused."""
    with pytest.raises(OSError, match="no event"):
        list(read_events([b"event: estimate\r\n", b"data: <html>\r\n", b"\r\n"]))


@pytest.mark.parametrize("last", [None, "7"])
def test_what_a_stream_asks_for(last: str | None) -> None:
    """Check the headers of a request for a stream."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                asked.append(connection.recv(2**16).lower())
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nevent: ping\n")

        thread = threading.Thread(target=answer)
        thread.start()
        remote = Remote(f"http://127.0.0.1:{listening.getsockname()[1]}", TOKEN)
        with open_stream(remote, "/v1/surveys/a/events", last) as lines:
            assert list(lines) == [b"event: ping\n"]
        thread.join()
    assert asked[0].startswith(b"get /v1/surveys/a/events ")
    assert f"authorization: bearer {TOKEN}".lower().encode() in asked[0]
    assert (b"last-event-id: 7\r\n" in asked[0]) == (last is not None)


def test_following_waits_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that lost connections are made again with growing pauses, after the last event."""
    from multi_freq_ldpy.service import following

    asked: list[str | None] = []
    data = b'data: {"state": "%s"}\n'
    event = [b"event: estimate\n", b"id: 1\n", data % b"open", b"\n"]
    end = [b"event: estimate\n", b"id: 2\n", data % b"closed", b"\n"]
    answers: list[Any] = [event, Refused(503, "x"), OSError("x"), [], Refused(429, "x"), end]

    @contextmanager
    def open_stream(_: Any, path: str, last: str | None) -> Iterator[Any]:
        asked.append(last)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    pauses: list[float] = []
    monkeypatch.setattr(following, "open_stream", open_stream)
    monkeypatch.setattr(following.random, "uniform", lambda low, high: high)
    found = list(follow(Remote(), "a", pause=pauses.append))
    assert [each["state"] for each in found] == ["open", "closed"]
    assert asked == [None, "1", "1", "1", "1", "1"] and pauses == [1, 2, 4, 8, 16]
    for refusal in (Refused(401, "x"), OSError("x")):
        answers[:] = [refusal]
        with pytest.raises(type(refusal)):
            list(follow(Remote(), "a"))


def test_what_is_drawn() -> None:
    """Check a table with markup in labels, missing figures and many categories."""
    values: list[dict[str, Any]] = [
        {"label": f"[red]{i}", "frequency": None, "std": None, "low": None, "high": None}
        for i in range(50)
    ]
    values[0] |= {"frequency": -0.02, "low": -0.1, "high": 0.06}
    rounds = [
        {"round": 3, "users": 1234, "needed": 77, "attributes": [{"name": "a", "values": values}]}
    ]
    found = {"survey": "x", "state": "open", "released": True, "level": 0.9, "rounds": rounds}
    console = Console(width=100, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        console.print(watching.draw_estimates(found))
    said = capture.get()
    for part in (
        "x is open, round 3: 1,234 reports (release)",
        "[red]39",
        "-2.0",
        "90 % interval",
    ):
        assert part in said, said
    assert "[red]40" not in said and "… and 10 more" in said and "77 further" in said
