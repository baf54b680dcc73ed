"""Tests of the interface over HTTP: routes, codes, states, rounds, tokens, estimates, groups."""

import asyncio
import hashlib
import json
import math
import random
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from anyio.from_thread import BlockingPortal, start_blocking_portal

from multi_freq_ldpy import GRR, OUE, RSFD, SPL, DBitFlipPM, Once, Survey, Tally, influence
from multi_freq_ldpy.service import (
    api,
    auth,
    estimates,
    groups,
    rounds,
    schema,
    server,
    surveys,
    writer,
)
from multi_freq_ldpy.service import store as store_module
from multi_freq_ldpy.service.batch import HEADER, write_batch
from multi_freq_ldpy.service.groups import Counted, NotAccepted, NotReports, Submission
from multi_freq_ldpy.service.problems import MEDIA, TITLES
from multi_freq_ldpy.service.server import Service, prepare
from multi_freq_ldpy.service.store import Store
from multi_freq_ldpy.service.surveys import Schedule, Served

from .harness import TOKEN

ATTRIBUTES: dict[str, list[Any]] = {"smokes": ["yes", "no"], "age": [30, 41, 52]}
ONCE = Survey(ATTRIBUTES, epsilon=2.0)
OTHER = Survey({"wealthy": ["yes", "no"], "class": ["a", "b", "c"]}, epsilon=2.0)
WAVES = Survey(ATTRIBUTES, eps_perm=3.0, eps_1=1.0)
YEAR = Survey(ATTRIBUTES, epsilon=2.0, rounds=3, changes=1)

STREAM = b"text/event-stream; charset=utf-8"
Fault = Callable[[pytest.MonkeyPatch], None]


class Leaving:
    """An application whose clients leave a stream of events after its first part."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        left, streaming, read = asyncio.Event(), False, False

        async def receive_or_leave() -> Any:
            nonlocal read
            if read:
                await left.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            read = not message.get("more_body")
            return message

        async def send_and_leave(message: Any) -> None:
            nonlocal streaming
            if message["type"] == "http.response.start":
                streaming = (b"content-type", STREAM) in message["headers"]
            await send(message)
            if streaming and message.get("body"):
                left.set()

        await self.service(scope, receive_or_leave, send_and_leave)
        if left.is_set():
            await send({"type": "http.response.body", "body": b""})


class App:
    """A service in this process, and requests to it without a network."""

    def __init__(self, service: Service, portal: BlockingPortal) -> None:
        self.service, self.store, self.portal = service, service.store, portal
        self.leaving = Leaving(service)
        transport = httpx.ASGITransport(self.leaving)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def ask(
        self,
        method: str,
        path: str,
        content: Any = None,
        token: str | None = TOKEN,
        **headers: str,
    ) -> httpx.Response:
        """Return the answer to a request with bytes, or with JSON."""
        own = {} if token is None else {"Authorization": f"Bearer {token}"}
        if content is not None:
            binary = isinstance(content, bytes)
            own["Content-Type"] = "application/octet-stream" if binary else "application/json"
            content = content if binary else json.dumps(content).encode()
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.portal.call(self._send, method, path, content, own)

    async def _send(self, method: str, path: str, content: Any, headers: Any) -> httpx.Response:
        return await self._client.request(method, path, content=content, headers=headers)

    def create(self, name: str, survey: Survey, state: str = "open", **more: Any) -> None:
        """Create a survey, and bring it to a state."""
        content = {"name": name, "spec": survey.to_spec(), **more}
        assert self.ask("POST", "/v1/surveys", content).status_code == 201
        for each in ("open", "closed")[: ("draft", "open", "closed").index(state)]:
            changed = self.ask("PATCH", f"/v1/surveys/{name}", {"state": each})
            assert changed.status_code == 200 and changed.json()["state"] == each

    def send(
        self, name: str, survey: Survey, reports: Sequence[bytes], round: int = 0
    ) -> httpx.Response:
        """Send reports with new ids."""
        return self.ask("POST", f"/v1/surveys/{name}/reports", batch(survey, reports, round))

    def users(self, name: str) -> list[int]:
        """Return the number of users of each round."""
        return [each["users"] for each in self.ask("GET", f"/v1/surveys/{name}/rounds").json()]


@contextmanager
def quick() -> Iterator[None]:
    """Open databases that do not wait for the disk. No process is killed here."""
    with pytest.MonkeyPatch.context() as patch:
        pragmas = [each.replace("= FULL", "= OFF") for each in store_module.PRAGMAS]
        patch.setattr(store_module, "PRAGMAS", pragmas)
        yield


@contextmanager
def running(database: str, files: Sequence[Path] = (), token: str = TOKEN) -> Iterator[App]:
    """Run a service in this process for a block."""
    with quick():
        store = Store(database)
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(auth.FROM_ENVIRONMENT, token)
                prepare(store, files)
        except ValueError:
            store.close()
            raise
        service = Service(store)
        lifespan = service.api.router.lifespan_context(service.api)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(lifespan):
            yield App(service, portal)


@pytest.fixture
def app(database: str) -> Iterator[App]:
    """Return a service without surveys."""
    with running(database) as made:
        yield made


def batch(survey: Survey, reports: Sequence[bytes], round: int = 0) -> bytes:
    """Return a body of reports with new ids."""
    records = [(secrets.token_bytes(16), each) for each in reports]
    return write_batch(survey.digest, round, records)


def draw(survey: Survey, many: int, round: int = 0, seed: int = 1) -> list[bytes]:
    """Return reports of users with different answers."""
    solution = survey.solution if survey.rounds is None else survey.solution.at(round)
    generator = random.Random(seed)
    if survey.rounds is not None:
        panel = survey.panel(many)
        table = {name: generator.choices(v, k=many) for name, v in survey.attributes.items()}
        reports = [panel.report(table, round=at)["report"] for at in range(round + 1)][-1]
        return [bytes(each) for each in reports if each is not None]
    answers = [[generator.randrange(k) for k in solution.ks] for _ in range(many)]
    data, size = solution.randomize(answers).tobytes(), solution.report_bytes
    return [data[i : i + size] for i in range(0, len(data), size)]


def check_problem(answer: httpx.Response, kind: str) -> None:
    """Check that an answer is a problem with all its fields."""
    status, title = TITLES[kind]
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == MEDIA
    found = answer.json()
    assert (found["type"], found["title"]) == (f"/problems/{kind}", title)
    assert found["status"] == status
    assert found["detail"].strip() and set(found) >= {"type", "title", "status", "detail"}


# Routes and who may use them

PUBLIC, READER, ADMIN = "public", "reader", "admin"
ROUTES: dict[str, tuple[str, str, Any, str, int]] = {
    "health": ("GET", "/healthz", None, PUBLIC, 200),
    "readiness": ("GET", "/readyz", None, PUBLIC, 200),
    "list": ("GET", "/v1/surveys", None, READER, 200),
    "create": ("POST", "/v1/surveys", {"name": "a", "spec": ONCE.to_spec()}, ADMIN, 200),
    "show": ("GET", "/v1/surveys/a", None, PUBLIC, 200),
    "change": ("PATCH", "/v1/surveys/a", {"state": "open"}, ADMIN, 200),
    "delete": ("DELETE", "/v1/surveys/draft", None, ADMIN, 204),
    "send": ("POST", "/v1/surveys/a/reports", batch(ONCE, draw(ONCE, 1)), PUBLIC, 200),
    "rounds": ("GET", "/v1/surveys/a/rounds", None, READER, 200),
    "next": ("POST", "/v1/surveys/a/rounds", {"number": 0}, ADMIN, 200),
    "estimate": ("GET", "/v1/surveys/a/rounds/0/estimate", None, READER, 200),
    "events": ("GET", "/v1/surveys/a/events", None, READER, 200),
    "metrics": ("GET", "/metrics", None, READER, 200),
    "plan": ("POST", "/v1/plan", {"spec": ONCE.to_spec(), "users": 100}, READER, 200),
    "tally": ("GET", "/v1/surveys/a/rounds/latest/tally", None, READER, 200),
    "invites": ("POST", "/v1/surveys/kept/invites", {"count": 2}, ADMIN, 201),
    "merge": (
        "POST",
        "/v1/surveys/a/rounds/0/tallies",
        bytes(16) + ONCE.pack(ONCE.tally(draw(ONCE, 3))),
        ADMIN,
        200,
    ),
    "export": ("GET", "/v1/surveys/kept/rounds/0/reports.parquet", None, ADMIN, 200),
    "scope": ("GET", "/v1/scope", None, PUBLIC, 200),
    "tokens": ("GET", "/v1/tokens", None, ADMIN, 200),
    "token": ("POST", "/v1/tokens", {"scope": "analyst"}, ADMIN, 201),
    "revoke": ("DELETE", f"/v1/tokens/{auth.hash_token('gone')}", None, ADMIN, 404),
}


def test_who_may_use_each_route(app: App) -> None:
    """Check every route with every kind of token."""
    app.create("a", ONCE)
    app.create("kept", ONCE, keep=True, submission="invite")
    made = app.ask("POST", "/v1/tokens", {"scope": "analyst", "note": "one"}).json()
    sender = app.ask("POST", "/v1/tokens", {"scope": "submit", "survey": "a"}).json()
    gone = app.ask("POST", "/v1/tokens", {"scope": "admin"}).json()
    assert made["hash"] == hashlib.sha256(made["token"].encode()).hexdigest()
    assert len(made["token"]) == 43
    assert app.ask("DELETE", f"/v1/tokens/{gone['hash']}").status_code == 204
    for method, path, content, who, status in ROUTES.values():
        app.ask("POST", "/v1/surveys", {"name": "draft", "spec": ONCE.to_spec()})
        answer = app.ask(method, path, content, token=None)
        if who == PUBLIC:
            assert answer.status_code == status, (path, answer.text)
        else:
            check_problem(answer, "no-token")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            wrong = "x" * 43, "", TOKEN[:-1], TOKEN.upper(), gone["token"], made["hash"]
            for each in wrong:
                refused = app.ask(method, path, content, token=each)
                check_problem(refused, "no-token")
            basic = app.ask(method, path, content, token=None, Authorization=f"Basic {TOKEN}")
            check_problem(basic, "no-token")
            check_problem(app.ask(method, path, content, token=sender["token"]), "forbidden")
            answer = app.ask(method, path, content, token=made["token"])
            if who == READER:
                assert answer.status_code == status, (path, answer.text)
            else:
                check_problem(answer, "forbidden")
        answer = app.ask(method, path, content)
        assert answer.status_code == status, (path, answer.text)


def test_scopes_and_tokens_are_listed(app: App) -> None:
    """Check that a token can ask for its scope, and that admins see all tokens by their hashes."""
    app.create("a", ONCE)
    made = {}
    for content in (
        {"scope": "admin", "note": "zoe"},
        {"scope": "analyst", "note": "ann"},
        {"scope": "submit", "survey": "a", "note": "door"},
    ):
        made[content["scope"]] = app.ask("POST", "/v1/tokens", content).json()
        own = app.ask("GET", "/v1/scope", token=made[content["scope"]]["token"])
        assert own.json() == {"scope": content["scope"]}
    assert app.ask("GET", "/v1/scope", token=None).json() == {"scope": None}
    check_problem(app.ask("GET", "/v1/scope", token="x" * 43), "no-token")
    app.ask("DELETE", f"/v1/tokens/{made['analyst']['hash']}")
    listed = app.ask("GET", "/v1/tokens").json()
    rows = [(each["scope"], each["survey"], each["note"], each["revoked"]) for each in listed]
    assert sorted(rows, key=str) == [
        ("admin", None, auth.FROM_ENVIRONMENT, False),
        ("admin", None, "zoe", False),
        ("analyst", None, "ann", True),
        ("submit", "a", "door", False),
    ]
    assert {made[scope]["hash"] for scope in made} < {each["hash"] for each in listed}
    assert not any(made[scope]["token"] in str(listed) for scope in made)


@pytest.mark.filterwarnings("ignore:a budget of")
@pytest.mark.parametrize("epsilon", [0.05, 1.1, math.log(8), 2.0, 3.7, 6.91, 12.3, 29.0])
def test_promises_are_never_too_small(epsilon: float) -> None:
    """Check that the numbers of the promise are rounded up, and by less than one per cent."""
    again = Survey(ATTRIBUTES, eps_perm=epsilon, eps_1=epsilon / 2)
    for survey, losses in (
        (Survey(ATTRIBUTES, epsilon=epsilon), [epsilon]),
        (again, [again.privacy.report, again.privacy.lifetime]),
    ):
        sentence = estimates.describe_losses(survey)["sentence"]
        shown = [float(each) for each in re.findall(r"at most ([\d.e+]+) times", sentence)]
        assert len(shown) == len(losses)
        for bound, loss in zip(shown, losses, strict=True):
            assert math.exp(loss) * (1 - 1e-9) <= bound < 1.01 * math.exp(loss)


ABOUT = {
    "title": "Smoking at work",
    "asker": "Works council",
    "purpose": "Rooms for breaks.\nNothing else.",
    "questions": {"smokes": "Do you smoke?"},
}
EMPTY = {"title": "", "asker": "", "purpose": "", "questions": {}}
WRONG_TEXTS: dict[str, dict[str, Any]] = {
    "long": {"title": "x" * 201},
    "control character": {"asker": "a\nb"},
    "another attribute": {"questions": {"drinks": "Do you drink?"}},
    "number": {"title": 1},
    "unknown field": {"subtitle": "x"},
    "question that is no text": {"questions": {"smokes": None}},
}


def test_texts_for_respondents_never_change(app: App) -> None:
    """Check that texts are kept, shown to everybody, and not replaced."""
    app.create("a", ONCE, about=ABOUT)
    app.create("b", ONCE)
    app.create("c", ONCE, about={"title": "C"})

    def read(name: str) -> Any:
        return app.ask("GET", f"/v1/surveys/{name}", token=None).json()["about"]

    assert (read("a"), read("b"), read("c")) == (ABOUT, EMPTY, EMPTY | {"title": "C"})
    content = {"name": "a", "spec": ONCE.to_spec()}
    for same in ({}, {"about": ABOUT}):  # such as a file that serve opens again
        assert app.ask("POST", "/v1/surveys", content | same).status_code == 200
    for other in ({}, ABOUT | {"asker": "Somebody else"}):
        check_problem(app.ask("POST", "/v1/surveys", content | {"about": other}), "name-taken")
    assert read("a") == ABOUT


@pytest.mark.parametrize("name", WRONG_TEXTS)
def test_wrong_texts_make_no_survey(app: App, name: str) -> None:
    """Check that texts are refused with a sentence that names the field."""
    wrong = WRONG_TEXTS[name]
    content = {"name": "a", "spec": ONCE.to_spec(), "about": wrong}
    answer = app.ask("POST", "/v1/surveys", content)
    check_problem(answer, "invalid")
    assert next(iter(wrong)) in answer.json()["detail"]
    check_problem(app.ask("GET", "/v1/surveys/a"), "not-found")


def test_a_survey_that_was_made_anew_has_another_etag(app: App) -> None:
    """Check that the texts of a deleted survey are not shown for a new one of its name."""
    tags = []
    for asker in ("A", "B"):
        app.create("a", ONCE, "draft", about={"asker": asker})
        tags.append(app.ask("GET", "/v1/surveys/a").headers["ETag"])
        assert app.ask("DELETE", "/v1/surveys/a").status_code == 204
    assert tags[0] != tags[1]


def test_every_route_is_in_the_table(app: App) -> None:
    """Check that the table above has every route of the service."""
    described = app.ask("GET", "/openapi.json", token=None).json()["paths"]
    routes = {
        (method.upper(), path)
        for path, each in described.items()
        for method in each
        if method != "parameters"
    }
    assert len(ROUTES) == len(routes)


def test_the_token_of_the_environment_is_replaced(database: str) -> None:
    """Check that a new token of the environment ends the old one, and no other token."""
    with running(database) as first:
        made = first.ask("POST", "/v1/tokens", {"scope": "admin"}).json()["token"]
    with running(database, token="n" * 32) as second:
        assert second.ask("GET", "/v1/surveys", token="n" * 32).status_code == 200
        assert second.ask("GET", "/v1/surveys", token=made).status_code == 200
        check_problem(second.ask("GET", "/v1/surveys", token=TOKEN), "no-token")
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(auth.FROM_ENVIRONMENT, raising=False)
            assert prepare(second.store) is None  # another process, without the variable
        assert second.ask("GET", "/v1/surveys", token="n" * 32).status_code == 200
    with (
        pytest.raises(ValueError, match="at least 32 characters"),
        running(database, token="short"),
    ):
        pass  # pragma: no cover


def test_the_first_start_makes_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that only the first start prints a token, until it is revoked."""
    monkeypatch.delenv(auth.FROM_ENVIRONMENT, raising=False)
    with closing(Store(f"sqlite:///{tmp_path}/a.sqlite")) as store:
        token = prepare(store)
        assert token is not None and prepare(store) is None
        with store.write() as connection:
            assert auth.scope_of(connection, token) == "admin"
            assert auth.revoke(connection, auth.hash_token(token))
            assert auth.scope_of(connection, token) is None
        again = prepare(store)
        assert again is not None and again != token
    assert token.encode() not in (tmp_path / "a.sqlite").read_bytes()


# Codes

ROUND = "/v1/surveys/open/rounds"
SPEC = ONCE.to_spec()
CODES: list[tuple[str, str, Any, str]] = [
    ("GET", "/v1/surveys/nothing", None, "not-found"),
    ("GET", "/v1/surveys/NOTHING", None, "not-found"),
    ("GET", "/v1/surveys/a%00b", None, "not-found"),
    ("GET", f"/v1/surveys/{'a' * 65}", None, "not-found"),
    ("PATCH", "/v1/surveys/nothing", {"state": "open"}, "not-found"),
    ("DELETE", "/v1/surveys/nothing", None, "not-found"),
    ("GET", "/v1/surveys/nothing/rounds", None, "not-found"),
    ("POST", "/v1/surveys/nothing/rounds", {"number": 0}, "not-found"),
    ("GET", "/v1/surveys/nothing/rounds/0/estimate", None, "not-found"),
    ("GET", "/v1/surveys/nothing/rounds/0/tally", None, "not-found"),
    ("GET", "/v1/surveys/nothing/events", None, "not-found"),
    ("GET", "/v1/surveys/a%00b/events", None, "not-found"),
    ("GET", "/v1/surveys/open/events?method=em", None, "invalid"),
    ("GET", "/v1/surveys/open/events?level=1", None, "invalid"),
    ("POST", "/v1/plan", {"spec": SPEC, "users": 0}, "invalid"),
    ("POST", "/v1/plan", {"spec": SPEC, "users": 2**53 + 1}, "invalid"),
    ("POST", "/v1/plan", {"spec": SPEC, "users": 1.5}, "invalid"),
    ("POST", "/v1/plan", {"spec": {}, "users": 1}, "invalid"),
    ("POST", "/v1/plan", {"spec": SPEC | {"epsilon": -1}, "users": 1}, "invalid"),
    ("POST", "/v1/plan", {"spec": SPEC}, "invalid"),
    ("POST", "/v1/metrics", None, "not-found"),
    ("POST", "/metrics", None, "method"),
    ("GET", f"{ROUND}/1/estimate", None, "not-found"),
    ("GET", f"{ROUND}/-1/estimate", None, "not-found"),
    ("GET", f"{ROUND}/0x0/estimate", None, "not-found"),
    ("GET", f"{ROUND}/%C2%B2/estimate", None, "not-found"),
    ("GET", f"{ROUND}/{2**70}/estimate", None, "not-found"),
    ("GET", f"{ROUND}/1/tally", None, "not-found"),
    ("GET", f"{ROUND}/all/tally", None, "not-found"),
    ("GET", "/v1/surveys/draft/rounds/latest/estimate", None, "not-found"),
    ("DELETE", "/v1/tokens/unknown", None, "not-found"),
    ("GET", "/v1", None, "not-found"),
    ("GET", "/docs", None, "not-found"),
    ("PUT", "/v1/surveys", None, "method"),
    ("POST", "/v1/surveys/open", {"state": "open"}, "method"),
    ("GET", "/v1/surveys/open/reports", None, "method"),
    ("POST", "/v1/surveys", {"name": "Open", "spec": SPEC}, "invalid"),
    ("POST", "/v1/surveys", {"name": "", "spec": SPEC}, "invalid"),
    ("POST", "/v1/surveys", {"name": "a\n", "spec": SPEC}, "invalid"),
    ("POST", "/v1/surveys", {"name": "a" * 65, "spec": SPEC}, "invalid"),
    ("POST", "/v1/surveys", {"name": "new", "spec": {}}, "invalid"),
    ("POST", "/v1/surveys", {"name": "new", "spec": SPEC | {"version": 99}}, "invalid"),
    *(
        ("POST", "/v1/surveys", {"name": "new", "spec": SPEC} | each, "invalid")
        for each in (
            {"kept": True},
            {"keep": 1},
            {"submission": "invites"},
            {"public": "yes"},
            {"min_users": 0},
            {"step": 2**31 + 1},
            {"step": 1.5},
        )
    ),
    ("POST", "/v1/surveys", {"name": "new"}, "invalid"),
    ("POST", "/v1/surveys", [], "invalid"),
    ("POST", "/v1/surveys", b"{}", "invalid"),
    ("POST", "/v1/surveys", None, "invalid"),
    (
        "POST",
        "/v1/surveys",
        {"name": "new", "spec": SPEC, "schedule": {"starts": 0, "period": 10}},
        "invalid",
    ),
    *(
        ("POST", "/v1/surveys", {"name": "new", "spec": WAVES.to_spec(), "schedule": each}, kind)
        for each, kind in (
            ({"starts": 0, "period": 0}, "invalid"),
            ({"starts": 0, "period": 2**31 + 1}, "invalid"),
            ({"starts": -1, "period": 10}, "invalid"),
            ({"starts": 0, "period": 10, "grace": 11}, "invalid"),
            ({"starts": 0, "period": 10, "grace": -1}, "invalid"),
            ({"starts": 0.5, "period": 10}, "invalid"),
            ({"starts": 0, "period": 1e300}, "invalid"),
            ({"starts": 0}, "invalid"),
            ({"starts": 10**400, "period": 10}, "invalid"),
        )
    ),
    ("POST", "/v1/surveys", {"name": "open", "spec": OTHER.to_spec()}, "name-taken"),
    ("PATCH", "/v1/surveys/open", {"state": "draft"}, "state"),
    ("PATCH", "/v1/surveys/open", {"state": "ajar"}, "invalid"),
    ("PATCH", "/v1/surveys/open", {}, "invalid"),
    ("PATCH", "/v1/surveys/open", {"state": None}, "invalid"),
    ("PATCH", "/v1/surveys/open", {"keep": True}, "invalid"),
    ("PATCH", "/v1/surveys/open", {"submission": "open"}, "invalid"),
    ("PATCH", "/v1/surveys/open", {"step": 0}, "invalid"),
    ("PATCH", "/v1/surveys/open", {"state": "draft", "public": True}, "state"),
    ("PATCH", "/v1/surveys/draft", {"state": "closed"}, "state"),
    ("PATCH", "/v1/surveys/closed", {"state": "open"}, "state"),
    ("PATCH", "/v1/surveys/closed", {"state": "draft"}, "state"),
    ("DELETE", "/v1/surveys/open", None, "state"),
    ("DELETE", "/v1/surveys/open?confirm=open", None, "state"),
    ("DELETE", "/v1/surveys/closed", None, "confirm"),
    ("DELETE", "/v1/surveys/closed?confirm=open", None, "confirm"),
    ("POST", "/v1/surveys/draft/rounds", {"number": 0}, "not-open"),
    ("POST", "/v1/surveys/closed/rounds", {"number": 1}, "not-open"),
    ("POST", ROUND, {"number": 1}, "no-round"),
    ("POST", ROUND, {"number": 2}, "not-next"),
    ("POST", ROUND, {"number": -1}, "invalid"),
    ("POST", ROUND, {"number": 2**32}, "invalid"),
    ("POST", ROUND, {"number": "0"}, "invalid"),
    ("POST", ROUND, {"number": True}, "invalid"),
    ("GET", f"{ROUND}/0/estimate?level=0", None, "invalid"),
    ("GET", f"{ROUND}/0/estimate?level=1", None, "invalid"),
    ("GET", f"{ROUND}/0/estimate?level=nan", None, "invalid"),
    ("GET", f"{ROUND}/0/estimate?level=high", None, "invalid"),
    ("GET", f"{ROUND}/0/estimate?method=mle", None, "invalid"),
    ("GET", f"{ROUND}/0/estimate?method=em", None, "not-kept"),
    ("POST", "/v1/tokens", {"scope": "submit"}, "invalid"),
    ("POST", "/v1/tokens", {"scope": "analyst", "survey": "open"}, "invalid"),
    ("POST", "/v1/tokens", {"scope": "submit", "survey": "nothing"}, "not-found"),
    ("POST", "/v1/surveys/nothing/invites", {"count": 1}, "not-found"),
    ("POST", "/v1/surveys/open/invites", {"count": 1}, "no-invites"),
    ("POST", "/v1/surveys/open/invites", {"count": 0}, "invalid"),
    ("POST", "/v1/surveys/open/invites", {"count": 10_001}, "invalid"),
    ("GET", f"{ROUND}/0/reports.parquet", None, "not-kept"),
    ("GET", f"{ROUND}/all/reports.parquet", None, "not-found"),
    ("GET", f"{ROUND}/1/reports.parquet", None, "not-found"),
    ("POST", f"{ROUND}/0/tallies", {"id": "a"}, "media-type"),
    ("POST", f"{ROUND}/0/tallies", bytes(16), "malformed"),
    ("POST", f"{ROUND}/0/tallies", bytes(17), "invalid"),
    ("POST", f"{ROUND}/0/tallies", bytes(16) + OTHER.pack(OTHER.tally([])), "invalid"),
    ("POST", f"{ROUND}/0/tallies", bytes(16) + ONCE.pack(ONCE.tally([]))[:-1], "invalid"),
    ("POST", f"{ROUND}/all/tallies", bytes(16) + ONCE.pack(ONCE.tally([])), "not-found"),
    (
        "POST",
        "/v1/surveys/closed/rounds/0/tallies",
        bytes(16) + ONCE.pack(ONCE.tally([])),
        "round-closed",
    ),
    ("POST", "/v1/tokens", {"scope": "admin", "note": "x" * 201}, "invalid"),
    ("POST", "/v1/tokens", {"scope": "admin", "note": "\ud800"}, "invalid"),
]


def test_problems(app: App) -> None:
    """Check the code, the type and all fields of every refusal, which changes nothing."""
    for state in ("draft", "open", "closed"):
        app.create(state, ONCE, state)
    before = app.ask("GET", "/v1/surveys").json()
    for method, path, content, kind in CODES:
        check_problem(app.ask(method, path, content), kind)
    assert app.ask("GET", "/v1/surveys").json() == before
    names = [(each["name"], each["state"]) for each in before]
    assert names == [("closed", "closed"), ("draft", "draft"), ("open", "open")]


def test_a_very_long_number_of_a_round(app: App) -> None:
    """Check that a number that Python does not read is no fault of the service."""
    app.create("open", ONCE)
    for what in ("estimate", "tally"):
        check_problem(app.ask("GET", f"{ROUND}/{'9' * 5000}/{what}"), "not-found")


@pytest.mark.parametrize("level", ["1e-320", "1e-17", "0.9999999999999999"])
def test_extreme_levels(app: App, level: str) -> None:
    """Check that an extreme level is answered or refused, and is no fault."""
    app.create("open", ONCE)
    assert app.ask("GET", f"{ROUND}/0/estimate?level={level}").status_code in (200, 422)


def test_other_methods_are_named(app: App) -> None:
    """Check that the answer to a wrong method names the right ones, as RFC 9110 requires."""
    app.create("open", ONCE)
    for path, right in (("/v1/surveys/open/reports", "POST"), ("/healthz", "GET")):
        answer = app.ask("PUT", path)
        check_problem(answer, "method")
        assert right in answer.headers.get("Allow", "")


def test_a_fault_is_a_problem(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a fault of a route is answered as a problem, without its text."""

    def fail(*_: Any) -> None:
        raise RuntimeError("canary")

    app.create("open", ONCE)
    monkeypatch.setattr(estimates, "describe", fail)
    answer = app.ask("GET", f"{ROUND}/0/estimate")
    assert "canary" not in answer.text
    check_problem(answer, "fault")


def test_a_database_that_does_not_answer(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that all routes answer 503 with a time to wait, and count later."""
    app.create("open", ONCE)
    body = batch(ONCE, draw(ONCE, 2))
    assert app.ask("POST", "/v1/surveys/open/reports", body).json()["counted"] == 2
    body = batch(ONCE, draw(ONCE, 3))
    with monkeypatch.context() as patch:
        patch.setattr(app.store, "engine", _Broken(app.store.engine))
        patch.setattr(app.store, "_kept", None)
        for path in ("/readyz", "/v1/surveys/open", "/v1/surveys"):
            answer = app.ask("GET", path)
            check_problem(answer, "unavailable")
            assert answer.headers["Retry-After"] == "2"
        answer = app.ask("POST", "/v1/surveys/open/reports", body)
        check_problem(answer, "unavailable")
        assert answer.headers["Retry-After"] == "2"
        assert app.ask("GET", "/healthz").status_code == 200
    assert app.users("open") == [2]
    assert app.ask("POST", "/v1/surveys/open/reports", body).json()["counted"] == 3
    assert app.users("open") == [5]


def test_a_group_that_fails_makes_the_service_not_ready(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that readiness follows the last group, and that a time later it is tried again."""
    app.create("open", ONCE)
    body = batch(ONCE, draw(ONCE, 3))
    with monkeypatch.context() as patch:
        patch.setattr(groups, "_insert_ids", lambda *_: 1 / 0)
        check_problem(app.ask("POST", "/v1/surveys/open/reports", body), "unavailable")
    check_problem(app.ask("GET", "/readyz"), "unavailable")
    with monkeypatch.context() as patch:
        patch.setattr(writer, "MEMORY", 0.0)
        assert app.ask("GET", "/readyz").status_code == 200
    assert app.ask("POST", "/v1/surveys/open/reports", body).json()["counted"] == 3
    assert app.ask("GET", "/readyz").status_code == 200


def test_a_database_that_hangs_is_not_ready(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that readiness does not wait for ever, and that one statement waits at a time."""
    go_on, tried = threading.Event(), []

    def hang(*_: Any) -> bool:
        tried.append(1)
        return not go_on.wait(30)

    monkeypatch.setattr(api, "PATIENCE", 0.05)
    for name in ("advance_all", "sweep"):  # the background work uses the database too
        monkeypatch.setattr(rounds, name, lambda *_: 0)
    time.sleep(0.2)
    with monkeypatch.context() as patch:
        patch.setattr(sa.engine.Engine, "connect", hang)
        check_problem(app.ask("GET", "/readyz"), "unavailable")
        app.store._probed -= 2  # later, the result before does not hold any more
        for _ in range(3):
            check_problem(app.ask("GET", "/readyz"), "unavailable")
        assert len(tried) == 1
        go_on.set()


def test_probes_at_the_same_time_share_their_result(app: App) -> None:
    """Check that a request during a probe gets the result before, for a second."""
    store = app.store
    with store._probing:
        for ready, age, expected in ((True, 0, True), (True, 2, False), (False, 0, False)):
            store._was_ready, store._probed = ready, time.monotonic() - age
            assert store.is_ready() is expected
    assert store.is_ready()


class _Broken:
    """An engine whose connections fail."""

    def __init__(self, engine: Any) -> None:
        self.dialect, self.dispose = engine.dialect, engine.dispose

    def connect(self) -> None:
        raise self.dialect.dbapi.OperationalError("canary")


def test_a_full_queue(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that too many waiting reports are refused, and that readiness says so before."""
    app.create("open", ONCE)
    body = batch(ONCE, draw(ONCE, 2))
    monkeypatch.setattr(app.service.writer, "queued", 19_999)
    answer = app.ask("POST", "/v1/surveys/open/reports", body)
    check_problem(answer, "too-busy")
    assert answer.headers["Retry-After"] == "1"
    for queued, status in ((10_000, 503), (9_999, 200)):
        monkeypatch.setattr(app.service.writer, "queued", queued)
        assert app.ask("GET", "/readyz").status_code == status
    monkeypatch.setattr(app.service.writer, "queued", 19_998)
    assert app.ask("POST", "/v1/surveys/open/reports", body).status_code == 200
    assert app.users("open") == [2]


def test_groups_are_limited(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a group has a limit of reports and of bytes, and the queue too."""
    app.create("a", VALUES)
    sizes: list[list[int]] = []
    commit, go_on = groups.commit_group, threading.Event()

    def slowly(store: Store, group: Sequence[Submission], shard: int) -> Any:
        sizes.append([each.records for each in group])
        go_on.wait(30)
        return commit(store, group, shard)

    monkeypatch.setattr(app.service.writer, "_commit", slowly)
    monkeypatch.setattr(writer, "MOST_GROUPED", 10)
    monkeypatch.setattr(writer, "LARGEST_GROUP", 25 + 17 * 12)
    monkeypatch.setattr(writer, "LARGEST_QUEUE", 25 * 30 + 17 * 60)
    bodies = [batch(VALUES, [b"\0"] * many) for many in (1, 4, 6, 5, 12, 1, 2)]

    async def send_all() -> list[int]:
        import asyncio

        kind = {"Content-Type": "application/octet-stream"}
        path = "/v1/surveys/a/reports"
        tasks = [asyncio.create_task(app._send("POST", path, each, kind)) for each in bodies]
        while app.service.writer.queued < 31:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(writer, "LARGEST_QUEUE", app.service.writer.held)
        refused = await app._send("POST", path, bodies[0], kind)
        go_on.set()
        return [refused.status_code, *[each.status_code for each in await asyncio.gather(*tasks)]]

    assert app.portal.call(send_all) == [503] + [200] * 7
    assert app.users("a") == [31] and app.service.writer.held == 0
    assert sum(map(sum, sizes)) == 31
    for group in sizes:  # one body may be larger than a group, and then it is alone
        assert len(group) == 1 or (sum(group) <= 10 and 25 * len(group) + 17 * sum(group) <= 229)
    assert max(map(len, sizes)) > 1


# States and specs

CHANGES = [
    (("draft", "draft"), 200),
    (("draft", "open"), 200),
    (("draft", "closed"), 409),
    (("open", "draft"), 409),
    (("open", "open"), 200),
    (("open", "closed"), 200),
    (("closed", "draft"), 409),
    (("closed", "open"), 409),
    (("closed", "closed"), 200),
]


def test_states(app: App) -> None:
    """Check every change of state, what it does to rounds, and to reports."""
    for i, ((before, wanted), status) in enumerate(CHANGES):
        name = f"s{i}"
        app.create(name, ONCE, before)
        assert app.ask("PATCH", f"/v1/surveys/{name}", {"state": wanted}).status_code == status
        state = wanted if status == 200 else before
        shown = app.ask("GET", f"/v1/surveys/{name}").json()
        assert shown["state"] == state
        assert shown["accepted"] == ([0] if state == "open" else [])
        expected = {"draft": [], "open": ["open"], "closed": ["closed"]}[state]
        listed = app.ask("GET", f"/v1/surveys/{name}/rounds").json()
        assert [each["state"] for each in listed] == expected
        answer = app.send(name, ONCE, draw(ONCE, 1))
        if state == "open":
            assert answer.json() == {"counted": 1, "duplicates": 0}
        elif state == "draft":
            check_problem(answer, "not-found")
        else:
            check_problem(answer, "not-open")
            assert state in answer.json()["detail"]


def test_drafts_are_for_admins(app: App) -> None:
    """Check that only admins see a draft."""
    app.create("draft", ONCE, "draft")
    analyst = app.ask("POST", "/v1/tokens", {"scope": "analyst"}).json()["token"]
    for token in (None, analyst):
        check_problem(app.ask("GET", "/v1/surveys/draft", token=token), "not-found")
    assert app.ask("GET", "/v1/surveys/draft").status_code == 200


def test_what_a_survey_says(app: App) -> None:
    """Check everything that a device gets to know."""
    app.create("open", ONCE)
    found = app.ask("GET", "/v1/surveys/open", token=None).json()
    assert Survey.from_spec(found["spec"]) == ONCE and found["digest"] == ONCE.digest
    assert found["report_bytes"] == ONCE.solution.report_bytes
    assert (found["submission"], found["kept"], found["schedule"]) == ("open", False, None)
    assert found["privacy"]["report"] == ONCE.privacy.report
    assert "7.39 times" in found["privacy"]["sentence"]
    app.create("year", YEAR)
    found = app.ask("GET", "/v1/surveys/year", token=None).json()
    assert found["privacy"]["history"] == YEAR.privacy.history == 2.0
    assert found["report_bytes"] == YEAR.solution.at(0).report_bytes
    listed = app.ask("GET", "/v1/surveys").json()
    assert listed == [
        {"name": "open", "digest": ONCE.digest, "state": "open"},
        {"name": "year", "digest": YEAR.digest, "state": "open"},
    ]


def test_specs_never_change(app: App) -> None:
    """Check that the same survey may be created again, and another one may not."""
    times = {"starts": 0, "period": 10, "grace": 1}
    app.create("a", WAVES, schedule=times)
    same: dict[str, Any] = {"name": "a", "spec": WAVES.to_spec()}
    short: dict[str, Any] = {"attributes": ATTRIBUTES, "eps_perm": 3.0, "eps_1": 1.0}
    for content in (
        same | {"schedule": times},
        same | {"schedule": {"starts": 0, "period": 10}},
        {"name": "a", "spec": short, "schedule": times},
    ):
        answer = app.ask("POST", "/v1/surveys", content)
        assert answer.status_code == 200 and answer.json()["state"] == "open"
    for content in (
        same,
        same | {"schedule": times, "keep": True},
        same | {"schedule": times, "submission": "token"},
        same | {"schedule": times | {"grace": 2}},
        same | {"schedule": times | {"starts": 1}},
        same | {"spec": YEAR.to_spec()},
        same | {"spec": short | {"eps_1": 1.5}, "schedule": times},
        same
        | {
            "spec": short | {"attributes": {"smokes": ["no", "yes"], "age": [30, 41, 52]}},
            "schedule": times,
        },
    ):
        check_problem(app.ask("POST", "/v1/surveys", content), "name-taken")
    assert app.ask("GET", "/v1/surveys/a").json()["schedule"] == times


def test_settings_of_surveys(app: App) -> None:
    """Check that settings are kept, and that only those of the audience change."""
    fixed = {"keep": True, "submission": "invite"}
    audience: dict[str, Any] = {"public": True, "min_users": 7, "step": 3}
    app.create("a", ONCE, **fixed, **audience)
    app.create("b", ONCE)

    def read(name: str) -> tuple[dict[str, Any], str]:
        answer = app.ask("GET", f"/v1/surveys/{name}", token=None)
        fields = ("kept", "submission", *audience)
        return {field: answer.json()[field] for field in fields}, answer.headers["ETag"]

    found, tag = read("a")
    assert found == {"kept": True, "submission": "invite"} | audience
    assert read("b")[0] == {
        "kept": False,
        "submission": "open",
        "public": False,
        "min_users": 100,
        "step": 20,
    }
    tags = {tag}
    for change in ({"min_users": 8}, {"step": 4}, {"public": False}, {"public": True, "step": 5}):
        assert app.ask("PATCH", "/v1/surveys/a", change).status_code == 200
        audience |= change
        found, tag = read("a")
        assert found == {"kept": True, "submission": "invite"} | audience
        tags.add(tag)
    assert len(tags) == 5
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed", "step": 6})
    assert app.ask("GET", "/v1/surveys/a").json()["state"] == "closed"
    assert read("a")[0]["step"] == 6


def test_survey_files_at_the_start(database: str, tmp_path: Path) -> None:
    """Check that files open surveys once, and never change or reopen them."""
    ONCE.save(tmp_path / "one.json")
    with running(database, [tmp_path / "one.json"]) as app:
        assert app.ask("GET", "/v1/surveys/one").json()["accepted"] == [0]
        app.send("one", ONCE, draw(ONCE, 4))
        app.ask("PATCH", "/v1/surveys/one", {"state": "closed"})
    with running(database, [tmp_path / "one.json"]) as app:
        assert app.ask("GET", "/v1/surveys/one").json()["state"] == "closed"
        assert app.users("one") == [4]
    OTHER.save(tmp_path / "one.json", force=True)
    with (
        pytest.raises(ValueError, match="use another name"),
        running(database, [tmp_path / "one.json"]),
    ):
        pass  # pragma: no cover


def test_deletion(app: App) -> None:
    """Check that a draft, or a closed survey by its name, is deleted with its tallies."""
    app.create("draft", ONCE, "draft")
    assert app.ask("DELETE", "/v1/surveys/draft").status_code == 204
    app.create("a", ONCE)
    app.send("a", ONCE, draw(ONCE, 4))
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
    assert app.ask("DELETE", "/v1/surveys/a?confirm=a").status_code == 204
    check_problem(app.ask("GET", "/v1/surveys/a"), "not-found")
    with app.store.read() as connection:
        for table in (schema.survey, schema.round, schema.report, schema.tally):
            assert connection.execute(sa.select(table)).all() == []
    app.create("a", OTHER)
    assert app.users("a") == [0]


def test_reports_of_a_deleted_survey_count_nowhere(app: App) -> None:
    """Check that a new survey never counts the reports of one that was deleted."""
    app.create("old", ONCE)
    assert app.send("old", ONCE, draw(ONCE, 3)).status_code == 200
    app.ask("PATCH", "/v1/surveys/old", {"state": "closed"})
    assert app.ask("DELETE", "/v1/surveys/old?confirm=old").status_code == 204
    app.create("new", OTHER)
    answer = app.send("old", ONCE, draw(ONCE, 3))
    assert app.users("new") == [0]
    assert answer.status_code in (404, 409)


def test_a_survey_that_is_made_again_takes_reports(app: App) -> None:
    """Check that the first reports to a survey that was deleted and made again are counted."""
    app.create("a", ONCE)
    assert app.send("a", ONCE, draw(ONCE, 3)).status_code == 200
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
    app.create("b", OTHER)
    assert app.ask("DELETE", "/v1/surveys/a?confirm=a").status_code == 204
    app.create("a", ONCE)
    assert app.send("a", ONCE, draw(ONCE, 3)).status_code == 200
    assert app.users("a") == [3] and app.users("b") == [0]


# Rounds

BY_HAND: dict[str, tuple[Survey, list[tuple[int, int | str, list[str]]]]] = {
    "once": (ONCE, [(0, 200, ["open"]), (1, "no-round", ["open"])]),
    "waves": (
        WAVES,
        [
            (0, 200, ["open"]),
            (2, "not-next", ["open"]),
            (1, 201, ["closed", "open"]),
            (1, 200, ["closed", "open"]),
            (0, "not-next", ["closed", "open"]),
            (2, 201, ["closed", "closed", "open"]),
        ],
    ),
    "year": (
        YEAR,
        [
            (1, 201, ["closed", "open"]),
            (2, 201, ["closed", "closed", "open"]),
            (3, "no-round", ["closed", "closed", "open"]),
            (2, 200, ["closed", "closed", "open"]),
        ],
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_rounds_by_hand(app: App, name: str) -> None:
    """Check every step from round to round, and which rounds take reports after it."""
    survey, steps = BY_HAND[name]
    app.create(name, survey)
    path, report = f"/v1/surveys/{name}", draw(survey, 40)[:1]
    for number, status, states in steps:
        answer = app.ask("POST", f"{path}/rounds", {"number": number})
        if isinstance(status, str):
            check_problem(answer, status)
        else:
            assert answer.status_code == status
            assert (answer.json()["number"], answer.json()["state"]) == (number, "open")
        listed = app.ask("GET", f"{path}/rounds").json()
        assert [each["state"] for each in listed] == states
        accepted = [i for i, each in enumerate(states) if each == "open"]
        assert app.ask("GET", path).json()["accepted"] == accepted
        for i in range(len(states)):
            before = app.users(name)
            sent = app.send(name, survey, report, i)
            if i in accepted:
                assert sent.status_code == 200 and app.users(name)[i] == before[i] + 1
            else:
                check_problem(sent, "round-closed")
                assert sent.json()["accepted"] == accepted and app.users(name) == before


class Clock:
    """A clock that only tests move."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in (api, groups, rounds, server):
            patch.setattr(
                module, "time", SimpleNamespace(time=lambda: self.now, monotonic=time.monotonic)
            )


# Times after the start of round 0, and the rounds that take reports then
TIMES: dict[str, tuple[Survey, dict[str, int], list[tuple[float, list[int]]]]] = {
    "grace": (
        WAVES,
        {"period": 100, "grace": 10},
        [
            (-0.5, []),
            (0, [0]),
            (5, [0]),
            (99.9, [0]),
            (100, [0, 1]),
            (109.9, [0, 1]),
            (110, [1]),
            (200, [1, 2]),
            (210, [2]),
            (1e6, [9999, 10000]),
        ],
    ),
    "default": (WAVES, {"period": 1000}, [(0, [0]), (1099, [0, 1]), (1100, [1])]),
    "none": (WAVES, {"period": 100, "grace": 0}, [(99, [0]), (100, [1]), (200, [2])]),
    "whole": (WAVES, {"period": 100, "grace": 100}, [(99, [0]), (100, [0, 1]), (299, [1, 2])]),
    "year": (
        YEAR,
        {"period": 100, "grace": 10},
        [(0, [0]), (205, [1, 2]), (299, [2]), (305, [2]), (310, []), (405, [])],
    ),
    "late": (YEAR, {"period": 100, "grace": 10}, [(250, [2]), (305, [2]), (310, [])]),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("work", [True, False], ids=["background", "reports alone"])
def test_rounds_by_schedule(
    app: App, name: str, work: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check at every time which rounds take reports, also before the background work."""
    survey, times, moments = TIMES[name]
    clock, report = Clock(monkeypatch), draw(survey, 40)[:1]
    clock.now = 1000 + moments[0][0]
    app.create(name, survey, schedule={"starts": 1000, **times})
    path = f"/v1/surveys/{name}"
    check_problem(app.ask("POST", f"{path}/rounds", {"number": 1}), "scheduled")
    expected: dict[int, int] = {}
    for after, accepted in moments:
        clock.now = 1000 + after
        if work:
            rounds.advance_all(app.store, clock.now)
            listed = app.ask("GET", f"{path}/rounds").json()
            open_now = [each["number"] for each in listed if each["state"] == "open"]
            assert open_now == accepted
        assert app.ask("GET", path).json()["accepted"] == accepted
        last = max(accepted, default=2)
        for number in range(max(0, last - 3), last + 2):
            answer = app.send(name, survey, report, number)
            if number in accepted:
                assert answer.json() == {"counted": 1, "duplicates": 0}
                expected[number] = expected.get(number, 0) + 1
            else:
                check_problem(answer, "round-closed")
    listed = app.ask("GET", f"{path}/rounds").json()
    assert {each["number"]: each["users"] for each in listed if each["users"]} == expected


def test_a_clock_that_is_behind_closes_no_later_round(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check rounds that the clock of another process has opened too early."""
    clock = Clock(monkeypatch)
    app.create("a", WAVES, schedule={"starts": 1000, "period": 100, "grace": 10})
    for now in (1099.0, 1100.2, 1099.9, 1050.0, 900.0, 1112.0):
        clock.now = now
        rounds.advance_all(app.store, now)
    listed = app.ask("GET", "/v1/surveys/a/rounds").json()
    assert [each["state"] for each in listed] == ["closed", "open"]
    assert app.send("a", WAVES, draw(WAVES, 3), 1).json()["counted"] == 3


def test_a_closed_survey_opens_no_round(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a survey that is closed between the look at the clock and the next round."""
    clock = Clock(monkeypatch)
    app.create("a", WAVES, schedule={"starts": 1000, "period": 100, "grace": 10})
    with app.store.read() as connection:
        served = surveys.find(connection, "a")[0]
    is_behind = rounds._is_behind

    def close(*given: Any) -> bool:
        found = is_behind(*given)
        assert app.ask("PATCH", "/v1/surveys/a", {"state": "closed"}).status_code == 200
        return found

    clock.now = 1150.0
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "_is_behind", close)
        assert rounds.advance_all(app.store, clock.now) == 0
    body = write_batch(WAVES.digest, 1, [(secrets.token_bytes(16), draw(WAVES, 1)[0])])
    (found,) = groups.commit_group(app.store, [Submission(served, 1, body)], 0)
    assert found == NotAccepted("closed", [])
    listed = app.ask("GET", "/v1/surveys/a/rounds").json()
    assert [(each["number"], each["state"]) for each in listed] == [(0, "closed")]


def test_a_survey_that_cannot_be_read_stops_no_other(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the rounds of the other surveys go on, and that the list still answers."""
    clock = Clock(monkeypatch)
    for name in ("a", "b", "c"):
        app.create(name, WAVES, schedule={"starts": 1000, "period": 100, "grace": 0})
    with app.store.write() as connection:
        wrong = sa.text("UPDATE survey SET spec = '{\"version\": 9}' WHERE name = 'b'")
        connection.execute(wrong)
    clock.now = 1150.0
    assert rounds.advance_all(app.store, clock.now) == 2
    for name in ("a", "c"):
        assert app.ask("GET", f"/v1/surveys/{name}").json()["accepted"] == [1]
    assert len(app.ask("GET", "/v1/surveys").json()) == 3


def test_the_background_work_goes_on_after_a_fault(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that one fault of the background work is not its last turn."""
    turns: list[int] = []

    def fail(*_: Any) -> int:
        turns.append(1)
        if len(turns) == 1:
            raise RuntimeError("canary")
        return 1  # the next turn comes soon

    monkeypatch.setattr(rounds, "sweep", fail)
    end = time.monotonic() + 30
    while len(turns) < 3:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_accepted_rounds_are_always_named(app: App) -> None:
    """Check that a refused round names the rounds that take reports, also beyond the last one."""
    app.create("a", ONCE)
    answer = app.send("a", ONCE, draw(ONCE, 1), 1)
    check_problem(answer, "round-closed")
    assert answer.json()["accepted"] == [0]


def test_a_schedule_by_its_definition() -> None:
    """Check the rounds that take reports against a loop over all rounds."""
    for starts, period, grace in ((0, 1, 0), (3, 1, 1), (5, 7, 0), (5, 7, 3), (5, 7, 7)):
        for now in np.arange(0, 40, 0.25):
            found = Schedule(starts, period, grace).accepted(now, 3)
            expected = [r for r in range(4) if 0 <= now - starts - r * period < period + grace]
            assert found == expected, (starts, period, grace, now)


def test_ids_of_closed_rounds_are_swept(app: App) -> None:
    """Check that ids of a closed round are deleted, and those of an open one are not."""
    app.create("a", WAVES)
    app.send("a", WAVES, draw(WAVES, 30))
    assert rounds.sweep(app.store) == 0
    app.ask("POST", "/v1/surveys/a/rounds", {"number": 1})
    app.send("a", WAVES, draw(WAVES, 20), 1)
    rounds.sweep(app.store)
    assert rounds.sweep(app.store) == 0
    with app.store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM report").scalar() == 20
    assert app.users("a") == [30, 20]


# ETags


def test_etags(app: App) -> None:
    """Check that an ETag is answered with 304 until something changes."""
    app.create("a", WAVES)

    def changed(path: str) -> bool:
        tag = tags.get(path, '"none"')
        answer = app.ask("GET", path, If_None_Match=tag)
        assert answer.status_code in (200, 304)
        assert (answer.status_code == 304) == (answer.headers["ETag"] == tag)
        assert answer.status_code == 200 or not answer.content
        tags[path] = answer.headers["ETag"]
        return answer.status_code == 200

    tags: dict[str, str] = {}
    show, path = "/v1/surveys/a", "/v1/surveys/a/rounds"
    every = [f"{path}/{each}/estimate" for each in ("0", "latest", "all")]
    assert all(map(changed, [show, *every])) and not any(map(changed, [show, *every]))
    body = batch(WAVES, draw(WAVES, 4))
    for send, new in ((True, True), (True, False), (False, False)):
        if send:
            app.ask("POST", "/v1/surveys/a/reports", body)
        assert [changed(each) for each in [show, *every]] == [False, new, new, new]
    assert len({tags[f"{path}/0/estimate"]}) == 1
    other = [f"{path}/0/estimate?{each}" for each in ("level=0.9", "method=norm")]
    for each in other:
        tags[each] = tags[every[0]]
        assert changed(each) and not changed(each)
    app.ask("POST", path, {"number": 1})
    assert [changed(each) for each in [show, *every]] == [True, False, True, True]
    app.ask("PATCH", show, {"state": "closed"})
    assert all(map(changed, [show, *every]))


def test_the_etag_of_another_survey(app: App) -> None:
    """Check that a survey of the same name does not answer that nothing has changed."""
    path = "/v1/surveys/a/rounds/0/estimate"
    tags = []
    for survey in (ONCE, OTHER):
        app.create("a", survey)
        app.send("a", survey, draw(survey, 4))
        tags.append(app.ask("GET", path).headers["ETag"])
        app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
        app.ask("DELETE", "/v1/surveys/a?confirm=a")
    assert tags[0] != tags[1]


# Estimates

ESTIMATED: dict[str, Survey] = {
    "one shot": ONCE,
    "one attribute": Survey({"a": [True, False]}, epsilon=1.0, protocol=GRR),
    "all attributes": Survey(ATTRIBUTES, epsilon=2.0, solution=SPL, protocol=OUE),
    "fakes": Survey(ATTRIBUTES, epsilon=1.0, solution=RSFD, protocol=GRR),
    "numbers": Survey({"a": [0.5, 1.5, 2**53], "ε ♥": ["é", "♥", "a b"]}, epsilon=2.0),
    "two budgets": WAVES,
    "buckets": Survey({"a": list(range(6))}, eps_perm=2.0, protocol=DBitFlipPM, b=3, d_bits=2),
    "history": YEAR,
    "history, once": Survey(ATTRIBUTES, epsilon=2.0, rounds=3, protocol=Once),
}


def check_attributes(found: Any, expected: Any, level: float, method: str) -> None:
    """Check that shown figures are those of estimates, to the bit."""
    assert [each["name"] for each in found["attributes"]] == [each.name for each in expected]
    for shown, raw in zip(found["attributes"], expected, strict=True):
        after = raw.postprocess(method)
        columns: dict[str, Any] = {"label": list(raw.values), "frequency": after.frequencies}
        if method == "raw":
            limits = raw.interval(level)
            columns |= {"std": raw.std, "low": limits[:, 0], "high": limits[:, 1]}
        else:
            columns |= dict.fromkeys(("std", "low", "high"), [None] * len(raw))
        for name, values in columns.items():
            own = [each[name] for each in shown["values"]]
            wanted = values if isinstance(values, list) else [_plain(each) for each in values]
            assert own == wanted and list(map(type, own)) == list(map(type, wanted)), name


def _plain(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


@pytest.mark.parametrize("name", ESTIMATED)
def test_estimates_are_those_of_the_tally(app: App, name: str) -> None:
    """Check shown figures, to the bit, against the estimates of tallies that were exported."""
    survey = ESTIMATED[name]
    app.create("a", survey)
    path = "/v1/surveys/a/rounds"
    last = 2 if survey.longitudinal else 0
    tallies: list[Tally] = []
    for number in range(last + 1):
        if number:
            app.ask("POST", path, {"number": number})
        for seed in range(2):
            reports = draw(survey, 40, number, seed) if number != 1 else []
            if reports:
                assert app.send("a", survey, reports, number).status_code == 200
            own = survey.tally({"report": reports}, round=None if survey.rounds is None else number)
            if seed:
                tallies[-1] = tallies[-1] + own
            else:
                tallies.append(own)
        answer = app.ask("GET", f"{path}/{number}/tally")
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert survey.unpack(answer.content) == tallies[-1]
    asked = [
        ("all", range(last + 1)),
        ("latest", [last]),
        *((str(r), [r]) for r in range(last + 1)),
    ]
    for which, numbers in asked:
        for method, level in (("raw", 0.95), ("raw", 0.5), ("norm_sub", 0.95), ("norm", 0.95)):
            answer = app.ask("GET", f"{path}/{which}/estimate?method={method}&level={level}")
            assert answer.status_code == 200, answer.text
            found = answer.json()
            assert (found["survey"], found["digest"]) == ("a", survey.digest)
            assert (found["level"], found["method"]) == (level, method)
            assert [each["round"] for each in found["rounds"]] == list(numbers)
            for shown in found["rounds"]:
                number = shown["round"]
                assert shown["users"] == tallies[number].users
                if survey.rounds is None:
                    expected = survey.estimate(tallies[number])
                else:
                    expected = survey.estimate(tallies[: number + 1])[-1]
                check_attributes(shown, expected, level, method)
    first = shown["attributes"][0]["values"][0]
    first["frequency"] = np.nextafter(first["frequency"] or 1.0, 2.0)
    with pytest.raises(AssertionError):  # the check finds one wrong bit
        check_attributes(shown, expected, level, method)


def test_estimates_without_earlier_rounds(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a history survey that was opened in its last round."""
    clock = Clock(monkeypatch)
    clock.now = 250
    app.create("a", YEAR, schedule={"starts": 0, "period": 100})
    app.send("a", YEAR, draw(YEAR, 50, 2), 2)
    found = app.ask("GET", "/v1/surveys/a/rounds/all/estimate").json()
    counted = YEAR.unpack(app.ask("GET", "/v1/surveys/a/rounds/2/tally").content)
    assert [each["round"] for each in found["rounds"]] == [2]
    before = [YEAR.tally({"report": []}, round=r) for r in range(2)]
    expected = YEAR.estimate([*before, counted])[-1]
    check_attributes(found["rounds"][0], expected, 0.95, "raw")


def test_the_risk_and_the_need(app: App) -> None:
    """Check the influence of malicious users, and the number of reports that are needed."""
    app.create("a", ONCE)
    path = "/v1/surveys/a/rounds/0/estimate"
    empty = app.ask("GET", path).json()["rounds"][0]
    assert empty["influence"] is None and empty["users"] == 0
    app.send("a", ONCE, draw(ONCE, 150))
    found = app.ask("GET", path).json()["rounds"][0]
    assert found["needed"] == empty["needed"] - 150 > 0
    assert found["influence"]["users"] == 2 and set(found["influence"]["shift"]) == set(ATTRIBUTES)
    stops = found["influence"]["stops"]
    assert [each["users"] for each in stops] == [1, 1, 1, 2, 3, 8, 15, 30]
    for each in stops:
        own = influence(ONCE.solution, 150, each["users"])
        expected = {name: one.value for name, one in zip(ATTRIBUTES, own, strict=True)}
        assert each["shift"] == expected


# Submissions


def ids(*numbers: int) -> list[bytes]:
    """Return ids of 16 bytes."""
    return [n.to_bytes(16, "big") for n in numbers]


VALUES = Survey({"a": [0, 1, 2, 3]}, epsilon=1.0, solution=SPL, protocol=GRR)
"""A survey whose reports are one byte, from 0 to 3."""

# Records of each body as (id, report), the answer, and the counts after it
SENT: list[tuple[str, list[tuple[int, int]], dict[str, Any], list[int]]] = [
    ("one", [(1, 0)], {"counted": 1, "duplicates": 0}, [1, 0, 0, 0]),
    ("the same again", [(1, 0)], {"counted": 0, "duplicates": 1}, [1, 0, 0, 0]),
    ("the same id, other bytes", [(1, 3)], {"counted": 0, "duplicates": 1}, [1, 0, 0, 0]),
    ("twice in a body", [(2, 3), (2, 0)], {"counted": 1, "duplicates": 1}, [1, 0, 0, 1]),
    (
        "three times, not side by side",
        [(9, 2), (4, 1), (9, 0), (3, 2), (9, 1)],
        {"counted": 3, "duplicates": 2},
        [1, 1, 2, 1],
    ),
    ("one is no report", [(5, 0), (6, 4), (7, 1)], {"indices": [1]}, [1, 1, 2, 1]),
    ("a duplicate is no report", [(1, 0), (1, 255)], {"indices": [1]}, [1, 1, 2, 1]),
    ("none is a report", [(5, 9), (5, 9)], {"indices": [0, 1]}, [1, 1, 2, 1]),
    ("what was refused", [(5, 0), (6, 0), (7, 1)], {"counted": 3, "duplicates": 0}, [3, 2, 2, 1]),
    (
        "many are no reports",
        [(i, 200 if i % 2 else 0) for i in range(100, 400)],
        {"indices": list(range(1, 200, 2))},
        [3, 2, 2, 1],
    ),
]


def test_submissions(app: App) -> None:
    """Check answers and counts of bodies that come one after the other."""
    app.create("a", VALUES)
    for what, records, expected, counts in SENT:
        body = write_batch(VALUES.digest, 0, [(ids(n)[0], bytes([v])) for n, v in records])
        answer = app.ask("POST", "/v1/surveys/a/reports", body, token=None)
        if "indices" in expected:
            check_problem(answer, "not-a-report")
            assert answer.json()["indices"] == expected["indices"], what
        else:
            assert (answer.status_code, answer.json()) == (200, expected), what
        found = VALUES.unpack(app.ask("GET", "/v1/surveys/a/rounds/0/tally").content)
        reports = [bytes([v]) for v, many in enumerate(counts) for _ in range(many)]
        assert found == VALUES.tally(reports), what


REFUSED: dict[str, tuple[str, Callable[[bytes], bytes], dict[str, str], str]] = {
    "empty": ("a", lambda body: b"", {}, "malformed"),
    "short header": ("a", lambda body: body[:24], {}, "malformed"),
    "header alone": ("a", lambda body: body[:25], {}, "malformed"),
    "half a record": ("a", lambda body: body[:-1], {}, "malformed"),
    "one byte more": ("a", lambda body: body + b"\0", {}, "malformed"),
    "magic": ("a", lambda body: b"MFLS" + body[4:], {}, "malformed"),
    "version 0": ("a", lambda body: body[:4] + b"\0" + body[5:], {}, "malformed"),
    "version 2": ("a", lambda body: body[:4] + b"\2" + body[5:], {}, "malformed"),
    "digest": ("a", lambda body: body[:5] + bytes(16) + body[21:], {}, "wrong-survey"),
    "other survey": ("other", lambda body: body, {}, "wrong-survey"),
    "no survey": ("none", lambda body: body, {}, "not-found"),
    "bad name": ("A%20b", lambda body: body, {}, "not-found"),
    "round": ("a", lambda body: body[:21] + b"\1\0\0\0" + body[25:], {}, "round-closed"),
    "last round": ("a", lambda body: body[:21] + b"\xff" * 4 + body[25:], {}, "round-closed"),
    "draft": ("draft", lambda body: body, {}, "not-found"),
    "closed": ("closed", lambda body: body, {}, "not-open"),
    "too large": ("a", lambda body: body + bytes(10**6), {}, "too-large"),
    "too many": ("a", lambda body: body[:25] + bytes(17 * 5001), {}, "too-large"),
    "text": ("a", lambda body: body, {"Content_Type": "text/plain"}, "media-type"),
    "json": ("a", lambda body: body, {"Content_Type": "application/json"}, "media-type"),
    "no type": ("a", lambda body: body, {"Content_Type": ""}, "media-type"),
    "gzip": ("a", lambda body: body, {"Content_Encoding": "gzip"}, "media-type"),
}


def test_refused_submissions(app: App) -> None:
    """Check every refusal of a body, and that it changes nothing."""
    app.create("a", VALUES)
    app.create("other", OTHER)
    app.create("draft", VALUES, "draft")
    app.create("closed", VALUES, "closed")
    good = batch(VALUES, [b"\0", b"\1"])
    for what, (name, change, headers, kind) in REFUSED.items():
        answer = app.ask("POST", f"/v1/surveys/{name}/reports", change(good), None, **headers)
        assert answer.status_code == TITLES[kind][0], (what, answer.text)
        check_problem(answer, kind)
        if kind == "wrong-survey":
            assert answer.json()["digest"] == (OTHER if name == "other" else VALUES).digest
        if kind == "too-large":
            assert answer.headers["Connection"] == "close"
        assert app.users("a") == [0] and app.users("other") == [0], what
    many = good[:25] + b"".join(secrets.token_bytes(16) + b"\2" for _ in range(5000))
    for content, counted in ((good, 2), (many, 5000)):
        kind = "Application/Octet-Stream; a=b"
        answer = app.ask("POST", "/v1/surveys/a/reports", content, None, Content_Type=kind)
        assert answer.json() == {"counted": counted, "duplicates": 0}


def test_submissions_at_the_same_time(app: App) -> None:
    """Check that bodies that wait together are counted as if each came alone."""
    app.create("a", VALUES)
    reports = [bytes([4 if i % 5 == 0 else i % 4]) for i in range(60)]
    bodies = [
        write_batch(VALUES.digest, 0, [(ids(i % 7)[0], each)]) for i, each in enumerate(reports)
    ]

    async def send_all() -> list[httpx.Response]:
        import asyncio

        kind = {"Content-Type": "application/octet-stream"}
        tasks = [app._send("POST", "/v1/surveys/a/reports", each, kind) for each in bodies]
        return await asyncio.gather(*tasks)

    answers = app.portal.call(send_all)
    assert [each.status_code for each in answers] == [422 if i % 5 == 0 else 200 for i in range(60)]
    assert sum(each.json().get("counted", 0) for each in answers) == 7 == app.users("a")[0]


# Groups


@contextmanager
def storing(database: str) -> Iterator[tuple[Store, dict[str, Served]]]:
    """Yield a database with surveys that are open."""
    with quick(), closing(Store(database)) as store:
        with store.write() as connection:
            made: dict[str, Served] = {}
            for name, survey in {"values": VALUES, "waves": WAVES, "once": ONCE}.items():
                made[name], _ = surveys.create(connection, name, survey)
                rounds.change_state(connection, name, "open")
            rounds.open_next(connection, made["waves"], "open", 1)
        yield store, made


def check_groups(databases: Callable[[], str], seeds: int = 6) -> None:
    """Check groups of good and bad submissions against a loop over submissions and records.

    The groups of each seed go to one database, one after the other.
    """
    for seed in range(seeds):
        chooser = random.Random(seed)
        with storing(databases()) as (store, made):
            first: dict[tuple[str, int], dict[bytes, bytes]] = {}
            for shard in range(3):
                submissions, expected = [], []
                for _ in range(chooser.randint(1, 12)):
                    name, number, records = _choose_records(chooser)
                    served = made[name]
                    body = write_batch(served.digest, number, records)
                    submissions.append(Submission(served, number, body))
                    expected.append(_count_alone(name, number, records, first))
                assert groups.commit_group(store, submissions, shard % 2) == expected
            with store.read() as connection:
                for (name, number), landed in first.items():
                    found = groups.read_tally(connection, made[name], number)
                    assert found is not None
                    assert found[0] == made[name].survey.tally({"report": [*landed.values()]})


GOOD = {name: draw(each, 8) for name, each in {"waves": WAVES, "once": ONCE}.items()}
GOOD["values"] = [bytes([v]) for v in range(4)]


def _choose_records(chooser: random.Random) -> tuple[str, int, list[tuple[bytes, bytes]]]:
    name = chooser.choice(["values", "values", "waves", "once"])
    records = [
        (*ids(chooser.choice([chooser.randrange(12), 2**127 + chooser.randrange(4)])), each)
        for each in chooser.choices(GOOD[name], k=chooser.randint(1, 6))
    ]
    if chooser.random() < 0.3:
        at = chooser.randrange(len(records))
        records[at] = records[at][0], b"\xff" * len(records[at][1])
    return name, chooser.randrange(2) if name == "waves" else 0, records


def _count_alone(
    name: str,
    number: int,
    records: list[tuple[bytes, bytes]],
    first: dict[tuple[str, int], dict[bytes, bytes]],
) -> Any:
    """Return the result of a submission that comes alone, by a plain loop."""
    bad = [i for i, (_, report) in enumerate(records) if set(report) == {255}]
    if bad:
        return NotReports(bad)
    if (name, number) == ("waves", 0):
        return NotAccepted("open", [1])
    landed, counted = first.setdefault((name, number), {}), 0
    for each, report in records:
        if each not in landed:
            landed[each] = report
            counted += 1
    return Counted(counted, len(records) - counted)


def test_groups(databases: Callable[[], str]) -> None:
    """Check groups of submissions against submissions one by one."""
    assert WAVES.solution._find_refused(
        np.frombuffer(b"\xff" * WAVES.solution.report_bytes, WAVES.solution.report_dtype)
    ).size
    check_groups(databases, 16)


def _sort_whole_records(patch: pytest.MonkeyPatch) -> None:
    """Sort records by id and report, so that the wrong report of two counts."""
    right = groups._count_part

    def count(connection: Any, part: Any, shard: int, found: Any) -> None:
        rows = [
            part.ids[i].tobytes() + part.reports[i : i + 1].tobytes() for i in range(len(part.ids))
        ]
        order = np.array(sorted(range(len(rows)), key=rows.__getitem__))
        part.ids, part.reports = part.ids[order], part.reports[order]
        part.owners = part.owners[order]
        right(connection, part, shard, found)

    patch.setattr(groups, "_count_part", count)


def _count_every_returned_id(patch: pytest.MonkeyPatch) -> None:
    """Count all records whose id is new, not only the first one."""
    insert = groups._insert_ids

    def find_all(found: Any) -> Any:
        return np.array(sorted(range(len(found)), key=lambda i: found[i].tobytes()))

    def insert_each(connection: Any, key: int, found: Any, *_: Any) -> Any:
        every = [each.tobytes() for each in found]
        once = sorted(set(every))
        rows = np.frombuffer(b"".join(once), np.uint8).reshape(-1, 16)
        new = dict(zip(once, insert(connection, key, rows).tolist(), strict=True))
        return np.array([new[each] for each in every])

    patch.setattr(groups, "_find_first", find_all)
    patch.setattr(groups, "_insert_ids", insert_each)


def _drop_duplicates_of_refused(patch: pytest.MonkeyPatch) -> None:
    """Drop records whose id came before in a submission that is refused."""
    right = groups._prepare

    def prepare_wrongly(group: Any, found: Any) -> Any:
        parts = right(group, found)
        for part in parts:
            size = 16 + part.served.report_bytes
            refused = {
                (i, body[at : at + 16])
                for i in found
                if (group[i].served.pk, group[i].round) == (part.served.pk, part.number)
                for body in [group[i].body]
                for at in range(HEADER.size, len(body), size)
            }
            kept = [
                not any(i < owner and each.tobytes() == own for i, own in refused)
                for each, owner in zip(part.ids, part.owners.tolist(), strict=True)
            ]
            part.ids, part.reports = part.ids[kept], part.reports[kept]
            gone = np.setdiff1d(part.owners, part.owners[kept]).tolist()
            found.update((i, Counted(0, group[i].records)) for i in gone)
            part.owners = part.owners[kept]
        return [part for part in parts if len(part.ids)]

    patch.setattr(groups, "_prepare", prepare_wrongly)


def _keep_last(patch: pytest.MonkeyPatch) -> None:
    """Count the last record of an id instead of the first one."""
    right = groups._find_first
    patch.setattr(groups, "_find_first", lambda found: len(found) - 1 - right(found[::-1]))


def _forget_rounds(patch: pytest.MonkeyPatch) -> None:
    """Count reports also in rounds that are closed."""

    def find_any(connection: Any, served: Served, number: int) -> Any:
        columns = rounds.Rounds
        own = (columns.survey == served.pk) & (columns.number == number)
        return connection.execute(groups.sa.select(columns.pk).where(own)).scalar()

    patch.setattr(groups, "find_open", find_any)


FAULTS: list[Fault] = [
    _sort_whole_records,
    _count_every_returned_id,
    _drop_duplicates_of_refused,
    _keep_last,
    _forget_rounds,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_planted_faults_are_found(
    databases: Callable[[], str], fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the check of groups fails with each mutation."""
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_groups(databases)


def test_a_group_that_fails_counts_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that ids and tallies are written together, or not at all."""
    with storing(database) as (store, made):
        first = Submission(made["values"], 0, batch(VALUES, [b"\0", b"\1"]))
        second = Submission(made["waves"], 1, batch(WAVES, draw(WAVES, 3), 1))

        def fail(*_: Any) -> None:
            raise RuntimeError("no tally")

        with monkeypatch.context() as patch:
            patch.setattr(groups, "add_counts", fail)
            with pytest.raises(RuntimeError):
                groups.commit_group(store, [first, second], 0)
        assert groups.commit_group(store, [first, second], 0) == [Counted(2, 0), Counted(3, 0)]
        assert groups.commit_group(store, [second, first], 1) == [Counted(0, 3), Counted(0, 2)]
