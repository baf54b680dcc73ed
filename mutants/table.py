"""The table of faults: mutations of the package's own source, and wrong protocols, each with the
check or test that rejects it.
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
HEAD = """# Planted faults

A test that cannot fail is no test. Here is what was broken on purpose, and what noticed: first
mutations of the package's own source, then wrong protocols, most of them faults that published
packages have had. A *check* is one of those that `checks.run_check` runs on a mechanism, here the
one under "on"; what no check is about has a test of its own. `make mutants` plants the faults one
by one, the mutations each in a copy of the package and a process of its own, and fails unless every
one is rejected by the check or test that stands here: by its own assertion, not by an accident on
the way. It wrote this page, of {mutants} mutations and {protocols} wrong protocols; the mutations
are in `mutants/table.toml`, the protocols in `tests/faults.py`. Standard mutations of a file or
function, `make mutants GENERATE=core/exact.py`, show what else would live.
"""


@dataclass(frozen=True)
class Fault:
    """A mutation, and the check (of a mechanism) or test that rejects it.

    ``where`` is the qualified name of a function, class or constant, after its module and a colon
    where several have that name. ``before`` and ``after`` are expressions or statements; ``before``
    is found by its syntax tree, and must be there once. ``slow`` says that the mutation may never
    end, and that this counts as rejected. A wrong protocol of the tests has nothing to replace.
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
        """The file of the package that it is in."""
        return find_file(self.where)

    def plant(self) -> str:
        """Return the source of that file with the mutation in it."""
        tree = ast.parse((PACKAGE / self.file).read_text())
        replace = Replace(self.before, self.after)
        replace.generic_visit(list_definitions(tree)[self.where.rpartition(":")[2]])
        if replace.found != 1:
            raise ValueError(f"{self.name}: {replace.found} matches in {self.where}, not one")
        return ast.unparse(tree)


class Replace(ast.NodeTransformer):
    """Replace an expression by an expression, or a statement by any number of them."""

    def __init__(self, before: str, after: str) -> None:
        (old,), new = ast.parse(before.strip()).body, ast.parse(after.strip()).body
        self.found, self.old, self.new = 0, ast.dump(old), new or [ast.Pass()]
        if isinstance(old, ast.Expr) and len(new) == 1 and isinstance(new[0], ast.Expr):
            self.old, self.new = ast.dump(old.value), new[0].value  # type: ignore[assignment]

    def visit(self, node: ast.AST) -> Any:
        """Return what stands for a node."""
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
    """Return the one file of the package that defines this."""
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
        lines += [f"## {title}", "", "| what is wrong | where | rejected by | on |"]
        lines += ["| --- | --- | --- | --- |", *map(write_row, faults), ""]
    return "\n".join(lines)


def write_row(fault: Fault) -> str:
    """Return a row; code is marked as such, and what would end a cell is escaped."""
    rejected = fault.check or fault.test.partition("::")[2]
    marked = [f"`{text}`" if text else "" for text in (fault.where, rejected, fault.mechanism)]
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in (fault.name, *marked))} |"
