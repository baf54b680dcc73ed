"""What the laws share."""

import shlex
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import registry, worst_case
from ..evidence import counted as counted
from ..mechanism import Mechanism
from ..protocol import Protocol
from ..worst_case import protocols as protocols
from ..worst_case import sizes as sizes

Z = 6.0
"""Standard deviations beyond which a statistical law rejects: a right protocol fails one with probability 2·10⁻⁹."""

ENUMERATED = 2**13
"""Largest number of pairs of a report and an input that is gone through in exact arithmetic."""


class NotApplicable(Exception):
    """A law says nothing about this protocol."""


def holds(truth: Any, why: str) -> None:
    """Raise unless everything is true."""
    if not np.all(truth):
        raise AssertionError(why)


def refuses(call: Callable[[], object], name: str, shown: object) -> None:
    """Raise unless the call is refused by an error that names the parameter."""
    try:
        call()
    except (ValueError, TypeError) as error:
        holds(name in str(error), f"the error for {shown!r} does not name {name!r}: {error}")
    else:
        raise AssertionError(f"{name}={shown!r} is accepted")


def repeated(law: str, subject: Any) -> str:
    """Return the line that holds a subject to a law again; what is not importable is named by module and class."""
    import multi_freq_ldpy

    imports, elsewhere = ["from multi_freq_ldpy import *"], []
    for cls in dict.fromkeys(map(type, (subject, *getattr(subject, "protocols", ())))):
        if cls.__module__ == "__main__" or cls.__qualname__ != cls.__name__:
            elsewhere.append(f"{cls.__qualname__} from {cls.__module__}")
        elif getattr(multi_freq_ldpy, cls.__name__, None) is not cls:
            imports.append(f"from {cls.__module__} import {cls.__name__}")
    call = f"checks.check_law({law!r}, {subject!r})"
    if elsewhere:
        return f"repeat: {call} with {', '.join(elsewhere)}"
    code = "; ".join([*imports, call])
    quoted = shlex.quote(code) if set(code) & set('"\\$`!') else f'"{code}"'
    return f"repeat: python -c {quoted}"


def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational numbers just below and just above e^x, x > 0, from the series: laws do not trust the arithmetic they check."""
    digits, halvings = 2**400, ceil(x).bit_length()
    low, high, lower, upper = 0, 0, digits, digits
    for i in range(1, 80):
        low, high = low + lower, high + upper
        lower, upper = floor(lower * x / (i << halvings)), ceil(upper * x / (i << halvings))
    high += 2 * upper  # more than all that is left
    for _ in range(halvings):
        low, high = low * low // digits, -(-high * high // digits)
    return Fraction(low, digits), Fraction(high, digits)


def cell(protocol: Protocol, value: int) -> int:
    """Return which of the estimated frequencies a value counts for."""
    return int(protocol.cell_of(np.array([value]))[0])


def inputs(subject: Mechanism, records: Any) -> Any:
    """Return records as the subject takes them: values, where there is only one attribute."""
    return np.asarray(records)[..., 0] if isinstance(subject, Protocol) else np.asarray(records)


def everyone(subject: Mechanism, value: Callable[[int], int], n: int) -> Any:
    """Return the inputs of n users who all hold, of each attribute of size k, the value ``value(k)``."""
    return inputs(subject, np.tile([value(k) for k in sizes(subject)], (n, 1)))


def spread(subject: Mechanism, n: int) -> Any:
    """Return n inputs that go through all combinations of values."""
    steps = [min(prod(sizes(subject)[:j]), 2**40) for j in range(len(subject.parts))]
    return inputs(subject, np.arange(n)[:, np.newaxis] // steps % np.array(sizes(subject)))


def listed(subject: Mechanism) -> bool:
    """Tell whether the registry knows the subject."""
    try:
        registry.to_spec(subject)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


def remade(subject: Mechanism, **changed: Any) -> Any:
    """Return the subject made again from its fields, some of them changed."""
    given = {each.name: getattr(subject, each.name) for each in fields(subject)} | changed  # type: ignore[arg-type]
    return getattr(type(subject), "of", type(subject))(**given)


def laws_of(subject: Any) -> list[dict[bytes, Fraction]]:
    """Return the law of every input, the last attribute changing fastest, where that can be gone through."""
    try:
        return worst_case.laws_of(subject, ENUMERATED)
    except worst_case.Unlisted as error:
        raise NotApplicable(str(error)) from None


def many(subject: Mechanism) -> int:
    """Return how many reports the statistical laws draw: enough to see an error of one per cent."""
    n: int = min(2_000_000, 60_000_000 // subject.parts[-1][1].stop) // len(subject.parts)
    return n if all(seen.channel.binary for seen, _ in subject.parts) else n // 8  # exact noise takes longer to draw


def chi_square(observed: NDArray[Any], expected: NDArray[Any]) -> tuple[float, float, int]:
    """Return how many deviations a chi-square is from its mean, itself and its degrees of freedom; rare outcomes are taken together.

    Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is close to normal.
    """
    common = expected >= 5
    groups = [(observed[common], expected[common])]
    if not common.all():
        groups.append((observed[~common].sum(keepdims=True), expected[~common].sum(keepdims=True)))
    squares = float(sum(((o - e) ** 2 / e).sum() for o, e in groups))
    freedom = max(1, sum(len(o) for o, _ in groups) - 1)
    return ((squares / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / (2 / (9 * freedom)) ** 0.5, squares, freedom
