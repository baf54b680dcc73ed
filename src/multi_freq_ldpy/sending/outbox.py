"""The outbox of a device: the surveys it knows, and the report of each round, until it is sent."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core import validate
from ..core.sealed import seal, unseal
from ..files.private import PrivateFile, read_private, write_private
from ..service.batch import ID_BYTES
from ..service.ids import SECRET_BYTES, check_name, report_id
from ..service.schedule import LARGEST_ROUND, Schedule
from .known import Pinned, require_same

VERSION = 1
WAITING, SENT, SILENT, REFUSED = STATES = ("waiting", "sent", "silent", "refused")
DIGEST = re.compile("[0-9a-f]{32}")
SECRET = re.compile(rb"[0-9a-f]{64}\n")
Key = tuple[str, str, int]
"""Name and digest of a survey, and the number of a round."""


@dataclass(frozen=True)
class Entry:
    """The report of one round of one survey.

    Parameters
    ----------
    survey : str
        Name of the survey.
    digest : str
        Digest of the survey.
    round : int
        Number of the round.
    id : bytes
        Id of the report.
    report : bytes or None
        The report on the wire, while it waits. It never changes.
    state : str
        "waiting", "sent", "silent" or "refused".
    """

    survey: str
    digest: str
    round: int
    id: bytes
    report: bytes | None = field(repr=False)
    state: str

    @property
    def key(self) -> Key:
        """The name and digest of the survey, and the number of the round."""
        return self.survey, self.digest, self.round


@dataclass(frozen=True)
class Contents:
    """The content of an outbox.

    Parameters
    ----------
    surveys : mapping
        The known surveys, by name.
    reports : mapping
        The entries, by survey, digest and round.
    """

    surveys: Mapping[str, Pinned] = field(default_factory=dict)
    reports: Mapping[Key, Entry] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the content as a line of JSON and a line with its digest."""
        surveys = {
            name: {
                "digest": each.digest,
                "spec": each.spec,
                "schedule": None if each.schedule is None else vars(each.schedule),
            }
            for name, each in self.surveys.items()
        }
        reports = [
            {
                "survey": each.survey,
                "digest": each.digest,
                "round": each.round,
                "id": each.id.hex(),
                "report": None if each.report is None else each.report.hex(),
                "state": each.state,
            }
            for _, each in sorted(self.reports.items())
        ]
        return seal({"version": VERSION, "surveys": surveys, "reports": reports})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Contents":
        """Return the content that ``to_bytes`` wrote, and refuse other data with ValueError."""
        try:
            body = unseal(data)
            if type(body["version"]) is not int or body["version"] != VERSION:
                raise ValueError(
                    f"it has version {validate.quote(body['version'])}; this package reads version"
                    f" {VERSION}"
                )
            surveys = {
                check_name(name): _read_pinned(each) for name, each in body["surveys"].items()
            }
            entries = [_read_entry(each) for each in body["reports"]]
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it is not an outbox: {type(error).__name__}") from None
        contents = cls(surveys, {each.key: each for each in entries})
        if contents.to_bytes() != data:
            raise ValueError("it is not an outbox: its content or its format differs from that")
        return contents


def _read_pinned(given: Any) -> Pinned:
    schedule, spec = given["schedule"], given["spec"]
    if not isinstance(spec, str):
        raise TypeError("spec")
    if schedule is not None:
        schedule = Schedule.check(*(schedule[each] for each in ("starts", "period", "grace")))
    return Pinned(_check_digest(given["digest"]), spec, schedule)


def _read_entry(given: Any) -> Entry:
    report, state, own = given["report"], given["state"], bytes.fromhex(given["id"])
    number = validate.Integer(0, LARGEST_ROUND)("round", given["round"])
    if (
        state not in STATES
        or (report is None) == (state == WAITING)
        or report == ""
        or len(own) != ID_BYTES
    ):
        raise TypeError("id, report or state")
    return Entry(
        check_name(given["survey"]),
        _check_digest(given["digest"]),
        number,
        own,
        None if report is None else bytes.fromhex(report),
        state,
    )


def _check_digest(given: object) -> str:
    if not isinstance(given, str) or not DIGEST.fullmatch(given):
        raise TypeError("digest")
    return given


class Outbox(PrivateFile):
    """The file of an outbox, with a lock file and the file of the sender secret beside it.

    Parameters
    ----------
    path : str or path
        Name of the file. It is created if there never was one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        real = validate.file_path("outbox", path)
        super().__init__(
            real,
            ", and with it the record of the reports that were drawn: restore it, or remove"
            f" {real}.lock too. Reports of the same rounds are then drawn again, which costs their"
            " budget again",
        )
        with self.begin() as new:
            contents = Contents() if new else self.read()
            self._read_secret(contents)
            if new:
                self.write_bytes(contents.to_bytes())

    def read(self) -> Contents:
        """Return the content of the file, checked."""
        data = self.read_bytes()
        try:
            return Contents.from_bytes(data)
        except ValueError as error:
            raise ValueError(f"{self.path} cannot be used: {error}") from None

    def enter(
        self, name: str, pinned: Pinned, number: int, draw: Callable[[], bytes | None]
    ) -> tuple[Entry, bool]:
        """Return the entry of a round, and True if it was made now.

        If there is none, ``draw`` returns the report, or None for a silent user. The entry is
        durable when this method returns. No other process draws in the meantime.
        """
        with self.lock_file():
            contents = self.read()
            require_same(name, contents.surveys.get(name, pinned), pinned.digest)
            if found := contents.reports.get((name, pinned.digest, number)):
                return found, False
            secret = self._read_secret(contents)
            report = draw()
            made = Entry(
                name,
                pinned.digest,
                number,
                report_id(secret, name, pinned.digest, number),
                report,
                SILENT if report is None else WAITING,
            )
            surveys = {name: pinned, **contents.surveys}
            after = Contents(surveys, {**contents.reports, made.key: made})
            self.write_bytes(after.to_bytes())
            return made, True

    def pin(self, name: str, pinned: Pinned) -> None:
        """Note a survey, so that a later one of this name is refused."""
        with self.lock_file():
            contents = self.read()
            require_same(name, contents.surveys.get(name, pinned), pinned.digest)
            if name not in contents.surveys:
                found = Contents({**contents.surveys, name: pinned}, contents.reports)
                self.write_bytes(found.to_bytes())

    def mark(self, entry: Entry, state: str) -> None:
        """Note that a report needs no more sending, and drop its bytes."""
        with self.lock_file():
            contents = self.read()
            found = contents.reports.get(entry.key)
            if found is not None and found.state == WAITING:
                done = Entry(*entry.key, found.id, None, state)
                after = Contents(contents.surveys, {**contents.reports, entry.key: done})
                self.write_bytes(after.to_bytes())

    def _read_secret(self, contents: Contents) -> bytes:
        """Return the sender secret, and make it if it was never used."""
        path = f"{self.path}.secret"
        try:
            text = read_private(path, 2 * SECRET_BYTES + 1)
        except FileNotFoundError:
            if contents.reports:
                raise FileNotFoundError(
                    f"{path} is gone: restore it. With a new secret, the reports of this device"
                    " could count twice"
                ) from None
            text = os.urandom(SECRET_BYTES).hex().encode() + b"\n"
            write_private(path, text)
        if not SECRET.fullmatch(text):
            raise ValueError(f"{path} cannot be used: it is not a sender secret")
        secret = bytes.fromhex(text.decode())
        if any(report_id(secret, *key) != each.id for key, each in contents.reports.items()):
            raise ValueError(f"{path} cannot be used: the outbox has ids of another secret")
        return secret
