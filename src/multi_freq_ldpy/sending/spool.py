"""Spool files: reports of a gateway that wait in files beside its outbox.

A file has the body of a submission, of any length. Its name is that of the outbox, 16 hexadecimal
digits and ``.batch``. The last eight digits tell the name of the survey, which the body does not
have. A file that is refused for ever is renamed and not sent again.
"""

import glob
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from ..core.tally import digest_of
from ..files.locks import try_lock
from ..files.private import NO_LINK, require_owned, sync_directory, write_all

HALF = 8
"""Hexadecimal digits that are random, and that tell the name of the survey."""


@contextmanager
def create_spool(outbox: str, name: str, body: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    """Write a spool file durably, and yield its path and the file. No other process sends it."""
    while True:
        path = f"{outbox}.{secrets.token_hex(HALF // 2)}{_mark(name)}.batch"
        try:
            descriptor = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "r+b") as file, try_lock(descriptor) as held:
            # Another process may have taken the new file for one of a killed process
            if not held or not os.fstat(descriptor).st_nlink or os.path.exists(path):
                with suppress(FileNotFoundError):
                    os.unlink(f"{path}.new")
                continue
            try:
                write_all(descriptor, body)
                os.fsync(descriptor)
                os.replace(f"{path}.new", path)
                sync_directory(path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(f"{path}.new")
                raise
            file.seek(0)
            yield path, file
            return


def list_spools(outbox: str) -> list[str]:
    """Return the paths of the files that wait. Parts of killed processes are removed."""
    pattern = f"{glob.escape(outbox)}.{'[0-9a-f]' * 2 * HALF}.batch"
    for path in glob.glob(f"{pattern}.new"):
        with hold_spool(path) as file:
            if file is not None:
                with suppress(FileNotFoundError):  # its process was killed after it was renamed
                    os.unlink(path)
    return sorted(glob.glob(pattern))


def find_name(path: str, names: Iterable[str]) -> str | None:
    """Return the one of the names whose reports a file has, or None."""
    mark = path.removesuffix(".batch")[-HALF:]
    return next((name for name in names if _mark(name) == mark), None)


@contextmanager
def hold_spool(path: str) -> Iterator[IO[bytes] | None]:
    """Open a file under its lock, or yield None if another process sends it or has sent it."""
    try:
        descriptor = os.open(path, os.O_RDWR | NO_LINK)
    except FileNotFoundError:
        yield None
        return
    with os.fdopen(descriptor, "r+b") as file:
        require_owned(path, os.fstat(descriptor))
        with try_lock(descriptor) as held:
            yield file if held and os.fstat(descriptor).st_nlink else None


def _mark(name: str) -> str:
    """Return the digits that tell the name of a survey."""
    return digest_of(name.encode()).hex()[:HALF]
