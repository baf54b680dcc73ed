"""The command ``submit``: it sends the reports of a file to a service, each once."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ..core import validate
from ..files.atomic import open_atomic
from ..files.private import sync_directory
from ..files.progress import Progress
from ..sending.bodies import check_reports, report_bytes_of
from ..service.batch import HEADER, ID_BYTES, MAGIC, VERSION, read_header
from ..service.delivery import NotDelivered, deliver_file
from ..service.remote import Remote
from ..service.schedule import find_last_round
from ..survey import Survey
from . import files
from .files import BadFile
from .serving import COLLECTING, connect
from .terminal import Json, command, say

ADDRESS = re.compile(r"(.+)/v1/surveys/([^/?#]+)/?")
TIMEOUT = 60.0
"""Seconds without a delivery after which the command ends."""


@command(COLLECTING)
def submit(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Address of the survey, as serve prints it.")
    ],
    file: Annotated[
        Path,
        typer.Argument(help="Reports, .parquet or .csv, or the body of a batch.", readable=False),
    ],
    round: Annotated[int | None, typer.Option(help="Number of the round, counted from 0.")] = None,
    as_json: Json = False,
) -> None:
    """Send the reports of a file. Repeat the command after an error: each report counts once.

    The reports first get random ids, in FILE.batch. So keep this file until all are counted.
    """
    address = ADDRESS.fullmatch(url)
    if address is None:
        raise ValueError(
            "URL must be that of a survey, such as http://127.0.0.1:8000/v1/surveys/smoking, not"
            f" {validate.quote(url)}"
        )
    files.require_readable(file)
    remote, name = connect(address[1]), address[2]
    survey, _ = Remote(address[1]).survey(name)  # without the token, which may be for reports only
    if round is not None:
        validate.Integer(0, find_last_round(survey))("--round", round)
    batch = file
    if not _is_batch(file):
        batch = Path(f"{file}.batch")
        _make_batch(batch, file, survey, round)
    many = _check_batch(batch, survey, round)
    with open(batch, "rb") as opened, Progress(f"submit {file.name}", many) as progress:
        size = report_bytes_of(survey)
        try:
            counted, before = deliver_file(
                remote, name, opened, size, TIMEOUT, lambda done: progress.step("", done)
            )
        except NotDelivered as error:
            raise OSError(f"{error}. Repeat the command: each report counts once") from None
    say(
        f"{many:,} reports: {counted:,} counted now, {before:,} counted before",
        {"reports": many, "counted": counted, "duplicates": before, "batch": str(batch)},
        as_json,
    )


def _is_batch(path: Path) -> bool:
    """Return True if a file starts like the body of a submission."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _check_batch(path: Path, survey: Survey, round: int | None) -> int:
    """Return the number of records of a batch file, and refuse one of another survey or round."""
    with open(path, "rb") as file:
        try:
            header = read_header(file.read(HEADER.size))
            if header.digest != survey.digest:
                raise ValueError(
                    f"it is of the survey with digest {header.digest}, not {survey.digest}"
                )
            if round not in (None, header.round):
                raise ValueError(f"it is of round {header.round}, not of round {round}")
            size = ID_BYTES + report_bytes_of(survey)
            many, rest = divmod(path.stat().st_size - HEADER.size, size)
            if rest or not many:
                raise ValueError(f"after its header, it must have records of {size} bytes")
            return many
        except ValueError as error:
            raise BadFile(f"{path} cannot be used: {error}") from None


def _make_batch(batch: Path, file: Path, survey: Survey, round: int | None) -> None:
    """Write the reports of a file with random ids, or compare them with those written before."""
    if batch.exists():
        files.require_readable(batch)
        _check_batch(batch, survey, round)
        with open(batch, "rb") as opened:
            number = read_header(opened.read(HEADER.size)).round
            _compare(opened, batch, file, survey, number)
        return
    if round is None and survey.longitudinal:
        raise ValueError("--round must be given, because this survey has rounds")
    number = round or 0
    with open_atomic(batch, force=False) as made:
        header = HEADER.pack(MAGIC, VERSION, bytes.fromhex(survey.digest), number)
        made.write(header)
        for part in _read_parts(file, survey, number):
            ids = np.frombuffer(secrets.token_bytes(ID_BYTES * len(part)), np.uint8)
            made.write(np.hstack([ids.reshape(len(part), ID_BYTES), part]).tobytes())
        if made.tell() == len(header):
            raise BadFile(f"{file}: there are no reports")
    sync_directory(str(batch.absolute()))


def _compare(opened: IO[bytes], batch: Path, file: Path, survey: Survey, number: int) -> None:
    """Refuse a batch file with other reports than the file."""
    size = ID_BYTES + report_bytes_of(survey)
    equal = True
    for part in _read_parts(file, survey, number):
        records = np.frombuffer(opened.read(len(part) * size), np.uint8)
        equal = equal and records.size == len(part) * size
        equal = equal and np.array_equal(records.reshape(-1, size)[:, ID_BYTES:], part)
    if not equal or opened.read(1):
        raise BadFile(
            f"{batch} has other reports than {file}, and some may be counted: submit {batch}, then"
            " remove it"
        )


def _read_parts(file: Path, survey: Survey, number: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports of a file, checked, with one row per report."""
    at, done = number if survey.rounds is not None else None, 0
    try:
        for table in files.read_reports(file, survey, "raise", at):
            data = check_reports(survey, table, number)
            part = np.frombuffer(data, np.uint8).reshape(-1, report_bytes_of(survey))
            yield part
            done += len(part)
    except BadFile:
        raise
    except (ValueError, TypeError) as error:
        raise BadFile(f"{file}: {files.shift_row(str(error), done)}") from None
