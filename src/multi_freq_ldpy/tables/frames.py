"""Input and output of tables of all kinds, by means of narwhals.

The kinds are pandas, polars, Arrow, and dicts of lists. Dicts of lists need no other package.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import parallel, validate
from . import arrow
from .labels import Factored, as_python, factor_list, is_bit

KINDS = ("pandas", "polars", "pyarrow")
DICT = "dict"


def not_installed(package: str, extra: str) -> ImportError:
    """Return the error that names the package to install."""
    return ImportError(
        f"this needs {package}, which is not installed: pip install 'multi-freq-ldpy[{extra}]'"
    )


def import_narwhals() -> Any:
    """Return narwhals, or raise an error that says how to install it."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise not_installed("narwhals", "tables") from None
    return nw


def kind_of(table: object, name: str = "table") -> str:
    """Return the kind of a table, or raise an error if the object is not a table."""
    if isinstance(table, Mapping):
        return DICT
    for kind, classes in (
        ("pandas", ("DataFrame",)),
        ("polars", ("DataFrame",)),
        ("pyarrow", ("Table", "RecordBatch")),
    ):
        module = sys.modules.get(kind)  # if such a table exists, the module has been imported
        if module is not None and isinstance(
            table, tuple(getattr(module, each) for each in classes)
        ):
            return kind
    lazy = ": call its collect() first" if type(table).__name__ == "LazyFrame" else ""
    raise TypeError(
        f"{name} must be a pandas or polars DataFrame, an Arrow table, or a dict of lists, not"
        f" {validate.quote(table)}{lazy}"
    )


def is_table(given: object) -> bool:
    """Return True if an object is a table."""
    try:
        kind_of(given)
    except TypeError:
        return False
    return True


def names_of(name: str, table: Any) -> list[str]:
    """Return the names of the columns."""
    kind = kind_of(table, name)
    return list(
        table if kind == DICT else table.schema.names if kind == "pyarrow" else table.columns
    )


def require_columns(name: str, table: Any, wanted: Iterable[str]) -> list[str]:
    """Return the names of columns, and require that the table has each exactly once."""
    names, has = list(wanted), names_of(name, table)
    for column in names:
        if has.count(column) != 1:
            raise ValueError(
                f"{name} has {'no' if column not in has else 'more than one'} column {column!r},"
                f" only {validate.quote(has)}"
            )
    return names


def columns_of(name: str, table: Any, wanted: Iterable[str]) -> dict[str, list[Any]]:
    """Return columns as lists of one length. Other columns are ignored."""
    names, kind = require_columns(name, table, wanted), kind_of(table, name)
    chosen: Any = table
    if kind != DICT:
        if type(table).__name__ == "RecordBatch":
            table = sys.modules["pyarrow"].Table.from_batches([table])
        chosen = import_narwhals().from_native(
            table[names] if kind == "pandas" else table.select(names), eager_only=True
        )
    columns: dict[str, list[Any]] = {}
    for column in names:
        values = chosen[column]
        if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
            raise TypeError(f"{name}[{column!r}] must be a list, not {validate.quote(values)}")
        to_list = getattr(values, "to_list", None) or getattr(values, "tolist", None)
        columns[column] = list(to_list() if to_list else values)
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name} must have columns of one length, not {lengths}")
    return columns


def factor_columns(
    name: str, table: Any, wanted: Mapping[str, Sequence[Any]]
) -> dict[str, Factored]:
    """Return the distinct values of columns, and the index of the value in each row.

    The library of the table does the work, with columns in parallel. ``wanted`` maps columns to the
    values that are looked up first. Other columns are ignored.
    """
    kind = kind_of(table, name)
    if kind == DICT:
        lists = columns_of(name, table, wanted)
        return {column: factor_list(values) for column, values in lists.items()}
    names = require_columns(name, table, wanted)
    factor = {"pandas": _factor_pandas, "polars": _factor_polars, "pyarrow": arrow.factor_column}[
        kind
    ]
    jobs = [partial(factor, table[column], wanted[column]) for column in names]
    return dict(zip(names, parallel.map_jobs(jobs), strict=True))


def _factor_pandas(column: Any, known: Sequence[Any]) -> Factored:
    pandas = sys.modules["pandas"]
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return Factored(column.cat.codes.to_numpy(), [*column.cat.categories.tolist(), None])
    try:
        codes, distinct = pandas.factorize(column)
    except TypeError:  # for example a column of lists
        return factor_list(column.tolist())
    values = distinct.tolist()
    if column.dtype == object and any(map(is_bit, values)):  # pandas might read True as 1
        return factor_list(column.tolist())
    return Factored(codes, [*map(as_python, values), None])


def _factor_polars(column: Any, known: Sequence[Any]) -> Factored:
    polars = sys.modules["polars"]
    if column.dtype == polars.String and known and all(type(each) is str for each in known):
        found = column.cast(polars.Enum(list(known)), strict=False)
        if not found.null_count():
            return Factored(found.to_physical().to_numpy(), [*known, None])
    if find_spec("pyarrow"):
        return arrow.factor_column(column.to_arrow(), known)
    return factor_list(column.to_list())


def messages_of(
    name: str, table: Any, column: str, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], Any]:
    """Return the entries of a column that have ``size`` bytes, and the rows of the others.

    The third result is the column itself.
    """
    kind, (column,) = kind_of(table, name), require_columns(name, table, [column])
    values: Any = columns_of(name, table, [column])[column] if kind == DICT else table[column]
    if kind == "polars" and find_spec("pyarrow"):
        values = values.to_arrow()
    elif kind == "pandas" and type(values.dtype).__name__ == "ArrowDtype":
        values = values.array.__arrow_array__()
    if kind == "pyarrow" or type(values).__module__.startswith("pyarrow"):
        return *arrow.messages_of(values, size), values
    entries = list(values)
    valid = [
        isinstance(each, bytes | bytearray | memoryview) and len(each) == size for each in entries
    ]
    wrong = np.flatnonzero(~np.array(valid, np.bool_))
    kept = entries if not wrong.size else [each for each, good in zip(entries, valid) if good]
    return np.frombuffer(b"".join(kept), np.uint8).reshape(len(kept), size), wrong, entries


def build_reports(kind: str, column: str, reports: NDArray[Any], like: Any) -> Any:
    """Return reports as a table of a kind, with one column of bytes."""
    if kind != DICT and find_spec("pyarrow"):
        import pyarrow as pa

        table = pa.table({column: arrow.column_of(reports)})
        if kind == "pandas":
            return table.to_pandas().set_axis(like.index)
        return table if kind == "pyarrow" else sys.modules["polars"].from_arrow(table)
    whole = f"V{arrow.size_of(reports)}"
    messages = reports.view(np.uint8).reshape(-1).view(whole).astype(object)  # bytes
    if kind == "pandas":
        pandas = sys.modules["pandas"]
        return pandas.DataFrame({column: pandas.Series(messages, like.index, object)})
    return build_table(kind, {column: messages.tolist()}, like)


def build_table(kind: str | None, columns: Mapping[str, Any], like: Any = None) -> Any:
    """Return columns as a table of a kind.

    The kind None means the first kind that is installed. A pandas table gets the index of ``like``,
    if it is given.
    """
    if kind is None:
        kind = next((each for each in KINDS if find_spec(each)), None)
        if kind is None:
            raise not_installed("pandas, polars or pyarrow", "tables")
    validate.choice("kind", kind, (*KINDS, DICT))
    lists = {name: _unify_types(list(column)) for name, column in columns.items()}
    if kind == DICT:
        return lists
    nw = import_narwhals()
    try:
        table = nw.from_dict(lists, backend=kind).to_native()
    except ImportError:
        raise not_installed(kind, "tables") from None
    if kind == "pandas" and like is not None:
        table.index = like.index
    return table


def add_note(table: Any, key: str, text: str) -> Any:
    """Return a table with a note in its metadata, if its kind has metadata.

    Arrow tables and pandas frames have metadata, and Parquet files keep it.
    """
    kind = kind_of(table)
    if kind == "pyarrow":
        return table.replace_schema_metadata({**(table.schema.metadata or {}), key: text})
    if kind == "pandas":
        table.attrs[key] = text
    return table


def read_note(table: Any, key: str) -> Any:
    """Return a note in the metadata of a table, or None."""
    kind = kind_of(table)
    if kind == "pandas":
        return table.attrs.get(key)
    return note_in(table.schema.metadata or {}, key) if kind == "pyarrow" else None


def note_in(metadata: Mapping[bytes, bytes], key: str) -> Any:
    """Return a note in the metadata of an Arrow schema, including one that pandas wrote."""
    if (note := metadata.get(key.encode())) is not None:
        return note.decode(errors="replace")
    try:
        return validate.parse_json("attrs", metadata.get(b"PANDAS_ATTRS", b"{}")).get(key)
    except (ValueError, AttributeError):
        return None


def _unify_types(values: list[Any]) -> list[Any]:
    """Return values of one type: values of several types become strings."""
    plain = [each.item() if hasattr(each, "item") else each for each in values]
    kinds = {type(each) for each in plain} - {type(None)}
    if kinds == {int, float}:
        return [None if each is None else float(each) for each in plain]
    return plain if len(kinds) <= 1 else [str(each) for each in plain]
