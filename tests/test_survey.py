"""Tests of surveys: tables of every kind, labels, refused input, files, users over time."""

import json
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from multi_freq_ldpy import (
    GRR,
    LOSUE,
    OUE,
    RSFD,
    SMP,
    SPL,
    DBitFlipPM,
    Estimate,
    Once,
    Rounds,
    Steps,
    Stream,
    Survey,
    Tree,
    best,
    datasets,
    over_rounds,
)

PEOPLE: dict[str, list[Any]] = {
    "smokes": ["no", "yes", "no", "no"] * 500,
    "age": [30, 41, 41, 52] * 500,
    "ignored": list(range(2000)),
}
ATTRIBUTES: dict[str, Any] = {"smokes": ["yes", "no"], "age": [30, 41, 52]}
KINDS: dict[str, Any] = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind(kind: str) -> None:
    """Check that results have the kind of the table, and that all kinds give the same reports."""
    survey, table = Survey(ATTRIBUTES, epsilon=3.0), KINDS[kind](PEOPLE)
    assert survey.encode(table)[:4].tolist() == [[1, 0], [0, 1], [1, 1], [1, 2]]
    reports = survey.randomize(table, rng=5)
    assert type(reports) is type(table)
    whole = survey.solution.randomize(survey.encode(PEOPLE), Stream(5))
    assert (
        b"".join(
            pd.DataFrame({"r": KINDS["dict"](reports)["report"]})["r"]
            if kind == "dict"
            else _column(reports)
        )
        == whole.tobytes()
    )
    tally = survey.tally(reports)
    assert (
        tally
        == survey.solution.tally(whole)
        == survey.tally(whole)
        == survey.tally(iter([reports[:0] if kind != "dict" else {"report": []}, reports]))
    )
    estimates = survey.estimate(reports)
    assert [each.name for each in estimates] == ["smokes", "age"]
    assert estimates["age"].labels == (30, 41, 52)
    frame = estimates.to_frame()
    assert type(frame) is type(table)
    for own, expected in zip(estimates, survey.solution.estimate(tally), strict=True):
        assert np.array_equal(own.frequencies, expected.frequencies)


def _column(reports: Any) -> list[bytes]:
    column = reports["report"]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def test_estimates_are_near_the_truth() -> None:
    """Check every value of nine attributes, to six standard errors."""
    people = datasets.population(20_000, rng=2)
    survey = Survey(datasets.CATEGORIES, epsilon=4.0)
    for name, estimate in zip(
        survey.attributes, survey.estimate(survey.randomize(people, rng=3)), strict=True
    ):
        true = np.array([people[name].count(label) for label in survey.attributes[name]]) / 20_000
        assert (np.abs(estimate.frequencies - true) < 6 * estimate.std).all(), name


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"smokes": ["no"]}, "table has no column 'age', only"),
        ({"smokes": ["no"], "age": [30, 41]}, "columns of one length"),
        (
            {"smokes": ["no", "maybe"], "age": [30, 41]},
            "column 'smokes', row 1 has the label 'maybe', which is not declared",
        ),
        ({"smokes": ["no", None], "age": [30, 41]}, "column 'smokes', row 1 is missing"),
        ({"smokes": ["no", "no"], "age": [30, float("nan")]}, "column 'age', row 1 is missing"),
        ({"smokes": ["no"], "age": [True]}, "column 'age', row 0 has the label True"),
        ({"smokes": ["no"], "age": ["30"]}, "column 'age', row 0 has the label '30'"),
        ({"smokes": [["no"]], "age": [30]}, "column 'smokes', row 0 has the label"),
        ({"smokes": "no", "age": [30]}, "must be a list"),
        (
            pd.DataFrame({"smokes": pd.array(["no", pd.NA], dtype="string"), "age": [30, 41]}),
            "column 'smokes', row 1 is missing",
        ),
        (
            pd.DataFrame({"smokes": pd.Categorical(["no", "maybe"]), "age": [30, 41]}),
            "row 1 has the label 'maybe'",
        ),
        (
            pl.DataFrame({"smokes": ["no", None], "age": [30, 41]}),
            "column 'smokes', row 1 is missing",
        ),
        ([["no", 30]], "table must be a pandas or polars DataFrame"),
        (np.zeros((2, 2)), "table must be"),
        (None, "table must be"),
    ],
)
def test_what_is_not_declared_is_refused(table: Any, message: str) -> None:
    survey, stream = Survey(ATTRIBUTES, epsilon=1.0), Stream(1)
    with pytest.raises((ValueError, TypeError), match=message):
        survey.randomize(table, stream)
    assert stream.position == 0, "the stream was not used"


def test_categories_for_what_is_not_declared() -> None:
    survey = Survey(
        {"a": ["x", "other", "unknown"], "b": ["y", "z"]},
        epsilon=1.0,
        other="other",
        missing="unknown",
    )
    codes = survey.encode({"a": ["x", "?", None, "other", float("nan")], "b": ["y"] * 5})
    assert codes[:, 0].tolist() == [0, 1, 2, 1, 2]
    with pytest.raises(ValueError, match="column 'b', row 0 is missing"):
        survey.encode({"a": ["x"], "b": [None]})
    with pytest.raises(ValueError, match="column 'b', row 0 has the label '\\?'"):
        survey.encode({"a": ["x"], "b": ["?"]})


def test_truth_values_are_no_numbers() -> None:
    truths, numbers = Survey({"a": [False, True]}, epsilon=1.0), Survey({"a": [0, 1]}, epsilon=1.0)
    assert truths.encode({"a": [True, False]}).tolist() == [[1], [0]]
    assert numbers.encode({"a": [1.0, 0]}).tolist() == [[1], [0]]
    for survey, value in ((truths, 1), (numbers, True)):
        with pytest.raises(ValueError, match="not declared"):
            survey.encode({"a": [value]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Survey({}, epsilon=1.0), "attributes"),
        (lambda: Survey([("a", [1, 2])], epsilon=1.0), "attributes must map names to categories"),
        (lambda: Survey(pd.DataFrame(PEOPLE), epsilon=1.0), "use Survey.from_table for a table"),
        (lambda: Survey({"a": "yes"}, epsilon=1.0), "categories of 'a' must be a list"),
        (lambda: Survey({"a": ["yes"]}, epsilon=1.0), "categories of 'a' must be two or more"),
        (lambda: Survey({"a": ["yes", "yes"]}, epsilon=1.0), "all different"),
        (lambda: Survey({"a": [1, "1"]}, epsilon=1.0), "all different, also as text"),
        (lambda: Survey({"a": [1, True]}, epsilon=1.0), "all different"),
        (
            lambda: Survey({"a": [1, None]}, epsilon=1.0),
            "strings, numbers or truth values, not None",
        ),
        (lambda: Survey({"a": [1, float("nan")]}, epsilon=1.0), "not nan"),
        (lambda: Survey({"": [1, 2]}, epsilon=1.0), "names, not ''"),
        (lambda: Survey({"a": [1, 2]}), "budget"),
        (lambda: Survey({"a": [1, 2]}, epsilon=0), "epsilon must be a finite number"),
        (lambda: Survey({"a": [1, 2]}, epsilon=1.0, eps_1=0.5), "budget"),
        (
            lambda: Survey({"a": [1, 2]}, epsilon=1.0, solution=GRR),
            "solution must be SPL, SMP or RSFD",
        ),
        (lambda: Survey({"a": [1, 2]}, epsilon=1.0, protocol=3), "factory"),
        (
            lambda: Survey({"a": [1, 2]}, epsilon=1.0, other="x"),
            "other='x' must be a declared category",
        ),
        (lambda: Survey({"a": [1, 2]}, epsilon=1.0, other=1, missing=1), "different categories"),
        (lambda: Survey({"a": [1, 2]}, epsilon=1.0, rounds=4), "rounds=4 needs changes"),
        (lambda: Survey({"a": [1, 2]}, epsilon=1.0, changes=1), "changes=1 needs rounds"),
        (lambda: Survey({"a": [1, 2]}, 1.0, rounds=1, changes=1), "rounds must be an integer"),
        (lambda: Survey({"a": [1, 2]}, 1.0, rounds=4, changes=0), "changes must be an integer"),
        (lambda: Survey({"a": [1, 2]}, rounds=4, changes=1), "not no budget"),
        (
            lambda: Survey({"a": [1, 2]}, eps_perm=2.0, eps_1=1.0, rounds=4, changes=1),
            "needs the budget epsilon of the whole history, not eps_perm, eps_1",
        ),
        (
            lambda: Survey({"a": [1, 2]}, 1.0, rounds=4, changes=1, protocol=[GRR]),
            "Steps or Once with rounds=4, or a function of k, epsilon and rounds, not GRR",
        ),
        (lambda: Survey({"a": [1, 2]}, 1.0, rounds=4, changes=1, protocol=Tree), "not Tree"),
        (
            lambda: Survey({"a": [1, 2]}, 1.0, rounds=4, changes=1, protocol=Once),
            "changes=1 is not for Once",
        ),
        (
            lambda: Survey({"a": [1, 2]}, 1.0, rounds=4, changes=1, solution=RSFD),
            "RSFD takes protocols only",
        ),
    ],
)
def test_wrong_surveys(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize(
    "survey",
    [
        Survey(ATTRIBUTES, epsilon=1.0),
        Survey(ATTRIBUTES, epsilon=1.0, solution=RSFD, protocol=OUE, fake="random", other="no"),
        Survey(
            {"größe": ["klein", "groß"], "x": [True, False]},
            epsilon=0.5,
            solution=SPL,
            protocol=[GRR, OUE],
            missing=False,
        ),
        Survey(ATTRIBUTES, eps_perm=2.0, eps_1=1.0, protocol=LOSUE),
        Survey(ATTRIBUTES, epsilon=1.0, rounds=8, changes=2),
        Survey(ATTRIBUTES, epsilon=1.0, rounds=8, protocol=Once, solution=SPL),
    ],
    ids=repr,
)
def test_files(survey: Survey, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    survey.save(path)
    assert Survey.load(path) == survey
    assert json.loads(path.read_text())["version"] == 1
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists"):
        Survey({"a": [1, 2]}, epsilon=1.0).save(path)
    assert path.read_bytes() == before
    other = Survey({"a": [1, 2]}, epsilon=1.0)
    other.save(path, force=True)
    assert Survey.load(path) == other != survey
    assert os.listdir(tmp_path) == ["survey.json"]
    with pytest.raises(IsADirectoryError):
        survey.save(tmp_path)


def test_every_changed_file_is_refused_or_another_survey(tmp_path: Path) -> None:
    spec = Survey(ATTRIBUTES, epsilon=1.0).to_spec()
    changes: list[Any] = [
        *(
            {**spec, name: wrong}
            for name in spec
            for wrong in (None, 3, "x", [], {}, [3])
            if (name, wrong) not in (("other", None), ("missing", None))
        ),
        *({key: entry for key, entry in spec.items() if key != name} for name in spec),
        {**spec, "more": 1},
        {**spec, "version": 2},
        {**spec, "attributes": spec["attributes"][::-1]},
        {**spec, "attributes": [spec["attributes"][0]] * 2},
        [],
        3,
    ]
    path = tmp_path / "survey.json"
    for change in changes:
        path.write_text(json.dumps(change))
        with pytest.raises(ValueError, match="survey.json is not a survey"):
            Survey.load(path)
    for text in (
        "",
        "{",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin1"),
        "[" * 100_000,
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match="survey.json is not a survey"):
            Survey.load(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ValueError, match="not a survey"):
        Survey.load(path)


def test_reports_of_another_survey_are_refused() -> None:
    survey = Survey(ATTRIBUTES, epsilon=1.0)
    size = survey.solution.report_bytes
    for reports, message in (
        (
            {"report": [b"\0" * size, b"\0" * (size + 1)]},
            f"reports, row 1: a report of this survey has {size} bytes",
        ),
        ({"report": [b"\0" * size, "text"]}, "reports, row 1"),
        ({"report": [b"\0" * size, None]}, "reports, row 1"),
        ({"report": [b"\xff" * size]}, "not a report of"),
        ({"other": [b"\0"]}, "no column 'report'"),
        (3, "reports must be a table"),
        (b"\0" * size, "reports must be a table"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            survey.tally(reports)
    with pytest.raises(ValueError, match="another survey"):
        survey.estimate(Survey({"a": [1, 2]}, epsilon=1.0).tally({"report": []}))


def test_a_tally_knows_its_survey() -> None:
    """Compare two surveys with the same solution and another order of categories."""
    survey, other = (
        Survey({"a": ["yes", "no"], "b": categories}, epsilon=2.0, protocol=GRR)
        for categories in (["red", "green", "blue"], ["green", "red", "blue"])
    )
    assert survey.solution == other.solution
    reports = survey.randomize({"a": ["yes", "no"] * 20, "b": ["red", "blue"] * 20}, rng=1)
    tally, theirs = survey.tally(reports), other.tally({"report": reports["report"]})
    assert tally.survey == survey.digest != theirs.survey
    assert tally != theirs and (tally + tally).survey == survey.digest
    assert survey.unpack(survey.pack(tally)).survey == tally[1].survey == survey.digest
    assert pickle.loads(pickle.dumps(tally)).survey == survey.digest
    for mixed in (
        lambda: over_rounds([tally, theirs]),
        lambda: survey.estimate(theirs),
        lambda: survey.pack(theirs),
        lambda: survey.unpack(other.pack(theirs)),
        lambda: tally + theirs,
        lambda: survey.estimate(sum([theirs, survey.solution.tally([])])),
    ):
        with pytest.raises(ValueError, match=r"another survey|different surveys"):
            mixed()
    unknown = survey.solution.tally([])
    assert unknown.survey is None, "a tally of a solution has no survey"
    assert survey.estimate(unknown + tally).names == ["a", "b"]


def test_other_notes_are_no_surveys() -> None:
    survey = Survey(ATTRIBUTES, epsilon=1.0)
    reports = survey.randomize(pd.DataFrame(PEOPLE))
    for note in ("my study", 5, np.arange(3), None, "z" * 32):
        reports.attrs["survey"] = note
        assert survey.tally(reports).users == 2000


def test_surveys_pickle() -> None:
    survey = Survey(ATTRIBUTES, epsilon=1.0)
    assert pickle.loads(pickle.dumps(survey)) == survey
    weekly = Survey(ATTRIBUTES, eps_perm=2.0, eps_1=1.0)
    with pytest.raises(TypeError, match="spawn"):
        pickle.dumps(weekly.panel(9, rng=1))


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "parquet", "pandas in parquet", "batch"])
def test_a_table_of_reports_knows_its_survey(kind: str, tmp_path: Path) -> None:
    survey, other = (
        Survey({"a": categories}, epsilon=2.0, protocol=GRR)
        for categories in (list("xyz"), list("zyx"))
    )
    table: Any = pd.DataFrame({"a": list("xyzzy")})
    of_pandas = kind.startswith("pandas")
    reports = survey.randomize(table if of_pandas else pa.Table.from_pandas(table), rng=1)
    if kind == "pandas in parquet":
        reports.to_parquet(tmp_path / "reports.parquet")
        reports = pq.read_table(tmp_path / "reports.parquet")
    if kind == "parquet":
        pq.write_table(reports, tmp_path / "reports.parquet")
        reports = pq.read_table(tmp_path / "reports.parquet")
    if kind == "batch":
        (reports,) = reports.to_batches()
    assert survey.tally(reports).users == survey.tally([reports]).users == 5
    with pytest.raises(ValueError, match="reports are of another survey"):
        other.tally(reports)
    with pytest.raises(ValueError, match=r"reports\[1\] are of another survey"):
        other.tally([{"report": []}, reports])


def test_messages_that_are_no_reports_can_be_left_out() -> None:
    survey = Survey(ATTRIBUTES, epsilon=1.0)
    reports = survey.randomize(PEOPLE, rng=1)["report"]
    size = survey.solution.report_bytes
    wrong = [None, "text", b"", b"\0" * (size + 1), b"\xff" * size]
    mixed = [*wrong[:3], *reports, *wrong[3:]]
    expected = survey.tally(reports)
    for given in (
        mixed,
        {"report": mixed},
        [{"report": mixed[:7]}, {"report": mixed[7:]}],
        [mixed[:7], mixed[7:]],
        [{"report": mixed[:7]}, *mixed[7:]],
        np.array([*mixed, None], object)[:-1],
        [mixed[0], *map(bytearray, reports[:9]), *mixed[1:3], *reports[9:], *mixed[-2:]],
    ):
        found = survey.tally(given, invalid="skip")
        assert found == expected and found.invalid == 5
        with pytest.raises(ValueError, match="row 0|row 2"):
            survey.tally(given)
    assert survey.tally(iter(mixed), invalid="skip") == expected
    assert (found + found).invalid == 10
    with pytest.raises(ValueError, match=r"reports\[1\], row 1"):
        survey.tally([{"report": reports[:2]}, {"report": [reports[0], b""]}])
    with pytest.raises(ValueError, match="invalid must be one of 'raise', 'skip', not 'ignore'"):
        survey.tally(reports, invalid="ignore")


def test_categories_from_a_table_are_those_found() -> None:
    survey = Survey.from_table(pd.DataFrame({"a": ["y", None, "x"], "b": [3, 1, 2]}), epsilon=1.0)
    assert survey.attributes == {"a": ("x", "y"), "b": (1, 2, 3)}
    assert list(Survey.from_table(PEOPLE, 1.0, columns=["age"]).attributes) == ["age"]
    assert "looks at the data" in (Survey.from_table.__doc__ or "")


def test_over_time(tmp_path: Path) -> None:
    survey = Survey(ATTRIBUTES, eps_perm=6.0, eps_1=5.0, solution=SMP, protocol=best)
    with pytest.raises(ValueError, match="use survey.panel"):
        survey.randomize(PEOPLE)
    once = Survey(ATTRIBUTES, epsilon=1.0)
    for verb in (lambda: once.panel(3), lambda: once.client(tmp_path / "c")):
        with pytest.raises(ValueError, match="a survey with one budget asks once"):
            verb()
    assert not (tmp_path / "c").exists()
    panel = survey.panel(2000, rng=1)
    rounds = panel.run([pd.DataFrame(PEOPLE)] * 3)
    assert isinstance(rounds, Rounds) and len(rounds) == 3
    for estimates in rounds:
        assert (
            np.abs(estimates["age"].frequencies - [0.25, 0.5, 0.25]) < 6 * estimates["age"].std
        ).all()
    frame = rounds.to_frame()
    assert list(frame.columns) == [
        *("round", "attribute", "value", "frequency", "std", "low", "high", "outside")
    ]
    assert len(frame) == 3 * 5
    reports = panel.report(PEOPLE)
    assert survey.tally(reports).users == 2000
    client = survey.client(tmp_path / "c", limit=6.0)
    report = client.report({"smokes": "yes", "age": 41})
    assert len(report) == survey.solution.report_bytes and client.spent == pytest.approx(6.0)
    assert survey.tally({"report": [report]}).users == 1
    with pytest.raises(ValueError, match="answers must have 'age', not only 'smokes'"):
        client.report({"smokes": "yes"})
    with pytest.raises(ValueError, match="^answer 'age' has the label 42, which is not declared"):
        client.report({"smokes": "yes", "age": 42})


def test_one_user() -> None:
    survey = Survey(ATTRIBUTES, epsilon=3.0)
    answers = {"age": 41, "smokes": "no", "ignored": 3}
    message = survey.randomize_one(answers, rng=1)
    assert message == survey.randomize({"smokes": ["no"], "age": [41]}, rng=1)["report"][0]
    assert survey.tally([survey.randomize_one(answers) for _ in range(5)]).users == 5
    for wrong, why in (
        ({"age": 41}, "answers must have 'smokes', not only 'age'"),
        ({"age": 42, "smokes": "no"}, "answer 'age' has the label 42, which is not declared"),
        (["no", 41], "answers must map attributes to labels"),
    ):
        with pytest.raises((ValueError, TypeError), match=why):
            survey.randomize_one(wrong)  # type: ignore[arg-type]
    weekly = Survey(ATTRIBUTES, eps_perm=2.0, eps_1=1.0)
    with pytest.raises(ValueError, match=r"use survey.client\(path\), not randomize"):
        weekly.randomize_one(answers)


def test_buckets_have_labels() -> None:
    survey = Survey(
        {"age": list(range(10, 20))}, eps_perm=4.0, protocol=lambda k, eps: DBitFlipPM(k, eps, b=4)
    )
    estimate = survey.estimate(survey.panel(50, 1).report({"age": [12] * 50}))["age"]
    assert isinstance(estimate, Estimate)
    assert estimate.labels == ("10 … 12", "13 … 14", "15 … 17", "18 … 19")


def test_reports_keep_the_index_of_their_rows() -> None:
    table = pd.DataFrame(PEOPLE, index=np.arange(2000)[::-1])
    reports = Survey(ATTRIBUTES, epsilon=1.0).randomize(table)
    assert reports.index.tolist() == table.index.tolist()


def test_tables_as_people_have_them() -> None:
    survey, expected = Survey(ATTRIBUTES, epsilon=1.0), [[1, 0], [0, 1]]
    rows = {"smokes": ["no", "yes"], "age": [30, 41]}

    class Mine(pd.DataFrame):  # type: ignore[misc]
        pass

    twice = pd.DataFrame([["no", 30, 1, 2], ["yes", 41, 3, 4]], columns=["smokes", "age", "x", "x"])
    for table in (
        Mine(rows),
        twice,
        pa.RecordBatch.from_pydict(rows),
        pd.DataFrame(rows).astype({"smokes": "category", "age": "Int64"}),
        pd.DataFrame(rows).astype({"age": float}),
        pl.DataFrame(rows).with_columns(pl.col("smokes").cast(pl.Categorical)),
        {"smokes": np.array(["no", "yes"]), "age": np.array([30, 41], np.int16)},
        {"smokes": pd.Series(["no", "yes"]), "age": (30, np.int64(41))},
    ):
        assert survey.encode(table).tolist() == expected
    for table, message in (
        (pl.LazyFrame(rows), "call its collect"),
        (pd.Series(["no"]), "table must be"),
        (pa.array(["no"]), "table must be"),
        (twice.rename(columns={"x": "age"}), "more than one column 'age'"),
        ({"smokes": {"no", "yes"}, "age": [30, 41]}, "must be a list"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            survey.encode(table)
    reports = [survey.randomize(pa.table(rows)).to_batches()[0]] * 2
    assert survey.tally(reports).users == 4


def test_missing_values_of_every_kind() -> None:
    from decimal import Decimal

    survey = Survey({"c": ["a", "other", "none"]}, epsilon=1.0, other="other", missing="none")
    values = [
        np.float32("nan"),
        np.datetime64("NaT"),
        Decimal("nan"),
        float("nan"),
        None,
        pd.NA,
        pd.NaT,
        "?",
        np.str_("a"),
    ]
    assert survey.encode({"c": values}).ravel().tolist() == [2, 2, 2, 2, 2, 2, 2, 1, 0]
    found = Survey.from_table({"c": ["b", None, "a"]}, 1.0, missing="?")
    assert found.attributes["c"] == ("a", "b", "?") and found.encode({"c": [None]}).tolist() == [
        [2]
    ]


def test_labels_that_look_alike_to_python() -> None:
    truths = Survey({"n": [True, False]}, epsilon=1.0)
    assert truths.encode({"n": [np.True_, np.False_]}).ravel().tolist() == [0, 1]
    assert truths.encode(pd.DataFrame({"n": [np.True_]}, dtype=object)).tolist() == [[0]]
    with pytest.raises(ValueError, match="not declared"):
        Survey({"n": [1, 2, 3]}, epsilon=1.0).encode({"n": [np.True_, 2]})
    with pytest.raises(ValueError, match="other=1 must be a declared category"):
        Survey({"n": [True, "b"]}, epsilon=1.0, other=1)
    assert Survey({"n": [1, 2]}, epsilon=1.0) != Survey({"n": [True, 2]}, epsilon=1.0)
    assert Survey({"n": [2**53, -(2**53), 1e300]}, epsilon=1.0).solution.ks == (3,)
    assert Survey({"n": np.array([1, 2])}, epsilon=1.0, other=np.int64(1)).to_spec()["other"] == 1
    for wrong in ({"a", "b"}, ["a", "\ud800"], [1, 10**30], [1, 2**53 + 1], [1, -(2**53) - 1]):
        with pytest.raises((ValueError, TypeError), match="categories of 'n'"):
            Survey({"n": wrong}, epsilon=1.0)
    with pytest.raises(TypeError, match="does not support item assignment"):
        truths.attributes["m"] = (1, 2)  # type: ignore[index]
    with pytest.raises(TypeError, match="force must be True or False"):
        truths.save("nowhere.json", force="no")


@pytest.mark.slow
def test_many_categories_are_quick() -> None:
    """Encode ten thousand rows with unknown labels, where a million labels are declared.

    No step may search all labels for each row.
    """
    survey = Survey(
        {"n": list(range(10**6)), "m": ["x", "y"]}, epsilon=1.0, protocol=[GRR, GRR], other=0
    )
    assert survey.encode({"n": ["?"] * 10_000, "m": ["x"] * 10_000})[:, 0].tolist() == [0] * 10_000
    with pytest.raises(ValueError, match="and 999,980 more; set missing in the survey to name"):
        survey.encode({"n": [None], "m": ["x"]})


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("survey", "rounds"),
    [
        (Survey({"a": ["x", "y", "z"], "b": list(range(20))}, epsilon=2.0), 1),
        (Survey({"a": ["x", "y", "z"], "b": list(range(20))}, epsilon=2.0, solution=SPL), 1),
        (Survey({"a": ["x", "y", "z"], "b": list(range(20))}, eps_perm=4.0, eps_1=2.0), 3),
        (Survey({"a": ["x", "y", "z"], "b": list(range(20))}, 2.0, rounds=4, changes=1), 4),
    ],
    ids=str,
)
def test_rehearsals_have_the_expected_errors(survey: Survey, rounds: int) -> None:
    """Compare the mean square error of 60 rehearsals with the expected one.

    The tolerance is six standard deviations. Errors of one attribute are correlated, so each
    rehearsal counts once.
    """
    shares = {"a": {"x": 3, "y": 1}, "b": [1] * 20}
    seen, n = [], 2000
    for seed in range(60):
        found = survey.rehearse(n, shares, rounds, rng=seed)
        seen.append(np.square(found.errors))
    expected = [float(np.mean(each**2)) for each in found.expected]
    mean, spread = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / len(seen) ** 0.5
    assert (np.abs(mean - expected) < 6 * spread).all()
    assert found.truth["a"].tolist() == [0.75, 0.25, 0]
    assert [round(each) for each in found.answers] == (
        [n, n] if isinstance(survey.solution, SPL) else [n / 2, n / 2]
    )
    assert found.estimates.names == ["a", "b"] and found.users == n


def test_rehearsals_are_tables_and_refuse() -> None:
    survey = Survey({"a": ["x", "y", "z"], "b": ["u", "v"]}, epsilon=2.0)
    found = survey.rehearse(300, rng=1)
    assert found.to_frame("dict") == survey.rehearse(300, rng=1).to_frame("dict")
    assert list(found.to_frame("pandas").columns) == [
        *("attribute", "categories", "answers", "expected", "largest", "seen")
    ]
    assert repr(found).startswith("Rehearsal with 300 simulated users, who send 2 bytes each.")
    assert len(repr(found).splitlines()) == 5
    for wrong, match in (
        (lambda: survey.rehearse(0), "n must be"),
        (lambda: survey.rehearse(10, {"c": [1]}), "shares must map attributes"),
        (lambda: survey.rehearse(10, [1, 2]), "shares must map attributes"),  # type: ignore
        (lambda: survey.rehearse(10, {"a": [1, 2]}), r"shares\['a'\] must be 3 frequencies"),
        (lambda: survey.rehearse(10, {"a": {"w": 1}}), r"shares\['a'\] must map the categories"),
        (lambda: survey.rehearse(10, {"a": [0, 0, 0]}), r"shares\['a'\] must be 3 frequencies"),
        (lambda: survey.rehearse(10, {"a": [1, -1, 0]}), r"shares\['a'\]"),
        (lambda: survey.rehearse(10, rounds=2), "asks once"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            wrong()


def test_rehearsals_of_histories_have_all_rounds() -> None:
    survey = Survey({"a": ["x", "y"]}, epsilon=2.0, rounds=4, changes=1)
    found = survey.rehearse(500, rng=1)
    assert found.rounds == 4 and found.to_frame("dict") == survey.rehearse(
        500, None, 4, 1
    ).to_frame("dict")
    assert repr(found).startswith(
        "Rehearsal with 500 simulated users, who send 4 bytes each in some of 4 rounds."
    )
    with pytest.raises(ValueError, match="rounds must be 4, those of the survey, not 3"):
        survey.rehearse(500, rounds=3)


# Half of the users answer 52 from round 2 on
DRIFT: list[dict[str, list[Any]]] = [
    PEOPLE | {"age": [30, 41] * 1000},
    PEOPLE | {"age": [30, 41] * 1000},
    PEOPLE | {"age": [30, 52] * 1000},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"changes": 1},
        {"protocol": Once},
        {"changes": 1, "solution": SPL, "protocol": partial(Steps, values=0.5)},
    ],
    ids=str,
)
def test_whole_histories(kind: str, options: dict[str, Any]) -> None:
    """Check estimates of histories, from reports, from tallies in bytes and from a panel."""
    survey = Survey(ATTRIBUTES, epsilon=8.0, rounds=4, **options)
    assert survey.rounds == 4 and survey.longitudinal
    assert survey.privacy.history == pytest.approx(8.0, abs=1e-9)
    tables = [KINDS[kind](each) for each in DRIFT]
    reports = survey.randomize(tables, rng=5)
    assert [type(each) for each in reports] == [type(tables[0])] * 3
    if kind == "pandas":
        assert 0 < len(reports[0]) < 2000 and set(reports[0].index) <= set(range(2000))
    tallies = [survey.tally(each, round=r) for r, each in enumerate(reports)]
    kept = [survey.unpack(survey.pack(each)) for each in tallies]
    assert kept == tallies and [survey.round_of(each) for each in kept] == [0, 1, 2]
    assert {each.survey for each in kept} == {survey.digest}
    found = survey.estimate(kept)
    for rounds in (found, survey.estimate(reports), survey.panel(2000, rng=5).run(tables)):
        assert isinstance(rounds, Rounds) and len(rounds) == 3
        assert rounds[0].names == ["smokes", "age"]
        for r, each in enumerate(rounds):
            truth = [0.5, 0.0, 0.5] if r == 2 else [0.5, 0.5, 0.0]
            assert (np.abs(each["age"].frequencies - truth) < 6 * each["age"].std).all()
            assert (
                np.abs(each["smokes"].frequencies - [0.25, 0.75]) < 6 * each["smokes"].std
            ).all()
    change = found.attribute("age").difference(2, 1)
    assert change.name == "age" and abs(change[52].value - 0.5) < 6 * change[52].std
    assert found.attribute(1).difference(2, 1)[52].value == change[52].value
    online = survey.estimate(kept, smooth=False, users=2000)
    assert online[2]["age"].frequencies == pytest.approx(found[2]["age"].frequencies)
    # Steps tell of earlier rounds, values do not
    same = online[0]["age"].frequencies == pytest.approx(found[0]["age"].frequencies)
    assert same == ("changes" not in options)


def test_rounds_are_kept_apart(tmp_path: Path) -> None:
    """Check that a round is required, that others are refused, and that nothing else has rounds."""
    survey = Survey(ATTRIBUTES, epsilon=4.0, rounds=4, changes=1)
    once = Survey(ATTRIBUTES, epsilon=4.0)
    other = Survey(ATTRIBUTES | {"age": [1, 2, 3]}, epsilon=4.0, rounds=4, changes=1)
    longer = Survey(ATTRIBUTES, epsilon=4.0, rounds=8, changes=1)
    reports = survey.randomize([pd.DataFrame(each) for each in DRIFT], rng=1)
    first = survey.tally(reports[0], round=0)
    found = survey.estimate([first])
    cases: list[tuple[Any, str]] = [
        (lambda: survey.tally(reports[0]), "round must be given"),
        (lambda: survey.tally(reports[0], round=1), "reports are of round 0, not of round 1"),
        (lambda: survey.tally(reports[0], round=4), "round must be an integer from 0 to 3"),
        (lambda: other.tally(reports[0], round=0), "reports are of another survey"),
        (lambda: once.tally([], round=0), "round=0 is for surveys with rounds"),
        (lambda: once.estimate([], users=3), "smooth and users are for surveys with rounds"),
        (lambda: survey.estimate(reports[0]), "reports must be a list with the tally"),
        (lambda: survey.estimate([first, first]), r"reports\[1\] must be the tally of round 1"),
        (lambda: survey.estimate([other.tally([], round=0)]), "tally is of another survey"),
        (lambda: survey.pack(once.tally([])), "tally is of another survey"),
        (lambda: survey.pack(longer.solution.at(5).tally([])), "must be that of a round"),
        (lambda: survey.pack(longer.solution.at(2).tally([])), "tally was counted by"),
        (lambda: other.unpack(survey.pack(first)), "another survey"),
        (lambda: survey.randomize(DRIFT[0]), "table must be a list of tables, one per round"),
        (lambda: survey.randomize(DRIFT * 2), "table must have at most rounds=4 tables, not 6"),
        (
            lambda: survey.randomize_one({"smokes": "no", "age": 30}),
            "survey with rounds asks again",
        ),
        (lambda: once.client(tmp_path / "c"), "asks once"),
        (lambda: found.difference(0, 0), r"use attribute\(name\).difference"),
        (lambda: found.attribute("sex"), "attribute must be one of 'smokes', 'age'"),
        (lambda: found.attribute("age").attribute("age"), "rounds are of one attribute"),
    ]
    for wrong, match in cases:
        with pytest.raises((ValueError, TypeError, KeyError), match=match):
            wrong()
    assert survey.randomize([]) == [] and survey.tally([], round=3).users == 0
    short = {"attributes": ATTRIBUTES, "epsilon": 4.0, "rounds": 4, "changes": 1}
    assert Survey.from_spec(short) == survey == pickle.loads(pickle.dumps(survey))
    assert Survey.from_spec(short | {"protocol": "Steps"}) == survey
    with pytest.raises(ValueError, match="protocol must be one of Steps, Once, not 'GRR'"):
        Survey.from_spec(short | {"protocol": "GRR"})


def test_devices_of_histories(tmp_path: Path) -> None:
    """Check the reports of devices: bytes that are counted, or None without a charge."""
    survey = Survey(ATTRIBUTES, epsilon=4.0, rounds=4, changes=1)
    answers, silent, sent = {"smokes": "no", "age": 30}, 0, 0
    for i in range(12):
        device = survey.client(tmp_path / f"{i}", limit=4.0, first_round=1, restorable=False)
        with pytest.raises(ValueError, match="round must be given"):
            device.report(answers)
        with pytest.raises(ValueError, match="before the first round of the users, which is 1"):
            device.report(answers, round=0)
        spent = 0.0
        for r in range(1, 4):
            report = device.report(answers, round=r)
            assert device.report(answers | {"age": 41}, round=r) == report
            silent, sent = silent + (report is None), sent + (report is not None)
            if report is not None:
                spent = 4.0
                assert survey.tally([report], round=r).users == 1
            assert device.spent == spent
        with pytest.raises(ValueError, match="restorable=True is not the choice"):
            survey.client(tmp_path / f"{i}")
    assert silent > 0 and sent > 0


def test_large_budgets_of_histories_warn() -> None:
    with pytest.warns(
        UserWarning, match=r"reports of a user may be e\^12 times likelier for one h"
    ):
        Survey({"a": [1, 2]}, 3.0, rounds=8, protocol=Once, window=2)


def test_text_is_not_a_number() -> None:
    for declared, given in (("18", 18), (18, "18"), (True, "True")):
        survey = Survey({"a": [declared, "other"]}, epsilon=1.0)
        with pytest.raises(ValueError, match=f"{given!r} is not {declared!r}: one of them is text"):
            survey.encode({"a": [given]})
