"""Tests of the end of a service: with requests under way, and without its database."""

import secrets
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from multi_freq_ldpy.service.store import Store

from .conftest import ONCE
from .harness import PATIENCE, Server, wait_until
from .test_failures import make_body

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

MAIN = "\nfrom multi_freq_ldpy.cli import main; main()"
NOTED = """
from multi_freq_ldpy.service import store, writer
submit = writer.Writer.submit

async def note(self, submission):
    print("a body waits", flush=True)
    return await submit(self, submission)

writer.Writer.submit = note
store.PRAGMAS += ("busy_timeout = 300000",)
"""
HASTY = "\nfrom multi_freq_ldpy.service import server\nserver.DRAIN, server.LAST = 1, 1"


class Waiting:
    """Requests to a service that wait, because the test holds the tables of the database."""

    def __init__(self, server: Server, many: int) -> None:
        self.server, self.answers = server, [None] * many
        self.store = Store(server.database, alone=False)
        self._held = self.store.write()
        connection = self._held.__enter__()
        if not self.store.sqlite:
            connection.execute(sa.text("LOCK TABLE report IN ACCESS EXCLUSIVE MODE"))
        self.threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(many)]
        for thread in self.threads:
            thread.start()
        wait_until(lambda: count_lines(server.log, "a body waits") == many)

    def _ask(self, i: int) -> None:
        body = make_body(ONCE, [secrets.token_bytes(16)])
        with suppress(OSError):
            self.answers[i] = self.server.ask("POST", "/v1/surveys/smoking/reports", body)

    def end(self) -> list[Any]:
        """Release the tables, and return all answers."""
        self._held.__exit__(None, None, None)
        for thread in self.threads:
            thread.join()
        self.store.close()
        return self.answers


def count_lines(log: Path | None, what: str) -> int:
    """Return the number of lines of a log that hold a text."""
    assert log is not None
    return sum(what in each for each in log.read_text().splitlines())


def is_closed(server: Server) -> bool:
    """Return True if a service takes no new connections."""
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_requests_under_way_are_answered_after_the_signal(
    database: str, files: list[Path], tmp_path: Path
) -> None:
    server = Server(database, files, program=NOTED + MAIN, log=tmp_path / "log").start()
    try:
        waiting = Waiting(server, 5)
        server.process.terminate()
        wait_until(lambda: is_closed(server))
        answers = waiting.end()
        assert answers == [(200, {"counted": 1, "duplicates": 0})] * 5
        assert server.process.wait(PATIENCE) in (0, -signal.SIGTERM)
        assert [count_lines(server.log, each) for each in ("INFO started", "INFO stopped")] == [
            1,
            1,
        ]
        server.start()
        assert server.ask("GET", "/v1/surveys/smoking/rounds")[1][0]["users"] == 5
    finally:
        server.kill()


def test_a_service_ends_in_time_without_its_database(
    database: str, files: list[Path], tmp_path: Path
) -> None:
    server = Server(database, files, program=NOTED + HASTY + MAIN, log=tmp_path / "log").start()
    try:
        waiting = Waiting(server, 3)
        assert server.stop() == 1
        assert count_lines(server.log, "ERROR ended without an answer of the database") == 1
        answers = waiting.end()
        assert [status for status, _ in answers] == [503] * 3
        assert {each["type"] for _, each in answers} == {"/problems/unavailable"}
        assert "Traceback" not in server.log.read_text()
    finally:
        server.kill()
