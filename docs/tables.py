"""Tables of the documents that are made by the package: ``python docs/tables.py`` writes them.

Some tables list the registry, others have computed variances. A table stands between a line with
``table: NAME`` and one with ``table end``.
"""

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from multi_freq_ldpy import DDRM, LOSUE, OUE, Once, Steps, Tree, registry
from multi_freq_ldpy.longitudinal.blocks import Block
from multi_freq_ldpy.longitudinal.history import History
from multi_freq_ldpy.protocol import OneShot, budgets_of, needs_options

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("api.md", "guarantee.md", "over_time.md")),
]
ONE_SHOT = [name for name, cls in registry.PROTOCOLS.items() if issubclass(cls, OneShot)]
OVER_TIME = [name for name in registry.PROTOCOLS if name not in ONE_SHOT]
TABLE = re.compile(r"^([^\n]*table: (\w+)[^\n]*\n)(.*?)^([^\n]*table end)", re.M | re.S)


def table(head: list[str], rows: list[list[str]], left: int | None = None) -> str:
    """Return a table in Markdown. Columns from number ``left`` on are aligned to the right."""
    words = len(head) if left is None else left
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def purpose(entry: registry.Entry) -> str:
    """Return the purpose of a class, and whether only Python has it."""
    return entry.choose + ("" if entry.device else ", in Python only")


def protocols() -> str:
    """Return one row per protocol."""
    rows = []
    for name, cls in registry.PROTOCOLS.items():
        entry, budgets = registry.ENTRIES[name], budgets_of(cls)
        options = {"bits": 128} if needs_options(cls) else {}
        length = cls(1000, *[2.0, 1.0][-len(budgets) :], **options).report_bytes
        given = ", ".join(each.name for each in fields(cls))
        rows.append([f"`{name}({given})`", entry.report, str(length), purpose(entry)])
    return table(["protocol", "a report is", "bytes at k = 1000, ε = 1", "choose it for"], rows)


def solutions() -> str:
    """Return one row per solution."""
    entries = [(name, registry.ENTRIES[name]) for name in registry.SOLUTIONS]
    rows = [[f"`{name}(protocol, ks, epsilon)`", e.report, purpose(e)] for name, e in entries]
    return table(["solution", "a report is", "choose it for"], rows)


def histories() -> str:
    """Return one row per mechanism for whole histories."""
    entries = [registry.ENTRIES[name] for name in registry.HISTORIES]
    rows = [[signature(e.cls), e.report, purpose(e)] for e in entries]
    return table(["mechanism", "a report is", "choose it for"], rows)


def signature(cls: type) -> str:
    """Return the name of a class with its parameters that have no default value."""
    needed = [each.name for each in fields(cls) if each.default is MISSING]
    return f"`{cls.__name__}({', '.join(needed)})`"


def mean_variance(history: History, *asked: Any) -> float:
    """Return n times the variance, averaged over rounds."""
    return float(history.network(1, *asked).variances.mean())


def cover_variance(rounds: int, block: Block) -> float:
    """Return n times the variance of the sum of the steps that cover the rounds so far.

    Each of 1 + log₂(rounds) lengths has an equal share of the users. The rounds up to t are covered
    by as many steps as t has binary digits 1.
    """
    steps = sum(t.bit_count() for t in range(1, rounds + 1)) / rounds
    return steps * rounds.bit_length() * float(block.cost)


def whole_histories() -> str:
    """Return n times the variance of each mechanism, for Boolean values that change three times."""
    rounds, c = 256, 3
    enough = (c + 1) * rounds.bit_length()
    tree, linear = Tree(1.0, rounds, c + 1), Tree(1.0, rounds, c + 1, "linear")
    rows = [
        ("`Steps`", f"changes = {c}", "least squares", mean_variance(Steps(2, 1.0, rounds, c))),
        ("`Tree`", f"changes = {c + 1}", "least squares", mean_variance(tree)),
        (
            "`Once` (time sampling)",
            "any number of changes",
            "reports of the round",
            mean_variance(Once(2, 1.0, rounds)),
        ),
        (
            '`Tree(kernel="linear")`',
            f"changes = {c + 1}",
            "least squares",
            mean_variance(linear),
        ),
        (
            "`Tree` as a cover, with one block size",
            f"changes = {c + 1}",
            "sum of steps, as published",
            cover_variance(rounds, Block(c + 1, 1.0)),
        ),
        (
            '`DDRM(kernel="ball")`',
            f"reports = {enough}",
            "least squares",
            mean_variance(DDRM(1.0, rounds, enough, "ball")),
        ),
        (
            "Erlingsson et al., as published",
            f"changes = {c + 1}, budget ε/2",
            "sum of steps, as published",
            cover_variance(rounds, Block(c + 1, 0.5, "linear")),
        ),
        (
            "`DDRM`",
            f"reports = {enough}",
            "least squares",
            mean_variance(DDRM(1.0, rounds, enough)),
        ),
    ]
    return table(
        ["mechanism", "given", "estimate", "n · variance"],
        [[name, given, how, f"{value:,.1f}"] for name, given, how, value in rows],
        left=3,
    )


def missed_rounds() -> str:
    """Return n times the variance of ``Steps``, for users who miss rounds."""
    rows = []
    for missing, gap, name in (
        (0.0, None, "none"),
        (0.01, None, "1 %"),
        (0.05, None, "5 %"),
        (0.05, 4.0, "5 %, in gaps of four rounds on average"),
        (0.2, None, "20 %"),
    ):
        row = [name]
        for restorable in (True, False):
            found = {
                share: mean_variance(Steps(2, 1.0, 64, 3, values=share), missing, gap, restorable)
                for share in (0.5, 0.75, 1.0)
            }
            best = min(found, key=found.__getitem__)
            row += [f"{found[best]:.1f}", f"{best:g}"]
        rows.append(row)
    head = ["missed rounds", "`restorable=True`", "share", "`restorable=False`", "share"]
    return table(head, rows, left=1)


def promises() -> str:
    """Return n times the variance of a rare value under each promise, by number of rounds."""
    once, stays = OUE(100, 1.0).variance(1), LOSUE(100, 1.0, 0.5).variance(1)
    rows = []
    for rounds in (16, 64, 256):
        whole = float(Steps(100, 1.0, rounds, 3).variance(1).mean())
        sampled = float(Once(100, 1.0, rounds).variance(1).mean())
        split = OUE(100, 1 / rounds).variance(1)
        numbers = [once, stays, whole, sampled, split]
        rows.append([str(rounds), *(f"{each:,.1f}" for each in numbers), f"{whole / stays:.1f}"])
    head = ["rounds", "`OUE`", "`LOSUE`", "`Steps`", "`Once`", "`OUE`, ε/T"]
    head.append("`Steps` / `LOSUE`")
    return table(head, rows, left=0)


def summary(caption: str, names: list[str]) -> str:
    """Return a list of names for the reference, with its caption in the sidebar."""
    head = (
        f"\n.. autosummary::\n   :toctree: reference\n   :nosignatures:\n   :caption: {caption}\n\n"
    )
    return head + "".join(f"   {name}\n" for name in names) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "protocols": protocols,
    "solutions": solutions,
    "histories": histories,
    "whole_histories": whole_histories,
    "missed_rounds": missed_rounds,
    "promises": promises,
    "one_shot": lambda: summary("One attribute", [*ONE_SHOT, "best"]),
    "several": lambda: summary("Several attributes", list(registry.SOLUTIONS)),
    "over_time": lambda: summary(
        "Over time",
        [
            *OVER_TIME,
            *("Client", "Panel", "over_rounds", "LimitReached"),
            *("Thresh", "~longitudinal.thresh.Device", "~longitudinal.thresh.Devices"),
        ],
    ),
    "changing": lambda: summary(
        "Whole histories",
        [*registry.HISTORIES, "History"],
    ),
}


def fill(text: str) -> str:
    """Return a document with its tables as the package has them."""
    return TABLE.sub(lambda found: found[1] + TABLES[found[2]]() + found[4], text)


if __name__ == "__main__":
    for path in DOCUMENTS:
        path.write_text(fill(path.read_text()))
