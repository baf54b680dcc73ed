"""Databases of older versions: they keep their data, and a killed migration starts again."""

import json
import os
import secrets
import signal
import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from multi_freq_ldpy.service import groups, schema, surveys
from multi_freq_ldpy.service.about import About
from multi_freq_ldpy.service.batch import HEADER, ID_BYTES
from multi_freq_ldpy.service.groups import Counted, Submission, commit_group
from multi_freq_ldpy.service.store import Store

from .conftest import ONCE
from .test_failures import make_body

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.extras]

LAST = "0003"
OLDER: dict[str, dict[str, Any]] = {
    "0001": {},
    "0002": {"keep": False, "submission": "token", "public": True, "min_users": 7, "step": 3},
}
"""Released schemas, with the settings that their surveys have."""


def begin_old(database: str, revision: str, ids: list[bytes]) -> None:
    """Make a database of an older schema, with an open survey and counted reports."""
    upgrade = command.upgrade
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", lambda config, _: upgrade(config, revision))
        store = Store(database)
    body = make_body(ONCE, ids)
    at, size = HEADER.size + ID_BYTES, ONCE.solution.report_bytes
    tally = ONCE.tally([body[at + i * (ID_BYTES + size) :][:size] for i in range(len(ids))])
    counts = tally.counts.astype("<i8").tobytes()
    many = (tally.n + 0 * tally.counts).astype("<i8").tobytes()
    with store.write() as connection:
        metadata = sa.MetaData()
        metadata.reflect(connection)
        tables = metadata.tables

        def insert(table: str, **row: Any) -> None:
            connection.execute(sa.insert(tables[table]).values(**row))

        row = {"name": "old", "digest": ONCE.digest, "state": "open"}
        insert("survey", pk=1, spec=json.dumps(ONCE.to_spec()), **row, **OLDER[revision])
        insert("round", pk=1, survey=1, number=0, state="open")
        for each in ids:
            insert("report", round=1, id=each if store.sqlite else uuid.UUID(bytes=each))
        insert("tally", round=1, shard=3, counts=counts, n=many, users=len(ids), version=1)
        insert("token", hash="h", scope="admin", survey=None, note="", revoked=False)
    store.close()


@pytest.mark.parametrize("revision", OLDER)
def test_an_older_database_goes_on_with_its_data(database: str, revision: str) -> None:
    """Check that surveys, counted reports and tokens are the same after all steps."""
    ids = [secrets.token_bytes(16) for _ in range(40)]
    begin_old(database, revision, ids)
    store = Store(database)
    with store.read() as connection:
        found = surveys.find(connection, "old")
        assert found is not None and found[1] == "open"
        served = found[0]
        counted = groups.read_tally(connection, served, 0)
        audience = vars(surveys.read_audience(connection, served))
        token = connection.execute(sa.select(schema.token.c.scope)).scalar()
    settings = {"keep": False, "submission": "open", "public": False, "min_users": 100, "step": 20}
    present = {"keep": served.keep, "submission": served.submission, **audience}
    assert present == settings | OLDER[revision]
    assert About.read(served.about) == About() and served.digest == ONCE.digest
    assert counted is not None and counted[0].users == 40 and token == "admin"
    if served.submission == "open":
        again = [ids[0], secrets.token_bytes(16)]
        (outcome,) = commit_group(store, [Submission(served, 0, make_body(ONCE, again))], 3)
        assert isinstance(outcome, Counted) and (outcome.counted, outcome.duplicates) == (1, 1)
    store.close()


@pytest.mark.parametrize("revision", [None, *OLDER])
def test_a_migration_that_is_killed_starts_again(database: str, revision: str | None) -> None:
    """Kill a migration before each of its statements, from an empty and from older databases."""
    if revision is not None:
        begin_old(database, revision, [secrets.token_bytes(16)])
    statements = 0
    while True:
        child = os.fork()
        if child == 0:
            _migrate_until(database, statements)
        _, status = os.waitpid(child, 0)
        statements += 1
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
    assert statements > 3
    store = Store(database)
    with store.read() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == LAST
        differences = compare_metadata(context, schema.metadata)
        kept = surveys.list_all(connection)
    assert differences == []
    assert [name for name, *_ in kept] == ([] if revision is None else ["old"])
    store.close()


def _migrate_until(database: str, statements: int) -> None:
    """Open a database in a child, and kill the child before one of its statements."""
    left = statements

    def before(*_: Any) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    try:
        sa.event.listen(sa.Engine, "before_cursor_execute", before)
        sa.event.listen(sa.Engine, "commit", before)
        Store(database)
        os._exit(0)
    finally:
        os._exit(1)


def test_a_newer_schema_is_refused(database: str) -> None:
    """Check that an older package does not touch a newer database."""
    Store(database).close()
    store = Store(database)
    with store.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()
    with pytest.raises(ValueError, match="schema 9999, which is newer"):
        Store(database)
