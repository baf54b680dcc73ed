"""The fake reports that RS+FD sends about the attributes that were not sampled."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NOBODY = -1
"""A value that no user holds.

If the fakes of a protocol are not reports of random values, it randomizes this value into a fake.
"""


@dataclass(frozen=True)
class Fake:
    """The distribution of a fake report, as far as the aggregator and the guarantee need it.

    ``mean`` is the mean contribution of a fake to a value. ``pair`` is the mean product of its
    contributions to two values. ``second`` is the mean square of a contribution. It is needed only
    if contributions are not 0 and 1. The probability of a report given a value, divided by its
    probability as a fake, is a ratio with two possible values. ``lows`` holds the smallest and the
    largest of the lower values, over all reports that tell values apart. If the ratio has more
    values, only the two values that are furthest apart count.

    ``law()`` lists every fake report with its probability. ``chance(report)`` is the probability of
    one report. If only ``chance`` is given, ``of`` is the protocol whose reports the fakes are.
    ``uniform`` is True if a fake is the report of a uniformly random value. Otherwise a fake is the
    report of ``NOBODY``.
    """

    mean: Fraction
    pair: Fraction
    lows: tuple[Fraction, Fraction]
    law: Callable[[], dict[bytes, Fraction]] = None  # type: ignore[assignment]
    uniform: bool = False
    chance: Callable[[bytes], Fraction] = None  # type: ignore[assignment]
    of: Any = None
    second: Fraction | None = None

    def __post_init__(self) -> None:
        if self.law is None:
            chance, of = self.chance, self.of
            listed = lambda: {report: chance(report) for report in of.law(0)}  # noqa: E731
            object.__setattr__(self, "law", listed)
        elif self.chance is None:
            object.__setattr__(self, "chance", lambda report: self.law()[report])

    @classmethod
    def of_uniform_value(
        cls,
        protocol: Any,
        smallest: Fraction,
        largest: Fraction,
        chance: Callable[[bytes], Fraction] | None = None,
    ) -> "Fake":
        """Return the fake that is the report of a uniformly random value.

        ``chance`` gives its probability, if this is known without a sum over all values.
        """
        k, moments = protocol.k, protocol.moments
        own_other, others = (Fraction(m or 0) for m in (moments.own_other, moments.others))

        def mean(report: bytes) -> Fraction:
            chances: list[Fraction] = [protocol.likelihood(report, v) for v in range(k)]
            return sum(chances, Fraction(0)) * Fraction(1, int(k))

        return cls(
            (moments.p + (k - 1) * moments.q) / k,
            (2 * own_other + (k - 2) * others) / k,
            (smallest, largest),
            uniform=True,
            chance=chance or mean,
            of=protocol,
        )
