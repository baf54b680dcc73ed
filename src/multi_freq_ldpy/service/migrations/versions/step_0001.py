"""Tables of surveys, rounds, ids, tallies and tokens."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import UUID

revision = "0001"
down_revision = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _survey(nullable: bool) -> "sa.Column[int]":
    reference = sa.ForeignKey("survey.pk", ondelete="CASCADE")
    return sa.Column("survey", KEY, reference, nullable=nullable)


def _round() -> "sa.Column[int]":
    reference = sa.ForeignKey("round.pk", ondelete="CASCADE")
    return sa.Column("round", KEY, reference, primary_key=True)


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "survey",
        sa.Column("pk", KEY, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("starts", sa.BigInteger),
        sa.Column("period", sa.BigInteger),
        sa.Column("grace", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "round",
        sa.Column("pk", KEY, primary_key=True),
        _survey(False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.UniqueConstraint("survey", "number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "report",
        sa.Column("round", KEY, primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary(16).with_variant(UUID(), "postgresql"), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tally",
        _round(),
        sa.Column("shard", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
        sa.Column("n", sa.LargeBinary, nullable=False),
        sa.Column("users", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        postgresql_with={"fillfactor": 50},
    )
    op.create_table(
        "token",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("scope", sa.Text, nullable=False),
        _survey(True),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
