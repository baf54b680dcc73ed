"""Tests of the description in OpenAPI: requests that are drawn from it, and their answers."""

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .harness import AUTHORIZED
from .test_api import ONCE, WAVES, YEAR, App, batch, draw, running
from .test_hostile_bodies import VALUES, bodies

SUBMIT = "POST /v1/surveys/{name}/reports"
SURVEYS = {"open": VALUES, "waves": WAVES, "year": YEAR}
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 8


class Bridge:
    """An application that passes requests on to a service in its own event loop.

    Its life is that of the service. Each request is answered with all messages at once.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            raise NotImplementedError("only requests are passed on")
        message, parts = {"more_body": True}, []
        while message.get("more_body"):
            message = await receive()
            parts.append(message)
        passed = self.app.portal.start_task_soon(self._answer, scope, parts)
        for each in await asyncio.wrap_future(passed):
            await send(each)

    async def _answer(self, scope: Any, parts: list[Any]) -> list[Any]:
        found: list[Any] = []

        async def receive() -> Any:
            return parts.pop(0) if parts else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            found.append(message)

        await self.app.leaving(scope, receive, send)
        return found


@pytest.fixture(scope="module")
def app(databases: Callable[[], str]) -> Iterator[App]:
    """Return a service with surveys of every state."""
    with running(databases()) as made:
        for name, survey in SURVEYS.items():
            made.create(name, survey)
        made.send("open", VALUES, [bytes([v % 4]) for v in range(9)])
        made.send("waves", WAVES, draw(WAVES, 20))
        made.create("kept", VALUES, keep=True)
        made.send("kept", VALUES, [bytes([v % 4]) for v in range(9)])
        made.create("invited", VALUES, submission="invite")
        made.create("closed", VALUES, "closed")
        made.create("draft", ONCE, "draft")
        yield made


@pytest.fixture(scope="module")
def schema(app: App) -> Any:
    """Return the description of the service."""
    return schemathesis.openapi.from_asgi("/openapi.json", Bridge(app))


GOOD = batch(VALUES, [b"\1", b"\2"])
NEAR: list[tuple[str, bytes, int]] = [
    ("open", GOOD, 200),
    ("open", GOOD[:-1], 400),
    ("open", GOOD[:-1] + b"\xff", 422),
    ("open", GOOD[:21] + b"\1" + GOOD[22:], 409),
    ("waves", GOOD, 409),
    ("waves", batch(WAVES, draw(WAVES, 3)), 200),
    ("waves", batch(WAVES, draw(WAVES, 3), 7), 409),
    ("invited", GOOD, 401),
    ("closed", GOOD, 409),
    ("draft", batch(ONCE, draw(ONCE, 1)), 404),
    ("none", GOOD, 404),
]
"""Bodies that are right, or nearly right, with the survey and the status."""


OWN = {"/tallies": "open", "/invites": "invited", "/reports.parquet": "kept"}
"""The survey for which some routes are, by the end of their path."""

PACKED = [VALUES.pack(VALUES.tally([b"\1"])), WAVES.pack(WAVES.tally(draw(WAVES, 3))), b""]
"""Bytes after the id in a request that adds a tally."""

NAMES = st.sampled_from(
    ["open", "open", "waves", "year", "kept", "invited", "closed", "draft", "none", "none"]
)
NUMBERS = st.sampled_from(["0", "0", "latest", "all", "1", "2", "-1", "x"])
VICTIM = "victim"
"""The survey that is changed and deleted, and made again before each request."""


def choose(case: Any, data: Any) -> None:
    """Give a request names that exist, a body that may be counted, and a spec that is right."""
    label, drawn = case.operation.label, data.draw
    path = case.path_parameters
    if "/tokens/" not in label and path and "name" in path and drawn(st.integers(0, 3)):
        changing = label.split()[0] in ("PATCH", "DELETE")
        path["name"] = VICTIM if changing else drawn(NAMES)
    if path and "number" in path and drawn(st.integers(0, 3)):
        path["number"] = drawn(NUMBERS)
    if label == SUBMIT and drawn(st.integers(0, 7)):
        near = [body for _, body, _ in NEAR]
        path["name"] = drawn(NAMES)
        case.body = drawn(bodies() | st.sampled_from(near) | st.binary(max_size=60))
        case.media_type = "application/octet-stream"
    if label == "POST /v1/surveys" and isinstance(case.body, dict) and drawn(st.integers(0, 3)):
        case.body["spec"] = drawn(st.sampled_from([WAVES, VALUES])).to_spec()
        case.body["name"] = drawn(st.sampled_from(["waves", "open", "made"]))
        case.body.pop("about", None)  # its questions are of other attributes
    for end, own in OWN.items():
        if label.endswith(end) and drawn(st.integers(0, 3)):
            path["name"] = drawn(st.sampled_from([own, own, "open", "none"]))
            path |= {"number": "0"} if "number" in path else {}
    if label.endswith("/invites") and drawn(st.booleans()):
        case.body = {"count": drawn(st.integers(1, 20))}
    if label.endswith("/tallies") and drawn(st.integers(0, 3)):
        case.body = drawn(st.binary(min_size=16, max_size=16)) + drawn(st.sampled_from(PACKED))
        case.media_type = "application/octet-stream"
    if label == "POST /v1/plan" and isinstance(case.body, dict) and drawn(st.integers(0, 3)):
        case.body["spec"] = drawn(st.sampled_from([WAVES, VALUES, YEAR])).to_spec()
    if label == "DELETE /v1/surveys/{name}" and drawn(st.booleans()):
        case.query["confirm"] = VICTIM


# Statuses of each route that some request must meet
MET: dict[str, set[int]] = {
    "GET /healthz": {200},
    "GET /readyz": {200},
    "GET /v1/surveys": {200},
    "POST /v1/surveys": {200, 422},
    "GET /v1/surveys/{name}": {200, 404},
    "PATCH /v1/surveys/{name}": {200},
    "DELETE /v1/surveys/{name}": {204},
    "GET /v1/surveys/{name}/rounds": {200, 404},
    "POST /v1/surveys/{name}/rounds": {404, 409, 422},
    "GET /v1/surveys/{name}/rounds/{number}/estimate": {200, 404},
    "GET /v1/surveys/{name}/rounds/{number}/tally": {200, 404},
    "GET /v1/surveys/{name}/rounds/{number}/reports.parquet": {200, 404, 409},
    "POST /v1/surveys/{name}/rounds/{number}/tallies": {200, 400, 404, 422},
    "POST /v1/surveys/{name}/invites": {201, 404, 409},
    "GET /v1/surveys/{name}/events": {200, 404, 422},
    "GET /metrics": {200},
    "POST /v1/plan": {200, 422},
    "GET /v1/scope": {200},
    "GET /v1/tokens": {200},
    "POST /v1/tokens": {201, 422},
    "DELETE /v1/tokens/{name}": {404},
    SUBMIT: {200, 400, 401, 404, 409, 422},
}


def exercise(app: App, operation: Any, mode: GenerationMode, met: Counter[int]) -> None:
    """Send requests that are drawn from a description, and check their answers."""
    few = not operation.label.endswith(("/reports", *OWN))
    many = EXAMPLES * (1 if few else 5)

    @settings(
        max_examples=many,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data(), operation.as_strategy(generation_mode=mode))
    def check(data: Any, case: Any) -> None:
        choose(case, data)
        app.ask("POST", "/v1/surveys", {"name": VICTIM, "spec": ONCE.to_spec()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large budgets warn
            answer = case.call(headers=AUTHORIZED)
        met[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    check()


@pytest.mark.parametrize("label", MET)
def test_answers_are_as_described(app: App, schema: Any, label: str) -> None:
    """Check that no request is answered with a fault, or in a way that is not described."""
    met: Counter[int] = Counter()
    operation = schema.find_operation_by_label(label)
    modes = [GenerationMode.POSITIVE]
    if label != SUBMIT and (operation.body or operation.query or operation.path_parameters):
        modes.append(GenerationMode.NEGATIVE)
    if label == SUBMIT:
        for name, body, status in NEAR:
            own = {"path_parameters": {"name": name}, "media_type": "application/octet-stream"}
            case = operation.Case(body=body, **own)
            answer = case.call()
            case.validate_response(answer, checks=CHECKS)
            assert answer.status_code == status
            met[status] += 1
    for mode in modes:
        exercise(app, operation, mode, met)
    assert set(met) >= MET[label], met


def test_every_route_is_exercised(schema: Any) -> None:
    """Check that the table above has every route of the description."""
    assert {each.ok().label for each in schema.get_all_operations()} == set(MET)


def test_routes_without_a_token(app: App, schema: Any) -> None:
    """Check that refusals for want of a token are described for every route that needs one."""
    for each in schema.get_all_operations():
        operation = each.ok()
        method, path = operation.label.split()
        path = path.format(name="open", number="0")
        for token in (None, "x" * 43):
            answer = app.ask(method, path, None, token)
            assert answer.status_code < 500
            if answer.status_code in (401, 403):
                assert str(answer.status_code) in operation.definition.raw["responses"], path


def test_large_bodies_are_described(app: App, schema: Any) -> None:
    """Check that the answer to a body that is too large is described wherever a body is taken."""
    for label in ("POST /v1/surveys", "POST /v1/tokens", SUBMIT):
        method, path = label.split()
        answer = app.ask(method, path.format(name="open"), bytes(10**6 + 1))
        assert answer.status_code == 413
        assert "413" in schema.find_operation_by_label(label).definition.raw["responses"], label


def test_the_check_finds_what_is_not_described(app: App) -> None:
    """Check that an answer without its description is found: a status is removed from it."""
    described = app.ask("GET", "/openapi.json").json()
    del described["paths"]["/v1/surveys/{name}/reports"]["post"]["responses"]["409"]
    schema = schemathesis.openapi.from_dict(described)
    schema.app = Bridge(app)
    operation = schema.find_operation_by_label(SUBMIT)
    with pytest.raises(BaseExceptionGroup) as caught:
        exercise(app, operation, GenerationMode.POSITIVE, Counter())
    assert "409" in str(caught.value.exceptions[0])
