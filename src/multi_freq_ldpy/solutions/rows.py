"""Reports of records as rows of bytes, and grouping of users."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws
from ..mechanism import as_readonly

EVERYBODY: NDArray[np.int64] = np.empty(0, np.int64)


def group_users(which: NDArray[Any], groups: int) -> list[NDArray[np.int64]]:
    """Return the indexes of each group, in ascending order.

    Numbers beyond the last group count as the last group.
    """
    order, edges = np.empty(len(which), np.int64), np.empty(groups + 1, np.int64)
    draws.choose("records", len(which)).group(as_readonly(which), order, edges)
    return [order[low:high] for low, high in pairwise(edges.tolist())]


def take_users(values: NDArray[np.int64], users: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the values, or records, of the listed users.

    This runs without the GIL, unlike NumPy's indexing.
    """
    out = np.empty((len(users), *values.shape[1:]), np.int64)
    if values.ndim == 1:
        draws.choose("records", len(users)).pick(as_readonly(values), as_readonly(users), out)
    else:
        np.take(values, users, axis=0, out=out)
    return out


def as_bytes(reports: NDArray[Any], size: int) -> NDArray[np.uint8]:
    """Return contiguous reports of ``size`` bytes as rows of bytes, without a copy."""
    return reports.view(np.uint8).reshape(len(reports), size)
