"""Compiled loops over arrays and integers: the only place that imports numba.

Kernels know nothing of protocols and validate nothing. Each is serial and releases the GIL;
``parallel`` puts threads above.
"""
