"""The database: connections, transactions, migrations, backups, and one process per SQLite file."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..files.locks import try_lock
from . import schema

DEFAULT = "sqlite:///multi-freq-ldpy.sqlite"
LEAST_FREE = 64 * 2**20
"""The least free space on the disk of a SQLite file with which the service is ready, in bytes."""

RECENT = 1.0
"""Seconds for which a result of readiness holds while the next one is awaited."""

PATIENCE = 5
"""Seconds to wait for a connection to PostgreSQL."""

MIGRATING = 0x6D666C64
"""The key of PostgreSQL's advisory lock that serialises migrations."""

PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "busy_timeout = 30000",
    "cache_size = -65536",
    "foreign_keys = ON",
    "secure_delete = ON",
)


class Unavailable(Exception):
    """Exception raised if the database does not answer."""


class Store:
    """The database of a service.

    Parameters
    ----------
    url : str
        URL of the database: ``sqlite:///file`` or ``postgresql://user@host/name``.
    alone : bool
        True, the default, takes the lock of a SQLite file, which belongs to one process.

    Raises
    ------
    ValueError
        If the URL is of another database, or if another process has the SQLite file open. Also if
        the schema is newer than this package, or if PostgreSQL does not write to the disk.
    OSError
        If the database cannot be opened.
    """

    def __init__(self, url: str = DEFAULT, *, alone: bool = True) -> None:
        self.url = parse_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._held = ExitStack()
        self._kept: Connection | None = None
        self._keeping, self._probing = threading.Lock(), threading.Lock()
        self._was_ready, self._probed = True, time.monotonic()
        if self.sqlite and alone:
            self._held.enter_context(_own_file(self.path))
        options: dict[str, Any] = {}
        if not self.sqlite:
            options = {"pool_pre_ping": True, "connect_args": {"connect_timeout": PATIENCE}}
        self.engine = sa.create_engine(self.url, **options)
        if self.sqlite:
            sa.event.listen(self.engine, "connect", _prepare)
            sa.event.listen(self.engine, "begin", _begin)
        try:
            self._migrate()
        except Unavailable as error:
            self.close()
            shown = self.url.render_as_string()
            raise OSError(f"the database {shown} cannot be used: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The SQLite file."""
        assert self.url.database
        return Path(self.url.database).absolute()

    def close(self) -> None:
        """Close all connections, and release the file."""
        with self._keeping:
            self._drop()
        if hasattr(self, "engine"):
            self.engine.dispose()
        self._held.close()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that sees one state of the database."""
        with self._answering(), self.engine.connect() as connection:
            if not self.sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection whose changes are made together, at the end of the block."""
        with self._answering(), self.engine.connect() as connection:
            own = connection.execution_options(writes=True)
            with own.begin():
                yield own

    @contextmanager
    def write_group(self) -> Iterator[Connection]:
        """Yield a connection as ``write`` does, which is kept for the next group.

        Groups of reports follow each other closely. The connection of a block that fails is not
        used again.
        """
        with self._keeping, self._answering():
            if self._kept is None:
                self._kept = self.engine.connect().execution_options(writes=True)
            try:
                with self._kept.begin():
                    yield self._kept
            except BaseException:
                self._drop()
                raise

    def _drop(self) -> None:
        """Close the connection that is kept."""
        if self._kept is not None:
            self._kept.invalidate()
            self._kept.close()
            self._kept = None

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn failures of the database into one kind of error."""
        driver: Any = self.engine.dialect.dbapi
        try:
            yield
        except (SQLAlchemyError, driver.Error) as error:
            raise Unavailable(type(error).__name__) from error

    def is_ready(self) -> bool:
        """Return True if a statement is answered, and if there is space for more reports.

        While one statement waits for its answer, no other one is tried. For a second, the result
        before holds.
        """
        if not self._probing.acquire(blocking=False):
            return self._was_ready and time.monotonic() - self._probed < RECENT
        try:
            self._probed = time.monotonic()
            self._was_ready = self._probe()
        finally:
            self._probing.release()
        return self._was_ready

    def _probe(self) -> bool:
        """Return True if a statement is answered now, and if there is space."""
        try:
            with self.read() as connection:
                connection.execute(sa.select(schema.token.c.scope).limit(1)).first()
        except Unavailable:
            return False
        if not self.sqlite:
            return True
        about = os.statvfs(self.path.parent) if hasattr(os, "statvfs") else None
        return about is None or about.f_bavail * about.f_frsize > LEAST_FREE

    def back_up(self, path: str | os.PathLike[str]) -> None:
        """Copy a SQLite file, also while the service is running.

        Parameters
        ----------
        path : path
            Name of the copy, which must not exist.

        Raises
        ------
        ValueError
            If the database is not SQLite.
        FileExistsError
            If there is a file of this name.
        """
        if not self.sqlite:
            raise ValueError("backup copies SQLite files: for PostgreSQL, use pg_dump")
        back_up(self.path, path)

    def vacuum(self, table: sa.Table) -> None:
        """Remove deleted rows of a table from the disk now.

        SQLite overwrites them itself, but its log keeps them, and the order of arrival.
        """
        if self.sqlite:
            with self._answering():
                raw = self.engine.raw_connection()
                try:
                    raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    raw.close()
            return
        with self._answering(), self.engine.connect() as connection:
            own = connection.execution_options(isolation_level="AUTOCOMMIT")
            own.execute(sa.text(f"VACUUM {table.name}"))

    def _migrate(self) -> None:
        """Bring the schema to the version of this package, in one transaction."""
        config = Config()
        config.set_main_option("script_location", "multi_freq_ldpy.service:migrations")
        with self.write() as connection:
            if not self.sqlite:
                _require_durable(connection)
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATING)))
            script = ScriptDirectory.from_config(config)
            present = MigrationContext.configure(connection).get_current_revision()
            if present is not None and present not in {
                each.revision for each in script.walk_revisions()
            }:
                raise ValueError(
                    f"the database has schema {present}, which is newer than this package: upgrade"
                    " multi-freq-ldpy"
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def back_up(source: Path, path: str | os.PathLike[str]) -> None:
    """Copy a SQLite file, also while a service is running on it.

    Parameters
    ----------
    source : Path
        The file of the service.
    path : path
        Name of the copy, which must not exist.

    Raises
    ------
    FileNotFoundError
        If there is no file of the service.
    FileExistsError
        If there is a file of the name of the copy.
    """
    target = Path(path).absolute()
    if not source.is_file():
        raise FileNotFoundError(f"{source} does not exist")
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        old, new = sqlite3.connect(source), sqlite3.connect(part)
        try:
            old.backup(new)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{source} cannot be copied: {error}") from None
        finally:
            new.close()
            old.close()
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        raise


def parse_url(url: str) -> sa.URL:
    """Return the URL of a database, with the driver that the service uses."""
    wanted = "sqlite:///file or postgresql://user@host/name"
    try:
        found = make_url(url)
    except ArgumentError:
        raise ValueError(f"database must be {wanted}, not {url!r}") from None
    name = found.get_backend_name()
    if name == "sqlite" and found.database and found.database != ":memory:":
        return found.set(drivername="sqlite")
    if name in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise ValueError(
                "PostgreSQL needs psycopg: pip install 'multi-freq-ldpy[serve,postgres]'"
            ) from None
        return found.set(drivername="postgresql+psycopg")
    raise ValueError(f"database must be {wanted}, not {found.render_as_string()!r}")


@contextmanager
def _own_file(path: Path) -> Iterator[None]:
    """Hold the lock that keeps other processes from a SQLite file."""
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be created: {path.parent} is not a directory")
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with try_lock(descriptor) as own:
            if not own:
                raise ValueError(
                    f"{path} is in use by another process: a SQLite file belongs to one process,"
                    " and PostgreSQL takes several"
                )
            if not path.exists():  # only its owner may read it
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            yield
    finally:
        os.close(descriptor)


def _prepare(connection: Any, _: object) -> None:
    """Set up a new connection to SQLite. Transactions begin where `_begin` says so."""
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _require_durable(connection: Connection) -> None:
    for name in ("fsync", "synchronous_commit"):
        if connection.execute(sa.text(f"SHOW {name}")).scalar() == "off":
            raise ValueError(
                f"PostgreSQL has {name}=off, so it could lose reports that it has acknowledged"
            )
