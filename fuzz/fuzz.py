"""Coverage-guided fuzzing of all targets, each in a process of its own.

``python fuzz/fuzz.py --seconds 60``.
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
BUILD = HERE.parent / "build" / "fuzz"
SMALL = 1024
"""Largest size, in bytes, of an input that is added to the corpus."""


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process, guided by the coverage of the package.

    Kernels are not instrumented. They are compiled, and they are imported at their first use.
    """
    import atheris

    with atheris.instrument_imports(include=["multi_freq_ldpy"]):
        targets = importlib.import_module("targets")
    # The corpus compiles the kernels; compiling during the fuzzing would look like a hang
    for path in (CORPUS / name).iterdir():
        targets.TARGETS[name](path.read_bytes())
    atheris.Setup([sys.argv[0], *arguments], targets.TARGETS[name])
    atheris.Fuzz()


def run(name: str, seconds: int, keep: bool) -> bool:
    """Fuzz one target in another process, print a summary, and return True if nothing crashed."""
    corpus, found = CORPUS / name, BUILD / name
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    limits = [f"-max_total_time={seconds}", "-rss_limit_mb=1024", "-timeout=10", "-max_len=4096"]
    folders = [str(found), str(corpus), f"-artifact_prefix={BUILD / name}-", "-print_final_stats=1"]
    command = [sys.executable, __file__, "--one", name, *folders, *limits]
    environment = os.environ | {"TMPDIR": str(BUILD)}  # for the files that targets write
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment, check=False
    )
    runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    new = [path for path in found.iterdir() if path.stat().st_size <= SMALL]
    print(
        f"{name:18} {int(runs[1]) if runs else 0:9,} inputs, {len(list(corpus.iterdir())):3} in the"
        f" corpus, {len(new):4} new",
        flush=True,
    )
    if done.returncode or not runs:
        print(done.stderr[-5000:], flush=True)
        return False
    for path in new if keep else ():
        shutil.copy(path, corpus / path.name)
    return True


def main() -> int:
    """Fuzz all targets, or the targets that are named, and return 1 if one of them crashed."""
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], sys.argv[3:])
        return 0
    names = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(names))
    parser.add_argument("--seconds", type=int, default=60, help="seconds for each target")
    parser.add_argument("--keep", action="store_true", help="add new small inputs to the corpus")
    options = parser.parse_args()
    passed = [run(name, options.seconds, options.keep) for name in options.targets or names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
