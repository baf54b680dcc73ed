"""Labels of categories: what may be declared, and how those in a column become numbers."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check


def encoded(name: str, values: list[Any], labels: tuple[Any, ...], other: Any, missing: Any) -> NDArray[np.int64]:
    """Return the numbers of the labels in a column; one that is not declared, or missing, has the category named for it, or is refused."""
    codes = {(isinstance(label, bool), label): i for i, label in enumerate(labels)}  # True is 1 to a dict
    truths = bool in set(map(type, values))
    plain = {label: i for (truth, label), i in codes.items() if not truth}

    def code(value: Any) -> int:
        try:
            return codes.get((isinstance(value, bool), value), -1) if truths else plain.get(value, -1)
        except TypeError:  # a list, say
            return -1

    found = np.fromiter(map(code, values), np.int64, len(values))
    for i in np.flatnonzero(found < 0).tolist():
        absent = is_missing(values[i])
        category = missing if absent else other
        if category is None or category not in labels:
            what = "is missing" if absent else f"has the label {_check.shown(values[i])}, which is not declared"
            declare = "missing" if absent else "other"
            raise ValueError(
                f"column {name!r}, row {i} {what}: the categories are {_check.shown(list(labels))}; {declare}= names one for it"
            )
        found[i] = labels.index(category)
    return found


def declared(attributes: Any) -> dict[str, tuple[Any, ...]]:
    """Return names and categories, checked."""
    if not isinstance(attributes, Mapping) or not attributes:
        raise TypeError(f"attributes must map names to categories, not {_check.shown(attributes)}")
    found: dict[str, tuple[Any, ...]] = {}
    for name, categories in attributes.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"attributes must have names, not {_check.shown(name)}")
        if isinstance(categories, str | bytes | Mapping) or not isinstance(categories, Iterable):
            raise TypeError(f"categories of {name!r} must be a list, not {_check.shown(categories)}")
        labels = tuple(each.item() if isinstance(each, np.generic) else each for each in categories)
        for label in labels:
            if not isinstance(label, str | int | float) or (isinstance(label, float) and not isfinite(label)):
                raise TypeError(f"categories of {name!r} must be strings, numbers or truth values, not {_check.shown(label)}")
        if len(labels) < 2 or len(set(map(str, labels))) != len(labels) or len(set(labels)) != len(labels):
            raise ValueError(f"categories of {name!r} must be two or more, all different when written, not {_check.shown(list(labels))}")
        found[name] = labels
    return found


def cell_labels(labels: tuple[Any, ...], protocol: Any) -> tuple[Any, ...]:
    """Return the labels of what is estimated: those of a bucket are its first and last, where values are grouped."""
    if protocol.cells == len(labels):
        return labels
    cells = protocol.cell_of(np.arange(len(labels)))
    groups = [[labels[i] for i in np.flatnonzero(cells == c)] for c in range(protocol.cells)]
    return tuple(str(group[0]) if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)


def is_missing(value: Any) -> bool:
    """Tell whether a value is missing: None, NaN, NA or NaT."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def ordered(labels: set[Any]) -> list[Any]:
    """Return labels in order; as if written, where they are of several types."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)
