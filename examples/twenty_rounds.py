"""A hundred thousand simulated users report twenty weeks in a row, and some change their minds."""

import time
from collections.abc import Iterator

import numpy as np
from one_question import utf8

from multi_freq_ldpy import LOSUE, Estimate, Panel, over_rounds

ANSWERS = ["train", "car", "bicycle", "on foot", "bus", "other"]
SHARES = [0.30, 0.32, 0.10, 0.12, 0.11, 0.05]
USERS, WEEKS = 100_000, 20
WATCHED = {"car": (0.14, 0.34), "bicycle": (0.08, 0.28)}
WIDTH = 24


def weeks(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the answers of all users, week by week.

    Drivers change to the bicycle, a larger share of them every week. Some cyclists change back.
    """
    values = rng.choice(len(ANSWERS), USERS, p=SHARES)
    for week in range(WEEKS):
        yield values.copy()
        tried = (values == 1) & (rng.random(USERS) < 0.004 * week)
        returned = (values == 2) & (rng.random(USERS) < 0.01)
        values[tried], values[returned] = 2, 1


def band(low: float, high: float, truth: float, window: tuple[float, float]) -> str:
    """Draw an interval as a line, and the true share as a dot on it or as a circle beside it."""

    def column(f: float) -> int:
        return min(
            WIDTH - 1, max(0, round((f - window[0]) / (window[1] - window[0]) * (WIDTH - 1)))
        )

    cells = [" "] * WIDTH
    cells[column(low) : column(high) + 1] = "─" * (column(high) - column(low) + 1)
    cells[column(truth)] = "●" if low <= truth <= high else "○"
    return "".join(cells)


def main() -> None:
    protocol = LOSUE(len(ANSWERS), eps_perm=2.0, eps_1=1.0)
    privacy = protocol.privacy
    print(f"How do you get to work? {USERS:,} users report {WEEKS} weeks in a row.")
    print(f"{protocol}: one report costs {privacy.report:.3f}; all reports about an")
    print(
        f"answer that stays the same cost {privacy.lifetime:.3f} together, because they repeat one"
        " permanent answer.\n"
    )
    panel, truth, tallies = Panel(protocol, USERS), [], []
    changed, seconds = np.zeros((USERS, len(ANSWERS)), np.bool_), 0.0
    for values in weeks(np.random.default_rng(2022)):
        started = time.perf_counter()
        tallies.append(panel.tally(values))  # on the devices and at the aggregator
        seconds += time.perf_counter() - started
        truth.append(np.bincount(values, minlength=len(ANSWERS)) / USERS)
        changed[np.arange(USERS), values] = True
    print(f"{USERS * WEEKS:,} reports randomized and counted in {seconds:.2f} s.\n")

    axes = (
        f"{name:>8}    estimate  {f'{low:.0%}':<{WIDTH - 3}}{f'{high:.0%}'}"
        for name, (low, high) in WATCHED.items()
    )
    print("week" + "  ".join(axes))
    inside = 0
    for week, tally in enumerate(tallies):
        estimate, line = protocol.estimate(tally), f"{week + 1:>4}"
        for name, window in WATCHED.items():
            v = ANSWERS.index(name)
            (low, high), real = estimate.interval(0.95)[v], truth[week][v]
            inside += low <= real <= high
            numbers = (
                f"{100 * real:7.1f}%{100 * estimate.frequencies[v]:7.1f}"
                f" ±{196 * estimate.std[v]:3.1f}"
            )
            line += f"{numbers}  {band(low, high, real, window)}  "
        print(line.rstrip())
    print(
        f"\n{inside} of {2 * WEEKS} intervals contain the true share (●). On average 1 in 20 does"
        " not (○)."
    )

    v = ANSWERS.index("train")
    whole, alone = over_rounds(tallies), protocol.estimate(tallies[0])
    assert isinstance(whole, Estimate)
    added = protocol.estimate(sum(tallies[1:], tallies[0]))
    print(
        f"\nThe share of the train never changes: {100 * truth[0][v]:.2f} % take it in every week."
    )
    for what, found in (
        ("one week", alone),
        ("twenty weeks", whole),
        ("twenty weeks, wrongly treated as new users", added),
    ):
        print(f"  {what:45}{100 * found.frequencies[v]:6.2f} ± {196 * found.std[v]:.2f} %")
    print(
        "All weeks repeat the same permanent answers. More weeks reduce only the noise of the"
        " second round; over_rounds accounts for that."
    )
    print(
        f"\nA user has given {changed.sum(axis=1).mean():.2f} different answers on average. Each"
        f" of them costs {privacy.lifetime:.0f}."
    )
    print("docs/over_time.md explains what this budget protects, and what it does not.")


if __name__ == "__main__":
    utf8()
    main()
