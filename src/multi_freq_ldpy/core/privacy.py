"""The privacy losses of a mechanism, by neighbouring inputs and by observed reports."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from . import exact


@dataclass(frozen=True)
class Privacy:
    """Realised privacy losses.

    A loss is the largest logarithm of a ratio of probabilities between two inputs. Names that end
    in ``_attribute`` compare inputs that differ in one attribute only.

    Parameters
    ----------
    report : float
        Loss of one report alone, between any two inputs. This is the definition of local
        differential privacy.
    lifetime : float
        Loss of all reports ever made about unchanged values, between any two inputs. It is infinite
        for one-shot protocols, whose losses add up.
    report_attribute : float
        Loss of one report, between inputs that differ in one attribute.
    lifetime_attribute : float
        Loss of all reports ever made about unchanged values, between inputs that differ in one
        attribute.
    ratio : Fraction, optional
        Exact value of e^report. None means that it is not a fraction.
    ratio_attribute : Fraction, optional
        Exact value of e^report_attribute. None means that it is not a fraction.
    ratio_lifetime : Fraction, optional
        Exact value of e^lifetime. None means that it is infinite or not a fraction.
    ratio_lifetime_attribute : Fraction, optional
        Exact value of e^lifetime_attribute. None means that it is infinite or not a fraction.
    history : float
        Loss of all reports, between any two histories of values. It is infinite unless the
        mechanism also protects the times of changes.
    ratio_history : Fraction, optional
        Exact value of e^history. None means that it is infinite or not a fraction.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR
    >>> privacy = GRR(4, epsilon=1.0).privacy
    >>> privacy.report, privacy.lifetime
    (1.0, inf)
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
        """Return the privacy losses, given the ratio or the loss of one report.

        Parameters
        ----------
        loss : Fraction or float
            The exact ratio of one report as a Fraction. If the ratio is not rational, its logarithm
            as a float.
        attribute : Fraction or float, optional
            The same between inputs that differ in one attribute. None, the default, means that
            there is only one attribute.
        permanent : Privacy, optional
            Privacy of the permanent answer, from which all reports about an unchanged value are
            made. None, the default, means that losses add up.

        Returns
        -------
        Privacy
            The losses, with their exact ratios where these are rational.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from multi_freq_ldpy import Privacy
        >>> permanent = Privacy.of(Fraction(9))
        >>> privacy = Privacy.of(Fraction(3), permanent=permanent)
        >>> round(privacy.report, 4), round(privacy.lifetime, 4), privacy.ratio_lifetime
        (1.0986, 2.1972, Fraction(9, 1))
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
