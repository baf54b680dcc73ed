"""The tables of the service. No table holds an address, a time of arrival or a serial number."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.dialects.postgresql import UUID

metadata = MetaData()

DRAFT, OPEN, CLOSED = "draft", "open", "closed"
SQLITE_KEY = BigInteger().with_variant(Integer, "sqlite")
ID = LargeBinary(16).with_variant(UUID(), "postgresql")


def survey_of(**options: bool) -> Column[int]:
    """Return a column that refers to a survey."""
    return Column("survey", ForeignKey("survey.pk", ondelete="CASCADE"), **options)  # type: ignore[arg-type]


survey = Table(
    "survey",
    metadata,
    Column("pk", SQLITE_KEY, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("state", Text, nullable=False),
    # Of scheduled surveys, in seconds: since 1970, and of one round
    Column("starts", BigInteger),
    Column("period", BigInteger),
    Column("grace", BigInteger),
    # Treatment of reports, and rule of submissions. Both never change
    Column("keep", Boolean, nullable=False, server_default=false()),
    Column("submission", Text, nullable=False, server_default="open"),
    # Texts for respondents, as JSON. They never change
    Column("about", Text, nullable=False, server_default="{}"),
    # View of people without a token
    Column("public", Boolean, nullable=False, server_default=false()),
    Column("min_users", BigInteger, nullable=False, server_default="100"),
    Column("step", BigInteger, nullable=False, server_default="20"),
    sqlite_autoincrement=True,  # keys of deleted surveys are never used again
)

round = Table(
    "round",
    metadata,
    Column("pk", SQLITE_KEY, primary_key=True),
    survey_of(nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    # The tally that people without a token see: its users, and its counts and n as in a shard
    Column("released_users", BigInteger, nullable=False, server_default="0"),
    Column("released", LargeBinary),
    # True once the sweeper has done its work on this round
    Column("swept", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("survey", "number"),
    sqlite_autoincrement=True,
)

# SQLite keeps this table in the order of the ids, which is no order. The round is held open while
# ids are inserted, so a foreign key would only double the time of each insert
report = Table(
    "report",
    metadata,
    Column("round", SQLITE_KEY, primary_key=True, autoincrement=False),
    Column("id", ID, primary_key=True),
    Column("bytes", LargeBinary),  # the report itself, where reports are kept
    sqlite_with_rowid=False,
)

# Counts are integers of 64 bits, little endian; `n` has one entry per count
tally = Table(
    "tally",
    metadata,
    Column("round", ForeignKey("round.pk", ondelete="CASCADE"), primary_key=True),
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("counts", LargeBinary, nullable=False),
    Column("n", LargeBinary, nullable=False),
    Column("users", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    postgresql_with={"fillfactor": 50},
)

token = Table(
    "token",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    survey_of(nullable=True),
    Column("note", Text, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

# One-time tokens by which people or devices submit
invite = Table(
    "invite",
    metadata,
    survey_of(primary_key=True),
    Column("hash", Text, primary_key=True),
)

# Ids of tallies that other services counted
merged = Table(
    "merged",
    metadata,
    Column("round", ForeignKey("round.pk", ondelete="CASCADE"), primary_key=True),
    Column("id", ID, primary_key=True),
)
