"""Microsoft's dBitFlipPM: a few bits of a bucket histogram, randomized once for ever."""

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
"""The largest number of bytes of rows that are processed together."""


def _width(bits: int) -> int:
    return (bits + 7) // 8


@dataclass(frozen=True)
class HeldBits(Format):
    """Format of reports about a few of k buckets: their positions, and one bit for each.

    The positions are a packed row. Their bits are packed in the order of the positions.

    Parameters
    ----------
    k : int
        Number of buckets.
    held : int
        Number of buckets that a user holds.
    """

    k: int
    held: int

    @cached_property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """The dtype of a report: two packed rows."""
        return np.dtype(
            [("positions", np.uint8, (_width(self.k),)), ("bits", np.uint8, (_width(self.held),))]
        )

    @property
    def work(self) -> int:
        """The number of bits of a report."""
        return self.held

    @property
    def sets(self) -> int:
        """The number of sets of positions, or a large number where it takes long to compute."""
        return comb(self.k, self.held) if min(self.held, self.k - self.held) <= 32 else 2**64

    @property
    def size(self) -> int:
        """The number of reports: every set of positions with every combination of bits."""
        return self.sets << min(self.held, 64)

    def every(self) -> NDArray[Any]:
        """Return every set of positions with every combination of bits.

        Returns
        -------
        array of ``dtype``
            All possible reports.
        """
        reports, answers = np.zeros(self.size, self.dtype), Bits(self.held).every()
        for i, held in enumerate(combinations(range(self.k), self.held)):
            part = slice(i * len(answers), (i + 1) * len(answers))
            row = sum(1 << v for v in held).to_bytes(_width(self.k), "little")
            reports["positions"][part] = np.frombuffer(row, np.uint8)
            reports["bits"][part] = answers
        return reports

    def refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the reports with another number of positions, or with bits beyond the last.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.

        Returns
        -------
        array of bool
            True for the reports that no honest client sends.
        """
        held = np.ascontiguousarray(reports["positions"])
        beyond = (held[:, -1] & ~layouts.last_byte(self.k)) | (
            reports["bits"][:, -1] & ~layouts.last_byte(self.held)
        )
        return np.asarray((beyond != 0) | (count_ones(held) != self.held))

    def rows(self, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bits at their positions.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.

        Returns
        -------
        array of uint8
            One packed row of k bits per report.
        """
        held, bits = (
            np.ascontiguousarray(reports["positions"]),
            np.ascontiguousarray(reports["bits"]),
        )
        rows = np.empty_like(held)
        draws.choose("positions", held.size).deposit(held, bits, rows)
        return rows

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the bits of the buckets, with 0 for a bucket that is not held.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.

        Returns
        -------
        array of uint8
            Zeros and ones, shape (n, k).
        """
        held = unpack(np.ascontiguousarray(reports["positions"]), self.k)
        ranks = np.cumsum(held, axis=1) - 1
        bits = unpack(np.ascontiguousarray(reports["bits"]), self.held)
        return np.asarray(held * np.take_along_axis(bits, np.maximum(ranks, 0), axis=1), np.uint8)

    def count(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports that have a 1 for each bucket.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.

        Returns
        -------
        array of int64
            One count per bucket.
        """
        return self._add(reports, self.rows)

    def answers(self, reports: NDArray[Any]) -> Counts:
        """Return the number of reports that hold each bucket.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.

        Returns
        -------
        array of int64
            One number per bucket.
        """
        return self._add(reports, lambda part: np.ascontiguousarray(part["positions"]))

    def _add(self, reports: NDArray[Any], rows: Any) -> Counts:
        step, counts = max(1, ROWS // self.dtype.itemsize), np.zeros(self.k, np.int64)
        for low in range(0, len(reports), step):
            counts += count_columns(rows(reports[low : low + step]), self.k)
        return counts

    def most(self, values: int) -> int:
        """Return the largest number of ones of one report in a given number of buckets.

        Parameters
        ----------
        values : int
            Number of buckets.

        Returns
        -------
        int
            At most the number of held buckets.
        """
        return min(values, self.held)

    def moments(self, own: Fraction, other: Fraction) -> Affine:
        """Return the channel for the users who hold a bucket.

        Parameters
        ----------
        own : Fraction
            Probability of a 1 for the user's own bucket.
        other : Fraction
            Probability of a 1 for another bucket.

        Returns
        -------
        Affine
            The channel in exact fractions.
        """
        return Bits(self.k).moments(own, other) if self.held == self.k else Affine(own, other)

    def ratio(self, own: Fraction, other: Fraction) -> Fraction:
        """Return the largest ratio of probabilities of a report between two values.

        With one held bucket, two values differ in one bit at most. Otherwise the ratio is that of
        two values whose buckets are both held.

        Parameters
        ----------
        own : Fraction
            Probability of a 1 for the user's own bucket.
        other : Fraction
            Probability of a 1 for another bucket.

        Returns
        -------
        Fraction
            The exact ratio.
        """
        alone = max(own / other, (1 - other) / (1 - own))
        return alone if self.held == 1 else Bits(self.k).ratio(own, other)

    def levels(self, reports: NDArray[Any], value: int) -> NDArray[Any]:
        """Return numbers that are equal for reports of equal probability.

        The probabilities are those for a user with the given bucket. A level is three times the
        number of ones at other buckets, plus the state of the own bucket. The state is 0 if the
        bucket is not held, 1 if its bit is 0, and 2 if its bit is 1.

        Parameters
        ----------
        reports : array of ``dtype``
            Reports, one per user.
        value : int
            Bucket of the user.

        Returns
        -------
        array of int64
            One level per report.
        """
        held = unpack(np.ascontiguousarray(reports["positions"]), self.k)[:, value]
        bits = self.contributions(reports)
        own = bits[:, value].astype(np.int64)
        return np.asarray(3 * (bits.sum(axis=1, dtype=np.int64) - own) + held + own)

    def chance(self, level: int, own: Fraction, other: Fraction) -> Fraction:
        """Return the probability of one report at a level.

        It is the product of the probabilities of the bits and of the set of positions.

        Parameters
        ----------
        level : int
            Level of the report, as ``levels`` returns it.
        own : Fraction
            Probability of a 1 for the user's own bucket.
        other : Fraction
            Probability of a 1 for another bucket.

        Returns
        -------
        Fraction
            The exact probability.
        """
        ones, state = divmod(level, 3)
        rest = (1 - other) ** (self.held - (state > 0) - ones)
        sets = Fraction(1, comb(self.k, self.held))
        return multiply(other**ones, rest, (Fraction(1), 1 - own, own)[state], sets)


@dataclass(frozen=True)
class DBitFlipPM(Memoized):
    """Randomized bits for a few buckets of values, drawn once for ever (dBitFlipPM).

    Values fall into b buckets. The bucket of v is ⌊v·b/k⌋. A user holds the same ``d_bits`` buckets
    for ever, and reports one randomized bit for each held bucket. A bit is 1 with probability
    p = √e^eps_perm/(√e^eps_perm + 1) if the bucket is the user's own. Otherwise the probability is
    q = 1 − p.

    The bits are drawn once for each held bucket that can be the user's own. They are drawn once
    more for the case that the user's own bucket is not held. There is no second round. A bucket is
    estimated from the users who hold it.

    With one bit, two values differ in that bit at most, so the loss is eps_perm/2. Choose it where
    values are numbers that change a little from time to time. Changes within a bucket reveal
    nothing.

    **The positions link the reports of a user**, because they are sent with each report. The whole
    report also links them, as long as the bucket stays the same.

    Ding, Kulkarni and Yekhanin, "Collecting telemetry data privately", NIPS 2017.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    b : int, optional
        Number of buckets, at most k. None, the default, is k.
    d_bits : int, optional
        Number of buckets that a user holds, at most b. None, the default, is b.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy import DBitFlipPM
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
        """The probabilities p and q as realised, times 2⁶⁴."""
        if self.b > self.k:
            raise ValueError(f"b must be at most k={self.k}, the number of values, not {self.b}")
        if self.d_bits > self.b:
            raise ValueError(
                f"d_bits must be at most b={self.b}, the number of buckets, not {self.d_bits}"
            )
        return self._build_first(SUE).weights

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q as realised."""
        own, other = self.weights
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    @cached_property
    def format(self) -> HeldBits:
        """The format of a report, which has the held positions and their bits."""
        return HeldBits(self.b, self.d_bits)

    @property
    def permanent(self) -> "DBitFlipPM":
        """The protocol itself, because a report is the permanent answer."""
        return self

    @property
    def lasting(self) -> Affine:
        """The channel itself, because the whole report is permanent."""
        return self.moments

    @property
    def cells(self) -> int:
        """The number of buckets."""
        return self.b

    def cell_of(self, values: Counts) -> Counts:
        """Return the bucket of each value.

        Parameters
        ----------
        values : array of int
            Values, one per user.

        Returns
        -------
        array of int64
            Buckets, which are 0, …, b − 1.

        Examples
        --------
        >>> from multi_freq_ldpy import DBitFlipPM
        >>> DBitFlipPM(10, eps_perm=2.0, b=5).cell_of([0, 1, 2, 9])
        array([0, 0, 1, 4])
        """
        return (np.asarray(values, np.uint64) * np.uint64(self.b) // np.uint64(self.k)).astype(
            np.int64
        )

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a user holds a given bucket."""
        return (Fraction(self.d_bits, self.b),)

    @property
    def classes(self) -> int:
        """The number of memo classes.

        There is one for each held bucket. There is one more if the user's own bucket may be one
        that is not held.
        """
        return min(self.d_bits + 1, self.b)

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        return (
            layouts.set_constants(self.b, self.d_bits),
            layouts.bit_table(self.weights[1]),
        )

    def _held_positions(self, source: Source, n: int) -> NDArray[np.uint8]:
        """Return the positions that users hold, which are uniform random sets."""
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
        """Return the index of each user's bucket among the held ones, or −1 if it is not held."""
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
                "n must be the number of users who hold each bucket, with"
                f" d_bits={self.d_bits} buckets per user, not {validate.quote(n)}"
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
