"""The table of faults, each with the check or test that rejects it.

A fault is a mutation of the package's own source, or a wrong protocol.
"""

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "multi_freq_ldpy"
PAGE = ROOT / "docs" / "faults.md"
HEAD = """# Mutation tests

[Mutation tests](glossary.md#mutation-test) test the tests. This page lists faults that were made on
purpose, each with the check or test that must find it. The first table has {mutants} mutations of
the package's own source, from `mutants/table.toml`. The second table has {protocols} wrong
protocols, from `tests/faults.py`. Most of the wrong protocols have faults that published packages
have had.

A [check](glossary.md#check) is a function that `checks.run_check` runs on a mechanism. The second
column names the check and the mechanism. If no check can find a fault, the column names a test of
the suite instead.

`make mutants` tries the faults one by one and writes this page. It applies each mutation to a copy
of the package, and runs the check or test of its row in a new process. The command fails unless
every fault is rejected. Only an assertion of the check or test counts as a rejection; other errors
do not count.

`make mutants GENERATE=core/exact.py` applies standard mutations to a file or a function. It lists
the mutations that no check and no test rejects.
"""


@dataclass(frozen=True)
class Fault:
    """A mutation, and the check (of a mechanism) or test that rejects it.

    ``where`` is the qualified name of a function, class or constant. If several modules have this
    name, a module and a colon stand before it. ``before`` and ``after`` are expressions or
    statements. ``before`` is found by its syntax tree, and must occur exactly once. If ``slow`` is
    True, the mutated code may never end, and a trial that does not end counts as rejected. A wrong
    protocol of the tests has empty ``before`` and ``after``.
    """

    name: str
    where: str
    before: str = ""
    after: str = ""
    check: str = ""
    mechanism: str = ""
    test: str = ""
    slow: bool = False

    @property
    def file(self) -> str:
        """File of the package that the mutation changes."""
        return find_file(self.where)

    def plant(self) -> str:
        """Return the source of the file with the mutation."""
        tree = ast.parse((PACKAGE / self.file).read_text())
        replace = Replace(self.before, self.after)
        replace.generic_visit(list_definitions(tree)[self.where.rpartition(":")[2]])
        if replace.found != 1:
            raise ValueError(f"{self.name}: {replace.found} matches in {self.where}, not one")
        return ast.unparse(tree)


class Replace(ast.NodeTransformer):
    """Replace an expression by an expression, or a statement by any number of statements."""

    def __init__(self, before: str, after: str) -> None:
        (old,), new = ast.parse(before.strip()).body, ast.parse(after.strip()).body
        self.found, self.old, self.new = 0, ast.dump(old), new or [ast.Pass()]
        if isinstance(old, ast.Expr) and len(new) == 1 and isinstance(new[0], ast.Expr):
            self.old, self.new = ast.dump(old.value), new[0].value  # type: ignore[assignment]

    def visit(self, node: ast.AST) -> Any:
        """Return the replacement of a node that matches, or the node with changed children."""
        if ast.dump(node) != self.old:
            return self.generic_visit(node)
        self.found += 1
        return self.new


def list_definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return functions, classes and constants by their qualified names."""
    found: dict[str, ast.stmt] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[prefix + node.name] = node
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        found[prefix + target.id] = node

    visit(tree.body, "")
    return found


@cache
def list_files() -> dict[str, list[str]]:
    """Return the files of the package that define each qualified name."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in list_definitions(ast.parse(path.read_text())):
            found.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    return found


def find_file(where: str) -> str:
    """Return the one file of the package that defines a qualified name."""
    module, _, name = where.rpartition(":")
    end = f"/{module.replace('.', '/')}.py" if module else ""
    files = [file for file in list_files().get(name, []) if f"/{file}".endswith(end)]
    if len(files) != 1:
        raise ValueError(f"{where} is defined in {files}, not in one file")
    return files[0]


def read_mutants() -> list[Fault]:
    """Return the mutations, in the order of the table."""
    table = tomllib.loads((ROOT / "mutants" / "table.toml").read_text())
    return [Fault(name, **each) for name, each in table.items()]


def list_protocols() -> list[Fault]:
    """Return the wrong protocols of the tests, in their order."""
    from tests.faults import FAULTS

    found = []
    for each, check in FAULTS:
        name = " ".join((type(each).__doc__ or "").split()).removesuffix(">>>").rstrip(" .")
        found.append(Fault(name, type(each).__name__, check=check, mechanism=repr(each)))
    return found


def write_page(mutants: list[Fault], protocols: list[Fault]) -> str:
    """Return the page of the documentation."""
    lines = [HEAD.format(mutants=len(mutants), protocols=len(protocols))]
    for title, faults in (("Mutations of the source", mutants), ("Wrong protocols", protocols)):
        lines += [f"## {title}", "", "| fault | rejected by |", "| --- | --- |"]
        lines += [*map(write_row, faults), ""]
    return "\n".join(lines)


def write_row(fault: Fault) -> str:
    """Return a row of the table, with code in backticks and escaped vertical bars."""
    place = f" (`{fault.where}`)" if fault.before else ""
    rejected = f"`{fault.check}`, on `{fault.mechanism}`"
    if fault.test:  # without the parameters of the test, which are long
        rejected = f"`{fault.test.partition('::')[2].partition('[')[0]}`"
    cells = [text.replace("|", chr(92) + "|") for text in (fault.name + place, rejected)]
    return f"| {' | '.join(cells)} |"
