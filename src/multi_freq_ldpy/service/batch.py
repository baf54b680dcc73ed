"""The body of a submission: a header, and records of an id and a report.

The body says which survey and which round it is of. So it can be a file, wait in a queue, or be
sent by any program, and it cannot be counted for another survey. Devices use this module too.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

MAGIC = b"MFLB"
VERSION = 1
HEADER = struct.Struct("<4sB16sI")
ID_BYTES = 16


class Header(NamedTuple):
    """The first 25 bytes of a body.

    Parameters
    ----------
    digest : str
        Digest of the survey, as 32 hexadecimal digits.
    round : int
        Number of the round, counted from 0.
    """

    digest: str
    round: int


def write_batch(digest: str, round: int, records: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the body of a submission.

    Parameters
    ----------
    digest : str
        Digest of the survey.
    round : int
        Number of the round, counted from 0.
    records : iterable of tuple
        Pairs of an id of 16 bytes and a report.

    Returns
    -------
    bytes
        The body.

    Raises
    ------
    ValueError
        If there is no record, or if an id does not have 16 bytes.

    Examples
    --------
    >>> from multi_freq_ldpy.service.batch import write_batch
    >>> len(write_batch("00" * 16, 0, [(bytes(16), b"report")]))
    47
    """
    parts = [HEADER.pack(MAGIC, VERSION, bytes.fromhex(digest), round)]
    for name, report in records:
        if len(name) != ID_BYTES:
            raise ValueError(f"an id must have {ID_BYTES} bytes, not {len(name)}")
        parts += [name, report]
    if len(parts) == 1:
        raise ValueError("records must have at least one record")
    return b"".join(parts)


def read_header(body: bytes) -> Header:
    """Return the header of a body.

    Parameters
    ----------
    body : bytes
        The body of a submission.

    Returns
    -------
    Header
        The survey and the round.

    Raises
    ------
    ValueError
        If the body is too short, or if it is not a body of this version.

    Examples
    --------
    >>> from multi_freq_ldpy.service.batch import read_header, write_batch
    >>> read_header(write_batch("00" * 16, 3, [(bytes(16), b"report")])).round
    3
    """
    if len(body) < HEADER.size:
        raise ValueError(f"the body has {len(body)} bytes, fewer than its header of {HEADER.size}")
    magic, version, digest, round = HEADER.unpack_from(body)
    if magic != MAGIC:
        raise ValueError(f"the body starts with {magic.hex()}, not with {MAGIC.hex()}")
    if version != VERSION:
        raise ValueError(f"the body has version {version}, not {VERSION}")
    return Header(digest.hex(), round)


def count_records(body: bytes, report_bytes: int) -> int:
    """Return the number of records of a body.

    Parameters
    ----------
    body : bytes
        The body of a submission.
    report_bytes : int
        Length of a report of the survey.

    Returns
    -------
    int
        The number of records, at least 1.

    Raises
    ------
    ValueError
        If the body does not end with a whole record, or if it has none.

    Examples
    --------
    >>> from multi_freq_ldpy.service.batch import count_records, write_batch
    >>> count_records(write_batch("00" * 16, 0, [(bytes(16), b"report")] * 2), 6)
    2
    """
    size, length = ID_BYTES + report_bytes, len(body) - HEADER.size
    if length <= 0 or length % size:
        raise ValueError(
            f"after the header, the body must have records of {size} bytes (an id of {ID_BYTES} and"
            f" a report of {report_bytes}), not {max(0, length)} bytes"
        )
    return length // size
