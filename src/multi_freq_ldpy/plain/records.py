"""Reports about several attributes, one row of bytes per user: see ``kernels.records``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]


def group(which: NDArray[Any], order: Order, edges: Order) -> None:
    """List the users by group, in ascending order.

    A number beyond the last group counts as the last group.
    """
    groups = edges.size - 1
    kept = np.minimum(which.astype(np.int64), groups - 1)
    order[:] = np.argsort(kept, kind="stable")
    edges[0], edges[1:] = 0, np.cumsum(np.bincount(kept, minlength=groups))


def pick(values: Order, order: Order, out: Order) -> None:
    """Copy the listed values."""
    np.take(values, order, out=out)


def take(rows: NDArray[np.uint8], order: Order, start: int, out: NDArray[np.uint8]) -> None:
    """Copy bytes of users' rows into ``out``, from byte ``start`` on.

    The number of bytes is the width of ``out``.
    """
    columns = rows[:, start : start + out.shape[1]]
    out[:] = columns[order] if order.size else columns[: len(out)]


def put(fields: NDArray[np.uint8], order: Order, start: int, rows: NDArray[np.uint8]) -> None:
    """Copy the rows of ``fields`` into users' rows, from byte ``start`` on."""
    columns = rows[:, start : start + fields.shape[1]]
    if order.size:
        columns[order] = fields
    else:
        columns[: len(fields)] = fields
