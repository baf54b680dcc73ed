"""The table of faults: mutations of the package's own source, and wrong protocols, each with the
law or test that rejects it.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src", "multi_freq_ldpy")
PAGE = ROOT / "docs" / "faults.md"
HEAD = """# Planted faults

A test that cannot fail is no test. Here is what was broken on purpose, and what noticed: first
mutations of the package's own source, then wrong protocols, most of them faults that published
packages have had. A *law* is one of those that `checks.run_check` holds a protocol or solution to,
here the one under "on"; what no law is about has a test of its own. `make mutants` plants the
faults one by one, the mutations each in a copy of the package and a process of its own, and fails
unless every one is rejected by the law or test that stands here: by its own assertion, not by an
accident on the way. It wrote this page, of {mutants} mutations and {protocols} wrong protocols; the
mutations are in `mutants/table.toml`, the protocols in `tests/faults.py`.
"""


@dataclass(frozen=True)
class Mutant:
    """One mutation: the text that is replaced, in which file of the package, and the law (of a
    subject) or test that rejects it.

    ``slow`` says that the mutation may never end, and that this counts as rejected.
    """

    name: str
    file: str
    before: str
    after: str
    law: str
    subject: str = ""
    slow: bool = False

    @property
    def test(self) -> bool:
        """Whether a test rejects it, not a law."""
        return "::" in self.law

    @property
    def compiled(self) -> bool:
        """Whether the mutation is in a kernel."""
        return self.file.startswith("kernels/")

    def planted(self, text: str) -> str:
        """Return the text of the file with the mutation in it."""
        if text.count(self.before) != 1:
            raise ValueError(
                f"{self.name}: what is replaced occurs {text.count(self.before)} times in"
                f" {self.file}, not once"
            )
        return text.replace(self.before, self.after)


def mutants() -> list[Mutant]:
    """Return the mutations, in the order of the table."""
    return [
        Mutant(**each)
        for each in tomllib.loads((ROOT / "mutants" / "table.toml").read_text())["mutant"]
    ]


@dataclass(frozen=True)
class Wrong:
    """A wrong protocol of the tests, as the page shows it."""

    name: str
    what: str
    law: str
    subject: str


def wrong() -> list[Wrong]:
    """Return the wrong protocols, in their order."""
    from tests.faults import FAULTS

    return [
        Wrong(type(each).__name__, said(type(each).__doc__), law, repr(each))
        for each, law in FAULTS
    ]


def said(docstring: str | None) -> str:
    """Return what a docstring says, without the mark of an example and the full stop."""
    return (docstring or "").replace(">>>", "").strip().rstrip(".")


def page(mutated: list[Mutant], others: list[Wrong]) -> str:
    """Return the page of the documentation."""
    lines = [
        HEAD.format(mutants=len(mutated), protocols=len(others)),
        "## Mutations of the source",
        *titles(),
    ]
    lines += [row(each.name, each.file, each.law, each.subject) for each in mutated]
    lines += ["", "## Wrong protocols", *titles()]
    lines += [row(each.what, each.name, each.law, each.subject) for each in others]
    return "\n".join(lines) + "\n"


def titles() -> list[str]:
    """Return how a table begins."""
    return ["", "| what is wrong | where | rejected by | on |", "| --- | --- | --- | --- |"]


def row(what: str, where: str, law: str, subject: str) -> str:
    """Return a row; code is marked as such, and what would end a cell is escaped."""
    marked = [
        f"`{text}`" if text else "" for text in (where, law.partition("::")[2] or law, subject)
    ]
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in (what, *marked))} |"
