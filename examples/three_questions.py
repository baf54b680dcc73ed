"""A million simulated users answer three questions.

SMP reports one answer, chosen at random. RS+FD also sends fake answers to the other questions.
"""

from typing import Any

import numpy as np
from one_question import utf8

from multi_freq_ldpy import OUE, RSFD, SMP

SURVEY = {
    "How do you get to work?": {
        "train": 0.31,
        "car": 0.24,
        "bicycle": 0.17,
        "on foot": 0.12,
        "bus": 0.09,
        "other": 0.07,
    },
    "How old are you?": {"under 30": 0.22, "30 to 44": 0.35, "45 to 59": 0.30, "60 and over": 0.13},
    "Do you have a car?": {"yes": 0.58, "shared": 0.07, "no": 0.35},
}
USERS = 1_000_000


def answers(rng: np.random.Generator) -> np.ndarray:
    """Draw the answers, where everybody who drives to work has a car."""
    table = np.stack(
        [rng.choice(len(shares), USERS, p=list(shares.values())) for shares in SURVEY.values()],
        axis=1,
    )
    drives = table[:, 0] == 1
    table[drives, 2] = 0
    return table


def main() -> None:
    ks = [len(shares) for shares in SURVEY.values()]
    table = answers(np.random.default_rng(2022))
    print(
        "Three questions, a million users, ε = 1.\n"
        "SMP: each user sends one randomized answer, to a question chosen at random.\n"
        "RS+FD: the same at a larger budget. Fake answers to the other questions are sent too."
    )
    print("They hide which answer is real.\n")
    found: dict[str, Any] = {}
    print(f"{'':8}{'bytes per report':>16}{'loss, one answer':>20}{'loss, any two records':>24}")
    for name, solution in {
        "SMP": SMP(OUE, ks, epsilon=1.0),
        "RS+FD": RSFD(OUE, ks, epsilon=1.0),
    }.items():
        found[name], loss = solution.estimate(solution.randomize(table)), solution.privacy
        print(f"{name:8}{solution.report_bytes:16}{loss.report_attribute:20.3f}{loss.report:24.3f}")
    print(
        "\nRS+FD is more precise, but its privacy loss between whole records is larger:"
        " docs/several_attributes.md explains it."
    )
    missed = 0
    for j, (question, shares) in enumerate(SURVEY.items()):
        real = np.bincount(table[:, j], minlength=ks[j]) / USERS
        print(
            f"\n{question:26}{'truth':>8}{'SMP (95 % interval)':>28}{'RS+FD (95 % interval)':>28}"
        )
        for v, answer in enumerate(shares):
            cells = ""
            for estimates in found.values():
                low, high = estimates[j].interval(0.95)[v]
                missed += not low <= real[v] <= high
                mark = " " if low <= real[v] <= high else "!"
                cells += (
                    f"{100 * estimates[j].frequencies[v]:11.2f}%"
                    f" ({100 * low:5.2f}–{100 * high:5.2f}){mark}"
                )
            print(f"  {answer:24}{100 * real[v]:7.2f}%{cells}")
    print(
        f"\n{2 * sum(ks) - missed} of {2 * sum(ks)} intervals contain the true share. On average 1"
        " in 20 does not; it is marked with !."
    )


if __name__ == "__main__":
    utf8()
    main()
