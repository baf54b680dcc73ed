"""Limits of requests: the size of headers and bodies, and the time of a whole request."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from math import inf
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .problems import Problem

LARGEST_HEADERS = 16 * 2**10
LARGEST_FRAMES = 4 * LARGEST_HEADERS
"""Largest number of bytes of headers, and of the frames of a body in chunks."""

LARGEST_BODY = 10**6
MOST_RECORDS = 5_000
SLOWEST = 10.0
"""Seconds in which a whole request must arrive, from its first byte or from the connection."""

SLOWEST_READER = 30.0
"""Seconds in which a client must take some of an answer that waits for it."""

MOST_AHEAD = 100
"""Largest number of requests that a client sends on a connection before it has their answers."""

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class GuardedProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, with a limit of time and a limit of header bytes."""

    slowest, slowest_reader = SLOWEST, SLOWEST_READER
    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    _overhead = 0
    _in_headers = True

    def connection_made(self, transport: Any) -> None:
        """Begin the time of the first request."""
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all times."""
        self._stop()
        if self._reader is not None:
            self._reader.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes that are no body, and end the connection if there are too many."""
        if self._timer is None:
            self._start()
        self._overhead += len(data)
        super().data_received(data)
        most = LARGEST_HEADERS if self._in_headers else LARGEST_FRAMES
        if self._overhead > most and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()
        if len(self.pipeline) > MOST_AHEAD:  # uvicorn reads on while requests wait
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Begin the body."""
        self._in_headers = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Leave bytes of the body out of the count. The application limits them."""
        self._overhead -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the time of the request."""
        self._stop()
        self._overhead, self._in_headers = 0, True
        super().on_message_complete()

    def shutdown(self) -> None:
        """Let the application end what would never end by itself."""
        stop = getattr(self.app, "stop", None)
        if stop is not None:
            stop()
        super().shutdown()

    def pause_writing(self) -> None:
        """Begin the time in which a client must take some of its answer."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """End the time in which a client must take some of its answer."""
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        super().resume_writing()

    def _wait_for_reader(self, held: float = inf) -> None:
        """End the connection if its client has taken nothing since the last call."""
        now = self.transport.get_write_buffer_size()
        if now >= held:
            self.transport.abort()
            return
        self._reader = self.loop.call_later(self.slowest_reader, self._wait_for_reader, now)

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.slowest, self._cut)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        self._timer = None
        self.transport.close()


async def read_body(scope: Scope, receive: Receive, largest: int) -> bytes | None:
    """Return the body of a request.

    Parameters
    ----------
    scope : dict
        The ASGI scope.
    receive : callable
        The ASGI receiver.
    largest : int
        The largest number of bytes.

    Returns
    -------
    bytes or None
        The body, or None if the client is gone.

    Raises
    ------
    Problem
        If the body is too large. It is not read to its end.
    """
    refusal = f"A body has at most {largest} bytes."
    for name, value in scope["headers"]:
        if name != b"content-length":
            continue
        if not value.isdigit():
            raise Problem("malformed", "The content length is no number.")
        if len(value) > 15 or int(value) > largest:
            raise Problem("too-large", refusal)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise Problem("too-large", refusal)
        if not message.get("more_body"):
            return b"".join(parts)
