"""A hundred thousand simulated users lose and find jobs, and the times of it stay private."""

import numpy as np
from one_question import utf8
from twenty_rounds import band

from multi_freq_ldpy import LGRR, Estimate, Once, Panel, Steps
from multi_freq_ldpy.mechanism import Mechanism

USERS, WEEKS, CHANGES = 100_000, 64, 3
WINDOW = (0.0, 0.28)


def histories(rng: np.random.Generator) -> np.ndarray:
    """Return the answers of all users, one row per week: 1 means out of work.

    A crisis begins in week 20. From week 40 on, users find new jobs. They change three times at
    most.
    """
    values = np.empty((WEEKS, USERS), np.int64)
    values[0] = rng.random(USERS) < 0.08
    changes = np.zeros(USERS, np.int64)
    for week in range(1, WEEKS):
        lost, found = (0.011, 0.02) if 20 <= week < 40 else (0.002, 0.05 if week >= 40 else 0.02)
        moves = rng.random(USERS) < np.where(values[week - 1] == 1, found, lost)
        moves &= changes < CHANGES
        values[week] = values[week - 1] ^ moves
        changes += moves
    return values


def main(rng: int | None = None) -> None:
    """Simulate all devices. A seed is for tests only."""
    history = Steps(2, epsilon=2.0, rounds=WEEKS, changes=CHANGES)
    print(f"Are you out of work? {USERS:,} users are asked {WEEKS} weeks in a row.")
    print(
        f"Steps: all reports of a user together cost {history.privacy.history:.3f}, between any"
        " two histories, with any changes at any times.\n"
    )
    values = histories(np.random.default_rng(2022))
    truth = values.mean(axis=1)
    # On the devices and at the aggregator
    rounds = [e for e in Panel(history, USERS, rng).run(values) if isinstance(e, Estimate)]

    scale = f"{WINDOW[0]:<21.0%}{WINDOW[1]:.0%}"
    print(f"week   truth    estimate  {scale}")
    limits = [each.interval(0.95)[1] for each in rounds]
    inside = sum(low <= real <= high for (low, high), real in zip(limits, truth, strict=True))
    for week in range(0, WEEKS, 7):
        (low, high), real, found = limits[week], truth[week], rounds[week]
        numbers = f"{100 * real:7.1f}%{100 * found.frequencies[1]:7.1f} ±{196 * found.std[1]:3.1f}"
        print(f"{week:>4}{numbers}  {band(low, high, real, WINDOW)}".rstrip())
    print(
        f"\n{inside} of {WEEKS} intervals contain the true share (●). Neighbouring weeks share"
        " reports, so their errors are similar."
    )

    print("\nThe same budget of 2, with two different promises:")
    mechanisms: dict[str, Mechanism] = {
        "Steps: a whole history": history,
        "Once: a whole history": Once(2, epsilon=2.0, rounds=WEEKS),
        "LGRR: a value that stays": LGRR(2, eps_perm=2.0, eps_1=1.0),
    }
    for what, mechanism in mechanisms.items():
        error = 100 * np.sqrt(np.mean(mechanism.variance(USERS, 0.12)))
        loss = mechanism.privacy.history
        print(f"  {what:26}standard error {error:.2f} points, loss of a history {loss:.0f}")
    print("docs/guarantee.md explains the promises.")


if __name__ == "__main__":
    utf8()
    main()
