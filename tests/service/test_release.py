"""Tests of releases: what people without a token see, and how it moves."""

import os
import random
import secrets
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import GRR, SPL, Survey
from multi_freq_ldpy.service import reading, release, rounds, surveys
from multi_freq_ldpy.service.batch import write_batch
from multi_freq_ldpy.service.groups import Submission, commit_group
from multi_freq_ldpy.service.problems import Problem
from multi_freq_ldpy.service.store import Store
from multi_freq_ldpy.service.surveys import Audience, Served

from .conftest import THOROUGH
from .test_api import ESTIMATED, ONCE, WAVES, YEAR, App, app, check_problem, draw, quick

__all__ = ["app"]

ORDERS = int(os.environ.get("ORDERS", "100" if THOROUGH else "50"))
"""The number of random orders of arrival."""

BYTE = Survey({"a": [0, 1, 2]}, epsilon=1.0, solution=SPL, protocol=GRR)
"""A survey whose reports are one byte."""

AFTER = 25
"""The number of orders after which a process starts again."""

# Random orders of arrival


class Processes:
    """Three connections to one database, as three processes have them."""

    def __init__(self, database: str, held: ExitStack) -> None:
        self._database, self._held = database, held
        self.stores = [self._open() for _ in range(3)]

    def _open(self) -> Store:
        return self._held.enter_context(closing(Store(self._database, alone=False)))

    def restart(self, i: int) -> None:
        """End a process, and start it again."""
        self.stores[i].close()
        self.stores[i] = self._open()


def create(store: Store, name: str, survey: Survey, audience: Audience) -> Served:
    """Create and open a survey for an audience."""
    with store.write() as connection:
        served, _ = surveys.create(connection, name, survey, audience=audience)
        rounds.change_state(connection, name, "open")
    return served


def submit(store: Store, served: Served, reports: list[bytes], shard: int) -> None:
    """Count reports with new ids."""
    records = [(secrets.token_bytes(16), each) for each in reports]
    body = write_batch(served.digest, 0, records)
    commit_group(store, [Submission(served, 0, body)], shard)


def look(store: Store, name: str) -> tuple[int, bytes] | None:
    """Return users and counts that people without a token see, or None below the least number."""
    try:
        view = reading.look(store, name, None, "latest")
    except Problem:
        return None
    (tally,) = view.tallies.values()
    assert view.released and view.versions == [tally.users]
    return tally.users, tally.counts.tobytes()


def check_order(processes: Processes, name: str, chooser: random.Random) -> int:
    """Let reports arrive and people look in a random order. Returns the number of releases.

    A process finds that a release is due, and may replace it any time later.
    """
    audience = Audience(True, chooser.randint(1, 6), chooser.randint(1, 4))
    served = create(processes.stores[0], name, BYTE, audience)
    reports = [bytes([chooser.randrange(3)]) for _ in range(chooser.randint(3, 14))]
    # Counts after each number of users
    counted: dict[int, bytes] = {}
    due: list[int] = []
    seen: list[tuple[int, bytes]] = []
    at = 0
    while at < len(reports) or due:
        i = chooser.randrange(3)
        store, action = processes.stores[i], chooser.choice("sssddmml")
        if action == "s" and at < len(reports):
            many = chooser.choice((1, 1, 2, 4))
            submit(store, served, reports[at : at + many], i)
            at = min(at + many, len(reports))
            sums = np.bincount(np.frombuffer(b"".join(reports[:at]), np.uint8), minlength=3)
            counted[at] = sums.astype("<i8").tobytes()
        elif action == "d" and at < len(reports):
            with store.read() as connection:
                due += release.find_due(connection, served, audience, [0])
        elif action == "m" and due:
            release.move(store, due.pop(chooser.randrange(len(due))))
        elif action == "l" and (found := look(store, name)) is not None:
            seen.append(found)
    every = [each for each in (look(store, name) for store in processes.stores) if each]
    assert len(every) in (0, 3) and len(set(every)) <= 1, "processes show different releases"
    seen += every
    users = [each for each, _ in seen]
    assert users == sorted(users) and all(each >= audience.min_users for each in users)
    assert all(counts == counted[each] for each, counts in seen), "a release of other reports"
    moves = sorted({0, *users})
    steps = [later - earlier for earlier, later in pairwise(moves)]
    assert all(each >= audience.step for each in steps), f"step {audience.step}: {users}"
    return len(steps)


def check_orders(database: str, orders: int, seed: int = 1) -> int:
    """Check many random orders, with restarts. Returns the number of releases."""
    chooser, found = random.Random(seed), 0
    with quick(), ExitStack() as held:
        processes = Processes(database, held)
        for i in range(orders):
            found += check_order(processes, f"order-{i}", chooser)
            if i % AFTER == 0:
                processes.restart(chooser.randrange(3))
            with processes.stores[0].write() as connection:
                rounds.change_state(connection, f"order-{i}", "closed")
                surveys.delete(connection, f"order-{i}", f"order-{i}")
    return found


@pytest.mark.slow
def test_no_two_releases_differ_by_less_than_a_step(database: str) -> None:
    """Check releases over random orders of arrival, in three processes that start again."""
    found = check_orders(database, ORDERS, int(os.environ.get("SEED", "1")))
    assert found > ORDERS
    print(f"{ORDERS} orders, {found} releases")


def _move_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Replace a release that was due, without asking again while the round is held."""
    move = release.move

    def unchecked(store: Store, key: int) -> bool:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(release, "is_due", lambda *_: True)
            return move(store, key)

    patch.setattr(release, "move", unchecked)


def _show_live(patch: pytest.MonkeyPatch) -> None:
    """Show the live tally as a release."""

    def show(connection: Any, served: Any, state: Any, wanted: Any, _: Any) -> Any:
        live = reading._look_live(connection, served, state, wanted)
        (tally,) = live.tallies.values()
        return reading.View(served, state, True, wanted, live.tallies, [tally.users])

    patch.setattr(reading, "_look_released", show)


def _forget_the_step(patch: pytest.MonkeyPatch) -> None:
    """Move a release as soon as the least number of reports is counted."""
    patch.setattr(release, "is_due", lambda users, _, audience: users >= audience.min_users)


def _keep_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Keep releases in each process, and not in the database."""
    kept: dict[tuple[int, str, int], Any] = {}
    original = reading.look

    def own(store: Store, name: str, scope: str | None, number: str) -> Any:
        live = original(store, name, "admin", number)
        (tally,), (pk) = live.tallies.values(), live.served.pk
        with store.read() as connection:
            audience = surveys.read_audience(connection, live.served)
        before = kept.get((id(store), name, pk))
        if release.is_due(tally.users, 0 if before is None else before.versions[0], audience):
            before = reading.View(live.served, live.state, True, [0], {0: tally}, [tally.users])
            kept[id(store), name, pk] = before
        if before is None:
            raise Problem("too-few", "There is no release yet.")
        return before

    patch.setattr(reading, "look", own)


FAULTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    _move_unchecked,
    _show_live,
    _forget_the_step,
    _keep_in_memory,
]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_planted_faults_of_releases_are_found(
    fault: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the test above finds each fault."""
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_orders(f"sqlite:///{tmp_path}/a.sqlite", 200)


def race(database: str, moves: int) -> list[tuple[int, bytes]]:
    """Count reports one by one while two processes look, until a release has moved often.

    Returns everything that was seen.
    """
    seen: list[tuple[int, bytes]] = []
    done = threading.Event()
    with quick(), ExitStack() as held:
        processes = Processes(database, held)
        served = create(processes.stores[0], "race", BYTE, Audience(True, 10, 7))

        def watch(store: Store) -> None:
            while not done.is_set():
                found = look(store, "race")
                if found is not None:
                    seen.append(found)

        threads = [threading.Thread(target=watch, args=(each,)) for each in processes.stores[1:]]
        for thread in threads:
            thread.start()
        try:
            for i in range(10_000):
                if len({*seen}) >= moves:
                    break
                submit(processes.stores[0], served, [bytes([i % 3])], 0)
        finally:
            done.set()
            for thread in threads:
                thread.join()
    return seen


@pytest.mark.slow
def test_releases_while_reports_arrive(database: str) -> None:
    """Check the steps between releases that processes move at the same time."""
    seen = race(database, 8)
    moves = sorted({users for users, _ in seen})
    assert len(moves) > 7 and moves[0] >= 10
    assert all(b - a >= 7 for a, b in pairwise(moves)), moves
    assert len(set(seen)) == len(moves), "two releases of equal users differ"


# Over HTTP


def publish(app: App, survey: Survey = ONCE, least: int = 5, step: int = 3, **more: Any) -> str:
    """Create a public survey, and return the path of its rounds."""
    app.create("a", survey, public=True, min_users=least, step=step, **more)
    return "/v1/surveys/a/rounds"


def test_what_the_public_sees(app: App) -> None:
    """Check that counting changes nothing for the public, until a release moves."""
    path = publish(app)
    url = f"{path}/0/estimate"
    check_problem(app.ask("GET", url, token=None), "too-few")
    shown, tags = [], []
    for sent in range(1, 13):
        app.send("a", ONCE, draw(ONCE, 1, seed=sent))
        answer = app.ask("GET", url, token=None)
        listed = app.ask("GET", path, token=None).json()
        live = app.ask("GET", url).json()
        assert not live["released"] and live["rounds"][0]["users"] == sent
        if sent < 5:
            check_problem(answer, "too-few")
            assert str(sent) not in answer.json()["detail"]
            assert listed == [{"number": 0, "state": "open", "users": 0}]
            continue
        found = answer.json()
        assert found["released"] and found["version"] == found["rounds"][0]["users"]
        assert listed == [{"number": 0, "state": "open", "users": found["version"]}]
        shown.append(found["version"])
        tags.append(answer.headers["ETag"])
        again = app.ask("GET", url, token=None, If_None_Match=tags[0])
        assert again.status_code == (304 if tags[-1] == tags[0] else 200)
    assert shown == [5, 5, 5, 8, 8, 8, 11, 11]
    assert len(set(zip(shown, tags, strict=True))) == len(set(tags)) == 3
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
    found = app.ask("GET", url, token=None).json()
    assert (found["version"], found["state"]) == (11, "closed")  # the last report is not released
    assert app.ask("GET", url).json()["version"] == 12


@pytest.mark.parametrize("name", ESTIMATED)
def test_releases_are_estimates_of_their_tally(app: App, name: str) -> None:
    """Check that a release has the figures of the live tally at its time."""
    survey = ESTIMATED[name]
    path = publish(app, survey, 10, 10)
    numbers = ["0"]
    app.send("a", survey, draw(survey, 90))
    if survey.longitudinal:
        app.ask("POST", path, {"number": 1})
        app.send("a", survey, draw(survey, 90, 1), 1)
        numbers += ["1", "all", "latest"]
    live = [app.ask("GET", f"{path}/{each}/estimate").json() for each in numbers]
    seen = [app.ask("GET", f"{path}/{each}/estimate", token=None).json() for each in numbers]
    for one, other in zip(live, seen, strict=True):
        assert one["rounds"] == other["rounds"] and other["released"] > one["released"]
    last = int(numbers[-1] == "latest")
    app.send("a", survey, draw(survey, 60, last)[:9], last)
    again = [app.ask("GET", f"{path}/{each}/estimate", token=None).json() for each in numbers]
    assert again == seen


def test_rounds_without_a_release(app: App) -> None:
    """Check rounds below the least number: they are left out, and histories take them as empty."""
    path = publish(app, YEAR)
    app.send("a", YEAR, draw(YEAR, 60)[:4])
    app.ask("POST", path, {"number": 1})
    app.send("a", YEAR, draw(YEAR, 60, 1)[:9], 1)
    check_problem(app.ask("GET", f"{path}/0/estimate", token=None), "too-few")
    found = app.ask("GET", f"{path}/all/estimate", token=None).json()
    assert [each["round"] for each in found["rounds"]] == [1] and found["version"] == 9
    assert [each["users"] for each in app.ask("GET", path, token=None).json()] == [0, 9]
    empty = YEAR.tally([], round=0)
    data = app.ask("GET", f"{path}/1/tally").content
    expected = YEAR.estimate([empty, YEAR.unpack(data)])[-1]
    shown = found["rounds"][0]["attributes"]
    for each in shown:
        own = [value["frequency"] for value in each["values"]]
        assert own == [None if f != f else f for f in expected[each["name"]].frequencies.tolist()]


def test_changes_of_the_audience(app: App) -> None:
    """Check that releases follow what an admin changes, and are kept meanwhile."""
    path = publish(app)
    url = f"{path}/latest/estimate"
    app.send("a", ONCE, draw(ONCE, 6))

    def users() -> int | str:
        answer = app.ask("GET", url, token=None).json()
        return answer["version"] if "version" in answer else answer["type"].rpartition("/")[2]

    def change(**changes: Any) -> None:
        assert app.ask("PATCH", "/v1/surveys/a", changes).status_code == 200

    assert users() == 6
    change(public=False)
    assert users() == "no-token"
    with app.store.read() as connection:
        key = connection.exec_driver_sql("SELECT pk FROM round").scalar()
    app.send("a", ONCE, draw(ONCE, 3))
    assert not release.move(app.store, key)  # a process found it due while it was public
    check_problem(app.ask("GET", path, token=None), "no-token")
    change(public=True, step=4)
    assert users() == 6
    change(min_users=20)
    assert users() == "too-few"
    assert app.ask("GET", path, token=None).json()[0]["users"] == 0
    change(min_users=8, step=1)
    assert users() == 9
    change(step=2)
    app.send("a", ONCE, draw(ONCE, 1))
    assert users() == 9
    change(step=1)
    assert users() == 10


def test_the_first_release_is_at_least_a_step(app: App) -> None:
    """Check that the first release is not smaller than a step, which would be few reports."""
    path = publish(app, least=1, step=4)
    for sent in range(1, 5):
        app.send("a", ONCE, draw(ONCE, 1))
        status = app.ask("GET", f"{path}/0/estimate", token=None).status_code
        assert status == (200 if sent == 4 else 409)


def test_what_needs_a_token_even_if_public(app: App) -> None:
    """Check that the public gets no tally, no EM, no draft, and no list of surveys."""
    path = publish(app, WAVES)
    app.send("a", WAVES, draw(WAVES, 10))
    for each in (f"{path}/0/tally", f"{path}/0/estimate?method=em", "/v1/surveys"):
        check_problem(app.ask("GET", each, token=None), "no-token")
    check_problem(app.ask("GET", f"{path}/0/estimate", token="x" * 43), "no-token")
    app.create("draft", ONCE, "draft", public=True)
    for each in ("draft", "none"):
        answers = [
            app.ask("GET", f"/v1/surveys/{each}/rounds{more}", token=None)
            for more in ("", "/0/estimate", "/latest/estimate")
        ]
        for answer in answers:
            check_problem(answer, "not-found")
