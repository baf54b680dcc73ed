"""Plant faults one by one, expect each to be rejected by the check or test that the table names,
and write docs/faults.md.

``plant.py GRR dropped`` plants those with one of these words in name, place, check, test or
mechanism; ``plant.py --generate core/exact.py SMP._charges`` standard mutations of these instead.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple
from pathlib import Path

from generate import choose_tests, generate
from table import PACKAGE, PAGE, ROOT, Fault, list_protocols, read_mutants, write_page

LONGEST = 180.0  # seconds: several times what the slowest trial takes, compiling included
SLOW = 60.0  # seconds: test files that take longer are not chosen for generated mutations
Trial = tuple[str, str]
Verdict = tuple[str, str]


class Copy:
    """A copy of package and tests in a directory of its own, in which faults are planted.

    Numba keeps what it compiles by the path of a file, its time and its size, and under names that
    hold a digest of all kernels. The copy stays at one path and keeps the times of its files, so
    kernels that were compiled before anything was planted serve every mutation that is not in a
    kernel. One that is begins with an empty cache: nothing but what it says can run. That takes
    long, so kernels have a copy of their own, and are mutated while the rest is.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.warm = place, place / "warm"
        self.warm.mkdir(parents=True)
        for name in ("src", "tests", "examples", "fuzz", "mutants", "docs"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            shutil.copy2(ROOT / name, place)

    def try_all(
        self, asked: list[Trial] | None, cache: Path, seconds: float = 3600.0
    ) -> Generator[Verdict, None, None]:
        """Yield the verdict of each trial, all of them made in one new process.

        None asks for the wrong protocols.
        """
        hidden = ("NUMBA_", "PYTEST_", "PYTHON")
        environment = {name: x for name, x in os.environ.items() if not name.startswith(hidden)} | {
            "PYTHONPATH": os.pathsep.join(str(self.place / name) for name in ("src", ".")),
            # A file that is changed and changed back within a second would look unchanged
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(cache),
            "MULTI_FREQ_LDPY_COMPILE": "always",
        }
        command = [sys.executable, str(ROOT / "mutants" / "trial.py"), json.dumps(asked)]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, cwd=self.place, env=environment, stdout=pipe, stderr=errors, text=True
            ) as process,
        ):
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            try:
                for line in process.stdout or ():
                    verdict, why = json.loads(line)
                    yield verdict, why
                if process.wait() == -signal.SIGKILL:
                    yield "late", f"it had not ended after {seconds:.0f} seconds"
                elif process.returncode:
                    errors.seek(0)
                    yield "accident", f"exit code {process.returncode}: {errors.read()[-2000:]}"
            finally:
                timer.cancel()
                process.kill()

    def plant(
        self, name: str, source: str, asked: list[Trial], seconds: float = LONGEST
    ) -> Verdict:
        """Plant a mutation, and return the first verdict that is not that it lives."""
        file, cache = self.place / PACKAGE.relative_to(ROOT) / name, self.place / "cache"
        text, times = file.read_text(), file.stat()
        if not is_compiled(name):
            shutil.copytree(self.warm, cache)
        try:
            file.write_text(source)
            with closing(self.try_all(asked, cache, seconds)) as verdicts:
                return next((each for each in verdicts if each[0] != "lives"), ("lives", ""))
        finally:
            file.write_text(text)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            shutil.rmtree(cache, ignore_errors=True)


def is_compiled(file: str) -> bool:
    """Tell whether a file of the package holds kernels."""
    return file.startswith("kernels/")


def find_trial(fault: Fault) -> Trial:
    """Return what has to reject a fault."""
    return fault.test or fault.check, fault.mechanism


def plant_table(words: list[str], show: bool) -> int:
    """Plant the faults that have one of these words; return 0 if all are rejected."""
    mutants, protocols = read_mutants(), list_protocols()

    def wanted(fault: Fault) -> bool:
        return not words or any(word in str(text) for word in words for text in astuple(fault))

    chosen, total = list(filter(wanted, mutants)), sum(map(wanted, mutants + protocols))
    found: list[str] = []
    started, over = time.monotonic(), threading.Event()

    def report(verdict: str, why: str, fault: Fault) -> None:
        verdict = "rejected" if verdict == "late" and fault.slow else verdict
        found.append(verdict)
        shown = {"rejected": "rejected", "lives": "LIVES"}.get(verdict, "broken by accident")
        told = f"\n         {why.strip()}" if verdict != "rejected" or show else ""
        by = " ".join(find_trial(fault)).strip()
        print(f"{len(found):3}/{total}  {shown:8}  {fault.name}: {by}{told}", flush=True)

    def plant(copy: Copy, some: list[Fault]) -> None:
        for each in some:
            if not over.is_set():
                report(*copy.plant(each.file, each.plant(), [find_trial(each)]), each)

    with tempfile.TemporaryDirectory(prefix="mutants") as place, ThreadPoolExecutor() as beside:
        first, second = (Copy(Path(place).resolve() / name) for name in ("python", "kernels"))
        compiled = [each for each in chosen if is_compiled(each.file)]
        kernels = beside.submit(plant, second, compiled)
        asked = list(dict.fromkeys(map(find_trial, chosen)))
        for trial, (verdict, why) in zip(asked, first.try_all(asked, first.warm)):
            if verdict != "lives":
                print(f"{' '.join(trial)} does not hold although nothing is planted: {why}")
                over.set()
        if over.is_set():
            return 1
        print(f"{len(asked)} checks and tests hold while nothing is planted", flush=True)
        plant(first, [each for each in chosen if each not in compiled])
        if total > len(chosen):
            for fault, verdict_on in zip(protocols, first.try_all(None, first.warm)):
                if wanted(fault):
                    report(*verdict_on, fault)
        kernels.result()
    rejected, seconds = found.count("rejected"), time.monotonic() - started
    print(f"{len(found)} faults planted, {rejected} rejected, in {seconds:.0f} s")
    if not words and rejected == total:
        PAGE.write_text(write_page(mutants, protocols))
    return int(rejected < total)


def plant_generated(targets: list[str], tests: list[str], most: int, seed: int) -> int:
    """Plant standard mutations, list those that live, and return 0."""
    chosen, lives = generate(targets, most, seed), []
    asked = [(each, "") for each in tests] or choose_tests(targets)
    with tempfile.TemporaryDirectory(prefix="mutants") as place:
        copy, held, times = Copy(Path(place).resolve() / "copy"), [], [time.monotonic()]
        for trial, (verdict, _) in zip(asked, copy.try_all(asked, copy.warm)):
            times.append(time.monotonic())
            if verdict == "lives" and (tests or times[-1] - times[-2] < SLOW):
                held.append(trial)
        took = times[-1] - times[0]
        print(f"{len(held)} checks and test files hold while nothing is planted: {took:.0f} s")
        for i, each in enumerate(chosen, 1):
            verdict, _ = copy.plant(each.file, each.source, held, LONGEST + 3 * took)
            shown = {"lives": "LIVES", "late": "late"}.get(verdict, "rejected")
            print(f"{i:3}/{len(chosen)}  {shown:8}  {each.name}", flush=True)
            lives += [each.name] if verdict == "lives" else []
    print(f"{len(chosen)} mutations planted, {len(lives)} live", *lives, sep="\n")
    return 0


def main() -> int:
    """Return 0 if every fault is rejected."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("words", nargs="*", help="plant only the faults that have one of these words")
    add("--page", action="store_true", help="only write docs/faults.md, from the table")
    add("--why", action="store_true", help="say what the check or test said")
    add("--generate", nargs="+", metavar="FILE_OR_NAME", help="say which standard mutations live")
    add("--tests", nargs="+", default=[], help="tests/<file> or tests/<file>::<function> to run")
    add("--most", type=int, default=40, help="how many mutations to generate at most")
    add("--seed", type=int, default=0, help="which of them")
    options = parser.parse_args()
    sys.path.append(str(ROOT))
    if options.generate:
        return plant_generated(options.generate, options.tests, options.most, options.seed)
    if not options.page:
        return plant_table(options.words, options.why)
    PAGE.write_text(write_page(read_mutants(), list_protocols()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
