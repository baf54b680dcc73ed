"""Laws in exact arithmetic, over every possible report and every pair of values."""

from fractions import Fraction
from itertools import permutations

import numpy as np

from .. import exact, wire
from ..protocol import Protocol
from .tools import holds, laws_of


def moments(protocol: Protocol) -> None:
    """The law adds up to 1, and its moments are the channel's: exactly where they are fractions."""
    laws = laws_of(protocol)
    channel = getattr(protocol, "moments", protocol.channel)
    slack = 0 if isinstance(channel.p, Fraction) else 1e-12
    for v, law in enumerate(laws):
        holds(sum(law.values()) == 1, f"the law of {v} adds up to {float(sum(law.values()))!r}")
        contributed = protocol.contributions(wire.decode(protocol, b"".join(law))).astype(np.int64)
        chances = np.array(list(law.values()), object)
        for u, (mean, second) in enumerate(zip(chances @ contributed, chances @ contributed**2, strict=True)):
            expected = (channel.p, channel.p2) if u == v else (channel.q, channel.q2)
            off = max(abs(mean - expected[0]), abs(second - expected[1]))
            holds(off <= slack, f"the contribution to {u} of a user with {v}")
    holds(protocol.channel == channel.rounded(), "the channel is not the rounded moments")


def privacy(protocol: Protocol) -> None:
    """The largest ratio over all pairs of values and all reports is what ``privacy`` says, and within the budget."""
    said, budget = protocol.privacy, getattr(protocol, "epsilon", None)
    if hasattr(protocol, "log_law"):  # unbounded reports: on exponents, for the two entries that differ
        box = [(y, z) for y in range(-3, 4) for z in range(-3, 4)]
        exponent = protocol.log_law
        loss = max(exponent(y - 1) + exponent(z) - exponent(y) - exponent(z - 1) for y, z in box)
        holds(said.report == loss and loss <= Fraction(protocol.epsilon), f"the loss is {float(loss)!r}")  # type: ignore[attr-defined]
        return
    laws = laws_of(protocol)
    holds([law.keys() == laws[0].keys() for law in laws], "some report is possible for one value and not for another")
    ratio = max(a[report] / b[report] for a, b in permutations(laws, 2) for report in a)
    holds(said.ratio is None or said.ratio == ratio, f"the ratio is {float(ratio)!r}")
    holds(said.report == exact.log(ratio), f"the loss is {exact.log(ratio)!r}, not {said.report!r}")
    if budget is not None:
        holds(ratio <= exact.exp(Fraction(budget))[0], f"the ratio exceeds e^{budget!r}")
