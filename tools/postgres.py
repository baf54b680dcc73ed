"""PostgreSQL: find it, and run a cluster of its own in a temporary folder.

``python tools/postgres.py`` installs Debian's package if there is none and apt-get may run.
A server does not run as root, so root runs it as the user ``postgres`` or ``nobody``.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MISSING = "PostgreSQL is missing: run `make postgres` as root on Debian, or install PostgreSQL"
PATIENCE = 120.0


def find_binaries() -> Path | None:
    """Return the folder of initdb and postgres, or None."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr/pgsql").glob("*/bin")]
    on_path = shutil.which("initdb")
    every = ([Path(on_path).resolve().parent] if on_path else []) + sorted(found, reverse=True)
    return next((each for each in every if (each / "pg_isready").exists()), None)


def _as_user() -> dict[str, Any]:
    """Return how processes of PostgreSQL are started: as another user if this one is root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL does not run as root: make a user named postgres")


class Cluster:
    """A cluster in a folder, which can be stopped at once and started again."""

    def __init__(self, folder: Path) -> None:
        binaries = find_binaries()
        if binaries is None:
            raise FileNotFoundError(MISSING)
        self.folder, self._binaries, self._made = folder, binaries, 0
        self._user = _as_user()
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port: int = listening.getsockname()[1]
        self._run("initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "-N")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _run(self, name: str, *given: object) -> None:
        command = [str(self._binaries / name), *map(str, given)]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, **self._user
        )
        if done.returncode:
            raise RuntimeError(done.stderr)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [self._binaries / "postgres", "-D", self.folder / "data", "-k", self.folder]
        command += ["-p", str(self.port), "-c", "listen_addresses=127.0.0.1"]
        self._process = subprocess.Popen(
            [*map(str, command), "-c", "max_connections=200"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._user,
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self._run("pg_isready", "-h", "127.0.0.1", "-p", self.port)
            except RuntimeError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("PostgreSQL does not answer")

    def stop(self, at_once: bool = True) -> None:
        """Stop the server, at once as after a loss of power, or in order.

        After a stop at once, the next start takes long if there are many databases.
        """
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            self._process.wait(PATIENCE)
            self._process = None

    def create_database(self) -> str:
        """Create a database, and return its URL."""
        self._made += 1
        name = f"test{self._made}"
        self._run("createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "postgres", name)
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"


@contextmanager
def start_postgres() -> Iterator[Cluster]:
    """Run a cluster in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    folder.chmod(0o755)
    cluster = None
    try:
        cluster = Cluster(folder)
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Install PostgreSQL if it is missing, and return 1 if it still is."""
    if not find_binaries() and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "postgresql"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, check=False)
    if not find_binaries():
        print(MISSING, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
