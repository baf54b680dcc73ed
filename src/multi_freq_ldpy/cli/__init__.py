"""The command line: ``multi-freq-ldpy --help``."""

import io
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line, or name the package that has to be installed."""
    try:
        from .app import app
    except ImportError as error:
        print(
            f"the command line needs {error.name}, which is not installed: pip install"
            " 'multi-freq-ldpy[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Some terminals have no bars and no Greek letters
            stream.reconfigure(errors="replace")
    try:
        app()
    finally:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
