"""Atomic writes: a file appears completely or not at all."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def open_atomic(path: str | os.PathLike[str], force: bool) -> Iterator[IO[bytes]]:
    """Open a file for an atomic write: it gets its name only when it is complete.

    Parameters
    ----------
    path : path
        Name of the file.
    force : bool
        True replaces a file of this name. False never replaces a file, not even a file that appears
        during the write.

    Yields
    ------
    file
        The binary file to write to.

    Raises
    ------
    FileExistsError
        If there is a file of this name, before or after the write, and ``force`` is False.
    OSError
        If the file cannot be written.
    """
    target = Path(os.fsdecode(path)).absolute()
    require_writable(target, force)
    descriptor, name = _open_unnamed(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if name is None and not force:
                _link(f"/proc/self/fd/{file.fileno()}", target, file.fileno())
                return
            if name is None:  # a temporary name, which os.replace below turns into the final one
                name = str(target.with_name(f".{secrets.token_hex(8)}.part"))
                os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=file.fileno())
            else:
                os.chmod(name, 0o666 & ~_get_umask())
        if force:
            os.replace(name, target)
        else:
            _give_name(name, target)
    except BaseException:
        if name is not None:
            with suppress(OSError):
                os.unlink(name)
        raise


def _give_name(name: str, target: Path) -> None:
    """Give a complete file its final name, which no other file may have.

    If there are no hard links, an empty file takes the name first and is then replaced.
    """
    try:
        _link(name, target)
    except FileExistsError:
        raise
    except OSError:
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            raise _exists(target) from None
        try:
            os.replace(name, target)
        except BaseException:
            os.unlink(target)
            raise
    else:
        os.unlink(name)


def _link(name: str, target: Path, directory: int | None = None) -> None:
    try:
        # With src_dir_fd it follows the symbolic link in /proc
        os.link(name, target, src_dir_fd=directory)
    except FileExistsError:
        raise _exists(target) from None


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} exists: only force=True, or the option --force, overwrites it")


def require_writable(path: Path, force: bool) -> None:
    """Raise an error if a file cannot be written.

    An existing file raises one too, unless ``force`` is True.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, and is not replaced by a file")
    if path.exists() and not force:
        raise _exists(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: {path.parent} is not a directory")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission")


def _open_unnamed(path: Path) -> tuple[int, str | None]:
    """Return a new file in the directory of ``path``.

    If the system supports it, the file has no name. A killed process then leaves nothing behind.
    """
    if os.path.isdir("/proc/self/fd"):  # needed to give the file a name at the end
        with suppress(AttributeError, OSError):
            return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), None
    return tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)


def _get_umask() -> int:
    """Return the permission mask of new files. It can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
