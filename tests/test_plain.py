"""Tests of draws without a compiler, and of the choice between plain code and kernels."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import multi_freq_ldpy
from multi_freq_ldpy import GRR, SS, registry
from multi_freq_ldpy.core import draws
from multi_freq_ldpy.core.randomness import Source
from multi_freq_ldpy.plain import chacha
from multi_freq_ldpy.protocol import budgets_of

from . import reference

PACKAGE = Path(multi_freq_ldpy.__file__).parent


def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports, including strings for ``import_module``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module or ''}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_nothing_else_imports_either() -> None:
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parent.name not in ("plain", "kernels")
        and any(
            each.startswith(("plain.", "kernels.", ".plain", ".kernels"))
            or "multi_freq_ldpy.plain" in each
            or "multi_freq_ldpy.kernels" in each
            for each in imported_modules(path)
        )
    }
    assert users == {"core/draws.py"}


@pytest.mark.parametrize("first", [0, 2**32 - 5, 2**60])
def test_blocks_of_the_key_stream(first: int) -> None:
    """Compare more blocks than are computed at once, across the carry of the counter."""
    key, nonce = bytes(range(32)), 2**63 + 1
    numbers = np.arange(first, first + chacha.TOGETHER + 3, dtype=np.uint64)
    drawn = chacha.blocks(
        np.frombuffer(key, "<u4"), np.full(len(numbers), nonce, np.uint64), numbers
    )
    for i in (0, 1, 4, 5, chacha.TOGETHER - 1, chacha.TOGETHER, chacha.TOGETHER + 2):
        assert drawn[i].tobytes() == reference.chacha_block(key, nonce, first + i)


@pytest.mark.parametrize("stride", [2, 4, 28, 64, 130])
def test_bytes_of_users(stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that consecutive and listed users read the bytes at their addresses, in pieces."""
    monkeypatch.setattr(chacha, "PIECE", 5 * stride)
    source, stream = Source.keyed(bytes(range(32)), 7), reference.Bytes(bytes(range(32)))
    listed = np.array([3, 0, 2**40, 5, 9, 1, 2, 8], np.uint64)
    for numbers in (np.empty(0, np.uint64), listed):
        found = list(chacha.read_pieces(source.key, source.first, numbers, 8, stride))
        rows = np.concatenate([drawn for _, _, drawn in found])
        at = np.concatenate([addresses for _, addresses, _ in found]).tolist()
        users = listed.tolist() if numbers.size else range(7, 15)
        assert at == [user * stride for user in users]
        for row, address in zip(rows, at, strict=True):
            assert int.from_bytes(row.tobytes(), "little") == stream.number(address, stride)


def test_an_unknown_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(draws.VARIABLE, "sometimes")
    monkeypatch.setattr(draws, "_chosen", {})
    with pytest.raises(ValueError, match="MULTI_FREQ_LDPY_COMPILE.*'sometimes'"):
        GRR(3, 1.0).randomize([0])


def run_python(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, where the package chooses between plain code and kernels."""
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**os.environ, draws.VARIABLE: "auto", **environment},
        capture_output=True,
        text=True,
        check=True,
    )


ONE = [
    *(f"{name}(9, *{[3.0, 1.0][: len(budgets_of(cls))]}).randomize(3)"
      for name, cls in registry.BY_BUDGETS.items()),
    "Bloom(9, 1.0, 16).randomize(3)",
    *(f"{name}(OUE, [3, 9], 1.0).randomize([2, 8])" for name in registry.SOLUTIONS),
    "Client(LOSUE(100, 2.0, 1.0)).report(3)",
    "Client(SMP([LOLH, LGRR], [9, 4], 2.0, 1.0)).report([3, 3])",
    "OUE(100, 1.0).estimate(OUE(100, 1.0).randomize([3] * 1000)).interval()",
]  # fmt: skip


@pytest.mark.process
def test_one_report_needs_no_compiler() -> None:
    lines = [
        "import sys; from multi_freq_ldpy import *",
        *ONE,
        "from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client; GRR_Client(1, 3, 1.0)",
        "print(sorted({'numba', 'llvmlite'} & set(sys.modules)))",
    ]
    assert run_python("\n".join(lines)).stdout.strip() == "[]"


LARGE = (
    "from multi_freq_ldpy import *; protocol = SS(100, 1.0)\n"
    "reports = [protocol.randomize([3] * 150_000, 1) for _ in range(2)]\n"
    "print(protocol.tally(reports[0]).counts.sum())\n"
)


@pytest.mark.process
@pytest.mark.parametrize(
    ("before", "environment"),
    [
        ("import sys; sys.modules['numba'] = None", {}),
        ("import sys, types; sys.modules['numba'] = types.ModuleType('numba')", {}),
        ("", {"NUMBA_DISABLE_JIT": "1"}),
        ("", {"MULTI_FREQ_LDPY_COMPILE": ""}),
    ],
    ids=["missing", "a stub", "disabled", "an empty variable"],
)
def test_large_batches_work_without_numba(before: str, environment: dict[str, str]) -> None:
    found = run_python(f"{before}\n{LARGE}", "-W", "error", **environment)
    assert int(found.stdout) == 150_000 * SS(100, 1.0).omega


@pytest.mark.process
@pytest.mark.parametrize("error", ["ImportError", "OSError", "AttributeError"])
def test_a_broken_numba_is_said_once(error: str, tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text(f"raise {error}('it needs an older NumPy')")
    found = run_python(LARGE, PYTHONPATH=str(tmp_path))
    assert int(found.stdout) == 150_000 * SS(100, 1.0).omega
    assert found.stderr.count("it needs an older NumPy") == 1
    assert "large batches are slow" in found.stderr
