"""Poisoning: the largest shift of estimates by the reports of malicious users."""

from dataclasses import dataclass

from ..core import validate
from ..core.channel import Channel
from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_single
from ..protocol import Protocol


@dataclass(frozen=True)
class Influence:
    """The largest expected shift of the estimates of one attribute by m malicious among n reports.

    ``value`` is the largest increase of the frequency of one value that no malicious user holds.
    ``lowered`` is the largest decrease of the frequency of one value that all other users hold. If
    only some of the honest users answer, both statements need a large number of honest answers.

    Parameters
    ----------
    protocol : Protocol
        The protocol of the attribute.
    channel : Channel
        The channel of the attribute as the aggregator sees it.
    n : int
        Number of users. It includes the malicious users.
    m : int
        Number of malicious users.
    answering : float
        Probability that an honest report speaks of a given value of the attribute.

    Examples
    --------
    >>> from multi_freq_ldpy import OUE, influence
    >>> found = influence(OUE(10, epsilon=1.0), 100_000, 1000)
    >>> round(found.value, 4), round(found.lowered, 4)
    (0.0316, 0.0116)
    """

    protocol: Protocol
    channel: Channel
    n: int
    m: int
    answering: float

    @property
    def value(self) -> float:
        """The largest increase of the frequency of one value."""
        return self.of(1)

    @property
    def lowered(self) -> float:
        """The largest decrease of the frequency of one value."""
        weight = self._weight(self.m)
        against = weight * (float(self.channel.q) - self.channel.smallest) / self.channel.slope
        # If malicious users answer more often than honest users, they also outweigh the holders
        return against + weight - self.m / self.n

    def of(self, size: int) -> float:
        """Return the largest increase of the total frequency of several values.

        No malicious user holds any of these values. The result is the maximum over all sets of this
        size.

        Parameters
        ----------
        size : int
            Number of values, from 1 to the number of estimated frequencies minus 1.

        Returns
        -------
        float
            The increase, as a frequency.

        Raises
        ------
        TypeError
            If ``size`` is not an integer.
        ValueError
            If ``size`` is out of range.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE, influence
        >>> found = influence(OUE(10, epsilon=1.0), 100_000, 1000)
        >>> [round(found.of(size), 4) for size in (1, 5)]
        [0.0316, 0.1582]
        """
        values = validate.Integer(1, self.protocol.cells - 1)("size", size)
        most, q = self.protocol._most(values), float(self.channel.q)
        if self.protocol.answering[0] == 1:
            return self._weight(self.m) * (most - values * q) / self.channel.slope
        # A value is estimated from the reports that speak of it. Malicious users divide the values:
        # each value gets m·most/values of their reports
        return values * self._weight(self.m * most / values) * (1 - q) / self.channel.slope

    def _weight(self, m: float) -> float:
        """Return the share of m malicious users among the reports that speak of a value.

        All malicious users speak of the value, and so do some of the honest users.
        """
        return m / ((self.n - self.m) * self.answering + m) if m else 0.0

    def __repr__(self) -> str:
        up, down = 100 * self.value, 100 * self.lowered
        return (
            f"{self.m:,} of {self.n:,} reports can raise one value by {up:.3g} points and lower it"
            f" by {down:.3g}"
        )


@accept_old_names(protocol="mechanism")
def influence(mechanism: Mechanism, n: int, m: int) -> Influence | tuple[Influence, ...]:
    """Return the largest shift of estimates by m malicious among n reports.

    A malicious report is any report that ``wire.decode`` accepts, which an honest client might send
    too. Suppose that every report speaks of every value. Then the largest shift is
    m·(c − q)/(n·(p − q)), where c is the largest contribution of a report. The aggregator sees the
    probabilities p and q: with fakes under RS+FD, and with the share of the budget under SPL.

    Under SMP, all malicious users speak of the same attribute. Honest users do so with probability
    1/d. So malicious users have nearly d times the weight of honest users.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism that makes the reports.
    n : int
        Number of users. It includes the malicious users.
    m : int
        Number of malicious users, from 0 to n.

    Returns
    -------
    Influence or tuple of Influence
        The influence on a protocol. For a solution, a tuple with one entry per attribute.

    Raises
    ------
    TypeError
        If ``mechanism`` is not a protocol or solution, or if n or m is not an integer.
    ValueError
        If n or m is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE, SMP, influence
    >>> influence(GRR(10, epsilon=1.0), 100_000, 1000)
    1,000 of 100,000 reports can raise one value by 6.24 points and lower it by 0.582
    >>> round(influence(OUE(10, epsilon=1.0), 100_000, 1000).of(5), 4)
    0.1582
    >>> round(influence(SMP(GRR, [10, 10], epsilon=1.0), 100_000, 1000)[1].value, 4)
    0.1235
    """
    mechanism, users = require_single(mechanism, "influence"), validate.Integer(1, 2**62)("n", n)
    malicious = validate.Integer(0, users)("m", m)
    found = tuple(
        Influence(each, seen.channel, users, malicious, float(share))
        for each, (seen, _), share in zip(
            mechanism.leaves, mechanism.parts, mechanism.answering, strict=True
        )
    )
    return found[0] if isinstance(mechanism, Protocol) else found
