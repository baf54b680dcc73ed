"""The command line as a module: ``python -m multi_freq_ldpy.cli``."""

from . import main

main()
