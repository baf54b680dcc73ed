"""What liars can do: how far malicious reports shift estimates."""

from dataclasses import dataclass

from ..core import validate
from ..core.channel import Channel
from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_mechanism
from ..protocol import Protocol


@dataclass(frozen=True)
class Influence:
    """How far m malicious among n reports can shift the estimates of an attribute, as expected.

    ``value`` is by how much they can raise the frequency of one value that none of them holds,
    ``lowered`` by how much they can lower that of one which everybody else holds. Where only some
    of the honest users answer, that is for many of them who do.
    """

    protocol: Protocol
    channel: Channel
    n: int
    m: int
    answering: float

    @property
    def value(self) -> float:
        """The largest shift of one value."""
        return self.of(1)

    @property
    def lowered(self) -> float:
        """The largest shift of one value downwards."""
        weight = self._weight(self.m)
        against = weight * (float(self.channel.q) - self.channel.smallest) / self.channel.slope
        # Those who hold it are also outweighed, where liars answer more often than they do
        return against + weight - self.m / self.n

    def of(self, size: int) -> float:
        """Return the largest shift of the total frequency of so many values, none of which the
        liars hold.

        Of all sets of this size it is the one that suits the liars best.
        """
        values = validate.Integer(1, self.protocol.cells - 1)("size", size)
        most, q = self.protocol._most(values), float(self.channel.q)
        if self.protocol.answering[0] == 1:
            return self._weight(self.m) * (most - values * q) / self.channel.slope
        # A value is estimated from those who speak of it: the liars divide what they may speak of
        # among the values
        return values * self._weight(self.m * most / values) * (1 - q) / self.channel.slope

    def _weight(self, m: float) -> float:
        """Return the share of m attackers among the reports that speak of a value.

        All of them do, and of the honest some.
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
    """Return how far m malicious among n reports can shift estimates.

    An ``Influence``, for a solution a tuple of them, one an attribute.

    A malicious report is one that ``wire.decode`` accepts: whatever an honest client might send.
    Where every report speaks of every value, the largest shift is m·(c − q)/(n·(p − q)), c the most
    that a report contributes; with p and q as the aggregator sees them, so among fakes under RS+FD,
    and with the share of the budget under SPL. Under SMP, attackers all speak of the same
    attribute, which honest users do with probability 1/d: they weigh nearly d times as much.

    >>> from multi_freq_ldpy import GRR, OUE, SMP
    >>> influence(GRR(10, epsilon=1.0), 100_000, 1000)
    1,000 of 100,000 reports can raise one value by 6.24 points and lower it by 0.582
    >>> round(influence(OUE(10, epsilon=1.0), 100_000, 1000).of(5), 4)
    0.1582
    >>> round(influence(SMP(GRR, [10, 10], epsilon=1.0), 100_000, 1000)[1].value, 4)
    0.1235
    """
    mechanism, users = require_mechanism(mechanism), validate.Integer(1, 2**62)("n", n)
    liars = validate.Integer(0, users)("m", m)
    found = tuple(
        Influence(each, seen.channel, users, liars, float(share))
        for each, (seen, _), share in zip(
            mechanism.leaves, mechanism.parts, mechanism.answering, strict=True
        )
    )
    return found[0] if isinstance(mechanism, Protocol) else found
