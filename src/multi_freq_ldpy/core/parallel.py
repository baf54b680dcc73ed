"""Threads over ranges of users.

Kernels are serial and release the GIL. Results never depend on how users are divided.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

R = TypeVar("R")
GRAIN = 1 << 13
"""Smallest number of users for which a thread of their own is worthwhile."""

_wanted: ContextVar[int | None] = ContextVar("threads", default=None)
_threads: "tuple[int, ThreadPoolExecutor] | None" = None
_growing = threading.Lock()
_within = threading.local()  # whether this thread already works on a range


def count_threads() -> int:
    """Return the number of threads to use.

    ``use_threads`` sets it, otherwise the environment variable ``MULTI_FREQ_LDPY_THREADS``. Without
    either, it is the number of available processors.
    """
    inside = _wanted.get()
    if inside is not None:
        return inside
    wanted = os.environ.get("MULTI_FREQ_LDPY_THREADS")
    if wanted is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ValueError(f"MULTI_FREQ_LDPY_THREADS must be a positive integer, not {wanted!r}")
    return int(wanted)


@contextmanager
def use_threads(n: int) -> Iterator[None]:
    """Use n threads for large batches within the block."""
    token = _wanted.set(n)
    try:
        yield
    finally:
        _wanted.reset(token)


def run_ranges(n: int, job: Callable[[int, int], object], grain: int = GRAIN) -> None:
    """Call ``job(low, high)`` on ranges that cover ``range(n)``.

    The calls run in parallel if n is large. Within a job, there is one call for all numbers. Each
    range has at least ``grain`` numbers, unless there is only one range.
    """
    parts = min(count_threads(), n // grain)
    if parts < 2 or getattr(_within, "job", False):
        job(0, n)
        return
    own, *others = pairwise(n * i // parts for i in range(parts + 1))
    waiting, mine = [], [own]
    for each in others:
        try:
            waiting.append(_get_pool(parts - 1).submit(_run_marked, job, *each))
        except RuntimeError:  # the interpreter is shutting down and starts no threads
            mine.append(each)
    try:
        for each in mine:
            _run_marked(job, *each)
    finally:
        errors = [done.exception() for done in waiting]
    for error in errors:
        if error is not None:
            raise error


def map_ranges(n: int, job: Callable[[int, int], R]) -> list[R]:
    """Return the results of ``job(low, high)`` on ranges that cover ``range(n)``, in any order."""
    found: list[R] = []
    run_ranges(n, lambda low, high: found.append(job(low, high)))
    return found


def map_jobs(jobs: Sequence[Callable[[], R]]) -> list[R]:
    """Return the results of jobs, in their order; they run in parallel if there are threads."""
    found: dict[int, R] = {}

    def run(low: int, high: int) -> None:
        found.update((i, jobs[i]()) for i in range(low, high))

    run_ranges(len(jobs), run, grain=1)
    return [found[i] for i in range(len(jobs))]


def _run_marked(job: Callable[[int, int], object], low: int, high: int) -> None:
    _within.job = True
    try:
        job(low, high)
    finally:
        _within.job = False


def _get_pool(size: int) -> "ThreadPoolExecutor":
    """Return the threads that work beside the caller's thread.

    They are the same every time, until more are needed. A forked child has no threads and gets new
    ones.
    """
    global _threads
    with _growing:
        if _threads is None or _threads[0] < size:
            from concurrent.futures import ThreadPoolExecutor

            _threads = size, ThreadPoolExecutor(size, "multi_freq_ldpy")
        return _threads[1]


def _after_fork() -> None:
    global _threads, _growing, _within
    _threads, _growing, _within = None, threading.Lock(), threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
