"""The rounds of surveys: opened by hand or by the clock, closed for ever, and swept."""

import logging
import time
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import schema
from .schema import CLOSED, DRAFT, OPEN
from .store import Store
from .surveys import Conflict, Served, find, insert_new, list_scheduled

log = logging.getLogger("multi_freq_ldpy.service")

SWEPT = 10_000
"""Number of ids that one transaction of the sweeper deletes."""

Rounds = schema.round.c


class RoundState(NamedTuple):
    """A round and its number of users.

    Parameters
    ----------
    number : int
        Number of the round, counted from 0.
    state : str
        "open" or "closed".
    users : int
        Number of reports that were counted.
    """

    number: int
    state: str
    users: int


def list_rounds(connection: Connection, served: Served) -> list[RoundState]:
    """Return the rounds of a survey, in order."""
    users = sa.func.coalesce(sa.func.sum(schema.tally.c.users), 0)
    chosen = (
        sa.select(Rounds.number, Rounds.state, users)
        .join_from(schema.round, schema.tally, isouter=True)
        .where(Rounds.survey == served.pk)
        .group_by(Rounds.number, Rounds.state)
        .order_by(Rounds.number)
    )
    return [RoundState(n, state, int(many)) for n, state, many in connection.execute(chosen)]


def find_accepted(connection: Connection, served: Served, now: float) -> list[int]:
    """Return the rounds that take reports now."""
    chosen = sa.select(Rounds.number, Rounds.state).where(Rounds.survey == served.pk)
    states = {row.number: row.state for row in connection.execute(chosen)}
    if served.schedule is None:
        return sorted(number for number, state in states.items() if state == OPEN)
    due = served.schedule.accepted(now, served.last_round)
    return [number for number in due if states.get(number, OPEN) == OPEN]


def open_round(connection: Connection, served: Served, number: int) -> bool:
    """Open a round if it does not exist yet. Returns True if it was made now."""
    row = {"survey": served.pk, "number": number, "state": OPEN}
    return insert_new(connection, schema.round, row)


def close_all(connection: Connection, served: Served, before: int | None = None) -> int:
    """Close the open rounds of a survey, or those before a number. Returns their number."""
    wanted = sa.update(schema.round).where(Rounds.survey == served.pk, Rounds.state == OPEN)
    if before is not None:
        wanted = wanted.where(Rounds.number < before)
    return int(connection.execute(wanted.values(state=CLOSED)).rowcount)


def advance(connection: Connection, served: Served, now: float) -> None:
    """Open the first round of an open survey, or the rounds that are due by its schedule.

    Later rounds stay open: the clock of another process may be ahead, and closed is final.
    """
    if served.schedule is None:
        if not list_rounds(connection, served):
            open_round(connection, served, 0)
        return
    due = served.schedule.accepted(now, served.last_round)
    for number in due:
        open_round(connection, served, number)
    close_all(connection, served, before=served.schedule.earliest(now))


def change_state(connection: Connection, name: str, state: str) -> tuple[Served, str] | None:
    """Open a draft, or close a survey for ever.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    name : str
        Name of the survey.
    state : str
        The wanted state.

    Returns
    -------
    tuple or None
        The survey and its state, or None if there is none of this name.

    Raises
    ------
    Conflict
        If the survey cannot get this state.
    """
    found = find(connection, name, lock=True)
    if found is None or found[1] == state:
        return found
    served, present = found
    if (present, state) not in ((DRAFT, OPEN), (OPEN, CLOSED)):
        raise Conflict("state", f"a survey that is {present} cannot become {state}")
    own = schema.survey.c.pk == served.pk
    connection.execute(sa.update(schema.survey).where(own).values(state=state))
    log.info("survey %s: %s", name, state)
    if state == OPEN:
        advance(connection, served, time.time())
    else:
        close_all(connection, served)
    return served, state


def advance_all(store: Store, now: float) -> int:
    """Open and close the rounds of all scheduled surveys. Returns the number of changes.

    A survey that cannot be read, such as one of a newer version, does not stop the others.
    """
    with store.read() as connection:
        names = list_scheduled(connection)
    return sum(_advance_one(store, name, now) for name in names)


def _advance_one(store: Store, name: str, now: float) -> bool:
    """Open and close the rounds of one survey. Returns True if something changed."""
    try:
        with store.read() as connection:
            found = find(connection, name)
            if found is None or not _is_behind(connection, found[0], now):
                return False
        with store.write() as connection:
            found = find(connection, name, lock=True)  # it may be closed or deleted meanwhile
            if found is None or found[1] != OPEN:
                return False
            advance(connection, found[0], now)
    except ValueError as error:
        log.error("survey %s has no rounds: %s", name, type(error).__name__)
        return False
    log.info("survey %s: the rounds have advanced", name)
    return True


def _is_behind(connection: Connection, served: Served, now: float) -> bool:
    """Return True if a round is to be opened or closed."""
    if served.schedule is None:
        return False
    chosen = sa.select(Rounds.number, Rounds.state).where(Rounds.survey == served.pk)
    states = {row.number: row.state for row in connection.execute(chosen)}
    earliest = served.schedule.earliest(now)
    late = [number for number, state in states.items() if state == OPEN and number < earliest]
    due = served.schedule.accepted(now, served.last_round)
    return bool(late) or any(number not in states for number in due)


def open_next(connection: Connection, served: Served, state: str, number: int) -> bool:
    """Close the present round by hand, and open the next one.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    served : Served
        The survey.
    state : str
        State of the survey.
    number : int
        Number of the next round. A repeated call with the same number changes nothing.

    Returns
    -------
    bool
        True if the round was opened now.

    Raises
    ------
    Conflict
        If the survey is not open, if it has a schedule, or if this is not its next round.
    """
    if state != OPEN:
        raise Conflict("not-open", f"the survey is {state}")
    if served.schedule is not None:
        raise Conflict("scheduled", "the rounds of this survey follow its schedule")
    last = max((each.number for each in list_rounds(connection, served)), default=-1)
    if number == last:
        return False
    if number != last + 1:
        raise Conflict("not-next", f"the next round is {last + 1}, not {number}")
    if number > served.last_round:
        raise Conflict("no-round", f"the last round of this survey is {served.last_round}")
    close_all(connection, served)
    return open_round(connection, served, number)


def sweep(store: Store, places: dict[int, Any] | None = None) -> int:
    """Do the next piece of work on the closed rounds, which refuse reports by their state.

    Ids are deleted. Kept reports stay, but PostgreSQL has them in the order of their arrival, so
    they are written anew in the order of their ids.

    Parameters
    ----------
    store : Store
        The database.
    places : dict, optional
        Places in rounds with kept reports, by key. It is changed.

    Returns
    -------
    int
        The number of rows that were treated. It is 0 if there are no more.
    """
    places = {} if places is None else places
    chosen = sa.select(Rounds.pk, schema.survey.c.keep).join(schema.survey)
    closed = chosen.where(Rounds.state == CLOSED, sa.not_(Rounds.swept)).order_by(Rounds.pk)
    with store.read() as connection:
        due = connection.execute(closed).all()
    for key, keep in due:
        if many := _sweep_round(store, key, keep, places):
            return many
    return 0


def _sweep_round(store: Store, key: int, keep: bool, places: dict[int, Any]) -> int:
    """Treat some rows of a round, or note that it is swept."""
    own = sa.select(Rounds.pk).where(Rounds.pk == key, sa.not_(Rounds.swept))
    with store.write() as connection:
        # Another process may sweep too: it takes another round
        if connection.execute(own.with_for_update(skip_locked=True)).first() is None:
            return 0
        if not keep:
            many = _delete_ids(connection, key)
        elif store.sqlite:
            many = 0  # the table itself is in the order of the ids
        else:
            many, places[key] = _rewrite_kept(connection, key, places.get(key))
        if many < SWEPT:
            connection.execute(sa.delete(schema.merged).where(schema.merged.c.round == key))
            connection.execute(sa.update(schema.round).where(Rounds.pk == key).values(swept=True))
    if many < SWEPT:
        places.pop(key, None)
        store.vacuum(schema.report)
    return many


def _delete_ids(connection: Connection, key: int) -> int:
    columns = schema.report.c
    ids = sa.select(columns.id).where(columns.round == key).limit(SWEPT)
    own = sa.delete(schema.report).where(columns.round == key, columns.id.in_(ids))
    return int(connection.execute(own).rowcount)


def _rewrite_kept(connection: Connection, key: int, after: Any) -> tuple[int, Any]:
    """Write the next kept reports of a round anew. Returns their number and the last id."""
    given = {"round": key, "after": after, "many": SWEPT}
    many, last = connection.execute(REWRITE, given).one()
    return int(many), last


REWRITE = sa.text("""
WITH chosen AS (
    SELECT id FROM report
    WHERE round = :round AND (CAST(:after AS uuid) IS NULL OR id > CAST(:after AS uuid))
    ORDER BY id LIMIT :many
), old AS (
    DELETE FROM report USING chosen WHERE round = :round AND report.id = chosen.id
    RETURNING report.id, bytes
), new AS (
    INSERT INTO report (round, id, bytes) SELECT :round, id, bytes FROM old ORDER BY id
    RETURNING id
)
SELECT count(*), (array_agg(id ORDER BY id DESC))[1] FROM new
""")
"""The statement of PostgreSQL that deletes reports and inserts them in the order of their ids."""
