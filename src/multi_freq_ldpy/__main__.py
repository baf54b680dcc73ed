"""The command line as a module: ``python -m multi_freq_ldpy``."""

from .cli import main

if __name__ == "__main__":
    main()
