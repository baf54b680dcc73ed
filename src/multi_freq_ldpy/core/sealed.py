"""Sealed text: a line of JSON, and a line with its digest. Damage is detected before reading."""

from typing import Any

from . import validate
from .tally import digest_of


def seal(body: dict[str, Any]) -> bytes:
    """Return an object as a line of JSON and a line with its digest.

    Parameters
    ----------
    body : dict
        An object that JSON can hold.

    Returns
    -------
    bytes
        Both lines, in ASCII.
    """
    import json

    line = json.dumps(body, sort_keys=True).encode() + b"\n"
    return line + digest_line(line)


def unseal(data: bytes) -> Any:
    """Return the object of a sealed text. Its fields are not checked.

    Parameters
    ----------
    data : bytes
        The result of ``seal``.

    Returns
    -------
    object
        The content of the first line.

    Raises
    ------
    ValueError
        If the second line is not the digest of the first, or if the first line is not JSON.
    """
    line, end, rest = data.partition(b"\n")
    if not end or digest_line(line + end) != rest:
        raise ValueError("it is truncated or was altered: its digest does not match")
    return validate.parse_json("it", line)


def digest_line(line: bytes) -> bytes:
    """Return the line by which a damaged file is detected."""
    return digest_of(line).hex().encode() + b"\n"
