"""Compiled loops over arrays and integers: the only place that imports numba.

Kernels know no protocols and validate nothing. Each kernel is serial and releases the GIL.
``core.parallel`` runs them in threads.
"""
