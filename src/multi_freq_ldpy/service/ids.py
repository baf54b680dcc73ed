"""Names of surveys and ids of reports, which services and devices check and compute alike."""

import hmac
import re

from ..core import validate
from .batch import ID_BYTES

NAME = re.compile(r"[a-z0-9-]{1,64}")
SECRET_BYTES = 32


def check_name(name: object) -> str:
    """Return the name of a survey, and refuse names that do not fit into URLs.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    str
        The same name.

    Raises
    ------
    ValueError
        If it is not 1 to 64 small letters, digits and hyphens.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            f"name must be 1 to 64 small letters, digits and hyphens, not {validate.quote(name)}"
        )
    return name


def report_id(secret: bytes, name: str, digest: str, round: int) -> bytes:
    """Return the id of a device's report. A device has one id per survey and round.

    It is a keyed hash, so it tells nothing about the answer, and ids of different rounds cannot be
    linked.

    Parameters
    ----------
    secret : bytes
        The sender secret of the device, 32 bytes. It is never the secret of a ``Client``.
    name : str
        Name of the survey.
    digest : str
        Digest of the survey.
    round : int
        Number of the round, counted from 0.

    Returns
    -------
    bytes
        The id of 16 bytes.

    Raises
    ------
    ValueError
        If the secret does not have 32 bytes, or if the name or the round cannot be one.

    Examples
    --------
    >>> from multi_freq_ldpy.service.ids import report_id
    >>> report_id(bytes(32), "smoking", "00" * 16, 0).hex()
    '687fbb9bb567595dd411c2ee4003ccd3'
    """
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"the secret must have {SECRET_BYTES} bytes, not {len(secret)}")
    text = check_name(name).encode()
    number = validate.Integer(0, 2**32 - 1)("round", round)
    content = bytes([len(text)]) + text + bytes.fromhex(digest) + number.to_bytes(4, "little")
    return hmac.digest(secret, b"report id\0" + content, "sha256")[:ID_BYTES]
