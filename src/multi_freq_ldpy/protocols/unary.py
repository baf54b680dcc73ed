"""Unary encodings: one independently randomized bit for each value of the domain."""

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact
from ..core.channel import Channel
from ..core.fakes import Fake
from ..core.randomness import Rng, Source, as_generator
from ..protocol import OneShot
from .packed import PackedBits


class Unary(PackedBits):
    """Base of the protocols whose bits are independent.

    The own bit is 1 with probability p, every other with probability q.
    """

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        p, q = self.moments.p, self.moments.q
        return Fraction(p * (1 - q) / (q * (1 - p)))

    def _most(self, values: int) -> int:
        return values

    def _simulate(self, counts: NDArray[np.int64], rng: Rng, nobody: int = 0) -> NDArray[np.int64]:
        generator, p, q = as_generator(rng), float(self.channel.p), float(self.channel.q)
        return np.asarray(
            generator.binomial(counts, p) + generator.binomial(nobody + counts.sum() - counts, q)
        )

    def _law(self, value: int, own: Fraction) -> dict[bytes, Fraction]:
        """Return the law of a row whose bit at ``value`` is 1 with probability ``own``, the others
        with q.
        """
        q, k = Fraction(self.moments.q), self.k
        others = [q**ones * (1 - q) ** (k - 1 - ones) for ones in range(k)]
        zero, one = [[chance * other for other in others] for chance in (1 - own, own)]
        law = {}
        for number in range(2**k):
            ones, bit = number.bit_count(), number >> value & 1
            law[number.to_bytes(self.report_bytes, "little")] = one[ones - 1] if bit else zero[ones]
        return law

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        value = self._check_law(value, 2 ** min(self.k, 64))
        return self._law(value, Fraction(self.moments.p))


class UnaryEncoding(Unary, OneShot):
    """Base of the unary encodings of one round."""

    @abstractmethod
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """Return a lower bound of p and an upper bound of q."""

    @cached_property
    def weights(self) -> tuple[int, int]:
        """p and q as realised, times 2⁶⁴."""
        return exact.bit_weights(*self._probabilities(), self.epsilon, self.k)

    @cached_property
    def moments(self) -> Channel:
        """The channel in exact fractions."""
        p, q = (Fraction(w, exact.WORD) for w in self.weights)
        return Channel(p, q, own_other=p * q, others=q * q)

    @cached_property
    def _table(self) -> tuple[Any, ...]:
        from ..kernels import bits

        return bits.table(self.weights[1])

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        from ..kernels import bits

        users = source.users(len(values), 2 * self.report_bytes + 2)
        bits.randomize(
            source.key,
            *users,
            values,
            bits.last_byte(self.k),
            np.uint64(self.weights[0]),
            *self._table,
            out,
        )

    def _fake(self, kind: str) -> Fake:
        p, q = (Fraction(w, exact.WORD) for w in self.weights)
        if kind == "zero":  # the randomized zero vector
            return Fake(q, q * q, ((1 - p) / (1 - q),) * 2, lambda: self._law(0, q))
        # With m ones, a report about a random value is (m·ratio + k − m)/k times as likely as about
        # a value whose bit is 0
        lows = (self.k / (m * self.ratio + self.k - m) for m in (self.k - 1, 1))
        return Fake.of_uniform_value(self, *lows)


class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic one-time RAPPOR).

    K bits, each kept with √e^ε/(√e^ε + 1) and flipped otherwise.

    p = √e^ε/(√e^ε + 1), q = 1 − p. Historic; OUE has less variance for rare values.

    Erlingsson, Pihur and Korolova, "RAPPOR", CCS 2014.

    >>> protocol = SUE(10, epsilon=2.0)
    >>> protocol.randomize(3, rng=0)
    array([154,   1], dtype=uint8)
    >>> round(protocol.channel.p, 6), round(protocol.channel.q, 6)
    (0.731059, 0.268941)
    """

    def _probabilities(self) -> tuple[Fraction, Fraction]:
        root, _ = exact.exp(exact.budget(self.epsilon) / 2)
        return root / (root + 1), 1 / (root + 1)


class OUE(UnaryEncoding):
    """Optimized unary encoding.

    K bits, the user's own 1 with probability 1/2, the others with 1/(e^ε + 1).

    p = 1/2, q = 1/(e^ε + 1). Least variance for rare values among the unary encodings; choose it
    for large k when k bits a report are affordable.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    >>> protocol = OUE(1000, epsilon=1.0)
    >>> protocol.report_bytes
    125
    >>> round(protocol.variance(10_000) ** 0.5, 4)
    0.0192
    """

    def _probabilities(self) -> tuple[Fraction, Fraction]:
        below, _ = exact.exp(exact.budget(self.epsilon))
        return Fraction(1, 2), 1 / (below + 1)


class THE(UnaryEncoding):
    """Thresholded histogram encoding.

    K bits that tell which entries of a noisy one-hot vector pass a threshold.

    p = 1 − ½e^(ε(θ − 1)/2), q = ½e^(−εθ/2), with the θ in (½, 1] of least variance for rare values.
    Thresholding on the device gives the noise away no more than the bits do, so the loss as
    realised is below ε (0.896 at ε = 1) and ``privacy`` says it.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    >>> protocol = THE(10, epsilon=1.0)
    >>> round(float(protocol.threshold), 4), round(protocol.privacy.report, 4)
    (0.6186, 0.896)
    """

    @cached_property
    def threshold(self) -> Fraction:
        """θ to 2⁻³²: found by ternary search in decimal arithmetic, so the same on every
        machine.
        """
        low, high = 2**31, 2**32
        while high - low > 2:
            third = (high - low) // 3
            left, right = low + third, high - third
            low, high = (low, right) if self._cost(left) <= self._cost(right) else (left, high)
        return Fraction(min(range(max(low, 2**31 + 1), high + 1), key=self._cost), 2**32)

    def _cost(self, theta: int) -> Fraction:
        """Return q(1 − q)/(p − q)² for the threshold theta/2³²."""
        p, q = self._at(Fraction(theta, 2**32))
        return q * (1 - q) / (p - q) ** 2

    def _at(self, theta: Fraction) -> tuple[Fraction, Fraction]:
        half = exact.budget(self.epsilon) / 2
        return 1 - exact.exp(half * (theta - 1))[1] / 2, exact.exp(-half * theta)[1] / 2

    def _probabilities(self) -> tuple[Fraction, Fraction]:
        return self._at(self.threshold)
