"""The variance of pure protocols as a function.

>>> round(VAR_Pure(p=0.5, q=0.25, n=100), 4)
0.03
"""

from .. import _check
from ..channel import Channel


def VAR_Pure(p: float, q: float, n: int = 1, f: float = 0) -> float:
    """Return the variance of a frequency estimated from n reports whose true value is f."""
    users = _check.Integer(0, 2**62)("n", n)
    channel = Channel(_check.probability("p", p), _check.probability("q", q))
    return float(channel.variance(users, _check.probability("f", f)))
