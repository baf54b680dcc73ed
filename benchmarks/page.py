"""Two pages of Markdown and a picture, made from the measurements.

``summary`` returns docs/benchmark.md, and ``rows`` returns docs/benchmark_rows.md.
"""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
PAPER, PURE = "multi-freq-ldpy", "pure-ldp"
ROWS = "benchmark_rows.md"
NAMES = {"numpy": "`import numpy` alone", "1000 of OUE": "OUE (1000 reports)"}
"""Names on the page for two rows of the part "first report"."""


def number(value: float | None, digits: int = 2) -> str:
    """Write a number with the digits that matter."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, digits - 1 - (value >= 10))}f}" if value >= 1 else f"{value:.2g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """Return a table in Markdown; columns from ``right`` on are aligned to the right."""
    ruler = ["---" if i < right else "---:" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ruler, *rows]) + "\n"


def wrap(*sentences: str, bullet: str = "") -> str:
    """Return a paragraph or a list item in lines of at most 100 characters."""
    text = (bullet + " ".join(sentences)).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    lines = textwrap.fill(
        text,
        100,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def ratio(row: Results, other: str, ours: str) -> float | None:
    return row[other] / row[ours] if other in row else None


def place(row: Results) -> str:
    return f"{row['protocol']}, k = {row['k']}"


def spread(values: Iterable[float]) -> str:
    """Write the least and the largest number."""
    found = sorted(values)
    return f"{number(found[0])} to {number(found[-1])}"


def told(results: Results) -> list[str]:
    """Return two sentences: the packages that were measured, and the machine."""
    machine = results["machine"]
    return [
        f"`make bench` measured this package, multi-freq-ldpy 0.2.5 and pure-ldp 1.2.0 on"
        f" {results['date']}.",
        f"The machine has {machine['cores']} threads ({machine['cpu']}), and runs"
        f" {machine['system']}, Python {machine['python']}, NumPy {machine['numpy']} and numba"
        f" {machine['numba']}.",
    ]


def summary(results: Results) -> str:
    """Return the page with the few ratios and limits that matter, for one screen."""
    writers = (
        ("batch", _short_batch),
        ("functions", _short_functions),
        ("tutorials", _short_tutorials),
        ("batch", _short_unary),
        ("simulation", _short_simulation),
        ("scale", _short_scale),
        ("first report", _short_report),
        ("javascript", _short_javascript),
        ("service", _short_service),
    )
    lines = [line for name, write in writers if name in results for line in write(results[name])]
    return "\n".join(
        [
            "# Benchmark\n",
            wrap(
                *told(results),
                "A ÷ B is the time of A divided by the time of B.",
                "Times depend on the machine, so compare the ratios.",
            )
            + "\n",
            table(["measurement", "result", "details"], lines, right=3),
            wrap(
                "`make bench` repeats the measurements and writes two pages: this one and [all"
                f" rows]({ROWS}).",
                "`make bench QUICK=1` takes about a minute and writes into `build/`.",
                "The page about [speed](speed.md) explains the time of each step.",
            )
            + "\n",
        ]
    )


def _short_batch(rows: list[Results]) -> Iterable[list[str]]:
    both = [row for row in rows if row["task"] == "both"]
    for what, other, ours in (
        ("all threads: 0.2.5 ÷ this package", PAPER, "all"),
        ("one thread: 0.2.5 ÷ this package", PAPER, "one"),
        ("all threads: pure-ldp ÷ this package", PURE, "all"),
    ):
        found = [(row[other] / row[ours], place(row)) for row in both if other in row]
        if found:
            (least, at), (most, _) = min(found), max(found)
            yield [
                f"Batches, {what}",
                f"{number(least)} ({at}) to {number(most)}",
                f"[batches]({ROWS}#batches)",
            ]


def _short_functions(rows: list[Results]) -> Iterable[list[str]]:
    if found := [row[PAPER] / row["ours"] for row in rows if PAPER in row]:
        yield [
            "Functions of the paper: 0.2.5 ÷ this package",
            spread(found),
            f"[functions]({ROWS}#functions-of-the-paper)",
        ]


def _short_tutorials(rows: list[Results]) -> Iterable[list[str]]:
    if found := [row[PAPER] / row["ours"] for row in rows if PAPER in row]:
        yield [
            "Comparisons of protocols: 0.2.5 ÷ `compare`",
            spread(found),
            f"[comparisons]({ROWS}#comparisons-of-protocols)",
        ]


def _short_unary(rows: list[Results]) -> Iterable[list[str]]:
    most = _largest_unary(rows, 100)
    yield [
        "Unary reports ÷ random bytes by OpenSSL",
        f"{number(most['one'] / most['limit'])} or less for k ≥ 100, one thread",
        f"[limits]({ROWS}#ratios-and-limits)",
    ]


def _short_simulation(rows: list[Results]) -> Iterable[list[str]]:
    found = [1e3 * row["simulated"] for row in rows if "users" not in row]
    yield [
        "`simulate` for 10⁹ users, k = 1000",
        f"{spread(found)} ms",
        f"[simulation]({ROWS}#simulation)",
    ]


def _short_scale(rows: list[Results]) -> Iterable[list[str]]:
    most = max(rows, key=lambda row: row["n"])
    yield [
        f"Memory for {most['n']:,} users of {most['protocol'].partition('(')[0]}",
        f"{number(most['megabytes'])} MB",
        f"[scale]({ROWS}#scale)",
    ]


def _short_report(found: Results) -> Iterable[list[str]]:
    yield [
        "First report of a process ÷ `import numpy`",
        spread(took / found["numpy"] for name, took in found.items() if name != "numpy"),
        f"[first report]({ROWS}#first-report)",
    ]


def _short_javascript(found: Results) -> Iterable[list[str]]:
    for engine, times in found.items():
        reports = [
            took
            for name, took in times.items()
            if name.startswith(("GRR", "SS", "O")) and not name.endswith("import")
        ]
        yield [
            f"One report of the JavaScript client in {engine}",
            f"{spread(reports)} ms",
            f"[JavaScript]({ROWS}#javascript)",
        ]


def _short_service(databases: list[Results]) -> Iterable[list[str]]:
    """Yield the figures of the service that say most, for each database."""
    wanted = {
        "cpu": "one commit per report ÷ the service, CPU per report",
        "rate": "requests/s, 256 connections, as a share of a bare server's",
        "batches": "reports/s in batches ÷ requests/s of a bare server",
        "wait": "median time of an answer, 64 connections ÷ 1 connection",
    }
    for found in databases:
        ratios = {name: value for name, _, value, _ in _service_ratios(found)}
        for name, what in wanted.items():
            yield [
                f"Service on {found['database']}: {what}",
                number(ratios[name]),
                f"[service]({ROWS}#service)",
            ]


def rows(results: Results) -> str:
    """Return the page with all tables."""
    parts = [
        "# Benchmark: all rows\n",
        wrap(
            *told(results),
            f"OpenSSL is that of cryptography {results['machine']['cryptography']}.",
            "A [summary](benchmark.md) has the most important ratios.",
            "The page about [speed](speed.md) explains the time of each step.",
        )
        + "\n",
        wrap(
            "All packages in a row were measured in turns.",
            "Each time is the best of several turns, except where a section says otherwise.",
            "Times depend on the machine, so compare the ratios.",
            "The other packages are called once per user and with one thread, because their"
            " interface takes one user per call.",
            "This package takes arrays of users.",
        )
        + "\n",
    ]
    writers = (
        ("batch", _batch),
        ("breakdown", _breakdown),
        ("functions", _functions),
        ("simulation", _simulation),
        ("histories", _histories),
        ("tutorials", _tutorials),
        ("tables", _tables),
        ("scale", _scale),
        ("first use", _first_use),
        ("first report", _first_report),
        ("javascript", _javascript),
        ("service", _service),
    )
    if "batch" in results or "limits" in results:
        parts.append(_limits(results))
    parts += [write(results[name]) for name, write in writers if name in results]
    return "\n".join(parts)


def _limits(results: Results) -> str:
    """Return the least ratios, and times beside the limits of the machine."""
    lines: list[list[str]] = []
    if "batch" in results:
        lines += _extremes(results["batch"])
    if "limits" in results:
        lines += _floors(results["limits"])
    text = wrap(
        "A ÷ B is the time of A divided by the time of B.",
        "“Random bytes by OpenSSL” is the time that OpenSSL takes to make the random bytes of the"
        " reports.",
        "The last column names the protocol and the domain size of the result.",
    )
    return f"## Ratios and limits\n\n{text}\n\n" + table(
        ["measurement", "result", "row"], lines, right=3
    )


def _largest_unary(rows: list[Results], at_least: int) -> Results:
    """Return the row of unary reports that is farthest from the limit of OpenSSL."""
    return max(
        (
            row
            for row in rows
            if row["task"] == "randomize"
            and row["protocol"] in ("SUE", "OUE")
            and row["k"] >= at_least
        ),
        key=lambda row: row["one"] / row["limit"],
    )


def _extremes(rows: list[Results]) -> list[list[str]]:
    both = [row for row in rows if row["task"] == "both" and PAPER in row]
    counted = [
        row for row in rows if row["task"] == "aggregate" and PAPER in row and row["k"] >= 100
    ]
    unary = [
        row for row in rows if row["task"] == "randomize" and row["protocol"] in ("SUE", "OUE")
    ]
    lines: list[list[str]] = []

    def smallest(what: str, chosen: list[Results], ours: str) -> None:
        if chosen:
            least = min(chosen, key=lambda row: row[PAPER] / row[ours])
            lines.append([what, f"{number(least[PAPER] / least[ours])} or more", place(least)])

    smallest("Batches (randomize, tally, estimate), all threads: 0.2.5 ÷ this package", both, "all")
    smallest("Batches, one thread: 0.2.5 ÷ this package", both, "one")
    for name in ("OLH", "SS"):
        smallest(
            f"Aggregation of {name}, k ≥ 100, all threads: 0.2.5 ÷ this package",
            [row for row in counted if row["protocol"] == name],
            "all",
        )
    for at_least in (5, 100):
        most = _largest_unary(rows, at_least)
        lines.append(
            [
                f"Unary reports, k ≥ {at_least}: one thread ÷ random bytes by OpenSSL",
                f"{number(most['one'] / most['limit'])} or less",
                place(most),
            ]
        )
    wide = [8 * row["bytes"] / row["bits"] for row in unary if row["k"] >= 100]
    lines.append(
        [
            "Random bits per bit of a unary report, k ≥ 100",
            f"{number(max(wide), 3)} or fewer",
            "",
        ]
    )
    shares = []
    for name in ("SUE", "OUE", "SS"):
        for k in {row["k"] for row in rows}:
            drawn, counts = (
                next(
                    row
                    for row in rows
                    if (row["protocol"], row["k"], row["task"]) == (name, k, task)
                )
                for task in ("randomize", "aggregate")
            )
            shares.append((counts["one"] / drawn["one"], name, k))
    share, name, k = max(shares)
    lines.append(
        [
            "Packed bits, one thread: counting ÷ drawing",
            f"{number(share)} or less",
            f"{name}, k = {k}",
        ]
    )
    return lines


def _speed(found: Results) -> str:
    return f"{100 * found['chacha']['openssl'] / found['chacha']['ours']:.0f} %"


def _floors(found: Results) -> list[list[str]]:
    grr = found["grr"]
    lines = [["ChaCha20, one thread: speed as a share of OpenSSL's speed", _speed(found), ""]]
    threads = {"one": "one thread", "all": "all threads"}
    lines += [
        [
            f"10⁷ values, {threads[each]}: `randomize` ÷ copying the values",
            number(grr[each] / grr["copy"]),
            "GRR, k = 100",
        ]
        for each in threads
    ]
    for k, cell in found["hashing"].items():
        tallies = {each: f"`tally`, {threads[each]}" for each in threads}
        lines += [
            [
                f"{what} ÷ one NumPy comparison (int64) per report and value",
                number(cell[each] / cell["numpy"]),
                f"OLH, k = {k}",
            ]
            for each, what in {"kernel": "Counting kernel", **tallies}.items()
        ]
    lines += [
        [
            "`count` of 1000 checked reports: time beyond the kernel",
            f"{number(1e6 * (cell['count'] - cell['kernel']))} µs",
            f"{name}, k = 100",
        ]
        for name, cell in found.get("count", {}).items()
    ]
    return lines


def _batch(rows: list[Results]) -> str:
    ours = [
        [
            row["protocol"],
            str(row["k"]),
            row["task"],
            number(row["one"]),
            number(row["all"]),
            number(row["limit"]),
            number(row["one"] / row["limit"]),
        ]
        for row in rows
    ]
    about = wrap(
        "All times are nanoseconds per user.",
        "*aggregate* is the time of `tally` and `estimate`; *both* is the sum of *randomize* and"
        " *aggregate*.",
        "The budget is ε = 1.",
        "Protocols over time have eps_perm = 2, and eps_1 = 1 if they have a second round.",
        "Solutions have d = 3 attributes.",
        "dBitFlipPM has b = k buckets and k/5 bits.",
    )
    picture = wrap(
        "The picture shows *both*.",
        "A number beside the markers is the time of version 0.2.5 divided by the time of this"
        " package with all threads.",
    )
    limit = wrap(
        "The limit of *randomize* is the time that OpenSSL takes to make the random bytes that the"
        " reports consume.",
        "For GRR it is the time to copy the values.",
        "The limit of *aggregate* is the time to read the reports once.",
        "*÷ limit* is the time with one thread divided by the limit.",
    )
    head = ["protocol", "k", "task"]
    return "\n".join(
        [
            "## Batches\n",
            f"{about}\n",
            f"{picture}\n",
            "![nanoseconds per user of all packages and of the limit](benchmark.svg)\n",
            "### This package and the limit of the machine\n",
            f"{limit}\n",
            table([*head, "1 thread", "all threads", "limit", "÷ limit"], ours),
            *[
                _other(rows, other, release)
                for other, release in ((PAPER, "0.2.5"), (PURE, "1.2.0"))
                if any(other in row for row in rows)
            ],
        ]
    )


def _other(rows: list[Results], other: str, release: str) -> str:
    """Return the times of another package beside those of this package."""
    lines = [
        [
            row["protocol"],
            str(row["k"]),
            row["task"],
            number(row[other]),
            number(ratio(row, other, "one")),
            number(ratio(row, other, "all")),
        ]
        for row in rows
        if other in row
    ]
    text = wrap(
        f"*ns* is the time of {other} {release}.",
        "The last two columns divide it by the time of this package, with one thread and with all"
        " threads.",
    )
    return f"### {other} {release}\n\n{text}\n\n" + table(
        ["protocol", "k", "task", "ns", "÷ 1 thread", "÷ all threads"], lines
    )


def _breakdown(rows: list[Results]) -> str:
    lines = []
    for row in rows:
        rest = max(0.0, row["randomize"] - row["inputs"] - row["bytes"])
        times = [number(each) for each in (row["randomize"], row["inputs"], row["bytes"], rest)]
        lines.append([row["protocol"], str(row["k"]), number(row["consumed"]), *times])
    text = wrap(
        "Times are nanoseconds per user with one thread.",
        "*random bytes* is the number of random bytes per user.",
        "*inputs* is the time to check and copy the inputs.",
        "*bytes made* is the time in which the package's own ChaCha20 makes the random bytes.",
        "*rest* is the remaining time, in which the random bytes become reports.",
    )
    return f"## Time of randomize by step\n\n{text}\n\n" + table(
        ["protocol", "k", "random bytes", "total", "inputs", "bytes made", "rest"], lines
    )


def _functions(rows: list[Results]) -> str:
    compared = [row for row in rows if PAPER in row]
    slow = [row for row in compared if row["ours"] > row[PAPER]]
    lines = []
    for row in rows:
        name = f"{row['stem']}_{row['task']}" + ("" if row["optimal"] else ", optimal=False")
        lines.append(
            [
                name,
                str(row["k"]),
                number(row["ours"], 3),
                number(row.get(PAPER), 3),
                number(ratio(row, PAPER, "ours")),
            ]
        )
    said = [f"{len(compared)} of {len(rows)} rows have a time of version 0.2.5."]
    if len(compared) < len(rows):
        said.append("Version 0.2.5 could not run the functions of the remaining rows.")
    said.append(
        f"This package is slower in {len(slow)} rows: "
        + ", ".join(f"{row['stem']}_{row['task']} at k = {row['k']}" for row in slow)
        + "."
        if slow
        else f"This package is slower in none of the {len(compared)} rows."
    )
    text = wrap(
        "Times of clients are microseconds per call.",
        "Times of aggregators are microseconds per report.",
        "IBU, the iterative Bayesian update, makes ten iterations.",
        "Reports are in lists, as in the listings of the paper.",
        *said,
    )
    return f"## Functions of the paper\n\n{text}\n\n" + table(
        ["function", "k", "this package", "0.2.5", "ratio"], lines
    )


def _simulation(rows: list[Results]) -> str:
    lines = [
        [
            row["protocol"],
            f"{row.get('users', 10**9):,}",
            number(1e3 * row["simulated"]),
            f"{row.get('users', 10**5):,}",
            number(1e3 * row["batch"]),
        ]
        for row in rows
    ]
    text = wrap(
        "Times are milliseconds for k = 1000, and include the estimate.",
        "`simulate` draws the tally from its distribution.",
        "For SS and OLH it draws reports and counts them, without keeping them.",
        "For comparison, the last column is the time of `randomize` and `tally` for a batch.",
    )
    head = ["protocol", "users simulated", "`simulate`, ms", "users in the batch", "batch, ms"]
    return f"## Simulation\n\n{text}\n\n" + table(head, lines)


def _histories(found: Results) -> str:
    each = found["seconds"] / found["reports"]
    asked = found["seconds"] / found["users"] / found["rounds"]
    lines = [
        ["Steps in a panel, per report", f"{number(1e9 * each)} ns"],
        ["Steps in a panel, per user and round", f"{number(1e9 * asked)} ns"],
        ["L-OSUE in a panel, per report", f"{number(1e9 * found['chain'])} ns"],
        ["Steps divided by L-OSUE, per report (limit 3)", number(each / found["chain"])],
        [f"memory after {found['rounds'] // 8 + 1} rounds", f"{number(found['early'])} MB"],
        [f"memory after {found['rounds']} rounds", f"{number(found['late'])} MB"],
        ["solver, 65,536 rounds (limit 1 s)", f"{number(1e3 * found['solver'])} ms"],
        ["simulation of 10⁹ users, k = 2", f"{number(1e3 * found['simulated'])} ms"],
        ["blocks and shares of Steps, 1,024 rounds", f"{number(1e3 * found['blocks'])} ms"],
    ]
    text = wrap(
        f"A panel of {found['users']:,} users reports over {found['rounds']} rounds, k = 10.",
        "Three changes are allowed, and users change about three times.",
        "In each round a third of the users report.",
        "*Memory* is the largest amount that the process used so far.",
    )
    return f"## Whole histories\n\n{text}\n\n" + table(["measured", "result"], lines)


def _tutorials(rows: list[Results]) -> str:
    lines = []
    for row in rows:
        theirs = number(row[PAPER] / 60) if PAPER in row else ""
        lines.append(
            [
                row["name"],
                str(row["protocols"]),
                number(row["ours"]),
                theirs,
                number(ratio(row, PAPER, "ours")),
            ]
        )
    text = wrap(
        "The comparisons are those of the paper's tutorials.",
        'They have ten budgets, thirty repetitions and the estimator "norm", for'
        f" {rows[0]['users']:,} users with {rows[0]['k']} values.",
        "`compare` ran once, and made the whole comparison.",
        "Version 0.2.5 was timed at one budget only.",
        "Its total time is computed from its time per user: multiplied by the number of users,"
        " budgets and repetitions.",
    )
    return f"## Comparisons of protocols\n\n{text}\n\n" + table(
        ["tutorial", "protocols", "`compare`, seconds", "0.2.5, minutes", "ratio"], lines
    )


def _scale(rows: list[Results]) -> str:
    lines = [
        [
            row["protocol"],
            f"{row['n']:,}",
            number(row["seconds"]),
            number(row["seconds"] / row["n"] * 1e9),
            number(row["megabytes"]),
        ]
        for row in rows
    ]
    text = wrap(
        "Users are randomized and tallied in batches of 2²⁰, with all threads.",
        "Each row ran once, in a process of its own.",
        "*MB* is the largest amount of memory that the process used.",
    )
    return f"## Scale\n\n{text}\n\n" + table(
        ["protocol", "users", "seconds", "ns per user", "MB"], lines
    )


def _tables(found: Results) -> str:
    seconds, limits = found["seconds"], {"pandas, objects": "8", "tally of Arrow": "1.3"}
    lines = []
    for name, took in seconds.items():
        base = "tally of an array" if name.startswith("tally") else "array"
        limit = "" if name == base else limits.get(name, "3")
        lines.append([name, number(1e3 * took), number(took / seconds[base]), limit])
    files = [
        [
            row["protocol"],
            number(1e3 * row["read"]),
            number(1e3 * row["tally"]),
            number(row["read"] / row["tally"]),
        ]
        for row in found["parquet"]
    ]
    surveys = wrap(
        f"The tables have {found['rows']:,} rows with nine attributes.",
        "`Survey.randomize` of a table is compared with `solution.randomize` of an array of"
        " numbers.",
        "`Survey.tally` is compared with `solution.tally`.",
        "*ratio* is the time divided by the time for the array; *limit* is the ratio that should"
        " not be exceeded.",
    )
    parquet = wrap(
        "The second table is about a Parquet file of reports about one attribute with k = 100.",
        "*read* is the time to read the file, and *tally* the time to read and count it.",
        "*share* is the time to read divided by the time to read and count.",
        "It should be at least 0.5.",
    )
    return (
        f"## Tables\n\n{surveys}\n\n"
        + table(["input", "ms", "ratio", "limit"], lines)
        + f"\n{parquet}\n\n"
        + table(["protocol", "read, ms", "tally, ms", "share"], files)
    )


def _first_use(found: Results) -> str:
    lines = [
        [
            row["protocol"],
            *[number(each) for each in row["first"]],
            *[number(each) for each in row["second"]],
        ]
        for row in found["compiled"]
    ]
    head = ["protocol", "first randomize", "first tally", "again, randomize", "again, tally"]
    longest = sorted(found["kernels"].items(), key=lambda each: -each[1])
    imports = wrap(
        f"Importing NumPy takes {1e3 * found['numpy']:.0f} ms.",
        f"Importing this package, which imports NumPy, takes {1e3 * found['package']:.0f} ms.",
        "Kernels are compiled when they are first used on a machine.",
        "The table has the seconds of the first use, with an empty cache.",
        "It also has the seconds of the next process, which loads the compiled kernels (*again*).",
        "Each compilation ran once.",
    )
    kernels = wrap(
        "Each protocol uses several kernels, and protocols share kernels.",
        f"The protocols of the table need {len(found['kernels'])} kernels in all.",
        "The time of a kernel excludes the kernels that it calls.",
        "The longest compilations are:",
        f"{', '.join(f'{name} {number(took)} s' for name, took in longest[:6])}.",
    )
    return f"## First use\n\n{imports}\n\n" + table(head, lines) + f"\n{kernels}\n"


def _first_report(found: Results) -> str:
    """Return the cost of one report in a new process."""
    numpy = found["numpy"]
    limit = 1.3 * numpy + 0.05
    lines = [
        [NAMES.get(name, name), number(1e3 * took), number(took / numpy), number(1e3 * limit)]
        for name, took in found.items()
    ]
    text = wrap(
        "A new process imports the package, makes a protocol and makes one report.",
        "Its cache of kernels is empty, and it does not load numba.",
        "Times are milliseconds, without the time of an empty process; each is the median of"
        " several turns.",
        "The time should not exceed the limit: 1.3 times the time of `import numpy`, plus 50 ms.",
    )
    return f"## First report\n\n{text}\n\n" + table(
        ["one report of", "ms", "÷ `import numpy`", "limit, ms"], lines
    )


def _javascript(found: Results) -> str:
    """Return the times of the JavaScript client, with one column per engine."""
    names = next(iter(found.values()))
    limits = {name: "20" if name.startswith("THE") else "0.1" for name in names}
    limits |= {name: "" for name in names if name.startswith("RS+FD") or name.endswith("import")}
    lines = [
        [name, *(number(times[name]) for times in found.values()), limits[name]] for name in names
    ]
    text = wrap(
        "Times are milliseconds per report, with the random bytes of the platform.",
        "A report that is made again takes a permanent answer from the secret of a device, without"
        " storage.",
        "The row *probabilities* derives the protocol from its fields.",
        "The last row is the first report of a page or a process, with the import of the one file"
        " `ldp.mjs`.",
        "The time should not exceed the limit.",
    )
    return f"## JavaScript\n\n{text}\n\n" + table(["report of", *found, "limit"], lines)


def _service_ratios(found: Results) -> list[tuple[str, str, float, tuple[str, float]]]:
    """Return names, descriptions, values and limits of the ratios of the service."""
    cells = {(row["server"], row["connections"]): row for row in found["rows"]}
    batches = found["batches"]

    def of(field: str, server: str, connections: int) -> float:
        return float(cells[server, connections][field])

    ours, alone, bare = "service", "one commit per report", "bare server"
    rate = of("rate", bare, 256)
    return [
        (
            "cpu",
            "CPU per report, 64 connections: one commit per report ÷ the service",
            of("cpu", alone, 64) / of("cpu", ours, 64),
            ("≥", 8),
        ),
        (
            "rate",
            "Requests/s, 256 connections: the service ÷ the bare server",
            of("rate", ours, 256) / rate,
            ("≥", 0.4),
        ),
        (
            "batches",
            "Reports/s in batches ÷ requests/s of the bare server, 256 connections",
            batches["reports"] / rate,
            ("≥", 5),
        ),
        (
            "inserts",
            "Reports/s in batches ÷ ids/s of inserts",
            batches["reports"] / batches["insert"],
            ("≥", 0.7),
        ),
        (
            "idle",
            "p50, 1 connection: the service ÷ one commit per report",
            of("p50", ours, 1) / of("p50", alone, 1),
            ("≤", 1.2),
        ),
        (
            "wait",
            "p50 of the service: 64 connections ÷ 1 connection",
            of("p50", ours, 64) / of("p50", ours, 1),
            ("≤", 10),
        ),
        (
            "slow",
            "p99, 64 connections: the service ÷ one commit per report",
            of("p99", ours, 64) / of("p99", alone, 64),
            ("≤", 0.25),
        ),
        (
            "slowest",
            "p99, 64 connections: the service ÷ the bare server",
            of("p99", ours, 64) / of("p99", bare, 64),
            ("≤", 8),
        ),
    ]


def _service(databases: list[Results]) -> str:
    """Return the service beside its parts, and the ratios with their limits."""
    text = wrap(
        "A process sends reports (OUE, k = 100) to a server on the same machine.",
        "Each connection sends its next request as soon as it has an answer.",
        "*Service* commits all reports that wait together.",
        "*One commit per report* is the same service with groups of one.",
        "*Bare server* reads the same requests and answers them at once.",
        "*CPU* is the processor time of the server per report, in its own code and in the kernel;"
        " a database server is not included.",
        "*p50* and *p99* are quantiles of the time of an answer.",
    )
    parts = [f"## Service\n\n{text}\n"]
    for found in databases:
        batches = found["batches"]
        lines = [
            [
                row["server"],
                str(row["connections"]),
                number(row["rate"]),
                number(1e6 * row["cpu"]),
                number(1e3 * row["p50"]),
                number(1e3 * row["p99"]),
            ]
            for row in found["rows"]
        ]
        ways = wrap(
            f"Batches have {found['size']:,} reports, and {found['senders']} connections send"
            " them.",
            "*Inserts* add as many sorted ids in each transaction, without a server.",
            "*Inserts that learn* also ask which ids are new, as the service must.",
            "Their tables are as large as that of the service.",
        )
        rates = [
            ["service", number(batches["reports"]), number(1e6 * batches["cpu"])],
            ["inserts", number(batches["insert"]), ""],
            ["inserts that learn", number(batches["learn"]), ""],
        ]
        ratios = [
            [what, number(value), f"{sign} {number(limit)}"]
            for _, what, value, (sign, limit) in _service_ratios(found)
        ]
        parts += [
            f"### {found['database']}\n",
            table(["server", "connections", "requests/s", "CPU, µs", "p50, ms", "p99, ms"], lines),
            f"{ways}\n",
            table(["batches", "reports/s", "CPU, µs"], rates),
            table(["ratio", "result", "limit"], ratios),
        ]
    return "\n".join(parts)


def plot(rows: list[Results], path: Path) -> None:
    """Draw the nanoseconds per user of all protocols, with one panel per domain size."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "benchmark"
    from matplotlib import pyplot as plt

    both = [row for row in rows if row["task"] == "both"]
    domains = sorted({row["k"] for row in both})
    names = list(dict.fromkeys(row["protocol"] for row in both))
    figure, panels = plt.subplots(
        1,
        len(domains),
        figsize=(1 + 3.6 * len(domains), 5.6),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    series = (  # colours of Okabe and Ito
        ("limit", "limit of this machine", "#999999", "|"),
        ("all", "this package, all threads", "#0072B2", "o"),
        ("one", "this package, one thread", "#56B4E9", "o"),
        (PAPER, "multi-freq-ldpy 0.2.5", "#D55E00", "s"),
        (PURE, "pure-ldp 1.2.0", "#E69F00", "D"),
    )
    for panel, k in zip(panels[0], domains, strict=True):
        cells = {row["protocol"]: row for row in both if row["k"] == k}
        for key, label, colour, marker in series:
            at = [i for i, name in enumerate(names) if key in cells[name]]
            panel.plot(
                [cells[names[i]][key] for i in at],
                at,
                marker,
                color=colour,
                label=label,
                markersize=9 if marker == "|" else 5,
                mew=2 if marker == "|" else 0,
            )
        for i, name in enumerate(names):
            if PAPER in cells[name]:
                panel.plot(
                    [cells[name]["all"], cells[name][PAPER]], [i, i], color="#dddddd", zorder=0
                )
                right = max(cells[name][PAPER], cells[name].get(PURE, 0.0))
                times = f"{cells[name][PAPER] / cells[name]['all']:,.0f}×"
                panel.annotate(times, (right, i), (7, -3), textcoords="offset points", fontsize=7)
        panel.set_title(f"k = {k}", fontsize=10)
        panel.set_xscale("log")
        panel.set_xlabel("ns per user")
        panel.grid(axis="x", color="#eeeeee")
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="y", length=0)
    panels[0][0].set_yticks(range(len(names)), names, fontsize=8)
    panels[0][0].invert_yaxis()
    panels[0][0].set_xlim(right=6e6)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=5, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
