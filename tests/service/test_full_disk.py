"""Failures of the disk under a running service: no space, and files that become read-only."""

import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from multi_freq_ldpy.service import store as store_module
from multi_freq_ldpy.service.batch import HEADER, ID_BYTES

from .conftest import ONCE
from .harness import Load, Server, serving
from .test_api import batch, check_problem, draw, running
from .test_failures import make_body
from .test_kills import NOTHING, compare

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

SMALL = """
from multi_freq_ldpy.service import store
store.LEAST_FREE = 2**20
from multi_freq_ldpy.cli import main; main()
"""
PATH = "/v1/surveys/smoking/reports"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount file systems")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write a file until there is no space."""
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def send_until(server: Server, load: Load, status: int) -> set[int]:
    """Send reports until an answer has a status, and return all statuses."""
    found: set[int] = set()
    end, step = time.monotonic() + 30, ID_BYTES + ONCE.solution.report_bytes
    while status not in found:
        assert time.monotonic() < end, found
        body = make_body(ONCE, [secrets.token_bytes(ID_BYTES) for _ in range(100)])
        rows = [body[i : i + step] for i in range(HEADER.size, len(body), step)]
        load.sent |= {each[:ID_BYTES]: each[ID_BYTES:] for each in rows}
        found.add(server.ask("POST", PATH, body)[0])
    return found


def test_a_full_disk_loses_nothing_and_needs_no_restart(disk: Path, files: list[Path]) -> None:
    database, ballast = f"sqlite:///{disk}/service.sqlite", disk / "ballast"
    with serving(database, files, program=SMALL) as server:
        server.wait_until_ready()
        load = Load([server.port], ONCE, "smoking").start()
        try:
            for _ in range(2):
                load.wait_for(len(load.acknowledged) + 100)
                fill(ballast)
                assert send_until(server, load, 503) <= {200, 503}
                assert server.ask("GET", "/readyz")[0] == 503
                assert server.ask("GET", "/healthz")[0] == 200
                ballast.unlink()
                assert send_until(server, load, 200) <= {200, 503}
                server.wait_until_ready()
        finally:
            load.stop()
    assert load.wrong == []
    assert compare(database, load) == NOTHING


def test_a_file_that_becomes_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(f"sqlite:///{tmp_path}/a.sqlite") as app:
        app.create("a", ONCE)
        bodies = [batch(ONCE, draw(ONCE, 3)) for _ in range(2)]
        assert app.ask("POST", "/v1/surveys/a/reports", bodies[0]).json()["counted"] == 3
        for pragmas, kind in (("query_only = ON", "unavailable"), ("query_only = OFF", None)):
            with monkeypatch.context() as patch:
                patch.setattr(store_module, "PRAGMAS", (*store_module.PRAGMAS, pragmas))
                app.store.engine.dispose()
                app.portal.call(app.store._drop)
                answer = app.ask("POST", "/v1/surveys/a/reports", bodies[1])
            if kind is not None:
                check_problem(answer, kind)
                check_problem(app.ask("GET", "/readyz"), kind)
                assert app.users("a") == [3]
        assert answer.json() == {"counted": 3, "duplicates": 0}
        assert app.users("a") == [6]
        assert app.ask("GET", "/readyz").status_code == 200
