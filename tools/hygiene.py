"""File hygiene: text files end with one newline, and have no trailing blanks and no conflict marks.

``python tools/hygiene.py FILES…`` lists the faults of these files. Without files it reads all files
that git tracks.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST = 2**20
LEFT_ALONE = ("fuzz/corpus/", "tests/old/")
CONFLICT = ("<" * 7 + " ", ">" * 7 + " ")


def find_faults(path: Path) -> Iterator[str]:
    """Yield one sentence per fault of a file."""
    data = path.read_bytes()
    if len(data) > LARGEST:
        yield f"{path} has {len(data):,} bytes, more than {LARGEST:,}"
    if b"\0" in data or not data:
        return
    if b"\r\n" in data:
        yield f"{path} has Windows line ends"
    if not data.endswith(b"\n") or data.endswith(b"\n\n"):
        yield f"{path} must end with one newline"
    for number, line in enumerate(data.decode().splitlines(), 1):
        if line != line.rstrip() and path.suffix != ".svg":
            yield f"{path}:{number} has trailing blanks"
        if line.startswith("%") and path.suffix == ".md":
            yield f"{path}:{number} begins with %, so the documentation leaves it out"
        if line.startswith(CONFLICT):
            yield f"{path}:{number} has a conflict mark"


def main() -> int:
    """Return 1 if a file has a fault, else 0."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    names = sys.argv[1:] or listed.stdout.splitlines()
    paths = [Path(name) for name in names if not name.startswith(LEFT_ALONE)]
    faults = [fault for path in paths if path.is_file() for fault in find_faults(path)]
    print(*faults, sep="\n", end="\n" * bool(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
