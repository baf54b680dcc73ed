"""The command line: ``multi-freq-ldpy --help``."""

import sys


def main() -> None:
    """Run the command line, or say what has to be installed."""
    try:
        from .app import app
    except ImportError as error:
        print(f"the command line needs {error.name}, which is not installed: pip install 'multi-freq-ldpy[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    app()
