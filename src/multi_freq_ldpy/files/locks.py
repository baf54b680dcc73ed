"""Locks on files, between processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def hold_lock(descriptor: int) -> Iterator[None]:
    """Hold the lock on an open file within the block.

    The lock is released even if a fork has copied the descriptor.
    """
    locking: Any
    try:
        import fcntl as locking
    except ImportError:
        import msvcrt as locking

        def lock(how: str) -> None:
            os.lseek(descriptor, 0, os.SEEK_SET)
            locking.locking(
                descriptor, getattr(locking, {"LOCK_EX": "LK_LOCK", "LOCK_UN": "LK_UNLCK"}[how]), 1
            )
            os.lseek(descriptor, 0, os.SEEK_SET)

    else:

        def lock(how: str) -> None:
            locking.flock(descriptor, getattr(locking, how))

    lock("LOCK_EX")
    try:
        yield
    finally:
        lock("LOCK_UN")


@contextmanager
def try_lock(descriptor: int) -> Iterator[bool]:
    """Yield True with the lock on an open file, or False if another process holds it."""
    locking: Any
    try:
        try:
            import fcntl as locking
        except ImportError:
            import msvcrt as locking

            locking.locking(descriptor, locking.LK_NBLCK, 1)
        else:
            locking.flock(descriptor, locking.LOCK_EX | locking.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True  # closing the file releases the lock
