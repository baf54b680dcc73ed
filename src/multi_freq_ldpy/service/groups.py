"""The transaction that counts reports: ids and tallies together, or nothing.

All submissions that wait are counted in one transaction. The commit comes before the answer. Ids
are inserted in their order, and rounds and shards are locked in theirs, so processes do not block
each other for ever.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from ..core.tally import Tally
from ..solutions.base import Solution
from . import auth, rounds, schema
from .batch import HEADER, ID_BYTES
from .schema import OPEN
from .store import Store
from .surveys import ANYBODY, Served, insert_new

SHARDS = 16
DELETED = "deleted"
"""The state of a survey that is not there any more."""

MOST_SHOWN = 100
"""Largest number of indices of invalid reports in an answer."""

Bytes = NDArray[np.uint8]
ID = f"V{ID_BYTES}"
Tallies = schema.tally.c


@dataclass(frozen=True, slots=True)
class Submission:
    """A body of reports that waits to be counted. Its header and its length are checked.

    ``bearer`` is the hash of the token or invite that came with it.
    """

    served: Served
    round: int
    body: bytes
    bearer: str | None = None

    @property
    def records(self) -> int:
        """The number of records."""
        return (len(self.body) - HEADER.size) // (ID_BYTES + self.served.report_bytes)


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of a submission: reports that were new, and reports that were counted before."""

    counted: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class NotReports:
    """The result of a submission with reports that no device sends: their indices."""

    indices: list[int]


@dataclass(frozen=True, slots=True)
class NotAccepted:
    """The result of a submission to a round that is not open, with the rounds that are."""

    state: str
    accepted: list[int]


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The result of a submission whose token or invite may not submit, and whether it exists."""

    known: bool


Outcome = Counted | NotReports | NotAccepted | NotAllowed


@dataclass(slots=True)
class Part:
    """The valid reports of one round in a group, with the submission of each."""

    served: Served
    number: int
    solution: Solution
    ids: Bytes
    reports: NDArray[Any]
    owners: NDArray[np.int64]

    def leave_out(self, refused: Collection[int]) -> None:
        """Leave out the reports of some submissions."""
        if refused:
            kept = ~np.isin(self.owners, [*refused])
            self.ids, self.reports = self.ids[kept], self.reports[kept]
            self.owners = self.owners[kept]


def commit_group(store: Store, group: Sequence[Submission], shard: int) -> list[Outcome]:
    """Count all reports of a group in one transaction.

    Parameters
    ----------
    store : Store
        The database.
    group : sequence of Submission
        The submissions, in the order of their arrival.
    shard : int
        The part of the tallies that this process adds to.

    Returns
    -------
    list of Outcome
        One result per submission.

    Raises
    ------
    Unavailable
        If the database does not answer. Then nothing was counted.
    """
    found: dict[int, Outcome] = {}
    parts = _prepare(group, found)
    with store.write_group() as connection:
        for part in parts:
            refused = _find_refused(connection, part, group)
            found.update(refused)
            part.leave_out(refused)
            if len(part.owners):
                _count_part(connection, part, shard, found)
    return [found[i] for i in range(len(group))]


def _find_refused(
    connection: Connection, part: Part, group: Sequence[Submission]
) -> dict[int, Outcome]:
    """Return the submissions of a round whose token or invite may not submit."""
    if part.served.submission == ANYBODY:
        return {}
    bearers = {i: group[i].bearer or "" for i in np.unique(part.owners).tolist()}
    allowed, known = auth.find_submitters(connection, part.served, set(bearers.values()))
    return {i: NotAllowed(each in known) for i, each in bearers.items() if each not in allowed}


def _prepare(group: Sequence[Submission], found: dict[int, Outcome]) -> list[Part]:
    """Check all reports, one round after the other, in the order of their keys."""
    by_round: dict[tuple[int, int], list[int]] = {}
    for i, each in enumerate(group):
        by_round.setdefault((each.served.pk, each.round), []).append(i)
    parts = []
    for _, own in sorted(by_round.items()):
        served, number = group[own[0]].served, group[own[0]].round
        solution = served.at(number)
        data = b"".join(group[i].body[HEADER.size :] for i in own)
        rows = np.frombuffer(data, np.uint8).reshape(-1, ID_BYTES + served.report_bytes)
        sizes = [group[i].records for i in own]
        owners = np.repeat(own, sizes)
        messages = np.ascontiguousarray(rows[:, ID_BYTES:]).tobytes()
        reports = np.frombuffer(messages, solution.report_dtype, count=len(rows))
        refused = solution._find_refused(reports)
        if refused.size:
            starts = dict(zip(own, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
            for i in np.unique(owners[refused]).tolist():
                mine = refused[owners[refused] == i][:MOST_SHOWN] - starts[i]
                found[i] = NotReports(mine.tolist())
        part = Part(served, number, solution, rows[:, :ID_BYTES], reports, owners)
        part.leave_out(found if refused.size else ())
        if len(part.owners):
            parts.append(part)
    return parts


def _count_part(connection: Connection, part: Part, shard: int, found: dict[int, Outcome]) -> None:
    """Count the reports of one round, each id once."""
    who, records = np.unique(part.owners, return_counts=True)
    key = find_open(connection, part.served, part.number)
    if key is None:
        own = schema.survey.c.pk == part.served.pk
        state = connection.execute(sa.select(schema.survey.c.state).where(own)).scalar()
        accepted = (
            rounds.find_accepted(connection, part.served, time.time()) if state == OPEN else []
        )
        found.update((i, NotAccepted(state or DELETED, accepted)) for i in who.tolist())
        return
    first = _find_first(part.ids)
    kept = part.reports[first].tobytes() if part.served.keep else b""
    new = first[_insert_ids(connection, key, part.ids[first], kept)]
    if new.size:
        counts, n = part.solution.count(part.reports[np.sort(new)])
        add_counts(connection, key, shard, counts, n, len(new))
    counted = np.bincount(part.owners[new], minlength=int(who[-1]) + 1)
    for i, many in zip(who.tolist(), records.tolist(), strict=True):
        found[i] = Counted(int(counted[i]), int(many - counted[i]))


def _find_first(ids: Bytes) -> NDArray[np.int64]:
    """Return the first record of each id by arrival, in the order of the ids."""
    high, low = np.ascontiguousarray(ids).view(">u8").T
    order = np.lexsort((low, high))  # stable, so equal ids stay in the order of their arrival
    same = (high[order][1:] == high[order][:-1]) & (low[order][1:] == low[order][:-1])
    return np.asarray(order[np.concatenate([[True], ~same])])


def find_open(connection: Connection, served: Served, number: int) -> int | None:
    """Return the key of a round that takes reports, and keep it open until the commit."""
    if served.schedule is not None:
        if number not in served.schedule.accepted(time.time(), served.last_round):
            return None
        # The survey stays open until the commit, before any of its rounds is held
        state = sa.select(schema.survey.c.state).where(schema.survey.c.pk == served.pk)
        if connection.execute(state.with_for_update(read=True)).scalar() != OPEN:
            return None
        rounds.open_round(connection, served, number)
    own = {"own_survey": served.pk, "own_number": number}
    found: int | None = connection.execute(FIND_OPEN, own).scalar()
    return found


def _insert_ids(
    connection: Connection, key: int, ids: Bytes, kept: bytes = b""
) -> NDArray[np.bool_]:
    """Insert ids in their order, with their reports if these are kept, and mark the new ones.

    The driver gets all ids as one parameter. A statement per id would take longer, and would hand
    Python's global lock to other threads each time.
    """
    cursor: Any = connection.connection.cursor()
    given = {"round": key, "ids": ids.tobytes(), "last": len(ids) - 1}
    reports = {"reports": kept, "size": len(kept) // len(ids)}
    new = np.ones(len(ids), np.bool_)
    try:
        if connection.dialect.name == "sqlite":
            old = cursor.execute(FIND_OLD, given).fetchall()
            new[[i for (i,) in old]] = False
            cursor.execute(INSERT_NEW, given | reports)
            return new
        cursor.execute(INSERT_ALL, given | reports, binary=True)
        many, inserted = cursor.fetchone()
        if many < len(ids):
            listed = {each.tobytes() for each in np.frombuffer(inserted or b"", ID)}
            new[:] = [each.tobytes() in listed for each in ids]
        return new
    finally:
        cursor.close()


NUMBERS = "WITH RECURSIVE given (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM given WHERE i < :last)"
FIND_OLD = f"""
{NUMBERS} SELECT i FROM given
WHERE EXISTS (SELECT 1 FROM report WHERE round = :round AND id = substr(:ids, 16 * i + 1, 16))
"""
INSERT_NEW = f"""
{NUMBERS} INSERT OR IGNORE INTO report (round, id, bytes)
SELECT :round, substr(:ids, 16 * i + 1, 16), nullif(substr(:reports, :size * i + 1, :size), x'')
FROM given
"""
"""The insert of many ids in SQLite, after a search for the ids that exist already."""

INSERT_ALL = """
WITH new AS (
    INSERT INTO report (round, id, bytes)
    SELECT
        %(round)s, encode(substring(given.ids FROM 16 * i + 1 FOR 16), 'hex')::uuid,
        nullif(substring(given.reports FROM %(size)s * i + 1 FOR %(size)s), '')
    FROM
        (SELECT %(ids)b::bytea AS ids, %(reports)b::bytea AS reports) given,
        generate_series(0, %(last)s) i
    ORDER BY i
    ON CONFLICT DO NOTHING RETURNING id
)
SELECT count(*), CASE WHEN count(*) <= %(last)s THEN string_agg(uuid_send(id), '') END FROM new
"""
"""The insert of many ids in PostgreSQL. It lists the new ones if there were others before."""


def add_counts(
    connection: Connection,
    key: int,
    shard: int,
    counts: NDArray[np.int64],
    n: NDArray[np.int64],
    users: int,
) -> None:
    """Add counts to a shard of a round.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    key : int
        Key of the round.
    shard : int
        Number of the shard.
    counts, n : array of int64
        Counts, and the numbers of reports that speak of each of them.
    users : int
        Number of reports.
    """
    own = {"own_round": key, "own_shard": shard}
    while (before := connection.execute(FIND_TALLY, own).one_or_none()) is None:
        row: dict[str, Any] = {"round": key, "shard": shard, "users": users, "version": 1}
        if insert_new(connection, schema.tally, row | {"counts": _pack(counts), "n": _pack(n)}):
            return
    added = {
        "counts": _pack(np.frombuffer(before.counts, "<i8") + counts),
        "n": _pack(np.frombuffer(before.n, "<i8") + n),
        "users": before.users + users,
        "version": before.version + 1,
    }
    connection.execute(CHANGE_TALLY, own | added)


# Statements that come with every group, built once
OWN_TALLY = sa.and_(
    Tallies.round == sa.bindparam("own_round"), Tallies.shard == sa.bindparam("own_shard")
)
FIND_TALLY = sa.select(schema.tally).where(OWN_TALLY).with_for_update()
CHANGE_TALLY = sa.update(schema.tally).where(OWN_TALLY)
FIND_OPEN = (
    sa.select(schema.round.c.pk)
    .where(
        schema.round.c.survey == sa.bindparam("own_survey"),
        schema.round.c.number == sa.bindparam("own_number"),
        schema.round.c.state == OPEN,
    )
    .with_for_update(read=True)
)


def _pack(n: NDArray[np.int64]) -> bytes:
    return np.ascontiguousarray(n).astype("<i8").tobytes()


def read_tally(connection: Connection, served: Served, number: int) -> tuple[Tally, int] | None:
    """Return the tally of a round and its version.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey.
    number : int
        Number of the round.

    Returns
    -------
    tuple or None
        The tally and its version, which grows with every change. None if there is no such round.
    """
    columns = rounds.Rounds
    own = (columns.survey == served.pk) & (columns.number == number)
    chosen = sa.select(columns.pk, schema.tally).where(own)
    rows = connection.execute(chosen.join_from(schema.round, schema.tally, isouter=True)).all()
    if not rows:
        return None
    solution = served.at(number)
    total, version = solution.tally([])._counted_by(served.digest), 0
    for row in rows:
        if row.counts is None:
            continue
        counts, n = np.frombuffer(row.counts, "<i8"), np.frombuffer(row.n, "<i8")
        many: Any = np.asarray(row.users) if solution._answers_all else n
        total += Tally(solution, counts, many, row.users, survey=served.digest)
        version += row.version
    return total, version
