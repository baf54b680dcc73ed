"""Private files: for their owner only, replaced durably, and locked by a file beside them."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .locks import hold_lock

PART = 2**20
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PrivateFile:
    """A file readable by its owner only, with a lock file beside it.

    The lock file records that the file was once created. If the file was created before and is
    gone, opening it is an error.

    A write is atomic and durable. It writes a new file, makes it durable and renames it over the
    old one. After an interruption, the file is the complete old one or the complete new one.

    Parameters
    ----------
    path : str
        Path of the file, without symbolic links.
    lost : str
        End of the error for a lost file, after "… is gone". It says what to do.
    """

    largest = 2**28

    def __init__(self, path: str, lost: str) -> None:
        self.path, self._lost = path, lost
        if os.path.exists(path):
            require_owned(path, os.stat(path))

    @contextmanager
    def begin(self) -> Iterator[bool]:
        """Hold the lock, and yield True if the file was never created. Then it has to be written.

        At the end, the lock file records that the file exists.
        """
        with self.lock_file() as lock:
            new = not os.path.exists(self.path)
            if new and os.read(lock, 1):
                raise self.report_loss()
            yield new
            os.lseek(lock, 0, os.SEEK_SET)
            os.write(lock, b"1")
            os.fsync(lock)

    def report_loss(self) -> FileNotFoundError:
        """Return the error for a file that was created before and is gone."""
        return FileNotFoundError(f"{self.path} is gone{self._lost}")

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        try:
            return read_private(self.path, self.largest)
        except FileNotFoundError:
            raise self.report_loss() from None

    def write_bytes(self, content: bytes) -> None:
        """Replace the content of the file."""
        write_private(self.path, content)

    @contextmanager
    def lock_file(self) -> Iterator[int]:
        """Hold the lock against other processes and other threads."""
        path = f"{self.path}.lock"
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
            try:
                require_owned(path, os.fstat(descriptor))
                with hold_lock(descriptor):
                    if os.path.exists(path) and os.path.samestat(
                        os.fstat(descriptor), os.stat(path)
                    ):
                        yield descriptor
                        return
            finally:  # also if the lock file was removed: another process may hold a new one
                os.close(descriptor)


def read_private(path: str, largest: int) -> bytes:
    """Return the content of a file of this user, and refuse a larger one."""
    descriptor = os.open(path, os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0))
    try:
        require_owned(path, os.fstat(descriptor))
        data = bytearray()
        # os.read allocates the number of bytes that are requested
        while part := os.read(descriptor, min(PART, largest + 1 - len(data))):
            data += part
    finally:
        os.close(descriptor)
    if len(data) > largest:
        raise ValueError(f"{path} cannot be used: it has more than {largest} bytes")
    return bytes(data)


def write_private(path: str, content: bytes) -> None:
    """Write a file of this user, or replace it, atomically and durably."""
    with suppress(FileNotFoundError):  # present after an interrupted write
        os.unlink(f"{path}.new")
    descriptor = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, 0o600)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(f"{path}.new", path)
    sync_directory(path)


def write_all(descriptor: int, content: bytes) -> None:
    """Write bytes to an open file. The system may take them in parts."""
    data = memoryview(content)
    while data:
        data = data[os.write(descriptor, data) :]


def sync_directory(path: str) -> None:
    """Make the name of a file durable, where the system can do so."""
    if hasattr(os, "O_DIRECTORY"):
        directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def require_owned(path: str, about: os.stat_result) -> None:
    """Refuse everything but a regular file of this user that no other user can access."""
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{path} cannot be used: it is not a regular file")
    if hasattr(os, "geteuid") and (about.st_mode & 0o077 or about.st_uid != os.geteuid()):
        mode, owner = about.st_mode & 0o777, about.st_uid
        raise PermissionError(
            f"{path} must belong to this user and be accessible to no other user, not have mode"
            f" {mode:o} and owner {owner}"
        )
