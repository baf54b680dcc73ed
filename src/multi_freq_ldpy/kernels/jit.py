"""How kernels are compiled: on first use, without the GIL, cached on disk wherever some directory is writable."""

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def jit(function: F) -> F:
    """Compile ``function`` for the types it is first called with."""
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # neither the package nor the user's cache directory can be written: compile in every process
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
