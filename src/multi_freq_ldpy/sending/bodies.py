"""Bodies of reports that a gateway submits."""

import secrets
from collections.abc import Iterable

from .. import wire
from ..service.batch import ID_BYTES, write_batch
from ..survey import Survey


def report_bytes_of(survey: Survey) -> int:
    """Return the length of a report of a survey, which is the same in all rounds."""
    return survey._at(0 if survey.rounds is not None else None).report_bytes


def check_reports(survey: Survey, given: object, number: int) -> bytes:
    """Return reports of a round, one after the other, and refuse invalid ones."""
    at = number if survey.rounds is not None else None
    own = survey._at(at)
    if isinstance(given, bytes | bytearray | memoryview):
        return wire.decode(own, bytes(given)).tobytes()
    batches = survey._batches(given)
    return b"".join(
        survey._reports(own, batch, "raise", name, at)[0].tobytes() for batch, name in batches
    )


def write_body(
    survey: Survey, digest: str, number: int, given: object, ids: Iterable[bytes] | None
) -> bytes:
    """Return the body of checked reports with their ids."""
    data, size = check_reports(survey, given, number), report_bytes_of(survey)
    reports = [data[i : i + size] for i in range(0, len(data), size)]
    if not reports:
        raise ValueError("reports must have at least one report")
    names = [secrets.token_bytes(ID_BYTES) for _ in reports] if ids is None else list(ids)
    if len(names) != len(reports) or len(set(names)) != len(names):
        raise ValueError(
            f"ids must be {len(reports)} different ids, one per report, not {len(set(names))}"
            f" in {len(names)} entries"
        )
    if not all(isinstance(each, bytes) and len(each) == ID_BYTES for each in names):
        raise ValueError(f"ids must be bytes, {ID_BYTES} per report")
    return write_batch(digest, number, zip(names, reports, strict=True))
