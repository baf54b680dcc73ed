"""Measure the package and the packages that it is compared with, all in one run.

Ratios carry over to another machine, absolute times do not.

``python benchmarks/bench.py`` writes two pages of the documentation. ``--quick`` takes about a
minute and writes into build/. ``--render`` measures nothing, and writes the pages again from the
stored results.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import page
from javascript import javascript
from large_tables import tables
from measure import (
    Peers,
    Results,
    batch,
    breakdown,
    functions,
    histories,
    limits,
    simulation,
    tutorials,
)
from processes import first_report, first_use, scale
from rows import DOMAINS
from service import service

from multi_freq_ldpy.core import parallel

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="short form of about a minute: k = 100 only, short turns, no functions, no compiling",
    )
    parser.add_argument(
        "--render", action="store_true", help="write the pages again from the stored results"
    )
    parser.add_argument(
        "--output", type=Path, help="directory to write to (docs, or build with --quick or --only)"
    )
    parser.add_argument("--only", default="", help="parts to run, separated by commas")
    options = parser.parse_args()
    output = options.output or HERE.parent / ("build" if options.quick or options.only else "docs")
    seconds, times = (0.05, 2) if options.quick else (0.2, 3)
    kept = output / "benchmark.json"
    if options.render:
        if not kept.exists():
            parser.error(f"--render needs stored results, and {kept} does not exist")
        write(json.loads(kept.read_text()), output)
        return
    # Kernels are loaded at once, because the time until they are loaded is not measured
    os.environ["MULTI_FREQ_LDPY_COMPILE"] = "always"
    peers = Peers()
    parts: dict[str, Callable[[], Any]] = {
        "batch": lambda: batch(peers, (100,) if options.quick else DOMAINS, seconds, times),
        "limits": lambda: limits(times),
        "breakdown": lambda: breakdown((100,) if options.quick else DOMAINS, seconds / 4, times),
        "simulation": lambda: simulation(10**9, times),
        "histories": lambda: histories(10**5 if options.quick else 10**6, 64, times),
        "tutorials": lambda: tutorials(peers),
        "tables": lambda: tables(10**6, 2 * times),
        "first report": first_report,
        "javascript": lambda: javascript(times, 1e3 * seconds),
        "service": lambda: service(*((0.4, 1) if options.quick else (1.5, 3))),
        "scale": lambda: scale((10**6, 10**7) if options.quick else (10**6, 10**7, 10**8, 10**9)),
    }
    if not options.quick:
        parts["first use"] = first_use
        parts["functions"] = lambda: functions(peers, seconds / 10, 2 * times)
    wanted = [name.strip() for name in options.only.split(",")] if options.only else list(parts)
    if unknown := set(wanted) - set(parts):
        parser.error(
            f"--only must name parts among {', '.join(parts)}, not {', '.join(sorted(unknown))}"
        )
    results: Results = json.loads(kept.read_text()) if options.only and kept.exists() else {}
    results |= {"machine": machine(), "date": date.today().isoformat()}
    output.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        if (found := parts[name]()) is None:  # the programs to measure are missing
            continue
        results[name] = found
        # Results are stored after each part, because a later part may fail
        kept.write_text(json.dumps(results, indent=1) + "\n")
    peers.close()
    write(results, output)


def write(results: Results, output: Path) -> None:
    """Write the summary, the page with all rows and the picture."""
    summary, rows = page.summary(results), page.rows(results)
    (output / "benchmark.md").write_text(summary)
    (output / "benchmark_rows.md").write_text(rows)
    if "batch" in results:
        page.plot(results["batch"], output / "benchmark.svg")
    print(rows, summary, sep="\n")


def machine() -> Results:
    """Return the processor, the system and the versions of the measurement."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = {name: __import__(name).__version__ for name in ("numpy", "numba", "cryptography")}
    return {
        "cpu": cpu,
        "cores": parallel.count_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        **versions,
    }


if __name__ == "__main__":
    main()
