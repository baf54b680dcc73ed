"""Packages to compare with.

Each package is installed into an environment of its own, and runs in a process of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
ENVIRONMENTS = Path(__file__).parent.parent / ".venv-peers"
INSTALLED = {
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5", "xxhash<4", "scipy"),
    "pure-ldp": ("pure-ldp==1.2.0", "xxhash<4", "scikit-learn", "statsmodels"),
}


def python_of(name: str) -> str | None:
    """Return the interpreter of a package's environment, which is made if it does not exist.

    Return None if the package cannot be installed.
    """
    home = ENVIRONMENTS / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"installing {INSTALLED[name][0]} into an environment of its own", file=sys.stderr)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            subprocess.run([*pip, *INSTALLED[name]], check=True)
        except subprocess.CalledProcessError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            return None
        (home / "ready").touch()
    return str(python)


class Worker:
    """A process that times one package."""

    def __init__(self, package: str, python: str, release: str = "") -> None:
        # Variables of this interpreter would change the packages and the cache of the other one
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(WORKER), package, *[release] * bool(release)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def prepare(self, what: dict[str, Any], seconds: float, users: int | None = None) -> int:
        """Set up work that takes about the given seconds, or work for the given number of users.

        Return the number of users.
        """
        return int(
            self._ask(prepare=what, seconds=seconds, **({} if users is None else {"users": users}))[
                "n"
            ]
        )

    def run(self) -> float:
        """Do the work once, and return its seconds."""
        return float(self._ask(run=True)["seconds"])

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise RuntimeError(f"{request}: {answer['error']}")
        return answer

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
