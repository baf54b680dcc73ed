"""Checks in exact arithmetic, over every possible report and every pair of inputs."""

from fractions import Fraction
from math import inf, ulp
from typing import Any

import numpy as np

from .. import wire
from ..analysis import worst_case
from ..core.channel import Affine
from ..mechanism import Mechanism
from .tools import NotApplicable, cell_of, enclose_exponential, holds, listed

MOST_NUMBERS = 2**27
"""Largest number of summands for which all inputs are checked. Otherwise some are checked."""


def moments(mechanism: Mechanism) -> None:
    """Check that the distribution adds up to 1, and that its moments agree with the channel.

    Moments that are fractions agree exactly. So do the mean products of the contributions to the
    own value and another one. The mean products of the contributions to two other values agree on
    average over values, within one per cent.
    """
    if not all(isinstance(seen.channel, Affine) for seen, _ in mechanism.parts):
        raise NotApplicable("its channel is not Affine")
    table = listed(worst_case.tabulate, mechanism)
    reports = wire.decode(mechanism, table.data)
    contributed = mechanism.contributions(reports).astype(np.int64)
    others: dict[int, list[Any]] = {}
    records, inputs = list(np.ndindex(mechanism.ks)), len(table.levels)
    few = contributed.size * inputs <= MOST_NUMBERS
    for i in range(inputs) if few else sorted({0, 1, inputs // 2, inputs - 1}):
        record = records[i]
        total = table.add_up(i, np.ones((len(reports), 1), np.int64))[0]
        holds(
            total == 1,
            f"the distribution of reports for {record} adds up to {float(total)!r}, not to 1",
        )
        means, seconds = table.add_up(i, contributed), table.add_up(i, contributed**2)
        attributes = zip(
            mechanism.leaves, mechanism.answering, mechanism.parts, record, strict=True
        )
        for j, (each, share, (seen, part), v) in enumerate(attributes):
            channel, own, entries = seen.moments, cell_of(each, v), contributed[:, part]
            slack = 0 if isinstance(channel.p, Fraction) else 1e-12
            products = table.add_up(i, entries * entries[:, own : own + 1])
            for u, (mean, second) in enumerate(zip(means[part], seconds[part], strict=True)):
                expected: Any = (channel.p, channel.p2) if u == own else (channel.q, channel.q2)
                off = max(abs(mean - share * expected[0]), abs(second - share * expected[1]))
                found = f"mean {float(mean)!r} and second moment {float(second)!r}"
                said = f"{float(share * expected[0])!r} and {float(share * expected[1])!r}"
                holds(
                    off <= slack,
                    f"the contribution to {u} of a user with {v} has {found}, not {said}",
                )
                if u != own and channel.own_other is not None:
                    holds(
                        abs(products[u] - share * channel.own_other) <= slack,
                        f"the contributions to {own} and {u} of a user with {v} have a product of"
                        f" mean {float(products[u])!r}, not {float(share * channel.own_other)!r}",
                    )
            holds(
                seen.channel == channel.rounded(), "the channel is not equal to the rounded moments"
            )
            rest = np.delete(entries, own, axis=1)
            pairs = rest.shape[1] * (rest.shape[1] - 1)
            if pairs and channel.others is not None:
                both = rest.sum(axis=1) ** 2 - (rest**2).sum(axis=1)
                others.setdefault(j, []).append(table.add_up(i, both[:, np.newaxis])[0] / pairs)
    for j, each_mean in others.items():
        share, channel = mechanism.answering[j], mechanism.parts[j].seen.moments
        claimed, average = (
            float(share) * float(channel.others or 0),
            sum(each_mean) / len(each_mean),
        )
        holds(
            abs(average - claimed) <= 0.01 * max(abs(claimed), 1e-6),
            f"the contributions to two other values of attribute {j} have a product of mean"
            f" {float(average)!r}, not {claimed!r}",
        )


def privacy(mechanism: Mechanism) -> None:
    """Check that the largest ratio of probabilities is the ratio that ``privacy`` states.

    The ratio is over all pairs of inputs and all reports. It is within the budget. With two rounds,
    the ratio of one report also comes close to the budget ``eps_1``.
    """
    said, first = mechanism.privacy, getattr(mechanism, "eps_1", None)
    budget = first or getattr(mechanism, "epsilon", None) or getattr(mechanism, "eps_perm", None)
    # For unbounded reports, exponents are compared, for the two entries that differ
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
            f"the ratio of one report is only {float(ratio)!r}, not close to e^{first!r}",
        )


def lifetime(mechanism: Mechanism) -> None:
    """Check that all reports about an unchanged input tell no more than one permanent answer.

    All permanent answers are enumerated too. A mechanism without permanent answers must not promise
    a lifetime.
    """
    said, permanent, budget = (
        mechanism.privacy,
        mechanism.permanent,
        getattr(mechanism, "eps_perm", None),
    )
    if permanent is None:
        holds(
            said.lifetime == said.lifetime_attribute == inf and budget is None,
            f"a lifetime of {said.lifetime!r} is claimed, but there is no permanent answer",
        )
        return
    claims = (
        (said.ratio_lifetime, said.lifetime),
        (said.ratio_lifetime_attribute, said.lifetime_attribute),
    )
    ratio = claimed_ratio(permanent, *claims)
    holds(
        said.report <= said.lifetime and said.report_attribute <= said.lifetime_attribute,
        "one report costs more than all reports together",
    )
    if budget is not None:
        require_ratio(ratio, budget)


def require_ratio(ratio: Fraction, budget: float) -> None:
    """Require that a ratio is at most e^budget, exactly.

    Budgets above 1000 count as 1000, because no ratio of multiples of 2⁻⁶⁴ comes near e^1000.
    """
    most = enclose_exponential(min(Fraction(budget), Fraction(1000)))[0]
    holds(
        ratio <= most,
        f"the ratio {float(ratio)!r} exceeds e^{budget!r}, by {float(ratio / most - 1):.3g} of it",
    )


def claimed_ratio(mechanism: Mechanism, *claims: tuple[Fraction | None, float]) -> Fraction:
    """Return the largest ratio over all inputs, and require that it equals the claim.

    There is one claim for any two inputs, and one for two inputs that differ in one attribute.
    """
    found = listed(worst_case.find_losses, mechanism)
    names = ("", " between inputs that differ in one attribute")
    for name, worst, (fraction, loss) in zip(names, found, claims, strict=True):
        if worst.ratio is None:
            raise AssertionError(
                f"some report is possible for one input and not for another{name}: {worst!r}"
            )
        holds(
            fraction is None or fraction == worst.ratio,
            f"the exact ratio{name} is {float(worst.ratio)!r}, but {float(fraction or 0)!r} is"
            f" claimed, {float((fraction or 0) / worst.ratio - 1):+.3g} of it: {worst!r}",
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
