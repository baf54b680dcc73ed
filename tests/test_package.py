"""Tests of the installed package: its imports, its environments and its exports."""

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import multi_freq_ldpy
from multi_freq_ldpy import (
    GRR,
    LGRR,
    Client,
    Panel,
    Tally,
    audit,
    checks,
    exact_epsilon,
    influence,
    registry,
    wire,
)

ROOT = Path(multi_freq_ldpy.__file__).parent
# The kernel that compiles fastest
RANDOMIZE = (
    "from multi_freq_ldpy import SHE; noise = SHE(5, 1.0).randomize([0] * 9, rng=1);"
    " print(len(noise), noise.sum(axis=0))"
)

# Root may write everywhere, so root drops its capabilities. For other users nothing changes.
NO_PRIVILEGES = """
import ctypes, os
if os.getuid() == 0:
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_is_light() -> None:
    loaded = run(
        "import sys, multi_freq_ldpy; print(*sorted({name.partition('.')[0] for name in"
        " sys.modules}))"
    ).split()
    assert "numpy" in loaded
    extras = {"narwhals", "pandas", "polars", "pyarrow", "matplotlib", "typer", "rich", "scipy"}
    assert not ({"numba", "llvmlite"} | extras) & set(loaded)


def test_what_needs_no_kernel_loads_no_numba() -> None:
    assert (
        run(
            "import sys; from multi_freq_ldpy import OLH; OLH(9, 1.0).law(1); print('numba' in"
            " sys.modules)"
        )
        == "False"
    )


def test_exports() -> None:
    assert len(multi_freq_ldpy.__all__) == len(set(multi_freq_ldpy.__all__))
    assert all(hasattr(multi_freq_ldpy, name) for name in multi_freq_ldpy.__all__)
    assert set(registry.PROTOCOLS) <= set(multi_freq_ldpy.__all__)
    assert (ROOT / "py.typed").exists()
    assert multi_freq_ldpy.__version__ == "1.0.0.dev0"


def test_numba_is_imported_by_kernels_only() -> None:
    users = {
        path.parent.name
        for path in ROOT.rglob("*.py")
        if "import numba" in path.read_text() or "from numba" in path.read_text()
    }
    assert users == {"kernels"}


PATHS = {
    "protocol": "OneShot Protocol declared",
    "mechanism": "Mechanism",
    "randomness": "Source Stream as_generator as_stream subkey",
    "exact": "WORD amplified bit_weights exp symbol_weights",
    "wire": "decode encode",
    "registry": "PROTOCOLS SOLUTIONS from_spec to_spec",
    "checks": "CHECKS LAWS CheckFailed LawBroken NotApplicable check_law check_protocol run_check",
    "survey": "Survey",
    "datasets": "population",
}


@pytest.mark.parametrize(("module", "names"), PATHS.items(), ids=list(PATHS))
def test_modules_stay_where_they_are(module: str, names: str) -> None:
    """Check the module paths that the documentation names for protocols outside the package."""
    found = importlib.import_module(f"multi_freq_ldpy.{module}")
    assert all(hasattr(found, name) for name in names.split())


LGRR5 = LGRR(5, 2.0, 1.0)
OLD_NAMES: dict[str, Callable[[], object]] = {
    "Client": lambda: Client(protocol=LGRR5),
    "Panel": lambda: Panel(protocol=LGRR5, n=3),
    "Tally": lambda: Tally(protocol=GRR(2, 1.0), counts=[1, 0], n=1),
    "wire.encode": lambda: wire.encode(protocol=GRR(2, 1.0), reports=[1]),
    "wire.decode": lambda: wire.decode(protocol=GRR(2, 1.0), data=b"\1"),
    "registry.to_spec": lambda: registry.to_spec(protocol=GRR(2, 1.0)),
    "exact_epsilon": lambda: exact_epsilon(protocol=GRR(2, 1.0)),
    "influence": lambda: influence(protocol=GRR(2, 1.0), n=10, m=1),
    "audit": lambda: audit(target=GRR(2, 1.0), n=100, rng=1),
    "checks.run_check": lambda: checks.run_check("spec", protocol=GRR(2, 1.0)),
    "Client.protocol": lambda: Client(LGRR5).protocol,
    "Panel.protocol": lambda: Panel(LGRR5, 3).protocol,
    "Tally.protocol": lambda: GRR(2, 1.0).tally([1]).protocol,
}


@pytest.mark.parametrize("call", OLD_NAMES.values(), ids=list(OLD_NAMES))
def test_old_names_work_and_warn(call: Callable[[], object]) -> None:
    with pytest.warns(DeprecationWarning, match="(protocol|target) is now mechanism") as warned:
        call()
    assert [each.filename for each in warned] == [__file__], "it must point at the caller"


def test_old_and_new_name_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="mechanism must be given once"):
        wire.encode(mechanism=GRR(2, 1.0), protocol=GRR(2, 1.0), reports=[1])
    with pytest.warns(DeprecationWarning, match="protocol is now mechanism"):
        opened = Client.open(tmp_path / "client", protocol=LGRR5)
    assert opened.mechanism == LGRR5


@pytest.mark.process
def test_read_only_installation_and_home(tmp_path: Path) -> None:
    """Check that kernels work if neither the package nor the home directory can be written."""
    site, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(ROOT, site / "multi_freq_ldpy", ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    locked = NO_PRIVILEGES + f"import pathlib, sys\nsys.path.insert(0, {str(site)!r})\n"
    refused = (
        "try:\n    pathlib.Path(sys.path[0], 'multi_freq_ldpy', 'x').touch()\nexcept OSError:\n   "
        " print('refused')\n"
    )
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NUMBA_CACHE_DIR": ""}
    assert run(locked + refused + RANDOMIZE, **environment).split()[:2] == ["refused", "9"]
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)


@pytest.mark.process
def test_kernels_are_cached_on_disk(tmp_path: Path) -> None:
    run(RANDOMIZE, NUMBA_CACHE_DIR=str(tmp_path))
    cached = {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")}
    assert any("randomize" in name for name in cached)
    run(RANDOMIZE, NUMBA_CACHE_DIR=str(tmp_path))
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == cached


@pytest.mark.process
def test_a_changed_kernel_reaches_every_other(tmp_path: Path) -> None:
    """Check that a change of one kernel file also changes the cached kernels that call it."""
    shutil.copytree(
        ROOT, tmp_path / "multi_freq_ldpy", ignore=shutil.ignore_patterns("__pycache__")
    )
    here = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    before = run(RANDOMIZE, **here)
    assert run(RANDOMIZE, **here) == before
    changed = tmp_path / "multi_freq_ldpy" / "kernels" / "symbols.py"  # the noise kernel calls it
    text, right = changed.read_text(), "    return np.int64(product >> uint64(32))\n"
    assert text.count(right) == 1
    changed.write_text(
        text.replace(right, "    return np.int64(k - 1) - np.int64(product >> uint64(32))\n")
    )
    assert run(RANDOMIZE, **here) != before


COUNT = """
import sys
import numpy as np
from multi_freq_ldpy.kernels import symbols
counts = np.zeros(4, np.int64)
symbols.count(np.array([0, 3, 3], sys.argv[-1] if len(sys.argv) > 1 else "uint8"), counts)
print(*counts)
"""

LATE = """
import time
from numba.core.caching import IndexDataCacheFile
def late(self, overloads, save=IndexDataCacheFile._save_index):
    time.sleep(2)
    save(self, overloads)
IndexDataCacheFile._save_index = late
"""

FULL = """
import errno
from numba.core.caching import IndexDataCacheFile
def full(*_):
    raise OSError(errno.ENOSPC, "full")
IndexDataCacheFile._save_data = full
"""


@pytest.mark.process
def test_processes_that_compile_at_once(tmp_path: Path) -> None:
    """Compile one function for different types in two processes at once.

    Both processes read the index of the cache before either writes it. Their kernels must not be
    mixed up.
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", LATE + COUNT, each], env=environment)
        for each in ("uint8", "uint16")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(list(tmp_path.rglob("symbols.count*.nbc"))) == 2, (
        "two kernels were written to one file"
    )


@pytest.mark.process
def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """Simulate a full disk while a kernel is saved: the kernel is used, but not cached."""
    for code in (FULL + COUNT, FULL + COUNT, COUNT, COUNT):
        assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == "1 0 0 2"


@pytest.mark.parametrize("value", ["0", "-1", "two", ""])
def test_wrong_number_of_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTI_FREQ_LDPY_THREADS", value)
    with pytest.raises(ValueError, match="MULTI_FREQ_LDPY_THREADS"):
        multi_freq_ldpy.GRR(3, 1.0).randomize([0])


def test_numba_is_left_out_where_it_cannot_be_installed() -> None:
    """Check that numba is a dependency everywhere except in browsers."""
    content = tomllib.loads((ROOT.parent.parent / "pyproject.toml").read_text())
    wanted = map(Requirement, content["project"]["dependencies"])
    (found,) = [each for each in wanted if each.name == "numba"]
    assert found.marker is not None
    platforms = ("emscripten", "linux", "darwin", "win32")
    assert [each for each in platforms if not found.marker.evaluate({"sys_platform": each})] == [
        "emscripten"
    ]


COMPILED = """
import logging, sys
if sys.argv[-1] == "log": logging.basicConfig(level=logging.INFO)
if sys.argv[-1] == "terminal": sys.stderr.isatty = lambda: True
from multi_freq_ldpy import SHE
for k in (4, 5): SHE(k, 1.0).randomize([1] * 10)
"""


@pytest.mark.process
def test_compiling_is_said_once(tmp_path: Path) -> None:
    """Check that compiling is announced once, on a terminal or to a logger.

    It is not announced if the kernels are cached, or if no kernels are used.
    """
    said = []
    for where, mode, cache in (
        ("terminal", "never", "one"),
        ("terminal", "always", "one"),
        ("terminal", "always", "one"),
        ("log", "always", "two"),
        ("nowhere", "always", "three"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", COMPILED, where],
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / cache),
                "MULTI_FREQ_LDPY_COMPILE": mode,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stderr.count("compiles for a large batch"))
    assert said == [0, 1, 0, 1, 0]
