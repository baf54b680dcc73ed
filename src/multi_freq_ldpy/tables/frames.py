"""Tables of all kinds in and out, through narwhals.

Pandas, polars, Arrow, and dicts of lists, which need none of them.
"""

import sys
from collections.abc import Iterable, Mapping, Set
from importlib.util import find_spec
from typing import Any

from ..core import validate

KINDS = ("pandas", "polars", "pyarrow")
DICT = "dict"


def not_installed(package: str, extra: str) -> ImportError:
    """Say what has to be installed."""
    return ImportError(
        f"this needs {package}, which is not installed: pip install 'multi-freq-ldpy[{extra}]'"
    )


def import_narwhals() -> Any:
    """Return narwhals, or say that it has to be installed."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise not_installed("narwhals", "tables") from None
    return nw


def kind_of(table: object, name: str = "table") -> str:
    """Return what kind of table it is, or refuse what is none."""
    if isinstance(table, Mapping):
        return DICT
    for kind, classes in (
        ("pandas", ("DataFrame",)),
        ("polars", ("DataFrame",)),
        ("pyarrow", ("Table", "RecordBatch")),
    ):
        module = sys.modules.get(kind)  # whoever has such a table has imported it
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
    """Tell whether something is a table."""
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


def columns_of(name: str, table: Any, wanted: Iterable[str]) -> dict[str, list[Any]]:
    """Return columns as lists, all of one length; other columns are ignored."""
    names, has, kind = list(wanted), names_of(name, table), kind_of(table, name)
    for column in names:
        if has.count(column) != 1:
            raise ValueError(
                f"{name} has {'no' if column not in has else 'more than one'} column {column!r},"
                f" only {validate.quote(has)}"
            )
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


def build_table(kind: str | None, columns: Mapping[str, Any], like: Any = None) -> Any:
    """Return columns as a table of a kind, by default the first kind that is installed.

    With the index of another, if that has one.
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
    """Return a table with a note among its metadata, where its kind has any.

    Arrow tables and pandas frames do, and Parquet files keep it.
    """
    kind = kind_of(table)
    if kind == "pyarrow":
        return table.replace_schema_metadata({**(table.schema.metadata or {}), key: text})
    if kind == "pandas":
        table.attrs[key] = text
    return table


def read_note(table: Any, key: str) -> str | None:
    """Return a note among the metadata of a table, or None."""
    kind = kind_of(table)
    if kind == "pyarrow":
        note = (table.schema.metadata or {}).get(key.encode())
        return None if note is None else note.decode(errors="replace")
    return table.attrs.get(key) if kind == "pandas" else None


def _unify_types(values: list[Any]) -> list[Any]:
    """Return values of one type: as strings, where they are of several."""
    plain = [each.item() if hasattr(each, "item") else each for each in values]
    kinds = {type(each) for each in plain} - {type(None)}
    if kinds == {int, float}:
        return [None if each is None else float(each) for each in plain]
    return plain if len(kinds) <= 1 else [str(each) for each in plain]
