"""Tests of the command ``submit``: each report of a file counts once, however often it is sent."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import Survey
from multi_freq_ldpy.cli import submitting
from multi_freq_ldpy.service import delivery
from multi_freq_ldpy.service.batch import HEADER, read_header, write_batch
from tests.fake_service import Fake, faking, half, lost, status

from .harness import serving as serving_process
from .test_commands import read, run

pytestmark = pytest.mark.extras

ONCE = Survey({"a": ["x", "y", "z"]}, epsilon=2.0)
WAVES = Survey({"a": ["x", "y"]}, eps_perm=3.0, eps_1=1.0)
YEAR = Survey({"a": ["x", "y"]}, epsilon=2.0, rounds=3, changes=1)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries take no time."""
    monkeypatch.setattr(delivery, "jitter", lambda low, high: 0.0)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with faking(surveys={"once": ONCE, "waves": WAVES, "year": YEAR}) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A survey file, and a file of answers."""
    ONCE.save(tmp_path / "once.json")
    (tmp_path / "answers.csv").write_text("a\n" + "x\ny\nz\ny\n" * 600)
    return tmp_path


@pytest.fixture(params=["reports.parquet", "reports.csv"])
def file(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A file of 2400 reports."""
    run("randomize", folder / "once.json", folder / "answers.csv", "-o", folder / request.param)
    return folder / request.param


def address(fake: Fake, name: str = "once") -> str:
    return f"{fake.url}/v1/surveys/{name}"


def reports_of(batch: Path, survey: Survey = ONCE) -> list[bytes]:
    size, data = 16 + survey.solution.report_bytes, batch.read_bytes()[HEADER.size :]
    return [data[i + 16 : i + size] for i in range(0, len(data), size)]


def test_a_file_is_sent_once(file: Path, fake: Fake) -> None:
    fake.script = [lost, half, status(503)]
    batch = Path(f"{file}.batch")
    found = read("submit", address(fake), file)
    assert found == {"reports": 2400, "counted": 1400, "duplicates": 1000, "batch": str(batch)}
    assert sorted(fake.counted.values()) == sorted(reports_of(batch))
    kept = batch.read_bytes()
    said = run("submit", f"{address(fake)}/", file)
    assert said == "2,400 reports: 0 counted now, 2,400 counted before\n"
    assert run("submit", address(fake), batch) == said
    assert batch.read_bytes() == kept and len(fake.counted) == 2400
    assert read_header(kept).round == 0 and len(set(fake.counted)) == 2400
    assert not list(file.parent.glob("*.batch.batch"))


def test_an_interrupted_command_goes_on(
    file: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitting, "TIMEOUT", 0.05)
    fake.script = [lost] + [status(500)] * 10**5
    assert "Repeat the command" in run("submit", address(fake), file, code=2)
    kept = Path(f"{file}.batch").read_bytes()
    assert len(fake.counted) == 1000
    fake.script = []
    assert read("submit", address(fake), file)["counted"] == 1400
    assert Path(f"{file}.batch").read_bytes() == kept and len(fake.counted) == 2400
    fake.closed = {"once"}
    assert "closed" in run("submit", address(fake), file, code=2)


def test_other_reports_are_refused(file: Path, fake: Fake, folder: Path) -> None:
    """Check that new reports are not taken for those whose ids are kept, and the way out works."""
    run("submit", address(fake), file)
    before = dict(fake.counted)
    for rows in (600, 599, 601):
        (folder / "answers.csv").write_text("a\n" + "x\ny\nz\ny\n" * rows)
        run("randomize", folder / "once.json", folder / "answers.csv", "-o", file, "--force")
        said = run("submit", address(fake), file, code=2)
        assert f"submit {file}.batch, then remove it" in said and "other reports" in said
    assert fake.counted == before
    run("submit", address(fake), f"{file}.batch")
    Path(f"{file}.batch").unlink()
    assert read("submit", address(fake), file)["counted"] == 2404


def test_a_file_that_became_shorter_or_longer_is_refused(fake: Fake, tmp_path: Path) -> None:
    file, lines = tmp_path / "reports.csv", ["0000\n"] * 5
    file.write_text("report\n" + "".join(lines))
    run("submit", address(fake), file)
    for many in (4, 6, 5):
        file.write_text("report\n" + "".join((lines * 2)[:many]))
        said = run("submit", address(fake), file, code=0 if many == 5 else 2)
        assert ("other reports" in said) == (many != 5)
    assert len(fake.counted) == 5


def test_rounds_of_a_file(fake: Fake, tmp_path: Path) -> None:
    fake.accepted |= {"waves": [2], "year": [1]}
    for name, survey, number in (("waves", WAVES, 2), ("year", YEAR, 1)):
        panel = survey.panel(200, 1)
        made = panel.report({"a": ["x"] * 200}, **({"round": 1} if name == "year" else {}))
        file, sent = tmp_path / f"{name}.csv", list(made["report"])
        file.write_text("report\n" + "".join(f"{each.hex()}\n" for each in sent))
        assert "--round must be given" in run("submit", address(fake, name), file, code=2)
        for wrong in (-1, 2**32, "x"):
            run("submit", address(fake, name), file, "--round", wrong, code=2)
        assert not Path(f"{file}.batch").exists()
        found = read("submit", address(fake, name), file, "--round", number)
        assert found["counted"] == len(sent) == found["reports"]
        assert read("submit", address(fake, name), file)["counted"] == 0
        wrong = str(number - 1)
        said = run("submit", address(fake, name), file, "--round", wrong, code=2)
        assert f"it is of round {number}, not of round {wrong}" in said
    assert "integer from 0 to 0" in run(
        "submit", address(fake), tmp_path / "year.csv", "--round", "1", code=2
    )


WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "no reports": (b"report\n", "there are no reports"),
    "another column": (b"a\n00\n", "report"),
    "no hexadecimal": (b"report\n0000\nzz\n", "row 1: 'zz' is not a report"),
    "a long report": (b"report\n000000\n", "row 0"),
    "an invalid report": (b"report\n0000\n0007\n", "reports[1]"),
    "an invalid report later": (b"report\n" + b"0000\n" * 40_000 + b"0007\n", "reports[40000]"),
    "a short header": (b"MFLB\x01", "fewer than its header"),
    "another version": (b"MFLB\x02" + bytes(20), "version 2"),
    "another survey": (write_batch("00" * 16, 0, [(bytes(16), b"\0")]), "digest 0000"),
    "no records": (write_batch(ONCE.digest, 0, [(bytes(16), b"\0")])[:25], "records of 18 bytes"),
    "half a record": (
        write_batch(ONCE.digest, 0, [(bytes(16), b"\0\0")] * 2)[:-1],
        "records of 18 bytes",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name: str, fake: Fake, tmp_path: Path) -> None:
    content, sentence = WRONG[name]
    file = tmp_path / "file.csv"
    file.write_bytes(content)
    said = run("submit", address(fake), file, code=2)
    assert sentence in said, said
    assert not fake.bodies and not Path(f"{file}.batch").exists()


WRONG_ADDRESSES = {
    "http://127.0.0.1:1": "URL must be that of a survey",
    "http://127.0.0.1:1/v1/surveys/": "URL must be that of a survey",
    "http://127.0.0.1:1/v1/surveys/a?b": "URL must be that of a survey",
    "once": "URL must be that of a survey",
    "ftp://127.0.0.1/v1/surveys/a": "url must be an address",
    "http://127.0.0.1:1/v1/surveys/a": "no service answers",
}


@pytest.mark.parametrize("url", WRONG_ADDRESSES)
def test_wrong_addresses(url: str, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("report\n00\n")
    assert WRONG_ADDRESSES[url] in run("submit", url, tmp_path / "file.csv", code=2)


def test_a_file_that_is_not_there(fake: Fake, tmp_path: Path) -> None:
    assert "does not exist" in run("submit", address(fake), tmp_path / "none.csv", code=2)
    assert "is a directory" in run("submit", address(fake), tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []


def test_the_token_of_the_environment(file: Path, fake: Fake) -> None:
    run("submit", address(fake), file, token="canary")
    assert set(fake.tokens) == {"Bearer canary"}
    fake.script = [status(401, "no-token")]
    assert "canary" not in run("submit", address(fake), file, code=2, token="canary")


def test_a_full_disk_leaves_no_batch(
    file: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("multi_freq_ldpy.files.atomic.os.fsync", full)
        assert "No space" in run("submit", address(fake), file, code=2)
    assert not Path(f"{file}.batch").exists() and not fake.bodies


@pytest.mark.process
def test_a_real_service(file: Path, folder: Path) -> None:
    """Check the whole way: serve, submit, estimate."""
    database = f"sqlite:///{folder}/service.sqlite"
    with serving_process(database, [folder / "once.json"]) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert read("submit", f"{url}/v1/surveys/once", file)["counted"] == 2400
        assert read("submit", f"{url}/v1/surveys/once", file)["counted"] == 0
        found = json.loads(run("estimate", "once", "--url", url, "--json"))
        offline = json.loads(run("estimate", folder / "once.json", file, "--json"))
        assert np.array_equal(found["frequency"], offline["frequency"])
        copy = shutil.copy(f"{file}.batch", folder / "copy")
        assert read("submit", f"{url}/v1/surveys/once", copy)["duplicates"] == 2400
