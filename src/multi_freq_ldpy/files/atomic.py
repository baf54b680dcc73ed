"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def open_atomic(path: str | os.PathLike[str], force: bool) -> Iterator[IO[bytes]]:
    """Open a file to write that has its name only when it is whole.

    One that exists is not overwritten unless ``force`` says so.
    """
    target = Path(os.fsdecode(path))
    require_writable(target, force)
    descriptor, name = _open_unnamed(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if (
                name is None
                # A name now, that of a part, which nothing can stop from becoming the whole but the
                # next instruction
            ):
                name = f"{target}.{os.getpid()}.part"
                # With a descriptor it follows the link
                os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=file.fileno())
            else:
                os.chmod(name, 0o666 & ~_get_umask())
        if force:
            os.replace(name, target)
        else:
            require_writable(target, force)
            os.rename(name, target)
    except BaseException:
        if name is not None:
            with suppress(OSError):
                os.unlink(name)
        raise


def require_writable(path: Path, force: bool) -> None:
    """Refuse to write where nothing can be written, or where a file is, unless ``force`` says
    otherwise.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: only force overwrites it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no directory to write to")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission")


def _open_unnamed(path: Path) -> tuple[int, str | None]:
    """Return a new file in the directory of another.

    Without a name where the system can do that, so that a killed run leaves nothing.
    """
    with suppress(AttributeError, OSError):
        return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), None
    return tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)


def _get_umask() -> int:
    """Return the mask of permissions of new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
