"""Figures of a service for Prometheus. No label holds an address, an id or a token."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, TypeVar

import sqlalchemy as sa
from anyio import CapacityLimiter, fail_after, move_on_after, to_thread
from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from . import auth, schema
from .dependencies import Bearer, Responses, problems, require_reader, scope_of
from .groups import Counted, Outcome
from .problems import Problem
from .schema import OPEN
from .store import Store, Unavailable

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several processes keep their figures."""

PATIENCE = 5.0
"""Seconds in which the database must answer, or it counts as down."""

MOST_KNOWN = 16
"""The largest number of tokens that are remembered for times without a database."""

MOST_ASKING = 8
"""The largest number of threads that wait for the database."""

T = TypeVar("T")
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would say when something happened first


class Metrics:
    """The figures of one process, or of all processes of one command.

    Parameters
    ----------
    store : Store
        The database.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = own = CollectorRegistry()
        self._known: dict[str, None] = {}
        self._limiter: CapacityLimiter | None = None
        self._asking = BoundedSemaphore(MOST_ASKING)
        self.counted = Counter("reports_counted", "Reports that were counted", registry=own)
        self.duplicates = Counter(
            "reports_duplicate", "Reports that were counted before", registry=own
        )
        self.refused = Counter(
            "requests_refused", "Requests that were refused", ["problem"], registry=own
        )
        self.sizes = Histogram(
            "group_size", "Reports counted per transaction", buckets=SIZES, registry=own
        )
        self.seconds = Histogram(
            "commit_seconds", "Time of a transaction that counts", buckets=SECONDS, registry=own
        )
        self.queue = Gauge(
            "queue_reports",
            "Reports that wait to be counted",
            multiprocess_mode="livesum",
            registry=own,
        )

    def note_group(self, found: Sequence[Outcome], seconds: float) -> None:
        """Note a transaction that counted a group of submissions.

        Parameters
        ----------
        found : sequence of Outcome
            The results of the submissions.
        seconds : float
            Time of the transaction.
        """
        counted = sum(each.counted for each in found if isinstance(each, Counted))
        self.counted.inc(counted)
        self.duplicates.inc(sum(each.duplicates for each in found if isinstance(each, Counted)))
        self.sizes.observe(counted)
        self.seconds.observe(seconds)

    def note_problem(self, kind: str) -> None:
        """Note a request that was refused."""
        self.refused.labels(kind).inc()

    async def require_reader(self, given: Bearer) -> None:
        """Refuse requests without a token that may read.

        A token that read the figures before may read them while the database does not answer.
        """
        name = None if given is None else auth.hash_token(given.credentials)
        try:
            with fail_after(PATIENCE):
                scope = await self._ask(scope_of, self._store, given)
        except (Unavailable, TimeoutError):
            if name not in self._known:
                raise Unavailable from None
            return
        except Problem:
            self._known.pop(name or "", None)
            raise
        require_reader(scope)
        self._known[name or ""] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    async def render(self) -> bytes:
        """Return the page of all figures."""
        users: list[tuple[str, int, int]] | None = None
        with suppress(Unavailable), move_on_after(PATIENCE):
            users = await self._ask(_list_users, self._store)
        return await to_thread.run_sync(self._render, users)

    async def _ask(self, function: Callable[..., T], *given: Any) -> T:
        """Call a function that asks the database, in a thread.

        A database that hangs keeps some threads, and then counts as down.
        """

        def run() -> T:
            try:
                return function(*given)
            finally:
                self._asking.release()

        if self._limiter is None:  # of its own, so that each call gets its thread at once
            self._limiter = CapacityLimiter(MOST_ASKING)
        if not self._asking.acquire(blocking=False):
            raise Unavailable
        return await to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)

    def _render(self, users: list[tuple[str, int, int]] | None) -> bytes:
        registry = self._registry
        if FOLDER in os.environ:
            _forget_ended(Path(os.environ[FOLDER]))
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        seen = CollectorRegistry()
        seen.register(_Seen(users))
        return generate_latest(registry) + generate_latest(seen)


def _list_users(store: Store) -> list[tuple[str, int, int]]:
    """Return the surveys, numbers and users of all open rounds."""
    rounds, surveys = schema.round.c, schema.survey.c
    users = sa.func.coalesce(sa.func.sum(schema.tally.c.users), 0)
    tables = schema.round.join(schema.survey).join(schema.tally, isouter=True)
    chosen = (
        sa.select(surveys.name, rounds.number, users)
        .select_from(tables)
        .where(rounds.state == OPEN)
        .group_by(surveys.name, rounds.number)
        .order_by(surveys.name, rounds.number)
    )
    with store.read() as connection:
        return [(name, number, int(many)) for name, number, many in connection.execute(chosen)]


class _Seen(Collector):
    """The figures that are read from the database at each request."""

    def __init__(self, users: list[tuple[str, int, int]] | None) -> None:
        self._users = users

    def collect(self) -> Iterator[Metric]:
        """Yield whether the database answers, and the users of open rounds."""
        up = self._users is not None
        yield GaugeMetricFamily("database_up", "Whether the database answers", value=int(up))
        names = ["survey", "round"]
        users = GaugeMetricFamily("round_users", "Reports of each open round", labels=names)
        for name, number, many in self._users or ():
            users.add_metric([name, str(number)], many)
        yield users


def _forget_ended(folder: Path) -> None:
    """Remove gauges of processes that have ended. Their counters stay."""
    for path in folder.glob("gauge_live*_*.db"):
        number = path.stem.rpartition("_")[2]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            mark_process_dead(number, str(folder))  # type: ignore[no-untyped-call]
        except (ValueError, PermissionError):
            continue


@contextmanager
def share_figures() -> Iterator[None]:
    """Give the processes that start in a block a folder for their figures."""
    with tempfile.TemporaryDirectory(prefix="multi-freq-ldpy-") as folder:
        before = os.environ.get(FOLDER)
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]
            if before is not None:
                os.environ[FOLDER] = before


async def _require_reader(request: Request, given: Bearer) -> None:
    await request.app.state.metrics.require_reader(given)


PAGE: Responses = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
router = APIRouter()


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    dependencies=[Depends(_require_reader)],
    response_class=Response,
    responses=problems("no-token", "forbidden", also=PAGE),
)
async def get_metrics(request: Request) -> Response:
    """Return counters of reports and refusals, and the users of open rounds."""
    page = await request.app.state.metrics.render()
    return Response(page, headers={"Content-Type": CONTENT_TYPE_LATEST})
