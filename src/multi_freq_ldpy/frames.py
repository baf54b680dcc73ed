"""Tables of all kinds in and out, through narwhals: pandas, polars, Arrow, and dicts of lists, which need none of them."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from . import _check

KINDS = ("pandas", "polars", "pyarrow")
DICT = "dict"


def missing(package: str, extra: str) -> ImportError:
    """Say what has to be installed."""
    return ImportError(f"this needs {package}, which is not installed: pip install 'multi-freq-ldpy[{extra}]'")


def narwhals() -> Any:
    """Return narwhals, or say that it has to be installed."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise missing("narwhals", "tables") from None
    return nw


def kind_of(table: Any) -> str:
    """Return what kind of table it is, or refuse what is none."""
    if isinstance(table, Mapping):
        return DICT
    for kind in KINDS:
        if type(table).__module__.partition(".")[0] == kind:
            return kind
    raise TypeError(f"table must be a pandas or polars DataFrame, an Arrow table, or a dict of lists, not {_check.shown(table)}")


def is_table(given: Any) -> bool:
    """Tell whether something is a table."""
    try:
        kind_of(given)
    except TypeError:
        return False
    return True


def names_of(name: str, table: Any) -> list[str]:
    """Return the names of the columns."""
    return list(table) if kind_of(table) == DICT else list(narwhals().from_native(table, eager_only=True).columns)


def columns_of(name: str, table: Any, wanted: Iterable[str]) -> dict[str, list[Any]]:
    """Return columns as lists, all of one length; other columns are ignored."""
    names, has = list(wanted), names_of(name, table)
    frame = table if kind_of(table) == DICT else narwhals().from_native(table, eager_only=True)
    for column in names:
        if column not in has:
            raise ValueError(f"{name} has no column {column!r}, only {_check.shown(has)}")
    columns: dict[str, list[Any]] = {}
    for column in names:
        values = frame[column]
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"{name}[{column!r}] must be a list, not {_check.shown(values)}")
        to_list = getattr(values, "to_list", None) or getattr(values, "tolist", None)
        columns[column] = list(to_list() if to_list else values)
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name} must have columns of one length, not {lengths}")
    return columns


def made(kind: str | None, columns: Mapping[str, Any]) -> Any:
    """Return columns as a table of a kind, by default the first kind that is installed."""
    if kind is None:
        kind = next((each for each in KINDS if find_spec(each)), None)
        if kind is None:
            raise missing("pandas, polars or pyarrow", "tables")
    _check.choice("kind", kind, (*KINDS, DICT))
    lists = {name: _alike(list(column)) for name, column in columns.items()}
    if kind == DICT:
        return lists
    nw = narwhals()
    try:
        return nw.from_dict(lists, backend=kind).to_native()
    except ImportError:
        raise missing(kind, "tables") from None


def _alike(values: list[Any]) -> list[Any]:
    """Return values of one type: as strings, where they are of several."""
    plain = [each.item() if hasattr(each, "item") else each for each in values]
    kinds = {type(each) for each in plain} - {type(None)}
    return plain if len(kinds) <= 1 or kinds == {int, float} else [str(each) for each in plain]
