"""Tests of the command line: every command, all kinds of files, refused input, remaining files."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import multi_freq_ldpy
from multi_freq_ldpy import GRR, LGRR, OUE, RSFD, SMP, SPL, Steps, Survey, datasets, registry
from multi_freq_ldpy.cli import choosing, files
from multi_freq_ldpy.cli.app import app
from multi_freq_ldpy.files import atomic
from multi_freq_ldpy.files.atomic import open_atomic
from multi_freq_ldpy.protocol import budgets_of

from .cases import HIDDEN

COMMANDS = [
    "demo",
    "try",
    "survey",
    "protocols",
    "recommend",
    "compare",
    "randomize",
    "tally",
    "estimate",
    "warm",
    "bench",
    "check",
]


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output and (
        code == 0 or result.exception is None or isinstance(result.exception, SystemExit)
    )
    return result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with a survey, and 3000 records as CSV and as Parquet."""
    people = datasets.population(3000, rng=1)
    survey = Survey(
        {name: datasets.CATEGORIES[name] for name in ("smokes", "age", "region")}, epsilon=4.0
    )
    survey.save(tmp_path / "survey.json")
    lines = [
        ",".join(people),
        *(",".join(map(str, row)) for row in zip(*people.values(), strict=True)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    return tmp_path


def test_every_command_has_help() -> None:
    listed = run("--help")
    for name in COMMANDS:
        assert name in listed and "Usage" in run(name, "--help")
    everyday, maintenance = listed.split("Everyday")[1].split("Maintenance")
    for name in COMMANDS:
        assert name in (maintenance if name in ("warm", "bench", "check") else everyday)


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_from_a_table_to_estimates(data: str, kind: str, folder: Path) -> None:
    """Check that all kinds of files give the result of the package for the same seed."""
    survey, reports = Survey.load(folder / "survey.json"), folder / f"reports{kind}"
    assert "3,000 reports" in run(
        "randomize", folder / "survey.json", folder / data, "-o", reports, "--seed", 7
    )
    expected = survey.tally(
        survey.randomize(pa.parquet.read_table(folder / "people.parquet"), rng=7)
    )
    run("tally", folder / "survey.json", reports, "-o", folder / "tally")
    assert survey.unpack((folder / "tally").read_bytes()) == expected
    (folder / "tally").write_bytes(expected.to_bytes())
    assert json.loads(run("estimate", folder / "survey.json", folder / "tally", "--json"))[
        "value"
    ], "a tally written by the package itself is read"
    machine = json.loads(
        run("tally", folder / "survey.json", reports, "-o", folder / "tally", "--force", "--json")
    )
    assert machine == {"reports": 3000, "invalid": 0, "output": str(folder / "tally")}
    for source in (reports, folder / "tally"):
        found = json.loads(run("estimate", folder / "survey.json", source, "--json"))
        assert found["frequency"] == [
            f for each in survey.estimate(expected) for f in each.frequencies
        ]
        assert found["attribute"][:2] == ["smokes"] * 2 and len(found["value"]) == 2 + 74 + 12
    assert (
        json.loads(
            run(
                "tally",
                folder / "survey.json",
                reports,
                folder / "tally",
                "-o",
                folder / "t2",
                "--json",
            )
        )["reports"]
        == 6000
    )
    (folder / "t2").unlink()
    both = json.loads(run("estimate", folder / "survey.json", reports, folder / "tally", "--json"))
    assert both["frequency"] == pytest.approx(
        [f for each in survey.estimate(expected + expected) for f in each.frequencies]
    )
    text = run(
        "estimate",
        folder / "survey.json",
        folder / "tally",
        "--csv",
        folder / "e.csv",
        "--plot",
        folder / "e.png",
        "--method",
        "norm",
    )
    assert "smokes" in text and "coast" in text
    assert (folder / "e.csv").read_text().startswith("attribute,value,frequency\nsmokes,yes,0.")
    assert (folder / "e.png").read_bytes()[:4] == b"\x89PNG"
    assert {each.name for each in folder.iterdir()} == {
        "survey.json",
        "people.csv",
        "people.parquet",
        reports.name,
        "tally",
        "e.csv",
        "e.png",
    }


def test_nothing_is_overwritten(folder: Path) -> None:
    for name in ("reports.csv", "tally", "e.csv", "e.png", "e.html"):
        (folder / name).write_text("precious")
    calls: list[tuple[Any, ...]] = [
        ("randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "reports.csv"),
        ("estimate", folder / "survey.json", folder / "people.csv", "--csv", folder / "e.csv"),
        ("estimate", folder / "survey.json", folder / "people.csv", "--plot", folder / "e.png"),
        ("compare", folder / "people.csv", "--column", "age", "--png", folder / "e.png"),
        ("compare", folder / "people.csv", "--column", "age", "--html", folder / "e.html"),
    ]
    for call in calls:
        assert "exists: --force overwrites it" in run(*call, code=2)
    assert all(
        (folder / name).read_text() == "precious"
        for name in ("reports.csv", "tally", "e.csv", "e.png", "e.html")
    )
    run(*calls[0], "--force")
    assert (folder / "reports.csv").read_text().startswith("report\n")
    assert "exists" in run(
        "tally", folder / "survey.json", folder / "reports.csv", "-o", folder / "tally", code=2
    )


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("way", ["without a name", "with a name", "without hard links"])
@pytest.mark.parametrize("last", [False, True])
def test_a_file_that_appears_meanwhile_is_kept(
    last: bool,
    way: str,
    force: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Let another process write a file of the same name, while ours is written or after the check.

    After the check only the system call that gives the name can refuse.
    """
    path = tmp_path / "result"
    if way != "without a name":
        monkeypatch.delattr(os, "O_TMPFILE")
    if way == "without hard links":
        monkeypatch.setattr(os, "link", lambda *_, **__: os.stat(tmp_path / "no hard links"))

    def write() -> None:
        with open_atomic(path, force) as file:
            file.write(b"ours")
            path.write_bytes(b"precious")
            if last:
                monkeypatch.setattr(atomic, "require_writable", lambda *_: None)

    if force:
        write()
    else:
        with pytest.raises(FileExistsError, match="result exists: only force=True"):
            write()
    assert path.read_bytes() == (b"ours" if force else b"precious")
    assert os.listdir(tmp_path) == ["result"], "no other file remains"


@pytest.mark.parametrize("way", ["without a name", "with a name", "without hard links"])
def test_a_file_appears_whole(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result"
    if way != "without a name":
        monkeypatch.delattr(os, "O_TMPFILE")
    if way == "without hard links":
        monkeypatch.setattr(os, "link", lambda *_, **__: os.stat(tmp_path / "no hard links"))
    with open_atomic(path, False) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["result"], "no other file remains"
    assert path.stat().st_mode & 0o777 == 0o666 & ~atomic._get_umask()


@pytest.mark.process
def test_the_version_and_the_module() -> None:
    said = run("--version")
    assert said == f"multi-freq-ldpy {multi_freq_ldpy.__version__}\n"
    command = [sys.executable, "-m", "multi_freq_ldpy", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == said


def test_parquet_files_of_others_are_read(folder: Path) -> None:
    """Read files of pyarrow and polars, which have no survey metadata and any type of bytes."""
    survey = Survey.load(folder / "survey.json")
    own = survey.randomize(pq.read_table(folder / "people.parquet"), rng=1)
    expected = survey.tally(own)
    plain = own.replace_schema_metadata(None)
    for i, kind in enumerate((pa.binary(survey.solution.report_bytes), pa.binary(), "polars")):
        path = folder / f"{i}.parquet"
        if kind == "polars":
            pl.from_arrow(plain).write_parquet(path)
        else:
            pq.write_table(plain.cast(pa.schema([("report", kind)])), path)
        run("tally", folder / "survey.json", path, "-o", folder / f"{i}.tally")
        assert survey.unpack((folder / f"{i}.tally").read_bytes()) == expected


@pytest.mark.parametrize("name", ["spark-4.3.0.parquet", "duckdb-2.0.0.parquet"])
def test_parquet_files_of_engines_are_read(name: str, tmp_path: Path) -> None:
    """Read files of Spark and DuckDB with the answers and reports of the same 100 users."""
    file = Path(__file__).parent / "engines" / name
    survey = Survey({"smokes": ["yes", "no"], "age": ["young", "old", "older"]}, epsilon=2.0)
    survey.save(tmp_path / "survey.json")
    people = {
        "smokes": ["no", "yes", "no", "no"] * 25,
        "age": ["young", "old", "older", "young"] * 25,
    }
    expected = survey.tally(survey.randomize(people, rng=1))
    run("tally", tmp_path / "survey.json", file, "-o", tmp_path / "tally")
    run("randomize", tmp_path / "survey.json", file, "-o", tmp_path / "made.parquet", "--seed", 1)
    for counted in (
        survey.unpack((tmp_path / "tally").read_bytes()),
        survey.tally(pq.read_table(file)),
        survey.tally(pq.read_table(tmp_path / "made.parquet")),
    ):
        assert counted == expected


def test_two_threads_that_overwrite_one_file(tmp_path: Path) -> None:
    """Check that every write succeeds, that the file is complete, and that other files are kept."""
    path = tmp_path / ("long" * 60)
    (tmp_path / f"{path.name}.{os.getpid()}.part"[:255]).write_text("mine")

    def write(number: int) -> None:
        with open_atomic(path, True) as file:
            file.write(bytes([number]) * 1000)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(120)))
    assert len(set(path.read_bytes())) == 1 and len(path.read_bytes()) == 1000
    assert len(os.listdir(tmp_path)) == 2


def test_a_file_given_twice_is_refused(folder: Path) -> None:
    """Refuse a file given twice: by the same name, by another name, and as a copy."""
    survey, reports = folder / "survey.json", folder / "reports.csv"
    run("randomize", survey, folder / "people.csv", "-o", reports)
    run("tally", survey, reports, "-o", folder / "one.tally")
    (folder / "link.csv").symlink_to(reports)
    (folder / "hard.csv").hardlink_to(reports)
    (folder / "copy.csv").write_bytes(reports.read_bytes())
    (folder / "copy.tally").write_bytes((folder / "one.tally").read_bytes())
    for one, other, message in (
        ("reports.csv", "reports.csv", "reports.csv is given twice"),
        ("reports.csv", "link.csv", "link.csv is given twice"),
        ("hard.csv", "reports.csv", "reports.csv is given twice"),
        ("reports.csv", "copy.csv", "copy.csv is a copy of"),
        ("one.tally", "copy.tally", "copy.tally is a copy of"),
    ):
        for command in (("tally", "-o", folder / "all.tally"), ("estimate",)):
            said = run(*command, survey, folder / one, folder / other, code=2)
            assert message in said and "its users would count twice" in said, said
    assert not (folder / "all.tally").exists()
    run("randomize", survey, folder / "people.csv", "-o", folder / "others.csv")
    said = run("tally", survey, reports, folder / "others.csv", "-o", folder / "all.tally")
    assert said.startswith("6,000 reports counted")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_messages_that_are_no_reports_can_be_left_out(folder: Path, suffix: str) -> None:
    survey, reports = Survey.load(folder / "survey.json"), folder / f"reports{suffix}"
    run("randomize", folder / "survey.json", folder / "people.csv", "-o", reports)
    size = survey.solution.report_bytes
    wrong, many = [b"", b"x" * (size + 1), b"\xff" * size], 4 if suffix == ".parquet" else 6
    if suffix == ".csv":
        *others, last = reports.read_bytes().splitlines()
        bad = [b"hello", b'"', b"a,b", b"\xff\0", *(each.hex().encode() for each in wrong[1:])]
        reports.write_bytes(b"\n".join([*others, *bad, b"", last, b""]))
    else:
        table = pq.read_table(reports)
        table = table.cast(pa.schema([("report", pa.binary())], table.schema.metadata))
        more = pa.table({"report": [*wrong, None]}, table.schema)
        pq.write_table(pa.concat_tables([table, more]), reports)
    said = run("tally", folder / "survey.json", reports, "-o", folder / "all.tally", code=2)
    assert ("row 3000" if suffix == ".parquet" else "reports.csv, line 300") in said, said
    said = run(
        *("tally", folder / "survey.json", reports, "-o", folder / "all.tally", "--json"),
        *("--invalid", "skip"),
    )
    assert json.loads(said) == {
        "reports": 3000,
        "invalid": many,
        "output": str(folder / "all.tally"),
    }
    said = run("estimate", folder / "survey.json", reports, "--invalid", "skip")
    assert f"{many} invalid reports left out" in said, said
    said = run("estimate", folder / "survey.json", reports, "--invalid", "no", code=2)
    assert "--invalid must be one of" in said, said


def bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    made: dict[str, tuple[Any, str]] = {
        "nothing.csv": (b"", "is empty"),
        "only_header.txt": (b"\n\n", "is empty"),
        "column.csv": (b"smokes,age\nyes,30\n", "has no column 'region', only"),
        "ragged.csv": (
            b"smokes,age,region\nyes,30,coast\nyes,30\n",
            "line 3: 2 fields where the header has 3",
        ),
        "encoding.csv": (
            "smokes,age,region\nyes,30,küste\n".encode("latin-1"),
            "line 2 is not UTF-8",
        ),
        "binary.csv": (b"smokes,age,region\n\0\0\0\n", "line 2 is not text"),
        "quotes.csv": (b'smokes,age,region\n"yes,30,coast\n', "line 2: unexpected end of data"),
        "twice.csv": (b"smokes,age,age,region\nyes,1,2,coast\n", "two columns named 'age'"),
        "label.csv": (
            b"smokes,age,region\nyes,30,coast\nyes,30,moon\n",
            "column 'region', row 1 has the label 'moon'",
        ),
        "missing.csv": (b"smokes,age,region\nyes,,coast\n", "column 'age', row 0 is missing"),
        "damaged.parquet": (b"PAR1 nonsense", "cannot be read as a Parquet file"),
    }
    for name, (content, _) in made.items():
        (folder / name).write_bytes(content)
    found = {name: (folder / name, message) for name, (_, message) in made.items()}
    return found | {
        "none": (folder / "none.csv", "does not exist"),
        "folder": (folder, "is a directory"),
    }


def test_bad_files_are_refused_in_one_sentence(folder: Path) -> None:
    before = {*folder.iterdir()}
    cases = bad_files(folder)
    kept = {*folder.iterdir()}
    for path, message in cases.values():
        said = run(
            "randomize", folder / "survey.json", path, "-o", folder / "reports.parquet", code=2
        )
        assert message in said and said.startswith("error: ") and said.count("\n") == 1, said
    assert {*folder.iterdir()} == kept > before, "no file was written"
    run("randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.csv")
    run("randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.parquet")
    Survey({"a": list(range(99))}, epsilon=1.0).save(folder / "other.json")
    (folder / "broken.json").write_text("{")
    (folder / "hex.csv").write_text("report\nxyz\n")
    for arguments, message in (
        ((folder / "other.json", folder / "r.csv"), "row 0: a report of this survey has"),
        ((folder / "other.json", folder / "r.parquet"), "reports are of another survey"),
        ((folder / "survey.json", folder / "people.csv"), "no column 'report'"),
        ((folder / "survey.json", folder / "hex.csv"), "row 0: 'xyz' is not a report"),
        ((folder / "broken.json", folder / "r.csv"), "is not a survey"),
        ((folder / "r.csv", folder / "r.csv"), "is not a survey"),
        ((folder / "none.json", folder / "r.csv"), "does not exist"),
    ):
        said = run("tally", *arguments, "-o", folder / "t", code=2)
        assert message in said and said.count("\n") == 1, said
    assert not (folder / "t").exists()
    assert "must end in .parquet or .csv" in run(
        "randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.txt", code=2
    )
    assert "is not a directory" in run(
        "randomize",
        folder / "survey.json",
        folder / "people.csv",
        "-o",
        folder / "no" / "r.csv",
        code=2,
    )


def test_what_another_survey_collected_is_refused(folder: Path) -> None:
    """Refuse files of a survey with another budget, other names or another order of categories.

    Their numbers would have another meaning.
    """
    run("randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.parquet")
    run("tally", folder / "survey.json", folder / "r.parquet", "-o", folder / "t")
    declared = {name: datasets.CATEGORIES[name] for name in ("smokes", "age", "region")}
    for i, (attributes, epsilon) in enumerate(
        (
            (declared, 1.0),
            (declared | {"smokes": ["no", "yes"]}, 4.0),
            (
                {"drinks" if name == "smokes" else name: each for name, each in declared.items()},
                4.0,
            ),
        )
    ):
        other = folder / f"other{i}.json"
        Survey(attributes, epsilon=epsilon).save(other)
        for source in ("r.parquet", "t"):
            said = run("estimate", other, folder / source, code=2)
            assert "of another survey" in said and said.count("\n") == 1, said
    with pytest.raises(ValueError, match="not a tally of a survey"):
        Survey.load(folder / "survey.json").unpack(b"MFLT")


def test_labels_are_shown_as_they_are(folder: Path) -> None:
    labels = ["[/]", "[red]", ":smile:"]
    Survey({"a": labels}, epsilon=9.0).save(folder / "odd.json")
    (folder / "odd.csv").write_text("a\n" + "[/]\n[red]\n:smile:\n" * 100)
    run("randomize", folder / "odd.json", folder / "odd.csv", "-o", folder / "odd.parquet")
    assert all(
        label in run("estimate", folder / "odd.json", folder / "odd.parquet") for label in labels
    )


def test_fields_and_rows_are_read_as_they_are(folder: Path) -> None:
    Survey({"a": ["x\n\ny", "x\ny"]}, epsilon=10.0).save(folder / "lines.json")
    (folder / "lines.csv").write_text('\na\n"x\n\ny"\n\n' + '"x\ny"\n' * 3)
    lines = folder / "lines.parquet"
    run("randomize", folder / "lines.json", folder / "lines.csv", "-o", lines, "--seed", 1)
    found = json.loads(run("estimate", folder / "lines.json", folder / "lines.parquet", "--json"))
    assert found["frequency"] == pytest.approx([0.25, 0.75], abs=1e-4)
    (folder / "ragged.csv").write_text("smokes,age,region\n\n\nyes,30,coast\n\nyes\n")
    assert "line 6: 1 fields" in run(
        "randomize", folder / "survey.json", folder / "ragged.csv", "-o", folder / "r.csv", code=2
    )
    (folder / "header.csv").write_text("smokes,age,region\n")
    assert "no rows" in run(
        "randomize", folder / "survey.json", folder / "header.csv", "-o", folder / "r.csv", code=2
    )
    (folder / "none.csv").write_text("report\n")
    assert "no reports" in run("estimate", folder / "survey.json", folder / "none.csv", code=2)
    assert not (folder / "r.csv").exists()
    survey = Survey.load(folder / "survey.json")
    reports = [each.hex() for each in survey.randomize(datasets.population(50, rng=1))["report"]]
    (folder / "few.csv").write_text(
        "report\n" + f"{reports[0]}\n" * 40_000 + "ff" * survey.solution.report_bytes + "\n"
    )
    assert "reports[40000]" in run(
        "tally", folder / "survey.json", folder / "few.csv", "-o", folder / "t", code=2
    )
    (folder / "one.csv").write_text(f"report\n{reports[0]}\n")
    assert (
        None
        in json.loads(run("estimate", folder / "survey.json", folder / "one.csv", "--json"))[
            "frequency"
        ]
    ), "JSON has null in place of NaN"
    pq.write_table(pa.table({"v": [1.0, 2.0, float("nan")] * 50}), folder / "nan.parquet")
    assert "GRR" in run(
        "compare",
        folder / "nan.parquet",
        "--column",
        "v",
        "--protocol",
        "GRR",
        "--epsilon",
        1,
        "--repeats",
        1,
    )
    held, left_out = choosing._count_values(folder / "nan.parquet", ["v"])
    assert left_out
    assert [each.tolist() for each in held] == [[50, 50]]


def test_all_outputs_or_none(folder: Path) -> None:
    run("randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.parquet")
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    estimate = ("estimate", folder / "survey.json", folder / "r.parquet")
    for call, message in (
        (
            (*estimate, "--csv", folder / "e.csv", "--plot", folder / "no" / "e.png"),
            "not a directory",
        ),
        (
            (*estimate, "--csv", folder / "e.svg", "--plot", folder / "e.svg"),
            "given for two outputs",
        ),
        ((*estimate, "--csv", folder / "e.csv", "--plot", folder / "e.xyz"), "--plot must end in"),
        (
            (
                "compare",
                folder / "people.csv",
                "--column",
                "age",
                "--png",
                folder / "e.png",
                "--html",
                folder,
            ),
            "is a directory",
        ),
        (
            (
                "randomize",
                folder / "survey.json",
                folder / "people.csv",
                "-o",
                folder / "people.csv",
                "--force",
            ),
            "is also an input",
        ),
        (
            (
                "tally",
                folder / "survey.json",
                folder / "r.parquet",
                "-o",
                folder / "survey.json",
                "--force",
            ),
            "is also an input",
        ),
    ):
        assert message in run(*call, code=2)
    assert before == {each.name: each.read_bytes() for each in folder.iterdir()}


def test_files_without_permission_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # os.access is replaced because an administrator may read every file
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "people.csv")
    assert "no permission" in run(
        "randomize", folder / "survey.json", folder / "people.csv", "-o", folder / "r.csv", code=2
    )


def test_comparisons(folder: Path) -> None:
    text = run(
        "compare",
        folder / "people.csv",
        "--column",
        "age",
        "--repeats",
        3,
        "--seed",
        1,
        "--html",
        folder / "c.html",
        "--png",
        folder / "c.png",
        "--csv",
        folder / "c.csv",
    )
    rows = (folder / "c.csv").read_text().splitlines()
    assert rows[0] == "protocol,epsilon,repeat,mse,theory" and len(rows) == 1 + 10 * 4 * 3
    assert "mse of raw estimates" in text and "GRR" in text and "least expected error" in text
    page = (folder / "c.html").read_text()
    assert (
        page.startswith("<!doctype html>")
        and "<svg" in page
        and "age of people.csv, 3,000 users" in page
        and "http-equiv" not in page
    )
    for entry in ("3,000", "73", "<td>3</td>", "<td>1</td>", metadata.version("multi-freq-ldpy")):
        assert entry in page.split("Parameters of the comparison")[1]
    assert "command" in page.split("Parameters of the comparison")[1]
    cells = json.loads(
        run(
            "compare",
            folder / "people.parquet",
            "--column",
            "age",
            "--column",
            "sex",
            "--protocol",
            "GRR",
            "--epsilon",
            1,
            "--json",
        )
    )
    assert [cell["protocol"] for cell in cells] == ["GRR"] and cells[0]["mse"] > 0
    pairs = ("--eps-perm", 2, "--eps-1", 1, "--eps-perm", 4, "--eps-1", 1, "--repeats", 2, "--json")
    cells = json.loads(run("compare", folder / "people.csv", "--column", "region", *pairs))
    assert {(cell["eps_perm"], cell["epsilon"]) for cell in cells} == {(2, 1), (4, 1)}
    assert {cell["protocol"] for cell in cells} == {
        name for name, cls in registry.PROTOCOLS.items() if len(budgets_of(cls)) == 2
    }
    hidden = json.loads(
        run(
            "compare",
            folder / "people.csv",
            "--column",
            "sex",
            "--column",
            "smokes",
            "--solution",
            "RSFD",
            "--repeats",
            1,
            "--json",
        )
    )
    assert {cell["protocol"] for cell in hidden} == {cls.__name__ for cls in HIDDEN}
    both = json.loads(
        run("compare", folder / "people.csv", "--column", "region", "--epsilon", 1, *pairs)
    )
    assert {cell["protocol"] for cell in both} == set(registry.BY_BUDGETS)
    for arguments, message in (
        (
            ("--column", "age", "--eps-perm", 2),
            "give one --eps-1 per --eps-perm, not 0 for 1",
        ),
        (("--column", "age", "--eps-perm", 1, "--eps-1", 2), "with budget (1.0, 2.0): eps_1"),
        (("--column", "none"), "has no column 'none'"),
        (("--column", "age", "--column", "age"), "different columns"),
        (("--column", "age", "--protocol", "XYZ"), "--protocol must be one of"),
        (("--column", "age", "--epsilon", 0), "--epsilon must be a finite number"),
        (("--column", "age", "--metric", "rmse"), "metric must be one of"),
        (("--column", "age", "--solution", "ABC", "--column", "sex"), "--solution must be one of"),
    ):
        assert message in run("compare", folder / "people.csv", *arguments, code=2)


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_surveys_from_files(data: str, folder: Path) -> None:
    """Check that categories are the values found, numbers stay numbers, and the output says so."""
    columns = ("--column", "age", "--column", "smokes")
    text = run("survey", folder / data, *columns, "--epsilon", 2, "-o", folder / "made.json")
    people = pq.read_table(folder / "people.parquet", columns=["age", "smokes"])
    assert Survey.load(folder / "made.json") == Survey.from_table(people, 2.0)
    assert "age (73 categories), smokes (2 categories)" in text and "values found in" in text
    machine = ("--eps-perm", 4, "--eps-1", 2, "--protocol", "LOSUE", "--solution", "SPL", "--json")
    said = json.loads(run("survey", folder / data, *columns, *machine, "-o", folder / "time.json"))
    assert said == {
        "attributes": {"age": 73, "smokes": 2},
        "looked": True,
        "output": str(folder / "time.json"),
    }
    (folder / "gaps.csv").write_text("a,b\nx,1\n,2\ny,\n,3\n")
    gaps = ("survey", folder / "gaps.csv", "--column", "a", "--column", "b", "--epsilon", 1)
    said = run(*gaps, "-o", folder / "g.json")
    assert "3 rows" in said and "--missing names a category" in said
    assert Survey.load(folder / "g.json").attributes == {"a": ("x", "y"), "b": (1, 2, 3)}
    run(*gaps, "--missing", "none", "-o", folder / "h.json")
    run("randomize", folder / "h.json", folder / "gaps.csv", "-o", folder / "h.parquet")
    made = Survey.load(folder / "h.json")
    assert made.attributes == {"a": ("x", "y", "none"), "b": (1, 2, 3, "none")}
    made = Survey.load(folder / "time.json")
    assert made.longitudinal and type(made.solution) is SPL
    for arguments, message in (
        ((), f"--column must name at least one column of {folder / data}"),
        (("--column", "none", "--epsilon", 1), "has no column 'none'"),
        (columns, "give --epsilon, or --eps-perm and --eps-1"),
        ((*columns, "--epsilon", -1), "epsilon must be"),
        ((*columns, "--epsilon", 0), "epsilon must be"),
        ((*columns, "--epsilon", 1, "--protocol", "XYZ"), "--protocol must be one of"),
        ((*columns, "--epsilon", 1, "--solution", "XYZ"), "--solution must be one of"),
        ((*columns, "--epsilon", 1, "--force", "-o", folder / data), "is also an input"),
    ):
        assert message in run("survey", folder / data, "-o", folder / "x.json", *arguments, code=2)
    assert not (folder / "x.json").exists()


def test_surveys_written_by_hand(folder: Path) -> None:
    """Check that the short form gives the survey that Python makes of the same arguments."""
    short = {"attributes": {"smokes": ["yes", "no"], "age": datasets.AGES}, "epsilon": 2}
    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"protocol": "OUE"}, {"protocol": OUE}),
        ({"protocol": ["GRR", "OUE"]}, {"protocol": [GRR, OUE]}),
        (
            {"solution": "RSFD", "protocol": "GRR", "fake": "random"},
            {"solution": RSFD, "protocol": GRR, "fake": "random"},
        ),
    ]
    for more, options in ways:
        (folder / "short.json").write_text(json.dumps(short | more))
        expected = Survey(short["attributes"], 2.0, **options)  # type: ignore[arg-type]
        assert Survey.load(folder / "short.json") == expected
        run("survey", folder / "short.json", "-o", folder / "full.json", "--force")
        assert json.loads((folder / "full.json").read_text()) == expected.to_spec()
    for option in (("--solution", "SPL"), ("--epsilon", 0), ("--missing", "x")):
        said = run("survey", folder / "short.json", *option, "-o", folder / "x.json", code=2)
        assert "short.json is a survey already" in said
    reports = folder / "reports.parquet"
    run("randomize", folder / "short.json", folder / "people.csv", "-o", reports)
    assert "smokes" in run("estimate", folder / "full.json", reports)
    for wrong, message in (
        ({"epsilon": None}, "budget"),
        ({"epsilon": "much"}, "epsilon must be a real number"),
        ({"protocol": "XYZ"}, "protocol must be one of GRR"),
        ({"solution": 3}, "solution must be one of SPL"),
        ({"attributes": {}}, "attributes must map names to categories"),
        ({"attributes": {"a": "yes"}}, "categories of 'a' must be a list"),
        ({"colour": "red"}, "colour"),
    ):
        (folder / "short.json").write_text(json.dumps(short | wrong))
        said = run("survey", folder / "short.json", "-o", folder / "x.json", code=2)
        assert message in said and "short.json is not a survey" in said
    (folder / "short.json").write_text(json.dumps({"attributes": short["attributes"]}))
    assert "must have a budget" in run(
        "survey", folder / "short.json", "-o", folder / "x.json", code=2
    )


def test_trying_a_file_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a chart of a file with one command, from suitable columns and rows without gaps."""
    monkeypatch.chdir(folder)
    lines = (folder / "people.csv").read_text().splitlines()
    numbered = [f"{line},{'id' if i == 0 else i}" for i, line in enumerate(lines)]
    numbered[5] = "," + numbered[5].split(",", 1)[1]
    (folder / "people.csv").write_text("\n".join(numbered) + "\n")
    text = run("try", "people.csv", "--seed", 1)
    assert "2,999 rows of people.csv answered" in text and "1 rows with a missing value" in text
    assert "sex, age, region" in text and ", id" not in text
    assert (folder / "people-estimates.png").read_bytes().startswith(b"\x89PNG")
    chosen = ("--column", "age", "--epsilon", 4, "--plot", "age.svg", "--seed", 1, "--json")
    found = json.loads(run("try", "people.parquet", *chosen))
    people = pq.read_table(folder / "people.parquet", columns=["age"])
    survey = Survey.from_table(people, 4.0)
    held = np.bincount(survey.encode(people)[:, 0], minlength=73)
    expected = survey.solution.estimate(survey.solution.simulate([held], 1))[0]
    assert found["frequency"] == expected.frequencies.tolist()
    assert found["value"] == list(survey.attributes["age"])
    assert ("note" in found) == any(found["outside"]) and any(found["outside"])
    square = [",".join(f"{c}{i % 5}" for c in "abcde") for i in range(20)]
    (folder / "square.csv").write_text("a,b,c,d,e\n" + "\n".join(square) + "\n")
    assert "20 rows of square.csv" in run("try", "square.csv")
    odd = {"when": pa.array([0, 1, 2], pa.date32()), "": ["x", "y", "x"], "sex": ["f", "m", "f"]}
    pq.write_table(pa.table(odd), folder / "odd.parquet")
    assert "were taken: sex." in run("try", "odd.parquet")
    wild = "\n".join(f"\x1b[31m{i}" for i in range(150))
    (folder / "wild.csv").write_text(f"a\n{wild}\n")
    said = run("try", "wild.csv", "--column", "a")
    assert "\x1b" not in said and "… and 50 less frequent values" in said
    for arguments, message in (
        (("people.csv",), "people-estimates.png exists"),
        (("people.csv", "--plot", "x.txt"), "--plot must end in .png, .svg or .pdf, not 'x.txt'"),
        (("people.csv", "--column", "id2", "--force"), "people.csv has no column 'id2'"),
        (("ids.csv", "--plot", "x.png"), "ids.csv has no column with 2 to 100 values"),
    ):
        (folder / "ids.csv").write_text("id\n" + "\n".join(map(str, range(300))) + "\n")
        assert message in run("try", *arguments, code=2)


def test_a_large_budget_warns(folder: Path) -> None:
    """Check that a budget of 11 warns, on the command line and in Python, and 10 does not."""
    run("survey", folder / "people.csv", "--column", "sex", "--epsilon", 10, "-o", folder / "a")
    said = run(
        "survey", folder / "people.csv", "--column", "sex", "--epsilon", 11, "-o", folder / "b"
    )
    assert "warning: a budget of 11 protects little" in said
    with pytest.warns(UserWarning, match="a budget of 11 protects little"):
        Survey.load(folder / "b")


@pytest.mark.slow
def test_small_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "smokes" in run("demo", "--users", 2000, "--seed", 1)
    assert json.loads(run("protocols", "--json"))["protocol"] == [
        *registry.PROTOCOLS,
        *registry.HISTORIES,
    ]
    assert "local hashing" in run("protocols")
    assert (
        json.loads(run("recommend", 100, "--epsilon", 1, "--json"))["protocol"][0]
        in registry.PROTOCOLS
    )
    assert "LGRR" in run("recommend", 10, "--eps-perm", 2, "--eps-1", 1)
    ranked = json.loads(
        run("recommend", 2, "--epsilon", 1, "--rounds", 64, "--changes", 3, "--json")
    )
    assert ranked["protocol"] == ["Steps", "Once", "Tree", "DDRM"]
    assert ranked["history"] == pytest.approx([1.0] * 4)
    for wrong in (
        ("recommend", 10),
        ("recommend", 10, "--epsilon", 1, "--eps-1", 1),
        ("recommend", 1, "--epsilon", 1),
        ("recommend", 2, "--epsilon", 1, "--rounds", 8),
        ("recommend", 2, "--epsilon", 1, "--changes", 1),
        ("recommend", 2, "--epsilon", 1, "--rounds", 1, "--changes", 1),
        ("recommend", 2, "--eps-perm", 2, "--eps-1", 1, "--rounds", 8, "--changes", 1),
    ):
        assert run(*wrong, code=2).startswith("error: ")
    run("recommend", "many", code=2)
    run("nonsense", code=2)
    run("bench", "--users", 0, code=2)
    monkeypatch.setattr(datasets, "population", lambda *_: bytearray(2**62))
    assert "more memory" in run("demo", code=2)
    monkeypatch.undo()
    assert set(json.loads(run("bench", "--users", 2000, "--json"))["protocol"]) == set(
        registry.PROTOCOLS
    )
    assert "are ready" in run("warm") and "SMP" in json.loads(run("warm", "--json"))["ready"]
    assert json.loads(run("demo", "--users", 2000, "--json"))["attribute"][:2] == ["smokes"] * 2
    assert files.ROWS < 40_000 and run("demo", "--users", 40_000, "--seed", 1) == run(
        "demo", "--users", 40_000, "--seed", 1
    )
    several = SMP(Steps, [2, 2], epsilon=1.0, rounds=2, changes=1)
    for mechanism in (GRR(3, 1.0), SMP(OUE, [2, 3], 1.0), Steps(2, 1.0, 4, 1), several):
        (tmp_path / "spec.json").write_text(json.dumps(registry.to_spec(mechanism)))
        assert "all checks hold" in run("check", tmp_path / "spec.json")
        assert json.loads(run("check", tmp_path / "spec.json", "--json")) == {
            "holds": True,
            "subject": repr(mechanism),
        }
    monkeypatch.setattr(GRR, "variance", lambda self, n, f=0.0: np.zeros(np.shape(f)))
    (tmp_path / "spec.json").write_text(json.dumps(registry.to_spec(GRR(3, 1.0))))
    assert "a check does not hold" in run("check", tmp_path / "spec.json", code=1)
    assert json.loads(run("check", tmp_path / "spec.json", "--json", code=1))["holds"] is False
    monkeypatch.undo()
    (tmp_path / "spec.json").write_text(
        '{"version": 1, "protocol": "GRR", "k": 4, "k": 3, "epsilon": 1.0}'
    )
    assert "occurs twice" in run("check", tmp_path / "spec.json", code=2)
    (tmp_path / "spec.json").write_text("[1")
    assert "is not JSON" in run("check", tmp_path / "spec.json", code=2)
    (tmp_path / "spec.json").write_text("{}")
    assert "version" in run("check", tmp_path / "spec.json", code=2)


def test_surveys_over_time_are_not_randomized_here(folder: Path) -> None:
    Survey({"smokes": ["yes", "no"]}, eps_perm=2.0, eps_1=1.0, protocol=LGRR).save(
        folder / "time.json"
    )
    assert "two budgets" in run(
        "randomize", folder / "time.json", folder / "people.csv", "-o", folder / "r.csv", code=2
    )


def test_surveys_with_rounds(folder: Path) -> None:
    """Lead reports of three rounds to estimates, and refuse files of other rounds."""
    people, survey = folder / "people.parquet", folder / "rounds.json"
    asked = ("survey", people, "--column", "smokes", "--epsilon", 4, "-o", survey)
    for wrong, message in (
        (["--rounds", 4], "--rounds needs --changes"),
        (["--rounds", 4, "--changes", 1, "--protocol", "Once"], "Once needs no --changes"),
        (["--rounds", 4, "--changes", 1, "--protocol", "GRR"], "one of Steps, Once, not 'GRR'"),
        (["--changes", 1], "--changes needs --rounds"),
    ):
        assert message in run(*asked, *wrong, code=2) and not survey.exists()
    assert "ε of all 4 rounds together is 4" in run(*asked, "--rounds", 4, "--changes", 1)
    run(*asked, "--rounds", 4, "--protocol", "Once", "--force")
    run(*asked, "--rounds", 4, "--changes", 1, "--force")
    shared = Survey.load(survey)
    assert shared == Survey({"smokes": ["no", "yes"]}, epsilon=4.0, rounds=4, changes=1)
    assert "has rounds" in run("randomize", survey, people, "-o", folder / "r.csv", code=2)
    table = pl.read_parquet(people).to_arrow()
    for r, reports in enumerate(shared.randomize([table] * 3, rng=1)):
        pq.write_table(reports.slice(0, 500), folder / f"{r}a.parquet")
        pq.write_table(reports.slice(500), folder / f"{r}b.parquet")
        for part in "ab":
            name = folder / f"{r}{part}"
            told = run("tally", survey, f"{name}.parquet", "--round", r, "-o", f"{name}.tally")
            assert "reports counted in" in told
    tallies = [folder / f"{r}{part}.tally" for r in range(3) for part in "ba"]
    lines = run("estimate", survey, *tallies, "--csv", folder / "e.csv").splitlines()
    assert lines[0] == "round 2, the last of 3" and "95 % interval" in lines[2]
    assert len((folder / "e.csv").read_text().splitlines()) == 1 + 3 * 2
    found = json.loads(run("estimate", survey, *tallies, "--json", "--plot", folder / "e.png"))
    whole = [
        shared.unpack((folder / f"{r}a.tally").read_bytes())
        + shared.unpack((folder / f"{r}b.tally").read_bytes())
        for r in range(3)
    ]
    assert found["round"] == [0, 0, 1, 1, 2, 2]
    assert found["frequency"] == shared.estimate(whole).to_frame("dict")["frequency"]
    nearest = json.loads(run("estimate", survey, *tallies, "--method", "norm_sub", "--json"))
    assert sum(nearest["frequency"]) == pytest.approx(3.0)
    first, last = folder / "0a.parquet", folder / "2a.tally"
    for command, message in (
        (["tally", survey, first, "-o", folder / "x"], "--round is missing"),
        (["tally", survey, first, "-o", folder / "x", "--round", 4], "--round must be an integer"),
        (["tally", survey, first, "-o", folder / "x", "--round", 1], "of round 0, not of round 1"),
        (["tally", survey, last, "-o", folder / "x", "--round", 1], "different mechanisms"),
        (["tally", folder / "survey.json", first, "-o", folder / "x", "--round", 0], "with rounds"),
        (["estimate", survey, first], "count the reports of each round with tally --round"),
        (["estimate", survey, tallies[0], last], "there is no tally of round 1"),
        (["estimate", folder / "survey.json", last], "another survey"),
    ):
        assert message in run(*command, code=2) and not (folder / "x").exists()


def test_a_killed_run_leaves_nothing(folder: Path) -> None:
    """Kill a run while it writes reports: neither the file nor a part of it remains."""
    with open(folder / "long.csv", "w") as file:
        file.write("smokes,age,region\n")
        for _ in range(400):
            file.write("yes,30,coast\n" * 10_000)
    before = {each.name for each in folder.iterdir()}
    command = [
        sys.executable,
        "-m",
        "multi_freq_ldpy.cli",
        "randomize",
        folder / "survey.json",
        folder / "long.csv",
        "-o",
        folder / "reports.csv",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
            written = [
                Path(f"/proc/{process.pid}/fd/{each.name}")
                for each in Path(f"/proc/{process.pid}/fd").iterdir()
            ]
            if any(
                os.readlink(each).startswith(str(folder))
                and "long.csv" not in os.readlink(each)
                and each.stat().st_size > 10**5
                for each in written
                if each.exists()
            ):
                break
        assert process.poll() is None, "the process ended before it could be killed"
        process.send_signal(signal.SIGKILL)
    assert {each.name for each in folder.iterdir()} == before


MEMORY = """
import resource, sys
import multi_freq_ldpy.cli.app as cli
from multi_freq_ldpy.cli import main
from typer.testing import CliRunner
folder, extra = sys.argv[1:]
def go(*arguments):
    result = CliRunner().invoke(cli.app, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
survey = folder + "/survey.json"
go("randomize", survey, folder + "/people.csv", "-o", folder + "/warm.parquet", "--force")
go("estimate", folder + "/survey.json", folder + "/warm.parquet")
status = dict(line.split(":") for line in open("/proc/self/status"))
used = int(status["VmData"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(extra), used + int(extra)))
go("randomize", survey, folder + "/large.csv", "-o", folder + "/reports.parquet", "--force")
go("estimate", folder + "/survey.json", folder + "/reports.parquet")
print("within the limit")
try:
    bytearray(2 * int(extra))
except MemoryError:
    print("which holds")
"""


@pytest.mark.process
def test_a_file_ten_times_larger_than_memory(folder: Path) -> None:
    """Estimate a file of 320 MB in a process that may allocate 32 MB more."""
    extra, row = 32 * 2**20, b"yes,30,coast," + b"x" * 1000 + b"\n"
    with open(folder / "large.csv", "wb") as file:
        file.write(b"smokes,age,region,ignored\n")
        for _ in range(10 * extra // (len(row) * 2**10) + 1):
            file.write(row * 2**10)
    assert (folder / "large.csv").stat().st_size >= 10 * extra
    command = [sys.executable, "-c", MEMORY, str(folder), str(extra)]
    ran = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"MULTI_FREQ_LDPY_THREADS": "1"}
    )
    assert ran.stdout.split("\n")[:2] == ["within the limit", "which holds"], ran.stderr


def test_without_typer() -> None:
    code = "import sys; sys.modules['typer'] = None; import multi_freq_ldpy.cli as cli; cli.main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "pip install 'multi-freq-ldpy[cli]'" in ran.stderr


def test_rows_are_read_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS", 7)
    monkeypatch.setattr(files, "BATCH", 1)
    rows = [(f"a{i}", "" if i % 5 == 0 else f'"{i}, {i}"', "ü") for i in range(30)]
    (tmp_path / "t.csv").write_text(
        "﻿x,y,z\r\n" + "".join(",".join(row) + "\r\n\r\n" for row in rows)
    )
    parts = list(files.read_tables(tmp_path / "t.csv"))
    assert [len(part["x"]) for part in parts] == [7, 7, 7, 7, 2]
    assert [each for part in parts for each in part["x"]] == [row[0] for row in rows]
    assert [each for part in parts for each in part["y"]] == [
        None if i % 5 == 0 else f"{i}, {i}" for i in range(30)
    ]
    Survey({"x": ["a", "b"]}, epsilon=1.0).save(tmp_path / "survey.json")
    (tmp_path / "bad.csv").write_text("x\n" + "a\n" * 17 + "c\n")
    assert "column 'x', row 17 has" in run(
        "randomize",
        tmp_path / "survey.json",
        tmp_path / "bad.csv",
        "-o",
        tmp_path / "r.csv",
        code=2,
    )
    pq.write_table(pa.table({"x": np.arange(20), "y": ["a"] * 20}), tmp_path / "t.parquet")
    assert [len(part["x"]) for part in files.read_tables(tmp_path / "t.parquet", ["x"])] == [
        7,
        7,
        6,
    ]
