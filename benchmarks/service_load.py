"""Connections that send reports to one server and wait for the answers, in a process of their own.

``service.py`` starts it with the settings as JSON and writes reports into its standard input. Each
connection sends its next request as soon as the answer to the last one is there. Anything but the
expected answer ends the run.
"""

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

TICKS = os.sysconf("SC_CLK_TCK")
ID_BYTES = 16
DRAWN = 4096
"""Number of records that are prepared together."""


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used, in its own code and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def make_requests(settings: dict[str, Any], reports: bytes) -> Iterator[bytes]:
    """Yield whole requests. Their ids are random, and their reports are taken again and again."""
    header, many = bytes.fromhex(settings["header"]), settings["records"]
    record = ID_BYTES + settings["report_bytes"]
    start = (
        f"POST {settings['path']} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        "content-type: application/octet-stream\r\n"
        f"content-length: {len(header) + many * record}\r\n\r\n"
    ).encode() + header
    rows = np.frombuffer(reports, np.uint8).reshape(-1, record - ID_BYTES)
    made = np.empty((many * max(1, DRAWN // many), record), np.uint8)
    made[:, ID_BYTES:] = rows[np.arange(len(made)) % len(rows)]
    while True:
        ids = np.frombuffer(os.urandom(ID_BYTES * len(made)), np.uint8)
        made[:, :ID_BYTES] = ids.reshape(-1, ID_BYTES)
        data = made.tobytes()
        for i in range(0, len(data), many * record):
            yield start + data[i : i + many * record]


class Run:
    """Shared state of all connections: the requests, the answers and the times."""

    def __init__(self, settings: dict[str, Any], reports: bytes) -> None:
        self.requests, self.pid = make_requests(settings, reports), settings["pid"]
        self.expected = settings["expected"].encode()
        self.took: list[float] = []
        self.measured = self.ended = False
        self.wrong: str | None = None
        self.started = self.seconds = self.cpu = 0.0

    def begin(self) -> None:
        """Begin to measure."""
        self.cpu, self.started, self.measured = -cpu_seconds(self.pid), time.perf_counter(), True

    def end(self) -> None:
        """End the measurement. No more requests are sent."""
        self.cpu += cpu_seconds(self.pid)
        self.seconds = time.perf_counter() - self.started
        self.measured, self.ended = False, True


class Connection(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self, run: Run) -> None:
        self.run, self.data, self.sent = run, b"", 0.0
        self.transport: Any = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self.transport = transport
        self._send()

    def _send(self) -> None:
        request = next(self.run.requests)
        self.sent = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Check an answer, and send the next request."""
        took, run = time.perf_counter() - self.sent, self.run
        if self.data:
            data = self.data + data
        body = data.partition(b"\r\n\r\n")[2]
        if len(body) < len(run.expected):
            self.data = data  # the rest comes later
            return
        self.data = b""
        if body != run.expected:
            run.wrong, run.ended = data.decode("latin-1"), True
        if run.measured:
            run.took.append(took)
        if run.ended:
            self.transport.close()
        else:
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell that this connection has ended."""
        if not self.run.ended:
            self.run.wrong, self.run.ended = f"a connection was closed: {exc}", True
        if not self.done.done():
            self.done.set_result(None)


async def load(settings: dict[str, Any], reports: bytes) -> dict[str, float]:
    """Send requests through all connections, and return the rate, the times and the CPU time."""
    loop, run = asyncio.get_running_loop(), Run(settings, reports)
    connections = [
        (await loop.create_connection(lambda: Connection(run), "127.0.0.1", settings["port"]))[1]
        for _ in range(settings["connections"])
    ]
    await asyncio.sleep(settings["warm"])
    run.begin()
    await asyncio.sleep(settings["seconds"])
    run.end()
    await asyncio.wait([each.done for each in connections], timeout=10)
    if run.wrong is not None:
        raise SystemExit(f"not the expected answer: {run.wrong}")
    if not run.took:
        raise SystemExit("no answer")
    p50, p99 = np.quantile(run.took, [0.5, 0.99]).tolist()
    return {
        "rate": len(run.took) / run.seconds,
        "cpu": run.cpu / len(run.took),
        "p50": p50,
        "p99": p99,
    }


def main() -> None:
    """Read settings and reports, and print the result."""
    settings, reports = json.loads(sys.argv[1]), sys.stdin.buffer.read()
    gc.disable()
    with suppress(ImportError):
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            print(json.dumps(runner.run(load(settings, reports))))
        return
    print(json.dumps(asyncio.run(load(settings, reports))))


if __name__ == "__main__":
    main()
