"""Sampling one attribute, and hiding which one among fakes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.channel import Affine
from ..core.fakes import NOBODY, Fake
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, as_generator
from ..core.tally import Part
from ..mechanism import Counts
from ..protocol import Protocol
from .base import combine_laws, sample_histograms
from .factories import Factory, resolve_factories
from .side_by_side import SideBySide


def _mix(protocol: Protocol, share: Fraction, fake: Fake) -> Affine:
    """Return the channel of a protocol that reports with probability ``share`` and sends a fake
    otherwise.
    """
    return protocol.moments.mixed(share, fake.mean, fake.pair)


def _nearest(a: int, b: int) -> int:
    """Return a/b rounded to the nearest integer, halves to the even one."""
    whole, rest = divmod(a, b)
    return whole + (2 * rest > b or (2 * rest == b and whole % 2 == 1))


@dataclass(frozen=True)
class Attribute:
    """One attribute as the aggregator sees it under RS+FD: real reports among fake ones."""

    solution: "RSFD"
    index: int

    @property
    def _protocol(self) -> Protocol:
        return self.solution.leaves[self.index]

    @cached_property
    def moments(self) -> Affine:
        """The channel in exact fractions."""
        j = self.index
        return _mix(self._protocol, self.solution.shares[j], self.solution.fakes[j])

    @cached_property
    def channel(self) -> Affine:
        """The channel."""
        return self.moments.rounded()

    answering = (Fraction(1),)
    _answers_all = True

    @property
    def lasting(self) -> Affine:
        """The channel of what a report contributes on average: every report is drawn anew."""
        return self.moments.averaged()

    @property
    def cells(self) -> int:
        """The number of frequencies."""
        return self._protocol.cells

    @property
    def parts(self) -> tuple[Part, ...]:
        """The one attribute, and all its counts."""
        return (Part(self, slice(0, self.cells)),)

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        self._protocol._check_counts(counts, n, users)


@dataclass(frozen=True, init=False, repr=False)
class RSFD(SideBySide):
    """Random sampling plus fake data (RS+FD).

    One attribute is reported at an amplified budget, a fake report goes with each other one.

    The sampled attribute is reported at ε' = ln(d·(e^ε − 1) + 1), and which one it was is not said.
    For two records that differ in *one attribute* that costs ε if domains are equal or fakes are
    randomized zero vectors, and ``privacy.report_attribute`` says how much otherwise; for *any two
    records* it costs ε', which is ``privacy.report``. ``amplify=False`` reports at ε itself, which
    is then the cost for any two records; ``SMP`` has less error at that.

    ``fake`` is for unary encodings: "zero", the randomized zero vector, or "random", the report of
    a random value. Other protocols have one kind of fake, a uniform report. ``balance=True``
    samples attributes with such probabilities that the cost for one attribute is ε also for unequal
    domains; those that stand out more are sampled, and estimated, less. ``best`` chooses by the
    variance as it is here, among fakes, with equal chances for all attributes.

    Arcolezi, Couchot, Al Bouna and Xiao, "Random sampling plus fake data: multidimensional
    frequency estimates with local differential privacy", CIKM 2021.

    >>> from multi_freq_ldpy import GRR
    >>> privacy = RSFD(GRR, [2, 6], epsilon=1.0).privacy
    >>> round(privacy.report, 5), round(privacy.report_attribute, 3)
    (1.48988, 1.156)
    >>> round(RSFD(GRR, [2, 6], epsilon=1.0, balance=True).privacy.report_attribute, 9)
    1.0
    """

    takes_solutions = False

    fake: str = "zero"
    balance: bool = False

    def __init__(
        self,
        factory: Factory | Sequence[Factory],
        ks: Sequence[int] | NDArray[Any],
        *budgets: float,
        fake: str = "zero",
        amplify: bool = True,
        balance: bool = False,
        **options: Any,
    ) -> None:
        sizes, kind = (
            validate.domain_sizes("ks", ks),
            validate.choice("fake", fake, ("zero", "random")),
        )
        whole, more = self._budgets(budgets, options), validate.flag("amplify", amplify)
        share = Fraction(1, len(sizes))

        def channel(protocol: Protocol) -> Affine:
            return _mix(protocol, share, protocol._fake(kind)).rounded()

        each = {
            name: exact.amplify(epsilon, len(sizes)) if more else epsilon
            for name, epsilon in whole.items()
        }
        resolved = resolve_factories(factory, sizes, each, not budgets, options, channel)
        self._fill(resolved, kind, balance)

    def _check(self) -> None:
        validate.choice("fake", self.fake, ("zero", "random"))
        object.__setattr__(self, "balance", validate.flag("balance", self.balance))
        super()._check()
        for each in self.leaves:
            if not each.moments.binary:
                raise TypeError(
                    f"RSFD needs contributions of 0 and 1, which those of {validate.quote(each)}"
                    " are not"
                )

    @cached_property
    def fakes(self) -> tuple[Fake, ...]:
        """What a fake report is, for each attribute."""
        return tuple(each._fake(self.fake) for each in self.leaves)

    @cached_property
    def weights(self) -> tuple[int, ...] | None:
        """The probabilities with which attributes are sampled, times 2⁶⁴, or None where they are
        equal.
        """
        if not self.balance or self.d == 1:
            return None
        if any(fake.lows[0] != fake.lows[1] for fake in self.fakes):
            raise ValueError(
                "balance=True needs fakes that are equally likely whatever they support: use"
                " fake='zero'"
            )
        scale = lcm(*(fake.lows[0].numerator for fake in self.fakes))
        inverse = [
            scale // fake.lows[0].numerator * fake.lows[0].denominator for fake in self.fakes
        ]
        total = sum(inverse)
        edges = [_nearest(exact.WORD * part, total) for part in accumulate(inverse, initial=0)]
        if 0 in (weights := tuple(high - low for low, high in pairwise(edges))):
            raise ValueError(
                f"balance=True would sample attribute {weights.index(0)} with a probability below"
                " 2**-64"
            )
        return weights

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The probability that an attribute is sampled, for each."""
        return (
            tuple(Fraction(w, exact.WORD) for w in self.weights)
            if self.weights
            else (Fraction(1, self.d),) * self.d
        )

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised, exactly.

        ``report`` is ε', the loss of the sampled attribute (see the class).
        """
        pieces = []
        for each, share, fake in zip(self.leaves, self.shares, self.fakes, strict=True):
            pieces.append((each.ratio, share * fake.lows[0], share * fake.lows[1]))
        # All attributes tell the records apart: a mean of their ratios, with the weights that make
        # it largest
        whole = Fraction(0)
        while True:
            lows = [largest if ratio > whole else smallest for ratio, smallest, largest in pieces]
            better = sum(
                (piece[0] * low for piece, low in zip(pieces, lows, strict=True)), Fraction(0)
            ) / sum(lows)
            if better <= whole:
                break
            whole = better
        # One attribute does, as well as it can, while the others look as little like real reports
        # as they can
        above, below = sum((smallest for _, smallest, _ in pieces), Fraction(0)).as_integer_ratio()
        # (ratio − 1)·largest/(largest + rest − smallest), not reduced: that takes long where there
        # are many
        excess = set()
        for ratio, smallest, largest in pieces:
            (a, b), (c, d) = (
                ((ratio - 1) * largest).as_integer_ratio(),
                (largest - smallest).as_integer_ratio(),
            )
            excess.add((a * d * below, b * (d * above + c * below)))
        most = max(
            a / b
            for a, b in excess
            # A quotient of integers is rounded once, so the largest is among those that round to
            # this
        )
        return Privacy.of(whole, 1 + max(Fraction(a, b) for a, b in excess if a / b == most))

    def _seen_by_aggregator(self, j: int) -> tuple[Part, ...]:
        return Attribute(self, j).parts

    def _sample_attributes(self, source: Source, n: int) -> Counts:
        """Return which attribute each of n users samples."""
        choice = source.part(b"attribute")
        if self.weights is None:
            return choice.below(n, self.d)
        # The last word of each attribute
        last = np.cumsum(np.array(self.weights, np.uint64)) - np.uint64(1)
        return np.searchsorted(last, choice.words(n, 1)[:, 0])

    def _columns(self, records: Counts, source: Source) -> Iterable[Counts]:
        sampled, columns = self._sample_attributes(source, len(records)), []
        for j, (fake, k) in enumerate(zip(self.fakes, self.ks, strict=True)):
            pretended = (
                source.part(b"fake %d" % j).below(len(records), k) if fake.uniform else NOBODY
            )
            columns.append(np.where(sampled == j, records[:, j], pretended))
        return columns

    def _law(self, record: list[int]) -> dict[bytes, Fraction]:
        real = [each.law(value) for each, value in zip(self.leaves, record, strict=True)]
        combine_laws(real)  # refuses what is too large to list
        fakes = [fake.law() for fake in self.fakes]
        odds = [
            [share * law[y] / fake[y] for y in fake]
            for law, fake, share in zip(real, fakes, self.shares, strict=True)
        ]
        likelier = map(sum, product(*odds))
        return {
            b"".join(y): prod(chances, start=Fraction(1)) * more
            for (y, chances), more in zip(combine_laws(fakes), likelier, strict=True)
        }

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        own = list(self._fields_of(reports))
        fakes = [fake.chance(field.tobytes()) for fake, field in zip(self.fakes, own, strict=True)]
        odds = (
            share * each._likelihood(field, v) / fake
            for each, share, field, fake, v in zip(
                self.leaves, self.shares, own, fakes, value, strict=True
            )
        )
        return prod(fakes, start=Fraction(1)) * sum(odds, Fraction(0))

    def _simulate(
        self, held: Sequence[Counts], n: int, rng: Rng
    ) -> Iterable[tuple[Counts, Counts]]:
        shares = [float(share) for share in self.shares]
        real = sample_histograms(held, self._own_columns, shares, n, rng)
        for each, fake, (part,) in zip(self.leaves, self.fakes, real, strict=True):
            faked = n - int(part.sum())
            if fake.uniform:
                part = part + as_generator(rng).multinomial(faked, np.full(each.k, 1 / each.k))
            zeros = np.zeros(each.cells, np.int64)
            nobody = 0 if fake.uniform else faked
            yield each._simulate(part, rng, nobody) if n else (zeros, zeros)
