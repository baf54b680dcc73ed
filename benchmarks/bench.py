"""Measure the package beside what it is compared with, in one run: ratios mean something, absolute times do not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from multi_freq_ldpy import BLH, GRR, OLH, OUE, SHE, SS, SUE, THE, parallel


def best(work: Callable[[], object], times: int = 5) -> float:
    """Return the least number of seconds that ``work`` took."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def imports() -> None:
    """Start interpreters in turn, so that all three kinds meet the same machine; bytecode is cached, as it is once installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    codes = ("pass", "import numpy", "import multi_freq_ldpy")
    starts = [partial(subprocess.run, [sys.executable, "-c", code], check=True, env=environment) for code in codes]
    rounds = [[best(start, 1) for start in starts] for _ in range(25)]
    nothing, numpy, ours = np.min(rounds, axis=0)
    print("Import time, best of 25, an empty interpreter subtracted")
    theirs, ours = 1000 * (numpy - nothing), 1000 * (ours - nothing)
    print(f"  numpy {theirs:.0f} ms, multi_freq_ldpy {ours:.0f} ms: ratio {ours / theirs:.2f}\n")


def batches() -> None:
    print("Nanoseconds a user, best of 5, one thread / all threads; copying an int64 vector in the same run for scale")
    values = np.arange(10**6)
    print(f"  copy {best(lambda: values.copy()) / values.size * 1e9:.1f}\n")
    print(f"{'':24}{'randomize':>18}{'tally':>18}")
    for cls in (GRR, BLH, OLH, SS, SUE, OUE, THE, SHE):
        for k in (5, 100, 1000):
            protocol = cls(k, 1.0)
            n = max(2000, 20_000_000 // (k * (1 if cls is not SHE else 30) + 50))
            held = np.arange(n) % k
            reports = protocol.randomize(held)
            protocol.tally(reports)
            cells = []
            for work in (partial(protocol.randomize, held), partial(protocol.tally, reports)):
                with parallel.using(1):
                    one = best(work)
                cells.append(f"{one / n * 1e9:.0f} / {best(work) / n * 1e9:.0f}")
            print(f"{protocol!r:24}{cells[0]:>18}{cells[1]:>18}", flush=True)


if __name__ == "__main__":
    imports()
    if "--imports" not in sys.argv:
        batches()
