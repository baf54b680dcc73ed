"""Views of a survey: the live tallies with a token, and releases without one."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from ..core.tally import Tally
from ..estimation.several import Estimates
from . import auth, estimates, groups, release, surveys
from .dependencies import choose_rounds, find_survey
from .kept import read_reports
from .problems import Problem
from .rounds import RoundState, list_rounds
from .store import Store
from .surveys import Audience, Served


@dataclass(frozen=True)
class View:
    """The tallies of some rounds at one moment.

    Parameters
    ----------
    served : Served
        The survey.
    state : str
        State of the survey.
    released : bool
        True for releases, and False for live tallies.
    numbers : list of int
        The rounds that are shown.
    tallies : dict
        Tally by round. A survey with rounds has all rounds up to the last one that is shown.
    versions : list of int
        Numbers that change with each tally: its version, or the users of the release.
    reports : dict
        Kept reports by round, if they were asked for.
    """

    served: Served
    state: str
    released: bool
    numbers: list[int]
    tallies: dict[int, Tally]
    versions: list[int]
    reports: dict[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """A text that changes when the tallies, the rounds or the state do."""
        served = self.served
        seen = (served.digest, served.pk, self.released, self.state, self.numbers, self.versions)
        return hashlib.blake2b(repr(seen).encode(), digest_size=16).hexdigest()


def require_audience(connection: Connection, served: Served, scope: str | None) -> Audience | None:
    """Return None for readers of live tallies, and the audience for readers of releases.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey.
    scope : str or None
        Scope of the token, or None without a token.

    Returns
    -------
    Audience or None
        The least numbers of reports of a release.

    Raises
    ------
    Problem
        If the survey is not public, and the token does not allow to read it.
    """
    if scope in auth.READERS:
        return None
    audience = surveys.read_audience(connection, served)
    if audience.public:
        return audience
    if scope is None:
        raise Problem("no-token", "This needs a token: Authorization: Bearer …")
    raise Problem("forbidden", f"This needs a token of {' or '.join(auth.READERS)}.")


def look(store: Store, name: str, scope: str | None, number: str, kept: bool = False) -> View:
    """Return what a reader sees now. Releases that are due move before.

    Parameters
    ----------
    store : Store
        The database.
    name : str
        Name of the survey.
    scope : str or None
        Scope of the token, or None without a token.
    number : str
        A number, ``latest`` or ``all``.
    kept : bool
        True reads the kept reports too, in the same state of the database.

    Returns
    -------
    View
        The tallies.

    Raises
    ------
    Problem
        If there is no such round, if it may not be read, or if there is no release yet. Also if
        kept reports are asked for, and the survey does not keep them.
    """
    for moved in (False, True):
        with store.read() as connection:
            served, state = find_survey(connection, name, scope)
            audience = require_audience(connection, served, scope)
            wanted = choose_rounds(connection, served, number)
            if kept and not served.keep:
                raise Problem("not-kept", "This needs the reports, and the survey keeps none.")
            if audience is None:
                return _look_live(connection, served, state, wanted, kept)
            needed = _needed(served, wanted)
            due = [] if moved else release.find_due(connection, served, audience, needed)
            if not due:
                return _look_released(connection, served, state, wanted, audience)
        for key in due:
            release.move(store, key)
    raise AssertionError("the second look always returns")  # pragma: no cover


def list_seen(store: Store, name: str, scope: str | None) -> list[RoundState]:
    """Return the rounds of a survey, with the users that a reader sees.

    Parameters
    ----------
    store : Store
        The database.
    name : str
        Name of the survey.
    scope : str or None
        Scope of the token, or None without a token.

    Returns
    -------
    list of RoundState
        The rounds, in order.

    Raises
    ------
    Problem
        If there is no such survey, or if it may not be read.
    """
    for moved in (False, True):
        with store.read() as connection:
            served, _ = find_survey(connection, name, scope)
            audience = require_audience(connection, served, scope)
            if audience is None:
                return list_rounds(connection, served)
            seen = release.list_released(connection, served, audience)
            numbers = [each.number for each in seen]
            due = [] if moved else release.find_due(connection, served, audience, numbers)
            if not due:
                return seen
        for key in due:
            release.move(store, key)
    raise AssertionError("the second look always returns")  # pragma: no cover


def _needed(served: Served, wanted: list[int]) -> list[int]:
    """Return the rounds whose tallies are needed: for a survey with rounds, all up to the last."""
    return [*range(max(wanted, default=-1) + 1)] if served.survey.rounds is not None else wanted


def _empty(served: Served, number: int) -> Tally:
    return served.at(number).tally([])._counted_by(served.digest)


def _look_live(
    connection: Connection, served: Served, state: str, wanted: list[int], kept: bool = False
) -> View:
    tallies, versions = {}, []
    for number in _needed(served, wanted):
        found = groups.read_tally(connection, served, number) or (_empty(served, number), 0)
        tallies[number] = found[0]
        versions.append(found[1])
    reports = {number: read_reports(connection, served, number) for number in wanted if kept}
    return View(served, state, False, wanted, tallies, versions, reports)


def _look_released(
    connection: Connection, served: Served, state: str, wanted: list[int], audience: Audience
) -> View:
    found = {
        number: release.read_release(connection, served, number, audience)
        for number in _needed(served, wanted)
    }
    shown = [number for number in wanted if found[number] is not None]
    if not shown:
        least = max(audience.min_users, audience.step)
        raise Problem("too-few", f"There is no release yet: it needs at least {least} reports.")
    tallies = {
        number: _empty(served, number) if each is None else each for number, each in found.items()
    }
    return View(served, state, True, shown, tallies, [each.users for each in tallies.values()])


def estimate(view: View) -> list[Estimates]:
    """Return the estimates of the rounds that a view shows."""
    found = []
    for number in view.numbers:
        tallies = [view.tallies[each] for each in sorted(view.tallies) if each <= number]
        own = tallies if view.served.survey.rounds is not None else tallies[-1:]
        found.append(estimates.estimate_round(view.served, own))
    return found


def describe(view: View, found: list[Estimates], level: float, method: str) -> dict[str, Any]:
    """Return estimates as the JSON of an answer.

    Parameters
    ----------
    view : View
        The tallies.
    found : list of Estimates
        The estimates of the rounds that it shows.
    level : float
        Level of the intervals.
    method : str
        Post-processing: "raw", "norm_sub", "norm" or "em".

    Returns
    -------
    dict
        The answer.
    """
    shown = zip(view.numbers, found, strict=True)
    users = {number: view.tallies[number].users for number in view.numbers}
    likely = {
        number: estimates.estimate_kept(view.served, reports, users[number])
        for number, reports in view.reports.items()
    }
    return {
        "survey": view.served.name,
        "digest": view.served.digest,
        "state": view.state,
        "released": view.released,
        "level": level,
        "method": method,
        "version": sum(view.versions),
        "privacy": estimates.describe_privacy(view.served),
        "rounds": [
            {"round": number}
            | estimates.describe(
                view.served, made, users[number], level, method, likely.get(number)
            )
            for number, made in shown
        ],
    }
