"""Labels of categories: validation of declared labels, and translation into numbers."""

from collections.abc import Iterable, Mapping, Set
from math import isfinite
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import validate

LARGEST = 2**53
"""The largest integer label. Doubles hold every integer up to it."""


def identity_of(label: Any) -> tuple[bool, Any]:
    """Return a key that distinguishes labels, because True equals 1 in a dict."""
    return isinstance(label, bool), label


def as_python(value: Any) -> Any:
    """Return a NumPy or Arrow scalar as a Python object."""
    return (
        value.item()
        if isinstance(value, np.generic)
        else value.as_py()
        if hasattr(value, "as_py")
        else value
    )


class Factored(NamedTuple):
    """A column as its distinct values, and the index of the value in each row.

    The code −1 stands for the last of the distinct values.
    """

    codes: NDArray[Any]
    distinct: list[Any]


def factor_list(values: list[Any]) -> Factored:
    """Return the distinct values of a list, and the index of the value of each entry.

    In a dict, True equals 1. So if 0 or 1 occurs in any form, truth values are distinguished from
    numbers. If an entry cannot be hashed, such as a list, every entry counts as distinct.
    """
    try:
        distinct = list(dict.fromkeys(values))
        if any(map(is_bit, distinct)):
            keys = [identity_of(as_python(each)) for each in values]
            places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
            distinct = [label for _, label in places]
            codes = np.fromiter(map(places.__getitem__, keys), np.int64, len(values))
        else:
            places = {each: i for i, each in enumerate(distinct)}
            codes = np.fromiter(map(places.__getitem__, values), np.int64, len(values))
    except TypeError:
        return Factored(np.arange(len(values)), values)
    return Factored(codes, [as_python(each) for each in distinct])


def is_bit(value: Any) -> bool:
    """Return True if a value equals 0 or 1, as truth values do."""
    return isinstance(value, Number | np.generic) and bool(value == 0 or value == 1)


def encode_column(
    name: str,
    column: Factored,
    labels: tuple[Any, ...],
    other: Any,
    missing: Any,
    out: NDArray[np.int64],
    one: bool = False,
) -> None:
    """Write the numbers of the labels in a column into ``out``.

    ``other`` names the category of labels that are not declared. ``missing`` names the category of
    missing labels. Without them, such labels raise an error. ``one`` is True if the column is the
    answer of one user, which has no rows.
    """
    known = {identity_of(label): i for i, label in enumerate(labels)}
    instead = {True: known.get(identity_of(missing), -1), False: known.get(identity_of(other), -1)}

    def number_of(value: Any) -> int:
        try:
            found = known.get(identity_of(value), -1)
        except TypeError:  # for example a list
            found = -1
        return found if found >= 0 else instead[is_missing(value)]

    numbers = np.fromiter(map(number_of, column.distinct), np.int64, len(column.distinct))
    if not out.size:
        return
    numbers.take(column.codes, mode="wrap", out=out)
    if numbers.min() < 0 and out.min() < 0:
        i = int(np.argmax(out < 0))
        value = column.distinct[column.codes[i]]
        absent = is_missing(value)
        what = (
            "is missing"
            if absent
            else f"has the label {validate.quote(value)}, which is not declared"
        )
        some = ", ".join(map(repr, labels[:20])) + (
            f" and {len(labels) - 20:,} more" if len(labels) > 20 else ""
        )
        where = f"answer {name!r}" if one else f"column {name!r}, row {i}"
        hint = f"set {'missing' if absent else 'other'} in the survey to name a category for it"
        alike = next((each for each in labels if str(each) == str(value)), None)
        if alike is not None:
            hint = f"{value!r} is not {alike!r}: one of them is text"
        raise ValueError(f"{where} {what}: the categories are {some}; {hint}")


def check_attributes(attributes: Any) -> dict[str, tuple[Any, ...]]:
    """Return the names and categories of attributes, checked."""
    if not isinstance(attributes, Mapping) or not attributes:
        table = ": use Survey.from_table for a table" if hasattr(attributes, "columns") else ""
        raise TypeError(
            f"attributes must map names to categories, not {validate.quote(attributes)}{table}"
        )
    found: dict[str, tuple[Any, ...]] = {}
    for name, categories in attributes.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"attributes must have names, not {validate.quote(name)}")
        check_label("names of attributes", name)
        if isinstance(categories, str | bytes | Mapping | Set) or not isinstance(
            categories, Iterable
        ):
            raise TypeError(
                f"categories of {name!r} must be a list, not {validate.quote(categories)}"
            )
        labels = tuple(map(as_python, categories))
        for each in labels:
            check_label(f"categories of {name!r}", each)
        if (
            len(labels) < 2
            or len(set(map(str, labels))) != len(labels)
            or len(set(labels)) != len(labels)
        ):
            raise ValueError(
                f"categories of {name!r} must be two or more, all different, also as text, not"
                f" {validate.quote(list(labels))}"
            )
        found[name] = labels
    return found


def check_label(name: str, value: Any) -> Any:
    """Return a label. It must be a string, a number or a truth value that can be written."""
    if not isinstance(value, str | int | float) or (
        isinstance(value, float) and not isfinite(value)
    ):
        raise TypeError(
            f"{name} must be strings, numbers or truth values, not {validate.quote(value)}"
        )
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(
            f"{name} must be integers from -(2**53) to 2**53, because some clients hold numbers as"
            f" doubles, not {validate.quote(value)}"
        )
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{name} must be text that can be written as UTF-8, not {validate.quote(value)}"
            ) from None
    return value


def label_cells(labels: tuple[Any, ...], protocol: Any) -> tuple[Any, ...]:
    """Return the labels of the estimated frequencies.

    If values are grouped in buckets, the label of a bucket names its first and last value.
    """
    if protocol.cells == len(labels):
        return labels
    cells = protocol.cell_of(np.arange(len(labels)))
    groups = [[labels[i] for i in np.flatnonzero(cells == c)] for c in range(protocol.cells)]
    return tuple(
        str(group[0]) if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups
    )


def is_missing(value: Any) -> bool:
    """Return True if a value is missing: None, NaN, NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    """Return labels in order.

    Labels of several types are sorted by their text.
    """
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)
