"""RS+FD: a solution that samples one attribute and hides it among fake reports."""

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
from ..mechanism import Counts, Reading
from ..protocol import Protocol
from .base import combine_laws, sample_histograms
from .factories import Factory, resolve_factories
from .side_by_side import SideBySide


def _mix(protocol: Protocol, share: Fraction, fake: Fake) -> Affine:
    """Return the channel of real reports, with probability ``share``, mixed with fakes."""
    return protocol.moments.mixed(share, fake.mean, fake.pair, fake.second)


def _nearest(a: int, b: int) -> int:
    """Return a/b rounded to the nearest integer, halves to the even one."""
    whole, rest = divmod(a, b)
    return whole + (2 * rest > b or (2 * rest == b and whole % 2 == 1))


@dataclass(frozen=True)
class Attribute:
    """One attribute as the aggregator sees it under RS+FD: real reports among fake ones.

    Parameters
    ----------
    solution : RSFD
        Solution that the attribute belongs to.
    index : int
        Number of the attribute.
    """

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
        """The channel in floats."""
        return self.moments.rounded()

    answering = (Fraction(1),)
    _answers_all = True

    @property
    def lasting(self) -> Affine:
        """The channel of the mean contribution of reports, which are drawn independently."""
        return self.moments.averaged()

    @property
    def cells(self) -> int:
        """The number of frequencies."""
        return self._protocol.cells

    @property
    def parts(self) -> tuple[Part, ...]:
        """The one attribute, with all its counts."""
        return (Part(self, slice(0, self.cells)),)

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        self._protocol._check_counts(counts, n, users)


@dataclass(frozen=True, init=False, repr=False)
class RSFD(SideBySide):
    """Random sampling plus fake data (RS+FD): one real report among fake ones.

    One attribute is sampled and reported at an amplified budget. For each other attribute, a fake
    report is sent. The sampled attribute is reported at ε' = ln(d·(e^ε − 1) + 1). The report does
    not say which attribute was sampled.

    For *any two records* the privacy loss is ε', which is ``privacy.report``. For two records that
    differ in *one attribute* it is ε if domains are equal or fakes are randomized zero vectors. In
    other cases ``privacy.report_attribute`` is the loss for one attribute.

    Arcolezi, Couchot, Al Bouna and Xiao, "Random sampling plus fake data: multidimensional
    frequency estimates with local differential privacy", CIKM 2021.

    Parameters
    ----------
    factory : callable or list of callable
        Protocol class, ``best``, or any callable that returns a protocol. A list gives one factory
        per attribute. ``best`` compares variances under RS+FD, with fakes and with equal sampling
        probabilities.
    ks : list of int
        Domain sizes, one per attribute.
    *budgets : float
        The budget ε, in order or as ``epsilon``.
    fake : {"zero", "random"}
        Fake reports of unary encodings. "zero" is the randomized zero vector. "random" is the
        report of a random value. Other protocols have one kind of fake: the randomized zero vector
        for ``Bloom``, and a uniform report for the others.
    amplify : bool
        True to report the sampled attribute at ε'. False reports it at ε, which is then the loss
        for any two records. ``SMP`` has less error at that loss.
    balance : bool
        True to choose the sampling probabilities so that the loss for one attribute is ε also for
        unequal domains. Attributes whose real reports stand out more are then sampled less, so
        their estimates have more error.
    **options : object
        Options of the factories. A list of length d gives one value per attribute.

    Raises
    ------
    TypeError
        If a protocol has no fake reports, or if the second moments of its contributions are
        needed but unknown. If budgets are missing or do not fit the factory.
    ValueError
        If a domain size, a budget or an option is out of range, or if the fakes do not allow
        ``balance``.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, RSFD
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
        for each, fake in zip(self.leaves, self.fakes, strict=True):
            if not each.moments.binary and fake.second is None:
                raise TypeError(
                    f"RSFD needs contributions of 0 and 1, but {validate.quote(each)} has other"
                    " contributions, and its fakes have no second moment"
                )

    @cached_property
    def fakes(self) -> tuple[Fake, ...]:
        """The distribution of a fake report, for each attribute."""
        return tuple(each._fake(self.fake) for each in self.leaves)

    @cached_property
    def weights(self) -> tuple[int, ...] | None:
        """The sampling probabilities of the attributes, times 2⁶⁴, or None if they are equal."""
        if not self.balance or self.d == 1:
            return None
        if any(fake.lows[0] != fake.lows[1] for fake in self.fakes):
            raise ValueError(
                "balance=True needs fakes with the same lower ratio of probabilities for all"
                f" reports, not fake={self.fake!r}: use fake='zero', and 2·hashes bits for Bloom"
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
        """The sampling probability of each attribute."""
        return (
            tuple(Fraction(w, exact.WORD) for w in self.weights)
            if self.weights
            else (Fraction(1, self.d),) * self.d
        )

    @cached_property
    def privacy(self) -> Privacy:
        """The exact privacy losses.

        ``report`` is ε', the loss of the sampled attribute (see the class).
        """
        pieces = []
        for each, share, fake in zip(self.leaves, self.shares, self.fakes, strict=True):
            pieces.append((each.ratio, share * fake.lows[0], share * fake.lows[1]))
        # Records that differ in all attributes: the largest weighted mean of the ratios
        whole = Fraction(0)
        while True:
            lows = [largest if ratio > whole else smallest for ratio, smallest, largest in pieces]
            better = sum(
                (piece[0] * low for piece, low in zip(pieces, lows, strict=True)), Fraction(0)
            ) / sum(lows)
            if better <= whole:
                break
            whole = better
        # Records that differ in one attribute: it has its largest ratio, and the other fields are
        # as unlike real reports as possible
        above, below = sum((smallest for _, smallest, _ in pieces), Fraction(0)).as_integer_ratio()
        # (ratio − 1)·largest/(largest + rest − smallest), not reduced: with many attributes,
        # reducing takes long
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
            # A quotient of integers is rounded once, so the exact maximum is among the pairs that
            # round to the largest quotient
        )
        return Privacy.of(whole, 1 + max(Fraction(a, b) for a, b in excess if a / b == most))

    def _seen_by_aggregator(self, j: int) -> tuple[Part, ...]:
        return Attribute(self, j).parts

    def _sample_attributes(self, source: Source, n: int) -> Counts:
        """Return the sampled attribute of each of n users."""
        choice = source.part(b"attribute")
        if self.weights is None:
            return choice.below(n, self.d)
        # The largest word that selects each attribute
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
        combine_laws(real)  # refuses distributions that are too large to list
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

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        record, own = self._require_answers(record), list(self._fields_of(reports))
        fakes = [fake.chance(field.tobytes()) for fake, field in zip(self.fakes, own, strict=True)]
        said = [each._read(field, None)[0] for each, field in zip(self.leaves, own, strict=True)]
        odds = [
            {id(chance): share * chance / fake for chance in _distinct(each.chances)}
            for each, share, fake in zip(said, self.shares, fakes, strict=True)
        ]
        real = [each[id(one.chances[v])] for each, one, v in zip(odds, said, record, strict=True)]
        found = []
        for j, one in enumerate(said):
            others = sum(real[:j] + real[j + 1 :], Fraction(0))
            chances = {chance: others + more for chance, more in odds[j].items()}
            found.append(Reading(None, one.supports, [chances[id(each)] for each in one.chances]))
        return found

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


def _distinct(chances: list[Fraction]) -> Iterable[Fraction]:
    """Return each object of a list once. Equal chances of a reading are one object."""
    return {id(chance): chance for chance in chances}.values()
