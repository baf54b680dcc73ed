"""Mutation tests: apply each mutation, run the check or test that must reject it, write a page.

The page is docs/faults.md. ``plant.py GRR dropped`` applies only the mutations that have one of
these words in name, place, check, test or mechanism. ``plant.py --generate core/exact.py
SMP._charges`` applies standard mutations of this file and this function.
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

LONGEST = 180.0  # seconds: several times the longest trial, compiling included
SLOW = 60.0  # seconds: slower test files are not used for generated mutations
Trial = tuple[str, str]
Verdict = tuple[str, str]


class Copy:
    """A copy of package and tests in a directory of its own, to which mutations are applied.

    Numba caches compiled functions by the path, time and size of a file. Names in the cache contain
    a digest of all kernels. The copy stays at one path and keeps the times of its files.
    Kernels that were compiled before the first mutation therefore serve every mutation outside the
    kernels. A mutation of a kernel starts with an empty cache, so only the mutated source can run.
    Compiling takes long, so a second copy is used for kernels, at the same time as the first.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.warm = place, place / "warm"
        self.warm.mkdir(parents=True)
        for name in ("src", "tests", "spec", "examples", "fuzz", "mutants", "docs"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            shutil.copy2(ROOT / name, place)

    def try_all(
        self, asked: list[Trial] | None, cache: Path, seconds: float = 3600.0
    ) -> Generator[Verdict, None, None]:
        """Yield the verdict of each trial; one new process makes all trials.

        If ``asked`` is None, the trials are the wrong protocols.
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
        """Apply a mutation, and return the first verdict other than "lives"."""
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
    """Return the check or test that must reject a fault, and the mechanism."""
    return fault.test or fault.check, fault.mechanism


def plant_table(words: list[str], show: bool) -> int:
    """Apply the mutations that have one of these words, and return 0 if all are rejected."""
    mutants, protocols = read_mutants(), list_protocols()

    def wanted(fault: Fault) -> bool:
        return not words or any(word in str(text) for word in words for text in astuple(fault))

    chosen, total = list(filter(wanted, mutants)), sum(map(wanted, mutants + protocols))
    found: list[str] = []
    started, over = time.monotonic(), threading.Event()

    def report(verdict: str, why: str, fault: Fault) -> None:
        verdict = "rejected" if verdict == "late" and fault.slow else verdict
        found.append(verdict)
        shown = {"rejected": "rejected", "lives": "LIVES"}.get(verdict, "other error")
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
                print(f"{' '.join(trial)} does not hold without a mutation: {why}")
                over.set()
        if over.is_set():
            return 1
        print(f"{len(asked)} checks and tests hold without a mutation", flush=True)
        plant(first, [each for each in chosen if each not in compiled])
        if total > len(chosen):
            for fault, verdict_on in zip(protocols, first.try_all(None, first.warm)):
                if wanted(fault):
                    report(*verdict_on, fault)
        kernels.result()
    rejected, seconds = found.count("rejected"), time.monotonic() - started
    print(f"{len(found)} mutations and wrong protocols, {rejected} rejected, in {seconds:.0f} s")
    if not words and rejected == total:
        PAGE.write_text(write_page(mutants, protocols))
    return int(rejected < total)


def plant_generated(targets: list[str], tests: list[str], most: int, seed: int) -> int:
    """Apply standard mutations, list the mutations that live, and return 0."""
    chosen, lives = generate(targets, most, seed), []
    asked = [(each, "") for each in tests] or choose_tests(targets)
    with tempfile.TemporaryDirectory(prefix="mutants") as place:
        copy, held, times = Copy(Path(place).resolve() / "copy"), [], [time.monotonic()]
        for trial, (verdict, _) in zip(asked, copy.try_all(asked, copy.warm)):
            times.append(time.monotonic())
            if verdict == "lives" and (tests or times[-1] - times[-2] < SLOW):
                held.append(trial)
        took = times[-1] - times[0]
        print(f"{len(held)} checks and test files hold without a mutation: {took:.0f} s")
        for i, each in enumerate(chosen, 1):
            verdict, _ = copy.plant(each.file, each.source, held, LONGEST + 3 * took)
            shown = {"lives": "LIVES", "late": "late"}.get(verdict, "rejected")
            print(f"{i:3}/{len(chosen)}  {shown:8}  {each.name}", flush=True)
            lives += [each.name] if verdict == "lives" else []
    print(f"{len(chosen)} mutations applied, {len(lives)} live", *lives, sep="\n")
    return 0


def main() -> int:
    """Return 0 if every fault is rejected."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("words", nargs="*", help="apply only the mutations that have one of these words")
    add("--page", action="store_true", help="only write docs/faults.md from the table")
    add("--why", action="store_true", help="print the message of the check or test")
    add("--generate", nargs="+", metavar="FILE_OR_NAME", help="list standard mutations that live")
    add("--tests", nargs="+", default=[], help="tests/<file> or tests/<file>::<function> to run")
    add("--most", type=int, default=40, help="largest number of mutations")
    add("--seed", type=int, default=0, help="seed of their random choice")
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
