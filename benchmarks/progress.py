"""Progress of a long run, also without a terminal."""

import sys
import time

from multi_freq_ldpy.files.progress import Progress as Bar


class Progress(Bar):
    """A bar on a terminal, and elsewhere a line every ten seconds."""

    next = 0.0

    def at(self, done: int, what: str = "") -> None:
        self.step(what, done - self.done)
        if done >= self.total:
            self.__exit__()
        if not sys.stderr.isatty() and what and time.perf_counter() > self.next:
            self.next = time.perf_counter() + 10
            print(f"{self.name}: {done} of {self.total}, {what}", file=sys.stderr, flush=True)
