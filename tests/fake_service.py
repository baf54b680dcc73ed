"""A small service in a thread, which loses answers, fails and lies as it is told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.batch import HEADER, count_records, read_header
from multi_freq_ldpy.service.schedule import Schedule, find_last_round

Answer = Callable[["Handler"], bool]
"""It answers a request in a wrong way, and returns True if the reports are counted first."""


@dataclass
class Fake:
    """Surveys by name, what the service does with the next requests, and what it has received."""

    surveys: dict[str, Survey]
    schedules: dict[str, Schedule] = field(default_factory=dict)
    accepted: dict[str, list[int]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    script: list[Answer] = field(default_factory=list)
    asked: list[Answer] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    counted: dict[bytes, bytes] = field(default_factory=dict)
    url: str = ""
    now: Callable[[], float] = time.time

    def describe(self, name: str) -> dict[str, Any]:
        """Return the JSON of a survey."""
        survey, schedule = self.surveys[name], self.schedules.get(name)
        last = find_last_round(survey)
        open_now = self.accepted.get(name, [0])
        if schedule is not None:
            open_now = schedule.accepted(self.now(), last)
        return {
            "name": name,
            "digest": survey.digest,
            "state": "closed" if name in self.closed else "open",
            "spec": survey.to_spec(),
            "schedule": None if schedule is None else vars(schedule),
            "accepted": [] if name in self.closed else open_now,
        }

    def count(self, name: str, body: bytes) -> tuple[int, Any]:
        """Return the status and the content of the answer to a body."""
        survey, (digest, number) = self.surveys[name], read_header(body)
        about = self.describe(name)
        if digest != survey.digest:
            return 409, problem("wrong-survey", "The reports are of another survey.")
        if about["state"] != "open":
            return 409, problem("not-open", "The survey is closed.")
        if number not in about["accepted"]:
            return 409, problem("round-closed", "The round is closed.")
        at = number if survey.rounds is not None else None
        size = survey._at(at).report_bytes
        many, before = count_records(body, size), len(self.counted)
        for i in range(HEADER.size, len(body), 16 + size):
            self.counted.setdefault(body[i : i + 16], body[i + 16 : i + 16 + size])
        new = len(self.counted) - before
        return 200, {"counted": new, "duplicates": many - new}


def problem(kind: str, detail: str) -> dict[str, str]:
    """Return the content of a refusal."""
    return {"type": f"/problems/{kind}", "detail": detail}


class Handler(BaseHTTPRequestHandler):
    """Answers of a fake service."""

    protocol_version = "HTTP/1.1"
    fake: Fake

    def log_message(self, *_: Any) -> None:
        pass

    def say(self, status: int, content: Any, **headers: str) -> None:
        """Send an answer. Content that is not bytes becomes JSON."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        name = self.path.split("/")[3]
        assert "Authorization" not in self.headers  # tokens are for reports
        if self.fake.asked:
            self.fake.asked.pop(0)(self)
        elif name not in self.fake.surveys:
            self.say(404, problem("not-found", "There is no survey of this name."))
        else:
            self.say(200, self.fake.describe(name))

    def do_POST(self) -> None:
        name = self.path.split("/")[3]
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.fake.bodies.append(self.body)
        self.fake.tokens.append(self.headers["Authorization"])
        if self.fake.script:
            if self.fake.script.pop(0)(self):
                self.fake.count(name, self.body)
            return
        self.say(*self.fake.count(name, self.body))


def status(number: int, kind: str = "", **headers: str) -> Answer:
    """Return a refusal."""

    def answer(handler: Handler) -> bool:
        handler.say(number, problem(kind, "Not now.") if kind else b"<html>", **headers)
        return False

    return answer


def garbage(content: bytes, counted: bool = False) -> Answer:
    """Return an answer of 200 that is not of a service."""

    def answer(handler: Handler) -> bool:
        handler.say(200, content)
        return counted

    return answer


def broken(handler: Handler) -> bool:
    """End the connection before the request counts."""
    handler.close_connection = True
    return False


def lost(handler: Handler) -> bool:
    """Count the reports, and end the connection before the answer."""
    handler.close_connection = True
    return True


def half(handler: Handler) -> bool:
    """Count the reports, and send a part of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "40")
    handler.end_headers()
    handler.wfile.write(b'{"counted": 1')
    handler.close_connection = True
    return True


def redirect(handler: Handler) -> bool:
    """Send the request elsewhere, in the way that most programs follow."""
    handler.say(302, b"", Location=f"{handler.fake.url}/v1/surveys/once")
    return False


@contextmanager
def faking(**fields: Any) -> Iterator[Fake]:
    """Run a fake service for a block."""
    fake = Fake(**fields)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"fake": fake}))
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
