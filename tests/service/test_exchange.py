"""Tests of submission rules, invites, kept reports, tallies of other services, and moves."""

import csv
import hashlib
import io
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import sqlalchemy as sa

from multi_freq_ldpy import OLH, OUE, RSFD, SPL, Survey
from multi_freq_ldpy.service import auth, groups, invites, kept, moving, rounds, schema, surveys
from multi_freq_ldpy.service.batch import write_batch
from multi_freq_ldpy.service.groups import Counted, NotAllowed, Submission, commit_group
from multi_freq_ldpy.service.store import Store, Unavailable

from .test_api import ONCE, WAVES, YEAR, App, app, batch, check_problem, draw, quick

__all__ = ["app"]
pytestmark = pytest.mark.extras

Send = Callable[..., Any]


# Submission rules


def test_tokens_to_submit(app: App) -> None:
    """Check which tokens may send reports, and that a revoked one may not."""
    app.create("mine", ONCE, submission="token")
    app.create("other", ONCE, submission="token")

    def make(scope: str, **more: str) -> dict[str, str]:
        found: dict[str, str] = app.ask("POST", "/v1/tokens", {"scope": scope, **more}).json()
        return found

    tokens = {
        "none": None,
        "unknown": "x" * 43,
        "analyst": make("analyst")["token"],
        "other": make("submit", survey="other")["token"],
        "admin": make("admin")["token"],
        "own": (own := make("submit", survey="mine"))["token"],
    }
    expected = {
        "none": "no-token",
        "unknown": "no-token",
        "analyst": "forbidden",
        "other": "forbidden",
    }
    sent = 0
    for who, token in tokens.items():
        body = batch(ONCE, draw(ONCE, 2))
        answer = app.ask("POST", "/v1/surveys/mine/reports", body, token=token)
        if who in expected:
            check_problem(answer, expected[who])
        else:
            sent += 2
            assert answer.json() == {"counted": 2, "duplicates": 0}
        assert app.users("mine") == [sent]
    app.ask("DELETE", f"/v1/tokens/{own['hash']}")
    answer = app.ask("POST", "/v1/surveys/mine/reports", batch(ONCE, draw(ONCE, 1)), own["token"])
    check_problem(answer, "no-token")
    assert app.users("mine") == [sent]


def test_everybody_may_send_to_an_open_survey(app: App) -> None:
    """Check that a token is not looked at where none is needed."""
    app.create("a", ONCE)
    for token in (None, "x" * 43):
        answer = app.ask("POST", "/v1/surveys/a/reports", batch(ONCE, draw(ONCE, 1)), token=token)
        assert answer.status_code == 200
    assert app.users("a") == [2]


def test_refused_submitters_take_no_ids(tmp_path: Path) -> None:
    """Check that a record counts if another sender of its id may not submit."""
    with quick():
        store = Store(f"sqlite:///{tmp_path}/a.sqlite")
        with store.write() as connection:
            served, _ = surveys.create(connection, "a", ONCE, submission="token")
            rounds.change_state(connection, "a", "open")
            token = auth.create_token(connection, "submit", survey=served.pk)
        record = [(bytes(16), draw(ONCE, 1)[0])]
        body = write_batch(ONCE.digest, 0, record)
        group = [
            Submission(served, 0, body, auth.hash_token("wrong")),
            Submission(served, 0, body),
            Submission(served, 0, body, auth.hash_token(token)),
        ]
        expected = [NotAllowed(False), NotAllowed(False), Counted(1, 0)]
        assert commit_group(store, group, 0) == expected
        store.close()


def test_an_invite_counts_once_per_round(app: App) -> None:
    """Check that ids and reports of the sender change nothing, in each round."""
    app.create("a", WAVES, submission="invite", keep=True)
    made = app.ask("POST", "/v1/surveys/a/invites", {"count": 3}).json()["invites"]
    assert len({*made}) == 3 and all(len(each) == 43 for each in made)

    def send(token: str | None, many: int = 1, round: int = 0) -> Any:
        body = batch(WAVES, draw(WAVES, many, seed=secrets.randbelow(10**9)), round)
        return app.ask("POST", "/v1/surveys/a/reports", body, token=token)

    for round in range(2):
        for i, invite in enumerate(made[:2]):
            assert send(invite, round=round).json() == {"counted": 1, "duplicates": 0}
            for _ in range(3):
                assert send(invite, round=round).json() == {"counted": 0, "duplicates": 1}
            assert app.users("a") == [2] * round + [i + 1]
        app.ask("POST", "/v1/surveys/a/rounds", {"number": round + 1})
    check_problem(send(made[2], many=2, round=2), "malformed")
    check_problem(send(None, round=2), "no-token")
    check_problem(send("x" * 43, round=2), "no-token")
    admin = app.ask("POST", "/v1/tokens", {"scope": "admin"}).json()["token"]
    check_problem(send(admin, round=2), "no-token")
    app.create("b", WAVES, submission="invite")
    body = batch(WAVES, draw(WAVES, 1))
    check_problem(app.ask("POST", "/v1/surveys/b/reports", body, token=made[0]), "no-token")
    with app.store.read() as connection:
        hashes = set(connection.execute(sa.select(schema.invite.c.hash)).scalars())
        found = connection.execute(sa.select(schema.report.c.id)).scalars()
        ids = {each if isinstance(each, bytes) else each.bytes for each in found}
    assert hashes == {hashlib.sha256(each.encode()).hexdigest() for each in made}
    assert ids == {
        hashlib.sha256(b"invite" + each.encode() + bytes([round, 0, 0, 0])).digest()[:16]
        for each in made[:2]
        for round in range(2)
    }


def test_invites_as_a_table(app: App) -> None:
    """Check that a request for CSV gets a table with one column."""
    app.create("a", ONCE, submission="invite")
    answer = app.ask("POST", "/v1/surveys/a/invites", {"count": 4}, Accept="text/csv")
    assert answer.status_code == 201 and answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 4
    for row in rows:
        body = batch(ONCE, draw(ONCE, 1))
        sent = app.ask("POST", "/v1/surveys/a/reports", body, token=row["invite"])
        assert sent.json()["counted"] == 1


@pytest.mark.parametrize("second", ["open", "token", "invite"])
@pytest.mark.parametrize("first", ["open", "token", "invite"])
def test_a_survey_that_is_made_again_has_its_own_rule(app: App, first: str, second: str) -> None:
    """Check that nothing of a deleted survey is remembered, for all pairs of rules."""

    def make(rule: str) -> str | None:
        app.create("a", ONCE, submission=rule)
        if rule == "invite":
            found: str = app.ask("POST", "/v1/surveys/a/invites", {"count": 1}).json()["invites"][0]
            return found
        if rule == "token":
            content = {"scope": "submit", "survey": "a"}
            return str(app.ask("POST", "/v1/tokens", content).json()["token"])
        return None

    old = make(first)
    body = batch(ONCE, draw(ONCE, 1))
    assert app.ask("POST", "/v1/surveys/a/reports", body, token=old).json()["counted"] == 1
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
    assert app.ask("DELETE", "/v1/surveys/a?confirm=a").status_code == 204
    new = make(second)
    if old != new and second != "open":
        for wrong in (old, "x" * 43):
            refused = app.ask("POST", "/v1/surveys/a/reports", body, token=wrong)
            assert refused.status_code in (401, 403)
    assert app.ask("POST", "/v1/surveys/a/reports", body, token=new).json()["counted"] == 1
    assert app.users("a") == [1]


def test_drafts_are_hidden_from_senders(app: App) -> None:
    """Check that a draft is answered as a survey that does not exist."""
    body = batch(ONCE, draw(ONCE, 1))
    for rule in ("open", "token", "invite"):
        app.create(rule, ONCE, "draft", submission=rule)
        found = app.ask("POST", f"/v1/surveys/{rule}/reports", body, token=None)
        expected = app.ask("POST", "/v1/surveys/none/reports", body, token=None)
        assert (found.status_code, found.content) == (expected.status_code, expected.content)
        assert found.headers == expected.headers


# Kept reports

MIXED = Survey({"a": list(range(5)), "b": ["x", "y"]}, epsilon=3.0, solution=SPL)
KEPT: dict[str, tuple[Survey, int]] = {
    "sampling": (ONCE, 0),
    "splitting": (MIXED, 0),
    "over time": (WAVES, 1),
    "unary": (Survey({"a": list(range(30))}, epsilon=1.0, protocol=OUE), 0),
    "hashing": (Survey({"a": list(range(30))}, epsilon=1.0, protocol=OLH), 0),
    "histories": (YEAR, 1),
}


def fill(app: App, name: str, survey: Survey, round: int, many: int = 60) -> list[bytes]:
    """Create a survey that keeps its reports, and send some to a round, in mixed bodies."""
    app.create(name, survey, keep=True)
    for number in range(1, round + 1):
        app.ask("POST", f"/v1/surveys/{name}/rounds", {"number": number})
    reports, records = draw(survey, many, round), []
    for i, each in enumerate(reports):
        records.append((secrets.token_bytes(16), each))
        if i % 7 == 6 or i == len(reports) - 1:
            body = write_batch(survey.digest, round, [*records, *records[:2]])
            app.ask("POST", f"/v1/surveys/{name}/reports", body)
            records = records[-1:]
    return reports


def read_export(app: App, name: str, round: int) -> Any:
    answer = app.ask("GET", f"/v1/surveys/{name}/rounds/{round}/reports.parquet")
    assert answer.status_code == 200
    return pyarrow.parquet.read_table(io.BytesIO(answer.content))


@pytest.mark.parametrize("name", KEPT)
def test_exports_equal_what_was_sent(app: App, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the rows, their order, their note, and their tally, over several pages."""
    monkeypatch.setattr(kept, "PAGE", 8)
    survey, round = KEPT[name]
    reports = fill(app, "a", survey, round)
    table = read_export(app, "a", round)
    assert table.column_names == ["report"]
    found = [each.as_py() for each in table["report"]]
    assert sorted(found) == sorted(reports)
    with app.store.read() as connection:
        rows = connection.execute(sa.select(schema.report.c.bytes).order_by(schema.report.c.id))
        assert found == list(rows.scalars())
    own = {} if survey.rounds is None else {"round": round}
    tally = app.ask("GET", f"/v1/surveys/a/rounds/{round}/tally").content
    assert survey.pack(survey.tally(table, **own)) == tally
    other = Survey({"a": [1, 2, 3]}, epsilon=1.0)
    with pytest.raises(ValueError, match="another survey"):
        other.tally(table)


@pytest.mark.parametrize("name", ["sampling", "splitting", "over time", "unary", "hashing"])
def test_likely_distributions_equal_those_of_the_export(app: App, name: str) -> None:
    """Check EM over HTTP against EM on the exported reports, to the bit."""
    survey, round = KEPT[name]
    fill(app, "a", survey, round, 400)
    offline = survey.em(read_export(app, "a", round))
    path = f"/v1/surveys/a/rounds/{round}/estimate?method=em"
    found = app.ask("GET", path).json()["rounds"][0]
    for attribute in found["attributes"]:
        own = [each["frequency"] for each in attribute["values"]]
        assert own == offline[attribute["name"]].frequencies.tolist()
        assert {each["std"] for each in attribute["values"]} == {None}


def test_likely_distributions_that_are_not_known(app: App) -> None:
    """Check the refusals of EM."""
    fill(app, "fakes", Survey({"a": [1, 2, 3], "b": [1, 2]}, epsilon=1.0, solution=RSFD), 0)
    fill(app, "year", YEAR, 1)
    for name in ("fakes", "year"):
        path = f"/v1/surveys/{name}/rounds/0/estimate?method=em"
        check_problem(app.ask("GET", path), "invalid")
    app.create("plain", ONCE)
    path = "/v1/surveys/plain/rounds/0/estimate?method=em"
    check_problem(app.ask("GET", path), "not-kept")


def test_an_export_of_a_deleted_survey_is_not_a_file(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a part of a file never ends like a whole one."""
    monkeypatch.setattr(kept, "PAGE", 8)
    fill(app, "a", ONCE, 0)
    with app.store.read() as connection:
        served = surveys.find(connection, "a")[0]
    pieces = kept.write_parquet(app.store, served, 0)
    next(pieces)
    app.ask("PATCH", "/v1/surveys/a", {"state": "closed"})
    assert app.ask("DELETE", "/v1/surveys/a?confirm=a").status_code == 204
    with pytest.raises(Unavailable):
        list(pieces)


def test_nothing_is_kept_unless_asked(app: App) -> None:
    """Check that other surveys have no bytes of reports."""
    app.create("a", ONCE)
    app.send("a", ONCE, draw(ONCE, 9))
    with app.store.read() as connection:
        assert connection.execute(sa.select(schema.report.c.bytes)).scalars().all() == [None] * 9


# Tallies of other services


def test_tallies_are_added_once(app: App) -> None:
    """Check counts, repeats, and rounds that do not take tallies."""
    for name, survey in {"once": ONCE, "waves": WAVES, "year": YEAR}.items():
        app.create(name, survey)
        own, elsewhere = draw(survey, 30), draw(survey, 50, seed=2)
        app.send(name, survey, own)
        given = {} if survey.rounds is None else {"round": 0}
        packed = survey.pack(survey.tally(elsewhere, **given))
        path = f"/v1/surveys/{name}/rounds/0/tallies"
        for counted in (len(elsewhere), 0, 0):
            assert app.ask("POST", path, bytes(16) + packed).json() == {"counted": counted}
        expected = survey.pack(survey.tally([*own, *elsewhere], **given))
        assert app.ask("GET", f"/v1/surveys/{name}/rounds/0/tally").content == expected
        assert app.ask("POST", path, b"b" * 16 + packed).json() == {"counted": len(elsewhere)}
        assert app.users(name) == [len(own) + 2 * len(elsewhere)]
    wrong = YEAR.pack(YEAR.tally(draw(YEAR, 20, 1), round=1))
    check_problem(
        app.ask("POST", "/v1/surveys/year/rounds/0/tallies", bytes(16) + wrong), "invalid"
    )
    app.ask("POST", "/v1/surveys/waves/rounds", {"number": 1})
    packed = bytes(16) + WAVES.pack(WAVES.tally(draw(WAVES, 2)))
    path = "/v1/surveys/waves/rounds/0/tallies"
    check_problem(app.ask("POST", path, packed), "round-closed")


def test_tallies_without_their_reports_end_likely_distributions(app: App) -> None:
    """Check that EM is refused where some reports are elsewhere."""
    fill(app, "a", ONCE, 0)
    path = "/v1/surveys/a/rounds/0"
    assert app.ask("GET", f"{path}/estimate?method=em").status_code == 200
    packed = bytes(16) + ONCE.pack(ONCE.tally(draw(ONCE, 2)))
    assert app.ask("POST", f"{path}/tallies", packed).status_code == 200
    check_problem(app.ask("GET", f"{path}/estimate?method=em"), "not-kept")


# Sweeping and moving, on all databases


def count_into(store: Store, name: str, survey: Survey, many: int, **rules: Any) -> list[bytes]:
    """Create a survey, and count reports in two groups. Returns the kept bytes in order of ids."""
    with store.write() as connection:
        served, _ = surveys.create(connection, name, survey, **rules)
        rounds.change_state(connection, name, "open")
    records = [(secrets.token_bytes(16), each) for each in draw(survey, many)]
    for part in (records[::2], records[1::2]):
        commit_group(store, [Submission(served, 0, write_batch(survey.digest, 0, part))], 0)
    return [report for _, report in sorted(records)]


def read_kept(store: Store, name: str) -> list[bytes]:
    with store.read() as connection:
        found = surveys.find(connection, name)
        assert found is not None
        reports = kept.read_reports(connection, found[0], 0)
    return [each.tobytes() for each in reports]


def test_kept_reports_stay_after_their_round(stores: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that closed rounds keep reports, in the order of their ids, and lose other ids."""
    monkeypatch.setattr(rounds, "SWEPT", 7)
    store = stores[0]
    expected = count_into(store, "kept", ONCE, 50, keep=True)
    count_into(store, "plain", ONCE, 30)
    still = count_into(store, "open", ONCE, 20, keep=True)
    with store.write() as connection:
        for name in ("kept", "plain"):
            rounds.change_state(connection, name, "closed")
    places: dict[int, Any] = {}
    swept = 0
    while many := rounds.sweep(stores[swept % 2], places):
        swept += many
    assert swept >= 30
    assert read_kept(store, "kept") == expected and read_kept(store, "open") == still
    with store.read() as connection:
        rows = connection.execute(sa.select(schema.report.c.bytes)).scalars().all()
        assert len(rows) == 70
        marks = sa.select(schema.round.c.swept).order_by(schema.round.c.pk)
        assert connection.execute(marks).scalars().all() == [True, True, False]
        if not store.sqlite:
            own = sa.text("SELECT report.bytes FROM report WHERE round = 1 ORDER BY ctid")
            assert list(connection.execute(own).scalars()) == expected
    assert rounds.sweep(store, places) == 0 and places == {}
    if store.sqlite:  # the log, which has the order of arrival, is empty
        assert Path(f"{store.path}-wal").stat().st_size == 0


def test_a_moved_database_goes_on(stores: Any, tmp_path: Path) -> None:
    """Check that counts, ids, tokens, invites and keys are those of the old database."""
    old = stores[0]
    count_into(old, "plain", ONCE, 30)
    expected = count_into(old, "kept", WAVES, 50, keep=True)
    with old.write() as connection:
        served, _ = surveys.create(connection, "asked", ONCE, submission="invite")
        invite = invites.create_invites(connection, served, 1)[0]
        token = auth.create_token(connection, "analyst")
    with quick():
        new = Store(f"sqlite:///{tmp_path}/new.sqlite")
    many = moving.copy_database(old, new)
    assert many == 3 + 2 + 80 + 2 + 1 + 1
    assert read_kept(new, "kept") == expected
    with new.write() as connection:
        assert auth.scope_of(connection, token) == "analyst"
        assert auth.find_submitters(connection, served, {auth.hash_token(invite)})[0]
        later, created = surveys.create(connection, "later", ONCE)
        assert created and later.pk == served.pk + 1
    for name in ("plain", "kept"):
        packed = []
        for store in (old, new):
            with store.read() as connection:
                found = surveys.find(connection, name)[0]
                packed.append(found.survey.pack(groups.read_tally(connection, found, 0)[0]))
        assert packed[0] == packed[1]
    with pytest.raises(ValueError, match="not empty"):
        moving.copy_database(old, new)
    if not old.sqlite:  # and back again
        with old.write() as connection:
            for table in reversed(schema.metadata.sorted_tables):
                connection.execute(sa.delete(table))
        assert moving.copy_database(new, old) == many + 1
        assert read_kept(old, "kept") == expected
        with old.write() as connection:
            assert surveys.create(connection, "last", ONCE)[0].pk == served.pk + 2
    new.close()
