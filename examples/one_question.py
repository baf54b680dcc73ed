"""A million simulated users answer one question under local differential privacy."""

import sys
import time

import numpy as np

from multi_freq_ldpy import OUE

ANSWERS = ["train", "car", "bicycle", "on foot", "bus", "tram", "ferry", "other"]
SHARES = np.array([0.31, 0.24, 0.17, 0.12, 0.09, 0.05, 0.015, 0.005])
USERS = 1_000_000
WIDTH = 40


def bar(low: float, high: float, truth: float, scale: float) -> str:
    """Draw the interval as a line and the truth as a dot on it."""
    start, end, dot = (min(WIDTH - 1, round(x * scale)) for x in (low, high, truth))
    cells = ["━" if start <= i <= end else " " for i in range(WIDTH)]
    cells[dot] = "●"
    return "".join(cells).rstrip()


def main() -> None:
    protocol = OUE(len(ANSWERS), epsilon=1.0)
    print("How do you get to work? A million users answer; nobody's answer leaves their device unrandomized.")
    print(f"Protocol {protocol}: {protocol.report_bytes} byte a report, privacy loss {protocol.privacy.report:.3f} at most.\n")
    print("(The first run on a machine compiles kernels, which takes a few seconds; they are kept on disk.)", flush=True)

    truth = np.random.default_rng(2022).choice(len(ANSWERS), USERS, p=SHARES)
    started = time.perf_counter()
    reports = protocol.randomize(truth)  # on the devices, one report a user
    estimate = protocol.estimate(reports)  # at the aggregator
    seconds = time.perf_counter() - started

    limits = estimate.interval(0.95)
    real = np.bincount(truth, minlength=len(ANSWERS)) / USERS
    scale = (WIDTH - 1) / max(limits.max(), real.max())
    print(f"\n{'':10}{'truth':>8}{'estimate':>10}{'95 % interval':>20}   ● truth  ━ interval")
    for name, f, x, (low, high) in zip(ANSWERS, real, estimate.frequencies, limits, strict=True):
        interval = f"{100 * low:.2f} – {100 * high:.2f} %"
        print(f"{name:10}{100 * f:7.2f}%{100 * x:9.2f}%{interval:>20}   {bar(low, high, f, scale)}")
    inside = int(((limits[:, 0] <= real) & (real <= limits[:, 1])).sum())
    print(f"\n{inside} of {len(ANSWERS)} intervals hold the truth (95 % is the goal); {USERS:,} users in {seconds:.2f} s.")


if __name__ == "__main__":
    if sys.stdout.encoding and sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main()
