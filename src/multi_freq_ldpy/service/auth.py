"""Tokens: 32 random bytes that are shown once, and kept as their hash."""

import hashlib
import os
import secrets
from collections.abc import Set
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import schema
from .surveys import INVITE, Served, upsert

ADMIN, ANALYST, SUBMIT = "admin", "analyst", "submit"
READERS = (ADMIN, ANALYST)
FROM_ENVIRONMENT = "MULTI_FREQ_LDPY_ADMIN_TOKEN"
SHORTEST = 32
Tokens = schema.token.c


def hash_token(token: str) -> str:
    """Return the hash under which a token is kept, as hexadecimal digits."""
    return hashlib.sha256(token.encode()).hexdigest()


def create_token(
    connection: Connection, scope: str, note: str = "", survey: int | None = None
) -> str:
    """Make a token, and keep its hash.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    scope : str
        "admin", "analyst" or "submit".
    note : str
        Text by which a person recognises the token.
    survey : int, optional
        Key of the survey that a token to submit is for.

    Returns
    -------
    str
        The token, which cannot be read again.
    """
    token = secrets.token_urlsafe(32)
    _keep(connection, token, scope, note, survey)
    return token


def _keep(
    connection: Connection, token: str, scope: str, note: str, survey: int | None = None
) -> None:
    fields = {"scope": scope, "note": note, "survey": survey, "revoked": False}
    insert = upsert(connection, schema.token).values(hash=hash_token(token), **fields)
    connection.execute(insert.on_conflict_do_update(index_elements=["hash"], set_=fields))


def list_tokens(connection: Connection) -> list[dict[str, Any]]:
    """Return all tokens by their hashes, with scope, survey, note, and whether they are revoked."""
    surveys = schema.survey.c
    columns = sa.select(
        *(Tokens.hash, Tokens.scope, Tokens.note, Tokens.revoked), surveys.name.label("survey")
    )
    chosen = columns.join_from(schema.token, schema.survey, isouter=True)
    rows = connection.execute(chosen.order_by(Tokens.scope, Tokens.note, Tokens.hash))
    return [dict(row) for row in rows.mappings()]


def revoke(connection: Connection, name: str) -> bool:
    """Revoke the token with this hash. Returns False if there is none."""
    own = sa.update(schema.token).where(Tokens.hash == name).values(revoked=True)
    return bool(connection.execute(own).rowcount)


def scope_of(connection: Connection, token: str) -> str | None:
    """Return the scope of a token, or None if it is unknown or revoked.

    Only hashes are compared, so the time of the comparison tells nothing about the token.
    """
    chosen = sa.select(Tokens.scope).where(
        Tokens.hash == hash_token(token), sa.not_(Tokens.revoked)
    )
    found: str | None = connection.execute(chosen).scalar()
    return found


def find_submitters(
    connection: Connection, served: Served, bearers: Set[str]
) -> tuple[Set[str], Set[str]]:
    """Return which tokens or invites may submit, and which exist.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey, to which not everybody may submit.
    bearers : set of str
        Hashes of tokens or invites.

    Returns
    -------
    tuple of set of str
        The hashes that may submit, and the known hashes.
    """
    if served.submission == INVITE:
        invites = schema.invite.c
        chosen = sa.select(invites.hash).where(
            invites.survey == served.pk, invites.hash.in_(bearers)
        )
        found = set(connection.execute(chosen).scalars())
        return found, found
    columns = sa.select(Tokens.hash, Tokens.scope, Tokens.survey)
    rows = connection.execute(columns.where(Tokens.hash.in_(bearers), sa.not_(Tokens.revoked)))
    known = {row.hash: row for row in rows}
    own = {
        name
        for name, row in known.items()
        if row.scope == ADMIN or (row.scope == SUBMIT and row.survey == served.pk)
    }
    return own, known.keys()


def set_up(connection: Connection) -> str | None:
    """Make sure that there is an admin token.

    Parameters
    ----------
    connection : Connection
        Connection that writes.

    Returns
    -------
    str or None
        The token that was made now. None if there was one before, or if the environment gives one.

    Raises
    ------
    ValueError
        If the token of the environment is too short.
    """
    given = os.environ.get(FROM_ENVIRONMENT)
    if given is not None and len(given) < SHORTEST:
        raise ValueError(f"{FROM_ENVIRONMENT} must have at least {SHORTEST} characters")
    if given is not None:
        # Processes without the variable leave the token of the others
        old = Tokens.note == FROM_ENVIRONMENT
        connection.execute(sa.update(schema.token).where(old).values(revoked=True))
        _keep(connection, given, ADMIN, FROM_ENVIRONMENT)
        return None
    own = (Tokens.scope == ADMIN) & sa.not_(Tokens.revoked)
    chosen = sa.select(sa.func.count()).select_from(schema.token).where(own)
    return None if connection.execute(chosen).scalar() else create_token(connection, ADMIN, "first")
