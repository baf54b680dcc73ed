"""Tests of the commands of the service: what they print, refuse, and import."""

import json
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest
import typer
import uvicorn
from typer.testing import CliRunner

from multi_freq_ldpy import GRR, SPL, Survey
from multi_freq_ldpy.cli import serving
from multi_freq_ldpy.cli.app import app
from multi_freq_ldpy.service import auth, limits
from multi_freq_ldpy.service.batch import write_batch
from multi_freq_ldpy.service.store import Store
from multi_freq_ldpy.service.surveys import create, find

from .harness import TOKEN, Server, wait_until
from .harness import serving as serving_process

VALUES = Survey({"a": ["x", "y", "z"]}, epsilon=1.0, solution=SPL, protocol=GRR)
WAVES = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, eps_perm=3.0, eps_1=1.0)
YEAR = Survey({"a": ["x", "y"]}, epsilon=2.0, rounds=3, changes=1)
SURVEYS = {"values": VALUES, "waves": WAVES, "year": YEAR}


def run(*arguments: Any, code: int = 0, token: str | None = TOKEN, **variables: str) -> str:
    """Return the output of a command, and check its exit code."""
    environment: dict[str, str | None] = {serving.TOKEN: token, **variables}
    result = CliRunner().invoke(app, [str(each) for each in arguments], env=environment)
    ended = result.exception is None or isinstance(result.exception, SystemExit)
    assert ended, f"a traceback instead of a sentence: {result.exception!r}"
    assert result.exit_code == code, result.output
    if code == 2 and "Usage:" not in result.output:
        assert result.output.startswith("error: ") and result.output.count("\n") == 1
    return result.output


def read(*arguments: Any, **options: Any) -> Any:
    """Return the JSON that a command prints."""
    return json.loads(run(*arguments, "--json", **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with survey files."""
    made = tmp_path_factory.mktemp("commands")
    for name, survey in SURVEYS.items():
        survey.save(made / f"{name}.json")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """Return a service in a process, without surveys."""
    with serving_process(f"sqlite:///{folder}/a.sqlite") as made:
        yield made


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a service, which commands find in the environment."""
    made = f"http://127.0.0.1:{server.port}"
    monkeypatch.setenv("MULTI_FREQ_LDPY_URL", made)
    return made


def send(server: Server, name: str, survey: Survey, seed: int, round: int = 0) -> list[bytes]:
    """Send reports to a service, and return them."""
    generator = np.random.default_rng(seed)
    table = {key: list(generator.choice(v, 50)) for key, v in survey.attributes.items()}
    if survey.rounds is not None:
        found = list(survey.panel(50).report(table, round=round)["report"])
    else:
        data = survey.solution.randomize(survey.encode(table)).tobytes()
        size = survey.solution.report_bytes
        found = [data[i : i + size] for i in range(0, len(data), size)]
    records = [(generator.bytes(16), bytes(each)) for each in found]
    body = write_batch(survey.digest, round, records)
    status, answer = server.ask("POST", f"/v1/surveys/{name}/reports", body)
    assert status == 200 and answer["counted"] == len(found)
    return [bytes(each) for each in found]


@pytest.mark.process
def test_surveys(url: str, folder: Path) -> None:
    """Check that surveys are created, opened, shown, listed and closed."""
    file = folder / "values.json"
    assert run("surveys", "create", file, "--name", "s1") == "s1 is draft: surveys open s1\n"
    assert read("surveys", "create", file, "--name", "s1")["digest"] == VALUES.digest
    options = ("--keep", "--public", "--submission", "invite", "--min-users", "7", "--step", "3")
    shown = read("surveys", "create", file, "--name", "s2", *options)
    fields = ("kept", "public", "submission", "min_users", "step")
    assert [shown[each] for each in fields] == [True, True, "invite", 7, 3]
    assert "submission" in run("surveys", "create", file, "--submission", "any", code=2)
    assert "use another name" in run(
        "surveys", "create", folder / "waves.json", "--name", "s1", code=2
    )
    assert run("surveys", "open", "s1") == "s1 is open\n"
    assert read("surveys", "open", "s1")["accepted"] == [0]
    shown = run("surveys", "show", "s1", token=None)
    for part in (
        "s1 is open",
        VALUES.digest,
        "2.72 times",
        "1 bytes",
        "take reports: 0",
        "x, y, z",
    ):
        assert part in shown
    assert Survey.from_spec(read("surveys", "show", "s1")["spec"]) == VALUES
    assert {"name": "s1", "digest": VALUES.digest, "state": "open"} in read("surveys", "list")
    listed = run("surveys", "list")
    assert "s1" in listed and VALUES.digest in listed
    assert run("surveys", "close", "s1") == "s1 is closed\n"
    assert read("surveys", "close", "s1")["accepted"] == []
    assert "cannot become open" in run("surveys", "open", "s1", code=2)


@pytest.mark.process
def test_scheduled_surveys(url: str, folder: Path) -> None:
    """Check lengths of time, and their mistakes."""
    file, many = folder / "waves.json", iter(range(100))
    for text, seconds in {
        "90s": 90,
        "2m": 120,
        "12h": 43_200,
        "7d": 604_800,
        "1w": 604_800,
    }.items():
        name = f"every{next(many)}"
        made = read("surveys", "create", file, "--name", name, "--every", text, "--grace", "5s")
        assert (made["schedule"]["period"], made["schedule"]["grace"]) == (seconds, 5)
    for wrong in ("7", "d", "", "1.5d", "-1d", "7 d", "7y", "0d", f"{2**40}s"):
        run("surveys", "create", file, "--name", "wrong", "--every", wrong, code=2)
    run("surveys", "create", file, "--name", "wrong", "--grace", "1d", code=2)
    run("surveys", "create", folder / "values.json", "--every", "1d", code=2)
    assert not [each for each in read("surveys", "list") if each["name"] in ("wrong", "values")]


@pytest.mark.process
def test_rounds_and_estimates(url: str, server: Server, folder: Path) -> None:
    """Check rounds, and that estimates over HTTP are those of the reports."""
    run("surveys", "create", folder / "waves.json")
    assert "The survey is draft" in run("rounds", "next", "waves", code=2)
    assert run("rounds", "list", "waves") == "none\n"
    run("surveys", "open", "waves")
    first = send(server, "waves", WAVES, 1)
    assert run("rounds", "next", "waves") == "round 1 is open\n"
    second = send(server, "waves", WAVES, 2, 1)
    assert read("rounds", "list", "waves") == [
        {"number": 0, "state": "closed", "users": 50},
        {"number": 1, "state": "open", "users": 50},
    ]
    assert "closed" in run("rounds", "list", "waves")
    for options, reports in (
        ((), second),
        (("--round", "0"), first),
        (("--round", "latest"), second),
    ):
        expected = WAVES.estimate({"report": reports})
        found = read("estimate", "waves", "--url", url, *options)
        assert found["frequency"] == [float(f) for each in expected for f in each.frequencies]
        assert found["std"] == [float(s) for each in expected for s in each.std]
    table, chart = folder / "t.csv", folder / "c.png"
    printed = run("estimate", "waves", "--url", url, "--csv", table, "--plot", chart)
    assert "95 % interval" in printed and chart.read_bytes().startswith(b"\x89PNG")
    columns = WAVES.estimate({"report": second}).to_frame("dict")
    assert pl.read_csv(table)["frequency"].to_list() == pytest.approx(columns["frequency"], 1e-12)
    for wrong in ("2", "-1", "all", "x", "9" * 5000):
        run("estimate", "waves", "--url", url, "--round", wrong, code=2)
    assert read("rounds", "next", "waves")["number"] == 2


@pytest.mark.process
def test_estimates_of_histories(url: str, server: Server, folder: Path) -> None:
    """Check that the estimate of a survey with rounds takes the tallies of all rounds."""
    run("surveys", "create", folder / "year.json")
    run("surveys", "open", "year")
    tallies = []
    for number in range(3):
        if number:
            run("rounds", "next", "year")
        reports = send(server, "year", YEAR, number, number) if number != 1 else []
        tallies.append(YEAR.tally({"report": reports}, round=number))
        found = read("estimate", "year", "--url", url)
        expected = json.loads(json.dumps(YEAR.estimate(tallies).to_frame("dict")["frequency"]))
        assert found["frequency"] == [None if each != each else each for each in expected]
    assert "no round 3" in run("estimate", "year", "--url", url, "--round", "3", code=2)
    assert "last round" in run("rounds", "next", "year", code=2)
    assert "round 2, the last of 3" in run("estimate", "year", "--url", url)


@pytest.mark.process
def test_tokens(url: str) -> None:
    """Check that tokens are made, allow what they say, and are revoked."""
    made = read("tokens", "create", "analyst", "--note", "one")
    assert set(made) == {"token", "hash"} and made["hash"] == auth.hash_token(made["token"])
    run("surveys", "list", token=made["token"])
    assert "needs a token of admin" in run(
        "tokens", "create", "analyst", token=made["token"], code=2
    )
    printed = run("tokens", "create", "admin").splitlines()
    assert len(printed) == 2 and printed[1].endswith(auth.hash_token(printed[0]))
    run("tokens", "create", "analyst", token=printed[0])
    assert run("tokens", "revoke", made["hash"]) == "revoked\n"
    assert "unknown or revoked" in run("surveys", "list", token=made["token"], code=2)
    assert "no token with this hash" in run("tokens", "revoke", "none", code=2)
    run("tokens", "create", "reader", code=2)
    assert "needs a token" in run("surveys", "list", token=None, code=2)


@pytest.mark.process
def test_invites_and_exports(url: str, server: Server, folder: Path, tmp_path: Path) -> None:
    """Check that invites and tokens send, and that exports hold what was sent."""
    content = {"name": "kept", "spec": VALUES.to_spec(), "keep": True, "submission": "invite"}
    assert server.ask("POST", "/v1/surveys", content)[0] == 201
    run("surveys", "open", "kept")
    made = run("invites", "create", "kept", 2).split()
    file = tmp_path / "invites.csv"
    assert run("invites", "create", "kept", 3, "-o", file) == f"3 invites: {file}\n"
    assert file.stat().st_mode & 0o077 == 0
    assert "exists" in run("invites", "create", "kept", 3, "-o", file, code=2)
    made += file.read_text().split()[1:] + read("invites", "create", "kept", 1)["invites"]
    assert len({*made}) == 6
    reports = [bytes([i % 3]) for i in range(6)]
    for invite, report in zip(made, reports, strict=True):
        body = write_batch(VALUES.digest, 0, [(bytes(16), report)])
        headers = {"Authorization": f"Bearer {invite}", "Content-Type": "application/octet-stream"}
        status, answer = server.ask("POST", "/v1/surveys/kept/reports", body, headers)
        assert (status, answer) == (200, {"counted": 1, "duplicates": 0})
    table, tally = tmp_path / "kept.parquet", tmp_path / "kept.tally"
    run("export", "kept", table)
    assert read("export", "kept", tally, "--round", "0")["bytes"] == tally.stat().st_size
    assert VALUES.unpack(tally.read_bytes()) == VALUES.tally(pyarrow.parquet.read_table(table))
    assert VALUES.unpack(tally.read_bytes()) == VALUES.tally(reports)
    assert "exists" in run("export", "kept", table, code=2)
    assert "must end in" in run("export", "kept", tmp_path / "kept.csv", code=2)
    assert "no such round" in run("export", "kept", tmp_path / "a.tally", "--round", 7, code=2)
    assert not (tmp_path / "a.tally").exists()
    content = {"name": "plain", "spec": VALUES.to_spec()}
    assert server.ask("POST", "/v1/surveys", content)[0] == 201
    assert "without invites" in run("invites", "create", "plain", 1, code=2)


@pytest.mark.process
def test_changes_of_what_the_public_sees(url: str, folder: Path) -> None:
    """Check that settings change by a command of their own, and are shown."""
    file = folder / "values.json"
    run("surveys", "create", file, "--name", "seen")
    shown = run("surveys", "show", "seen")
    assert "Estimates need a token" in shown and "Only tallies are kept" in shown
    for option in (["--public"], ["--step", 5], ["--min-users", 7]):
        said = run("surveys", "create", file, "--name", "seen", *option, code=2)
        assert "use surveys change" in said and "public=False" in said
    said = run("surveys", "change", "seen", "--public", "--min-users", 70, "--step", 5)
    assert "Releases are public, from 70 reports on, in steps of 5." in said
    assert said.strip() in run("surveys", "show", "seen")
    assert read("surveys", "change", "seen", "--private")["min_users"] == 70
    assert "give --public" in run("surveys", "change", "seen", code=2)
    assert "step: " in run("surveys", "change", "seen", "--step", 0, code=2)


@pytest.mark.process
def test_tokens_to_submit(url: str, server: Server, folder: Path) -> None:
    """Check that a token to submit is for one survey."""
    run("surveys", "create", folder / "values.json", "--name", "mine")
    made = read("tokens", "create", "submit", "--survey", "mine")["token"]
    assert len(made) == 43
    said = run("tokens", "create", "submit", code=2)
    assert "survey is given" in said and "Value error" not in said
    assert run("tokens", "revoke", made) == "revoked\n"
    assert "no token" in run("tokens", "revoke", "another", code=2)
    assert "survey is given" in run("tokens", "create", "admin", "--survey", "mine", code=2)


def test_moves(tmp_path: Path) -> None:
    """Check that a moved database has its reports, and that wrong moves change nothing."""
    old, new = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    arguments = ["move", "--database", f"sqlite:///{old}", "--to", f"sqlite:///{new}"]
    assert "does not exist" in run(*arguments, code=2)
    assert not old.exists() and not new.exists()
    store = Store(f"sqlite:///{old}")
    with store.write() as connection:
        create(connection, "a", VALUES)
    assert "another process" in run(*arguments, code=2)
    store.close()
    assert run(*arguments) == "the new database has 1 rows\n"
    assert "not empty" in run(*arguments, code=2)
    store = Store(f"sqlite:///{new}")
    with store.read() as connection:
        assert find(connection, "a")[0].digest == VALUES.digest
    store.close()


@pytest.mark.process
def test_backup(server: Server, folder: Path) -> None:
    """Check that the file of a running service is copied, and nothing is overwritten."""
    database = f"sqlite:///{folder}/a.sqlite"
    target = folder / "copy.sqlite"

    def is_swept() -> bool:
        with closing(sqlite3.connect(folder / "a.sqlite")) as own:
            due = "SELECT count(*) FROM round WHERE state = 'closed' AND NOT swept"
            return bool(own.execute(due).fetchone() == (0,))

    wait_until(is_swept)  # afterwards the service at rest changes nothing
    assert run("backup", target, "--database", database) == f"{target}\n"
    assert target.stat().st_mode & 0o077 == 0
    with (
        closing(sqlite3.connect(target)) as copy,
        closing(sqlite3.connect(folder / "a.sqlite")) as own,
    ):
        for table in ("survey", "round", "report", "tally", "token"):
            rows = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert copy.execute(rows).fetchall() == own.execute(rows).fetchall()
    before = target.read_bytes()
    assert "File exists" in run("backup", target, "--database", database, code=2)
    assert target.read_bytes() == before
    for wrong in (f"sqlite:///{folder}/none.sqlite", "postgresql://u@h/n", "mysql://h/n", "x"):
        assert run("backup", folder / "other", "--database", wrong, code=2)
        assert not (folder / "other").exists()
    run("backup", folder / "none" / "copy", "--database", database, code=2)
    variable = {"MULTI_FREQ_LDPY_DATABASE": database}
    run("backup", folder / "again.sqlite", **variable)
    assert not list(folder.glob(".*part"))


# Refusals of `serve`


@pytest.mark.process
def test_a_file_belongs_to_one_process(server: Server, folder: Path) -> None:
    """Check that a second service on a file is refused, and the first goes on."""
    said = run("serve", "--database", f"sqlite:///{folder}/a.sqlite", "--port", "1", code=2)
    assert "in use by another process" in said and "PostgreSQL" in said
    assert server.ask("GET", "/readyz")[0] == 200


REFUSED: dict[str, tuple[list[str], str]] = {
    "all addresses": (["--host", "0.0.0.0"], "host '0.0.0.0' is reached from other machines"),
    "all addresses, IPv6": (["--host", "::"], "which needs TLS"),
    "a name": (["--host", "example.org"], "which needs TLS"),
    "no host": (["--host", ""], "which needs TLS"),
    "a negative rate": (["--rate", "-1"], "--rate must be an integer from 0"),
    "many proxies": (["--behind-proxy", "11"], "--behind-proxy must be an integer from 0 to 10"),
    "half of TLS": (["--tls-cert", "good.json"], "--tls-cert and --tls-key go together"),
    "workers": (["--workers", "2"], "workers=2 need PostgreSQL"),
    "no workers": (["--workers", "0"], "--workers must be an integer from 1 to 256"),
    "port 0": (["--port", "0"], "--port must be an integer from 1"),
    "large port": (["--port", "65536"], "--port must be an integer from 1"),
    "small body": (["--max-body", "10"], "--max-body must be an integer from 1000"),
    "no file": (["none.json"], "none.json: No such file"),
    "no JSON": (["broken.json"], "broken.json"),
    "no survey": (["list.json"], "list.json"),
    "a name with capitals": (["Values.json"], "rename the file"),
    "another survey": (["good.json", "other/good.json"], "a survey named good exists"),
    "another database": (["--database", "mysql://h/n"], "database must be sqlite:///file"),
    "memory": (["--database", "sqlite://"], "database must be sqlite:///file"),
    "no directory": (["--database", "sqlite:///none/a.sqlite"], "is not a directory"),
    "a directory": (["--database", "sqlite:///other"], ""),
    "another file": (["--database", "sqlite:///other/good.json"], ""),
    "no server": (["--database", "postgresql://u:secret@127.0.0.1:1/n"], ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_serve_refuses(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that each mistake is said in one sentence, with exit code 2, and leaves no lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: pytest.fail("it was started"))
    (tmp_path / "other").mkdir()
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    for file, survey in {"Values": VALUES, "good": VALUES, "other/good": WAVES}.items():
        survey.save(tmp_path / f"{file}.json")
    arguments, sentence = REFUSED[name]
    said = run("serve", *arguments, code=2)
    assert sentence in said and "secret" not in said
    with pytest.raises(pytest.fail.Exception, match="started"):
        run("serve", "good.json")  # the file of the database is free


@pytest.mark.parametrize("file", ["none.json", "broken.json"])
def test_a_wrong_file_makes_no_database(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that survey files are read before anything is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    run("serve", file, code=2)
    assert [each.name for each in tmp_path.iterdir()] == ["broken.json"]


def test_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that nothing is announced before the port is known to be free."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        said = run("serve", "--port", port, code=2)
    assert said.startswith(f"error: port {port} of 127.0.0.1 cannot be used")
    assert list(tmp_path.iterdir()) == []


def test_backup_of_another_file(tmp_path: Path) -> None:
    """Check that a file which is no database is named in one sentence, and not copied."""
    (tmp_path / "a.sqlite").write_bytes(b"no database" * 100)
    run("backup", tmp_path / "copy", "--database", f"sqlite:///{tmp_path}/a.sqlite", code=2)
    assert not (tmp_path / "copy").exists()


def test_the_first_start(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check what `serve` prints, and that only the first start prints the token."""
    started: list[Any] = []

    def start(self: uvicorn.Server) -> None:
        started.append(self.config)
        self.config.app.store.close()

    monkeypatch.setattr(uvicorn.Server, "run", start)
    monkeypatch.delenv(auth.FROM_ENVIRONMENT, raising=False)
    file = tmp_path / "new.sqlite"
    options = ["--database", f"sqlite:///{file}", "--port", "8123", "--max-body", "5000"]
    said = run("serve", folder / "values.json", *options)
    assert "values is open: http://127.0.0.1:8123/s/values\n" in said
    assert str(file) in said and "on this machine only" in said
    token = said.partition("#token=")[2].split()[0]
    assert len(token) == 43 and token not in run("serve", folder / "values.json", *options)
    assert file.stat().st_mode & 0o077 == 0
    config = started[0]
    assert (config.host, config.port, config.app.largest) == ("127.0.0.1", 8123, 5000)
    assert config.http is limits.GuardedProtocol and not config.access_log
    assert "No survey is open" in run("serve", "--database", f"sqlite:///{tmp_path}/2.sqlite")
    variable = {"MULTI_FREQ_LDPY_PORT": "8124", "MULTI_FREQ_LDPY_HOST": "localhost"}
    said = run("serve", "--database", f"sqlite:///{file}", **variable)
    assert "http://localhost:8124" in said


def test_an_address_of_ipv6(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the address that is printed can be used."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: self.config.app.store.close())
    database = f"sqlite:///{tmp_path}/a.sqlite"
    said = run("serve", folder / "values.json", "--database", database, "--host", "::1")
    assert "http://[::1]:8000/s/values" in said


# Refusals of administration

WRONG_URLS = [
    "127.0.0.1:8000",
    "ftp://127.0.0.1",
    "http://",
    "http://[::1",
    "http://127.0.0.1:1",
    "http://127.0.0.1:port",
    "http://127.0.0.1 :80",
    "http://127.0.0.1:99999999",
]


@pytest.mark.parametrize("wrong", WRONG_URLS)
def test_wrong_addresses(wrong: str) -> None:
    """Check that each wrong address is said in one sentence."""
    run("surveys", "list", "--url", wrong, code=2)


ANSWERS = {
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
    "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
    "a list": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    "another object": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a part": b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"spec":',
    "a refusal": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
    "a refusal in JSON": b"HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\n\r\n[]",
}


@contextmanager
def answering(content: bytes) -> Iterator[str]:
    """Answer one request with these bytes, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(content)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            thread.join()


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_other_programs(name: str) -> None:
    """Check that an answer which is not of a service is said in one sentence."""
    with answering(ANSWERS[name]) as url:
        run("surveys", "show", "a", "--url", url, code=2)


CUT = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nPAR1",
    "pieces": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nPAR1\r\n",
}


@pytest.mark.parametrize("name", CUT)
def test_a_part_of_an_export_is_no_file(name: str, tmp_path: Path) -> None:
    """Check that an answer which ends too early leaves no file."""
    with answering(CUT[name]) as url:
        run("export", "a", tmp_path / "a.parquet", "--url", url, code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", ["canary-canary\n", "canary\r\nX: y", "canary→canary"])
def test_a_token_is_never_printed(token: str) -> None:
    """Check that a token with a wrong character is refused without showing it."""
    assert "canary" not in run(
        "surveys", "list", "--url", "http://127.0.0.1:1", code=2, token=token
    )


def test_json_everywhere() -> None:
    """Check that every command of the service but `serve` prints JSON for programs."""
    whole: Any = typer.main.get_command(app)
    found = {name: whole.commands[name] for name in ("backup", "export", "move", "submit", "watch")}
    for group in ("surveys", "rounds", "tokens", "invites"):
        for name, each in whole.commands[group].commands.items():
            found[f"{group} {name}"] = each
    assert len(found) == 16
    without = [
        name
        for name, each in found.items()
        if "--json" not in [option for known in each.params for option in known.opts]
    ]
    assert without == []


# Packages

PACKAGES = "fastapi uvicorn prometheus_client sqlalchemy alembic httptools uvloop psycopg starlette"


def in_process(program: str) -> str:
    """Return the output of a program in a process of its own."""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.process
def test_nothing_is_imported_without_need() -> None:
    """Check that help and the package itself import no package of the service."""
    program = f"""
import sys
def look(what):
    assert not set({PACKAGES.split()}) & set(sys.modules), what
import multi_freq_ldpy
look("the package")
import multi_freq_ldpy.sender
look("devices")
from multi_freq_ldpy.cli import main
for arguments in (["serve", "--help"], ["surveys", "--help"], ["--help"]):
    sys.argv = ["multi-freq-ldpy", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
    look(arguments)
import fastapi
try:
    look("fastapi")
except AssertionError:
    print("found")
"""
    printed = in_process(program)
    assert "--max-body" in printed and printed.endswith("found\n")


@pytest.mark.process
def test_missing_packages(tmp_path: Path) -> None:
    """Check that each missing package of the extra is named, with what to install."""
    program = f"""
import sys
from typer.testing import CliRunner
from multi_freq_ldpy.cli.app import app
for name in ("fastapi", "httptools", "sqlalchemy", "prometheus_client"):
    before = set(sys.modules)
    sys.modules[name] = None
    for command in (["serve"], ["backup", "copy"]):
        if command[0] == "backup" and name != "sqlalchemy":
            continue
        found = CliRunner().invoke(app, [*command, "--database", "sqlite:///{tmp_path}/a"])
        assert found.exit_code == 2, (name, found.exception)
        assert f"needs {{name}}, which is not installed" in found.output, found.output
        assert "multi-freq-ldpy[serve]" in found.output
    for each in set(sys.modules) - before | {{name}}:
        if each.startswith(("multi_freq_ldpy.service", "uvicorn", name)):
            del sys.modules[each]
print("done")
"""
    assert in_process(program) == "done\n"
    assert not list(tmp_path.iterdir())
