"""The path of submissions: plain ASGI, because it is called for every report."""

import json
import re
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from anyio import to_thread

from . import batch, rounds, surveys
from .auth import hash_token
from .groups import DELETED, Counted, NotAccepted, NotAllowed, NotReports, Outcome, Submission
from .invites import derive_id
from .limits import MOST_RECORDS, Receive, Scope, Send, read_body
from .problems import Problem, as_sentence
from .schema import DRAFT, OPEN
from .store import Store
from .surveys import ANYBODY, INVITE, TOKEN, Served
from .writer import Full, Writer

PATH = re.compile(r"/v1/surveys/([^/]+)/reports")
MEDIA = "application/octet-stream"
NEEDED = {
    TOKEN: "This survey takes reports with a token only.",
    INVITE: "This survey takes reports with an invite only, which is sent as a token.",
}


class Submissions:
    """The submissions of a service.

    Parameters
    ----------
    store : Store
        The database.
    writer : Writer
        The thread that counts.
    largest : int
        Largest number of bytes of a body.
    """

    def __init__(self, store: Store, writer: Writer, largest: int) -> None:
        self.store, self.writer, self.largest = store, writer, largest
        self._known: dict[str, Served] = {}
        self._rules: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose path is that of submissions."""
        match = PATH.fullmatch(scope["path"])
        assert match is not None
        if scope["method"] != "POST":
            raise Problem("method", "Reports are sent with POST.", allow="POST")
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind != MEDIA or b"content-encoding" in headers:
            raise Problem("media-type", f"The body must be {MEDIA}, without a content encoding.")
        body = await read_body(scope, receive, self.largest)
        if body is None:
            return
        bearer = read_bearer(headers.get(b"authorization"))
        submission = await self._check(match[1], body, bearer)
        outcome = await self._count(submission)
        if isinstance(outcome, NotAllowed) or _is_deleted(outcome):
            served = await self._look_up(match[1])  # the survey may have been made again
            if served.pk != submission.served.pk or _is_deleted(outcome):
                outcome = await self._count(await self._check(match[1], body, bearer))
        await send_json(send, HTTPStatus.OK, _answer(outcome))

    async def _count(self, submission: Submission) -> Outcome:
        """Return the result of a submission."""
        try:
            return await self.writer.submit(submission)
        except Full:
            raise Problem("too-busy", "Too many reports are waiting. Send them again.") from None

    async def _check(self, name: str, body: bytes, bearer: str | None) -> Submission:
        """Return the submission of a body. Its reports are checked later, together with others."""
        try:
            digest, round = batch.read_header(body)
        except ValueError as error:
            raise Problem("malformed", as_sentence(error)) from None
        served = self._known.get(name)
        if served is None or served.digest != digest:
            served = await self._look_up(name)
        if served.submission != ANYBODY and bearer is None:
            served = await self._look_up(name)  # the survey may have been made again
        if served.submission != ANYBODY and bearer is None:
            raise Problem("no-token", NEEDED[served.submission])
        if served.digest != digest:
            raise Problem(
                "wrong-survey",
                f"The reports are of the survey with digest {digest}, and {name} has"
                f" {served.digest}.",
                digest=served.digest,
            )
        try:
            records = batch.count_records(body, served.report_bytes)
        except ValueError as error:
            raise Problem("malformed", as_sentence(error)) from None
        if records > MOST_RECORDS:
            raise Problem("too-large", f"A body has at most {MOST_RECORDS} records.")
        if round > served.last_round:
            last = f"The last round of this survey is {served.last_round}."
            accepted = await to_thread.run_sync(self._find_accepted, served)
            raise Problem("round-closed", last, accepted=accepted)
        if served.submission == ANYBODY or bearer is None:
            return Submission(served, round, body)
        if served.submission == INVITE:
            if records > 1:
                raise Problem("malformed", "An invite sends one report, so a body has one record.")
            start, end = batch.HEADER.size, batch.HEADER.size + batch.ID_BYTES
            body = body[:start] + derive_id(bearer, round) + body[end:]
        return Submission(served, round, body, hash_token(bearer))

    def is_for_all(self, name: str) -> bool:
        """Return True unless a survey was seen that takes reports with a token only."""
        return self._rules.get(name, ANYBODY) == ANYBODY

    async def find_whether_for_all(self, name: str) -> bool:
        """Return what ``is_for_all`` does, after a look into the database."""
        with suppress(Problem):
            await self._look_up(name)
        return self.is_for_all(name)

    def _find_accepted(self, served: Served) -> list[int]:
        with self.store.read() as connection:
            return rounds.find_accepted(connection, served, time.time())

    async def _look_up(self, name: str) -> Served:
        def find() -> tuple[Served, str] | None:
            with self.store.read() as connection:
                return surveys.find(connection, name)

        found = await to_thread.run_sync(find) if surveys.NAME.fullmatch(name) else None
        if found is None or found[1] == DRAFT:
            self._known.pop(name, None)
            self._rules.pop(name, None)
            raise Problem("not-found", "There is no survey of this name.")
        served, state = found
        self._rules[name] = served.submission
        if state == OPEN:
            self._known[name] = served
        return served


def _is_deleted(outcome: Outcome) -> bool:
    return isinstance(outcome, NotAccepted) and outcome.state == DELETED


def read_bearer(header: bytes | None) -> str | None:
    """Return the token of an Authorization header, or None if it has none."""
    scheme, _, token = (header or b"").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _answer(outcome: Outcome) -> bytes:
    """Return the JSON with which a submission is answered, or raise the problem."""
    if isinstance(outcome, Counted):
        return b'{"counted":%d,"duplicates":%d}' % (outcome.counted, outcome.duplicates)
    if isinstance(outcome, NotReports):
        raise Problem(
            "not-a-report",
            "Some records are not reports of this survey. Nothing of this body was counted.",
            indices=outcome.indices,
        )
    if isinstance(outcome, NotAllowed):
        if not outcome.known:
            raise Problem("no-token", "The token is unknown or revoked.")
        raise Problem("forbidden", "The token is not for submissions to this survey.")
    if outcome.state != OPEN:
        raise Problem("not-open", f"The survey is {outcome.state}.")
    raise Problem(
        "round-closed",
        "The round of these reports does not take reports now. It may have counted them before.",
        accepted=outcome.accepted,
    )


async def send_json(
    send: Send, status: int, content: Any, media: str = "application/json", **headers: str
) -> None:
    """Send an answer.

    Parameters
    ----------
    send : callable
        The ASGI sender.
    status : int
        Status of the answer.
    content : object
        The body: bytes, or an object for JSON.
    media : str
        Type of the body.
    **headers
        Further headers.
    """
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    every = {"content-type": media, "content-length": str(len(body)), **headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in every.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: Problem) -> None:
    """Send a problem as an answer."""
    from .problems import MEDIA as PROBLEM

    close = {"connection": "close"} if problem.kind == "too-large" else {}
    await send_json(send, problem.status, problem.body, PROBLEM, **problem.headers, **close)
