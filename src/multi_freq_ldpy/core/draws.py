"""The choice between two ways to draw and count: NumPy alone, or compiled kernels.

Both give the same bytes. Kernels are ten to a hundred times as quick, but a process has to load
numba first, and to compile what no cache holds. So ``plain`` draws small batches, until a process
has done as much work as loading is worth; from then on ``kernels`` do everything.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

PATIENCE = 5e8
"""Nanoseconds of plain work in a process before kernels are loaded."""

START = 5e5
"""Nanoseconds that a call of ``plain`` takes, however small."""

COSTS = {
    "bit_counts": 6,
    "bits": 60,
    "chacha": 10,
    "hashing": 10,
    "noise": 5000,
    "positions": 30,
    "records": 10,
    "subsets": 180,
    "symbols": 80,
}
"""Nanoseconds per unit of work in ``plain``, as measured.

Units are users, bytes, or pairs of a report and a value, as callers say.
"""

VARIABLE = "MULTI_FREQ_LDPY_COMPILE"
MODES = ("auto", "always", "never")
_chosen: dict[str, ModuleType] = {}
_done = 0.0
_warned: list[str] = []


def choose(name: str, work: int) -> ModuleType:
    """Return the module of ``kernels`` or ``plain`` that does some work sooner.

    Parameters
    ----------
    name : str
        The name of the module, the same in both.
    work : int
        How many units of work there are (see ``COSTS``).

    Returns
    -------
    module
        Its functions take the same arguments and write the same bytes in either case.

    Raises
    ------
    ValueError
        If the environment variable ``MULTI_FREQ_LDPY_COMPILE`` is unknown.
    ImportError
        If the variable is ``always`` and numba cannot be imported.
    """
    global _done
    if name in _chosen:
        return _chosen[name]
    mode = os.environ.get(VARIABLE) or "auto"
    if mode not in MODES:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(MODES)}, not {mode!r}")
    _done += START + COSTS[name] * work
    kernels = None
    if mode == "always":
        kernels = import_module(f"multi_freq_ldpy.kernels.{name}")
    elif mode == "auto" and _done > PATIENCE and _can_compile():
        kernels = _load_kernels(name)
    if kernels is not None:
        _chosen[name] = kernels
    elif mode == "never":
        _chosen[name] = import_module(f"multi_freq_ldpy.plain.{name}")
    else:
        return import_module(f"multi_freq_ldpy.plain.{name}")
    return _chosen[name]


@cache
def _can_compile() -> bool:
    """Tell whether numba is installed, and allowed to compile."""
    try:
        installed = find_spec("numba") is not None
    except ValueError:  # something else has this name
        return False
    return installed and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@cache
def _load_kernels(name: str) -> ModuleType | None:
    """Return a module of kernels; where numba is broken, warn once and return None."""
    try:
        return import_module(f"multi_freq_ldpy.kernels.{name}")
    except Exception as error:  # a library that is missing, another version, an import cut off
        message = (
            f"numba cannot be used, so large batches are slow: {type(error).__name__}: {error}"
        )
        if not _warned:
            _warned.append(message)
            warnings.warn(message, stacklevel=3)
        return None
