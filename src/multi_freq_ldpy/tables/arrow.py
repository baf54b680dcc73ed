"""Arrow columns without Python objects: reports as bytes, and distinct values of a column."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import Factored, factor_list


def column_of(reports: NDArray[Any]) -> Any:
    """Return reports as an Arrow column of ``fixed_size_binary``, without a copy.

    Parameters
    ----------
    reports : array
        Reports of one length, as ``randomize`` returns them.

    Returns
    -------
    pyarrow.FixedSizeBinaryArray
        One entry per report, in the memory of the array.
    """
    import pyarrow as pa

    size = size_of(reports)
    buffer = pa.py_buffer(np.ascontiguousarray(reports).view(np.uint8).reshape(-1))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(reports), [None, buffer])


def size_of(reports: NDArray[Any]) -> int:
    """Return the length in bytes of each report in an array."""
    return reports.dtype.itemsize * prod(reports.shape[1:])


def messages_of(column: Any, size: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the entries of an Arrow column that have ``size`` bytes, and the rows of the others.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
        A column of any type. Entries are bytes if it is ``fixed_size_binary``, ``binary``,
        ``large_binary`` or ``binary_view``.
    size : int
        Length of a report in bytes.

    Returns
    -------
    messages : array of uint8, shape (m, size)
        The entries. They are not copied if the column is one array whose entries all have this
        length.
    wrong : array of int64
        The rows that are missing, have another length, or are not bytes.
    """
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    found, wrong, done = [], [], 0
    for chunk in chunks:
        messages, other = _messages_of_array(chunk, size)
        found.append(messages)
        wrong.append(other + done)
        done += len(chunk)
    if len(found) == 1:
        return found[0], wrong[0]
    empty = np.empty((0, size), np.uint8)
    return np.concatenate([empty, *found]), np.concatenate([np.empty(0, np.int64), *wrong])


def _messages_of_array(array: Any, size: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    import pyarrow as pa

    kind, n = array.type, len(array)
    if getattr(pa.types, "is_binary_view", lambda kind: False)(kind):
        array, kind = array.cast(pa.large_binary()), pa.large_binary()
    fixed = pa.types.is_fixed_size_binary(kind)
    if not n or not (fixed or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return np.empty((0, size), np.uint8), np.arange(n)
    data = array.buffers()[-1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if fixed:
        width = kind.byte_width
        if width == size and not array.null_count:
            first = array.offset * size
            return content[first : first + n * size].reshape(n, size), np.empty(0, np.int64)
        starts = (array.offset + np.arange(n + 1)) * width
    else:
        offsets = np.frombuffer(
            array.buffers()[1], np.int64 if pa.types.is_large_binary(kind) else np.int32
        )
        starts = offsets[array.offset : array.offset + n + 1].astype(np.int64, copy=False)
    valid = np.diff(starts) == size
    if array.null_count:
        valid &= array.is_valid().to_numpy(zero_copy_only=False)
    if valid.all():
        return content[starts[0] : starts[-1]].reshape(n, size), np.empty(0, np.int64)
    places = starts[:-1][valid, np.newaxis] + np.arange(size)
    return content[places], np.flatnonzero(~valid)


def factor_column(column: Any, known: Sequence[Any] = ()) -> Factored:
    """Return the distinct values of an Arrow column, and the index of the value in each row.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
        A column of any type. A column with a dictionary keeps it.
    known : sequence
        Values that are looked up first. Text without other values is read in half the time.

    Returns
    -------
    Factored
        The last of the distinct values is None, for missing rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if text and known and all(type(each) is str for each in known):
        places = pc.index_in(column, value_set=pa.array(known, column.type))
        if not places.null_count:
            return Factored(places.to_numpy(), [*known, None])
    try:
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([]).dictionary_encode()
    except pa.ArrowException:  # Arrow finds no distinct values of this type, such as lists
        return factor_list(column.to_pylist())
    distinct = column.dictionary.to_pylist()
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
    return Factored(indices.to_numpy(zero_copy_only=False), [*distinct, None])
