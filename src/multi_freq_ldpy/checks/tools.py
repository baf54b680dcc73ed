"""What the laws share."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol import Protocol

Z = 6.0
"""Standard deviations beyond which a statistical law rejects: a right protocol fails one with probability 2·10⁻⁹."""

ENUMERATED = 2**16
"""Largest number of (report, value, value) that is gone through in exact arithmetic."""


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


def spread(protocol: Protocol, n: int) -> NDArray[np.int64]:
    """Return n values that go through the domain."""
    return np.arange(n) % protocol.k


def laws_of(protocol: Protocol) -> list[dict[bytes, Fraction]]:
    """Return the law of every value, where that can be gone through."""
    try:
        found = [protocol.law(0)]
    except ValueError as error:
        raise NotApplicable(str(error)) from None
    if len(found[0]) * protocol.k**2 > ENUMERATED:
        raise NotApplicable(f"k={protocol.k} gives {len(found[0])} reports, too many to go through for all pairs of values")
    return found + [protocol.law(v) for v in range(1, protocol.k)]


def many(protocol: Protocol) -> int:
    """Return how many reports the statistical laws draw: enough to see an error of one per cent."""
    n = min(3_000_000, 60_000_000 // protocol.k)
    return n if protocol.channel.binary else n // 4  # exact noise takes longer to draw
