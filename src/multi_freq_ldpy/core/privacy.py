"""What a protocol really promises, by notion of neighbouring inputs and by what is observed."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from . import exact


@dataclass(frozen=True)
class Privacy:
    """Privacy losses as realised.

    The largest logarithm of a ratio of probabilities between two inputs.

    ``report``: any two inputs, one report alone, which is the definition of local differential
    privacy. ``lifetime``: any two inputs, all reports ever made about unchanged values; infinite
    for one-shot protocols, whose losses add up. The ``_attribute`` notions compare inputs that
    differ in one attribute only. ``ratio`` and ``ratio_attribute`` are e^report and
    e^report_attribute as exact fractions, where they are fractions; ``ratio_lifetime`` and
    ``ratio_lifetime_attribute`` likewise. ``history``: any two histories of values, all reports;
    infinite unless a mechanism protects the times of change too, with ``ratio_history`` beside it.

    >>> Privacy.of(Fraction(3)).report == exact.log(Fraction(3))
    True
    """

    report: float
    lifetime: float
    report_attribute: float
    lifetime_attribute: float
    ratio: Fraction | None = field(default=None, repr=False)
    ratio_attribute: Fraction | None = field(default=None, repr=False)
    ratio_lifetime: Fraction | None = field(default=None, repr=False)
    ratio_lifetime_attribute: Fraction | None = field(default=None, repr=False)
    history: float = field(default=inf, repr=False)
    ratio_history: Fraction | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        loss: Fraction | float,
        attribute: Fraction | float | None = None,
        permanent: "Privacy | None" = None,
    ) -> "Privacy":
        """Return what is promised, from the exact ratio of one report or, where that is not
        rational, its loss.

        ``attribute`` is the same between inputs that differ in one attribute; by default there is
        only one. ``permanent`` is the privacy of a report that holds all that is ever told; without
        it losses add up.
        """
        attribute = loss if attribute is None else attribute
        ratio, ratio_attribute = (x if isinstance(x, Fraction) else None for x in (loss, attribute))
        report, report_attribute = (
            exact.log(x) if isinstance(x, Fraction) else x for x in (loss, attribute)
        )
        if permanent is None:
            return cls(report, inf, report_attribute, inf, ratio, ratio_attribute)
        lifetime, lifetime_attribute = permanent.report, permanent.report_attribute
        return cls(
            report,
            lifetime,
            report_attribute,
            lifetime_attribute,
            ratio,
            ratio_attribute,
            permanent.ratio,
            permanent.ratio_attribute,
        )
