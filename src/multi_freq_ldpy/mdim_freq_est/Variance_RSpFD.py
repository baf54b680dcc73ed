"""The variance of RS+FD as functions, for users drawn from a population; arguments may be arrays.

``solution.variance(n, f)`` is for given users. Drawing them adds the variance of a sample, f·(1 −
f)/n, which these formulas of the paper hold: they describe the error in estimating the population.

>>> round(VAR_RSpFD_GRR(p=0.7, q=0.1, k=4, d=3, n=1000, f=0.2), 5)
0.00456
"""

from typing import Any

from numpy.typing import ArrayLike

from ..core import validate
from ..paper.shared import as_float, check_probabilities


def _variance(p: Any, q: Any, fake: Any, d: ArrayLike, n: ArrayLike, f: ArrayLike) -> Any:
    d, users, f = (
        validate.numbers("d", d, 1),
        validate.numbers("n", n, 1),
        validate.numbers("f", f, 0, 1),
    )
    supported = (q + f * (p - q) + (d - 1) * fake) / d
    return as_float(d**2 * supported * (1 - supported) / (users * (p - q) ** 2))


def VAR_RSpFD_GRR(
    p: ArrayLike, q: ArrayLike, k: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of RS+FD[GRR]; p and q at the amplified budget."""
    p, q = check_probabilities(p, q)
    return _variance(p, q, 1 / validate.numbers("k", k, 2), d, n, f)


def VAR_RSpFD_UE_zero(
    p: ArrayLike, q: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of RS+FD[UE-zero]; p and q at the amplified budget."""
    p, q = check_probabilities(p, q)
    return _variance(p, q, q, d, n, f)


def VAR_RSpFD_UE_rnd(
    p: ArrayLike, q: ArrayLike, k: ArrayLike, d: ArrayLike, n: ArrayLike = 1, f: ArrayLike = 0
) -> Any:
    """Return the variance of RS+FD[UE-rnd]; p and q at the amplified budget."""
    p, q = check_probabilities(p, q)
    return _variance(p, q, q + (p - q) / validate.numbers("k", k, 2), d, n, f)
