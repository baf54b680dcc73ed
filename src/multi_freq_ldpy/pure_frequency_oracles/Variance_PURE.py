"""The variance of pure protocols as a function.

>>> round(VAR_Pure(p=0.5, q=0.25, n=100), 4)
0.03
"""

from ..channel import Channel


def VAR_Pure(p: float, q: float, n: int = 1, f: float = 0) -> float:
    """Return the variance of a frequency estimated from n reports whose true value is f."""
    return float(Channel(p, q).variance(n, f))
