"""The events of a service, followed from elsewhere: read, reconnected, and resumed."""

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from .remote import OPENER, Refused, Remote, _read_problem

SILENCE = 45.0
"""Seconds without a ping after which a connection counts as lost."""

LONGEST_PAUSE = 30.0
GONE, TOO_MANY = 404, 429


def follow(
    remote: Remote,
    name: str,
    *,
    pause: Callable[[float], object] = time.sleep,
    **query: str | float,
) -> Iterator[dict[str, Any]]:
    """Yield the estimates of a survey as they change, until it is closed or deleted.

    A lost connection is made again, and goes on after the last event.

    Parameters
    ----------
    remote : Remote
        The service.
    name : str
        Name of the survey.
    pause : callable
        Function that waits for some seconds.
    **query : str or float
        ``level`` and ``method`` of the estimates.

    Yields
    ------
    dict
        The estimates of the latest round.

    Raises
    ------
    Refused
        If the service refuses to show them.
    OSError
        If no service answers at first.
    """
    survey = f"/v1/surveys/{quote(name, safe='')}"
    path = f"{survey}/events?{urlencode(query)}"
    last: str | None = None
    failures, connected = 0, False
    while True:
        try:
            with open_stream(remote, path, last) as stream:
                connected = True
                for kind, identity, data in read_events(stream):
                    failures = 0
                    if kind == "estimate":
                        last = identity
                        yield data
                    else:  # a survey that is closed below the least number shows nothing
                        data = remote.ask_json("GET", survey)
                    if data.get("state") == "closed":
                        return
        except Refused as refusal:
            if refusal.status == GONE and connected:
                return
            if refusal.status < 500 and refusal.status != TOO_MANY:
                raise
        except (OSError, http.client.HTTPException):
            if not connected:
                raise
        failures += 1
        pause(random.uniform(0, min(LONGEST_PAUSE, 0.5 * 2 ** min(failures, 10))))


@contextmanager
def open_stream(remote: Remote, path: str, last: str | None) -> Iterator[Iterable[bytes]]:
    """Open a stream of events for a block.

    Parameters
    ----------
    remote : Remote
        The service.
    path : str
        Path of the stream.
    last : str or None
        The id of the last event that was read.

    Yields
    ------
    iterable of bytes
        The lines of the stream.

    Raises
    ------
    Refused
        If the service refuses the request.
    OSError
        If no service answers.
    """
    request = urllib.request.Request(remote.url + path, headers={"Accept": "text/event-stream"})
    if remote._token is not None:
        request.add_header("Authorization", f"Bearer {remote._token}")
    if last is not None:
        request.add_header("Last-Event-ID", last)
    try:
        with OPENER.open(request, timeout=SILENCE) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        raise _read_problem(error) from None
    except urllib.error.URLError as error:
        raise OSError(f"no service answers at {remote.url}: {error.reason}") from None


def read_events(stream: Iterable[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield kind, id and data of the events of a stream.

    Parameters
    ----------
    stream : iterable of bytes
        The lines of the stream.

    Yields
    ------
    tuple
        Kind, id and data. An event that is not complete is left out.

    Raises
    ------
    OSError
        If a line is no event of this service.

    Examples
    --------
    >>> from multi_freq_ldpy.service.following import read_events
    >>> lines = [b"id: 7", b"event: estimate", b'data: {"a": 1}', b"", b"id: 8"]
    >>> list(read_events(lines))
    [('estimate', '7', {'a': 1})]
    """
    fields: dict[str, str] = {}
    for line in stream:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "event" in fields and "data" in fields:
            try:
                data = json.loads(fields["data"])
            except ValueError:
                raise OSError("the service sends something that is no event") from None
            yield fields["event"], fields.get("id", ""), data
        fields = {}
