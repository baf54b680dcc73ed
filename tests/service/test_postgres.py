"""Failures that only PostgreSQL has: several processes at once, and a server that stops."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from multi_freq_ldpy.service import groups, schema
from tools.postgres import Cluster, start_postgres

from .conftest import ONCE
from .harness import Load, Server, serving, wait_until
from .test_failures import RACES, begin, close_under_load, make_body, race
from .test_kills import NOTHING, compare
from .test_metrics import read
from .test_stopping import count_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.extras,
    pytest.mark.parametrize("kind", ["postgresql"], indirect=True),
]


def test_ids_without_an_order_are_found(stores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = begin(stores[0], ONCE)
    monkeypatch.setattr(groups, "_find_first", lambda ids: np.arange(len(ids)))
    assert any(race(stores, served, 2) for _ in range(5 * RACES))


def test_a_round_that_is_not_locked_is_found(stores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = schema.round.c
    unlocked = sa.select(columns.pk).where(
        columns.survey == sa.bindparam("own_survey"),
        columns.number == sa.bindparam("own_number"),
        columns.state == "open",
    )
    monkeypatch.setattr(groups, "FIND_OPEN", unlocked)
    insert = groups._insert_ids

    def slowly(*given: Any) -> Any:
        time.sleep(0.02)
        return insert(*given)

    monkeypatch.setattr(groups, "_insert_ids", slowly)
    assert close_under_load(stores, RACES) > 0


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A cluster with few databases, which starts soon after it was stopped at once."""
    with start_postgres() as started:
        yield started


@pytest.mark.usefixtures("kind")
def test_a_database_that_stops_and_starts_loses_nothing(
    files: list[Path], own_cluster: Cluster
) -> None:
    cluster, database = own_cluster, own_cluster.create_database()
    servers = [Server(database, files).start() for _ in range(2)]
    load = Load([each.port for each in servers], ONCE, "smoking", largest=40).start()
    try:
        for _ in range(max(3, min(RACES // 10, 10))):
            time.sleep(0.4)
            cluster.stop()
            assert servers[0].ask("GET", "/readyz")[0] == 503
            assert servers[0].ask("GET", "/healthz")[0] == 200
            cluster.start()
            servers[0].wait_until_ready()
        many = len(load.acknowledged)
        load.wait_for(many + 100)
    finally:
        load.stop()
        for server in servers:
            server.kill()
    assert load.wrong == []
    assert compare(database, load) == NOTHING


def children(process: Any) -> list[int]:
    """Return the processes that a process has started with the program of the workers."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    every = [int(each) for task in tasks for each in task.read_text().split()]
    return [each for each in every if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def test_several_workers_count_together(database: str, files: list[Path], tmp_path: Path) -> None:
    server = Server(database, files, workers=2, log=tmp_path / "log").start()
    load = Load([server.port], ONCE, "smoking").start()
    try:
        load.wait_for(200)
        wait_until(lambda: count_lines(server.log, "INFO started") == 2)
        os.kill(children(server.process)[0], signal.SIGKILL)  # another one takes its place
        wait_until(lambda: count_lines(server.log, "INFO started") == 3)
        load.wait_for(len(load.acknowledged) + 200)
        load.stop()
        assert server.stop() in (0, -signal.SIGTERM)
        assert count_lines(server.log, "INFO stopped") == 2
    finally:
        load.stop()
        server.kill()
    assert load.wrong == []
    assert compare(database, load) == NOTHING


def test_several_processes_share_their_figures(database: str, files: list[Path]) -> None:
    """Check that the page of any process has the figures of all."""
    with serving(database, files, workers=2) as server:
        for i in range(40):
            body = make_body(ONCE, [i.to_bytes(16, "big")])
            assert server.ask("POST", "/v1/surveys/smoking/reports", body)[0] == 200
        for _ in range(5):
            page = server.ask("GET", "/metrics")[1].decode()
            found = read(page)
            assert found["reports_counted_total"] == found["group_size_sum"] == 40
            assert found["queue_reports"] == 0 and "pid" not in page
            assert found['round_users{round="0",survey="smoking"}'] == 40
