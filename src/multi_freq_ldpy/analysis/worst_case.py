"""The exact worst-case loss: every report, every pair of inputs, in rational arithmetic."""

from fractions import Fraction
from math import inf, lcm, prod
from typing import Any, Self

import numpy as np

from ..core import exact, validate
from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_mechanism
from ..protocol import Protocol

MOST_PAIRS = 2**20
"""Pairs of a report and an input that are gone through at most."""


class Unlisted(ValueError):
    """The reports of a protocol cannot be listed."""


class TooMany(Unlisted):
    """The reports of a protocol are too many."""

    def __init__(self, mechanism: object, reports: int, inputs: int, most: int) -> None:
        many = f"{reports} reports of {inputs} inputs"
        super().__init__(
            f"{validate.quote(mechanism)} has {many}, which are more than the {most} pairs that can"
            " be gone through"
        )


class WorstCase(float):
    """A privacy loss, and what attains it.

    The number is the logarithm of ``ratio``, the exact fraction (None where it is infinite): so
    many times is ``report``, as on the wire, likelier for the first of ``inputs`` than for the
    second. Of a lifetime, the report is the permanent answer that all reports come to.
    """

    ratio: Fraction | None
    inputs: tuple[Any, Any] | None
    report: bytes | None

    def __new__(
        cls,
        ratio: Fraction | None,
        inputs: tuple[Any, Any] | None = None,
        report: bytes | None = None,
    ) -> Self:
        """Return the loss of a ratio."""
        self = super().__new__(cls, inf if ratio is None else exact.log(ratio))
        self.ratio, self.inputs, self.report = ratio, inputs, report
        return self

    def __getnewargs__(self) -> Any:
        return self.ratio, self.inputs, self.report

    def __repr__(self) -> str:
        if self.inputs is None or self.report is None:
            return f"{float(self)!r}: every further report tells more"
        first, second = self.inputs
        if self.ratio is None:
            return (
                f"{float(self)!r}: report 0x{self.report.hex()} is possible for {first}, not for"
                f" {second}"
            )
        times = f"{float(self.ratio):.6g}" if self < 700 else f"e^{float(self):.6g}"
        return (
            f"{float(self)!r}: report 0x{self.report.hex()} is {times} times as likely for {first}"
            f" as for {second}"
        )


class ExactEpsilon(WorstCase):
    """What ``exact_epsilon`` found.

    The loss of one report between any two inputs, which is the definition; and the other notions.

    ``attribute`` is the loss of one report between records that differ in one attribute,
    ``lifetime`` and ``lifetime_attribute`` those of all reports ever made about unchanged values.
    """

    attribute: WorstCase
    lifetime: WorstCase
    lifetime_attribute: WorstCase

    def __repr__(self) -> str:
        names = ("one report", "one attribute", "lifetime", "lifetime, one attribute")
        losses = (
            super().__repr__(),
            repr(self.attribute),
            repr(self.lifetime),
            repr(self.lifetime_attribute),
        )
        return "\n".join(f"{name:24}{loss}" for name, loss in zip(names, losses, strict=True))


@accept_old_names(protocol="mechanism")
def exact_epsilon(mechanism: Mechanism) -> ExactEpsilon:
    r"""Return the exact privacy loss of a protocol or solution, from its ``law``.

    With the inputs and the report that attain it.

    It goes through all reports of all inputs, so they must not be too many; otherwise a ValueError
    says how many there are. Protocols written elsewhere are measured likewise, whatever they claim
    in ``privacy``; that their reports follow their law is for ``checks.check_protocol`` and
    ``audit`` to find out.

    >>> from multi_freq_ldpy import GRR, LGRR
    >>> exact_epsilon(GRR(3, epsilon=1.0)).inputs, exact_epsilon(GRR(3, epsilon=1.0)).report
    ((0, 1), b'\x00')
    >>> found = exact_epsilon(LGRR(3, eps_perm=2.0, eps_1=1.0))
    >>> float(found), float(found.lifetime)
    (1.0, 2.0)
    """
    require_mechanism(mechanism)
    whole, one = find_losses(mechanism)
    result = ExactEpsilon(whole.ratio, whole.inputs, whole.report)
    result.attribute = one
    if mechanism.permanent is None:
        result.lifetime = result.lifetime_attribute = WorstCase(None)
    else:
        result.lifetime, result.lifetime_attribute = (
            (whole, one) if mechanism.permanent is mechanism else find_losses(mechanism.permanent)
        )
    return result


def find_losses(mechanism: Mechanism, most: int = MOST_PAIRS) -> tuple[WorstCase, WorstCase]:
    """Return the largest loss of a report between any two inputs, and between two that differ in
    one attribute.
    """
    laws = laws_of(mechanism, most)
    for law in laws:
        if (
            not law
            or not all(isinstance(chance, Fraction | int) for chance in law.values())
            or sum(law.values()) != 1
        ):
            raise TypeError(
                f"law of {validate.quote(mechanism)} must give fractions that add up to 1, not"
                f" {validate.quote(law)}"
            )
    reports = list(dict.fromkeys(report for law in laws for report in law))
    if len(reports) * len(laws) > most:
        raise TooMany(mechanism, len(reports), len(laws), most)
    table, ks = _integer_table(laws, reports), sizes_of(mechanism)
    cube = table.reshape(*ks, len(reports))
    whole = _find_largest(table, 0, reports, lambda at, input: np.unravel_index(input, ks))
    found = [
        _find_largest(cube, j, reports, lambda at, input, j=j: (*at[:j], input, *at[j:]))
        for j in range(len(ks))
    ]
    one = max(found, key=lambda each: inf if each.ratio is None else each.ratio)
    if isinstance(mechanism, Protocol):
        for each in (whole, one):
            assert each.inputs is not None
            each.inputs = each.inputs[0][0], each.inputs[1][0]
    return whole, one


def _integer_table(laws: list[dict[bytes, Fraction]], reports: list[bytes]) -> Any:
    """Return likelihoods times a common denominator, as integers.

    A row an input, a column a report.
    """
    chances = {id(chance): chance for law in laws for chance in law.values()}
    common = lcm(*{chance.denominator for chance in chances.values()})
    scaled = {
        at: chance.numerator * (common // chance.denominator) for at, chance in chances.items()
    }
    return np.array(
        [[scaled[id(law[report])] if report in law else 0 for report in reports] for law in laws],
        object,
    )


def _find_largest(table: Any, axis: int, reports: list[bytes], record: Any) -> WorstCase:
    """Return the largest ratio of likelihoods along an axis.

    ``record`` makes a record of where the others and this one are.
    """
    known: dict[tuple[int, int], Any] = {}  # most reports have the ratio of another one

    def ratio(top: int, low: int) -> Any:
        if (top, low) not in known:
            known[top, low] = Fraction(top, low) if low else inf if top else 1
        return known[top, low]

    ratios = np.frompyfunc(ratio, 2, 1)(table.max(axis=axis), table.min(axis=axis))
    where = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    column = np.moveaxis(table, axis, -1)[where]
    inputs = [tuple(map(int, record(where[:-1], int(at(column))))) for at in (np.argmax, np.argmin)]
    worst = ratios[where]
    return WorstCase(
        None if worst == inf else Fraction(worst), (inputs[0], inputs[1]), reports[where[-1]]
    )


def protocols_of(mechanism: Mechanism) -> tuple[Protocol, ...]:
    """Return the protocol of each attribute."""
    several: Any = mechanism
    return (mechanism,) if isinstance(mechanism, Protocol) else tuple(several.protocols)


def sizes_of(mechanism: Mechanism) -> tuple[int, ...]:
    """Return the domain size of each attribute."""
    return tuple(each.k for each in protocols_of(mechanism))


def laws_of(mechanism: Any, most: int = MOST_PAIRS) -> list[dict[bytes, Fraction]]:
    """Return the law of every input, the last attribute changing fastest, if they have no more than
    ``most`` entries together.
    """
    ks = sizes_of(mechanism)
    every = (
        [record[0] if isinstance(mechanism, Protocol) else record for record in np.ndindex(ks)]
        if prod(ks) <= most
        else []
    )
    try:
        first = mechanism.law(
            every[0] if every else 0 if isinstance(mechanism, Protocol) else [0] * len(ks)
        )
    except (ValueError, NotImplementedError) as error:
        raise Unlisted(str(error) or f"{validate.quote(mechanism)} has no law") from None
    if len(first) * prod(ks) > most:
        raise TooMany(mechanism, len(first), prod(ks), most)
    return [first, *(mechanism.law(each) for each in every[1:])]
