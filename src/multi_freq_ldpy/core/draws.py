"""The choice between two ways to draw and count: NumPy alone, or compiled kernels.

Both give the same bytes. Kernels are ten to a hundred times as fast. But a process has to load
numba first, and to compile every kernel that is not in the cache. So ``plain`` draws small batches
until the process has worked as long as loading takes. From then on ``kernels`` do everything.
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
"""Nanoseconds that every call of ``plain`` takes, even for the smallest work."""

COSTS = {
    "bit_counts": 6,
    "bits": 60,
    "chacha": 10,
    "hashing": 10,
    "noise": 5000,
    "positions": 30,
    "records": 10,
    "steps": 30,
    "subsets": 180,
    "symbols": 80,
}
"""Measured nanoseconds per unit of work in ``plain``.

Units are users, bytes, or pairs of a report and a value: each caller knows its unit.
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
        Name of the module, the same in both packages.
    work : int
        Number of units of work (see ``COSTS``).

    Returns
    -------
    module
        The functions of both modules take the same arguments and write the same bytes.

    Raises
    ------
    ValueError
        If the value of the environment variable ``MULTI_FREQ_LDPY_COMPILE`` is unknown.
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
    """Tell whether numba is installed and allowed to compile."""
    try:
        installed = find_spec("numba") is not None
    except ValueError:  # another module has this name
        return False
    return installed and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@cache
def _load_kernels(name: str) -> ModuleType | None:
    """Return a module of kernels, or None with one warning per process if numba is broken."""
    try:
        return import_module(f"multi_freq_ldpy.kernels.{name}")
    except Exception as error:  # a missing library, another version, an interrupted import
        message = (
            f"numba cannot be used, so large batches are slow: {type(error).__name__}: {error}"
        )
        if not _warned:
            _warned.append(message)
            warnings.warn(message, stacklevel=3)
        return None
