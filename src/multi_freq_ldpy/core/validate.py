"""Validators of parameters.

Each takes the name and the value of a parameter. It returns the value in canonical type, or raises
an error of one sentence.
"""

import math
import operator
import os
import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

LARGEST_DOMAIN = 2**32 - 5
"""The largest prime below 2³²: local hashing works modulo a prime, in 64-bit arithmetic."""

LARGEST_RECORD = 2**10
"""Largest number of attributes of a record.

To derive an attribute takes milliseconds, so a longer spec would occupy its reader for minutes.
"""


def quote(value: object) -> str:
    """Return a value for an error message, on one line and shortened if it is long."""
    if type(value) in (list, tuple) and len(value) > 200:  # type: ignore[arg-type]
        first = quote(value[:200])  # type: ignore[index]
        return f"{first.partition('…')[0]}… ({len(value)} entries)"  # type: ignore[arg-type]
    try:
        return cut(repr(value))
    except (ValueError, RecursionError):  # a number of thousands of digits, or deeply nested lists
        return f"a value of type {type(value).__name__}, too long or too deep to show"


def cut(text: str) -> str:
    """Return text on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:200]}… ({len(line)} characters)"


def parse_json(name: str, data: bytes) -> Any:
    """Return the content of JSON in UTF-8.

    Data that is not JSON raises an error. So does a key that occurs twice, because readers would
    disagree on its value.
    """
    from json import loads

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError(f"a key of {quote(sorted(key for key, _ in pairs))} occurs twice")
        return found

    def number(text: str) -> Any:
        raise ValueError(f"{text} is not a number")

    try:
        return loads(data.decode(), object_pairs_hook=once, parse_constant=number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


class Integer:
    """An integer in [low, high]. NumPy integers are accepted, but not booleans or floats."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __call__(self, name: str, value: object) -> int:
        """Return ``value`` as an int."""
        if isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be an integer, not {quote(value)}")
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {quote(value)}") from None
        if not self.low <= number <= self.high:
            raise ValueError(
                f"{name} must be an integer from {self.low} to {self.high}, not {quote(number)}"
            )
        return number

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""
        return [
            self.low - 1,
            self.high + 1,
            -1,
            float(self.low),
            str(self.low),
            None,
            True,
            math.nan,
            [self.low],
            1j,
        ]


class Budget:
    """A privacy budget: a finite real number above 0."""

    def __call__(self, name: str, value: object) -> float:
        """Return ``value`` as a float."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a real number, not {quote(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{name} must be a finite number greater than 0, not {quote(value)}")
        return number

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""
        return [
            0,
            -1.0,
            math.nan,
            math.inf,
            -math.inf,
            10**400,
            "1",
            None,
            True,
            [1.0],
            1j,
            np.array([1.0, 2.0]),
        ]


class Between:
    """A real number strictly between two others."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, name: str, value: object) -> float:
        """Return ``value`` as a float."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a real number, not {quote(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not self.low < number < self.high:
            raise ValueError(
                f"{name} must be greater than {self.low:g} and less than {self.high:g}, not"
                f" {quote(value)}"
            )
        return number

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""
        return [
            self.low,
            self.high,
            10**400,
            -math.inf,
            math.inf,
            math.nan,
            "0.5",
            None,
            True,
            [0.5],
            1j,
        ]


class Choice:
    """One of a few allowed values."""

    def __init__(self, *among: Any) -> None:
        self.among = among

    def __call__(self, name: str, value: object) -> Any:
        """Return the allowed value that equals ``value``."""
        for each in self.among:
            if not isinstance(value, bool | np.ndarray) and value == each:
                return each
        shown = ", ".join(str(each) for each in self.among)
        raise ValueError(f"{name} must be one of {shown}, not {quote(value)}")

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""
        return ["", "other", 0.3, -1, True, [self.among[0]], 1j, math.nan]


class Optional:
    """A value that another validator accepts, or None."""

    def __init__(self, check: Any) -> None:
        self.check = check

    def __call__(self, name: str, value: object) -> Any:
        """Return None, or what the other validator returns."""
        return None if value is None else self.check(name, value)

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""
        return [each for each in self.check.list_invalid() if each is not None]


domain_size = Integer(2, LARGEST_DOMAIN)
budget = Budget()


def file_path(name: str, value: object) -> str:
    """Return the path of a file without symbolic links. Its directory must exist."""
    given = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(given, str) or not given or "\0" in given:
        raise TypeError(f"{name} must be that of a file, as a string or a Path, not {quote(value)}")
    path = os.path.realpath(given)
    if not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(f"{name} {quote(given)} is in a directory that does not exist")
    return path


def choice(name: str, value: object, among: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of the strings in ``among``."""
    if not isinstance(value, str) or value not in among:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, among))}, not {quote(value)}")
    return str(value)


def probability(name: str, value: object, low: float = 0.0, high: float = 1.0) -> float:
    """Return a real number in [low, high] as a float."""
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, Real)
        or not low <= float(value) <= high
    ):
        raise ValueError(f"{name} must be a number from {low!r} to {high!r}, not {quote(value)}")
    return float(value)


def numbers(name: str, value: object, low: float, high: float = math.inf) -> NDArray[np.float64]:
    """Return a real number, or an array of them, in [low, high]."""
    array = as_array(name, value)
    if array.dtype.kind not in "fiu" or not ((array >= low) & (array <= high)).all():
        raise ValueError(
            f"{name} must be a number from {low:g}{f' to {high:g}' if high < math.inf else ' on'},"
            f" not {quote(value)}"
        )
    return np.asarray(array, np.float64)


def integers(
    name: str, values: object, low: int, high: int, *, what: str = "values"
) -> NDArray[np.int64]:
    """Return a number or an array as an int64 array of the same shape.

    All entries are in [low, high].
    """
    array = as_array(name, values)
    if array.size == 0 and array.dtype.kind in "iuf":
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        wrong = find_non_integer(array)
        raise TypeError(
            f"{name} must be integers, not {quote(wrong[1] if wrong else array.flat[0])}"
            f" ({array.dtype})"
        )
    within(name, array, low, high, what)
    return np.asarray(array, np.int64)


def as_array(name: str, values: object) -> NDArray[Any]:
    """Return ``values`` as an array; ragged lists and missing (masked) entries raise an error."""
    if is_masked_array(values) and values.size:
        # One truth value per entry, also for entries that are records
        masked = np.ma.getmaskarray(values).reshape(values.size, -1).view(np.bool_).any(axis=1)
        if masked.any():
            where = [int(i) for i in np.unravel_index(int(masked.argmax()), values.shape)]
            raise ValueError(f"{name} has missing (masked) entries, the first at {where}")
    try:
        return _as_integers(np.asarray(values))
    except (ValueError, TypeError, OverflowError):
        raise TypeError(f"{name} must be an array of integers, not {quote(values)}") from None


def _as_integers(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as int64, if its entries are objects that are all integers of 64 bits.

    Any other array is returned unchanged.
    """
    if array.dtype.kind == "O" and array.size and find_non_integer(array) is None:
        return array.astype(np.int64)
    return array


def find_non_integer(array: NDArray[Any]) -> tuple[tuple[int, ...], Any] | None:
    """Return the position and the value of the first entry that is not an integer of 64 bits.

    Floats with integer values are returned only if there is no other such entry.
    """
    floats = None
    for where, entry in np.ndenumerate(array):
        if isinstance(entry, float) and entry.is_integer():
            floats = floats or (where, entry)
        elif (
            not isinstance(entry, int | np.integer)
            or isinstance(entry, bool)
            or not -(2**63) <= entry < 2**63
        ):
            return where, entry
    return floats


def flag(name: str, value: object) -> bool:
    """Return a truth value given as True, False, 1 or 0."""
    if value is True or value is False:
        return value
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise TypeError(f"{name} must be True or False, not {quote(value)}")
    return bool(value)


def is_masked_array(given: object) -> TypeGuard["np.ma.MaskedArray[Any, Any]"]:
    """Tell whether an object is a masked array.

    ``numpy.ma`` takes long to import. If it is not imported, there is no masked array.
    """
    return "numpy.ma" in sys.modules and isinstance(given, np.ma.MaskedArray)


def within(name: str, array: NDArray[Any], low: int, high: int, what: str) -> None:
    """Raise an error if an array of integers has an entry outside [low, high]."""
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        outside = np.argwhere((array < low) | (array > high))[0]
        where = f"[{', '.join(map(str, outside))}]" if array.ndim else ""
        raise ValueError(
            f"{name}{where} = {array[tuple(outside)]} is outside [{low}, {high}]: {what}"
        )


def sum_exactly(counts: NDArray[np.int64]) -> int:
    """Return the exact sum, even if it exceeds 64 bits."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def values(name: str, given: object, k: int) -> tuple[NDArray[np.int64], bool]:
    """Return users' values as a contiguous vector, and whether a single number was given.

    All entries are in [0, k).
    """
    # A copy, so that no thread can change it after the check, while the GIL is released
    copy = np.array(as_array(name, given))
    array = integers(name, copy, 0, k - 1, what=f"a value is one of 0, …, k − 1 with k={k}")
    if array.ndim > 1:
        raise ValueError(
            f"{name} must be a number or a vector, not an array of shape {array.shape}"
        )
    return np.atleast_1d(array), array.ndim == 0


def users_and_share(n: object, f: object) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a number of users and a frequency, each a number or an array."""
    users, share = integers("n", n, 0, 2**62, what="a number of users"), as_array("f", f)
    if share.dtype.kind not in "fiu" or not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"f must be in [0, 1], not {quote(f)}")
    try:
        np.broadcast_shapes(users.shape, share.shape)
    except ValueError:
        raise ValueError(
            f"f must have a shape that broadcasts with n, {users.shape}, not {share.shape}"
        ) from None
    return users, share


def record_size(name: str, d: int) -> None:
    """Raise an error if a record has too many attributes, before anything is derived for each."""
    if d > LARGEST_RECORD:
        raise ValueError(f"{name} must be at most {LARGEST_RECORD}, one per attribute, not {d}")


def domain_sizes(name: str, ks: object) -> tuple[int, ...]:
    """Return the domain sizes of several attributes."""
    if hasattr(ks, "__array__"):  # for example a Series
        ks = np.asarray(ks)
    if (
        not isinstance(ks, Sequence | np.ndarray)
        or isinstance(ks, str | bytes)
        or (isinstance(ks, np.ndarray) and ks.ndim != 1)
    ):
        raise TypeError(
            f"{name} must be a list of domain sizes, one per attribute, not {quote(ks)}"
        )
    if not len(ks):
        raise ValueError(f"{name} must have one entry per attribute, not {quote(ks)}")
    record_size(name, len(ks))
    return tuple(domain_size(f"{name}[{j}]", k) for j, k in enumerate(ks))


def table(name: str, given: object, ks: tuple[int, ...]) -> tuple[NDArray[np.int64], bool]:
    """Return users' records as an array of shape (n, d), and whether a single record was given.

    Entries of attribute j are in [0, ks[j]). The values of one attribute are contiguous in memory.
    """
    d = len(ks)
    if is_masked_array(given):
        as_array(name, given)
    try:
        array = _as_integers(np.asarray(given))
    except (ValueError, TypeError, OverflowError):
        array = np.array(None)
    single = array.shape == (d,)
    if array.shape == (0,):
        array = np.empty((0, d), np.int64)
    if not single and (array.ndim != 2 or array.shape[1] != d):
        raise ValueError(
            f"{name} must have d={d} columns, one per attribute;"
            f" {_describe_misfit(given, array, d)}"
        )
    rows = np.atleast_2d(array)
    if not rows.size:
        return np.empty((0, d), np.int64), single
    if rows.dtype.kind not in "iu":
        (i, j), entry = _find_non_integer_entry(given)
        raise TypeError(
            f"{name}[{i}, {j}] = {quote(entry)}: attribute {j} of row {i} must be an integer from 0"
            f" to {ks[j] - 1}"
        )
    # A copy, so that no thread can change it after the check, while the GIL is released
    columns = np.array(rows.T, order="C")
    if any(column.min() < 0 or column.max() >= k for column, k in zip(columns, ks, strict=True)):
        i, j = np.argwhere((rows < 0) | (rows >= np.array(ks)))[0].tolist()
        raise ValueError(
            f"{name}[{i}, {j}] = {rows[i, j]} is outside [0, {ks[j] - 1}]: attribute {j} of row {i}"
            f" has k={ks[j]} values"
        )
    return columns.astype(np.int64, copy=False).T, single


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or of nested lists, or None if these are ragged."""
    try:
        return tuple(np.shape(value))
    except (ValueError, TypeError):
        return None


def _describe_misfit(given: Any, array: NDArray[Any], d: int) -> str:
    """Return a description of the wrong shape of a table."""
    if array.ndim == 0 and isinstance(given, Sequence) and not isinstance(given, str):
        for i, row in enumerate(given):
            if isinstance(row, str) or shape_of(row) != (d,):
                return f"row {i} is {quote(row)}"
    return f"not shape {array.shape}" if array.ndim else f"not {quote(given)}"


def _find_non_integer_entry(given: Any) -> tuple[tuple[int, int], Any]:
    """Return the row and column of the first entry that is not an integer, and the entry."""
    rows = np.atleast_2d(np.array(given, object))
    (i, j), entry = find_non_integer(rows) or ((0, 0), rows[0, 0])
    return (i, j), entry


def histogram(name: str, counts: object, k: int) -> NDArray[np.int64]:
    """Return the number of users who hold each value, as a vector of length k."""
    array = integers(name, counts, 0, 2**62, what="a number of users")
    if array.shape != (k,):
        raise ValueError(f"{name} must have shape ({k},), one entry per value, not {array.shape}")
    if sum_exactly(array) > 2**62:
        raise ValueError(f"{name} adds up to more than 2**62 users: {sum_exactly(array)}")
    return array
