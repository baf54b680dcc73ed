"""Databases for the tests of the service.

``DATABASES=sqlite,postgresql`` adds a cluster of PostgreSQL, as ``make service`` does.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.store import Store
from tools.postgres import Cluster, start_postgres

DATABASES = os.environ.get("DATABASES", "sqlite").split(",")
SERVICE_ONLY = ["test_full_disk.py", "test_postgres.py", "test_weekly.py"]
THOROUGH = "postgresql" in DATABASES
"""True for ``make service``, which kills and races more often than ``make test``."""

collect_ignore = [] if THOROUGH else SERVICE_ONLY
ONCE = Survey({"smokes": ["yes", "no"], "age": ["a", "b", "c", "d"]}, epsilon=2.0)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with start_postgres() as started:
        yield started


@pytest.fixture(scope="session", params=DATABASES)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of a database."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def databases(
    kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], str]:
    """A function that returns the URL of an empty database."""
    if kind == "sqlite":
        return lambda: f"sqlite:///{tmp_path_factory.mktemp('database')}/service.sqlite"
    create: Callable[[], str] = request.getfixturevalue("cluster").create_database
    return create


@pytest.fixture
def database(databases: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return databases()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A survey file."""
    path = tmp_path / "smoking.json"
    ONCE.save(path)
    return [path]


@pytest.fixture
def stores(database: str) -> Any:
    """Two connections to one database, as two processes have them."""
    found = [Store(database), Store(database, alone=False)]
    yield found
    for each in found:
        each.close()
