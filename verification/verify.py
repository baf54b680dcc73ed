"""Verification of all claims with many settings and reports.

``make verify`` writes docs/verification.md and a picture.
"""

import argparse
import os
import re
import sys
import textwrap
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import parts

from multi_freq_ldpy.files.progress import Progress

ROOT = Path(__file__).parent.parent
HEADS = {
    "enumeration": ("mechanisms", "settings", "pairs of a report and an input"),
    "audits": (
        "protocol",
        "runs",
        "reports per run",
        "mean bound",
        "largest bound",
        "above the exact loss",
    ),
    "moments": ("protocol", "reports", "mean", "p", "largest z", "detectable error"),
    "fit": ("source", "draws", "outcomes", "z", "z of the control"),
    "clients": ("source", "draws", "outcomes", "z", "z of the control"),
    "kills": ("records", "kills", "reports", "charges lost", "values told twice"),
    "outbox kills": ("surveys", "kills", "reports", "lost", "drawn twice"),
    "service kills": ("database", "kills", "reports", "lost, twice or counted wrongly"),
    "service races": ("database", "pairs of batches", "closed rounds", "stops", "failures"),
    "sender kills": ("surveys", "kills", "rounds drawn twice", "reports lost or counted twice"),
    "releases": ("database", "orders", "releases", "closer than a step"),
    "hostile bodies": ("seed", "bodies", "refused", "wrong answers or tallies"),
    "many ids": (
        "database",
        "ids",
        "ms per group at 10⁵ ids",
        "ms per group at the end",
        "ratio",
        "bytes per id",
        "ids left after closing",
    ),
    "few reports": ("protocol", "values", "settings", "least coverage", "mean coverage"),
    "differences": (
        "protocol",
        "difference of",
        "frequency of",
        "settings",
        "least coverage",
        "mean coverage",
    ),
}
INTRODUCTION = (
    "`make verify` wrote this page, with fixed seeds. It repeats the checks of the tests with many"
    " more settings and reports. The totals are:"
)
ABOUT = {
    "enumeration": (
        "The check lists every report under every input, with its exact probability. The exact"
        " privacy loss is the largest one over all reports and all pairs of inputs. In every"
        " setting it equals the loss that `privacy` states. The comparison covers one report and"
        " all reports about unchanged values. It covers any two records, and records that differ"
        " in one attribute."
    ),
    "audits": (
        "An [audit](audits.md) computes a lower bound of the privacy loss from the bytes of"
        " reports. Its confidence is 99 %. All runs have fixed seeds. The exact loss is 1 in every"
        " row. A correct bound exceeds the exact loss with a probability of at most 1 %. The last"
        " column counts the bounds that do."
    ),
    "moments": (
        "All users hold the last value. Their mean [contribution](glossary.md#contribution) to"
        " this value should be p, and their mean contribution to each other value should be q."
        " *largest z* is the largest deviation from p or q, in standard deviations. *detectable"
        " error* is the relative error of p that would cause a deviation of six standard"
        " deviations."
    ),
    "fit": (
        "A chi-square test compares drawn reports with their exact distribution. *z* is the"
        " deviation in standard deviations. As a control, the same reports are compared with a"
        " distribution that is one per cent off. The test must reject the control, by a deviation"
        " of more than six."
    ),
    "clients": (
        "The [JavaScript client](wire.md) draws reports in Node, from fresh random bytes. The same"
        " chi-square test compares them with the exact distribution of the Python package. Their"
        " estimates are within six standard errors of the true frequencies."
    ),
    "kills": (
        "Two processes of the [JavaScript client](devices.md) share records in files, and both are"
        " killed at random times. A charge is lost if a report came back whose value is not in the"
        " ledger. A value is told twice if two reports of one question differ: the permanent answer"
        " of a value, or the report of a round."
    ),
    "outbox kills": (
        "Two processes of a [sender in JavaScript](devices.md) share an outbox in a file, and"
        " both are killed at random times. The service fails in a third of the requests, before or"
        " after it counts. A report is lost if the outbox calls it sent and the service did not"
        " count it. A round is"
        " drawn twice if the service has seen two bodies of it."
    ),
    "service kills": (
        "The [service](serving.md) is killed under load at random times. On PostgreSQL there are"
        " two processes. Clients send the same bytes again until they are acknowledged. Some bodies"
        " are sent again after that, and some to both processes at once. Afterwards the tally must"
        " equal a recount of the clients' own bytes of the ids that landed."
    ),
    "service races": (
        "Two processes get the same batch at once, in opposite orders: each report must count once,"
        " and neither process may block the other. Rounds are closed while reports arrive: no tally"
        " may change afterwards. PostgreSQL is stopped at once under load and started again:"
        " nothing may be lost."
    ),
    "sender kills": (
        "Processes of devices with a [sender](serving.md#from-a-device) are killed between their"
        " steps and at random times. After a kill, the person has changed the answer. A proxy loses"
        " requests and answers. Afterwards all bodies of one device and round must be equal. The"
        " service must have one report per device and round, and its tally must equal a recount."
    ),
    "releases": (
        "Reports arrive in random orders, in three processes that start again now and then. People"
        " without a token look at random times, and a process may replace a release long after it"
        " was due. Any two [releases](serving.md#releases) of a survey must differ by at least"
        " `step` reports. All processes must show the same release, and its counts must be those of"
        " the reports that it holds."
    ),
    "hostile bodies": (
        "Valid bodies are changed in up to three ways, or replaced by random bytes. Each answer"
        " must have the status that the format of a [submission](serving.md#from-any-program)"
        " demands, and never 5xx. The number of counted reports must be the sum over the answers."
    ),
    "many ids": (
        "Groups of 1000 reports are counted until a round has many ids. A group must not take more"
        " than three times as long as with 10⁵ ids. After the round is closed, its ids are deleted."
    ),
    "few reports": (
        "Coverage is the exact probability that a 95 % interval covers the true frequency. The"
        " settings are 20 to 200 reports, k = 2, 10, 100, ε = 0.5, 1, 3, 6 and f from 0 to 1. Half"
        " of the settings are about frequencies in the sample, and half about frequencies in the"
        " [population](glossary.md#sample-and-population). Coverage is at least 95 % in every"
        " setting. Rows with *two* values are about the total frequency of two of eight values,"
        " with ε up to 2. The last row is the mean over all settings of single values. It must be"
        " at most 97 %, because longer intervals than necessary would cover more."
    ),
    "differences": (
        "Coverage is the exact probability that a 95 % interval covers the true difference, with"
        " 15 to 50 reports. A row compares the frequencies of two values among the same users, or"
        " of one value in two groups of users. Coverage is at least 95 % in every setting."
    ),
    "coverage": (
        "Coverage is the exact probability that a 95 % interval covers the true frequency. The"
        " settings are k = 2, 10, 100, ε = 0.5, 1, 3, 6, n from 100 to 20 000 and f from 0 to 0.9."
        " Half of the settings are about frequencies in the sample, and half about frequencies in"
        " the [population](glossary.md#sample-and-population). If counts are too small for the"
        " normal distribution, intervals come from the exact distribution of the count, and"
        " coverage is higher."
    ),
}
LONG_NUMBER = re.compile(r"\d+\.\d{7,}")


def main() -> int:
    """Run all parts, write the page and the picture, and print the claims that do not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="run a sample of all parts, into build/"
    )
    parser.add_argument("--only", help="run only this part, into build/")
    given = parser.parse_args()
    chosen = {
        name: jobs for name, jobs in parts.jobs(given.quick).items() if given.only in (None, name)
    }
    found: dict[str, list[parts.Found]] = {name: [] for name in chosen}
    started = time.monotonic()
    os.environ.setdefault("MULTI_FREQ_LDPY_THREADS", "1")
    with (
        ProcessPoolExecutor(os.cpu_count()) as pool,
        Progress("verify", sum(map(len, chosen.values()))) as progress,
    ):
        waiting = {
            pool.submit(job): (name, i)
            for name, jobs in chosen.items()
            for i, job in enumerate(jobs)
        }
        done: dict[tuple[str, int], parts.Found] = {}
        for each in as_completed(waiting):
            done[waiting[each]] = each.result()
            progress.step(waiting[each][0])
            if not sys.stderr.isatty() and len(done) % 20 == 0:
                print(
                    f"{len(done)} of {len(waiting)} jobs, {time.monotonic() - started:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
        for name, i in sorted(done):
            found[name].append(done[name, i])
    wrong = [why for results in found.values() for each in results for why in each.wrong]
    if few := [row for each in found.get("few reports", ()) for row in each.rows]:
        mean = mean_of_few(few)
        wrong += [f"the mean coverage of few reports is {mean:.4f}"] * (mean > 0.97)
    proved: Counter[str] = Counter()
    for results in found.values():
        for one in results:
            proved.update(one.proved)
    folder = ROOT / ("build" if given.quick or given.only else "docs")
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    if "coverage" in found:
        draw(
            [row for each in found["coverage"] for row in each.rows],
            folder / "pictures" / "coverage.svg",
        )
    (folder / "verification.md").write_text(page(found, proved, wrong))
    print(
        "proved:",
        ", ".join(f"{many:,} {what}" for what, many in proved.items()),
        f"in {(time.monotonic() - started) / 60:.1f} min",
    )
    for why in wrong:
        print("DOES NOT HOLD:", why)
    return bool(wrong)


def page(found: dict[str, list[parts.Found]], proved: Counter[str], wrong: list[str]) -> str:
    """Return the report as Markdown."""
    lines = ["# Verification", "", wrap(INTRODUCTION), ""]
    lines += [f"- {many:,} {what}" for what, many in proved.items()]
    lines += [
        f"- {len(wrong)} results that contradict their claims"
        if wrong
        else "- no result that contradicts its claim",
        "",
    ]
    for name, results in found.items():
        lines += [f"## {name.capitalize()}", ""]
        if name == "coverage":
            lines += coverage([row for each in results for row in each.rows])
            continue
        if name == "few reports":
            rows = [row for each in results for row in each.rows]
            shown = [(*row[:3], *(f"{each:.4f}" for each in row[3:])) for row in rows]
            total = ("all", "one", "", "", f"{mean_of_few(rows):.4f}")
            results = [parts.Found(rows=[*shown, total])]
        head = HEADS[name]
        lines += [
            wrap(ABOUT[name]),
            "",
            f"| {' | '.join(head)} |",
            "|" + " --- |" + " ---: |" * (len(head) - 1),
        ]
        lines += [f"| {' | '.join(map(cell, row))} |" for one in results for row in one.rows]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def wrap(text: str) -> str:
    """Return a paragraph in lines of at most 100 characters, which keep "k = 2" together."""
    text = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    lines = textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def cell(content: Any) -> str:
    """Return the text of a cell, with at most five digits of long parameters."""
    if isinstance(content, int):
        return f"{content:,}"
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.5g}", str(content))


def mean_of_few(rows: list[tuple[Any, ...]]) -> float:
    """Return the mean coverage for single values over all protocols."""
    single = [row for row in rows if row[1] == "one"]
    return float(np.average([row[4] for row in single], weights=[row[2] for row in single]))


def coverage(rows: list[tuple[object, ...]]) -> list[str]:
    """Return the coverage of intervals by protocol."""
    lines = [
        wrap(ABOUT["coverage"]),
        "",
        "| protocol | settings | least | median | most |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in dict.fromkeys(str(row[0]) for row in rows):
        own = np.array([row[6] for row in rows if row[0] == name], np.float64)
        lines.append(
            f"| {name} | {len(own)} | {own.min():.4f} | {np.median(own):.4f} | {own.max():.4f} |"
        )
    return [
        *lines,
        "",
        "![coverage of 95 % intervals against the variance of a count](pictures/coverage.svg)",
        "",
    ]


def draw(rows: list[tuple[object, ...]], path: Path) -> None:
    """Draw the coverage of every setting against the variance of a count."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "coverage"
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for of, colour, marker in (("sample", "#0072B2", "o"), ("population", "#D55E00", "x")):
        points = np.array([(row[7], row[6]) for row in rows if row[5] == of], np.float64)
        ax.plot(
            points[:, 0],
            100 * points[:, 1],
            marker,
            ls="",
            color=colour,
            markersize=3,
            alpha=0.6,
            label=f"of the {of}",
            rasterized=True,
        )
    ax.axhline(95, color="black", lw=0.8)
    ax.axhspan(94, 96, color="#999999", alpha=0.2, lw=0)
    ax.set_xscale("log")
    ax.set_xlabel("variance of the count of a rare value")
    ax.set_ylabel("coverage, %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    figure.savefig(path, dpi=200, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
