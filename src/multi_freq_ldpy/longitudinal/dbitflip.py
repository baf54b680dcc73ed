"""Microsoft's dBitFlipPM: a few bits of a bucket histogram, randomized once and for all."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.channel import Channel
from ..core.randomness import Rng, Source, as_generator
from ..mechanism import as_readonly
from ..protocol import declared
from ..protocols.packed import count_ones, unpack
from ..protocols.subset import kernel_arguments
from ..protocols.unary import SUE
from .memoized import Memoized


def _width(bits: int) -> int:
    return (bits + 7) // 8


@dataclass(frozen=True)
class DBitFlipPM(Memoized):
    """dBitFlipPM: values fall into b buckets, and a user answers for ``d_bits`` of them, the same
    for ever, with a randomized bit each.

    The bucket of v is ⌊v·b/k⌋. A bit is 1 with probability p = √e^eps_perm/(√e^eps_perm + 1) if the
    bucket is the user's and q = 1 − p otherwise. The bits are drawn once for each held position
    that the bucket can match, and once for matching none; there is no second round. A bucket is
    estimated from the users who hold it. b = k and d_bits = b by default. With one bit, two values
    differ in that bit at most, so the loss is eps_perm/2. Choose it where values are numbers that
    change a little from time to time: within a bucket nothing is told.

    Ding, Kulkarni and Yekhanin, "Collecting telemetry data privately", NIPS 2017.

    >>> protocol = DBitFlipPM(360, eps_perm=2.0, b=12, d_bits=3)
    >>> protocol.report_bytes, protocol.privacy.report, protocol.privacy.lifetime
    (3, 2.0, 2.0)
    >>> tally = protocol.tally(protocol.randomize(range(360), rng=1))
    >>> tally.users, tally.n
    (360, array([ 85,  80,  89,  94,  94,  91, 106,  89,  85,  93,  89,  85]))
    """

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
        own, other = self._build_first(SUE).weights
        return own, other

    @property
    def permanent(self) -> "DBitFlipPM":
        """The protocol itself: a report is the permanent answer."""
        return self

    @cached_property
    def moments(self) -> Channel:
        """The channel in exact fractions, for the users who hold a bucket."""
        p, q = (Fraction(weight, exact.WORD) for weight in self.weights)
        return (
            Channel(p, q, own_other=p * q, others=q * q) if self.d_bits == self.b else Channel(p, q)
        )

    @property
    def lasting(self) -> Channel:
        """The same: all of it lasts."""
        return self.moments

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        p, q = Fraction(self.moments.p), Fraction(self.moments.q)
        alone = max(p / q, (1 - q) / (1 - p))
        return alone if self.d_bits == 1 else p * (1 - q) / (q * (1 - p))

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return self.d_bits

    @property
    def cells(self) -> int:
        """The number of buckets."""
        return self.b

    def cell_of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
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
    def report_dtype(self) -> np.dtype[Any]:
        """The held positions as a packed row, and their bits, packed in the order of positions."""
        return np.dtype(
            [("positions", np.uint8, (_width(self.b),)), ("bits", np.uint8, (_width(self.d_bits),))]
        )

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        from ..kernels import bits, subsets

        return subsets.constants(self.b, self.d_bits), bits.table(self.weights[1])

    def _held_positions(self, source: Source, n: int) -> NDArray[np.uint8]:
        """Return the positions that users hold: uniform sets."""
        from ..kernels import bits, subsets

        held = np.full((n, _width(self.b)), 0xFF, np.uint8)
        held[:, -1] = bits.last_byte(self.b)
        if self.d_bits < self.b:
            subsets.randomize(
                *kernel_arguments(
                    as_readonly(np.full(n, -1)), source, self.b, self.d_bits, 0, self._tables[0]
                ),
                held,
            )
        return held

    def _ranks(self, values: NDArray[np.int64], held: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return which of the held positions each user's bucket is, or −1 for none."""
        from ..kernels import positions

        ranks = np.empty(len(values), np.int64)
        positions.ranks(held, self.cell_of(values), ranks)
        return ranks

    def _answer(self, ranks: NDArray[np.int64], source: Source) -> NDArray[np.uint8]:
        """Return randomized bits of the held positions."""
        from ..kernels import bits

        width, own = _width(self.d_bits), np.uint64(self.weights[0])
        out = np.empty((len(ranks), width), np.uint8)
        users = source.users(len(ranks), 2 * width + 2)
        bits.randomize(
            source.key,
            *users,
            as_readonly(ranks),
            bits.last_byte(self.d_bits),
            own,
            *self._tables[1],
            out,
        )
        return out

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        positions, answers = source.part(b"positions"), source.part(b"bits")
        for part in self._blocks(0, len(values)):
            held = self._held_positions(positions.skip(part.start), part.stop - part.start)
            out["positions"][part] = held
            out["bits"][part] = self._answer(
                self._ranks(values[part], held), answers.skip(part.start)
            )

    def _remember(
        self, values: NDArray[np.int64], users: NDArray[np.int64], memory: Source, out: NDArray[Any]
    ) -> NDArray[np.int64]:
        held = self._held_positions(memory.part(b"positions").at(users), len(values))
        ranks = self._ranks(values, held)
        out["positions"] = held
        out["bits"] = self._answer(
            ranks, memory.part(b"bits").classes(users, self.d_bits + 1, ranks + 1)
        )
        return ranks + 1

    def _report(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        out[:] = permanent

    def _most(self, values: int) -> int:
        return min(values, self.d_bits)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        from ..kernels import bits

        held = np.ascontiguousarray(reports["positions"])
        beyond = (held[:, -1] & ~bits.last_byte(self.b)) | (
            reports["bits"][:, -1] & ~bits.last_byte(self.d_bits)
        )
        return np.asarray((beyond != 0) | (count_ones(held) != self.d_bits))

    def _rows(self, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bits at their positions, a packed row a report."""
        from ..kernels import positions

        held, bits = (
            np.ascontiguousarray(reports["positions"]),
            np.ascontiguousarray(reports["bits"]),
        )
        rows = np.empty_like(held)
        positions.deposit(held, bits, rows)
        return rows

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the bits of the buckets, 0 where a bucket is not held, shape (n, b)."""
        held = unpack(np.ascontiguousarray(reports["positions"]), self.b)
        ranks = np.cumsum(held, axis=1) - 1
        bits = unpack(np.ascontiguousarray(reports["bits"]), self.d_bits)
        return np.asarray(held * np.take_along_axis(bits, np.maximum(ranks, 0), axis=1), np.uint8)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        from ..kernels import bit_counts

        counts = np.zeros(8 * _width(self.b), np.int64)
        for part in self._blocks(0, len(reports)):
            bit_counts.count(self._rows(reports[part]), counts)
        return counts[: self.b]

    def _answers(self, reports: NDArray[Any]) -> int | NDArray[np.int64]:
        from ..kernels import bit_counts

        if self.d_bits == self.b:
            return len(reports)
        counts = np.zeros(8 * _width(self.b), np.int64)
        for part in self._blocks(0, len(reports)):
            bit_counts.count(np.ascontiguousarray(reports["positions"][part]), counts)
        return counts[: self.b]

    def _reporters(self, n: NDArray[np.int64]) -> int:
        users, rest = divmod(
            validate.sum_exactly(n) if n.ndim else int(n) * self.d_bits, self.d_bits
        )
        if rest or (n > users).any():
            raise ValueError(
                f"n must say for each bucket how many users hold it, each {self.d_bits} of them,"
                f" not {validate.quote(n)}"
            )
        return users

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        if not n.ndim and self.d_bits < self.b:
            raise ValueError(
                f"n must have an entry for each of the b={self.b} buckets, not {validate.quote(n)}"
            )
        if (reporters := self._reporters(n)) > users:
            raise ValueError(
                f"n must not be of more than users={users}, but {reporters} users hold"
                f" {validate.quote(n)}"
            )
        super()._check_counts(counts, n, users)

    def _draw_and_count(self, values: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        out = np.empty(len(values), self.report_dtype)
        self._randomize(values, source, out)
        return np.concatenate((self._count(out), np.broadcast_to(self._answers(out), self.b)))

    def _simulate_tally(
        self, counts: NDArray[np.int64], rng: Rng, nobody: int = 0
    ) -> tuple[NDArray[np.int64], Any]:
        n = int(counts.sum())
        if self.d_bits == self.b:
            held = np.add.reduceat(
                counts, np.searchsorted(self.cell_of(np.arange(self.k)), np.arange(self.b))
            )
            generator, p, q = as_generator(rng), float(self.channel.p), float(self.channel.q)
            return np.asarray(generator.binomial(held, p) + generator.binomial(n - held, q)), n
        both = self._simulate(counts, rng) if n else np.zeros(2 * self.b, np.int64)
        return both[: self.b], both[self.b :]

    @property
    def _likelihood_ratio(self) -> float:
        raise TypeError(
            "DBitFlipPM has no maximum likelihood: a report says nothing about the buckets that are"
            " not held"
        )

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        few = min(self.d_bits, self.b - self.d_bits) <= 32
        sets = comb(self.b, self.d_bits) if few else 2**64
        value = self._check_law(value, sets * 2 ** min(self.d_bits, 64))
        bucket, p, q = value * self.b // self.k, Fraction(self.moments.p), Fraction(self.moments.q)
        law = {}
        for held in combinations(range(self.b), self.d_bits):
            positions = sum(1 << v for v in held).to_bytes(_width(self.b), "little")
            for answer in product((0, 1), repeat=self.d_bits):
                chance = Fraction(1, sets)
                for v, bit in zip(held, answer, strict=True):
                    one = p if v == bucket else q
                    chance *= one if bit else 1 - one
                bits = sum(bit << i for i, bit in enumerate(answer))
                law[positions + bits.to_bytes(_width(self.d_bits), "little")] = chance
        return law
