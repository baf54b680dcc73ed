"""The functions of ``kernels`` in NumPy and Python: the same names, arguments and bytes.

They need no compiler. They draw small batches, and all batches where numba is not installed.
"""
