"""Validators: each takes the parameter's name and its value, and returns the value in canonical type or raises one sentence."""

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_DOMAIN = 2**32 - 5
"""The largest prime below 2³²: local hashing works modulo a prime, in 64-bit arithmetic."""


class Integer:
    """An integer in [low, high]; NumPy integers are welcome, booleans and floats are not."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __call__(self, name: str, value: object) -> int:
        """Return ``value`` as an int."""
        if isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be an integer, not {value!r}")
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {value!r}") from None
        if not self.low <= number <= self.high:
            raise ValueError(f"{name} must be an integer from {self.low} to {self.high}, not {number}")
        return number

    def wrong(self) -> list[Any]:
        """Return values that must be refused."""
        return [self.low - 1, self.high + 1, -1, float(self.low), str(self.low), None, True, math.nan, [self.low], 1j]


class Budget:
    """A privacy budget: a finite real number above 0."""

    def __call__(self, name: str, value: object) -> float:
        """Return ``value`` as a float."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a real number, not {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{name} must be a finite number greater than 0, not {value!r}")
        return number

    def wrong(self) -> list[Any]:
        """Return values that must be refused."""
        return [0, -1.0, math.nan, math.inf, -math.inf, 10**400, "1", None, True, [1.0], 1j, np.array([1.0, 2.0])]


domain_size = Integer(2, LARGEST_DOMAIN)
budget = Budget()


def choice(name: str, value: object, among: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the strings in ``among``."""
    if not isinstance(value, str) or value not in among:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, among))}, not {value!r}")
    return str(value)


def probability(name: str, value: object, low: float = 0.0, high: float = 1.0) -> float:
    """Return a real number in [low, high] as a float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, not {value!r}")
    return float(value)


def integers(name: str, values: object, low: int, high: int, *, what: str = "values") -> NDArray[np.int64]:
    """Return ``values`` (a number or an array) as an int64 array of the same shape with entries in [low, high]."""
    array = plain(name, values)
    if array.size == 0 and array.dtype.kind in "iuf":
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {_culprit(array)!r} ({array.dtype})")
    within(name, array, low, high, what)
    return np.asarray(array, np.int64)


def plain(name: str, values: object) -> NDArray[Any]:
    """Return ``values`` as an array; ragged lists and missing (masked) entries are refused."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has missing (masked) entries, the first at {np.argwhere(values.mask)[0].tolist()}")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise TypeError(f"{name} must be an array of integers, not {values!r}") from None


def _culprit(array: NDArray[Any]) -> object:
    """Return the first entry that is no integer."""
    for entry in array.flat:
        if not isinstance(entry, int | np.integer) and not (isinstance(entry, float) and entry.is_integer()):
            return entry
    return next((entry for entry in array.flat if not -(2**63) <= entry < 2**63), array.flat[0])


def flag(name: str, value: object) -> bool:
    """Return a truth value: True, False, or the numbers 1 and 0."""
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def within(name: str, array: NDArray[Any], low: int, high: int, what: str) -> None:
    """Refuse an array of integers with an entry outside [low, high]."""
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        outside = np.argwhere((array < low) | (array > high))[0]
        where = f"[{', '.join(map(str, outside))}]" if array.ndim else ""
        raise ValueError(f"{name}{where} = {array[tuple(outside)]} is outside [{low}, {high}]: {what}")


def total(counts: NDArray[np.int64]) -> int:
    """Return the sum exactly, also where it exceeds 64 bits."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def values(name: str, given: object, k: int) -> tuple[NDArray[np.int64], bool]:
    """Return users' values as a contiguous vector with entries in [0, k), and whether a single number was given."""
    copy = np.array(plain(name, given))  # checked below: nobody can change it while it is randomized without the GIL
    array = integers(name, copy, 0, k - 1, what=f"a value is one of 0, …, k − 1 with k={k}")
    if array.ndim > 1:
        raise ValueError(f"{name} must be a number or a vector, not an array of shape {array.shape}")
    return np.atleast_1d(array), array.ndim == 0


def histogram(name: str, counts: object, k: int) -> NDArray[np.int64]:
    """Return how many users hold each value, as a vector of length k."""
    array = integers(name, counts, 0, 2**62, what="a number of users")
    if array.shape != (k,):
        raise ValueError(f"{name} must have shape ({k},), one entry a value, not {array.shape}")
    if total(array) > 2**62:
        raise ValueError(f"{name} adds up to more than 2**62 users: {total(array)}")
    return array
