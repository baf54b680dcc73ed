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
    mode = os.environ.get(VARIABLE, "auto")
    if mode not in MODES:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(MODES)}, not {mode!r}")
    _done += START + COSTS[name] * work
    if mode == "always" or (mode == "auto" and _done > PATIENCE and _can_compile()):
        _chosen[name] = import_module(f"multi_freq_ldpy.kernels.{name}")
    elif mode == "never":
        _chosen[name] = import_module(f"multi_freq_ldpy.plain.{name}")
    else:
        return import_module(f"multi_freq_ldpy.plain.{name}")
    return _chosen[name]


@cache
def _can_compile() -> bool:
    """Tell whether numba can be imported, and warn if it is there but broken."""
    if find_spec("numba") is None:
        return False
    try:
        import_module("numba")
    except ImportError as error:
        warnings.warn(f"numba cannot be imported, so large batches are slow: {error}", stacklevel=3)
        return False
    return True
