"""The entry of Alembic: it runs the steps on the connection that the service opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
