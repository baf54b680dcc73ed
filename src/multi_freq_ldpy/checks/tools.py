"""Functions that the checks share."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import registry
from ..analysis import worst_case
from ..analysis.evidence import count_reports as count_reports
from ..core.randomness import Source
from ..mechanism import Mechanism
from ..protocol import Protocol

T = TypeVar("T")
Z = 6.0
"""Number of standard deviations beyond which a statistical check rejects.

A correct protocol fails one comparison with probability 2·10⁻⁹.
"""

ENUMERATED = 2**13
"""Largest number of pairs of a report and an input that are enumerated in exact arithmetic."""


class NotApplicable(Exception):
    """The exception for a check that does not apply to this mechanism."""


def holds(truth: Any, why: str) -> None:
    """Raise an error unless everything is true."""
    if not np.all(truth):
        raise AssertionError(why)


def refuses(call: Callable[[], object], name: str, shown: object) -> None:
    """Raise an error unless the call is refused by an error that names the parameter."""
    try:
        call()
    except (ValueError, TypeError) as error:
        holds(name in str(error), f"the error for {shown!r} does not name {name!r}: {error}")
    else:
        raise AssertionError(f"{name}={shown!r} is accepted")


def list_parts(mechanism: Any) -> list[Any]:
    """Return a mechanism, its parts, their parts and so on."""
    inner = getattr(mechanism, "protocols", ())
    return [mechanism, *(part for each in inner for part in list_parts(each))]


class Watched(Source):
    """A source that records which bytes are read under which key."""

    __slots__ = ("reads",)
    reads: list[tuple[bytes, int, int]]

    @classmethod
    def over(cls, source: Source) -> "Watched":
        """Return a source that is watched from now on."""
        found = cls(source.key, source.first, source.numbers)
        object.__setattr__(found, "reads", [])
        return found

    def _like(self, key: Any, first: int, numbers: Any) -> "Watched":
        found = Watched(key, first, numbers)
        object.__setattr__(found, "reads", self.reads)
        return found

    def users(self, n: int, stride: int) -> tuple[int, NDArray[np.uint64]]:
        """Return the users' numbers, and record the bytes that they read."""
        if self.numbers is None and n:
            first = self.first * stride
            self.reads.append((self.key.tobytes(), first, first + n * stride))
        return super().users(n, stride)

    def find_twice(self) -> bool:
        """Return True if bytes were read twice."""
        ordered = sorted(self.reads)
        return any(a[0] == b[0] and b[1] < a[2] for a, b in pairwise(ordered))


def repeat_command(check: str, mechanism: Any) -> str:
    """Return the command that runs a check on a mechanism again.

    A class that cannot be imported is named with its module.
    """
    package = sys.modules[__name__.partition(".")[0]]
    imports, elsewhere = ["from multi_freq_ldpy import *"], []
    for cls in dict.fromkeys(map(type, list_parts(mechanism))):
        if cls.__module__ == "__main__" or cls.__qualname__ != cls.__name__:
            elsewhere.append(f"{cls.__qualname__} from {cls.__module__}")
        elif getattr(package, cls.__name__, None) is not cls:
            imports.append(f"from {cls.__module__} import {cls.__name__}")
    call = f"checks.run_check({check!r}, {mechanism!r})"
    if elsewhere:
        return f"repeat: {call} with {', '.join(elsewhere)}"
    code = "; ".join([*imports, call])
    quoted = shlex.quote(code) if set(code) & set('"\\$`!') else f'"{code}"'
    return f"repeat: python -c {quoted}"


def enclose_exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational numbers just below and just above e^x, x > 0, from the series.

    Checks do not rely on the arithmetic that they check.
    """
    digits, halvings = 2**400, ceil(x).bit_length()
    low, high, lower, upper = 0, 0, digits, digits
    for i in range(1, 80):
        low, high = low + lower, high + upper
        lower, upper = floor(lower * x / (i << halvings)), ceil(upper * x / (i << halvings))
    high += 2 * upper  # more than the rest of the series
    for _ in range(halvings):
        low, high = low * low // digits, -(-high * high // digits)
    return Fraction(low, digits), Fraction(high, digits)


def cell_of(protocol: Protocol, value: int) -> int:
    """Return the index of the estimated frequency for which a value counts."""
    return int(protocol.cell_of(np.array([value]))[0])


def as_inputs(mechanism: Mechanism, records: Any) -> Any:
    """Return records as the mechanism takes them: for a protocol, values instead of records."""
    return np.asarray(records)[..., 0] if isinstance(mechanism, Protocol) else np.asarray(records)


def inputs_of_all(mechanism: Mechanism, record: list[int], n: int) -> Any:
    """Return the inputs of n users who all hold this record."""
    return as_inputs(mechanism, np.tile(record, (n, 1)))


def spread_inputs(mechanism: Mechanism, n: int) -> Any:
    """Return n inputs that run through all combinations of values."""
    if mechanism.rounds is not None:
        several = hasattr(mechanism, "protocols")
        values = np.random.default_rng(n).integers(
            0, mechanism.ks, (n, mechanism.rounds, len(mechanism.ks))
        )
        return values if several else values[..., 0]
    steps = [min(prod(mechanism.ks[:j]), 2**40) for j in range(len(mechanism.parts))]
    return as_inputs(mechanism, np.arange(n)[:, np.newaxis] // steps % np.array(mechanism.ks))


def is_registered(mechanism: Mechanism) -> bool:
    """Return True if the registry knows the mechanism."""
    try:
        registry.to_spec(mechanism)
    except ValueError:
        return False
    return True


def widen(mechanism: Any) -> Any:
    """Return the mechanism with one more value for its first attribute."""
    if isinstance(mechanism, Protocol):
        return rebuild(mechanism, k=mechanism.k + 1)
    first, *rest = mechanism.protocols
    return rebuild(mechanism, protocols=(widen(first), *rest))


def rebuild(mechanism: Mechanism, **changed: Any) -> Any:
    """Return a mechanism that is made again from its fields, with some fields changed."""
    given = {each.name: getattr(mechanism, each.name) for each in fields(mechanism)} | changed  # type: ignore[arg-type]
    return getattr(type(mechanism), "of", type(mechanism))(**given)


def laws_of(mechanism: Any) -> list[dict[bytes, Fraction]]:
    """Return the exact distribution of a report for every input, if reports can be enumerated.

    The last attribute changes fastest.
    """
    return listed(worst_case.laws_of, mechanism)


def listed(what: Callable[[Mechanism, int], T], mechanism: Mechanism) -> T:
    """Return the result of a function that enumerates reports, if there are not too many."""
    try:
        return what(mechanism, ENUMERATED)
    except worst_case.Unlisted as error:
        raise NotApplicable(str(error)) from None


def count_draws(mechanism: Mechanism) -> int:
    """Return the number of reports that statistical checks draw.

    It is enough to see an error of 1 %.
    """
    n: int = min(2_000_000, 60_000_000 // mechanism.parts[-1][1].stop) // len(mechanism.parts)
    # Exact noise takes longer to draw than bits
    return n if all(seen.channel.largest == 1 for seen, _ in mechanism.parts) else n // 8


def chi_square(observed: NDArray[Any], expected: NDArray[Any]) -> tuple[float, float, int]:
    """Return the distance of a chi-square from its mean, the chi-square and its degrees of freedom.

    The distance is in standard deviations. Rare outcomes are taken together. By Wilson and
    Hilferty, the cube root of a chi-square over its degrees of freedom is close to normal.
    """
    common = expected >= 5
    groups = [(observed[common], expected[common])]
    if not common.all():
        groups.append((observed[~common].sum(keepdims=True), expected[~common].sum(keepdims=True)))
    squares = float(sum(((o - e) ** 2 / e).sum() for o, e in groups))
    freedom = max(1, sum(len(o) for o, _ in groups) - 1)
    return (
        ((squares / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / (2 / (9 * freedom)) ** 0.5,
        squares,
        freedom,
    )
