"""Tests of live estimates: what a stream sends, when it ends, and what it costs."""

import asyncio
import contextlib
import http.client
import json
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy.service import events, reading
from multi_freq_ldpy.service.store import Store, Unavailable

from .harness import AUTHORIZED, TOKEN, Server, serving
from .test_api import ONCE, WAVES, App, app, check_problem, draw

__all__ = ["app"]

PATIENCE = 60.0
MOST_PINGS = 100
PATH = "/v1/surveys/a/events"
LATEST = "/v1/surveys/a/rounds/latest/estimate"


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often than once per second."""
    monkeypatch.setattr(events, "PERIOD", 0.02)
    monkeypatch.setattr(events, "PING", 0.3)


class Watching:
    """Someone who watches a survey, and may stop to take what is sent."""

    def __init__(
        self, app: App, query: str = "", token: str | None = TOKEN, last: str | None = None
    ) -> None:
        self._app, self._query = app, query
        self._headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        self._headers += [] if last is None else [(b"last-event-id", last.encode())]
        self._parts: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._held = threading.Event()
        self._left: asyncio.Event | None = None
        self._running = app.portal.start_task_soon(self._run)
        self.status: int = self._take()["status"]
        self.taken: list[tuple[str, str, Any]] = []

    async def _run(self) -> None:
        left = self._left = asyncio.Event()
        given = False

        async def receive() -> Any:
            nonlocal given
            if given:
                await left.wait()
                return {"type": "http.disconnect"}
            given = True
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            while self._held.is_set():
                await asyncio.sleep(0.01)
            self._parts.put(message)

        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": PATH,
            "raw_path": PATH.encode(),
            "query_string": self._query.encode(),
            "root_path": "",
            "headers": self._headers,
            "client": ("127.0.0.1", 1),
            "server": None,
        }
        await self._app.service(scope, receive, send)
        self._parts.put(None)

    def _take(self) -> Any:
        return self._parts.get(timeout=PATIENCE)

    def next(self, ping: bool = False) -> Any:
        """Return kind, id and data of the next event, or None at the end of the stream."""
        pings = 0
        while (message := self._take()) is not None:
            text = message.get("body", b"").decode()
            pings += "event: ping" in text
            assert pings < MOST_PINGS, "nothing comes"
            if not text or text.startswith("retry: "):
                continue
            fields = dict(line.split(": ", 1) for line in text.strip().split("\n"))
            if fields["event"] == "ping" and not ping:
                continue
            return fields["event"], fields.get("id", ""), json.loads(fields["data"])
        return None

    def wait_for(self, users: int) -> tuple[str, str, Any]:
        """Return the event with this number of users. Earlier ones have fewer."""
        while (found := self.next()) is not None:
            assert found[0] == "estimate" and found[2]["rounds"][-1]["users"] <= users
            if found[2]["rounds"][-1]["users"] == users:
                return found
        raise AssertionError("the stream has ended")

    def hold(self) -> None:
        """Take nothing more."""
        self._held.set()

    def leave(self) -> None:
        """Close the connection."""
        self._held.clear()
        if self._left is not None:
            self._app.portal.call(self._left.set)
        self._running.result(PATIENCE)


@contextlib.contextmanager
def watching(app: App, **options: Any) -> Iterator[Watching]:
    """Watch for a block."""
    made = Watching(app, **options)
    try:
        yield made
    finally:
        made.leave()


def test_estimates_come_on_change_only(app: App) -> None:
    """Check that events are the answers of GET, and come exactly if these change."""
    app.create("a", WAVES)
    with watching(app) as own, watching(app, query="level=0.5&method=norm_sub") as other:
        seen = [own.next()]
        assert other.next()[2]["method"] == "norm_sub"
        assert seen[0][2] == app.ask("GET", LATEST).json()
        for _ in range(3):
            assert own.next(ping=True) == ("ping", "", {})
        app.send("a", WAVES, draw(WAVES, 7))
        seen.append(own.wait_for(7))
        assert seen[1][2] == app.ask("GET", LATEST).json()
        query = "?level=0.5&method=norm_sub"
        assert other.wait_for(7)[2] == app.ask("GET", LATEST + query).json()
        app.ask("POST", "/v1/surveys/a/rounds", {"number": 1})
        seen.append(own.next())
        assert seen[2][2]["rounds"][0] | {"attributes": []} == {
            "round": 1,
            "users": 0,
            "attributes": [],
            "needed": seen[2][2]["rounds"][0]["needed"],
            "influence": None,
        }
        app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
        seen.append(own.next())
        assert seen[3][2]["state"] == "closed"
        assert len({identity for _, identity, _ in seen}) == 4
    with watching(app) as again:
        assert again.next() == seen[3]
    with watching(app, last=seen[3][1]) as again:
        assert again.next(ping=True)[0] == "ping"
    with watching(app, last=seen[2][1]) as again:
        assert again.next(ping=True) == seen[3]


def test_what_the_public_watches(app: App) -> None:
    """Check that counting is not seen without a token, until a release moves."""
    app.create("a", ONCE, public=True, min_users=5, step=3)
    with watching(app, token=None) as public, watching(app) as live:
        live.wait_for(0)
        for sent in range(1, 10):
            app.send("a", ONCE, draw(ONCE, 1))
            live.wait_for(sent)
            if sent in (5, 8):
                kind, _, data = public.next()
                assert (kind, data["released"], data["version"]) == ("estimate", True, sent)
            else:
                assert public.next(ping=True)[0] == "ping"
        app.ask("PATCH", "/v1/surveys/a", {"min_users": 50})
        assert public.next(ping=True)[0] == "ping"
        with watching(app, token=None) as late:
            assert late.next(ping=True)[0] == "ping"  # there is no release that may be shown
        app.ask("PATCH", "/v1/surveys/a", {"public": False})
        assert public.next() is None
        app.send("a", ONCE, draw(ONCE, 1))
        live.wait_for(10)


def test_many_watch_at_the_cost_of_one(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that looks and estimates do not grow with the number of streams."""
    made: list[Any] = []
    estimate = reading.estimate
    monkeypatch.setattr(reading, "estimate", lambda view: made.append(view) or estimate(view))
    written: list[Any] = []
    write = events._write_event
    monkeypatch.setattr(
        events, "_write_event", lambda *given: written.append(given) or write(*given)
    )
    looking: list[int] = []
    look = events._look

    def look_alone(*given: Any) -> Any:
        looking.append(1)
        assert len(looking) == 1, "two looks at the same time"
        try:
            return look(*given)
        finally:
            looking.pop()

    monkeypatch.setattr(events, "_look", look_alone)
    app.create("a", ONCE)
    with contextlib.ExitStack() as held:
        many = [held.enter_context(watching(app)) for _ in range(30)]
        other = held.enter_context(watching(app, query="level=0.9"))
        for each in [*many, other]:
            each.wait_for(0)
        app.send("a", ONCE, draw(ONCE, 4))
        for each in [*many, other]:
            each.wait_for(4)
        assert (len(made), len(written)) == (2, 4)
        assert len(app.service.events._feeds) == 1 and app.service.events.watching == 31
    assert app.service.events.watching == 0 and not app.service.events._feeds


def test_the_number_of_streams_is_limited(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that one stream too many is refused, and that a closed one makes room."""
    monkeypatch.setattr(events, "MOST_WATCHING", 2)
    app.create("a", ONCE)
    with watching(app), watching(app) as second:
        refused = app.ask("GET", PATH)
        check_problem(refused, "too-busy")
        assert refused.headers["Retry-After"] == "1"
        second.leave()
        with watching(app) as third:
            assert third.status == 200 and third.next() is not None


def test_a_slow_reader_holds_nobody(app: App) -> None:
    """Check that a client which takes nothing delays no other, and gets the present state."""
    app.create("a", ONCE)
    with watching(app) as slow, watching(app) as other:
        for each in (slow, other):
            each.wait_for(0)
        slow.hold()
        for sent in range(1, 6):
            app.send("a", ONCE, draw(ONCE, 1))
            other.wait_for(sent)
        slow._held.clear()
        slow.wait_for(5)


def test_streams_of_a_deleted_survey_end(app: App) -> None:
    """Check that streams end with their survey, also if another one gets its name."""
    for again in (False, True):
        app.create("a", ONCE)
        app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
        with watching(app) as own:
            own.wait_for(0)
            assert app.ask("DELETE", "/v1/surveys/a?confirm=a").status_code == 204
            if again:
                app.create("a", WAVES)
            while (found := own.next()) is not None:
                assert found[2]["digest"] == ONCE.digest


def test_a_stream_ends_with_its_token(app: App) -> None:
    """Check that a revoked token ends its streams, and no others."""
    app.create("a", ONCE)
    made = app.ask("POST", "/v1/tokens", {"scope": "analyst"}).json()
    with watching(app, token=made["token"]) as own, watching(app) as other:
        own.wait_for(0)
        other.wait_for(0)
        app.ask("DELETE", f"/v1/tokens/{made['hash']}")
        assert own.next() is None
        app.send("a", ONCE, draw(ONCE, 1))
        other.wait_for(1)


def test_a_stream_goes_on_after_a_failure(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a database that does not answer, or a fault, ends no stream."""
    app.create("a", ONCE)
    look, failing = events._look, [Unavailable("x"), RuntimeError("x")]

    def fail(*given: Any) -> Any:
        if failing:
            raise failing.pop()
        return look(*given)

    with watching(app) as own:
        own.wait_for(0)
        monkeypatch.setattr(events, "_look", fail)
        app.send("a", ONCE, draw(ONCE, 2))
        own.wait_for(2)
        assert not failing


def test_streams_end_when_the_service_stops(app: App) -> None:
    """Check that streams end, and that no new one begins."""
    app.create("a", ONCE)
    with watching(app) as own:
        own.wait_for(0)
        app.portal.call(app.service.stop)
        assert own.next() is None
    check_problem(app.ask("GET", PATH), "too-busy")


def test_other_processes_are_seen(app: App) -> None:
    """Check that reports which another process counts are seen."""
    app.create("a", ONCE)
    other = Store(str(app.store.url), alone=False)
    with watching(app) as own:
        own.wait_for(0)
        from .test_release import submit

        with app.store.read() as connection:
            served = events.find_survey(connection, "a", "admin")[0]
        submit(other, served, draw(ONCE, 3), 7)
        own.wait_for(3)
    other.close()


# Processes


@contextlib.contextmanager
def stream(
    server: Server, headers: dict[str, str] = AUTHORIZED
) -> Iterator[http.client.HTTPResponse]:
    """Open a stream of a service for a block."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", "/v1/surveys/smoking/events", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["Cache-Control"] == "no-store"
    while not answer.readline().startswith(b"data: "):
        pass
    try:
        yield answer
    finally:
        answer.close()
        connection.close()


@pytest.mark.slow
@pytest.mark.process
def test_open_streams_do_not_hold_up_the_end(
    database: str, files: list[Path], tmp_path: Path
) -> None:
    """Check that a service with open streams ends by itself, and that the streams are complete.

    Otherwise it would cancel them after the time in which requests end, and log that.
    """
    log, workers = tmp_path / "log", 1 if database.startswith("sqlite") else 2
    with (
        contextlib.ExitStack() as held,
        serving(database, files, log=log, workers=workers) as server,
    ):
        answers = [held.enter_context(stream(server)) for _ in range(5)]
        assert server.stop() in (0, -15)
        for each in answers:
            each.read()  # an incomplete stream raises
    assert b"Cancel" not in log.read_bytes() and b"Traceback" not in log.read_bytes()
