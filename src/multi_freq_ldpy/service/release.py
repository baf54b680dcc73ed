"""Releases: the tallies that people without a token see. They move in steps only.

Two tallies that differ by one report are that report, with its time. So the public sees a stored
tally. It is replaced only when enough further reports are counted. The check and the replacement
are one transaction, which holds the round. So all processes show the same releases, also after a
restart.
"""

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..core.tally import Tally
from . import schema
from .rounds import Rounds, RoundState
from .store import Store
from .surveys import Audience, Served

Tallies = schema.tally.c
Surveys = schema.survey.c
KEPT = [Rounds.number, Rounds.state, Rounds.released_users]


def is_due(users: int, released: int, audience: Audience) -> bool:
    """Return True if a release may move.

    Parameters
    ----------
    users : int
        Number of reports that are counted.
    released : int
        Number of reports of the present release, or 0 without one.
    audience : Audience
        The least numbers of reports.

    Returns
    -------
    bool
        True if enough reports are counted, and enough of them are new.
    """
    return users >= audience.min_users and users - released >= audience.step


def find_due(
    connection: Connection, served: Served, audience: Audience, numbers: Sequence[int]
) -> list[int]:
    """Return the keys of the rounds whose releases may move.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey.
    audience : Audience
        The least numbers of reports.
    numbers : sequence of int
        The rounds. Rounds between the first and the last one are looked at.

    Returns
    -------
    list of int
        The keys. ``move`` asks again.
    """
    if not numbers:
        return []
    users = sa.func.sum(Tallies.users)
    chosen = (
        sa.select(Rounds.pk, Rounds.released_users, users)
        .join_from(schema.round, schema.tally)
        .where(Rounds.survey == served.pk, Rounds.number.between(numbers[0], numbers[-1]))
        .group_by(Rounds.pk, Rounds.released_users)
        .order_by(Rounds.pk)
    )
    rows = connection.execute(chosen).all()
    return [key for key, released, many in rows if is_due(int(many), released, audience)]


def move(store: Store, key: int) -> bool:
    """Replace the release of a round by its present tally, if this is due.

    Parameters
    ----------
    store : Store
        The database.
    key : int
        Key of the round.

    Returns
    -------
    bool
        True if the release was replaced.
    """
    with store.write() as connection:
        released = _lock(connection, key)
        audience = _find_audience(connection, key)
        if released is None or audience is None or not audience.public:
            return False
        shards = connection.execute(sa.select(schema.tally).where(Tallies.round == key)).all()
        users = sum(each.users for each in shards)
        if not shards or not is_due(users, released, audience):
            return False
        rows = [np.frombuffer(each.counts + each.n, "<i8") for each in shards]
        total = np.sum(rows, axis=0, dtype=np.int64).astype("<i8").tobytes()
        own = sa.update(schema.round).where(Rounds.pk == key)
        connection.execute(own.values(released_users=users, released=total))
    return True


def _lock(connection: Connection, key: int) -> int | None:
    """Return the users of a release, and hold its round. Groups under way end before."""
    chosen = sa.select(Rounds.released_users).where(Rounds.pk == key)
    found: int | None = connection.execute(chosen.with_for_update()).scalar()
    return found


def _find_audience(connection: Connection, key: int) -> Audience | None:
    """Return what people without a token see of the survey of a round now."""
    columns = sa.select(Surveys.public, Surveys.min_users, Surveys.step)
    chosen = columns.join_from(schema.survey, schema.round).where(Rounds.pk == key)
    row = connection.execute(chosen).one_or_none()
    return None if row is None else Audience(*row)


def list_released(connection: Connection, served: Served, audience: Audience) -> list[RoundState]:
    """Return the rounds of a survey as people without a token see them, in order."""
    chosen = sa.select(*KEPT).where(Rounds.survey == served.pk).order_by(Rounds.number)
    return [
        RoundState(number, state, users if users >= audience.min_users else 0)
        for number, state, users in connection.execute(chosen)
    ]


def read_release(
    connection: Connection, served: Served, number: int, audience: Audience
) -> Tally | None:
    """Return the release of a round, or None if there is none that may be shown.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey.
    number : int
        Number of the round.
    audience : Audience
        The least number of reports.

    Returns
    -------
    Tally or None
        The tally of the release.
    """
    own = sa.and_(Rounds.survey == served.pk, Rounds.number == number)
    row = connection.execute(
        sa.select(Rounds.released, Rounds.released_users).where(own)
    ).one_or_none()
    if row is None or row.released is None or row.released_users < audience.min_users:
        return None
    solution = served.at(number)
    counts, n = np.frombuffer(row.released, "<i8").reshape(2, -1)
    many = np.asarray(row.released_users) if solution._answers_all else n
    empty = solution.tally([])._counted_by(served.digest)
    return empty + Tally(solution, counts, many, row.released_users, survey=served.digest)
