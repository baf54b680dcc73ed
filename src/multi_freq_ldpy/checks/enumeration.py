"""Laws in exact arithmetic, over every possible report and every pair of inputs."""

from fractions import Fraction
from math import inf, ulp

import numpy as np

from .. import wire, worst_case
from ..mechanism import Mechanism
from .tools import cell, exponential, holds, laws_of, protocols, sizes


def moments(subject: Mechanism) -> None:
    """The law adds up to 1, and its moments are the channel's: exactly where they are fractions."""
    laws = laws_of(subject)
    for record, law in zip(np.ndindex(sizes(subject)), laws, strict=True):
        holds(sum(law.values()) == 1, f"the law of {record} adds up to {float(sum(law.values()))!r}")
        contributed = subject.contributions(wire.decode(subject, b"".join(law))).astype(np.int64)
        chances = np.array(list(law.values()), object)
        means, seconds = chances @ contributed, chances @ contributed**2
        for each, share, (seen, part), v in zip(protocols(subject), subject.answering, subject.parts, record, strict=True):
            channel = getattr(seen, "moments", seen.channel)
            slack = 0 if isinstance(channel.p, Fraction) else 1e-12
            for u, (mean, second) in enumerate(zip(means[part], seconds[part], strict=True)):
                expected = (channel.p, channel.p2) if u == cell(each, v) else (channel.q, channel.q2)
                off = max(abs(mean - share * expected[0]), abs(second - share * expected[1]))
                found = f"mean {float(mean)!r} and second moment {float(second)!r}"
                said = f"{float(share * expected[0])!r} and {float(share * expected[1])!r}"
                holds(off <= slack, f"the contribution to {u} of a user with {v} has {found}, not {said}")
            holds(seen.channel == channel.rounded(), "the channel is not the rounded moments")


def privacy(subject: Mechanism) -> None:
    """The largest ratio over all pairs of inputs and all reports is what ``privacy`` says, and within the budget.

    Of two rounds, one report comes to the budget; it does not stay far below.
    """
    said, first = subject.privacy, getattr(subject, "eps_1", None)
    budget = first or getattr(subject, "epsilon", None) or getattr(subject, "eps_perm", None)
    if hasattr(subject, "log_law"):  # unbounded reports: on exponents, for the two entries that differ
        box = [(y, z) for y in range(-3, 4) for z in range(-3, 4)]
        exponent = subject.log_law
        loss = max(exponent(y - 1) + exponent(z) - exponent(y) - exponent(z - 1) for y, z in box)
        holds(said.report == loss and loss <= Fraction(budget or 0), f"the loss is {float(loss)!r}")
        return
    ratio = said_ratio(subject, (said.ratio, said.report), (said.ratio_attribute, said.report_attribute))
    if budget is not None:
        within(ratio, budget)
    if first is not None:
        holds(ratio > exponential(Fraction(first * (1 - 1e-9)))[1], f"one report comes to {float(ratio)!r} only, not to e^{first!r}")


def lifetime(subject: Mechanism) -> None:
    """All reports ever made about an unchanged input tell at most what one permanent answer tells: that is gone through likewise.

    Where nothing is remembered, nothing is promised.
    """
    said, permanent, budget = subject.privacy, subject.permanent, getattr(subject, "eps_perm", None)
    if permanent is None:
        holds(said.lifetime == said.lifetime_attribute == inf and budget is None, f"a lifetime of {said.lifetime!r} is not kept")
        return
    claims = (said.ratio_lifetime, said.lifetime), (said.ratio_lifetime_attribute, said.lifetime_attribute)
    ratio = said_ratio(permanent, *claims)
    holds(said.report <= said.lifetime and said.report_attribute <= said.lifetime_attribute, "one report costs more than all")
    if budget is not None:
        within(ratio, budget)


def within(ratio: Fraction, budget: float) -> None:
    """Hold a ratio to be at most e^budget, exactly; no ratio of multiples of 2⁻⁶⁴ comes near e^1000."""
    most = exponential(min(Fraction(budget), Fraction(1000)))[0]
    holds(ratio <= most, f"the ratio {float(ratio)!r} exceeds e^{budget!r}, by {float(ratio / most - 1):.3g} of it")


def said_ratio(subject: Mechanism, *claims: tuple[Fraction | None, float]) -> Fraction:
    """Return the largest ratio over all inputs, if it is as claimed: for any two inputs, and for two that differ in one attribute."""
    _ = laws_of(subject)  # which may be too many
    found = worst_case.losses(subject)
    names = ("", " between inputs that differ in one attribute")
    for name, worst, (fraction, loss) in zip(names, found, claims, strict=True):
        if worst.ratio is None:
            raise AssertionError(f"some report is possible for one input and not for another{name}: {worst!r}")
        holds(
            fraction is None or fraction == worst.ratio,
            f"the ratio{name} is {float(worst.ratio)!r}, not {float(fraction or 0)!r}: {worst!r}",
        )
        half = Fraction(ulp(loss)) / 2  # the loss is the double nearest to the logarithm
        low, high = exponential(Fraction(loss) - half)[0], exponential(Fraction(loss) + half)[1]
        holds(low <= worst.ratio <= high, f"the ratio{name} is {float(worst.ratio)!r}, not e^{loss!r}: {worst!r}")
    assert found[0].ratio is not None
    return found[0].ratio
