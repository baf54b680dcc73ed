"""Problems in answers, after RFC 9457: a word, a title, and a sentence for a person."""

import json
from typing import Any

MEDIA = "application/problem+json"

TITLES: dict[str, tuple[int, str]] = {
    "malformed": (400, "The body is not a submission"),
    "invalid": (422, "The request has wrong values"),
    "no-token": (401, "A token is missing or unknown"),
    "forbidden": (403, "The token does not allow this"),
    "not-found": (404, "There is nothing of this name"),
    "method": (405, "The method does not exist here"),
    "wrong-survey": (409, "The reports are of another survey"),
    "not-open": (409, "The survey is not open"),
    "round-closed": (409, "The round does not take reports"),
    "name-taken": (409, "Another survey has this name"),
    "state": (409, "The survey cannot change in this way"),
    "confirm": (409, "The deletion is not confirmed"),
    "scheduled": (409, "The rounds follow a schedule"),
    "not-next": (409, "This is not the next round"),
    "no-round": (409, "The survey has no such round"),
    "no-invites": (409, "The survey has no invites"),
    "not-kept": (409, "The reports are not kept"),
    "too-few": (409, "There is no release yet"),
    "too-large": (413, "The body is too large"),
    "media-type": (415, "The body has another type"),
    "not-a-report": (422, "Some records are not reports of this survey"),
    "too-many": (429, "Too many requests come from one address"),
    "too-busy": (503, "The service is busy"),
    "unavailable": (503, "The database does not answer"),
    "fault": (500, "The service has a fault"),
}
"""The status and the title of each problem."""

RETRY = {"too-many": 1, "too-busy": 1, "unavailable": 2}
"""Seconds after which a request may be sent again."""


def as_sentence(error: object) -> str:
    """Return the text of an error as a sentence: with a capital letter and a full stop."""
    text = f"{error}."
    return text[:1].upper() + text[1:]


class Problem(Exception):
    """A refusal that becomes an answer.

    Parameters
    ----------
    kind : str
        A word of ``TITLES``.
    detail : str
        One sentence for a person.
    allow : str
        Methods that exist at the address, for the header of this name.
    **more
        Further fields of the answer.
    """

    def __init__(self, kind: str, detail: str, *, allow: str = "", **more: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.allow, self.more = kind, detail, allow, more

    @property
    def status(self) -> int:
        """The status of the answer."""
        return TITLES[self.kind][0]

    @property
    def body(self) -> bytes:
        """The body of the answer, as JSON."""
        title = TITLES[self.kind][1]
        fields = {"type": f"/problems/{self.kind}", "title": title, "status": self.status}
        return json.dumps(fields | {"detail": self.detail} | self.more).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, besides its type and length."""
        found = {"Retry-After": str(RETRY[self.kind])} if self.kind in RETRY else {}
        if self.status == 401:
            found["WWW-Authenticate"] = "Bearer"
        return found | ({"Allow": self.allow} if self.allow else {})
