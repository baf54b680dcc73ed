"""Failures around a service: closing under load, two writers, full disks, migrations, logs."""

import os
import secrets
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service import auth, groups, rounds, schema, surveys
from multi_freq_ldpy.service import store as store_module
from multi_freq_ldpy.service.batch import write_batch
from multi_freq_ldpy.service.groups import Counted, NotAccepted, Submission, commit_group
from multi_freq_ldpy.service.store import Store, Unavailable, back_up

from .conftest import ONCE, THOROUGH
from .harness import AUTHORIZED, BINARY, TOKEN, Load, Server, recount, serving
from .test_events import stream
from .test_kills import NOTHING, compare, read_ids

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

RACES = int(os.environ.get("RACES", "20" if THOROUGH else "10"))
WEEKLY = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)


def begin(store: Store, survey: Survey, name: str = "test") -> surveys.Served:
    """Create and open a survey."""
    with store.write() as connection:
        served, _ = surveys.create(connection, name, survey)
        rounds.change_state(connection, name, "open")
    return served


def make_body(survey: Survey, ids: list[bytes], round: int = 0) -> bytes:
    """Return a body with honest reports."""
    data = survey.solution.randomize([[0] * survey.solution.d] * len(ids)).tobytes()
    size = survey.solution.report_bytes
    records = [(each, data[i * size : (i + 1) * size]) for i, each in enumerate(ids)]
    return write_batch(survey.digest, round, records)


def read_users(store: Store, served: surveys.Served, number: int = 0) -> int:
    """Return the number of counted users of a round."""
    with store.read() as connection:
        found = groups.read_tally(connection, served, number)
    assert found is not None
    return found[0].users


def race(stores: list[Store], served: surveys.Served, pairs: int) -> list[Any]:
    """Send equal records to two writers at once, in opposite orders. Returns wrong results."""
    wrong: list[Any] = []
    for _ in range(pairs):
        ids = [secrets.token_bytes(16) for _ in range(40)]
        bodies = [make_body(served.survey, order) for order in (ids, ids[::-1])]
        results: list[Any] = [None, None]
        start = threading.Barrier(2)

        def count(i: int, bodies: Any = bodies, results: Any = results, start: Any = start) -> None:
            start.wait()
            try:
                (results[i],) = commit_group(stores[i], [Submission(served, 0, bodies[i])], i)
            except Unavailable as error:
                results[i] = error

        threads = [threading.Thread(target=count, args=(i,)) for i in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counted = [each.counted for each in results if isinstance(each, Counted)]
        if len(counted) < 2 or sum(counted) != len(ids):
            wrong.append(results)
    return wrong


def test_two_processes_count_a_batch_once_and_never_block_each_other(stores: Any) -> None:
    served = begin(stores[0], ONCE)
    assert race(stores, served, 5 * RACES) == []
    assert read_users(stores[0], served) == 5 * RACES * 40


def close_under_load(stores: list[Store], races: int) -> int:
    """Close rounds while others count. Returns how many tallies changed after the close."""
    served, changed = begin(stores[0], WEEKLY), 0
    for number in range(races):
        stop, refused = threading.Event(), threading.Event()

        def count(number: int = number, stop: Any = stop, refused: Any = refused) -> None:
            while not stop.is_set():
                ids = [secrets.token_bytes(16) for _ in range(50)]
                body = make_body(WEEKLY, ids, number)
                (found,) = commit_group(stores[1], [Submission(served, number, body)], 1)
                if isinstance(found, NotAccepted):
                    refused.set()
                    return

        thread = threading.Thread(target=count)
        thread.start()
        while not read_users(stores[0], served, number):
            assert thread.is_alive()
            time.sleep(0.001)
        with stores[0].write() as connection:
            rounds.open_next(connection, served, "open", number + 1)
        after = read_users(stores[0], served, number)
        assert refused.wait(10)
        thread.join()
        changed += read_users(stores[0], served, number) != after
    return changed


def test_no_report_lands_after_its_round_is_closed(stores: Any) -> None:
    assert close_under_load(stores, RACES) == 0


def test_closing_a_survey_under_load_counts_what_was_acknowledged(
    database: str, files: list[Path]
) -> None:
    with serving(database, files) as server:
        load = Load([server.port], ONCE, "smoking").start()
        load.wait_for(200)
        load.closed.set()
        assert server.ask("PATCH", "/v1/surveys/smoking", {"state": "closed"})[0] == 200
        _, before = server.ask("GET", "/v1/surveys/smoking/rounds/0/tally")
        load.stop()
        _, after = server.ask("GET", "/v1/surveys/smoking/rounds/0/tally")
        assert before == after
        assert load.wrong == []
        tally = ONCE.unpack(after)
        assert tally.users >= len(load.acknowledged) == load.counted
        path = "/v1/surveys/smoking/reports"
        body = make_body(ONCE, [secrets.token_bytes(16)])
        assert server.ask("POST", path, body)[1]["type"] == "/problems/not-open"


def test_a_signal_to_stop_ends_the_service_in_order(database: str, files: list[Path]) -> None:
    server = Server(database, files).start()
    load = Load([server.port], ONCE, "smoking").start()
    load.wait_for(100)
    code = server.stop()
    assert code in (0, -signal.SIGTERM)
    server.start()
    load.stop()
    server.kill()
    assert load.wrong == []
    assert compare(database, load) == NOTHING


FULL = """
from multi_freq_ldpy.service import store
store.PRAGMAS += ("max_page_count = 40",)
from multi_freq_ldpy.cli import main; main()
"""


def test_a_full_database_refuses_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = (*store_module.PRAGMAS, "max_page_count = 60")
    monkeypatch.setattr(store_module, "PRAGMAS", pages)
    store = Store(f"sqlite:///{tmp_path}/full.sqlite")
    served = begin(store, ONCE)
    bodies, counted, failed = [], 0, 0
    while failed < 5:
        bodies.append(make_body(ONCE, [secrets.token_bytes(16) for _ in range(100)]))
        try:
            (found,) = commit_group(store, [Submission(served, 0, bodies[-1])], 0)
        except Unavailable:
            failed += 1
        else:
            counted += found.counted  # type: ignore[union-attr]
    assert read_users(store, served) == counted > 0
    monkeypatch.undo()
    store.engine.dispose()  # a limit belongs to a connection
    for body in bodies:
        commit_group(store, [Submission(served, 0, body)], 0)
    assert read_users(store, served) == 100 * len(bodies)
    store.close()


def test_a_full_database_is_answered_with_503(tmp_path: Path, files: list[Path]) -> None:
    database = f"sqlite:///{tmp_path}/full.sqlite"
    with serving(database, files, program=FULL) as server:
        statuses, acknowledged = set(), 0
        for _ in range(100):
            body = make_body(ONCE, [secrets.token_bytes(16) for _ in range(100)])
            status, content = server.ask("POST", "/v1/surveys/smoking/reports", body)
            statuses.add(status)
            acknowledged += content["counted"] if status == 200 else 0
        assert statuses == {200, 503}
        assert content["type"] == "/problems/unavailable"
        _, data = server.ask("GET", "/v1/surveys/smoking/rounds/0/tally")
        assert ONCE.unpack(data).users == acknowledged


def test_nothing_but_reports_is_stored_or_logged(
    database: str, tmp_path: Path, files: list[Path], request: pytest.FixtureRequest
) -> None:
    log = tmp_path / "log"
    agent, forwarded, proxy = "canary-agent-5c1f", "203.0.113.77", "canary-proxy-9d2e"
    name, answer = secrets.token_bytes(16), b"canary-body-of-a-request"
    headers = {"User-Agent": agent, "X-Forwarded-For": forwarded, "X-Real-IP": forwarded} | BINARY
    headers |= {"Forwarded": f"for={forwarded};by={proxy}", "Via": f"1.1 {proxy}"}
    shown = []
    options = ["--behind-proxy", "1", "--rate", "1000"]
    with serving(database, files, log=log, options=options) as server:
        body = make_body(ONCE, [name])
        path = "/v1/surveys/smoking/reports"
        for content in (body, body, body[:-1], answer * 3, body + answer):
            server.ask("POST", path, content, headers)
        for given in ({"Authorization": f"Bearer {agent}"}, AUTHORIZED):
            server.ask("GET", "/v1/surveys", headers=headers | given)
            server.ask("POST", "/v1/surveys", {"canary": agent}, headers | given)
            server.ask("GET", f"/{agent}/{proxy}", headers=headers | given)
            server.ask("POST", f"/v1/surveys/{agent}/reports", body, headers | given)
        with stream(server, headers | AUTHORIZED | {"Last-Event-ID": agent}) as events:
            status, page = server.ask("GET", "/metrics", headers=headers | AUTHORIZED)
            assert status == 200 and b"reports_counted_total 1.0" in page
            shown.append(page)
            server.stop()
            shown.append(events.read())
    shown.append(log.read_bytes())
    store = Store(database)
    assert read_ids(store) == [name]
    store.close()
    if store.sqlite:
        stored = b"".join(each.read_bytes() for each in store.path.parent.glob("service.sqlite*"))
    else:
        cluster = request.getfixturevalue("cluster")
        cluster.stop(at_once=False)  # what the server holds in memory is then in its files
        every = (cluster.folder / "data").rglob("*")
        stored = b"".join(each.read_bytes() for each in every if each.is_file())
        cluster.start()
    assert name in stored
    hashed = auth.hash_token(TOKEN)
    for canary in (agent, forwarded, proxy, TOKEN, hashed):
        assert not any(canary.encode() in each for each in shown), canary
        assert canary == hashed or canary.encode() not in stored, canary
    assert not store.sqlite or b"127.0.0.1" not in stored  # PostgreSQL has files of its own
    for data in (answer, name, name.hex().encode()):
        assert not any(data in each for each in shown)
    assert answer not in stored


def test_closed_rounds_are_swept(stores: Any) -> None:
    served = begin(stores[0], ONCE)
    ids = [secrets.token_bytes(16) for _ in range(500)]
    commit_group(stores[0], [Submission(served, 0, make_body(ONCE, ids))], 0)
    assert rounds.sweep(stores[0]) == 0
    with stores[0].write() as connection:
        rounds.change_state(connection, "test", "closed")
    assert rounds.sweep(stores[0]) == 500
    assert rounds.sweep(stores[0]) == 0
    assert read_users(stores[0], served) == 500


def test_a_backup_of_a_running_service_is_complete(tmp_path: Path, files: list[Path]) -> None:
    file, copy = tmp_path / "service.sqlite", tmp_path / "copy.sqlite"
    with serving(f"sqlite:///{file}", files) as server:
        load = Load([server.port], ONCE, "smoking").start()
        load.wait_for(100)
        back_up(file, copy)
        load.stop()
    assert copy.stat().st_mode & 0o077 == 0
    with pytest.raises(FileExistsError):
        back_up(file, copy)
    store = Store(f"sqlite:///{copy}")
    with store.read() as connection:
        landed = list(connection.execute(sa.select(schema.report.c.id)).scalars())
        found = surveys.find(connection, "smoking")
        assert found is not None
        counted = groups.read_tally(connection, found[0], 0)
    store.close()
    assert counted is not None and len(landed) >= 100
    assert counted[0] == recount(load, landed)
