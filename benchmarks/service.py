"""The collection service beside one commit per report, a bare server, and inserts of ids alone."""

import http.client
import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from progress import Progress

from multi_freq_ldpy import OUE, Survey
from multi_freq_ldpy.service.batch import HEADER, ID_BYTES, write_batch

Results = dict[str, Any]
ROOT = Path(__file__).parent.parent
LOAD = Path(__file__).with_name("service_load.py")
POSTGRES = "MULTI_FREQ_LDPY_TEST_POSTGRES"
NEEDED = ("fastapi", "uvicorn", "httptools", "sqlalchemy", "alembic")
NAME = "benchmark"
PATH = f"/v1/surveys/{NAME}/reports"
PATIENCE = 60.0
CONNECTIONS = (1, 64, 256)
BATCH, SENDERS = 1000, 8
"""Reports in a batch, and connections that send batches."""

SERVE = """
import sys
from multi_freq_ldpy.service import writer
{plant}
from multi_freq_ldpy.cli import main
main()
"""
PLANTS = {"service": "", "one commit per report": "writer.MOST_GROUPED = 1"}
BARE = """
import sys
import uvicorn
from multi_freq_ldpy.service.limits import GuardedProtocol

body = {body!r}.encode()
headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]

async def answer(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({{"type": "http.response.start", "status": 200, "headers": headers}})
    await send({{"type": "http.response.body", "body": body}})

uvicorn.Server(uvicorn.Config(
    answer, host="127.0.0.1", port=int(sys.argv[1]), http=GuardedProtocol, lifespan="off",
    log_config=None, log_level="warning", access_log=False, server_header=False, date_header=False,
)).run()
"""


def service(seconds: float, turns: int) -> list[Results] | None:
    """Measure the service on SQLite and on PostgreSQL.

    The URL of PostgreSQL comes from a variable of the environment. Without it, a cluster is started
    if PostgreSQL is installed.

    All servers run during the whole measurement, and are measured in turns. Each figure is the best
    of its turns.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        print(f"left out: the service needs {', '.join(missing)}", file=sys.stderr)
        return None
    found = []
    with tempfile.TemporaryDirectory() as folder, sqlite_databases(Path(folder)) as databases:
        found.append({"database": "SQLite", **_measure(databases, Path(folder), seconds, turns)})
    with _find_postgres() as url:
        if url is None:
            print("left out: PostgreSQL is not installed", file=sys.stderr)
            return found
        with tempfile.TemporaryDirectory() as folder, postgres_databases(url) as databases:
            about = _measure(databases, Path(folder), seconds, turns)
            found.append({"database": "PostgreSQL", **about})
    return found


@contextmanager
def _find_postgres() -> Iterator[str | None]:
    """Yield the URL of a server of PostgreSQL, or None if there is none."""
    sys.path.append(str(ROOT))
    from tools.postgres import find_binaries, start_postgres

    if (url := os.environ.get(POSTGRES)) or find_binaries() is None:
        yield url
        return
    with start_postgres() as cluster:
        yield cluster.create_database()


@dataclass
class Ids:
    """A table of ids without a server. ``insert`` adds sorted ids in one transaction."""

    insert: Callable[[list[bytes]], None]
    size: int = 0

    def add(self, many: int) -> float:
        """Add a group of ids, and return the seconds of its transaction."""
        data = os.urandom(ID_BYTES * many)
        ids = sorted(data[i : i + ID_BYTES] for i in range(0, len(data), ID_BYTES))
        started = time.perf_counter()
        self.insert(ids)
        self.size += many
        return time.perf_counter() - started


@dataclass
class Databases:
    """New databases by the name of their server, and tables without a server.

    Inserts into the table "learn" also learn which ids are new, as the service must. ``count``
    returns the number of ids of the service.
    """

    urls: dict[str, str]
    ids: dict[str, Ids]
    count: Callable[[], int]


@contextmanager
def sqlite_databases(folder: Path) -> Iterator[Databases]:
    """Yield SQLite files in a folder."""
    from multi_freq_ldpy.service.store import PRAGMAS

    urls = {name: f"sqlite:///{folder}/{i}.sqlite" for i, name in enumerate(PLANTS)}
    connection = sqlite3.connect(folder / "ids.sqlite", isolation_level=None)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    for name in ("insert", "learn"):
        connection.execute(
            f"CREATE TABLE ids_{name} (round INTEGER NOT NULL, id BLOB NOT NULL,"
            " PRIMARY KEY (round, id)) WITHOUT ROWID"
        )

    def insert(ids: list[bytes]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "WITH RECURSIVE given (i) AS"
            " (SELECT 0 UNION ALL SELECT i + 1 FROM given WHERE i < :last)"
            " INSERT OR IGNORE INTO ids_insert (round, id)"
            " SELECT 1, substr(:ids, 16 * i + 1, 16) FROM given",
            {"ids": b"".join(ids), "last": len(ids) - 1},
        )
        connection.execute("COMMIT")

    def learn(ids: list[bytes]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        cursor = connection.cursor()
        for each in ids:
            cursor.execute("INSERT OR IGNORE INTO ids_learn (round, id) VALUES (1, ?)", (each,))
            assert cursor.rowcount == 1
        connection.execute("COMMIT")

    def count() -> int:
        with closing(sqlite3.connect(f"file:{folder}/0.sqlite?mode=ro", uri=True)) as own:
            return int(own.execute("SELECT count(*) FROM report").fetchone()[0])

    with closing(connection):
        yield Databases(urls, {"insert": Ids(insert), "learn": Ids(learn)}, count)


@contextmanager
def postgres_databases(url: str) -> Iterator[Databases]:
    """Yield databases of their own on a server of PostgreSQL, and drop them afterwards."""
    import psycopg
    from sqlalchemy.engine import make_url

    given = make_url(url).set(drivername="postgresql")
    run = secrets.token_hex(4)
    names = {name: f"benchmark_{run}_{i}" for i, name in enumerate([*PLANTS, "ids"])}
    urls = {
        name: given.set(database=database).render_as_string(hide_password=False)
        for name, database in names.items()
    }
    with ExitStack() as stack:
        admin = stack.enter_context(
            psycopg.connect(given.render_as_string(hide_password=False), autocommit=True)
        )
        for database in names.values():
            admin.execute(f'CREATE DATABASE "{database}"'.encode())
            drop = f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)'.encode()
            stack.callback(admin.execute, drop)
        connection = stack.enter_context(closing(psycopg.connect(urls.pop("ids"))))
        for name in ("insert", "learn"):
            connection.execute(
                f"CREATE TABLE ids_{name} (round bigint NOT NULL, id uuid NOT NULL,"
                " PRIMARY KEY (round, id))".encode()
            )
        connection.commit()
        statement = (
            "INSERT INTO ids_{} (round, id)"
            " SELECT 1, encode(substring(given.ids FROM 16 * i + 1 FOR 16), 'hex')::uuid"
            " FROM (SELECT %b::bytea AS ids) given, generate_series(0, %s) i"
            " ORDER BY i ON CONFLICT DO NOTHING"
        )

        def insert(ids: list[bytes], table: str = "insert", learning: str = "") -> None:
            connection.execute(
                (statement.format(table) + learning).encode(),
                (b"".join(ids), len(ids) - 1),
                binary=True,
            )
            connection.commit()

        def count() -> int:
            with closing(psycopg.connect(urls["service"])) as own:
                row = own.execute("SELECT count(*) FROM report").fetchone()
                assert row is not None
                return int(row[0])

        learn = partial(insert, table="learn", learning=" RETURNING uuid_send(id)")
        yield Databases(urls, {"insert": Ids(insert), "learn": Ids(learn)}, count)


def _measure(databases: Databases, folder: Path, seconds: float, turns: int) -> Results:
    survey = Survey({"answer": [str(i) for i in range(100)]}, epsilon=1.0, protocol=OUE)
    path = folder / f"{NAME}.json"
    survey.save(path)
    reports = survey.solution.randomize([[i % 100] for i in range(1000)]).tobytes()
    cells: dict[tuple[str, int], dict[str, float]] = {}
    batches: dict[str, float] = {}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(_serving(SERVE.format(plant=plant), *_options(path, url)))
            for (name, plant), url in zip(PLANTS.items(), databases.urls.values(), strict=True)
        }
        bare = BARE.format(body=_answer_to(1))
        servers["bare server"] = stack.enter_context(_serving(bare))
        send = partial(_load, survey, reports)
        report = reports[: survey.solution.report_bytes]
        first = write_batch(survey.digest, 0, [(os.urandom(ID_BYTES), report)])
        for server in servers.values():
            server.wait()
        for server in servers.values():  # kernels are loaded with the first report
            _ask(server.port, "POST", PATH, first)
        parts = [(many, name) for many in CONNECTIONS for name in servers]
        progress = Progress("service", turns * (len(parts) + 1))
        for turn in range(turns):
            for i, (many, name) in enumerate(parts):
                progress.at(turn * (len(parts) + 1) + i, f"{name}, {many} connections")
                measured = send(servers[name], connections=many, seconds=seconds)
                cells[name, many] = _best(measured, cells.get((name, many)))
            ours = send(servers["service"], connections=SENDERS, seconds=seconds, records=BATCH)
            ours = {"reports": BATCH * ours["rate"], "cpu": ours["cpu"] / BATCH}
            ours |= {name: _insert_groups(databases, name, seconds) for name in databases.ids}
            batches = _best(ours, batches)
        progress.at(progress.total)
    rows = [{"server": name, "connections": many, **cells[name, many]} for many, name in parts]
    return {"rows": rows, "batches": batches, "size": BATCH, "senders": SENDERS}


def _best(one: dict[str, float], other: dict[str, float] | None) -> dict[str, float]:
    """Return the best of two turns: the largest rates and the least times."""
    most = ("rate", "reports", "insert", "learn")
    if not other:
        return one
    return {name: (max if name in most else min)(value, other[name]) for name, value in one.items()}


def _options(path: Path, url: str) -> list[str]:
    return ["serve", str(path), "--database", url, "--rate", "0", "--port"]


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    log: IO[bytes]

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + PATIENCE
        while not _answers(self.port):
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                raise RuntimeError(f"a server does not answer: {self.log.read().decode()}")
            time.sleep(0.05)


@contextmanager
def _serving(program: str, *options: str) -> Iterator[Server]:
    """Run a program with a free port as its last argument, until the end of the block."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    # Kernels are loaded at once, because the time until they are loaded is not measured
    environment = os.environ | {"MULTI_FREQ_LDPY_COMPILE": "always"}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [sys.executable, "-c", program, *options, str(port)],
            env=environment,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            yield Server(process, port, log)
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(port: int) -> bool:
    with suppress(OSError, http.client.HTTPException):
        return _ask(port, "GET", "/healthz") == 200
    return False


def _ask(port: int, method: str, path: str, body: bytes | None = None) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body, {"content-type": "application/octet-stream"})
        return connection.getresponse().status


def _answer_to(records: int) -> str:
    return json.dumps({"counted": records, "duplicates": 0}, separators=(",", ":"))


def _load(
    survey: Survey,
    reports: bytes,
    server: Server,
    *,
    connections: int,
    seconds: float,
    warm: float = 0.3,
    records: int = 1,
) -> dict[str, float]:
    """Send reports from another process, and return what it measured."""
    settings = {
        "pid": server.process.pid,
        "port": server.port,
        "path": PATH,
        "header": write_batch(survey.digest, 0, [(bytes(ID_BYTES), b"")])[: HEADER.size].hex(),
        "report_bytes": survey.solution.report_bytes,
        "records": records,
        "expected": _answer_to(records),
        "connections": connections,
        "seconds": seconds,
        "warm": warm,
    }
    said = subprocess.run(
        [sys.executable, str(LOAD), json.dumps(settings)],
        input=reports,
        stdout=subprocess.PIPE,
        check=True,
        timeout=PATIENCE + seconds,
    )
    measured: dict[str, float] = json.loads(said.stdout)
    return measured


def _insert_groups(databases: Databases, name: str, seconds: float) -> float:
    """Return ids per second of inserts in groups, in a table as large as that of the service."""
    ids, size = databases.ids[name], databases.count()
    while ids.size < size:
        ids.add(BATCH)
    done, took = 0, 0.0
    while took < seconds:
        took += ids.add(BATCH)
        done += BATCH
    return done / took
