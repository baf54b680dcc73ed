"""Tables of the documents that are made from the registry: ``python docs/tables.py`` writes them.

A table stands between a line with ``table: NAME`` and one with ``table end``.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from multi_freq_ldpy import registry
from multi_freq_ldpy.protocol import OneShot, budgets_of, needs_options

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "api.md"]
ONE_SHOT = [name for name, cls in registry.PROTOCOLS.items() if issubclass(cls, OneShot)]
OVER_TIME = [name for name in registry.PROTOCOLS if name not in ONE_SHOT]
TABLE = re.compile(r"^([^\n]*table: (\w+)[^\n]*\n)(.*?)^([^\n]*table end)", re.M | re.S)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def protocols() -> str:
    """Return one row per protocol."""
    rows = []
    for name, cls in registry.PROTOCOLS.items():
        entry, budgets = registry.ENTRIES[name], budgets_of(cls)
        options = {"bits": 128} if needs_options(cls) else {}
        length = cls(1000, *[2.0, 1.0][-len(budgets) :], **options).report_bytes
        given = ", ".join(each.name for each in fields(cls))
        rows.append([f"`{name}({given})`", entry.report, str(length), entry.choose])
    return table(["protocol", "a report is", "bytes at k = 1000, ε = 1", "choose it for"], rows)


def solutions() -> str:
    """Return one row per solution."""
    entries = [(name, registry.ENTRIES[name]) for name in registry.SOLUTIONS]
    rows = [[f"`{name}(protocol, ks, epsilon)`", e.report, e.choose] for name, e in entries]
    return table(["solution", "a report is", "choose it for"], rows)


def summary(caption: str, names: list[str]) -> str:
    """Return a list of names for the reference, with its caption in the sidebar."""
    head = (
        f"\n.. autosummary::\n   :toctree: reference\n   :nosignatures:\n   :caption: {caption}\n\n"
    )
    return head + "".join(f"   {name}\n" for name in names) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "protocols": protocols,
    "solutions": solutions,
    "one_shot": lambda: summary("One attribute", [*ONE_SHOT, "best"]),
    "several": lambda: summary("Several attributes", list(registry.SOLUTIONS)),
    "over_time": lambda: summary(
        "Over time",
        [*OVER_TIME, "Client", "Panel", "over_rounds", "LimitReached"],
    ),
}


def fill(text: str) -> str:
    """Return a document with its tables as the registry has them."""
    return TABLE.sub(lambda found: found[1] + TABLES[found[2]]() + found[4], text)


if __name__ == "__main__":
    for path in DOCUMENTS:
        path.write_text(fill(path.read_text()))
