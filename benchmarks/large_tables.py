"""Tables of a million rows, compared with arrays and files of the same content."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from rows import timed

from multi_freq_ldpy import GRR, OLH, OUE, SS, Survey, datasets
from multi_freq_ldpy.cli import files
from multi_freq_ldpy.tables.arrow import column_of

Results = dict[str, Any]


def tables(rows: int, times: int) -> Results:
    """Time surveys of nine attributes on four kinds of tables, and tallies of Parquet files."""
    people = datasets.population(20_000, rng=1)
    chosen = np.random.default_rng(1).integers(0, 20_000, rows)
    columns = {name: [values[i] for i in chosen] for name, values in people.items()}
    survey = Survey({name: datasets.CATEGORIES[name] for name in people}, epsilon=4.0)
    given = {
        "pandas, categories": pd.DataFrame(columns).astype("category"),
        "pandas, objects": pd.DataFrame(columns, dtype=object),
        "polars": pl.DataFrame(columns),
        "Arrow": pa.table(columns),
    }
    encoded = survey.encode(given["Arrow"])
    reports = survey.solution.randomize(encoded)
    column = pa.table({"report": column_of(reports)})
    work: dict[str, Callable[[], object]] = {
        "array": partial(survey.solution.randomize, encoded),
        **{kind: partial(survey.randomize, table) for kind, table in given.items()},
        "tally of an array": partial(survey.solution.tally, reports),
        "tally of Arrow": partial(survey.tally, column),
    }
    turns = [{name: timed(each) for name, each in work.items()} for _ in range(times + 1)]
    return {
        "rows": rows,
        "seconds": {name: min(turn[name] for turn in turns[1:]) for name in work},
        "parquet": [_parquet(each, rows, times) for each in (GRR, OUE, OLH, SS)],
    }


def _parquet(protocol: Any, rows: int, times: int) -> Results:
    survey = Survey({"a": list(range(100))}, epsilon=2.0, protocol=protocol)
    reports = survey.solution.randomize(np.arange(rows)[:, np.newaxis] % 100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        pq.write_table(pa.table({"report": column_of(reports)}), path)

        def read() -> None:
            for _ in pq.ParquetFile(path).iter_batches(2**20):
                pass

        def count() -> None:
            survey.tally(files.read_reports(path, survey, "raise"))

        turns = [(timed(read), timed(count)) for _ in range(times + 1)]
    reading, counting = (min(each) for each in zip(*turns[1:], strict=True))
    return {"protocol": protocol.__name__, "read": reading, "tally": counting}
