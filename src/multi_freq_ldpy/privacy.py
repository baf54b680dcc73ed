"""What a protocol really promises, by notion of neighbouring inputs and by what is observed."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from . import exact


@dataclass(frozen=True)
class Privacy:
    """Privacy losses as realised: the largest logarithm of a ratio of probabilities between two inputs.

    ``report``: any two inputs, one report alone, which is the definition of local differential privacy. ``lifetime``: any two
    inputs, all reports ever made about unchanged values; infinite for one-shot protocols, whose losses add up. The
    ``_attribute`` notions compare inputs that differ in one attribute only. ``ratio`` is e^report as an exact fraction where it is one.

    >>> Privacy.one_shot(Fraction(3)).report == exact.log(Fraction(3))
    True
    """

    report: float
    lifetime: float
    report_attribute: float
    lifetime_attribute: float
    ratio: Fraction | None = field(default=None, repr=False)

    @classmethod
    def one_shot(cls, loss: Fraction | float) -> "Privacy":
        """Return the privacy of one attribute reported once, from its exact ratio or, where that is not rational, its loss."""
        ratio = loss if isinstance(loss, Fraction) else None
        report = exact.log(loss) if isinstance(loss, Fraction) else loss
        return cls(report=report, lifetime=inf, report_attribute=report, lifetime_attribute=inf, ratio=ratio)
