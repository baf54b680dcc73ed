"""Tests of the documentation: code runs and prints the shown output, links and names exist."""

import contextlib
import importlib
import io
import re
import runpy
from pathlib import Path

import pytest
import tables

from multi_freq_ldpy import checks

from . import reference
from .vectors import read

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


EXAMPLES = {
    "class Warner": "own_protocol",
    "class PerAttribute": "own_solution",
    "def norm_cut": "own_postprocessing",
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for the files that a page writes
    names: dict[str, object] = {"__name__": "document"}
    printed = None
    for language, text in BLOCK.findall(path.read_text()):
        if language == "python":
            # Checks need a class that can be pickled, so it is imported from the tested file
            if example := next((name for name in EXAMPLES if name in text), None):
                assert text in (ROOT / "examples" / f"{EXAMPLES[example]}.py").read_text()
                text = f"from {EXAMPLES[example]} import {example.split()[1]}"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)
            printed = out.getvalue()
        else:
            assert printed == text


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_code_fits_the_page(path: Path) -> None:
    """Check that no block of code scrolls sideways on a screen of 1280 pixels."""
    blocks = re.findall(r"^```\w+\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 88] == []


@pytest.mark.slow
def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command on the page of the command line, in its order."""
    testing = pytest.importorskip("typer.testing")
    from multi_freq_ldpy.cli.app import app

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "command_line.md").read_text()
    exec("\n".join(block for language, block in BLOCK.findall(text) if language == "python"), {})
    commands = re.findall(r"^\$ multi-freq-ldpy ([^#\n]*)", text, re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        result = testing.CliRunner().invoke(app, command.split())
        assert result.exit_code == 0, (command, result.output)
    assert {each.name for each in tmp_path.iterdir()} >= {
        "report.html",
        "errors.png",
        "reports.parquet",
        "tally",
        "estimates.csv",
    }


@pytest.mark.parametrize("path", tables.DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_those_of_the_package(path: Path) -> None:
    text = path.read_text()
    assert tables.TABLE.findall(text)
    assert tables.fill(text) == text, "run python docs/tables.py"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", path.read_text()):
        there = path.parent / target if target else path
        assert target.startswith("http") or there.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads
            }, anchor


def test_reference_names_sections_that_exist() -> None:
    """Check that every draw of the reference names its section of the wire format."""
    heads = re.findall(r"^#+ (.*)$", (ROOT / "docs" / "wire.md").read_text(), re.MULTILINE)
    draws = [
        each
        for each in vars(reference).values()
        if getattr(each, "__module__", None) == reference.__name__
    ]
    assert len(draws) > 30
    for draw in draws:
        named = re.match(r"Sections? ([^:.,]+)", draw.__doc__ or "")
        assert named, draw.__name__
        assert set(named[1].split(" and ")) <= set(heads), draw.__name__


def test_worked_examples_agree_with_the_vectors() -> None:
    """Check the key and the permanent answer of the page against the reference and the vectors."""
    blocks = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "wire.md").read_text(), re.DOTALL)
    first, second, third = (
        dict(line.split(maxsplit=1) for line in block.splitlines()) for block in blocks
    )
    fresh, key = bytes.fromhex(first["fresh"]), bytes.fromhex(first["key"])
    assert reference.part(fresh, first["label"]) == key
    drawn = reference.symbol(
        reference.Bytes(key), 0, 2, 5, (int(first["T"], 16), int(first["Q"], 16))
    )
    assert drawn == int(first["report"], 16) == 2 + int(first["offset"])
    assert reference.part(fresh, second["text"]).hex() == second["memory"]
    entry = read("LOSUE")[0]
    at = 2 * entry["values"].index(1)
    assert entry["label"] in second["text"]
    assert entry["permanent"][at : at + 2] == second["answer"]
    assert third["id"] in [each["id"] for each in read("ids") if each["round"] == 256]


def test_promises_name_tests_that_exist() -> None:
    named = re.findall(
        r"`((?:service/)?test_\w+\.py)::(test_\w+)`(?: \(([\w, ]+)\))?",
        (ROOT / "docs" / "promises.md").read_text(),
    )
    assert len(named) > 30
    for file, test, laws in named:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(), test
        assert all(law in checks.CHECKS for law in laws.split(", ") if law), laws


DEMOS = re.findall(r"examples/(\w+)\.py", (ROOT / "Makefile").read_text().split("setup:")[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", DEMOS)
def test_demos_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that each program of ``make demo`` prints true and estimated shares."""
    importlib.import_module(name).main()
    printed = capsys.readouterr().out
    assert "truth" in printed or "true share" in printed
    assert printed.count("%") >= 10


def test_changing_values_are_followed(capsys: pytest.CaptureFixture[str]) -> None:
    """Check the intervals of the program with a seed. A week is outside with probability 1/20."""
    import changing_values

    changing_values.main(rng=1)
    printed = capsys.readouterr().out
    found = re.search(r"(\d+) of 64 intervals", printed)
    assert found and int(found[1]) >= 56
    assert printed.count("●") + printed.count("○") == 11
    assert re.findall(r"loss of a history (\w+)", printed) == ["2", "2", "inf"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "tutorials").glob("*.py")), ids=lambda path: path.name
)
def test_tutorials_run(path: Path) -> None:
    """Check that each tutorial prints text and draws a figure.

    The content of the figures is not checked.
    """
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(path))
    assert out.getvalue() and plt.get_fignums()
    plt.close("all")
