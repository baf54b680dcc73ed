"""Laws in exact arithmetic, over every possible report and every pair of inputs."""

from fractions import Fraction
from typing import Any

import numpy as np

from .. import exact, wire
from ..mechanism import Mechanism
from .tools import holds, laws_of, sizes


def moments(subject: Mechanism) -> None:
    """The law adds up to 1, and its moments are the channel's: exactly where they are fractions."""
    laws = laws_of(subject)
    for record, law in zip(np.ndindex(sizes(subject)), laws, strict=True):
        holds(sum(law.values()) == 1, f"the law of {record} adds up to {float(sum(law.values()))!r}")
        contributed = subject.contributions(wire.decode(subject, b"".join(law))).astype(np.int64)
        chances = np.array(list(law.values()), object)
        means, seconds = (chances @ moment / np.array(subject.answering) for moment in (contributed, contributed**2))
        for (seen, part), v in zip(subject.parts, record, strict=True):
            channel = getattr(seen, "moments", seen.channel)
            slack = 0 if isinstance(channel.p, Fraction) else 1e-12
            for u, (mean, second) in enumerate(zip(means[part], seconds[part], strict=True)):
                expected = (channel.p, channel.p2) if u == v else (channel.q, channel.q2)
                off = max(abs(mean - expected[0]), abs(second - expected[1]))
                holds(off <= slack, f"the contribution to {u} of a user with {v}")
            holds(seen.channel == channel.rounded(), "the channel is not the rounded moments")


def privacy(subject: Mechanism) -> None:
    """The largest ratio over all pairs of inputs and all reports is what ``privacy`` says, and within the budget."""
    said, budget = subject.privacy, getattr(subject, "epsilon", None)
    if hasattr(subject, "log_law"):  # unbounded reports: on exponents, for the two entries that differ
        box = [(y, z) for y in range(-3, 4) for z in range(-3, 4)]
        exponent = subject.log_law
        loss = max(exponent(y - 1) + exponent(z) - exponent(y) - exponent(z - 1) for y, z in box)
        holds(said.report == loss and loss <= Fraction(budget or 0), f"the loss is {float(loss)!r}")
        return
    laws = laws_of(subject)
    holds([law.keys() == laws[0].keys() for law in laws], "some report is possible for one input and not for another")
    ratio, attribute = largest_ratios([list(law.values()) for law in laws], sizes(subject))
    for name, found, fraction, loss in (
        ("", ratio, said.ratio, said.report),
        (" between inputs that differ in one attribute", attribute, said.ratio_attribute, said.report_attribute),
    ):
        holds(fraction is None or fraction == found, f"the ratio{name} is {float(found)!r}")
        holds(loss == exact.log(found), f"the loss{name} is {exact.log(found)!r}, not {loss!r}")
    if budget is not None:
        holds(ratio <= exact.exp(Fraction(budget))[0], f"the ratio exceeds e^{budget!r}")


def largest_ratios(likelihoods: Any, ks: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Return the largest ratio of likelihoods of a report between any two records, and between two that differ in one attribute.

    ``likelihoods`` has a row a record, the last attribute changing fastest, and a column a report.
    """
    table = np.array(likelihoods, object)
    every = (table.max(axis=0) / table.min(axis=0)).max()
    cube = table.reshape(*ks, -1)
    return every, max((cube.max(axis=j) / cube.min(axis=j)).max() for j in range(len(ks)))
