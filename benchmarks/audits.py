"""Measured privacy of this package and of other packages, side by side.

``make audits`` writes docs/audits.md. Another package makes its reports in a process of its own,
which writes them to a file. This process reads the file and audits the reports.
"""

import argparse
import os
import pickle
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page import wrap
from peers import INSTALLED, python_of
from progress import Progress

from multi_freq_ldpy import GRR, LGRR, LOSUE, RSFD, SS, SUE, Audit, audit

PAGE = Path(__file__).parent.parent / "docs" / "audits.md"
SEED = 1
ROUNDS = 100
CONFIDENCE = 0.99

DRAW = """
import pickle, sys, random
import numpy as np
random.seed({seed}); np.random.seed({seed})
{setup}
def plain(report):
    if isinstance(report, (list, tuple)):
        return [plain(each) for each in report]
    return np.asarray(report).tolist()
samples = [[{sample} for _ in range({many})] for value in {inputs!r}]
with open(sys.argv[1], "wb") as file:
    pickle.dump([[plain(each) for each in part] for part in samples], file)
"""

RAPPOR = """
from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer
server = RAPPORServer(f=0.75, m=16, k=1, d=10, num_of_cohorts=1)
client = RAPPORClient(0.75, 16, server.get_hash_funcs(), num_of_cohorts=1)
bits = [client.hash_family[0][0](value) for value in '01']
assert bits[0] != bits[1], 'the two values have the same bit'
"""


@dataclass(frozen=True)
class Row:
    """A mechanism of another package: its name, package, stated ε, and code to sample it."""

    what: str
    package: str
    claimed: str
    setup: str
    call: str
    inputs: tuple[Any, Any]
    rounds: int = 1


THEIRS = [
    Row(
        "SS, k = 20, one report",
        "multi-freq-ldpy",
        "1",
        "from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client",
        "SS_Client(value, 20, 1.0)",
        (0, 1),
    ),
    Row(
        f"L-GRR, k = 5, {ROUNDS} reports",
        "multi-freq-ldpy",
        "2",
        "from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client",
        "L_GRR_Client(value, 5, 2.0, 1.0)",
        (0, 1),
        ROUNDS,
    ),
    Row(
        f"L-OSUE, k = 5, {ROUNDS} reports",
        "multi-freq-ldpy",
        "2",
        "from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client",
        "L_OSUE_Client(value, 5, 2.0, 1.0)",
        (0, 1),
        ROUNDS,
    ),
    Row(
        "RS+FD[GRR], ks = 3, 3, whole record",
        "multi-freq-ldpy",
        "1",
        "from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client",
        "RSpFD_GRR_Client(value, [3, 3], 2, 1.0)",
        ([0, 0], [1, 1]),
    ),
    Row(
        "RAPPOR, f = 0.75, one report",
        "pure-ldp",
        "1.02",
        RAPPOR,
        "client.privatise(value)",
        (1, 2),
    ),
]
OURS: list[tuple[str, Any, int]] = [
    ("SS, k = 20, one report", SS(20, 1.0), 1),
    (f"L-GRR, k = 5, {ROUNDS} reports", LGRR(5, 2.0, 1.0), ROUNDS),
    (f"L-OSUE, k = 5, {ROUNDS} reports", LOSUE(5, 2.0, 1.0), ROUNDS),
    ("RS+FD[GRR], ks = 3, 3, whole record", RSFD(GRR, [3, 3], 1.0), 1),
    ("SUE (RAPPOR without hashing), k = 10, one report", SUE(10, 1.02), 1),
]


def main() -> None:
    """Audit all mechanisms, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="use a tenth of the reports, and write into build/"
    )
    quick = parser.parse_args().quick
    reports, users = (100_000, 2_000) if quick else (1_000_000, 20_000)
    lines: list[str] = []
    progress = Progress("audits", len(THEIRS) + len(OURS))
    for row in THEIRS:
        progress.at(len(lines), row.what)
        found = theirs(row, users if row.rounds > 1 else reports)
        if found is not None:
            lines.append(
                line(row.what, INSTALLED[row.package][0].replace("==", " "), row.claimed, found)
            )
    for what, mechanism, rounds in OURS:
        progress.at(len(lines), what)
        says = mechanism.privacy.lifetime if rounds > 1 else mechanism.privacy.report
        found = audit(
            mechanism, users if rounds > 1 else reports, CONFIDENCE, rounds=rounds, rng=SEED
        )
        lines.append(line(what, "this package", f"{says:.3g}", found))
    progress.at(len(THEIRS) + len(OURS))
    path = Path("build") / "audits.md" if quick else PAGE
    path.parent.mkdir(exist_ok=True)
    path.write_text(page(lines, reports, users))
    print(path.read_text())


def theirs(row: Row, n: int) -> Audit | None:
    """Return the audit of reports of another package, or None if it cannot be installed."""
    python = python_of(row.package)
    if python is None:
        return None
    sample = row.call if row.rounds == 1 else f"[{row.call} for _ in range({row.rounds})]"
    code = DRAW.format(setup=row.setup, sample=sample, many=n // 2, inputs=row.inputs, seed=SEED)
    environment = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports"
        subprocess.run([python, "-W", "ignore", "-c", code, str(path)], check=True, env=environment)
        samples = [iter(part) for part in pickle.loads(path.read_bytes())]
    inputs = tuple(map(str, row.inputs))
    streams = dict(zip(inputs, samples, strict=True))
    if row.rounds == 1:
        return audit(
            lambda value: next(streams[value]), n, CONFIDENCE, inputs=(inputs[0], inputs[1])
        )

    def client() -> Any:
        held: list[Any] = []

        def report(value: str) -> Any:
            if not held:
                held.extend(next(streams[value]))
            return held.pop()

        return report

    return audit(client, n, CONFIDENCE, inputs=(inputs[0], inputs[1]), rounds=row.rounds)


def line(what: str, package: str, claimed: str, found: Audit) -> str:
    seen = " / ".join(f"{s:,} of {n:,}" for s, n in zip(found.seen, found.of, strict=True))
    return f"| {what} | {package} | {claimed} | {found.epsilon:.2f} | {found.event} | {seen} |"


def page(lines: list[str], reports: int, users: int) -> str:
    """Return the page: an introduction, the table and notes about its rows."""
    head = "| mechanism | package | stated ε | measured, at least | event | seen for each input |"
    method = wrap(
        "`audit` attacks a mechanism: it draws reports about two inputs and tries to tell the"
        " inputs apart.",
        "Its success gives a lower bound of the [privacy loss](glossary.md#privacy-loss).",
        f"The bound holds with {100 * CONFIDENCE:g} % confidence.",
        "It uses the limits of Clopper and Pearson, corrected for the number of tested events.",
        "`audit` needs only a callable, so it measures other packages as well.",
    )
    setting = wrap(
        "`make audits` measured this package and released versions of two other packages.",
        f"Most rows have {reports:,} reports.",
        f"Rows about {ROUNDS} reports have {users:,} users, and a sample is a sequence of {ROUNDS}"
        " reports of one user about an unchanged value.",
    )
    event = wrap(
        "An *event* is a property of a sample that is likelier for one of the two inputs.",
        "The last column counts it for each input, the likelier one first.",
        "If the exact distribution of reports is known, it chooses the event in advance.",
        "Otherwise one half of the samples chooses the event, and the other half tests it.",
        "The event is then a threshold of a score that an attack computes from the sample.",
    )
    never = wrap(
        "If an event was never seen for one of the inputs, the true loss may be infinite.",
        "The bound then depends on the number of reports rather than on the loss.",
    )
    notes = [
        [
            "**SS** of version 0.2.5 sends its set as an array.",
            "If the set holds the user's value, that value is the first entry.",
        ],
        [
            "**L-GRR and L-OSUE** of version 0.2.5 draw the first round again at every call, so the"
            " noise in the reports of a user averages out.",
            "The stated ε is eps_perm.",
            "In this package a `Client` or a `Panel` remembers the first round.",
        ],
        [
            "**RS+FD** at ε = 1 loses ln(2·(e − 1) + 1) = 1.49 between whole records, in every"
            " implementation.",
            "This loss follows from the distribution of the reports.",
            "In this package, `privacy.report` states it.",
            "The ε that version 0.2.5 states is the loss between records that differ in one"
            " attribute.",
        ],
        [
            "**RAPPOR** of pure-ldp 1.2.0 never clears a bit that is 1.",
            "So a report in which the bit of a value is 0 excludes that value.",
            "The stated ε is the result of its own `convert_f_to_eps` for f = 0.75 and one hash"
            " function.",
        ],
    ]
    end = wrap(
        "The bounds of this package stay below the stated ε.",
        "`make verify` makes two hundred audits of each of four protocols, and counts the bounds"
        " that exceed the exact loss ([report](verification.md)).",
    )
    return "\n".join(
        [
            "# Privacy as measured\n",
            f"{method}\n",
            f"{setting}\n",
            f"{event}\n",
            f"{never}\n",
            head,
            "| --- | --- | ---: | ---: | --- | ---: |",
            *lines,
            "",
            *[wrap(*each, bullet="- ") for each in notes],
            "",
            f"{end}\n",
        ]
    )


if __name__ == "__main__":
    main()
