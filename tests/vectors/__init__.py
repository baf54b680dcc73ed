"""Vectors of the wire specification: inputs and results, stored as data in ``spec/vectors``.

``python -m tests.vectors`` writes new files, and adds new entries and new fields to existing files.
It refuses to change anything else, because the vectors fix the answers of all devices.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent.parent / "spec" / "vectors"


def read(name: str) -> list[dict[str, Any]]:
    """Return the entries of one file."""
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def write(name: str, entries: list[dict[str, Any]], folder: Path = FOLDER) -> None:
    """Write the entries of one file, and refuse to change or remove what the file holds.

    Old entries stay first, in their order. They may only get further fields.
    """
    path = folder / f"{name}.json"
    entries = json.loads(json.dumps(entries, allow_nan=False))
    for i, old in enumerate(json.loads(path.read_text()) if path.exists() else []):
        new = entries[i] if i < len(entries) else {}
        changed = [field for field in old if field not in new or new[field] != old[field]]
        if changed:
            raise ValueError(f"{path.name}: entry {i} would change in {', '.join(changed)}")
    path.write_text(json.dumps(entries, indent=1) + "\n")
