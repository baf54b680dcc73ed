"""Verification of the collection service and of senders: many kills, and many ids."""

import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service import rounds, surveys
from multi_freq_ldpy.service.batch import HEADER, MAGIC, VERSION
from multi_freq_ldpy.service.groups import Submission, commit_group
from multi_freq_ldpy.service.store import Store

ROOT = Path(__file__).parent.parent
DATABASES = ("sqlite", "postgresql")
GROUP = 1000


def run_tests(tests: str, chosen: str, **asked: object) -> tuple[str, str]:
    """Run tests of the service at length. Returns what they print, and what went wrong."""
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider"]
    command += [f"tests/service/{tests}", "-k", chosen]
    given = {**os.environ, **{name: str(value) for name, value in asked.items()}}
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    return done.stdout, "" if done.returncode == 0 else done.stdout[-500:]


def kill_services(database: str, kills: int, reports: int) -> tuple[int, str]:
    """Kill services under load. Returns the number of reports, and what went wrong."""
    asked = {"DATABASES": database, "KILLS": kills, "REPORTS": reports}
    said, wrong = run_tests("test_kills.py", "lose_nothing", **asked)
    found = re.search(r"\d+ kills, (\d+) reports", said)
    return int(found[1]) if found else 0, wrong


def race_services(database: str, races: int) -> str:
    """Count equal batches at once, close rounds under load, and stop PostgreSQL.

    There are five pairs of batches per race, and a tenth as many stops. Returns what went wrong.
    """
    asked = {"DATABASES": database, "RACES": races}
    wrong = run_tests("test_failures.py", "two_processes or after_its_round", **asked)[1]
    if database == "postgresql" and not wrong:
        wrong = run_tests("test_postgres.py", "stops_and_starts", **asked)[1]
    return wrong


def kill_senders(kills: int) -> tuple[int, str]:
    """Kill devices between their steps. Returns the number of kills, and what went wrong."""
    said, wrong = run_tests("test_sender.py", "killed_devices", DATABASES="sqlite", KILLS=kills)
    found = re.search(r"(\d+) kills", said)
    return int(found[1]) if found else 0, wrong


def release_orders(database: str, orders: int, seed: int) -> tuple[int, str]:
    """Check releases over random orders of arrival. Returns their number, and what went wrong."""
    asked = {"DATABASES": database, "ORDERS": str(orders), "SEED": str(seed)}
    test = "tests/service/test_release.py::test_no_two_releases_differ_by_less_than_a_step"
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", test]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    found = re.search(r"\d+ orders, (\d+) releases", done.stdout)
    return int(found[1]) if found else 0, "" if done.returncode == 0 else done.stdout[-500:]


def send_hostile_bodies(bodies: int, seed: int) -> tuple[int, str]:
    """Send changed bodies. Returns the number of refused ones, and what went wrong."""
    asked = {"DATABASES": "sqlite", "BODIES": bodies, "SEED": seed}
    said, wrong = run_tests("test_hostile_bodies.py", "test_many_hostile_bodies", **asked)
    found = re.search(r"\d+ bodies, (\d+) refused", said)
    return int(found[1]) if found else 0, wrong


def count_many_ids(database: str, few: int, many: int) -> tuple[float, float, float, int]:
    """Count reports in groups of 1000 until a round has many ids.

    The result has the milliseconds per group near ``few`` and near ``many`` ids, and the bytes per
    id. Its last entry is the number of rows after the round is closed and swept.
    """
    if database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            return _count_until(Store(f"sqlite:///{folder}/many.sqlite"), few, many)
    sys.path.append(str(ROOT))
    from tools.postgres import start_postgres

    with start_postgres() as cluster:
        return _count_until(Store(cluster.create_database()), few, many)


def _count_until(store: Store, few: int, many: int) -> tuple[float, float, float, int]:
    survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
    with store.write() as connection:
        served, _ = surveys.create(connection, "many", survey)
        rounds.change_state(connection, "many", "open")
    header = HEADER.pack(MAGIC, VERSION, bytes.fromhex(survey.digest), 0)
    empty = _size(store)
    times: list[float] = []
    for _ in range(0, many, GROUP):
        body = header + b"".join(secrets.token_bytes(16) + bytes(2) for _ in range(GROUP))
        start = time.perf_counter()
        commit_group(store, [Submission(served, 0, body)], 0)
        times.append(time.perf_counter() - start)
    span = max(1, few // GROUP // 2)
    at = few // GROUP
    early, late = sorted(times[at - span : at + span]), sorted(times[-2 * span :])
    size = (_size(store) - empty) / many
    with store.write() as connection:
        rounds.change_state(connection, "many", "closed")
    while rounds.sweep(store):
        pass
    with store.read() as connection:
        left = connection.exec_driver_sql("SELECT count(*) FROM report").scalar() or 0
    store.close()
    middle = span
    return 1e3 * early[middle], 1e3 * late[middle], size, left


def _size(store: Store) -> Any:
    """Return the number of bytes of the database."""
    with store.read() as connection:
        if store.sqlite:
            pages, size = (
                connection.exec_driver_sql(f"PRAGMA {name}").scalar() or 0
                for name in ("page_count", "page_size")
            )
            return pages * size
        return connection.exec_driver_sql("SELECT pg_total_relation_size('report')").scalar()
