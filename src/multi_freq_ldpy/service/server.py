"""The service: its application, its background work, its first start and its signals."""

import asyncio
import gc
import json
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from anyio import to_thread

from ..survey import Survey
from . import auth, cors, rounds, site, surveys
from .api import as_problem, build_api
from .events import Events
from .limits import LARGEST_BODY, GuardedProtocol, Receive, Scope, Send, read_body
from .metrics import Metrics, share_figures
from .problems import Problem
from .rate import Rate
from .schema import CLOSED, OPEN
from .store import DEFAULT, Store, Unavailable
from .submit import PATH, Submissions, send_problem
from .writer import Writer

log = logging.getLogger("multi_freq_ldpy.service")

SETTINGS = "MULTI_FREQ_LDPY_SETTINGS"
"""The environment variable through which worker processes get their settings."""

FREEZES = (0, 10, 60)
"""Turns of the background work after which new objects stay: kernels are loaded meanwhile."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
FREE = ("/healthz", "/readyz")
"""Paths that every address may ask for at any rate."""

RATE = 50
"""The largest number of requests per second and address, unless another one is set."""

DRAIN, LAST = 15, 5
"""Seconds in which requests end after the signal to stop, and seconds for the work after them."""


@dataclass(frozen=True)
class Settings:
    """The settings of a service.

    Parameters
    ----------
    database : str
        URL of the database.
    host, port : str and int
        Address to listen on.
    workers : int
        Number of processes.
    largest_body : int
        Largest number of bytes of a body.
    rate : int
        Largest number of requests per second and address. 0 sets no limit.
    proxies : int
        Number of proxies in front of the service.
    certificate, key : str
        Files for TLS. Without them, the service speaks HTTP.
    """

    database: str = DEFAULT
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    largest_body: int = LARGEST_BODY
    rate: int = RATE
    proxies: int = 0
    certificate: str = ""
    key: str = ""

    @property
    def local(self) -> bool:
        """True if only this machine can reach the service."""
        return self.host in LOOPBACK

    @property
    def address(self) -> str:
        """The address that the service listens on."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * bool(self.certificate)}://{host}:{self.port}"

    def check(self) -> None:
        """Refuse settings that would send reports in clear over a network, or files without a key.

        Raises
        ------
        ValueError
            If the settings do not go together.
        """
        if bool(self.certificate) != bool(self.key):
            raise ValueError("--tls-cert and --tls-key go together")
        if not self.local and not self.certificate and not self.proxies:
            raise ValueError(
                f"host {self.host!r} is reached from other machines, which needs TLS: give"
                " --tls-cert and --tls-key, or --behind-proxy"
            )
        if self.certificate:
            _check_certificate(self.certificate, self.key)


def _check_certificate(certificate: str, key: str) -> None:
    """Refuse files that are no certificate with its key."""
    for path in (certificate, key):
        with open(path, "rb"):
            pass
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except ssl.SSLError as error:
        why = f": {error.reason}" if error.reason else ""
        raise ValueError(f"{certificate} and {key} are no certificate with its key{why}") from None


class Service:
    """The ASGI application: submissions, and everything else.

    Parameters
    ----------
    store : Store
        The database. It is closed when the service ends.
    largest_body : int
        Largest number of bytes of a body.
    rate : Rate, optional
        The limit of requests per address. None, the default, sets no limit.
    alone : bool
        True if the process has no other purpose. Garbage collection is then set for it.
    """

    def __init__(
        self,
        store: Store,
        largest_body: int = LARGEST_BODY,
        *,
        rate: Rate | None = None,
        alone: bool = False,
    ) -> None:
        self.store, self.largest = store, largest_body
        self.rate = Rate(0) if rate is None else rate
        self.metrics, self.events = Metrics(store), Events(store)
        self._alone, self._freezes = alone, FREEZES if alone else ()
        self.api = build_api(store)
        self.api.router.lifespan_context = self._live
        self.api.state.writer = lambda: self.writer
        self.api.state.metrics, self.api.state.events = self.metrics, self.events
        self.writer: Writer
        self.submissions: Submissions

    @asynccontextmanager
    async def _live(self, _: Any) -> AsyncIterator[None]:
        self.writer = Writer(self.store, note=self.metrics.note_group)
        self.submissions = Submissions(self.store, self.writer, self.largest)
        stopping = asyncio.Event()
        background = asyncio.create_task(self._work(stopping))
        log.info("started")
        try:
            yield
        finally:
            if self._alone:
                _end_within(LAST)
            await self.events.stop()
            stopping.set()  # its thread uses the database until it ends
            await background
            await self.writer.close()
            self.store.close()
            log.info("stopped")

    async def _work(self, stopping: asyncio.Event) -> None:
        """Open and close rounds by their schedules, and sweep ids of closed rounds."""
        places: dict[int, Any] = {}
        for turn in count():
            swept = 0
            if turn in self._freezes:
                _freeze()
            self.rate.forget(time.monotonic())
            self.metrics.queue.set(self.writer.queued)  # a function has no value in other processes
            try:
                await to_thread.run_sync(rounds.advance_all, self.store, time.time())
                swept = await to_thread.run_sync(rounds.sweep, self.store, places)
            except Exception as error:  # without its text, and the next turn may do better
                log.error("the background work failed: %s", type(error).__name__)
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), 0.1 if swept else 1)
                return

    def stop(self) -> None:
        """End event streams, which would never end by themselves."""
        self.events.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.api(scope, receive, send)
            return
        started = False
        asked, page = cors.may_be_asked(scope), site.find_answer(scope["path"])

        async def watched(message: Any) -> None:
            nonlocal started
            if not started and asked == scope["method"] and self._is_for_all(scope):
                message = message | {"headers": [*message["headers"], *cors.EVERYBODY]}
            started = True
            await send(message)

        try:
            free = scope["path"] in FREE or site.is_file(scope["path"])
            if not free and not self.rate.admits(scope):
                raise Problem("too-many", f"An address sends at most {self.rate.most} a second.")
            if page is not None:
                await page(scope, watched)
                return
            if asked and cors.is_preflight(scope) and await self._allows_others(scope):
                await cors.answer_preflight(watched, asked)
            else:
                await self._answer(scope, receive, watched)
        except asyncio.CancelledError:  # the service ends, and nothing was acknowledged
            if not started:
                await send_problem(watched, as_problem(Unavailable()))
        except Exception as error:
            problem = as_problem(error)
            if problem.kind == "fault":  # without its text, which may hold data of the request
                log.error("a request failed: %s", type(error).__name__)
            if not started:
                self.metrics.note_problem(problem.kind)
                await send_problem(watched, problem)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or raise a problem."""
        if PATH.fullmatch(scope["path"]):
            await self.submissions(scope, receive, send)
            return
        body = await read_body(scope, receive, self.largest)
        if body is not None:
            await self.api(scope, _replay(body, receive), send)

    def _is_for_all(self, scope: Scope) -> bool:
        """Return True if pages of other origins may read an answer."""
        match = PATH.fullmatch(scope["path"])
        return match is None or self.submissions.is_for_all(match[1])

    async def _allows_others(self, scope: Scope) -> bool:
        """Return True if pages of other origins may send a request."""
        match = PATH.fullmatch(scope["path"])
        return match is None or await self.submissions.find_whether_for_all(match[1])


def _end_within(seconds: float) -> None:
    """End this process after a time, even if a thread waits for the database.

    This is as safe as SIGKILL. Reports that wait are not acknowledged.
    """

    def end() -> None:
        log.error("ended without an answer of the database")
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _freeze() -> None:
    """Leave all present objects out of garbage collection.

    The modules have some 200,000 objects. A full collection stops all threads for a tenth of a
    second, and finds nothing among them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that gives a body which was read before."""
    given = False

    async def again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def prepare(store: Store, files: Sequence[Path] = ()) -> str | None:
    """Make the first token, and open the surveys of files.

    Parameters
    ----------
    store : Store
        The database.
    files : sequence of Path
        Survey files. The name of a survey is that of its file.

    Returns
    -------
    str or None
        The admin token, if it was made now.

    Raises
    ------
    ValueError
        If a file is not a survey, or if another survey has its name.
    """
    with store.write() as connection:
        for name, survey in _load(files):
            try:
                _, created = surveys.create(connection, name, survey)
            except surveys.Conflict as error:
                raise ValueError(str(error)) from None
            if created:
                rounds.change_state(connection, name, OPEN)
        return auth.set_up(connection)


def _load(files: Sequence[Path]) -> list[tuple[str, Survey]]:
    """Return the surveys of files, with their names."""
    return [(_name_of(path), Survey.load(path)) for path in files]


def _require_free(settings: Settings) -> None:
    """Refuse an address that another program listens on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((settings.host, settings.port))
        except OSError as error:
            raise ValueError(
                f"port {settings.port} of {settings.host} cannot be used: {error.strerror}"
            ) from None


def _name_of(path: Path) -> str:
    try:
        return surveys.check_name(path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}: rename the file") from None


def describe(store: Store, settings: Settings, token: str | None) -> str:
    """Return what a person needs to know at the start.

    Parameters
    ----------
    store : Store
        The database.
    settings : Settings
        The settings.
    token : str or None
        The admin token, if it was made now.

    Returns
    -------
    str
        Some lines of text.
    """
    with store.read() as connection:
        listed = [each for each in surveys.list_all(connection) if each[-1] != CLOSED]
    address = settings.address
    lines = [f"{name} is {state}: {address}/s/{name}" for name, _, state in listed]
    lines = lines or ["No survey is open: make one on the page of the service."]
    if token is not None:
        lines += [
            f"Page of the service, with the admin token: {address}/#token={token}",
            "The token is shown once. Commands read it from MULTI_FREQ_LDPY_TOKEN.",
        ]
    else:
        lines.append(f"Page of the service: {address}/")
    where = store.path if store.sqlite else store.url.render_as_string()
    lines += [f"Reports are counted in {where}.", f"Listening on {address}{_say_who(settings)}."]
    return "\n".join(lines)


def _say_who(settings: Settings) -> str:
    """Return who reaches the service, as the end of a sentence."""
    if settings.proxies:
        return f", behind {settings.proxies} {'proxy' if settings.proxies == 1 else 'proxies'}"
    return ", on this machine only" if settings.local else ""


def run(settings: Settings, files: Sequence[Path] = (), *, announce: Any = print) -> None:
    """Run the service until a signal ends it.

    Parameters
    ----------
    settings : Settings
        The settings.
    files : sequence of Path
        Survey files to open.
    announce : callable
        Function that shows the first lines.

    Raises
    ------
    ValueError
        If the settings, the database or a file cannot be used.
    """
    settings.check()
    _load(files)  # before a database is made
    _require_free(settings)
    _start_logging()
    store = Store(settings.database)
    try:
        if store.sqlite and settings.workers > 1:
            raise ValueError(
                f"workers={settings.workers} need PostgreSQL: a SQLite file belongs to one process"
            )
        announce(describe(store, settings, prepare(store, files)))
    except BaseException:
        store.close()
        raise
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "http": GuardedProtocol,
        "ws": "none",
        "log_config": None,
        "log_level": "warning",
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
        "date_header": False,
        "timeout_graceful_shutdown": DRAIN,
    }
    if settings.certificate:
        options |= {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.key}
    if settings.workers == 1:
        service = _build(settings, store)
        uvicorn.Server(uvicorn.Config(service, **options)).run()
        return
    store.close()
    os.environ[SETTINGS] = json.dumps(asdict(settings))
    with share_figures():
        uvicorn.run(
            "multi_freq_ldpy.service.server:build_worker",
            factory=True,
            workers=settings.workers,
            **options,
        )


def _start_logging() -> None:
    """Write the log to the standard error stream."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)


def build_worker() -> Service:
    """Return the application of one of several processes, with the settings of the first one."""
    settings = Settings(**json.loads(os.environ[SETTINGS]))
    _start_logging()
    return _build(settings, Store(settings.database))


def _build(settings: Settings, store: Store) -> Service:
    """Return the application that is alone in its process."""
    rate = Rate(settings.rate, settings.proxies)
    return Service(store, settings.largest_body, rate=rate, alone=True)
