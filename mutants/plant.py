"""Plant faults one by one and expect each to be rejected by the law or test that the table names.

Write docs/faults.md if all are.

``python mutants/plant.py`` plants them all; ``python mutants/plant.py GRR dropped`` those with one
of these words in name, file, law or subject. ``--page`` writes the page from the table alone.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path

from table import PACKAGE, PAGE, ROOT, Mutant, Wrong, mutants, page, wrong

from multi_freq_ldpy.files.progress import Progress

LONGEST = 180.0
"""Seconds after which a trial is ended.

Several times what the slowest takes, compiling included.
"""

Trial = tuple[str, str]


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
        for name in ("src", "tests", "examples"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(ROOT / "pyproject.toml", place)

    def trials(
        self, asked: list[Trial] | None, cache: Path, seconds: float | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield the verdict of each trial, all of them made in one new process.

        None asks for the wrong protocols.
        """
        environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("NUMBA_", "PYTEST_", "PYTHON"))
        } | {
            "PYTHONPATH": os.pathsep.join(str(self.place / name) for name in ("src", ".")),
            # A file that is changed and changed back within a second would look unchanged
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(cache),
        }
        command = [sys.executable, str(ROOT / "mutants" / "trial.py"), json.dumps(asked)]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command,
                cwd=self.place,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            assert process.stdout is not None
            late = threading.Event()

            def end(process: subprocess.Popen[str] = process, late: threading.Event = late) -> None:
                late.set()
                process.kill()

            timer = threading.Timer(seconds or 0.0, end)
            if seconds is not None:
                timer.start()
            try:
                for line in process.stdout:
                    verdict, why = json.loads(line)
                    yield verdict, why
                process.wait()
            finally:
                timer.cancel()
                process.kill()
                process.wait()
            errors.seek(0)
            if late.is_set():
                yield "late", f"it had not ended after {seconds:.0f} seconds"
            elif process.returncode:
                yield "accident", f"exit code {process.returncode}: {errors.read()[-2000:]}"

    def trial(self, mutant: Mutant) -> tuple[str, str]:
        """Plant a mutation, and return the verdict on it."""
        file, cache = self.place / PACKAGE / mutant.file, self.place / "cache"
        text, times = file.read_text(), file.stat()
        if not mutant.compiled:
            shutil.copytree(self.warm, cache)
        try:
            file.write_text(mutant.planted(text))
            verdict, why = next(
                self.trials([(mutant.law, mutant.subject)], cache, LONGEST),
                ("accident", "nothing was said"),
            )
        finally:
            file.write_text(text)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            shutil.rmtree(cache, ignore_errors=True)
        return "rejected" if verdict == "late" and mutant.slow else verdict, why


def main() -> int:
    """Return 0 if every fault is rejected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "words",
        nargs="*",
        help="plant only the faults that have one of these words in name, file, law or subject",
    )
    parser.add_argument("--page", action="store_true", help="only write docs/faults.md")
    parser.add_argument("--why", action="store_true", help="say what the law or test said")
    options = parser.parse_args()
    sys.path.append(str(ROOT))
    every, planted = mutants(), wrong()
    if options.page:
        PAGE.write_text(page(every, planted))
        return 0

    def wanted(fault: Mutant | Wrong) -> bool:
        return not options.words or any(
            word in str(text) for word in options.words for text in astuple(fault)
        )

    chosen, others = (
        [each for each in every if wanted(each)],
        [each for each in planted if wanted(each)],
    )
    found: list[str] = []
    started, lock, over = time.monotonic(), threading.Lock(), threading.Event()

    def report(verdict: str, why: str, name: str, fault: Mutant | Wrong) -> None:
        shown = {"rejected": "rejected", "lives": "LIVES"}.get(verdict, "broken by accident")
        with lock:
            found.append(verdict)
            print(
                f"{len(found):3}/{len(chosen) + len(others)}  {shown:8}  {name}: {fault.law}"
                f" {fault.subject}".rstrip(),
                flush=True,
            )
            if verdict != "rejected" or options.why:
                print(f"         {why.strip() or 'nothing is noticed'}", flush=True)
            progress.step(fault.name)

    def plant(copy: Copy, some: list[Mutant]) -> None:
        for each in some:
            if not over.is_set():
                report(*copy.trial(each), each.name, each)

    with (
        tempfile.TemporaryDirectory(prefix="mutants") as place,
        Progress("mutants", len(chosen) + len(others)) as progress,
        ThreadPoolExecutor() as beside,
    ):
        first, second = (Copy(Path(place).resolve() / name) for name in ("python", "kernels"))
        kernels = beside.submit(plant, second, [each for each in chosen if each.compiled])
        asked = list(dict.fromkeys((each.law, each.subject) for each in chosen))
        for trial, (verdict, why) in zip(asked, first.trials(asked, first.warm)):
            if verdict != "lives":
                print(
                    f"{' '.join(trial)} does not hold although nothing is planted: {why}",
                    flush=True,
                )
                over.set()
        if over.is_set():
            return 1
        print(
            f"{len(asked)} laws and tests hold while nothing is planted, after"
            f" {time.monotonic() - started:.0f} s",
            flush=True,
        )
        plant(first, [each for each in chosen if not each.compiled])
        for fault, verdict_on in zip(planted, first.trials(None, first.warm) if others else ()):
            if fault in others:
                report(*verdict_on, fault.what, fault)
        kernels.result()
    rejected = found.count("rejected")
    print(
        f"{len(found)} faults planted, {rejected} rejected, in {time.monotonic() - started:.0f} s"
    )
    if rejected < len(chosen) + len(others):
        return 1
    if not options.words:
        PAGE.write_text(page(every, planted))
    return 0


if __name__ == "__main__":
    sys.exit(main())
