"""Laws in exact arithmetic, over every possible report and every pair of inputs."""

from fractions import Fraction
from math import inf, ulp

import numpy as np

from .. import wire
from ..analysis import worst_case
from ..mechanism import Mechanism
from .tools import cell_of, enclose_exponential, holds, laws_of, protocols_of, sizes_of


def moments(mechanism: Mechanism) -> None:
    """The law adds up to 1, and its moments are the channel's: exactly where they are fractions."""
    laws = laws_of(mechanism)
    for record, law in zip(np.ndindex(sizes_of(mechanism)), laws, strict=True):
        holds(
            sum(law.values()) == 1, f"the law of {record} adds up to {float(sum(law.values()))!r}"
        )
        contributed = mechanism.contributions(wire.decode(mechanism, b"".join(law))).astype(
            np.int64
        )
        chances = np.array(list(law.values()), object)
        means, seconds = chances @ contributed, chances @ contributed**2
        for each, share, (seen, part), v in zip(
            protocols_of(mechanism), mechanism.answering, mechanism.parts, record, strict=True
        ):
            channel = getattr(seen, "moments", seen.channel)
            slack = 0 if isinstance(channel.p, Fraction) else 1e-12
            for u, (mean, second) in enumerate(zip(means[part], seconds[part], strict=True)):
                expected = (
                    (channel.p, channel.p2) if u == cell_of(each, v) else (channel.q, channel.q2)
                )
                off = max(abs(mean - share * expected[0]), abs(second - share * expected[1]))
                found = f"mean {float(mean)!r} and second moment {float(second)!r}"
                said = f"{float(share * expected[0])!r} and {float(share * expected[1])!r}"
                holds(
                    off <= slack,
                    f"the contribution to {u} of a user with {v} has {found}, not {said}",
                )
            holds(seen.channel == channel.rounded(), "the channel is not the rounded moments")


def privacy(mechanism: Mechanism) -> None:
    """The largest ratio over all pairs of inputs and all reports is what ``privacy`` says, and
    within the budget.

    Of two rounds, one report comes to the budget; it does not stay far below.
    """
    said, first = mechanism.privacy, getattr(mechanism, "eps_1", None)
    budget = first or getattr(mechanism, "epsilon", None) or getattr(mechanism, "eps_perm", None)
    # Unbounded reports: on exponents, for the two entries that differ
    if hasattr(mechanism, "log_law"):
        box = [(y, z) for y in range(-3, 4) for z in range(-3, 4)]
        exponent = mechanism.log_law
        loss = max(exponent(y - 1) + exponent(z) - exponent(y) - exponent(z - 1) for y, z in box)
        holds(said.report == loss and loss <= Fraction(budget or 0), f"the loss is {float(loss)!r}")
        return
    ratio = claimed_ratio(
        mechanism, (said.ratio, said.report), (said.ratio_attribute, said.report_attribute)
    )
    if budget is not None:
        require_ratio(ratio, budget)
    if first is not None:
        holds(
            ratio > enclose_exponential(Fraction(first * (1 - 1e-9)))[1],
            f"one report comes to {float(ratio)!r} only, not to e^{first!r}",
        )


def lifetime(mechanism: Mechanism) -> None:
    """All reports ever made about an unchanged input tell at most what one permanent answer tells.

    That is gone through likewise.

    Where nothing is remembered, nothing is promised.
    """
    said, permanent, budget = (
        mechanism.privacy,
        mechanism.permanent,
        getattr(mechanism, "eps_perm", None),
    )
    if permanent is None:
        holds(
            said.lifetime == said.lifetime_attribute == inf and budget is None,
            f"a lifetime of {said.lifetime!r} is not kept",
        )
        return
    claims = (
        (said.ratio_lifetime, said.lifetime),
        (said.ratio_lifetime_attribute, said.lifetime_attribute),
    )
    ratio = claimed_ratio(permanent, *claims)
    holds(
        said.report <= said.lifetime and said.report_attribute <= said.lifetime_attribute,
        "one report costs more than all",
    )
    if budget is not None:
        require_ratio(ratio, budget)


def require_ratio(ratio: Fraction, budget: float) -> None:
    """Hold a ratio to be at most e^budget, exactly.

    No ratio of multiples of 2⁻⁶⁴ comes near e^1000.
    """
    most = enclose_exponential(min(Fraction(budget), Fraction(1000)))[0]
    holds(
        ratio <= most,
        f"the ratio {float(ratio)!r} exceeds e^{budget!r}, by {float(ratio / most - 1):.3g} of it",
    )


def claimed_ratio(mechanism: Mechanism, *claims: tuple[Fraction | None, float]) -> Fraction:
    """Return the largest ratio over all inputs, if it is as claimed.

    For any two inputs, and for two that differ in one attribute.
    """
    _ = laws_of(mechanism)  # which may be too many
    found = worst_case.find_losses(mechanism)
    names = ("", " between inputs that differ in one attribute")
    for name, worst, (fraction, loss) in zip(names, found, claims, strict=True):
        if worst.ratio is None:
            raise AssertionError(
                f"some report is possible for one input and not for another{name}: {worst!r}"
            )
        holds(
            fraction is None or fraction == worst.ratio,
            f"the ratio{name} is {float(worst.ratio)!r}, not {float(fraction or 0)!r}: {worst!r}",
        )
        half = Fraction(ulp(loss)) / 2  # the loss is the double nearest to the logarithm
        low, high = (
            enclose_exponential(Fraction(loss) - half)[0],
            enclose_exponential(Fraction(loss) + half)[1],
        )
        holds(
            low <= worst.ratio <= high,
            f"the ratio{name} is {float(worst.ratio)!r}, not e^{loss!r}: {worst!r}",
        )
    assert found[0].ratio is not None
    return found[0].ratio
