"""Compilation of kernels.

Kernels are compiled on first use and run without the GIL. They are cached on disk if some directory
is writable.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba.core import event, types
from numba.extending import intrinsic

from ..files.locks import hold_lock
from ..files.progress import say


class _Notice(event.Listener):
    """Print a notice when compilation begins.

    Kernels from the cache are not compiled and cause no notice.
    """

    def on_start(self, event: Any) -> None:
        """Print the notice, once per process."""
        say(
            "multi-freq-ldpy compiles for a large batch: 5 to 15 s, once per machine"
            " (`multi-freq-ldpy warm` does it in advance)"
        )

    def on_end(self, event: Any) -> None:
        """Print nothing."""


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]


@cache
def _version() -> str:
    """Return a digest of all kernel files.

    A cached kernel contains code of other files, but numba checks only the kernel's own file.

    The digest includes numba's version. Two versions that share one tree then do not overwrite each
    other's kernels.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return blake2b(
        b"".join([numba.__version__.encode(), *(file.read_bytes() for file in files)]),
        digest_size=6,
    ).hexdigest()


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` for the types of its first call."""
    function.__qualname__ += f"_{_version()}"  # part of the name under which numba caches it
    try:
        compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    # No write access to the package or the user's cache directory: compile in every process
    except RuntimeError:
        return numba.njit(nogil=True)(function)
    cache: Any = vars(compiled).get("_cache")
    if cache is not None:  # there is no cache where compiling is disabled
        cache.save_overload = partial(_save, cache.save_overload, Path(cache.cache_path, "lock"))
    return compiled


def _save(save: Callable[..., None], lock: Path, signature: Any, result: Any) -> None:
    """Let one process at a time add to the cache.

    Numba reads an index, writes it with one more entry, and then writes the code. Two processes
    that compile for different types at once would give both the same file name. One might later run
    the code of the other. If a write fails, on a full disk for example, the kernel is not kept.
    """
    with suppress(OSError), ExitStack() as stack:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        stack.callback(os.close, descriptor)
        with suppress(OSError):  # a file system without locks
            stack.enter_context(hold_lock(descriptor))
        save(signature, result)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write ``function`` into every kernel that calls it.

    An array is passed as many arguments, and the call would be too slow for small loops.
    """
    return numba.njit(inline="always")(function)


@intrinsic
def popcount(typing_context: Any, number: Any) -> Any:
    """Return the number of bits of an integer that are 1."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), context.get_value_type(types.int64))

    return types.int64(number), codegen
