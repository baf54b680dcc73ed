"""Tests of tables: every engine gives the same numbers, errors and reports as lists."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from multi_freq_ldpy import GRR, OUE, SMP, Survey
from multi_freq_ldpy.tables import arrow, frames
from multi_freq_ldpy.tables.labels import factor_list

N = 500
COLUMNS: dict[str, list[Any]] = {
    "text": [["red", "green", "blue"][i % 3] for i in range(N)],
    "missing": [["red", None, "blue"][i % 3] for i in range(N)],
    "number": [i % 7 for i in range(N)],
    "real": [(i % 5) / 2 for i in range(N)],
    "truth": [i % 3 == 0 for i in range(N)],
}
LABELS: dict[str, list[Any]] = {
    "text": ["blue", "green", "red"],
    "missing": ["red", "blue", "?"],
    "number": [6, 5, 4, 3, 2, 1, 0],
    "real": [0.0, 0.5, 1, 1.5, 2],
    "truth": [True, False],
}
MAKERS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "object": lambda columns: pd.DataFrame(columns, dtype=object),
    "categorical": lambda columns: pd.DataFrame(columns).astype("category"),
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "arrow in pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": pl.DataFrame,
    "polars categories": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "slice": lambda columns: pa.table({n: [v[0], *v, v[1]] for n, v in columns.items()})[1:-1],
    "chunks": lambda columns: pa.concat_tables(
        [pa.table({n: v[i::1][: N // 2] for n, v in columns.items()}) for i in (0, N // 2)]
    ),
    "dictionaries": lambda columns: pa.table(
        {n: pa.array(v).dictionary_encode() for n, v in columns.items()}
    ),
    "chunks of dictionaries": lambda columns: pa.table(
        {
            n: pa.chunked_array([pa.array(v[:9]).dictionary_encode(),
                                 pa.array(v[9:]).dictionary_encode()])
            for n, v in columns.items()
        }
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
def test_every_engine_gives_the_numbers_of_lists(kind: str) -> None:
    survey = Survey(LABELS, epsilon=2.0, missing="?")
    table = MAKERS[kind](COLUMNS)
    expected = survey.encode(COLUMNS)
    assert expected[:3].tolist() == [[2, 0, 6, 0, 0], [1, 2, 5, 1, 1], [0, 1, 4, 2, 1]]
    assert np.array_equal(survey.encode(table), expected)
    reports = survey.randomize(table, rng=3)
    assert survey.tally(reports) == survey.tally(survey.randomize(COLUMNS, rng=3))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("column", "row", "value", "what"),
    [
        ("text", 400, "grey", "has the label 'grey', which is not declared"),
        ("text", 17, None, "is missing"),
        ("number", 3, 9, "has the label 9"),
        ("real", 250, 7.5, "has the label 7.5"),
    ],
)
def test_every_engine_names_the_first_wrong_row(
    kind: str, column: str, row: int, value: Any, what: str
) -> None:
    wrong = {name: list(values) for name, values in COLUMNS.items()}
    wrong[column][row] = wrong[column][row + 40] = value
    survey = Survey({column: LABELS[column]}, epsilon=2.0)
    with pytest.raises(ValueError, match=f"column '{column}', row {row} {what}"):
        survey.encode(MAKERS[kind]({column: wrong[column]}))


def test_distinct_values_of_a_list() -> None:
    """Check that truth values differ from numbers, and that values without a hash are kept."""
    cases: list[tuple[list[Any], list[Any]]] = [
        ([1, True, 1.0, np.True_, 0, False], [1, True, 1, True, 0, False]),
        (["a", np.str_("a"), None, 2], ["a", "a", None, 2]),
        ([[1], [1]], [[1], [1]]),
        ([Decimal(1), date(2020, 1, 1), Decimal(1)], [1, date(2020, 1, 1), 1]),
        ([], []),
    ]
    for values, expected in cases:
        codes, distinct = factor_list(values)
        found = [distinct[code] for code in codes]
        assert found == expected
        assert [isinstance(x, bool) for x in found] == [isinstance(x, bool) for x in expected]


def test_object_columns_tell_truth_values_from_numbers() -> None:
    survey = Survey({"x": [1, 2, 3]}, epsilon=1.0, other=3)
    table = pd.DataFrame({"x": pd.Series([1, True, 2, 1.0], dtype=object)})
    assert survey.encode(table).ravel().tolist() == [0, 2, 1, 0]


MECHANISM = SMP([GRR, OUE], [3, 20], 2.0)
REPORTS = MECHANISM.randomize(np.arange(200).reshape(100, 2) % [3, 20], 1)
SIZE = MECHANISM.report_bytes
LISTED = [REPORTS[i].tobytes() for i in range(100)]
BINARY: dict[str, Any] = {
    "fixed": pa.array(LISTED, pa.binary(SIZE)),
    "binary": pa.array(LISTED, pa.binary()),
    "large": pa.array(LISTED, pa.large_binary()),
    "slice": pa.array([b"x", b"", *LISTED, b"yy"], pa.binary())[2:-1],
    "fixed slice": pa.array([LISTED[3], *LISTED, LISTED[5]], pa.binary(SIZE))[1:-1],
    "chunks": pa.chunked_array([pa.array(LISTED)[i:j] for i, j in ((0, 7), (7, 7), (7, 100))]),
    "none": pa.chunked_array([pa.array(LISTED)[:0], pa.array(LISTED)]),
}


@pytest.mark.parametrize("kind", BINARY)
def test_reports_of_arrow_columns(kind: str) -> None:
    messages, wrong = arrow.messages_of(BINARY[kind], SIZE)
    assert messages.tobytes() == REPORTS.tobytes() and not wrong.size
    if "chunks" not in kind and kind != "none":
        assert messages.base is not None, "a view of Arrow's memory"
    assert MECHANISM.tally(np.frombuffer(messages, MECHANISM.report_dtype)) == MECHANISM.tally(
        REPORTS
    )


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_rows_of_arrow_columns_that_are_no_reports(kind: Any) -> None:
    mixed = [None, b"", *LISTED[:3], b"x" * (SIZE + 1), LISTED[3], None]
    chunks = pa.chunked_array([pa.array(mixed[:3], kind), pa.array(mixed[3:], kind)])
    for column in (pa.array(mixed, kind), pa.array([b"?", *mixed], kind)[1:], chunks):
        messages, wrong = arrow.messages_of(column, SIZE)
        assert messages.tobytes() == b"".join(LISTED[:4])
        assert wrong.tolist() == [0, 1, 5, 7]
    for other in (
        pa.array(["text"] * 3),
        pa.array([1, 2, 3]),
        pa.array([LISTED[0]], pa.binary(SIZE)),
    ):
        size = SIZE if not pa.types.is_fixed_size_binary(other.type) else SIZE + 1
        messages, wrong = arrow.messages_of(other, size)
        assert messages.shape == (0, size) and wrong.tolist() == list(range(len(other)))


def test_reports_become_a_column_without_a_copy() -> None:
    column = arrow.column_of(REPORTS)
    assert column.type == pa.binary(SIZE) and column.to_pylist() == LISTED
    assert column.buffers()[1].address == REPORTS.ctypes.data
    assert arrow.column_of(REPORTS[:0]).to_pylist() == []


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict"])
def test_reports_as_a_table_of_every_kind(kind: str) -> None:
    like = {"pandas": pd.DataFrame(index=range(100)), "dict": {}}.get(kind)
    table = frames.build_reports(kind, "report", REPORTS, like)
    messages, wrong, _ = frames.messages_of("reports", table, "report", SIZE)
    assert messages.tobytes() == REPORTS.tobytes() and not wrong.size
    assert list(frames.columns_of("reports", table, ["report"])["report"]) == LISTED
    if kind == "pandas":
        table["report"] = table["report"].astype(pd.ArrowDtype(pa.binary()))
        messages, wrong, _ = frames.messages_of("reports", table, "report", SIZE)
        assert messages.tobytes() == REPORTS.tobytes() and not wrong.size
