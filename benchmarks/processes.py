"""Measurements in separate processes: memory for many users, imports, and compilation."""

import json
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np
from progress import Progress
from rows import timed

Results = dict[str, Any]

SCALE = """
import sys, time
import numpy as np
from multi_freq_ldpy import GRR, OUE, Stream
protocol, n, batch = {protocol}, {n}, 2**20
values, stream = np.arange(batch) % 100, Stream()
protocol.tally(protocol.randomize(values))
def batches():
    for done in range(0, n, batch):
        yield protocol.randomize(values[: n - done], rng=stream)
        print(min(n, done + batch), file=sys.stderr, flush=True)
started = time.perf_counter()
tally = protocol.tally(batches())
assert tally.users == n
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - started, int(most.split()[1]) / 1024)
"""


def scale(sizes: tuple[int, ...]) -> list[Results]:
    """Randomize and tally with constant memory.

    Each size has a process of its own, which prints its seconds and its memory.
    """
    found = []
    for protocol, most in (("GRR(100, 1.0)", 10**9), ("OUE(100, 1.0)", 10**8)):
        for n in sizes:
            if n > most:
                continue
            code = SCALE.format(protocol=protocol, n=n)
            progress = Progress("scale", n)
            with subprocess.Popen(
                [sys.executable, "-c", code],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                assert process.stderr and process.stdout
                said = ""
                for said in process.stderr:
                    if said.strip().isdecimal():
                        progress.at(int(said), f"{protocol}, {n:.0e} users")
                if len(results := process.stdout.read().split()) != 2:
                    raise RuntimeError(f"{protocol} with {n} users ended: {said}")
                seconds, megabytes = map(float, results)
            found.append({"protocol": protocol, "n": n, "seconds": seconds, "megabytes": megabytes})
    return found


COMPILE = """
import json, time
import numpy as np
import multi_freq_ldpy as m
from numba.core import event

class Kernels(event.Listener):  # seconds per kernel, without the kernels that it calls
    def __init__(self):
        self.running, self.seconds = [], {{}}
    def on_start(self, event):
        self.running.append([time.perf_counter(), 0.0])
    def on_end(self, event):
        started, within = self.running.pop()
        took = time.perf_counter() - started
        if self.running:
            self.running[-1][1] += took
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("multi_freq_ldpy"):
            name = function.__module__.rpartition(".")[2] + "." + function.__name__
            self.seconds[name] = max(took - within, self.seconds.get(name, 0))

protocol, kernels = {make}, Kernels()
several = len(protocol.parts)
values = np.zeros(10, np.int64) if several == 1 else np.zeros((10, several), np.int64)
with event.install_listener("numba:compile", kernels):
    started = time.perf_counter()
    reports = protocol.randomize(values)
    randomized = time.perf_counter()
    protocol.tally(reports)
    print(json.dumps([randomized - started, time.perf_counter() - randomized, kernels.seconds]))
"""

COMPILED = {
    "GRR": "m.GRR(100, 1.0)",
    "OUE": "m.OUE(100, 1.0)",
    "OLH": "m.OLH(100, 1.0)",
    "SS": "m.SS(100, 1.0)",
    "SHE": "m.SHE(100, 1.0)",
    "L-GRR": "m.LGRR(100, 2.0, 1.0)",
    "L-OSUE": "m.LOSUE(100, 2.0, 1.0)",
    "L-OLH": "m.LOLH(100, 2.0, 1.0)",
    "dBitFlipPM": "m.DBitFlipPM(100, 2.0, b=50, d_bits=10)",
    "SMP[GRR]": "m.SMP(m.GRR, [100] * 3, 1.0)",
    "RS+FD[OUE]": "m.RSFD(m.OUE, [100] * 3, 1.0)",
}


REPORT = """
import sys
from multi_freq_ldpy import *
{make}
assert "numba" not in sys.modules
"""

FIRST = {
    **{
        name: f"{name}(100, 1.0).randomize(3)"
        for name in ["GRR", "BLH", "OLH", "SS", "SUE", "OUE", "THE", "SHE"]
    },
    **{
        name: f"Client({name}(100, 4.0, 2.0)).report(3)"
        for name in ["LGRR", "LSUE", "LSOUE", "LOUE", "LOSUE", "LBLH", "LOLH"]
    },
    "DBitFlipPM": "Client(DBitFlipPM(100, 2.0, d_bits=4)).report(3)",
    **{name: f"{name}(OUE, [100] * 3, 1.0).randomize([3] * 3)" for name in ("SPL", "SMP", "RSFD")},
    "1000 of OUE": "OUE(100, 1.0).randomize([3] * 1000)",
}
"""The work of a device: imports, a protocol, one report."""


def first_report() -> Results:
    """Time processes that make one report, with an empty cache of kernels, and ``import numpy``.

    The result has medians of nine rounds. The time of an empty process is subtracted.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "MULTI_FREQ_LDPY_COMPILE")
    }
    codes = {"nothing": "pass", "numpy": "import numpy"} | {
        name: REPORT.format(make=make).replace("import *", "import " + _names_in(make))
        for name, make in FIRST.items()
    }
    rounds, progress = [], Progress("first report", 9)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(9):
            progress.at(i, "")
            rounds.append(
                [
                    timed(
                        partial(
                            subprocess.run,
                            [sys.executable, "-c", code],
                            check=True,
                            env=environment | {"NUMBA_CACHE_DIR": folder},
                        )
                    )
                    for code in codes.values()
                ]
            )
        assert not os.listdir(folder), "something was compiled"
    progress.at(9)
    nothing, *seconds = np.median(rounds, axis=0)
    return dict(zip(list(codes)[1:], (each - nothing for each in seconds), strict=True))


def _names_in(code: str) -> str:
    """Return the names that a line of code needs from the package."""
    return ", ".join(dict.fromkeys(re.findall(r"\b[A-Z]\w+", code)))


def first_use() -> Results:
    """Time imports, and the first use of each protocol with an empty cache.

    The second process reads the kernels from the cache. If several protocols compile a kernel, the
    longest time counts.
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    codes = ("pass", "import numpy", "import multi_freq_ldpy")
    starts = [
        partial(subprocess.run, [sys.executable, "-c", code], check=True, env=environment)
        for code in codes
    ]
    rounds = [[timed(start) for start in starts] for _ in range(25)]
    nothing, numpy, ours = np.min(rounds, axis=0)
    found: list[Results] = []
    kernels: dict[str, float] = {}
    progress = Progress("first use", len(COMPILED))
    for i, (name, make) in enumerate(COMPILED.items()):
        progress.at(i, name)
        with tempfile.TemporaryDirectory() as folder:
            cell: Results = {"protocol": name}
            for time_of in ("first", "second"):
                command = [sys.executable, "-c", COMPILE.format(make=make)]
                ran = subprocess.run(
                    command,
                    check=True,
                    env=environment
                    | {"NUMBA_CACHE_DIR": folder, "MULTI_FREQ_LDPY_COMPILE": "always"},
                    capture_output=True,
                    text=True,
                )
                *cell[time_of], compiled = json.loads(ran.stdout)
                if time_of == "first":
                    kernels |= {
                        kernel: max(took, kernels.get(kernel, 0.0))
                        for kernel, took in compiled.items()
                    }
            found.append(cell)
    progress.at(len(COMPILED))
    return {
        "numpy": numpy - nothing,
        "package": ours - nothing,
        "compiled": found,
        "kernels": kernels,
    }
