"""How far a long run is."""

import sys
import time


class Progress:
    """A line on the terminal that says how far a part is."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.started = name, total, time.perf_counter()
        self.shown, self.next = sys.stderr.isatty(), 0.0

    def at(self, done: int, what: str = "") -> None:
        if self.shown:
            share = done / self.total
            bar = "█" * round(30 * share)
            print(
                f"\r{self.name:11} {bar:·<30} {share:4.0%} {time.perf_counter() - self.started:5.0f} s {what:30}", end="", file=sys.stderr
            )
            if done == self.total:
                print(file=sys.stderr)
        elif what and time.perf_counter() > self.next:
            self.next = time.perf_counter() + 10
            print(f"{self.name}: {done} of {self.total}, {what}", file=sys.stderr, flush=True)
