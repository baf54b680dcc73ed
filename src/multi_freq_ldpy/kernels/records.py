"""Reports about several attributes, a row of bytes a user: users grouped by what they speak of, fields copied out of rows and into them.

Users are listed in ``order``, or all of them if that is empty. Short fields are copied byte by byte for all users, long ones user by user.
"""

from numba import uint64

from .jit import jit

SHORT = 8


@jit
def group(which, order, edges):
    """List the users by group: those of group j, in ascending order, are ``order[edges[j] : edges[j + 1]]``."""
    edges[:] = 0
    for i in range(which.size):
        edges[which[i] + 1] += 1
    for j in range(1, edges.size):
        edges[j] += edges[j - 1]
    places = edges.copy()
    for i in range(which.size):
        order[places[which[i]]] = i
        places[which[i]] += 1


@jit
def pick(values, order, out):
    """Copy the listed values."""
    for i in range(out.size):
        out[i] = values[order[i]]


@jit
def take(rows, order, start, out):
    """Copy the bytes from ``start`` on of users' rows into ``out``, as many as its rows have."""
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
