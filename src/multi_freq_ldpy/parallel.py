"""Threads over ranges of users. Kernels are serial and release the GIL; results never depend on how users are divided."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

GRAIN = 1 << 13
"""Fewest users worth a thread of their own."""

_wanted: ContextVar[int | None] = ContextVar("threads", default=None)


def threads() -> int:
    """Return how many threads to use: what ``using`` says, else ``MULTI_FREQ_LDPY_THREADS``, else the available processors."""
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
def using(n: int) -> Iterator[None]:
    """Use n threads for large batches within the block."""
    token = _wanted.set(n)
    try:
        yield
    finally:
        _wanted.reset(token)


def ranges(n: int, job: Callable[[int, int], object]) -> None:
    """Call ``job(low, high)`` on ranges that cover ``range(n)``, side by side where n is large.

    The pool lives for one call, so there is nothing for a fork to break.
    """
    parts = min(threads(), n // GRAIN)
    if parts < 2:
        job(0, n)
        return
    from concurrent.futures import ThreadPoolExecutor

    edges = [n * i // parts for i in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(job, low, high) for low, high in pairwise(edges)]:
            done.result()
