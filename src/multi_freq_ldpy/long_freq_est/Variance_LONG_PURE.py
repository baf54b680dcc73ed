"""The variance of two rounds as a function; arguments may be arrays.

>>> round(VAR_Long_Pure(p1=0.8, q1=0.1, p2=0.9, q2=0.05, n=100), 4)
0.0033
"""

from typing import Any

from numpy.typing import ArrayLike

from ..paper.shared import check_probabilities
from ..pure_frequency_oracles.Variance_PURE import VAR_Pure


def VAR_Long_Pure(
    p1: ArrayLike, q1: ArrayLike, p2: ArrayLike, q2: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of a frequency estimated from one report of each of n users, after two
    rounds, whose true value is f.
    """
    (own, other), (kept, added) = (
        check_probabilities(p1, q1, ("p1", "q1")),
        check_probabilities(p2, q2, ("p2", "q2")),
    )
    return VAR_Pure(added + own * (kept - added), added + other * (kept - added), n, f)
