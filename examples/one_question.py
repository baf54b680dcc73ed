"""A million simulated users answer one question under local differential privacy."""

import sys
import time

import numpy as np

from multi_freq_ldpy import OUE

ANSWERS = ["train", "car", "bicycle", "on foot", "bus", "tram", "ferry", "other"]
SHARES = np.array([0.31, 0.24, 0.17, 0.12, 0.09, 0.05, 0.015, 0.005])
USERS = 1_000_000
WIDTH = 48


def bar(low: float, high: float, scale: float) -> str:
    """Draw a solid bar up to the lower limit and a shaded end up to the upper limit."""
    solid = round(low * scale)
    return "█" * solid + "▒" * max(1, round(high * scale) - solid)


def main() -> None:
    protocol = OUE(len(ANSWERS), epsilon=1.0)
    print(
        "How do you get to work? A million users answer. Each device randomizes its user's answer."
    )
    print(
        f"{protocol}: each report has {protocol.report_bytes} byte and a privacy loss of at most"
        f" {protocol.privacy.report:.3f}.\n"
    )
    truth = np.random.default_rng(2022).choice(len(ANSWERS), USERS, p=SHARES)
    started = time.perf_counter()
    reports = protocol.randomize(truth)  # on the devices, one report per user
    estimate = protocol.estimate(reports)  # at the aggregator
    seconds = time.perf_counter() - started
    print(f"{USERS:,} reports randomized, counted and estimated in {seconds:.3f} s.\n")

    limits = estimate.interval(0.95)
    real = np.bincount(truth, minlength=len(ANSWERS)) / USERS
    inside = (limits[:, 0] <= real) & (real <= limits[:, 1])
    print(f"{'':10}{'truth':>8}{'estimate':>10}{'95 % interval':>18}")
    for name, f, x, (low, high), good in zip(
        ANSWERS, real, estimate.frequencies, limits, inside, strict=True
    ):
        interval = f"{100 * low:.2f} to {100 * high:.2f} %"
        mark = " " if good else "!"
        print(
            f"{name:10}{100 * f:7.2f}%{100 * x:9.2f}%{interval:>18} {mark}"
            f" {bar(low, high, WIDTH / limits.max())}"
        )
    print(
        f"\n{inside.sum()} of {len(ANSWERS)} intervals contain the true share. On average 1 in 20"
        " does not; it is marked with !."
    )


def utf8() -> None:
    """Make the output able to show bars and dashes in every locale."""
    if sys.stdout.encoding.lower().replace("-", "") != "utf8":
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]


if __name__ == "__main__":
    utf8()
    main()
