"""The one thread of a process that writes: it counts all submissions that wait together."""

import asyncio
import logging
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf

from .groups import SHARDS, Outcome, Submission, commit_group
from .store import Store, Unavailable

MOST_GROUPED = 5_000
MOST_QUEUED = 20_000
LARGEST_GROUP, LARGEST_QUEUE = 2**23, 2**26
"""The largest numbers of bytes of a group, and of all that waits."""

MEMORY = 5.0
"""Seconds for which the service is not ready after a group that was not counted."""

log = logging.getLogger("multi_freq_ldpy.service")

Waiting = tuple[Submission, "asyncio.Future[Outcome]"]


class Full(Exception):
    """Exception raised if too many reports wait."""


class Writer:
    """The submissions that wait, and the thread that counts them.

    While one group is committed, the next one gathers. There is no timer. The event loop hands over
    everything that waits, so the thread is woken once per group and not once per request.

    Parameters
    ----------
    store : Store
        The database.
    commit : callable
        Function that counts a group. Only tests replace it.
    note : callable, optional
        Function that gets the results of each group, and its time in seconds.
    """

    def __init__(
        self,
        store: Store,
        commit: Callable[[Store, list[Submission], int], list[Outcome]] = commit_group,
        note: Callable[[list[Outcome], float], None] | None = None,
    ) -> None:
        self.store, self.queued, self.held = store, 0, 0
        self.failed_at = -inf
        self._note = note
        self._commit, self._shard = commit, random.SystemRandom().randrange(SHARDS)
        self._waiting: deque[Waiting] = deque()
        self._groups: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def submit(self, submission: Submission) -> Outcome:
        """Return the result of a submission, after its commit.

        Parameters
        ----------
        submission : Submission
            The reports.

        Returns
        -------
        Outcome
            The result.

        Raises
        ------
        Full
            If too many reports wait, or if the service is stopping.
        Unavailable
            If the database does not answer. Then nothing was counted.
        """
        many, size = submission.records, len(submission.body)
        full = self.queued + many > MOST_QUEUED or self.held + size > LARGEST_QUEUE
        if self._closed or full:
            raise Full
        self.queued += many
        self.held += size
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append((submission, future))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._hand_over)
        try:
            return await future
        finally:
            self.queued -= many
            self.held -= size

    async def close(self) -> None:
        """Count what waits, and end the thread."""
        self._closed = True
        await self._idle.wait()
        self._groups.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        """Give the thread everything that waits, up to the size of a group."""
        group: list[Waiting] = []
        size = held = 0
        while self._waiting:
            size += self._waiting[0][0].records
            held += len(self._waiting[0][0].body)
            if group and (size > MOST_GROUPED or held > LARGEST_GROUP):
                break
            group.append(self._waiting.popleft())
        if group:
            self._groups.put(group)
        else:
            self._idle.set()

    def _run(self) -> None:
        while (group := self._groups.get()) is not None:
            self._count(group)

    def _count(self, group: list[Waiting]) -> None:
        found: list[Outcome] | Exception
        start = time.perf_counter()
        try:
            found = self._commit(self.store, [each for each, _ in group], self._shard)
        except Unavailable as error:
            found = error
        except Exception as error:  # nothing was committed, and the thread must go on
            found = Unavailable(type(error).__name__)
            found.__cause__ = error
        self._note_failure(found if isinstance(found, Exception) else None)
        if self._note is not None and not isinstance(found, Exception):
            self._note(found, time.perf_counter() - start)
        self._loop.call_soon_threadsafe(self._resolve, group, found)

    def _note_failure(self, error: Exception | None) -> None:
        """Remember a failure, and log the first one of several."""
        if error is None:
            if self.failed_at > -inf:
                log.info("reports are counted again")
            self.failed_at = -inf
            return
        if self.failed_at == -inf:  # without its text, which may hold data
            log.error("a group of reports was not counted: %s", error)
        self.failed_at = time.monotonic()

    def is_failing(self) -> bool:
        """Return True if the last group failed, and lately. Later, reports may be tried again."""
        return time.monotonic() - self.failed_at < MEMORY

    def _resolve(self, group: list[Waiting], found: list[Outcome] | Exception) -> None:
        """Begin the next group, and answer this one."""
        self._hand_over()
        for i, (_, future) in enumerate(group):
            if future.cancelled():
                continue
            if isinstance(found, Exception):
                future.set_exception(found)
            else:
                future.set_result(found[i])
