"""Progress of long tasks: a line on the terminal."""

import logging
import shutil
import sys
import time
from typing import Any

AFTER = 2.0
EVERY = 0.1


def _is_watched() -> bool:
    """Return True if standard error is a terminal or a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


def _line_width() -> int:
    """Return the number of characters that fit on a line.

    A longer line would wrap, and could not be overwritten.
    """
    return min(100, shutil.get_terminal_size().columns - 1)


_said: set[str] = set()


def say(message: str) -> None:
    """Print a message about a long task on standard error, once per process.

    The message is printed on a terminal or in a notebook. Otherwise it goes to the logger
    ``multi_freq_ldpy`` at level INFO.
    """
    if message in _said:
        return
    _said.add(message)
    if _is_watched():
        print(message, file=sys.stderr, flush=True)
    else:
        logging.getLogger("multi_freq_ldpy").info(message)


class Progress:
    """A progress bar on standard error, if standard error is a terminal or a notebook.

    The usage is ``with Progress("compare", steps) as progress: progress.step()``.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self._started = self._last = time.monotonic()
        self._shown = False

    def __enter__(self) -> "Progress":
        return self

    def step(self, what: str = "", steps: int = 1) -> None:
        """Record that ``steps`` more steps are done, and update the bar."""
        self.done += steps
        now = time.monotonic()
        if _is_watched() and now - self._started > AFTER and now - self._last > EVERY:
            self._last, self._shown = now, True
            share = min(1.0, self.done / max(1, self.total))
            left = (now - self._started) * (1 - share) / max(share, 1e-9)
            line = (
                f"{self.name} {'█' * round(20 * share):·<20} {share:4.0%}, {left:.0f} s left "
                f" {what}"
            )
            print(
                "\r" + line[: _line_width()].ljust(_line_width()),
                end="",
                file=sys.stderr,
                flush=True,
            )

    def __exit__(self, *_: Any) -> None:
        if self._shown:
            print("\r" + " " * _line_width() + "\r", end="", file=sys.stderr, flush=True)
