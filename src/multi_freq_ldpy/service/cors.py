"""Requests of pages from other origins: to read a survey, and to submit to an open one."""

import re
from collections.abc import Awaitable, Callable

from .limits import Scope, Send
from .submit import PATH as SUBMISSIONS

SURVEY = re.compile(r"/v1/surveys/[^/]+")
DAY = 86_400
EVERYBODY = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"ETag, Retry-After"),
]

IsOpen = Callable[[str], Awaitable[bool]]


def may_be_asked(scope: Scope) -> str | None:
    """Return the method that pages of other origins may use at a path, or None.

    Parameters
    ----------
    scope : dict
        The ASGI scope.

    Returns
    -------
    str or None
        "GET" for a survey, and "POST" for submissions.
    """
    if SUBMISSIONS.fullmatch(scope["path"]):
        return "POST"
    return "GET" if SURVEY.fullmatch(scope["path"]) else None


def is_preflight(scope: Scope) -> bool:
    """Return True if a browser asks whether it may send a request."""
    asked = b"access-control-request-method"
    return scope["method"] == "OPTIONS" and any(name == asked for name, _ in scope["headers"])


async def answer_preflight(send: Send, method: str) -> None:
    """Answer that a method may be used, for a day. Tokens may not be sent.

    Parameters
    ----------
    send : callable
        The ASGI sender.
    method : str
        The method.
    """
    headers = [
        EVERYBODY[0],
        (b"access-control-allow-methods", method.encode()),
        (b"access-control-allow-headers", b"Content-Type, If-None-Match"),
        (b"access-control-max-age", str(DAY).encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
