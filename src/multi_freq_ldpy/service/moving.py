"""Copies of a whole database, such as from SQLite to PostgreSQL."""

import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import schema
from .store import Store

PAGE = 10_000
"""Number of rows that are written together."""


def copy_database(source: Store, target: Store) -> int:
    """Copy everything into an empty database, in one transaction.

    Surveys, rounds, ids, tallies, tokens and invites stay as they are. So devices and people go on
    with the new service as with the old one.

    Parameters
    ----------
    source : Store
        The database of a service that is stopped.
    target : Store
        The new database.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError
        If the new database is not empty.
    Unavailable
        If a database does not answer. Then the new one stays empty.
    """
    tables, many = schema.metadata.sorted_tables, 0
    with source.read() as old, target.write() as new:
        for table in tables:
            if new.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
                raise ValueError(f"the new database is not empty: {table.name} has rows")
        for table in tables:
            rows = old.execution_options(yield_per=PAGE).execute(sa.select(table))
            for page in rows.mappings().partitions(PAGE):
                new.execute(sa.insert(table), [_convert(dict(row), target) for row in page])
                many += len(page)
            if not target.sqlite and "pk" in table.c:
                _set_sequence(new, table)
    return many


def _convert(row: dict[str, Any], target: Store) -> dict[str, Any]:
    """Return a row with its id in the form of the new database."""
    found = row.get("id")
    if isinstance(found, uuid.UUID):
        found = found.bytes
    if found is not None:
        row["id"] = found if target.sqlite else uuid.UUID(bytes=found)
    return row


def _set_sequence(connection: Connection, table: sa.Table) -> None:
    """Let PostgreSQL go on after the largest key."""
    largest = sa.select(sa.func.coalesce(sa.func.max(table.c.pk), 0) + 1).scalar_subquery()
    sequence = sa.func.pg_get_serial_sequence(table.name, "pk")
    connection.execute(sa.select(sa.func.setval(sequence, largest, sa.false())))
