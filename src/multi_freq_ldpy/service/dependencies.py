"""Shared parts of routes: the database, the scope of a token, surveys by name, descriptions."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.engine import Connection

from . import auth, rounds, surveys
from .problems import MEDIA, TITLES, Problem
from .schema import DRAFT
from .store import Store
from .submit import MEDIA as BINARY
from .surveys import Served

bearer = HTTPBearer(auto_error=False, description="A token of this service")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def _store(request: Request) -> Store:
    found: Store = request.app.state.store
    return found


Database = Annotated[Store, Depends(_store)]


def scope_of(store: Database, given: Bearer) -> str | None:
    """Return the scope of the token of a request. An unknown token is refused."""
    if given is None:
        return None
    with store.read() as connection:
        scope = auth.scope_of(connection, given.credentials)
    if scope is None:
        raise Problem("no-token", "The token is unknown or revoked.")
    return scope


Scope = Annotated[str | None, Depends(scope_of)]


def require_admin(scope: Scope) -> None:
    """Refuse requests without an admin token."""
    _require(scope, (auth.ADMIN,))


def require_reader(scope: Scope) -> None:
    """Refuse requests without a token that may read."""
    _require(scope, auth.READERS)


def _require(scope: str | None, wanted: tuple[str, ...]) -> None:
    if scope is None:
        raise Problem("no-token", "This needs a token: Authorization: Bearer …")
    if scope not in wanted:
        raise Problem("forbidden", f"This needs a token of {' or '.join(wanted)}.")


Admin = Depends(require_admin)
Reader = Depends(require_reader)


Responses = dict[int | str, dict[str, Any]]


def problems(*kinds: str, also: Responses | None = None) -> Responses:
    """Return the description of problems, and of further answers, of a route."""
    found: Responses = dict(also or {})
    titles: dict[int, list[str]] = {}
    always = ("invalid", "too-large", "too-many", "unavailable", "fault")
    for kind in dict.fromkeys([*kinds, *always]):
        status, title = TITLES[kind]
        titles.setdefault(status, []).append(f"{title} (`{kind}`)")
    for status, each in titles.items():
        content = {MEDIA: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
        found[status] = {"description": "; ".join(each), "content": content}
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            schema = {"type": "integer"}
            header = {"description": "Seconds to wait before the next try", "schema": schema}
            found[status]["headers"] = {"Retry-After": header}
    return found


def find_survey(
    connection: Connection, name: str, scope: str | None, lock: bool = False
) -> tuple[Served, str]:
    """Return a survey and its state. Drafts are for admins."""
    found = surveys.find(connection, name, lock) if surveys.NAME.fullmatch(name) else None
    if found is None or (found[1] == DRAFT and scope != auth.ADMIN):
        raise Problem("not-found", "There is no survey of this name.")
    return found


def choose_rounds(connection: Connection, served: Served, number: str) -> list[int]:
    """Return the numbers of the wanted rounds."""
    numbers = [each.number for each in rounds.list_rounds(connection, served)]
    if number == "all":
        return numbers
    named = [int(number)] if number.isdecimal() and len(number) <= 10 else []
    wanted = numbers[-1:] if number == "latest" else named
    if not wanted or wanted[0] not in numbers:
        raise Problem("not-found", "There is no such round.")
    return wanted


def choose_round(connection: Connection, served: Served, number: str) -> int:
    """Return the number of the one wanted round."""
    if number == "all":
        raise Problem("not-found", "This is of one round: a number, or latest.")
    return choose_rounds(connection, served, number)[0]


UNCHANGED: Responses = {304: {"description": "It has not changed"}}
BYTES: Responses = {200: {"content": {BINARY: {"schema": {"type": "string", "format": "binary"}}}}}
