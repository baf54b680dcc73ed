"""Live estimates as server-sent events: one look per second and survey, for all who watch."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import sqlalchemy as sa
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from ..estimation.several import Estimates
from . import auth, models, reading
from .dependencies import Bearer, Database, Responses, Scope, find_survey, problems
from .problems import Problem
from .store import Store, Unavailable

PERIOD = 1.0
"""Seconds between two looks at the database."""

PING = 15.0
"""Seconds after which a stream says that it is alive."""

MOST_WATCHING = 1_000
"""The largest number of streams of a process."""

THREADS = 4
"""The largest number of threads that look, so that other requests have theirs."""

MEDIA = "text/event-stream"
Shown = tuple[float, str]
"""The level and the method of a stream."""

T = TypeVar("T")
Found = tuple[reading.View, list[Estimates]]

log = logging.getLogger("multi_freq_ldpy.service")


@dataclass(eq=False)
class Watcher:
    """Someone who watches a survey.

    Parameters
    ----------
    token : str or None
        Hash of the token, or None without one.
    shown : tuple
        Level and method.
    """

    token: str | None
    shown: Shown
    ended: bool = False


@dataclass(eq=False)
class Feed:
    """The present state of a survey, for all who watch it with the same rights.

    ``found`` holds the last view with its estimates. ``events`` holds the event of each level and
    method, which is made once per change. ``changed`` wakes everybody who waits.
    """

    name: str
    scope: str | None
    watchers: set[Watcher] = field(default_factory=set)
    found: Found | None = None
    events: dict[Shown, asyncio.Task[tuple[str, bytes]]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Wake everybody who waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()


class Events:
    """The streams of a process.

    Parameters
    ----------
    store : Store
        The database.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._closing = store, asyncio.Event()
        self._feeds: dict[tuple[int, str | None], Feed] = {}
        self._limiter: CapacityLimiter | None = None
        self._looking: set[asyncio.Task[None]] = set()

    @property
    def watching(self) -> int:
        """The number of streams."""
        return sum(len(each.watchers) for each in self._feeds.values())

    def close(self) -> None:
        """End all streams."""
        self._closing.set()
        for feed in self._feeds.values():
            feed.wake()

    async def stop(self) -> None:
        """End all streams, and wait for the looks at the database that are under way."""
        self.close()
        await asyncio.gather(*self._looking, return_exceptions=True)

    async def watch(
        self, key: int, scope: str | None, watcher: Watcher, last: str | None
    ) -> AsyncIterator[bytes]:
        """Yield the events of a survey, until it is deleted or the service stops.

        Parameters
        ----------
        key : int
            Key of the survey.
        scope : str or None
            Scope of the token, or None for releases.
        watcher : Watcher
            The one who watches. It must be registered by ``enter``.
        last : str or None
            The id of the last event that was seen. The same event is not sent again.

        Yields
        ------
        bytes
            Parts of the stream.
        """
        feed = self._feeds[key, scope]
        yield b"retry: 2000\n\n"
        while not self._closing.is_set() and not watcher.ended:
            changed = feed.changed
            identity, event = last, b""
            if feed.found is not None:
                identity, event = await self._describe(feed, feed.found, watcher.shown)
            if identity != last:
                last = identity
                yield event
                await self._rest()
                continue
            try:
                async with asyncio.timeout(PING):
                    await changed.wait()
            except TimeoutError:
                yield b"event: ping\ndata: {}\n\n"

    def enter(self, key: int, name: str, scope: str | None, watcher: Watcher) -> None:
        """Register someone who watches, and begin to look if nobody did before.

        Parameters
        ----------
        key : int
            Key of the survey.
        name : str
            Its name.
        scope : str or None
            Scope of the token, or None for releases.
        watcher : Watcher
            The one who watches.

        Raises
        ------
        Problem
            If too many watch, or if the service is stopping.
        """
        if self._closing.is_set() or self.watching >= MOST_WATCHING:
            raise Problem("too-busy", "Too many streams are open. Try again later.")
        feed = self._feeds.get((key, scope))
        if feed is not None:
            feed.watchers.add(watcher)
            return
        feed = self._feeds[key, scope] = Feed(name, scope, {watcher})
        task = asyncio.create_task(self._look(key, feed))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    def leave(self, key: int, scope: str | None, watcher: Watcher) -> None:
        """Forget someone who watched. Nothing happens if this is called again."""
        feed = self._feeds.get((key, scope))
        if feed is None or watcher not in feed.watchers:
            return
        feed.watchers.discard(watcher)
        if all(each.shown != watcher.shown for each in feed.watchers):
            feed.events.pop(watcher.shown, None)
        if not feed.watchers:
            del self._feeds[key, scope]

    async def _look(self, key: int, feed: Feed) -> None:
        """Look at the database once per second, while somebody watches.

        The task is never cancelled: a connection that a thread holds would stay open.
        """
        while feed.watchers and not self._closing.is_set():
            try:
                await self._look_once(key, feed)
            except Unavailable:
                pass  # the next look may do better
            except Exception as error:  # without its text
                log.error("a stream failed: %s", type(error).__name__)
            await self._rest()

    async def _rest(self) -> None:
        """Wait for a second, or until the service stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PERIOD):
                await self._closing.wait()

    async def _look_once(self, key: int, feed: Feed) -> None:
        tokens = {each.token for each in feed.watchers if each.token is not None}
        before = None if feed.found is None else feed.found[0].mark
        look = await self._in_thread(_look, self._store, key, feed, tokens, before)
        for each in feed.watchers:
            each.ended |= look.over or each.token in look.ended
        if look.changed:
            feed.found, feed.events = look.found, {}
        if look.changed or look.over or look.ended:
            feed.wake()

    async def _describe(self, feed: Feed, found: Found, shown: Shown) -> tuple[str, bytes]:
        """Return the id and the bytes of the present event for a level and a method."""
        if shown not in feed.events:
            made = self._in_thread(_write_event, found, *shown)
            feed.events[shown] = asyncio.create_task(made)
        return await asyncio.shield(feed.events[shown])

    async def _in_thread(self, function: Callable[..., T], *given: Any) -> T:
        if self._limiter is None:
            self._limiter = CapacityLimiter(THREADS)
        return await to_thread.run_sync(function, *given, limiter=self._limiter)


@dataclass(frozen=True)
class Look:
    """The result of one look at the database.

    ``over`` ends all streams, and ``ended`` those of some tokens.
    """

    ended: set[str]
    over: bool = False
    changed: bool = False
    found: Found | None = None


def _look(store: Store, key: int, feed: Feed, tokens: set[str], before: str | None) -> Look:
    """Look whether a survey may still be read, and whether its estimates have changed."""
    ended = tokens - _find_readers(store, tokens)
    try:
        view = reading.look(store, feed.name, feed.scope, "latest")
    except Problem as problem:
        if problem.kind in ("no-token", "forbidden") or not _exists(store, key, feed):
            return Look(ended, over=True)
        return Look(ended, changed=before is not None)  # there is no release, or no round
    if view.served.pk != key:
        return Look(ended, over=True)
    if view.mark == before:
        return Look(ended)
    return Look(ended, changed=True, found=(view, reading.estimate(view)))


def _find_readers(store: Store, tokens: set[str]) -> set[str]:
    """Return the hashes of tokens that may read live tallies now."""
    if not tokens:
        return set()
    columns = auth.Tokens
    own = columns.hash.in_(tokens) & columns.scope.in_(auth.READERS) & sa.not_(columns.revoked)
    with store.read() as connection:
        return set(connection.execute(sa.select(columns.hash).where(own)).scalars())


def _exists(store: Store, key: int, feed: Feed) -> bool:
    """Return True if the survey of a feed is there."""
    try:
        with store.read() as connection:
            return find_survey(connection, feed.name, feed.scope)[0].pk == key
    except Problem:
        return False


def _write_event(found: Found, level: float, method: str) -> tuple[str, bytes]:
    """Return the id of an event, which is a digest of its data, and its bytes."""
    data = models.EstimatesOut(**reading.describe(*found, level, method)).model_dump_json()
    identity = hashlib.blake2b(data.encode(), digest_size=12).hexdigest()
    return identity, f"id: {identity}\nevent: estimate\ndata: {data}\n\n".encode()


class Stream(StreamingResponse):
    """A stream that forgets its watcher at its end, however it ends."""

    def __init__(self, parts: AsyncIterator[bytes], leave: Callable[[], None]) -> None:
        super().__init__(parts, media_type=MEDIA, headers=HEADERS)
        self._leave = leave

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


STREAM: Responses = {
    200: {
        "description": "`estimate` with the estimates of the latest round on each change, at most"
        " one per second, and `ping` every 15 seconds",
        "content": {MEDIA: {"schema": {"type": "string"}}},
    }
}
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
router = APIRouter()


def _find(name: str, store: Database, scope: Scope) -> tuple[int, str | None]:
    """Return the key of a survey that may be read, and None for releases or else a scope."""
    with store.read() as connection:
        served, _ = find_survey(connection, name, scope)
        audience = reading.require_audience(connection, served, scope)
    return served.pk, auth.ADMIN if audience is None else None


@router.get(
    "/v1/surveys/{name}/events",
    summary="Live estimates of the latest round",
    response_class=StreamingResponse,
    responses=problems("not-found", "no-token", "forbidden", "too-busy", also=STREAM),
)
async def get_events(
    name: str,
    request: Request,
    found: Annotated[tuple[int, str | None], Depends(_find)],
    given: Bearer,
    level: Annotated[float, Query(ge=0.01, le=0.9999)] = 0.95,
    method: Literal["raw", "norm_sub", "norm"] = "raw",
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Send estimates as they change. Without a token, they are those of releases."""
    (key, scope), events = found, request.app.state.events
    hashed = None if given is None or scope is None else auth.hash_token(given.credentials)
    watcher = Watcher(hashed, (level, method))
    events.enter(key, name, scope, watcher)
    parts = events.watch(key, scope, watcher, last_event_id)
    return Stream(parts, partial(events.leave, key, scope, watcher))
