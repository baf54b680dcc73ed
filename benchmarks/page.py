"""What was measured, as a page of Markdown and a picture."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
PAPER, PURE = "multi-freq-ldpy", "pure-ldp"


def number(value: float | None, digits: int = 2) -> str:
    """Write a number with as many digits as matter."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, digits - 1 - (value >= 10))}f}" if value >= 1 else f"{value:.2g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def ratio(row: Results, other: str, ours: str) -> float | None:
    return row[other] / row[ours] if other in row else None


def markdown(results: Results) -> str:
    machine = results["machine"]
    parts = [
        "# Benchmark\n",
        (
            f"What `make bench` measured on {results['date']}: {machine['cpu']}, {machine['cores']}"
            f" threads, {machine['system']}, Python {machine['python']}, NumPy {machine['numpy']},"
            f" numba {machine['numba']}, OpenSSL through cryptography {machine['cryptography']}."
            " Contenders in one line of a table took turns, each has its best of several, except"
            " under Scale and First use, which ran once; only ratios mean something on another"
            " machine. The other packages are called once a user, because that is the interface"
            " they have, and with one thread; ours has arrays of users. [What the time is spent"
            " on](speed.md) is explained on a page of its own.\n"
        ),
    ]
    writers = (
        ("batch", _goals),
        ("limits", _limits),
        ("batch", _batch),
        ("breakdown", _breakdown),
        ("functions", _functions),
        ("simulation", _simulation),
        ("tutorials", _tutorials),
        ("tables", _tables),
        ("scale", _scale),
        ("first use", _first_use),
        ("first report", _first_report),
    )
    parts += [write(results[name]) for name, write in writers if name in results]
    return "\n".join(parts)


def _goals(rows: list[Results]) -> str:
    """Say where the ratios are smallest."""
    both = [row for row in rows if row["task"] == "both" and PAPER in row]
    counted = [
        row for row in rows if row["task"] == "aggregate" and PAPER in row and row["k"] >= 100
    ]
    unary = [
        row for row in rows if row["task"] == "randomize" and row["protocol"] in ("SUE", "OUE")
    ]
    lines = ["## In short\n", "![nanoseconds a user](benchmark.svg)\n"]
    lines.append(
        "Beside the markers: how many times as long 0.2.5 takes as this package with all threads.\n"
    )

    def smallest(what: str, chosen: list[Results], ours: str) -> None:
        if chosen:
            least = min(chosen, key=lambda row: row[PAPER] / row[ours])
            lines.append(
                f"- {what}: {number(least[PAPER] / least[ours])} times ({least['protocol']}, k ="
                f" {least['k']}) or more."
            )

    smallest(
        "Against multi-freq-ldpy 0.2.5, all threads, randomize + tally + estimate", both, "all"
    )
    smallest("The same with one thread", both, "one")
    for name in ("OLH", "SS"):
        smallest(
            f"Aggregation of {name}, k ≥ 100, all threads",
            [row for row in counted if row["protocol"] == name],
            "all",
        )
    if unary:
        for at_least in (5, 100):
            most = max(
                (row for row in unary if row["k"] >= at_least),
                key=lambda row: row["one"] / row["limit"],
            )
            lines.append(
                f"- Unary reports, k ≥ {at_least}, one thread:"
                f" {number(most['one'] / most['limit'])} times what OpenSSL takes for the random"
                f" bytes consumed ({most['protocol']}, k = {most['k']}), or less."
            )
        wide = [8 * row["bytes"] / row["bits"] for row in unary if row["k"] >= 100]
        lines.append(
            f"- Random bits for each bit of a unary report, k ≥ 100: {number(max(wide), 3)} or"
            " fewer."
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
        f"- Counting packed bits, one thread: {number(share)} of the time of drawing them ({name},"
        f" k = {k}), or less.\n"
    )
    return "\n".join(lines)


def _limits(found: Results) -> str:
    stream, grr = found["chacha"], found["grr"]
    lines = [
        f"- ChaCha20: {stream['openssl'] / stream['ours']:.0%} of OpenSSL's speed, one thread.",
        (
            f"- GRR's `randomize` of 10⁷ values: {number(grr['one'] / grr['copy'])} times copying"
            f" them with one thread, {number(grr['all'] / grr['copy'])} with all."
        ),
    ]
    for k, cell in found["hashing"].items():
        shares = [number(cell[name] / cell["numpy"]) for name in ("kernel", "one", "all")]
        lines.append(
            f"- Counting OLH, k = {k}: the kernel takes {shares[0]} of the time of one NumPy"
            f" comparison (int64) a report and value, `tally` {shares[1]} with one thread and"
            f" {shares[2]} with all."
        )
    for name, cell in found.get("count", {}).items():
        lines.append(
            f"- `count` of 1000 checked reports of {name}, k = 100:"
            f" {number(1e6 * (cell['count'] - cell['kernel']))} µs more than its kernel."
        )
    return "\n".join(lines) + "\n"


def _batch(rows: list[Results]) -> str:
    head = [
        "protocol",
        "k",
        "task",
        "1 thread",
        "all threads",
        "limit",
        "× limit",
        "0.2.5",
        "ratio, 1 thread",
        "ratio, all",
        "pure-ldp",
        "ratio, all",
    ]
    lines = [
        [
            row["protocol"],
            str(row["k"]),
            row["task"],
            number(row["one"]),
            number(row["all"]),
            number(row["limit"]),
            number(row["one"] / row["limit"]),
            number(row.get(PAPER)),
            number(ratio(row, PAPER, "one")),
            number(ratio(row, PAPER, "all")),
            number(row.get(PURE)),
            number(ratio(row, PURE, "all")),
        ]
        for row in rows
    ]
    text = (
        "## Batches\n\nNanoseconds a user: ours with one thread and with all, the limit,"
        " multi-freq-ldpy 0.2.5 and pure-ldp 1.2.0 with how many times longer they take."
        " *aggregate* is tally and estimate; *both* adds the two. The limit of *randomize* is what"
        " OpenSSL takes to make the random bytes that are consumed (for GRR, to copy the values),"
        " that of *aggregate* to read the reports once; × limit is with one thread. ε = 1, or 2 and"
        " 1 over time; solutions have d = 3; dBitFlipPM has b = k and k/5 bits.\n\n"
    )
    return text + table(head, lines)


def _breakdown(rows: list[Results]) -> str:
    lines = []
    for row in rows:
        rest = max(0.0, row["randomize"] - row["inputs"] - row["bytes"])
        times = [number(each) for each in (row["randomize"], row["inputs"], row["bytes"], rest)]
        lines.append([row["protocol"], str(row["k"]), number(row["consumed"]), *times])
    text = (
        "## What randomizing is spent on\n\nNanoseconds a user with one thread: inputs checked and"
        " copied, random bytes made by the package's own ChaCha20, and all the rest, which turns"
        " them into reports.\n\n"
    )
    return text + table(
        ["protocol", "k", "random bytes", "ns", "inputs", "bytes made", "rest"], lines
    )


def _functions(rows: list[Results]) -> str:
    slow = [row for row in rows if PAPER in row and row["ours"] > row[PAPER]]
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
    said = (
        f"{len(slow)} of {len(rows)} are slower: "
        + ", ".join(f"{row['stem']}_{row['task']} at k = {row['k']}" for row in slow)
        if slow
        else f"None of {len(rows)} is slower."
    )
    return (
        "## The functions of the paper\n\nMicroseconds a call (clients) or a report (aggregators;"
        f" ten iterations of IBU), on lists as the paper's listings make them. {said}\n\n"
        + table(["function", "k", "ours", "0.2.5", "ratio"], lines)
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
    text = (
        "## Simulation\n\nMilliseconds for k = 1000: `simulate` draws the tally from its law, or"
        " for SS and OLH draws and counts without "
    )
    head = ["protocol", "users simulated", "ms", "users randomized and tallied", "ms"]
    return text + "keeping reports; beside it the batch API.\n\n" + table(head, lines)


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
    text = (
        "## Comparisons of protocols\n\nAs in the paper's tutorials: ten budgets, thirty"
        ' repetitions, the estimator "norm", '
        f"{rows[0]['users']:,} users with {rows[0]['k']} values. `compare` does all of it; version"
        " 0.2.5 did one repetition of one budget, "
        "and the rest is reckoned from that.\n\n"
    )
    return text + table(
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
    text = (
        "## Scale\n\nRandomized and tallied a million at a time, all threads; the most memory the"
        " process ever had.\n\n"
    )
    return text + table(["protocol", "users", "seconds", "ns a user", "MB"], lines)


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
    return (
        f"## Tables\n\n{found['rows']:,} rows of nine attributes: `Survey.randomize` of tables"
        " beside `solution.randomize` of the numbers, and `Survey.tally` beside `solution.tally`;"
        " milliseconds, and times the array.\n\n"
        + table(["what", "ms", "times the array", "limit"], lines)
        + "\nTally of a Parquet file of one attribute (k = 100), beside reading it: the share of"
        " the reader's speed is to be at least 0.5.\n\n"
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
    return (
        f"## First use\n\nImporting NumPy takes {1e3 * found['numpy']:.0f} ms, this package"
        f" {1e3 * found['package']:.0f} ms. Kernels are compiled when they are first used on a"
        " machine; seconds with an empty cache, and in the next process:\n\n"
        + table(head, lines)
        + f"\nThat is several kernels each, {len(found['kernels'])} in all, which protocols share."
        " The longest take, without those they call:"
        f" {', '.join(f'{name} {number(took)} s' for name, took in longest[:6])}.\n"
    )


def _first_report(found: Results) -> str:
    """Return what one report costs in a new process."""
    numpy = found["numpy"]
    limit = 1.3 * numpy + 0.05
    lines = [
        [name, number(1e3 * took), number(took / numpy), number(1e3 * limit)]
        for name, took in found.items()
    ]
    return (
        "## First report\n\nA new process that imports, makes a protocol and one report, with an"
        " empty cache of kernels and without loading numba: milliseconds beyond an empty process,"
        " and compared with `import numpy`. The limit is 1.3 times that plus 50 ms.\n\n"
        + table(["one report of", "ms", "times `import numpy`", "limit, ms"], lines)
    )


def plot(rows: list[Results], path: Path) -> None:
    """Draw nanoseconds a user of all protocols, one panel a domain size."""
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
        panel.set_xlabel("ns a user")
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
