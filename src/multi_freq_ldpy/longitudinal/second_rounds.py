"""Second rounds: the noise that every report adds to the permanent answer.

With it, one report alone costs at most eps_1, exactly. The permanent round is given as realised, in
fractions. e^eps_1 is enclosed between fractions. Weights over 2⁶⁴ are rounded toward privacy.
"""

from fractions import Fraction
from math import ceil

from ..core import exact


def second_symbols(m: int, p: Fraction, q: Fraction, eps_1: float) -> tuple[int, int]:
    """Return the weights (T, Q) of keeping a symbol out of m and of each other symbol.

    All paths count, also the paths through third symbols. The p − q of the chain is the product of
    the p − q of the rounds. Its ratio (1 + (m − 1)(p − q))/(1 − (p − q)) is at most c for
    p − q ≤ (c − 1)/(c + m − 1).

    >>> t, q = second_symbols(3, Fraction(1, 2), Fraction(1, 4), 0.5)
    >>> t + 2 * q == 2**64, round(t / 2**64, 6)
    (True, 0.807451)
    """
    c, _ = exact.exp(exact.budget(eps_1))
    gap = (c - 1) / ((c + m - 1) * (p - q))
    if gap >= 1:
        raise _unreachable(eps_1, p / q)
    other = ceil(exact.WORD * (1 - gap) / m)
    own = exact.WORD - (m - 1) * other
    if own <= other:
        raise exact.too_small(eps_1, m, "eps_1")
    return own, other


def second_bits(p: Fraction, q: Fraction, eps_1: float, *, half: bool, k: int) -> int:
    """Return the weight Q with which a 0 becomes 1.

    A 1 stays 1 with probability 1 − Q/2⁶⁴, or 1/2 if ``half``.

    The ratio grows as the noise shrinks. Bisection finds the smallest Q that keeps the ratio within
    e^eps_1.

    >>> second_bits(Fraction(1, 2), Fraction(1, 10), 0.5, half=False, k=5) / 2**64
    0.3469258359976818
    """

    def ratio(weight: int) -> Fraction:
        zero = Fraction(weight, exact.WORD)
        gap = (Fraction(1, 2) if half else 1 - zero) - zero
        own, other = zero + p * gap, zero + q * gap
        return own * (1 - other) / (other * (1 - own))

    c, _ = exact.exp(exact.budget(eps_1))
    low, high = 0, exact.WORD // 2
    if ratio(low) <= c:
        raise _unreachable(eps_1, ratio(low))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ratio(middle) <= c else (middle, high)
    if high == exact.WORD // 2:
        raise exact.too_small(eps_1, k, "eps_1")
    return high


def _unreachable(eps_1: float, ratio: Fraction) -> ValueError:
    """Return the error for an eps_1 that no report reaches, even without second-round noise."""
    return ValueError(
        f"eps_1={eps_1!r} has no second round: the permanent round leaves at most"
        f" eps_1={exact.largest_below(ratio)!r}"
    )
