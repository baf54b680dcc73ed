"""Surveys that a sender knows: as the service described them at first use."""

import json
import time
from dataclasses import dataclass
from typing import Any

from ..core import validate
from ..service.remote import Refused
from ..service.schedule import Schedule, find_last_round
from ..survey import Survey


@dataclass(frozen=True)
class Pinned:
    """A survey as the service described it at first use.

    Parameters
    ----------
    digest : str
        Digest of the survey.
    spec : str
        The survey file, as JSON.
    schedule : Schedule or None
        Times of the rounds.
    """

    digest: str
    spec: str
    schedule: Schedule | None

    def build(self) -> Survey:
        """Return the survey, and refuse a spec of another digest."""
        survey = Survey.from_spec(validate.parse_json("spec", self.spec.encode()))
        if survey.digest != self.digest:
            raise ValueError(f"the digest {self.digest} of the survey does not fit its spec")
        return survey


def pin(name: str, about: dict[str, Any]) -> Pinned:
    """Return a survey as the service describes it, checked."""
    survey = Survey.from_spec(about["spec"])
    if survey.digest != about["digest"]:
        raise ValueError(f"the digest of {name} does not fit its spec")
    times = about["schedule"]
    schedule = None
    if times is not None:
        schedule = Schedule.check(*(times.get(each) for each in ("starts", "period", "grace")))
    return Pinned(survey.digest, json.dumps(survey.to_spec()), schedule)


def choose_round(
    name: str, survey: Survey, pinned: Pinned, about: dict[str, Any] | None, given: int | None
) -> int:
    """Return the number of the round of an answer."""
    last = find_last_round(survey)
    if given is not None:
        return validate.Integer(0, last)("round", given)
    if not survey.longitudinal:
        return 0
    if about is not None:
        if not about["accepted"]:
            require_accepted(name, about, 0)
        return validate.Integer(0, last)("accepted", max(about["accepted"]))
    if pinned.schedule is None:
        raise OSError(f"the service does not answer, so the round of {name} is not known")
    number = pinned.schedule.number(time.time())
    if not 0 <= number <= last:
        raise ValueError(f"{name} has no round now: round {number} is not one from 0 to {last}")
    return number


def require_accepted(name: str, about: dict[str, Any], number: int) -> None:
    """Refuse a round that takes no reports now."""
    if about["state"] != "open":
        raise Refused(409, f"{name} takes no reports: it is {about['state']}.", "not-open")
    if number not in about["accepted"]:
        raise Refused(409, f"Round {number} of {name} takes no reports now.", "round-closed")


def require_same(name: str, pinned: Pinned, digest: str) -> None:
    """Refuse another survey than the one that the outbox knows by its name."""
    if pinned.digest != digest:
        raise ValueError(
            f"the service has another survey under the name {name}: its digest is"
            f" {validate.quote(digest)}, not {pinned.digest}. Nothing was drawn or sent"
        )
