"""Standard mutations of a file or function, generated on demand."""

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from table import PACKAGE, ROOT, find_file, list_definitions

PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult Div, FloorDiv Div"
PAIRS += ", Mod Mult, Pow Mult, LShift RShift, BitAnd BitOr, BitXor BitOr"
SWAPS: dict[type, Any] = {}
"""Replacement of each operator."""
for one, other in (pair.split() for pair in PAIRS.split(",")):
    SWAPS[getattr(ast, one)] = getattr(ast, other)
    SWAPS.setdefault(getattr(ast, other), getattr(ast, one))

SKIPPED = {"annotation", "returns", "decorator_list"}
MECHANISMS = ["GRR(5, 3.0)", "OUE(5, 3.0)", "SMP(OLH, [3, 5], 1.0)", "LGRR(4, 4.0, 2.0)"]
MOST_FILES = 4


class Generated(NamedTuple):
    """A generated mutation: its name, its file, and the source of the file with the mutation."""

    name: str
    file: str
    source: str


class Swap(ast.NodeTransformer):
    """Replace one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the new node in place of the old one, or the node with changed children."""
        return self.new if node is self.old else self.generic_visit(node)


def mutate(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the standard mutations of a node."""
    kind: Any = type(node)
    match node:
        case ast.Compare(left, ops, right):
            for i, op in enumerate(ops):
                yield ast.Compare(left, [*ops[:i], SWAPS[type(op)](), *ops[i + 1 :]], right)
        case ast.BinOp(left, op, right) | ast.AugAssign(left, op, right) if type(op) in SWAPS:
            yield kind(left, SWAPS[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(SWAPS[type(op)](), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.If(test, body, orelse) | ast.IfExp(test, body, orelse):
            yield kind(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call(function, [first, second, *rest], keywords):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield ast.Call(function, [second, first, *rest], keywords)
        case ast.Return(ast.expr()):
            yield ast.Return(ast.Constant(None))
        case ast.With(_, body):
            yield ast.If(ast.Constant(True), body, [])
    documented = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Raise | ast.Expr) and not documented:
        yield ast.Pass()


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, except annotations, decorators and messages."""
    yield node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            skipped = field in SKIPPED or isinstance(child, ast.JoinedStr)
            if isinstance(child, ast.AST) and not skipped:
                yield from walk(child)


def generate(targets: list[str], most: int, seed: int) -> list[Generated]:
    """Return a random choice of the mutations of all targets.

    A target is a file ("core/exact.py"), a definition in a file ("core/exact.py::below"), or a
    qualified name ("core.exact:below").
    """
    every: list[tuple[str, ast.Module, ast.AST, ast.AST]] = []
    for target in targets:
        file, _, name = target.partition("::")
        if not file.endswith(".py"):
            file, name = find_file(target), target.rpartition(":")[2]
        tree = ast.parse((PACKAGE / file).read_text())
        inside: ast.AST = list_definitions(tree)[name] if name else tree
        every += [(file, tree, node, new) for node in walk(inside) for new in mutate(node)]
    found, chosen = [], random.Random(seed).sample(range(len(every)), min(most, len(every)))
    for file, tree, old, new in (every[i] for i in sorted(chosen)):
        shown = "  →  ".join(ast.unparse(each).split("\n")[0][:70] for each in (old, new))
        name = f"{file}:{getattr(old, 'lineno', 0)}: {shown}"
        Swap(old, new).visit(tree)
        found.append(Generated(name, file, ast.unparse(tree)))
        Swap(new, old).visit(tree)
    return found


def choose_tests(targets: list[str]) -> list[tuple[str, str]]:
    """Return the checks and tests to run: all checks of small mechanisms, and some test files.

    A test file is chosen if it imports the module of a target or contains the name of a target.
    If more than MOST_FILES files match, the match says little, and none of them is chosen. Files
    that test the table itself are left out.
    """
    from multi_freq_ldpy import checks

    asked = [(check, mechanism) for mechanism in MECHANISMS for check in checks.CHECKS]
    texts = {path.name: path.read_text() for path in sorted(ROOT.glob("tests/test_*.py"))}
    texts = {name: text for name, text in texts.items() if "from table" not in text}
    for target in targets:
        file, _, name = (
            target.partition("::") if ".py" in target else (find_file(target), "", target)
        )
        module = Path(file).stem
        for pattern in (
            rf"^(from|import) .*\b{module}\b|^    {module},$",
            rf"\b{re.split('[.:]', name)[-1] or module}\b",
        ):
            files = [each for each in texts if re.search(pattern, texts[each], re.MULTILINE)]
            asked += [(f"tests/{each}", "") for each in files] if len(files) <= MOST_FILES else []
    return list(dict.fromkeys(asked))
