"""Bloom filters: a few bits of a short row, chosen by a public seed and the value."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts, validate
from ..core.channel import Affine
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot, declared
from .formats import multiply

Words = NDArray[np.uint32]
SEEDS = 2**64
"""Number of seeds."""

SHARED = 16
"""Number of values that share a digest: each has a word of 32 bits of its own."""

PIECE = 2**20
"""Number of pairs of a report and a value that are hashed together."""


def read_digests(seeds: NDArray[np.uint64], blocks: Counts, draw: int) -> Words:
    """Return the digest of each seed and block of values, as 16 words.

    The digest is that of BLAKE2b, with 64 bytes. It is computed from 16 bytes: the seed (8), the
    block (4) and the number of the draw (4), in little endian.
    """
    messages = np.empty(len(seeds), [("seed", "<u8"), ("block", "<u4"), ("draw", "<u4")])
    messages["seed"], messages["block"], messages["draw"] = seeds, blocks, draw
    data = messages.tobytes()
    digests = b"".join([blake2b(data[i : i + 16]).digest() for i in range(0, len(data), 16)])
    return np.frombuffer(digests, "<u4").reshape(-1, SHARED)


def choose_positions(words: Callable[[Counts, int], Words], n: int, m: int, h: int) -> Counts:
    """Return h distinct positions out of m for each of n filters, in the order of their draws.

    ``words(filters, draw)`` returns one word for each of these filters. A word below 2³² mod m is
    rejected, and so is a position that the filter already has.
    """
    found, filled, filters = np.full((n, h), -1), np.zeros(n, np.int64), np.arange(n)
    rejected, draw = np.uint32(2**32 % m), 0
    while filters.size:
        drawn = words(filters, draw)
        places = (drawn % np.uint32(m)).astype(np.int64)
        fresh = (drawn >= rejected) & (found[filters] != places[:, np.newaxis]).all(axis=1)
        chosen = filters[fresh]
        found[chosen, filled[chosen]] = places[fresh]
        filled[chosen] += 1
        filters, draw = filters[filled[filters] < h], draw + 1
    return found


@dataclass(frozen=True)
class Bloom(OneShot):
    """One-time RAPPOR with a Bloom filter.

    A report is a seed and a row of ``bits`` bits. The seed is public, and every user draws one. The
    filter of a value consists of ``hashes`` bits of the row. A hash of the seed and the value
    chooses them. The device sets the bits of the filter of its value, and flips every bit with
    probability q. So a bit is 1 with probability p = 1 − q in the own filter, and q elsewhere.

    The budget is divided among the 2·``hashes`` bits by which two filters can differ. So p/q is
    e^(ε/(2·``hashes``)), rounded down. The loss is exact for the worst seed, and the hash function
    plays no part in it. The loss is below ε if any two filters overlap.

    A report contributes to each value the number of ones in the filter of the value. The channel is
    exact if BLAKE2b is as good as a random function of seed and value. One hash has less error than
    several, and more bits have less error. OUE has less error than any number of bits. Choose it
    for comparison.

    Erlingsson, Pihur and Korolova, "RAPPOR", CCS 2014. Seeds take the place of cohorts here.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2²⁸.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.
    bits : int
        Number of bits of a row. At least 2 and at most 65536.
    hashes : int
        Number of bits of a filter. At least 1, at most 16, and less than ``bits``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``epsilon`` is too small to be realised with 64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import Bloom
    >>> protocol = Bloom(1000, epsilon=1.0, bits=128)
    >>> protocol.report_bytes, round(protocol.channel.p, 4), round(protocol.channel.q, 4)
    (24, 0.6225, 0.3795)
    >>> round(protocol.variance(10_000) ** 0.5, 4)
    0.02
    """

    k: int = declared(validate.Integer(2, 2**28))
    bits: int = declared(validate.Integer(2, 2**16))
    hashes: int = declared(validate.Integer(1, 16), 1)

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities p and q as realised, times 2⁶⁴. Their sum is 2⁶⁴."""
        if self.hashes >= self.bits:
            raise ValueError(f"hashes must be less than bits={self.bits}, not {self.hashes}")
        root, _ = exact.exp(exact.budget(self.epsilon) / (2 * self.hashes))
        return exact.bit_weights(root / (root + 1), 1 / (root + 1), self.epsilon, self.k)

    @property
    def overlap(self) -> int:
        """The smallest number of bits that two filters can share."""
        return max(0, 2 * self.hashes - self.bits)

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of a report under two values, exactly.

        It is the maximum over all pairs of filters, so no seed has a larger ratio. A seed with two
        filters that share ``overlap`` bits attains it.
        """
        p, q = self.chances
        return (p / q) ** (2 * (self.hashes - self.overlap))

    @cached_property
    def moments(self) -> Affine:
        """The channel in exact fractions, for filters that are drawn independently.

        A filter of another value holds each one of the row with probability h/m.
        """
        (p, q), h, m = self.chances, self.hashes, self.bits
        noise, share = p * q, Fraction(h, m)
        own = h * p
        own_second = h * noise + own**2
        # The filter of another value has o bits in common with the own filter
        mean = h * share
        second = mean**2 + mean * (1 - share) * Fraction(m - h, m - 1)
        gap = p - q
        other_second = h * noise + (h * q) ** 2 + 2 * h * q * gap * mean + gap**2 * second
        ones = own + (m - h) * q
        return Affine(
            own,
            h * q + gap * mean,
            own_second,
            other_second,
            own_other=share * (own_second + own * (m - h) * q),
            others=share**2 * (m * noise + ones**2),
            largest=h,
            smallest=0,
        )

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report: a seed, and packed bits."""
        return np.dtype([("seed", "<u8"), ("bits", "u1", (-(-self.bits // 8),))])

    @cached_property
    def _table(self) -> tuple[Any, ...]:
        return layouts.bit_table(self.weights[1])

    def filters(self, seeds: NDArray[np.uint64], values: Counts) -> Counts:
        """Return the filter of each value under its seed.

        Parameters
        ----------
        seeds : array of uint64
            Seeds, one per value.
        values : array of int
            Values.

        Returns
        -------
        array of int, shape (n, hashes)
            The positions of the filter, from 0 to ``bits`` − 1. They are distinct.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import Bloom
        >>> Bloom(100, epsilon=1.0, bits=32, hashes=2).filters(np.full(3, 7), np.arange(3))
        array([[ 7, 18],
               [ 4, 28],
               [ 5, 21]])
        """
        seeds, values = np.asarray(seeds), np.asarray(values)

        def words(filters: Counts, draw: int) -> Words:
            digests = read_digests(seeds[filters], values[filters] // SHARED, draw)
            return np.asarray(digests[np.arange(len(filters)), values[filters] % SHARED])

        return choose_positions(words, len(values), self.bits, self.hashes)

    def _filters_of_all(self, seeds: NDArray[np.uint64], low: int, high: int) -> Counts:
        """Return the filters of the values from ``low``, a multiple of 16, to ``high`` − 1.

        The shape is (seeds, values, hashes).
        """
        blocks, width = np.arange(low // SHARED, -(-high // SHARED)), high - low
        every, each = np.repeat(seeds, len(blocks)), np.tile(blocks, len(seeds))

        def words(filters: Counts, draw: int) -> Words:
            if len(filters) == len(seeds) * width:
                rows = read_digests(every, each, draw).reshape(len(seeds), -1)
                return rows[:, :width].reshape(-1)
            user, value = np.divmod(filters, width)
            digests = read_digests(seeds[user], (low + value) // SHARED, draw)
            return np.asarray(digests[np.arange(len(filters)), value % SHARED])

        found = choose_positions(words, len(seeds) * width, self.bits, self.hashes)
        return found.reshape(len(seeds), width, self.hashes)

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        n, noise = len(values), source.part(b"noise")
        seeds = source.part(b"seed").words(n, 1)[:, 0]
        rows, noisy = np.zeros((2, *out["bits"].shape), np.uint8)
        held = np.flatnonzero(values >= 0)
        for places in self.filters(seeds[held], values[held]).T:
            rows[held, places >> 3] |= np.uint8(1) << (places & 7).astype(np.uint8)
        first = noise.start(n, layouts.again_stride(-(-self.bits // 8), half=False))
        last = layouts.last_byte(self.bits)
        draws.choose("bits", rows.size).again(
            noise.key, first, rows, last, False, *self._table, noisy
        )
        out["seed"], out["bits"] = seeds, noisy

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(reports["bits"][:, -1] > layouts.last_byte(self.bits))

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the number of ones in the filter of each value, shape (n, k).

        Parameters
        ----------
        reports : array of ``report_dtype``
            Checked reports, one per user.

        Returns
        -------
        array of uint8
            The contribution of each report to each value, at most ``hashes``.

        Examples
        --------
        >>> from multi_freq_ldpy import Bloom
        >>> protocol = Bloom(4, epsilon=20.0, bits=64)
        >>> protocol.contributions(protocol.randomize([0, 3], rng=1))
        array([[1, 0, 0, 0],
               [0, 0, 0, 1]], dtype=uint8)
        """
        found = np.empty((len(reports), self.k), np.uint8)
        for low in range(0, self.k, PIECE):
            high = min(self.k, low + PIECE)
            step = max(1, PIECE // (high - low))
            for i in range(0, len(reports), step):
                part = reports[i : i + step]
                places = self._filters_of_all(part["seed"], low, high)
                users = np.arange(len(part))[:, np.newaxis, np.newaxis]
                ones = part["bits"][users, places >> 3] >> (places & 7).astype(np.uint8) & 1
                found[i : i + step, low:high] = ones.sum(axis=2)
        return found

    def _most(self, values: int) -> int:
        return values * self.hashes  # all bits are 1

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if self.hashes > 1:
            raise ValueError(
                f"em needs hashes=1, not {self.hashes}: a report has more than two likelihoods"
            )
        return super()._supports(reports)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Raise ValueError: there are more than 2⁶⁴ reports. ``likelihood`` gives each probability.

        Parameters
        ----------
        value : int
            The value of one user.

        Raises
        ------
        ValueError
            Always.

        Examples
        --------
        >>> from multi_freq_ldpy import Bloom
        >>> Bloom(3, epsilon=1.0, bits=2).law(0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: distribution of Bloom(...) cannot be listed: it has 2**66 reports
        """
        raise ValueError(
            f"distribution of {self!r} cannot be listed: it has 2**{64 + self.bits} reports"
        )

    def _chance(self, ones: int, own: int, size: int) -> Fraction:
        """Return the probability of a row with ``ones`` ones.

        The ``size`` bits of the own filter have ``own`` of the ones.
        """
        p, q = self.chances
        kept = own + self.bits - size - (ones - own)
        return multiply(p**kept, q ** (self.bits - kept), Fraction(1, SEEDS))

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        places = self.filters(reports["seed"], np.array([int(value)]))[0]
        row = np.unpackbits(reports["bits"][0], bitorder="little")
        return self._chance(int(row.sum()), int(row[places].sum()), self.hashes)

    def _fake(self, kind: str) -> Fake:
        (p, q), h, m = self.chances, self.hashes, self.bits

        def chance(report: bytes) -> Fraction:
            """Return the probability of a randomized row of zeros."""
            return self._chance(int.from_bytes(report[8:], "little").bit_count(), 0, 0)

        # A report is (q/p)^h times as likely as a fake if all bits of the filter are 0, and p/q
        # times for each 1. The shared bits of two filters do not tell them apart.
        low = (q / p) ** h
        lows = low, low * (p / q) ** (2 * self.overlap)
        ones = m * p * q + (m * q) ** 2
        return Fake(
            h * q,
            Fraction(h, m) ** 2 * ones,
            lows,
            chance=chance,
            of=self,
            second=h * p * q + (h * q) ** 2,
        )
