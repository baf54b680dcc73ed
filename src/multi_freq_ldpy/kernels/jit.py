"""How kernels are compiled: on first use, without the GIL, cached on disk wherever some directory is writable."""

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.extending import intrinsic


@cache
def _version() -> str:
    """Return a digest of all kernel files: a cached kernel holds code of the others, and numba looks at its own file only.

    Its version is in it too, so that two of them at work on one tree do not overwrite each other's kernels.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return blake2b(b"".join([numba.__version__.encode(), *(file.read_bytes() for file in files)]), digest_size=6).hexdigest()


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` for the types it is first called with."""
    function.__qualname__ += f"_{_version()}"  # part of the name under which numba caches it
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the package nor the user's cache directory can be written: compile in every process
        return numba.njit(nogil=True)(function)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write ``function`` into every kernel that calls it: arrays are many arguments, and small loops cannot afford the call."""
    return numba.njit(inline="always")(function)


@intrinsic
def popcount(typing_context: Any, number: Any) -> Any:
    """Return how many bits of an integer are 1."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), context.get_value_type(types.int64))

    return types.int64(number), codegen
