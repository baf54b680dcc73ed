"""Probabilities as integers over 2⁶⁴, derived without floating point.

They are rounded once, toward privacy. Everything starts from the exact value of the user's double.
e^x is enclosed between two rational numbers (``decimal`` at 80 digits, widened). The bound on the
private side is used, so every inequality that the guarantee needs holds exactly.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import ceil, floor, inf, nextafter

WORD = 2**64
_CONTEXT = Context(prec=80, rounding=ROUND_HALF_EVEN, Emin=-(10**6), Emax=10**6)
_SLACK = Fraction(1, 10**70)


def decimal(x: Fraction) -> Decimal:
    """Return x to 80 digits."""
    return _CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))


def budget(epsilon: float) -> Fraction:
    """Return the exact value of a budget, at most 1000.

    No probability above 2⁻⁶⁴ can tell larger budgets from 1000.
    """
    return min(Fraction(epsilon), Fraction(1000))


def exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational numbers just below and just above e^x."""
    value = Fraction(_CONTEXT.exp(decimal(x)))
    return value * (1 - _SLACK), value * (1 + _SLACK)


def ln(ratio: Fraction) -> Fraction:
    """Return the natural logarithm to 70 digits or more."""
    return Fraction(_CONTEXT.ln(decimal(ratio)))


def log(ratio: Fraction) -> float:
    """Return the double nearest to ln(ratio)."""
    return float(ln(ratio))


def below(x: Fraction) -> float:
    """Return the largest double that is at most x.

    >>> below(Fraction(1.0) / 10) < 0.1
    True
    """
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else nextafter(nearest, -inf)


def amplify(epsilon: float, d: int) -> float:
    """Return ln(d·(e^ε − 1) + 1), rounded down.

    This is the budget at which RS+FD reports one of d attributes.

    >>> round(amplify(1.0, 2), 5), amplify(1.0, 1)
    (1.48988, 1.0)
    """
    if d == 1:
        return epsilon
    lower, _ = exp(budget(epsilon))
    return max(epsilon, below(ln(d * (lower - 1) + 1) * (1 - _SLACK)))


def largest_below(ratio: Fraction) -> float:
    """Return the largest double whose exponential is at most ``ratio``.

    >>> largest_below(exp(Fraction(2.0))[0]) < 2.0
    True
    """
    return below(ln(ratio) * (1 - _SLACK))


def too_small(epsilon: float, k: int, name: str = "epsilon") -> ValueError:
    """Return the error for a budget that is too small.

    Its probabilities are equal once they are multiples of 2⁻⁶⁴.
    """
    return ValueError(
        f"{name}={epsilon!r} is too small to be realised with k={k}: the probabilities round to"
        " equality"
    )


def symbol_weights(m: int, epsilon: float, k: int | None = None) -> tuple[int, int]:
    """Return the integer weights (T, Q) of the own symbol and of each other one.

    T + (m − 1)·Q = 2⁶⁴. T/Q is as close to e^ε as possible without exceeding it.

    >>> t, q = symbol_weights(3, 1.0)
    >>> t + 2 * q == 2**64, round(t / q, 6)
    (True, 2.718282)
    """
    below, _ = exp(budget(epsilon))
    q = ceil(WORD / (below + m - 1))
    t = WORD - (m - 1) * q
    if t <= q:
        raise too_small(epsilon, k or m)
    return t, q


def bit_weights(p: Fraction, q: Fraction, epsilon: float, k: int) -> tuple[int, int]:
    """Return p rounded down and q rounded up to multiples of 2⁻⁶⁴, as integers.

    Both are strictly between 0 and 1.
    """
    own, other = min(WORD - 1, floor(p * WORD)), max(1, ceil(q * WORD))
    if own <= other:
        raise too_small(epsilon, k)
    return own, other
