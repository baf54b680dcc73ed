"""Deliberately wrong protocols, each with the name of the check that rejects it.

Most of them have faults that published packages have had.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import comb, exp, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_freq_ldpy import (
    GRR,
    LGRR,
    LOLH,
    LOSUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    Affine,
    DBitFlipPM,
    Privacy,
    Stream,
)
from multi_freq_ldpy.core import draws, layouts
from multi_freq_ldpy.exact import WORD
from multi_freq_ldpy.longitudinal.chains import randomize_symbols
from multi_freq_ldpy.longitudinal.memoized import Recalled
from multi_freq_ldpy.mechanism import Mechanism
from multi_freq_ldpy.protocols.formats import unpack
from multi_freq_ldpy.randomness import Source

Values = NDArray[np.int64]


@dataclass(frozen=True)
class OwnValueFirst(SS):
    """A set is sent as a list, which starts with the user's value if the set contains it. >>>"""

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        return np.dtype((np.uint8, (self.omega,)))

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        packed = np.empty((len(values), (self.k + 7) // 8), np.uint8)
        super()._randomize(values, source, packed)
        for i, (value, chosen) in enumerate(zip(values, unpack(packed, self.k), strict=True)):
            held = np.flatnonzero(chosen).tolist()
            out[i] = sorted(held, key=lambda x, v=value: (x != v, x))  # type: ignore[misc]

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return (reports >= self.k).any(axis=1)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        return (reports[:, :, None] == np.arange(self.k)).any(axis=1).astype(np.uint8)

    def _count(self, reports: NDArray[Any]) -> Values:
        return np.bincount(reports.reshape(-1), minlength=self.k)

    def law(self, value: int) -> dict[bytes, Fraction]:
        p, w = Fraction(self.weight, WORD), self.omega
        law = {}
        for order in permutations(range(self.k), w):
            if value in order:
                first = order[0] == value
                chance = p / comb(self.k - 1, w - 1) / factorial(w - 1) if first else Fraction(0)
            else:
                chance = (1 - p) / comb(self.k - 1, w) / factorial(w)
            law[bytes(order)] = chance
        return {report: chance for report, chance in law.items() if chance}


@dataclass(frozen=True)
class OwnBitNotReset(OUE):
    """The user's own bit is drawn on top of the noise: P(1|1) = p + (1 − p)q. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        noise = np.empty_like(out)
        super()._randomize(values, source, out)
        super()._randomize((values + 1) % self.k, source.skip(2**40), noise)
        own = unpack(noise, self.k)[np.arange(len(values)), values]
        out[np.arange(len(values)), values // 8] |= (own << (values % 8)).astype(np.uint8)


@dataclass(frozen=True)
class NeverClears(SUE):
    """The user's own bit is always 1. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize(values, source, out)
        out[np.arange(len(values)), values // 8] |= (1 << (values % 8)).astype(np.uint8)


@dataclass(frozen=True)
class NeverClearsAndSaysSo(NeverClears):
    """The user's own bit is always 1, and the stated distribution says so. >>>"""

    @cached_property
    def moments(self) -> Affine:
        q = Fraction(self.weights[1], WORD)
        return Affine(Fraction(1), q, own_other=q, others=q * q)

    @property
    def ratio(self) -> Fraction:
        return (
            super().ratio
            if self.moments.p < 1
            else Fraction(*SUE(self.k, self.epsilon).weights) ** 2
        )

    def law(self, value: int) -> dict[bytes, Fraction]:
        q, size = self.moments.q, self.report_bytes
        numbers = [number for number in range(2**self.k) if number >> value & 1]
        zeros = {number: self.k - number.bit_count() for number in numbers}
        return {
            n.to_bytes(size, "little"): Fraction(q ** (self.k - 1 - z) * (1 - q) ** z)
            for n, z in zeros.items()
        }


@dataclass(frozen=True)
class LaplaceDoubles(SHE):
    """Noise is sent as floating-point numbers, whose grid reveals the value. >>>"""

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        return np.dtype((np.float64, (self.k,)))


@dataclass(frozen=True)
class OtherBitsOffByOnePerCent(OUE):
    """q is one per cent larger than stated. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        users, own = source.users(len(values), 1), np.uint64(self.weights[0])
        draws.choose("bits", out.size).randomize(
            source.key,
            *users,
            values,
            layouts.last_byte(self.k),
            own,
            *layouts.bit_table(self.weights[1] * 101 // 100),
            out,
        )


@dataclass(frozen=True)
class LastValueDropped(OUE):
    """Counting leaves out the last value. >>>"""

    def _count(self, reports: NDArray[Any]) -> Values:
        counts = super()._count(reports).copy()
        counts[-1] = 0
        return counts


@dataclass(frozen=True)
class RngIgnored(GRR):
    """Reports are drawn from a new stream, not from the given one. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize(values, Source.of(Stream(), self._label, len(values)), out)


@dataclass(frozen=True)
class SameNoiseForAll(GRR):
    """Every user has the noise of the first user. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        noise = np.empty(1, self.report_dtype)
        super()._randomize(np.zeros(1, np.int64), Source(source.key, 0), noise)
        out[:] = (values + noise) % self.k


@dataclass(frozen=True)
class NoiseShownByTheNext(OUE):
    """Two draws come from one source, so two users read the same random bytes. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize((values + source.below(len(values), 1)) % self.k, source, out)


@dataclass(frozen=True)
class AnyReportWelcome(GRR):
    """Reports that no client can send are counted. >>>"""

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.zeros(len(reports), np.bool_)


@dataclass(frozen=True)
class ThresholdFromDoubles(GRR):
    """Weights are computed in floating point and rounded to nearest.

    The ratio exceeds e^ε in the last bits. >>>
    """

    @cached_property
    def weights(self) -> tuple[int, int]:
        other = int(2.0**64 / (exp(self.epsilon) + self.k - 1))
        return WORD - (self.k - 1) * other, other


@dataclass(frozen=True)
class IdealHash(OLH):
    """Two values are assumed to collide with probability 1/g. >>>"""

    @cached_property
    def moments(self) -> Affine:
        own, other = (Fraction(w, WORD) for w in self.weights)
        return Affine(own, other + (own - other) / self.g)


@dataclass(frozen=True)
class NoiseVarianceHalved(SHE):
    """The stated variance of the noise is half of the real one. >>>"""

    @cached_property
    def moments(self) -> Any:
        right = SHE(self.k, self.epsilon).moments
        noise = float(right.q2 or 0) / 2
        return replace(right, p2=1 + noise, q2=noise)


@dataclass(frozen=True)
class PairsTakenForIndependent(SS):
    """The user's value and another are treated as independent, but sets have a fixed size. >>>"""

    @cached_property
    def moments(self) -> Affine:
        right = SS(self.k, self.epsilon).moments
        return replace(right, own_other=Fraction(right.p) * Fraction(right.q))


@dataclass(frozen=True)
class OthersOffByTwoPerCent(OUE):
    """The stated mean product for two other values is two per cent too large. >>>"""

    @cached_property
    def moments(self) -> Affine:
        right = OUE(self.k, self.epsilon).moments
        return replace(right, others=Fraction(right.others or 0) * Fraction(102, 100))


@dataclass(frozen=True)
class MoreThanItSays(GRR):
    """The stated privacy loss is half of the real one. >>>"""

    @property
    def ratio(self) -> Fraction:
        return Fraction(round(WORD * float(super().ratio) ** 0.5), WORD)


@dataclass(frozen=True)
class BiasedSet(SS):
    """A set is filled with the values after the user's value, not with uniform values. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        held = source.words(len(values), 1)[:, 0] < np.uint64(self.weight)
        first = np.where(held, values, values + 1)[:, None]
        rows = np.zeros((len(values), self.k), np.uint8)
        np.put_along_axis(rows, (first + np.arange(self.omega)) % self.k, 1, axis=1)
        out[:] = np.packbits(rows, axis=1, bitorder="little")


@dataclass(frozen=True, init=False, repr=False)
class AttributeByValue(SMP):
    """The sampled attribute depends on the record. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        SMP.of(self.protocols)._randomize(values, source, out)
        chosen = values.sum(axis=1) % self.d
        for j, protocol in enumerate(self.protocols):
            where = np.flatnonzero(chosen == j)
            if where.size:
                reports = np.zeros(len(where), self.report_dtype)
                reports["attribute"] = j
                drawn = np.empty(len(where), protocol.report_dtype)
                protocol._randomize(
                    np.ascontiguousarray(values[where, j]), source.part(b"x"), drawn
                )
                reports["payload"][:, : protocol.report_bytes] = drawn.view(np.uint8).reshape(
                    len(where), -1
                )
                out[where] = reports


@dataclass(frozen=True, init=False, repr=False)
class ValueInThePadding(SMP):
    """The padding of a short report reveals the value. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize(values, source, out)
        out["payload"][:, -1] |= np.where(out["attribute"] == 0, values[:, 0] + 1, 0).astype(
            np.uint8
        )

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(reports["attribute"] >= self.d)


@dataclass(frozen=True, init=False, repr=False)
class NumberedByBatch(SMP):
    """Users are numbered from the start of the batch, not from the start of the stream.

    Two batches share noise, and the split into batches changes the reports. >>>
    """

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize(values, Source(source.key, 0), out)


@dataclass(frozen=True, init=False, repr=False)
class SamplingLeftOut(SMP):
    """The stated variance leaves out the sampling of users. >>>"""

    def variance(self, n: Any, f: Any = 0.0) -> Any:
        return np.array([seen.channel.variance(n, f) * self.d for seen, _ in self.parts])


@dataclass(frozen=True, init=False, repr=False)
class SimulatedWithoutSampling(SMP):
    """The simulation samples exactly the same share of users of every value. >>>"""

    def _simulate(self, held: Any, n: int, rng: Any) -> Any:
        return [each._simulate(h // self.d, rng) for each, h in zip(self.leaves, held, strict=True)]


@dataclass(frozen=True, init=False, repr=False)
class FakesOfZero(RSFD):
    """Fakes are reports about value 0, not about uniform values. >>>"""

    def _columns(self, records: Values, source: Source) -> Any:
        sampled = self._sample_attributes(source, len(records))
        return [np.where(sampled == j, records[:, j], 0) for j in range(self.d)]


@dataclass(frozen=True, init=False, repr=False)
class FakesNotRandomized(RSFD):
    """Fakes of unary encodings are zeros without noise. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        super()._randomize(values, source, out)
        sampled = self._sample_attributes(source, len(values))
        for j in range(self.d):
            out[f"a{j}"][sampled != j] = 0


@dataclass(frozen=True, init=False, repr=False)
class OneReportForAll(RSFD):
    """All attributes draw from one stream, so fakes reveal the noise of the real report. >>>"""

    def _randomize(self, values: Values, source: Source, out: NDArray[Any]) -> None:
        for j, column in enumerate(self._columns(values, source)):
            drawn = np.empty(len(values), self.protocols[j].report_dtype)
            self.protocols[j]._randomize(np.ascontiguousarray(column), source.part(b"0"), drawn)
            out[f"a{j}"] = drawn


@dataclass(frozen=True, init=False, repr=False)
class CalledEpsilon(RSFD):
    """The loss of records that differ in one attribute is stated for any two records. >>>"""

    @cached_property
    def privacy(self) -> Privacy:
        right = RSFD.of(self.protocols, self.fake, self.balance).privacy.ratio_attribute
        return Privacy.of(right, right)


@dataclass(frozen=True, init=False, repr=False)
class EqualDomainsAssumed(RSFD):
    """The stated loss of one attribute assumes that all domains have equal size. >>>"""

    @cached_property
    def privacy(self) -> Privacy:
        right = RSFD.of(self.protocols, self.fake, self.balance).privacy
        return Privacy.of(right.ratio, 1 + (right.ratio - 1) / self.d)


@dataclass(frozen=True, init=False, repr=False)
class FakesNotInTheChannel(RSFD):
    """The estimate treats every report as real. >>>"""

    def _seen_by_aggregator(self, j: int) -> Any:
        return self.protocols[j].parts


@dataclass(frozen=True, init=False, repr=False)
class LossesNotAdded(SPL):
    """The loss of one attribute is stated as the loss of all attributes. >>>"""

    @cached_property
    def privacy(self) -> Privacy:
        return self.protocols[0].privacy


class Redrawn:
    """Mixin that is charged for the permanent state, but reports without it."""

    def _recall(self, values: Values, users: Values, memory: Source) -> Any:
        return super()._recall(values, users, memory), values  # type: ignore[misc]

    def _charges(self, recalled: Any) -> Any:
        return super()._charges(recalled[0])  # type: ignore[misc]

    def _report(self, recalled: Any, fresh: Any, out: NDArray[Any]) -> None:
        Mechanism._report(self, recalled[1], fresh, out)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RedrawnSymbols(Redrawn, LGRR):
    """The permanent answer is drawn anew for every report. >>>"""


@dataclass(frozen=True)
class RedrawnBits(Redrawn, LOSUE):
    """The permanent bits are drawn anew for every report. >>>"""


@dataclass(frozen=True)
class RedrawnPositions(Redrawn, DBitFlipPM):
    """The held positions are drawn anew for every report. >>>"""


@dataclass(frozen=True)
class HashedByValue(LOLH):
    """The permanent symbol is kept per value, not per hash of the value. >>>"""

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        classes = super()._remember(values, users, memory, out)
        source, kept = (
            memory.part(b"symbol").classes(users, self.k, values),
            np.empty(len(values), np.uint64),
        )
        randomize_symbols(classes, self.g, self.permanent.weights, source, kept)
        out["symbol"] = kept
        return classes


@dataclass(frozen=True)
class AnsweredByValue(DBitFlipPM):
    """The permanent bits are kept per value, not per held position that the value matches. >>>"""

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        held = self._held_positions(memory.part(b"positions").at(users), len(values))
        ranks = self._ranks(values, held)
        out["positions"] = held
        out["bits"] = self._answer(ranks, memory.part(b"bits").classes(users, self.k, values))
        return ranks + 1


@dataclass(frozen=True)
class NoneSharesNoise(DBitFlipPM):
    """Values that match no held position have the noise of values that match the first. >>>"""

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        held = self._held_positions(memory.part(b"positions").at(users), len(values))
        ranks = self._ranks(values, held)
        out["positions"] = held
        out["bits"] = self._answer(
            ranks, memory.part(b"bits").classes(users, self.d_bits, np.maximum(ranks, 0))
        )
        return ranks + 1


@dataclass(frozen=True)
class ThirdValuesLeftOut(LGRR):
    """The second round is the published one, which leaves out paths through third values. >>>"""

    @cached_property
    def second(self) -> tuple[int, int]:
        (t, q), c = self.permanent.weights, Fraction(exp(self.eps_1))
        ratio = (c * t - q) / (t - c * q)
        other = int(WORD / (ratio + self.k - 1)) + 1
        return WORD - (self.k - 1) * other, other


@dataclass(frozen=True)
class SecondRoundSkipped(LSUE):
    """The permanent answer itself is sent. >>>"""

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        out[:] = permanent


@dataclass(frozen=True)
class SecondRoundRemembered(LGRR):
    """The second round has a fixed key, so all reports of a user are the same. >>>"""

    def _report(self, recalled: Any, fresh: Any, out: NDArray[Any]) -> None:
        super()._report(recalled, [Stream(bytes(32))], out)


@dataclass(frozen=True)
class OthersNotFlipped(LOSUE):
    """The second round flips only ones: a 0 of the permanent answer stays 0. >>>"""

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        super()._add_noise(permanent, source, out)
        out &= permanent


@dataclass(frozen=True)
class LifetimeOfOneReport(LGRR):
    """The loss of one report is stated as the lifetime loss. >>>"""

    @cached_property
    def privacy(self) -> Privacy:
        return Privacy.of(self.ratio, None, Privacy.of(self.ratio))


@dataclass(frozen=True)
class ClassesShareNoise(LGRR):
    """A user's permanent answers share one noise, so a change of value reveals the difference.

    >>>
    """

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        self.permanent._randomize(values, memory.at(users), out)
        return values


@dataclass(frozen=True)
class BitsShareNoise(LOSUE):
    """A user's permanent bits share one noise, so a change of value reveals the difference. >>>"""

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        self.permanent._randomize(values, memory.at(users), out)
        return values


@dataclass(frozen=True)
class UsersInPairs(LGRR):
    """Pairs of users share their permanent noise. >>>"""

    def _remember(self, values: Values, users: Values, memory: Source, out: NDArray[Any]) -> Values:
        return super()._remember(values, users // 2, memory, out)


@dataclass(frozen=True)
class ChargedOnce(LGRR):
    """A change of value is not charged. >>>"""

    def _charges(self, recalled: Recalled) -> list[tuple[int, int | None]]:
        return [(0, 0)]


@dataclass(frozen=True)
class GroupsForgotten(LOSUE):
    """Over rounds, products with the user's own value are stated as for two other values. >>>"""

    @property
    def lasting(self) -> Affine:
        right = super().lasting
        return Affine(right.p, right.q, right.p2, right.q2, right.q * right.q, right.others)


@dataclass(frozen=True, init=False, repr=False)
class AttributeRedrawn(Redrawn, SMP):
    """The attribute is sampled anew for every report. >>>"""


@dataclass(frozen=True, init=False, repr=False)
class AttributesShareMemory(SPL):
    """All attributes derive their permanent states from one key. >>>"""

    def _recall(self, values: Values, users: Values, memory: Source) -> list[Any]:
        return [
            each._recall(np.ascontiguousarray(values[:, j]), users, memory)
            for j, each in enumerate(self.protocols)
        ]


@dataclass(frozen=True, init=False, repr=False)
class AttributeOfSevenUsers(SMP):
    """Users whose numbers differ by 7 sample the same attribute. >>>"""

    def _sample_parts(self, users: Values, memory: Source) -> Values:
        return super()._sample_parts(users % 7, memory)


FAULTS: list[tuple[Mechanism, str]] = [
    (OwnValueFirst(5, 0.5), "privacy"),
    (OwnBitNotReset(4, 1.0), "fit"),
    (OwnBitNotReset(40, 1.0), "unbiased"),
    (NeverClears(4, 1.0), "fit"),
    (NeverClears(40, 1.0), "unbiased"),
    (NeverClearsAndSaysSo(3, 1.0), "privacy"),
    (LaplaceDoubles(3, 1.0), "integers"),
    (OtherBitsOffByOnePerCent(4, 1.0), "unbiased"),
    (OtherBitsOffByOnePerCent(100, 1.0), "unbiased"),
    (LastValueDropped(9, 1.0), "counting"),
    (RngIgnored(4, 1.0), "randomness"),
    (SameNoiseForAll(4, 1.0), "variance"),
    (NoiseShownByTheNext(5, 1.0), "randomness"),
    (AnyReportWelcome(5, 1.0), "encoding"),
    (ThresholdFromDoubles(3, 0.5), "privacy"),
    (IdealHash(4, 1.0), "moments"),
    (NoiseVarianceHalved(3, 1.0), "variance"),
    (PairsTakenForIndependent(6, 0.5), "moments"),
    (OthersOffByTwoPerCent(5, 1.0), "moments"),
    (MoreThanItSays(3, 1.0), "privacy"),
    (BiasedSet(7, 0.5), "fit"),
    (AttributeByValue(GRR, [2, 3], 1.0), "fit"),
    (ValueInThePadding([GRR, SS], [2, 9], 1.0), "fit"),
    (NumberedByBatch(GRR, [2, 3], 1.0), "batches"),
    (SamplingLeftOut(GRR, [3, 3, 3], 5.0), "variance"),
    (SimulatedWithoutSampling(GRR, [3, 3], 5.0), "variance"),
    (FakesOfZero(GRR, [2, 3], 1.0), "fit"),
    (FakesOfZero(OLH, [40, 30], 1.0), "unbiased"),
    (FakesNotRandomized(OUE, [2, 3], 1.0), "fit"),
    (OneReportForAll(OUE, [3, 2], 1.0), "fit"),
    (CalledEpsilon(GRR, [3, 3], 1.0), "privacy"),
    (EqualDomainsAssumed(GRR, [2, 6], 1.0), "privacy"),
    (FakesNotInTheChannel(OUE, [3, 2], 1.0), "moments"),
    (LossesNotAdded(GRR, [2, 3], 1.0), "privacy"),
    (RedrawnSymbols(4, 4.0, 2.0), "rounds"),
    (RedrawnBits(4, 4.0, 2.0), "rounds"),
    (RedrawnPositions(7, 2.0, b=4, d_bits=2), "rounds"),
    (HashedByValue(40, 4.0, 2.0), "memory"),
    (AnsweredByValue(7, 2.0, b=4, d_bits=2), "memory"),
    (NoneSharesNoise(7, 2.0, b=6, d_bits=3), "rounds"),
    (ThirdValuesLeftOut(5, 2.0, 1.0), "privacy"),
    (SecondRoundSkipped(3, 2.0, 1.0), "fit"),
    (SecondRoundRemembered(4, 4.0, 2.0), "rounds"),
    (OthersNotFlipped(40, 4.0, 2.0), "unbiased"),
    (LifetimeOfOneReport(3, 2.0, 1.0), "lifetime"),
    (AttributeRedrawn(LGRR, [3, 2], 4.0, 2.0), "memory"),
    (AttributesShareMemory(LGRR, [3, 3], 4.0, 2.0), "rounds"),
    (AttributeOfSevenUsers(LGRR, [3, 3], 4.0, 2.0), "memory"),
    (ClassesShareNoise(5, 2.0, 1.0), "rounds"),
    (BitsShareNoise(5, 2.0, 1.0), "rounds"),
    (UsersInPairs(5, 2.0, 1.0), "rounds"),
    (ChargedOnce(5, 2.0, 1.0), "memory"),
    (GroupsForgotten(5, 4.0, 2.0), "rounds"),
]
