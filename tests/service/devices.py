"""Devices in processes of their own, which are killed at exact steps or at random times.

A parent without threads imports everything once and forks a child per answer, so a kill costs some
milliseconds. ``python -m tests.service.devices`` is this parent. It reads a list of jobs per line,
runs them at the same time, and writes a list of exit codes and numbers of steps.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from multi_freq_ldpy import Sender
from multi_freq_ldpy.service import delivery

ROOT = Path(__file__).parent.parent.parent
FAULTS = {
    "send before the outbox": """
from multi_freq_ldpy.sending.outbox import Outbox
write = Outbox.write_bytes
def enter(self, name, pinned, number, draw):
    entries = self.read().reports
    if found := entries.get((name, pinned.digest, number)):
        return found, False
    self.write_bytes, made = (lambda content: later.append(content)), []
    later = []
    made = real(self, name, pinned, number, draw)
    del self.write_bytes
    self.later = later
    return made
def mark(self, entry, state):
    for content in self.__dict__.pop("later", []):
        write(self, content)
    done(self, entry, state)
real, done = Outbox.enter, Outbox.mark
Outbox.enter, Outbox.mark = enter, mark
""",
    "an id per attempt": """
import secrets
from multi_freq_ldpy import sender
write = sender.write_batch
def write_batch(digest, round, records):
    return write(digest, round, [(secrets.token_bytes(16), each) for _, each in records])
sender.write_batch = write_batch
""",
}
"""Mutations of the sender. The tests of kills must find each."""


def count_steps(last: int | None) -> list[int]:
    """Count the steps of this process that others can see, and kill it before step ``last``."""
    made = [0]

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def step(*given: Any, **named: Any) -> Any:
            made[0] += 1
            if made[0] == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        setattr(owner, name, step)

    for name in ("open", "write", "fsync", "replace", "unlink"):
        watch(os, name)
    for name in ("connect", "send", "getresponse", "close"):
        watch(http.client.HTTPConnection, name)
    return made


def run_job(job: dict[str, Any], pipe: int) -> None:
    """Answer once, in a child."""
    made = count_steps(job.get("last"))
    sender = Sender(job["url"], job["outbox"])
    if "name" in job:
        state = sender.answer(job["name"], job["answers"], job.get("round")).state
    else:
        state = str(sender.flush())
    os.write(pipe, json.dumps([made[0], state]).encode())


def run_jobs(jobs: list[dict[str, Any]]) -> list[Any]:
    """Run jobs at the same time. The result has how each ended, and its steps and state."""
    children = []
    for job in jobs:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                run_job(job, writing)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(3)
        os.close(writing)
        children.append((child, reading))
    found = []
    for (child, reading), job in zip(children, jobs, strict=True):
        if "after" in job:
            time.sleep(job["after"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        told = os.read(reading, 1000)
        os.close(reading)
        found.append([os.waitstatus_to_exitcode(status), *(json.loads(told) if told else [0, ""])])
    return found


def main() -> None:
    """Read jobs, and write how they ended."""
    vars(delivery)["jitter"] = lambda low, high: random.SystemRandom().uniform(0, 0.01)
    exec(FAULTS.get(os.environ.get("FAULT", ""), ""), {})
    for line in sys.stdin:
        print(json.dumps(run_jobs(json.loads(line))), flush=True)


class Devices:
    """The parent of all devices."""

    def __init__(self, fault: str = "") -> None:
        environment = {**os.environ, "MULTI_FREQ_LDPY_COMPILE": "never", "FAULT": fault}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.devices"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *jobs: dict[str, Any]) -> list[tuple[int, int, str]]:
        """Run jobs at the same time. Returns the exit code, the steps and the state of each."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        return [tuple(each) for each in json.loads(self._process.stdout.readline())]

    def close(self) -> None:
        """End the parent."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def devices(fault: str = "") -> Iterator[Devices]:
    """Run the parent of all devices for a block."""
    made = Devices(fault)
    try:
        yield made
    finally:
        made.close()


class Between:
    """A proxy before a service. It loses some requests and some answers.

    ``bodies`` are all bodies, and ``counted`` are the bodies that the service has acknowledged.
    """

    def __init__(self, port: int, seed: int = 1, losses: float = 0.1) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.counted: list[tuple[str, bytes]] = []
        chooser, lock = random.Random(seed), threading.Lock()
        own = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._pass_on(None)

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                body = self.rfile.read(size)
                self.close_connection = True
                if len(body) < size:  # the device was killed
                    return
                with lock:
                    own.bodies.append((self.path.split("/")[3], body))
                    before, after = (chooser.random() < losses for _ in range(2))
                if not before:
                    self._pass_on(body, after)

            def _pass_on(self, body: bytes | None, lose: bool = False) -> None:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                kind = {"Content-Type": self.headers.get("Content-Type", "")}
                try:
                    connection.request(self.command, self.path, body, kind)
                    answer = connection.getresponse()
                    data = answer.read()
                finally:
                    connection.close()
                if body is not None and answer.status == 200:
                    with lock:
                        own.counted.append((self.path.split("/")[3], body))
                if lose:
                    return
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:  # the device was killed
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # all that was sent is passed on before the end
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        """End the proxy, after everything is passed on."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


if __name__ == "__main__":
    main()
