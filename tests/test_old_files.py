"""Tests of files from older versions: every later version must read the same content.

There is one folder per version. ``python -m tests.test_old_files`` writes the folder of the present
version, and refuses if the folder exists. The file ``expected.json`` describes the content, with
one line per file. It was recorded from the objects that were written. The secrets of the clients
belong to no user.
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    GRR,
    LGRR,
    LOLH,
    LOSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    Client,
    DBitFlipPM,
    LimitReached,
    Survey,
    Tally,
    __version__,
    registry,
    wire,
)
from multi_freq_ldpy import survey as surveys
from multi_freq_ldpy.core import tally as tallies
from multi_freq_ldpy.longitudinal import ledger
from multi_freq_ldpy.longitudinal.memoized import Memoized

FOLDER = Path(__file__).parent / "old"
FORMATS = {
    "tally": tallies.VERSION,
    "survey": surveys.VERSION,
    "client": ledger.VERSION,
    "spec": registry.VERSION,
}
"""Versions of the formats. If a folder has the same versions, writing gives the same bytes."""

# Objects that are written

TALLIES: dict[str, Any] = {
    "grr": GRR(5, 1.0),
    "oue": OUE(9, 0.5),
    "olh": OLH(12, 2.0),
    "ss": SS(10, 1.5),
    "she": SHE(4, 1.0),
    "dbitflip": DBitFlipPM(20, 2.0, b=10, d_bits=3),
    "losue": LOSUE(6, 2.0, 1.0),
    "spl": SPL([GRR, OUE, SS], [3, 4, 5], 3.0),
    "smp": SMP.of([GRR(3, 1.0), LOSUE(5, 2.0, 1.0), DBitFlipPM(6, 1.0, b=3, d_bits=2)]),
    "rsfd": RSFD([GRR, OUE], [3, 4], 1.0),
}
ATTRIBUTES: dict[str, Any] = {
    "smokes": ["yes", "no"],
    "age": [30, 41, 52, 63],
    "größe": ["klein", "groß", "other", "?"],
    "owns": [True, False],
}
ROWS: dict[str, list[Any]] = {
    "smokes": ["no", "yes", "no", "no"] * 15,
    "age": [30, 41, 63, 52, 41] * 12,
    "größe": ["klein", "riesig", None, "groß", "?", "other"] * 10,
    "owns": [True, False, False] * 20,
}
SURVEYS: dict[str, Survey] = {
    "once": Survey(ATTRIBUTES, epsilon=2.0, other="other", missing="?"),
    "hidden": Survey(
        ATTRIBUTES,
        epsilon=1.5,
        solution=RSFD,
        protocol=OUE,
        fake="random",
        other="other",
        missing="?",
    ),
    "split": Survey(
        ATTRIBUTES,
        epsilon=6.0,
        solution=SPL,
        protocol=[GRR, OLH, SS, GRR],
        other="other",
        missing="?",
    ),
    "again": Survey(ATTRIBUTES, eps_perm=3.0, eps_1=1.0, other="other", missing="?"),
    "buckets": Survey(
        ATTRIBUTES,
        eps_perm=4.0,
        solution=SPL,
        protocol=DBitFlipPM,
        b=[2, 4, 3, 2],
        d_bits=[1, 3, 2, 2],
        other="other",
        missing="?",
    ),
}
CLIENTS: dict[str, tuple[Any, bytes, list[Any], Any]] = {  # reported values, and one that was not
    "lgrr": (LGRR(7, 2.0, 1.0), b"", [3, 3, 1], 5),
    "losue": (LOSUE(9, 3.0, 1.0), b"a survey", [8, 0, 8, 4], 2),
    "lolh": (LOLH(30, 2.0, 0.5), "Größe".encode(), [29, 0, 7, 29], None),
    "dbitflip": (DBitFlipPM(40, 2.0, b=20, d_bits=6), b"", [*range(0, 40, 4), 39], None),
    "spl": (SPL.of([LGRR(4, 2.0, 1.0), GRR(3, 0.5)]), b"", [[3, 0], [3, 1], [0, 1]], [1, 0]),
    "smp": (SMP(LOSUE, [3] * 10, 2.0, 1.0), b"", [[0] * 10, [1] * 10], [2] * 10),
    "permanent": (SPL(DBitFlipPM, [3, 8], 3.0, b=[3, 4], d_bits=2), b"", [[0, 7], [2, 1]], None),
    "rsfd": (RSFD(GRR, [3, 4], 1.0), b"", [[0, 3], [0, 3]], [1, 1]),
    "unused": (LGRR(7, 2.0, 1.0), b"", [], 0),
}


def write(folder: Path) -> None:
    """Write a folder with files of every kind, and their expected content."""
    folder.mkdir(parents=True)  # raises an error if the folder exists
    expected: dict[str, Any] = {}
    for name, protocol in TALLIES.items():
        ks = [part.k for part in getattr(protocol, "protocols", [protocol])]
        values = np.arange(60)[:, np.newaxis] * np.array([7, 3, 5])[: len(ks)] % ks
        counted = protocol.tally(protocol.randomize(values if len(ks) > 1 else values[:, 0], 1))
        (folder / f"{name}.tally").write_bytes(counted.to_bytes())
        expected[f"{name}.tally"] = of_tally(counted)
    for name, survey in SURVEYS.items():
        survey.save(folder / f"{name}.json")
        expected[f"{name}.json"] = of_survey(survey)
        expected |= collected(folder, name, survey)
    for name, (protocol, context, values, new) in CLIENTS.items():
        client = Client.open(folder / f"{name}.client", protocol, context=context)
        for value in values:
            client.report(value)
        use = {"context": context.hex(), "values": values, "new": new}
        expected[f"{name}.client"] = of_client(client, values) | use
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in expected.items()]
    start = f'{{"formats": {json.dumps(FORMATS)}, "files": {{\n'
    (folder / "expected.json").write_text(start + ",\n".join(lines) + "\n}}\n")


def collected(folder: Path, name: str, survey: Survey) -> dict[str, Any]:
    """Write files of a survey: a tally, and either reports or the file of a device."""
    found: dict[str, Any] = {}
    if survey.longitudinal:
        reports = survey.panel(60, 1).report(ROWS)
        device = survey.client(folder / f"{name}.device")
        rows = [{attribute: each[i] for attribute, each in ROWS.items()} for i in (0, 2, 1)]
        for row in rows:
            device.report(row)
        use = {"survey": f"{name}.json", "values": rows}
        found[f"{name}.device"] = of_client(device.client, survey.encode(columns(rows))) | use
    else:
        reports = survey.randomize(ROWS, 1)
        with TemporaryDirectory() as other:
            people = Path(other) / "people.csv"
            cells = [["" if x is None else str(x) for x in each] for each in ROWS.values()]
            text = [",".join(row) for row in zip(*cells, strict=True)]
            people.write_text("\n".join([",".join(ROWS), *text]) + "\n", encoding="utf-8")
            for kind in ("csv", "parquet"):
                output = folder / f"{name}.{kind}"
                run("randomize", folder / f"{name}.json", people, "-o", output, "--seed", 1)
                found[output.name] = of_survey_tally(name, survey, survey.tally(reports))
    counted = survey.tally(reports)
    (folder / f"{name}.packed").write_bytes(survey.pack(counted))
    return found | {f"{name}.packed": of_survey_tally(name, survey, counted)}


def run(*arguments: Any, code: int = 0) -> str:
    from typer.testing import CliRunner

    from multi_freq_ldpy.cli.app import app

    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.output


# Content of files


def written_n(counted: Tally) -> Any:
    """Return the number of reports about each value, in the format of the files.

    If every report is about every value, it is one number.
    """
    return int(counted.n[0]) if counted.mechanism._answers_all else counted.n.tolist()


def of_tally(counted: Tally) -> dict[str, Any]:
    """Return the content of a tally, and its estimates."""
    found = counted.mechanism.estimate(counted)
    each = found if len(counted.mechanism.parts) > 1 else [found]
    return {
        "spec": registry.to_spec(counted.mechanism),
        "users": counted.users,
        "n": written_n(counted),
        "counts": counted.counts.tolist(),
        "frequencies": [one.frequencies.tolist() for one in each],
        "std": [one.std.tolist() for one in each],
    }


def of_survey(survey: Survey) -> dict[str, Any]:
    """Return the content of a survey."""
    return {
        "attributes": [[name, *labels] for name, labels in survey.attributes.items()],
        "other": survey.other,
        "missing": survey.missing,
        "loss": survey.privacy.lifetime if survey.longitudinal else survey.privacy.report,
        "encoded": survey.encode(ROWS)[:12].tolist(),
        "spec": survey.to_spec(),
        "digest": survey.digest,
    }


def of_survey_tally(name: str, survey: Survey, counted: Tally) -> dict[str, Any]:
    """Return the counts of a survey, and its estimates by attribute and label."""
    frame = survey.estimate(counted).to_frame("dict")
    columns = {column: list(frame[column]) for column in ("attribute", "value", "frequency", "std")}
    return {
        "survey": f"{name}.json",
        "users": counted.users,
        "n": written_n(counted),
        "counts": counted.counts.tolist(),
        "estimates": columns,
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in ROWS}


def of_client(client: Client, values: Any) -> dict[str, Any]:
    """Return the charges of a client and its permanent answers."""
    protocol: Any = client.mechanism
    state = client._store.read()  # type: ignore[union-attr]
    found: dict[str, Any] = {
        "spec": registry.to_spec(protocol),
        "secret": client.secret.hex(),
        "spent": client.spent,
        "classes": {str(j): sorted(each) for j, each in state.ledger.classes.items()},
        "reports": {str(j): many for j, many in state.ledger.reports.items()},
    }
    if isinstance(protocol, Memoized):
        answers = np.empty(protocol.k, protocol.report_dtype)
        users = np.zeros(protocol.k, np.int64)
        protocol._remember(np.arange(protocol.k), users, client._memory, answers)
        found["permanent"] = wire.encode(protocol, answers).hex()
    if all(isinstance(each, DBitFlipPM) for each in getattr(protocol, "protocols", [protocol])):
        reports = [wire.encode(protocol, client.report(value)) for value in values]
        found["answers"] = [each.hex() for each in reports]  # reports are permanent
    return found


# Tests


def of_kind(*suffixes: str) -> pytest.MarkDecorator:
    """Return a decorator that runs a test with every file of a kind in every folder."""
    cases = []
    for path in sorted(FOLDER.glob("*/expected.json")):
        content = json.loads(path.read_text())
        same = content["formats"] == FORMATS
        for name, expected in content["files"].items():
            if Path(name).suffix in suffixes:
                file = path.parent / name
                cases.append(pytest.param(file, expected, same, id=f"{path.parent.name}/{name}"))
    return pytest.mark.parametrize(("file", "expected", "same"), cases)


def agree(found: Any, expected: Any) -> bool:
    """Compare two contents: floats up to rounding, everything else exactly."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(agree(found[k], expected[k]) for k in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(agree, found, expected))
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True))
    return type(found) is type(expected) and bool(found == expected)


def compare(found: dict[str, Any], expected: dict[str, Any], same: bool = True) -> None:
    for name, each in found.items():
        if same or name != "spec":
            assert agree(each, expected[name]), f"{name} is {each}, not {expected[name]}"


def loaded(file: Path, expected: dict[str, Any]) -> Survey:
    return Survey.load(file.parent / expected["survey"])


def test_every_file_is_expected() -> None:
    folders = [each for each in FOLDER.iterdir() if each.is_dir()]
    assert folders
    for folder in folders:
        expected = set(json.loads((folder / "expected.json").read_text())["files"])
        locks = {f"{name}.lock" for name in expected if name.endswith((".client", ".device"))}
        assert {each.name for each in folder.iterdir()} == expected | locks | {"expected.json"}


@pytest.mark.extras
def test_folders_are_written_once(tmp_path: Path) -> None:
    """Check that the present version writes files of all kinds and never overwrites a folder."""
    write(tmp_path / "new")
    before = {each.name: each.read_bytes() for each in (tmp_path / "new").iterdir()}
    with pytest.raises(FileExistsError):
        write(tmp_path / "new")
    assert {each.name: each.read_bytes() for each in (tmp_path / "new").iterdir()} == before
    kinds = {".tally", ".json", ".packed", ".csv", ".parquet", ".client", ".device", ".lock"}
    assert {Path(name).suffix for name in before} == kinds


@of_kind(".tally")
def test_tallies(file: Path, expected: dict[str, Any], same: bool) -> None:
    found = Tally.from_bytes(file.read_bytes())
    assert found.mechanism == registry.from_spec(expected["spec"])
    compare(of_tally(found), expected, same)
    assert not same or found.to_bytes() == file.read_bytes()


@of_kind(".json")
def test_surveys(file: Path, expected: dict[str, Any], same: bool, tmp_path: Path) -> None:
    found = Survey.load(file)
    compare(of_survey(found), expected, same)
    found.save(tmp_path / "survey.json")
    assert not same or (tmp_path / "survey.json").read_bytes() == file.read_bytes()


@of_kind(".packed")
def test_tallies_of_surveys(file: Path, expected: dict[str, Any], same: bool) -> None:
    survey = loaded(file, expected)
    found = survey.unpack(file.read_bytes())
    compare(of_survey_tally(Path(expected["survey"]).stem, survey, found), expected)
    assert not same or survey.pack(found) == file.read_bytes()


@pytest.mark.extras
@of_kind(".csv", ".parquet", ".packed")
def test_the_command_line(file: Path, expected: dict[str, Any], same: bool, tmp_path: Path) -> None:
    survey = file.parent / expected["survey"]
    found = json.loads(run("estimate", survey, file, "--json"))
    compare({name: found[name] for name in expected["estimates"]}, expected["estimates"])
    run("tally", survey, file, "-o", tmp_path / "tally")
    counted = loaded(file, expected).unpack((tmp_path / "tally").read_bytes())
    compare(of_survey_tally(survey.stem, loaded(file, expected), counted), expected)


@pytest.mark.extras
@of_kind(".parquet", ".packed")
def test_no_other_survey(file: Path, expected: dict[str, Any], same: bool, tmp_path: Path) -> None:
    """Check that a survey with another order of two labels refuses the file."""
    spec = loaded(file, expected).to_spec()
    spec["attributes"][0]["categories"].reverse()
    Survey.from_spec(spec).save(tmp_path / "other.json")
    assert "of another survey" in run("estimate", tmp_path / "other.json", file, code=2)


def copied(file: Path, folder: Path) -> Path:
    """Return a copy of a client's file and its lock, without permissions for other users."""
    for each in (file, file.with_name(f"{file.name}.lock")):
        shutil.copyfile(each, folder / each.name)
        (folder / each.name).chmod(0o600)
    return folder / file.name


@of_kind(".client")
def test_clients(file: Path, expected: dict[str, Any], same: bool, tmp_path: Path) -> None:
    """Check that a client continues from an old file.

    It has the same permanent answers, and no class is charged twice.
    """
    path, protocol = copied(file, tmp_path), registry.from_spec(expected["spec"])
    context, values = bytes.fromhex(expected["context"]), expected["values"]
    client = Client.open(path, protocol, context=context)
    compare(of_client(client, values), expected, same)
    assert not same or path.read_bytes() == file.read_bytes()
    if expected["new"] is not None:
        short = Client.open(path, protocol, limit=expected["spent"] or 0.1, context=context)
        with pytest.raises(LimitReached):
            short.report(expected["new"])
        assert client.spent == pytest.approx(expected["spent"])
    for value in values:
        client.report(value)
    again = len(values) * sum(protocol._prices[int(j)] for j in expected["reports"])
    assert client.spent == pytest.approx(expected["spent"] + again)
    with pytest.raises(ValueError, match="context of"):
        Client.open(path, protocol, context=context + b"!")
    path.unlink()
    with pytest.raises(FileNotFoundError, match="is gone, and the secret with it"):
        Client.open(path, protocol, context=context)


@of_kind(".device")
def test_devices(file: Path, expected: dict[str, Any], same: bool, tmp_path: Path) -> None:
    """Check the same for clients of surveys, which report labels."""
    path, survey = copied(file, tmp_path), loaded(file, expected)
    device = survey.client(path)
    records = survey.encode(columns(expected["values"]))
    compare(of_client(device.client, records), expected, same)
    reports = [device.report(answers).hex() for answers in expected["values"]]
    assert reports == expected.get("answers", reports)
    assert device.spent == pytest.approx(expected["spent"])
    assert not same or path.read_bytes() == file.read_bytes()


if __name__ == "__main__":
    write(FOLDER / __version__)
