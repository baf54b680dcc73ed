"""What RS+FD sends about the attributes that were not sampled."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NOBODY = -1
"""The value of no user.

A protocol whose fakes are not reports of random values randomizes it into a fake.
"""


@dataclass(frozen=True)
class Fake:
    """The law of a fake report, as far as the aggregator and the guarantee need it.

    ``mean`` and ``pair`` are the means of its contribution to a value, and of the product of its
    contributions to two. A real report is more, or less, likely than the same report as a fake;
    ``lows`` are the smallest and the largest of the lower ratios of the two probabilities, over all
    reports that tell values apart. ``uniform`` says that a fake is the report of a uniformly random
    value; otherwise it is that of ``NOBODY``.
    """

    mean: Fraction
    pair: Fraction
    lows: tuple[Fraction, Fraction]
    law: Callable[[], dict[bytes, Fraction]]
    uniform: bool = False

    @classmethod
    def of_uniform_value(cls, protocol: Any, smallest: Fraction, largest: Fraction) -> "Fake":
        """Return the fake that is the report of a uniformly random value."""
        k, channel = protocol.k, protocol.moments
        own_other, others = (Fraction(m or 0) for m in (channel.own_other, channel.others))

        def law() -> dict[bytes, Fraction]:
            laws = [protocol.law(v) for v in range(k)]
            return {
                report: sum((law[report] for law in laws), Fraction(0)) / k for report in laws[0]
            }

        pair = (2 * own_other + (k - 2) * others) / k
        return cls(
            (channel.p + (k - 1) * channel.q) / k, pair, (smallest, largest), law, uniform=True
        )
