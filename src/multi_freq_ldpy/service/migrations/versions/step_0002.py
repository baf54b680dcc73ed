"""Settings of surveys, releases, kept reports, invites, and tallies of other services."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import UUID

revision = "0002"
down_revision = "0001"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ID = sa.LargeBinary(16).with_variant(UUID(), "postgresql")


def _add(table: str, name: str, kind: Any, default: Any = None) -> None:
    """Add a column. The default is the value of the rows that exist."""
    column = sa.Column(name, kind, nullable=default is None, server_default=default)
    op.add_column(table, column)


def _reference(table: str) -> "sa.Column[int]":
    reference = sa.ForeignKey(f"{table}.pk", ondelete="CASCADE")
    return sa.Column(table, KEY, reference, primary_key=True)


def upgrade() -> None:
    """Add columns and tables. The meaning of the rows that exist stays the same."""
    _add("survey", "keep", sa.Boolean, sa.false())
    _add("survey", "submission", sa.Text, "open")
    _add("survey", "public", sa.Boolean, sa.false())
    _add("survey", "min_users", sa.BigInteger, "100")
    _add("survey", "step", sa.BigInteger, "20")
    _add("round", "released_users", sa.BigInteger, "0")
    _add("round", "released", sa.LargeBinary)
    _add("round", "swept", sa.Boolean, sa.false())
    _add("report", "bytes", sa.LargeBinary)
    op.create_table("invite", _reference("survey"), sa.Column("hash", sa.Text, primary_key=True))
    op.create_table("merged", _reference("round"), sa.Column("id", ID, primary_key=True))
