"""The surveys of a service: their specs, which never change, and their states."""

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..solutions.base import Solution
from ..survey import Survey
from . import schema
from .about import About
from .ids import NAME as NAME
from .ids import check_name as check_name
from .schedule import Schedule as Schedule
from .schedule import find_last_round
from .schema import CLOSED, DRAFT, OPEN

MOST_CACHED = 256
"""The largest number of surveys that are kept in memory."""

ANYBODY, TOKEN, INVITE = SUBMISSIONS = ("open", "token", "invite")
"""Rules of submissions: from anybody, with a token of the survey, or once per invite and round."""


class Conflict(Exception):
    """Exception raised if a change does not fit the present state.

    Parameters
    ----------
    kind : str
        The word that names the problem.
    detail : str
        One sentence about it.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


@dataclass(frozen=True)
class Audience:
    """View of people without a token on a survey. It may be changed at any time.

    Parameters
    ----------
    public : bool
        True shows them estimates, as releases.
    min_users : int
        Least number of reports of a release.
    step : int
        Least number of reports between two releases.
    """

    public: bool = False
    min_users: int = 100
    step: int = 20


@dataclass(frozen=True)
class Served:
    """A survey of the service. Everything here stays as it is while the survey exists.

    Parameters
    ----------
    pk : int
        Key of the survey in the database.
    name : str
        Name in URLs.
    survey : Survey
        The survey.
    spec : str
        The spec, as JSON.
    digest : str
        Digest of the survey.
    schedule : Schedule or None
        Times of the rounds. None means that rounds are opened by hand.
    keep : bool
        True if reports are kept, and not only their tally.
    submission : str
        Rule of submissions: "open", "token" or "invite".
    about : str
        Texts for respondents, as JSON.
    """

    pk: int
    name: str
    survey: Survey
    spec: str
    digest: str
    schedule: Schedule | None
    keep: bool = False
    submission: str = ANYBODY
    about: str = "{}"

    def at(self, number: int) -> Solution:
        """Return the solution whose reports are those of a round."""
        solution = self.survey.solution
        return solution if self.survey.rounds is None else solution.at(number)

    @cached_property
    def report_bytes(self) -> int:
        """The length of a report."""
        return self.at(0).report_bytes

    @property
    def last_round(self) -> int:
        """The largest number of a round."""
        return find_last_round(self.survey)


def create(
    connection: Connection,
    name: str,
    survey: Survey,
    schedule: Schedule | None = None,
    *,
    keep: bool = False,
    submission: str = ANYBODY,
    audience: Audience | None = None,
    about: About | None = None,
) -> tuple[Served, bool]:
    """Create a survey as a draft.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    name : str
        Name in URLs.
    survey : Survey
        The survey.
    schedule : Schedule, optional
        Times of the rounds.
    keep : bool
        True keeps the reports, and not only their tally.
    submission : str
        Rule of submissions: "open", "token" or "invite".
    audience : Audience, optional
        View of people without a token. None, the default, shows nothing.
    about : About, optional
        Texts for respondents. None, the default, gives a new survey none.

    Returns
    -------
    served : Served
        The survey of this name.
    created : bool
        False if the same survey existed before.

    Raises
    ------
    Conflict
        If another survey has this name.
    ValueError
        If the survey has no rounds, and a schedule is given. Also if a question is of no attribute.
    """
    if schedule is not None and not survey.longitudinal:
        raise ValueError("schedule is for surveys that are asked again: this survey asks once")
    times = {
        field: None if schedule is None else getattr(schedule, field)
        for field in ("starts", "period", "grace")
    }
    texts = (about or About()).write(survey)
    row = {
        "name": check_name(name),
        "digest": survey.digest,
        "spec": json.dumps(survey.to_spec(), ensure_ascii=False),
        "state": DRAFT,
        "keep": keep,
        "submission": submission,
        "about": texts,
    }
    created = insert_new(connection, schema.survey, row | times | vars(audience or Audience()))
    found = find(connection, name)
    assert found is not None
    served, _ = found
    present = (served.digest, served.schedule, served.keep, served.submission)
    same = about is None or About.read(served.about) == about
    if not same or present != (survey.digest, schedule, keep, submission):
        raise Conflict(
            "name-taken",
            f"a survey named {name} exists, with digest {served.digest}: its spec, its texts, its"
            " schedule, whether it keeps reports and who may submit never change, so use another"
            " name",
        )
    return served, created


def read_audience(connection: Connection, served: Served) -> Audience:
    """Return what people without a token see of a survey now."""
    columns = [schema.survey.c[name] for name in ("public", "min_users", "step")]
    row = connection.execute(sa.select(*columns).where(schema.survey.c.pk == served.pk)).one()
    return Audience(*row)


def change_audience(connection: Connection, served: Served, changes: dict[str, Any]) -> None:
    """Change some fields of the audience of a survey."""
    own = schema.survey.c.pk == served.pk
    connection.execute(sa.update(schema.survey).where(own).values(**changes))


def upsert(connection: Connection, table: sa.Table) -> Any:
    """Return an insert of the database's own dialect, which knows conflicts."""
    from sqlalchemy.dialects import postgresql, sqlite

    dialects: dict[str, Any] = {"sqlite": sqlite, "postgresql": postgresql}
    return dialects[connection.dialect.name].insert(table)


def insert_new(connection: Connection, table: sa.Table, row: dict[str, Any]) -> bool:
    """Insert a row if its key is new, and return whether it was."""
    insert = upsert(connection, table).values(**row).on_conflict_do_nothing()
    return connection.execute(insert.returning(sa.literal(1))).first() is not None


def find(connection: Connection, name: str, lock: bool = False) -> tuple[Served, str] | None:
    """Return a survey and its state, or None if there is none of this name."""
    chosen = sa.select(schema.survey).where(schema.survey.c.name == name)
    row = connection.execute(chosen.with_for_update() if lock else chosen).one_or_none()
    return None if row is None else (_serve(row), row.state)


def list_all(connection: Connection) -> list[tuple[str, str, str]]:
    """Return the names, digests and states of all surveys, sorted by name."""
    columns = schema.survey.c
    chosen = sa.select(columns.name, columns.digest, columns.state).order_by(columns.name)
    return [(name, digest, state) for name, digest, state in connection.execute(chosen)]


def list_scheduled(connection: Connection) -> list[str]:
    """Return the names of the open surveys that have a schedule."""
    columns = schema.survey.c
    chosen = sa.select(columns.name).where(columns.state == OPEN, columns.period.is_not(None))
    return list(connection.execute(chosen.order_by(columns.name)).scalars())


def _serve(row: Any) -> Served:
    fields = ("pk", "name", "spec", "digest", "starts", "period", "grace")
    rules = ("keep", "submission", "about")
    return _build(*(getattr(row, field) for field in fields + rules))


@lru_cache(maxsize=MOST_CACHED)
def _build(
    pk: int,
    name: str,
    spec: str,
    digest: str,
    starts: int,
    period: int | None,
    grace: int,
    keep: bool,
    submission: str,
    about: str,
) -> Served:
    """Return a survey of the service. None of its fields ever changes, so it is built once."""
    schedule = None if period is None else Schedule(starts, period, grace)
    survey = Survey.from_spec(json.loads(spec))
    return Served(pk, name, survey, spec, digest, schedule, keep, submission, about)


def delete(connection: Connection, name: str, confirm: str | None) -> bool:
    """Delete a draft, or a closed survey if its name is given once more.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    name : str
        Name of the survey.
    confirm : str or None
        The name once more, for closed surveys.

    Returns
    -------
    bool
        False if there is no survey of this name.

    Raises
    ------
    Conflict
        If the survey is open, or if it is closed and not confirmed.
    """
    found = find(connection, name, lock=True)
    if found is None:
        return False
    served, state = found
    if state == OPEN:
        raise Conflict("state", "a survey that is open cannot be deleted: close it first")
    if state == CLOSED and confirm != name:
        raise Conflict("confirm", f"to delete its tallies for ever, add ?confirm={name}")
    own = sa.select(schema.round.c.pk).where(schema.round.c.survey == served.pk)
    # In the order of locks of the sweeper: rounds first
    held = connection.execute(own.order_by(schema.round.c.pk).with_for_update()).scalars().all()
    connection.execute(sa.delete(schema.report).where(schema.report.c.round.in_(held)))
    connection.execute(sa.delete(schema.survey).where(schema.survey.c.pk == served.pk))
    return True
