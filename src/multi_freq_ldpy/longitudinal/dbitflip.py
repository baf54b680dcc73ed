"""Microsoft's dBitFlipPM: a few bits of a bucket histogram, randomized once and for all."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts, validate
from ..core.channel import Affine
from ..core.randomness import Rng, Source, as_generator
from ..mechanism import Counts, as_readonly
from ..protocol import declared
from ..protocols.formats import Bits, Format, count_columns, count_ones, multiply, unpack
from ..protocols.subset import kernel_arguments
from ..protocols.unary import SUE
from .memoized import Memoized

ROWS = 2**22
"""Bytes of rows that are looked at together."""


def _width(bits: int) -> int:
    return (bits + 7) // 8


@dataclass(frozen=True)
class HeldBits(Format):
    """Which ``held`` of k buckets a user answers for, and a bit for each of them.

    The positions as a packed row, and their bits, packed in the order of positions.
    """

    k: int
    held: int

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """Two packed rows."""
        return np.dtype(
            [("positions", np.uint8, (_width(self.k),)), ("bits", np.uint8, (_width(self.held),))]
        )

    @property
    def work(self) -> int:
        """The bits."""
        return self.held

    @property
    def sets(self) -> int:
        """How many sets of positions there are; a large number where it takes long to work out."""
        return comb(self.k, self.held) if min(self.held, self.k - self.held) <= 32 else 2**64

    @property
    def size(self) -> int:
        """Every set of positions with every combination of bits."""
        return self.sets << min(self.held, 64)

    def every(self) -> NDArray[Any]:
        """Return every set of positions with every combination of bits."""
        reports, answers = np.zeros(self.size, self.dtype), Bits(self.held).every()
        for i, held in enumerate(combinations(range(self.k), self.held)):
            part = slice(i * len(answers), (i + 1) * len(answers))
            row = sum(1 << v for v in held).to_bytes(_width(self.k), "little")
            reports["positions"][part] = np.frombuffer(row, np.uint8)
            reports["bits"][part] = answers
        return reports

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark other numbers of positions, and bits beyond the last."""
        held = np.ascontiguousarray(reports["positions"])
        beyond = (held[:, -1] & ~layouts.last_byte(self.k)) | (
            reports["bits"][:, -1] & ~layouts.last_byte(self.held)
        )
        return np.asarray((beyond != 0) | (count_ones(held) != self.held))

    def rows(self, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bits at their positions, a packed row a report."""
        held, bits = (
            np.ascontiguousarray(reports["positions"]),
            np.ascontiguousarray(reports["bits"]),
        )
        rows = np.empty_like(held)
        draws.choose("positions", held.size).deposit(held, bits, rows)
        return rows

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the bits of the buckets, 0 where a bucket is not held."""
        held = unpack(np.ascontiguousarray(reports["positions"]), self.k)
        ranks = np.cumsum(held, axis=1) - 1
        bits = unpack(np.ascontiguousarray(reports["bits"]), self.held)
        return np.asarray(held * np.take_along_axis(bits, np.maximum(ranks, 0), axis=1), np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return how many reports have a 1 for each bucket."""
        return self._add(reports, self.rows)

    def answers(self, reports: NDArray[Any]) -> Counts:
        """Return how many reports hold each bucket."""
        return self._add(reports, lambda part: np.ascontiguousarray(part["positions"]))

    def _add(self, reports: NDArray[Any], rows: Any) -> Counts:
        step, counts = max(1, ROWS // self.dtype.itemsize), np.zeros(self.k, np.int64)
        for low in range(0, len(reports), step):
            counts += count_columns(rows(reports[low : low + step]), self.k)
        return counts

    def most(self, values: int) -> int:
        """Return at most as many as are held."""
        return min(values, self.held)

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel for the users who hold a bucket."""
        return Bits(self.k).moments(own, other) if self.held == self.k else Affine(own, other)

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the ratio for two values, both of them held unless one bit is all there is."""
        alone = max(own / other, (1 - other) / (1 - own))
        return alone if self.held == 1 else Bits(self.k).ratio(own, other)

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return three times the number of ones at other buckets, plus 0 where the own bucket is
        not held, 1 where its bit is 0, and 2 where it is 1.
        """
        held = unpack(np.ascontiguousarray(reports["positions"]), self.k)[:, value]
        bits = self.contributions(reports)
        own = bits[:, value].astype(np.int64)
        return np.asarray(3 * (bits.sum(axis=1, dtype=np.int64) - own) + held + own)

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the product of the bits' probabilities, for one of the sets of positions."""
        ones, state = divmod(level, 3)
        rest = (1 - other) ** (self.held - (state > 0) - ones)
        sets = Fraction(1, comb(self.k, self.held))
        return multiply(other**ones, rest, (Fraction(1), 1 - own, own)[state], sets)


@dataclass(frozen=True)
class DBitFlipPM(Memoized):
    """dBitFlipPM: values fall into b buckets, and a user answers for ``d_bits`` of them, the same
    for ever, with a randomized bit each.

    The bucket of v is ⌊v·b/k⌋. A bit is 1 with probability p = √e^eps_perm/(√e^eps_perm + 1) if the
    bucket is the user's and q = 1 − p otherwise. The bits are drawn once for each held position
    that the bucket can match, and once for matching none; there is no second round. A bucket is
    estimated from the users who hold it. b = k and d_bits = b by default. With one bit, two values
    differ in that bit at most, so the loss is eps_perm/2. Choose it where values are numbers that
    change a little from time to time: within a bucket nothing is told. **The positions link the
    reports of a user**, because they are sent with each of them; so does the whole report, as long
    as the bucket stays the same.

    Ding, Kulkarni and Yekhanin, "Collecting telemetry data privately", NIPS 2017.

    >>> protocol = DBitFlipPM(360, eps_perm=2.0, b=12, d_bits=3)
    >>> protocol.report_bytes, protocol.privacy.report, protocol.privacy.lifetime
    (3, 2.0, 2.0)
    >>> tally = protocol.tally(protocol.randomize(range(360), rng=1))
    >>> tally.users, tally.n
    (360, array([ 85,  80,  89,  94,  94,  91, 106,  89,  85,  93,  89,  85]))
    """

    linked = "yes"
    b: int = declared(validate.Integer(2, validate.LARGEST_DOMAIN), None)
    d_bits: int = declared(validate.Integer(1, validate.LARGEST_DOMAIN), None)

    def __post_init__(self) -> None:
        if self.b is None:
            object.__setattr__(self, "b", self.k)
        if self.d_bits is None:
            object.__setattr__(self, "d_bits", self.b)
        super().__post_init__()

    @cached_property
    def weights(self) -> tuple[int, int]:
        """p and q as realised, times 2⁶⁴."""
        if self.b > self.k:
            raise ValueError(f"b must be at most k={self.k}, a bucket a value, not {self.b}")
        if self.d_bits > self.b:
            raise ValueError(
                f"d_bits must be at most b={self.b}, a bit a bucket, not {self.d_bits}"
            )
        return self._build_first(SUE).weights

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """p and q as realised."""
        own, other = self.weights
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    @cached_property
    def format(self) -> HeldBits:
        """The held positions, and their bits."""
        return HeldBits(self.b, self.d_bits)

    @property
    def permanent(self) -> "DBitFlipPM":
        """The protocol itself: a report is the permanent answer."""
        return self

    @property
    def lasting(self) -> Affine:
        """The same as the channel: all of it lasts."""
        return self.moments

    @property
    def cells(self) -> int:
        """The number of buckets."""
        return self.b

    def cell_of(self, values: Counts) -> Counts:
        """Return the bucket of each value."""
        return (np.asarray(values, np.uint64) * np.uint64(self.b) // np.uint64(self.k)).astype(
            np.int64
        )

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a user holds a given bucket."""
        return (Fraction(self.d_bits, self.b),)

    @property
    def classes(self) -> int:
        """The number of memo classes: which held position is matched, or none."""
        return min(self.d_bits + 1, self.b)

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        return (
            layouts.set_constants(self.b, self.d_bits),
            layouts.bit_table(self.weights[1]),
        )

    def _held_positions(self, source: Source, n: int) -> NDArray[np.uint8]:
        """Return the positions that users hold: uniform sets."""
        held = np.full((n, _width(self.b)), 0xFF, np.uint8)
        held[:, -1] = layouts.last_byte(self.b)
        if self.d_bits < self.b:
            draws.choose("subsets", held.size).randomize(
                *kernel_arguments(
                    as_readonly(np.full(n, -1)), source, self.b, self.d_bits, 0, self._tables[0]
                ),
                held,
            )
        return held

    def _ranks(self, values: Counts, held: NDArray[np.uint8]) -> Counts:
        """Return which of the held positions each user's bucket is, or −1 for none."""
        ranks = np.empty(len(values), np.int64)
        draws.choose("positions", held.size).ranks(held, self.cell_of(values), ranks)
        return ranks

    def _answer(self, ranks: Counts, source: Source) -> NDArray[np.uint8]:
        """Return randomized bits of the held positions."""
        width, own = _width(self.d_bits), np.uint64(self.weights[0])
        out = np.empty((len(ranks), width), np.uint8)
        users = source.users(len(ranks), layouts.bits_stride(width))
        draws.choose("bits", out.size).randomize(
            source.key,
            *users,
            as_readonly(ranks),
            layouts.last_byte(self.d_bits),
            own,
            *self._tables[1],
            out,
        )
        return out

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        positions, answers = source.part(b"positions"), source.part(b"bits")
        for part in self._blocks(0, len(values)):
            held = self._held_positions(positions.skip(part.start), part.stop - part.start)
            out["positions"][part] = held
            out["bits"][part] = self._answer(
                self._ranks(values[part], held), answers.skip(part.start)
            )

    def _remember(self, values: Counts, users: Counts, memory: Source, out: NDArray[Any]) -> Counts:
        held = self._held_positions(memory.part(b"positions").at(users), len(values))
        ranks = self._ranks(values, held)
        out["positions"] = held
        out["bits"] = self._answer(
            ranks, memory.part(b"bits").classes(users, self.d_bits + 1, ranks + 1)
        )
        return ranks + 1

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        out[:] = permanent

    def _answers(self, reports: NDArray[Any]) -> Counts:
        return super()._answers(reports) if self._answers_all else self.format.answers(reports)

    def _reporters(self, n: Counts) -> int:
        users, rest = divmod(validate.sum_exactly(n), self.d_bits)
        if rest or (n > users).any():
            raise ValueError(
                f"n must say for each bucket how many users hold it, each {self.d_bits} of them,"
                f" not {validate.quote(n)}"
            )
        return users

    def _simulate(self, counts: Counts, rng: Rng, nobody: int = 0) -> tuple[Counts, Counts]:
        if not self._answers_all:
            return super()._simulate(counts, rng)
        firsts = np.searchsorted(self.cell_of(np.arange(self.k)), np.arange(self.b))
        held, n = np.add.reduceat(counts, firsts), int(counts.sum())
        generator = as_generator(rng)
        found = Bits(self.b).spread(held, *self.chances, 0, lambda: generator)
        return np.asarray(found), np.full(self.b, n)

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        raise TypeError(
            "DBitFlipPM has no maximum likelihood: a report says nothing about the buckets that are"
            " not held"
        )
