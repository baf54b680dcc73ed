"""Kills of services under load: nothing is lost, nothing counts twice, and faults are found."""

import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from multi_freq_ldpy.service import schema, surveys
from multi_freq_ldpy.service.groups import read_tally
from multi_freq_ldpy.service.store import Store

from .conftest import ONCE, THOROUGH
from .harness import Load, Server, recount

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

KILLS = int(os.environ.get("KILLS", "4" if THOROUGH else "2"))
REPORTS = int(os.environ.get("REPORTS", "0"))
LEAST = 300
NAME = "smoking"


def read_ids(store: Store) -> list[bytes]:
    """Return all ids that were counted."""
    with store.read() as connection:
        found = connection.execute(sa.select(schema.report.c.id)).scalars()
        return [each if isinstance(each, bytes) else each.bytes for each in found]


def compare(database: str, load: Load) -> dict[str, int]:
    """Return what differs between the database and the clients' own bytes."""
    store = Store(database)
    try:
        landed = read_ids(store)
        with store.read() as connection:
            found = surveys.find(connection, NAME)
            assert found is not None
            counted = read_tally(connection, found[0], 0)
        assert counted is not None
        own, tally = recount(load, landed), counted[0]
        return {
            "lost": len(load.acknowledged.keys() - set(landed)),
            "foreign": len(set(landed) - load.sent.keys()),
            "users": tally.users - len(landed),
            "counts": int(np.abs(tally.counts - own.counts).sum()),
            "n": int(np.abs(tally.n - own.n).sum()),
        }
    finally:
        store.close()


def run(
    database: str, files: list[Path], kills: int, least: int, program: str | None = None
) -> Load:
    """Kill services under load. Two processes share a PostgreSQL database."""
    options: dict[str, Any] = {} if program is None else {"program": program}
    many = 1 if database.startswith("sqlite") else 2
    servers = [Server(database, files, **options).start() for _ in range(many)]
    chooser = random.Random(1)
    load = Load([each.port for each in servers], ONCE, NAME, largest=40).start()
    try:
        for i in range(kills):
            load.wait_for(len(load.acknowledged) + 1)  # also on a slow machine
            time.sleep(chooser.uniform(0.15, 0.9))
            server = servers[i % many]
            server.kill()
            server.start()
        load.wait_for(least, 3600)
        load.stop()
    finally:
        load.stop()
        for server in servers:
            server.kill()
    return load


NOTHING = dict.fromkeys(["lost", "foreign", "users", "counts", "n"], 0)


def test_kills_lose_nothing_and_count_nothing_twice(database: str, files: list[Path]) -> None:
    load = run(database, files, KILLS, max(REPORTS, LEAST))
    assert load.wrong == []
    assert len(load.acknowledged) >= LEAST
    assert compare(database, load) == NOTHING
    print(f"{KILLS} kills, {len(load.acknowledged)} reports")


MAIN = "\nfrom multi_freq_ldpy.cli import main; main()"
EARLY = """
import time
from multi_freq_ldpy.service import writer
from multi_freq_ldpy.service.groups import Counted

def count(self, group):
    found = [Counted(each.records, 0) for each, _ in group]
    self._loop.call_soon_threadsafe(self._resolve, group, found)
    time.sleep(0.5)
    self._commit(self.store, [each for each, _ in group], self._shard)

writer.Writer._count = count
"""
APART = """
import time
from multi_freq_ldpy.service import groups, writer

add, commit, later = groups.add_counts, groups.commit_group, []
groups.add_counts = lambda connection, *given: later.append(given)

def apart(store, group, shard):
    found = commit(store, group, shard)
    time.sleep(0.5)
    with store.write() as connection:
        while later:
            add(connection, *later.pop(0))
    return found

writer.Writer.__init__.__defaults__ = (apart, None)
"""


@pytest.mark.parametrize(
    ("fault", "signs"),
    [(EARLY, ["lost"]), (APART, ["users", "counts"])],
    ids=["answer before the commit", "ids and tally in two transactions"],
)
def test_planted_faults_are_found(
    fault: str, signs: list[str], database: str, files: list[Path]
) -> None:
    load = run(database, files, 2, 0, fault + MAIN)
    found = compare(database, load)
    assert all(found[sign] for sign in signs), found
