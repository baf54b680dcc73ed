"""Reports about several attributes, one row of bytes per user.

Users are grouped by the attribute that they report. Fields are copied out of rows and into them.

``order`` lists the users. If it is empty, all users are meant. Short fields are copied byte by byte
for all users, long fields user by user.
"""

import numpy as np
from numba import uint64

from .jit import jit

SHORT = 8
PARTS = 4


@jit
def group(which, order, edges):
    """List the users by group.

    The users of group j, in ascending order, are ``order[edges[j] : edges[j + 1]]``. A number
    beyond the last group counts as the last group. Parts of the users are counted side by side,
    because repeated additions to one entry take longer. Another thread may change the numbers, so
    they are read once.
    """
    groups, n, last = edges.size - 1, uint64(which.size), uint64(PARTS - 1)
    part = n // uint64(PARTS)
    kept, places = np.empty(which.size, np.uint32), np.zeros((PARTS, groups), np.int64)
    for i in range(part):
        for p in range(uint64(PARTS)):
            kept[p * part + i] = min(uint64(which[p * part + i]), uint64(groups - 1))
            places[p, kept[p * part + i]] += 1
    for i in range(PARTS * part, n):
        kept[i] = min(uint64(which[i]), uint64(groups - 1))
        places[last, kept[i]] += 1
    total = 0
    for j in range(groups):
        edges[j] = total
        for p in range(PARTS):
            places[p, j], total = total, total + places[p, j]
    edges[groups] = total
    for i in range(part):
        for p in range(uint64(PARTS)):
            order[uint64(places[p, kept[p * part + i]])] = p * part + i
            places[p, kept[p * part + i]] += 1
    for i in range(PARTS * part, n):
        order[uint64(places[last, kept[i]])] = i
        places[last, kept[i]] += 1


@jit
def pick(values, order, out):
    """Copy the listed values."""
    for i in range(out.size):
        out[i] = values[order[i]]


@jit
def take(rows, order, start, out):
    """Copy bytes of users' rows into ``out``, from byte ``start`` on.

    The number of bytes is the width of ``out``.
    """
    n, size, listed = uint64(out.shape[0]), uint64(out.shape[1]), order.size > 0
    if size < SHORT:
        for c in range(size):
            for i in range(n):
                out[i, c] = rows[uint64(order[i]) if listed else i, uint64(start) + c]
    else:
        for i in range(n):
            row = uint64(order[i]) if listed else i
            for c in range(size):
                out[i, c] = rows[row, uint64(start) + c]


@jit
def put(fields, order, start, rows):
    """Copy the rows of ``fields`` into users' rows, from byte ``start`` on."""
    n, size, listed = uint64(fields.shape[0]), uint64(fields.shape[1]), order.size > 0
    if size < SHORT:
        for c in range(size):
            for i in range(n):
                rows[uint64(order[i]) if listed else i, uint64(start) + c] = fields[i, c]
    else:
        for i in range(n):
            row = uint64(order[i]) if listed else i
            for c in range(size):
                rows[row, uint64(start) + c] = fields[i, c]
