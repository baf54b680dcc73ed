"""The functions of ``kernels`` in NumPy and Python: the same names, arguments and bytes.

They need no compiler. Small batches are drawn here, and everything where numba is not installed.
"""
