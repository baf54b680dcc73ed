"""Invites: one-time tokens by which a person or a device submits, once per round.

The service keeps the hash of an invite only. The id of the report comes from the invite itself. So
one report per round counts, for all bodies that a holder sends.
"""

import hashlib
import secrets

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import schema
from .auth import hash_token
from .batch import ID_BYTES
from .surveys import INVITE, Conflict, Served

MOST_CREATED = 10_000
"""The largest number of invites that one request makes."""


def create_invites(connection: Connection, served: Served, count: int) -> list[str]:
    """Make invites, and keep their hashes.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    served : Served
        The survey.
    count : int
        Number of invites.

    Returns
    -------
    list of str
        The invites, which cannot be read again.

    Raises
    ------
    Conflict
        If the survey does not use invites.
    """
    if served.submission != INVITE:
        raise Conflict("no-invites", f"the survey {served.name} takes reports without invites")
    made = [secrets.token_urlsafe(32) for _ in range(count)]
    rows = [{"survey": served.pk, "hash": hash_token(each)} for each in made]
    connection.execute(sa.insert(schema.invite), rows)
    return made


def derive_id(invite: str, round: int) -> bytes:
    """Return the id of the one report that an invite sends in a round.

    Parameters
    ----------
    invite : str
        The invite.
    round : int
        Number of the round.

    Returns
    -------
    bytes
        The id, of 16 bytes.
    """
    content = b"invite" + invite.encode() + round.to_bytes(4, "little")
    return hashlib.sha256(content).digest()[:ID_BYTES]
