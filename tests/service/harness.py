"""Services in processes of their own, and clients that send reports until they are counted."""

import http.client
import json
import os
import random
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.batch import write_batch

TOKEN = "admin-token-of-the-tests-" + "x" * 20
PATIENCE = 30.0
BINARY = {"Content-Type": "application/octet-stream"}
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


def wait_until(condition: Callable[[], Any], patience: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@dataclass
class Server:
    """A service in a process of its own, which can be killed and started again.

    ``program`` is the Python code that it runs. Tests replace it to plant faults.
    """

    database: str
    files: Sequence[Path] = ()
    workers: int = 1
    program: str = "from multi_freq_ldpy.cli import main; main()"
    port: int = field(default_factory=free_port)
    log: Path | None = None
    options: Sequence[str] = ()
    context: ssl.SSLContext | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        """Start the process, and wait until it answers."""
        command = [sys.executable, "-c", self.program, "serve", *map(str, self.files)]
        command += ["--database", self.database, "--port", str(self.port)]
        command += ["--workers", str(self.workers), "--rate", "0", *self.options]
        environment = {**os.environ, "MULTI_FREQ_LDPY_ADMIN_TOKEN": TOKEN}
        output: Any = subprocess.DEVNULL if self.log is None else self.log.open("ab")
        self.process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        if self.log is not None:
            output.close()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the service ended with {self.process.returncode}")
            with suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/healthz")[0] == 200:
                    return self
            time.sleep(0.02)
        raise TimeoutError("the service does not answer")

    def kill(self) -> None:
        """End all processes of the service at once, without a warning."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask the service to end, and return its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def ask(
        self, method: str, path: str, content: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status and the content of an answer. JSON is read."""
        connection = self._connect()
        try:
            own = dict(AUTHORIZED if headers is None else headers)
            data = content
            if content is not None and not isinstance(content, bytes):
                data, own["Content-Type"] = json.dumps(content).encode(), "application/json"
            elif content is not None and headers is None:
                own |= BINARY
            connection.request(method, path, data, own)
            answer = connection.getresponse()
            body = answer.read()
            kind = answer.headers.get("Content-Type", "")
            return answer.status, json.loads(body) if "json" in kind and body else body
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        where: Any = {"host": "127.0.0.1", "port": self.port, "timeout": PATIENCE}
        if self.context is None:
            return http.client.HTTPConnection(**where)
        return http.client.HTTPSConnection(**where, context=self.context)

    def wait_until_ready(self) -> None:
        """Wait until the service can count."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.05)
        raise TimeoutError("the service is not ready")


@contextmanager
def serving(database: str, files: Sequence[Path] = (), **options: Any) -> Iterator[Server]:
    """Run a service for a block."""
    server = Server(database, files, **options).start()
    try:
        yield server
    finally:
        server.kill()


@dataclass
class Load:
    """Clients that send single reports and small batches, with retries.

    A client sends the same bytes again until a 200 comes back. Some bodies are sent again after it,
    and some to two services at once. ``acknowledged`` holds the reports by id as soon as a 200 came
    back, and ``sent`` holds all reports that were ever tried.
    """

    ports: Sequence[int]
    survey: Survey
    name: str
    round: int = 0
    largest: int = 3
    threads: int = 8
    limit: int = 10**9
    sent: dict[bytes, bytes] = field(default_factory=dict)
    acknowledged: dict[bytes, bytes] = field(default_factory=dict)
    counted: int = 0
    wrong: list[str] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: list[threading.Thread] = field(default_factory=list)

    def start(self) -> "Load":
        """Start all clients."""
        solution = self.survey.solution
        answers = [[i % k for k in solution.ks] for i in range(4096)]
        size = solution.report_bytes
        drawn = solution.randomize(answers).tobytes()
        reports = [drawn[i * size : (i + 1) * size] for i in range(len(answers))]
        self._running = [
            threading.Thread(target=self._run, args=(reports[i :: self.threads], i))
            for i in range(self.threads)
        ]
        for thread in self._running:
            thread.start()
        return self

    def wait_for(self, reports: int, patience: float = 120.0) -> None:
        """Wait until this number of reports is acknowledged."""
        end = time.monotonic() + patience
        while len(self.acknowledged) < reports:
            if time.monotonic() > end or not any(each.is_alive() for each in self._running):
                raise TimeoutError(f"{len(self.acknowledged)} of {reports} reports: {self.wrong}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End all clients, after their last bodies are acknowledged."""
        self._stop.set()
        for thread in self._running:
            thread.join()

    def _run(self, reports: list[bytes], seed: int) -> None:
        chooser, at = random.Random(seed), 0
        while not self._stop.is_set() and len(self.acknowledged) < self.limit:
            records = []
            for _ in range(chooser.randint(1, self.largest)):
                records.append((secrets.token_bytes(16), reports[at % len(reports)]))
                at += 1
            with self._lock:
                self.sent.update(records)
            body = write_batch(self.survey.digest, self.round, records)
            if not self._deliver(body, records, chooser):
                return
            if chooser.random() < 0.1:
                chooser.shuffle(records)
                again = write_batch(self.survey.digest, self.round, records)
                self._deliver(again, records, chooser, again=True)

    def _deliver(
        self,
        body: bytes,
        records: list[tuple[bytes, bytes]],
        chooser: random.Random,
        again: bool = False,
    ) -> bool:
        """Send a body until it is acknowledged. Returns False if the round was closed."""
        twin = None
        if len(self.ports) > 1 and chooser.random() < 0.05:
            twin = threading.Thread(target=self._send, args=(self.ports[1], body))
            twin.start()
        answer = None
        while answer is None:
            answer = self._send(chooser.choice(list(self.ports)), body)
            if answer is None:
                time.sleep(0.02)
        if twin is not None:
            twin.join()
        status, content = answer
        if status == 409 and self.closed.is_set():
            return False
        with self._lock:
            if status != 200:
                self.wrong.append(f"{status}: {content}")
                return False
            if content["counted"] + content["duplicates"] != len(records):
                self.wrong.append(f"{content} for {len(records)} records")
            if again and content["counted"]:
                self.wrong.append(f"counted again: {content}")
            self.counted += content["counted"]
            self.acknowledged.update(records)
        return True

    def _send(self, port: int, body: bytes) -> tuple[int, Any] | None:
        """Return the answer to a body, or None if it has to be sent again."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST", f"/v1/surveys/{self.name}/reports", body, BINARY)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        return None if answer.status >= 500 else (answer.status, content)


def recount(load: Load, landed: Sequence[bytes]) -> Any:
    """Return the tally of the client's own bytes of the ids that landed."""
    return load.survey.tally([load.sent[each] for each in landed])
