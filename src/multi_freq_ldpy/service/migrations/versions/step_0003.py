"""Texts of a survey for its respondents."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column. Surveys that exist have no texts."""
    column = sa.Column("about", sa.Text, nullable=False, server_default="{}")
    op.add_column("survey", column)
