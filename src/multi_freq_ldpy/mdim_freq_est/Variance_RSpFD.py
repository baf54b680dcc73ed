"""The variance of RS+FD as functions, for users drawn from a population.

``solution.variance(n, f)`` is for given users. Drawing them adds the variance of a sample, f·(1 − f)/n, which these formulas of the paper
hold: they describe the error in estimating the population.

>>> round(VAR_RSpFD_GRR(p=0.7, q=0.1, k=4, d=3, n=1000, f=0.2), 5)
0.00456
"""

from .. import _check
from ..channel import Channel


def _variance(p: float, q: float, fake: float, d: int, n: int, f: float) -> float:
    users, share = _check.Integer(0, 2**62)("n", n), _check.probability("f", f)
    seen = Channel(p, q).mixed(1 / d, fake)
    return float(seen.variance(users, share)) + (share * (1 - share) / users if users else 0.0)


def _parameters(p: float, q: float, d: int, k: int = 2) -> tuple[float, float, int, int]:
    chances = _check.probability("p", p), _check.probability("q", q)
    return *chances, _check.Integer(1, 2**32)("d", d), _check.domain_size("k", k)


def VAR_RSpFD_GRR(p: float, q: float, k: int, d: int, n: int = 1, f: float = 0) -> float:
    """Return the variance of RS+FD[GRR]; p and q at the amplified budget."""
    p, q, d, k = _parameters(p, q, d, k)
    return _variance(p, q, 1 / k, d, n, f)


def VAR_RSpFD_UE_zero(p: float, q: float, d: int, n: int = 1, f: float = 0) -> float:
    """Return the variance of RS+FD[UE-zero]; p and q at the amplified budget."""
    p, q, d, _ = _parameters(p, q, d)
    return _variance(p, q, q, d, n, f)


def VAR_RSpFD_UE_rnd(p: float, q: float, k: int, d: int, n: int = 1, f: float = 0) -> float:
    """Return the variance of RS+FD[UE-rnd]; p and q at the amplified budget."""
    p, q, d, k = _parameters(p, q, d, k)
    return _variance(p, q, (p + (k - 1) * q) / k, d, n, f)
