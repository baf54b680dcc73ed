"""Unary encodings: one independently randomized bit for each value of the domain."""

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot
from .formats import Bits


class UnaryEncoding(OneShot):
    """Base of the unary encodings of one round.

    The bit of the user's own value is 1 with probability p. Every other bit is 1 with probability
    q.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.
    """

    @cached_property
    def format(self) -> Bits:
        """The format of a report, which has k bits."""
        return Bits(self.k)

    @abstractmethod
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """Return a lower bound of p and an upper bound of q."""

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities p and q as realised, times 2⁶⁴."""
        return exact.bit_weights(*self._probabilities(), self.epsilon, self.k)

    @cached_property
    def _table(self) -> tuple[Any, ...]:
        return layouts.bit_table(self.weights[1])

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        users = source.users(len(values), layouts.bits_stride(self.report_bytes))
        draws.choose("bits", out.size).randomize(
            source.key,
            *users,
            values,
            layouts.last_byte(self.k),
            np.uint64(self.weights[0]),
            *self._table,
            out,
        )

    def _fake(self, kind: str) -> Fake:
        p, q = self.chances

        def chance(report: bytes, real: bool = False) -> Fraction:
            """Return the probability of a fake report.

            The fake is a randomized zero vector, or a report about a random value if ``real``.
            """
            m = int.from_bytes(report, "little").bit_count()
            likelier = (m * p / q + (self.k - m) * (1 - p) / (1 - q)) / self.k if real else 1
            return q**m * (1 - q) ** (self.k - m) * likelier

        if kind == "zero":
            return Fake(q, q * q, ((1 - p) / (1 - q),) * 2, chance=chance, of=self)
        # With m ones, a report about a random value is (m·ratio + k − m)/k times as likely as about
        # a value whose bit is 0
        low, high = (self.k / (m * self.ratio + self.k - m) for m in (self.k - 1, 1))
        return Fake.of_uniform_value(self, low, high, lambda report: chance(report, real=True))


class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic one-time RAPPOR).

    A report has k bits. Each bit is kept with probability p and flipped otherwise. The
    probabilities are p = √e^ε/(√e^ε + 1) and q = 1 − p. The protocol is historic: OUE has less
    variance for rare values.

    Erlingsson, Pihur and Korolova, "RAPPOR", CCS 2014.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import SUE
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

    A report has k bits. The bit of the user's own value is 1 with probability p, every other bit
    with probability q. The probabilities are p = 1/2 and q = 1/(e^ε + 1). It has the least variance
    for rare values among the unary encodings. Choose it for large k when k bits per report are
    affordable.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import OUE
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

    A report has k bits. A bit is 1 if its entry of a noisy one-hot vector exceeds the threshold θ.
    The probabilities are p = 1 − ½e^(ε(θ − 1)/2) and q = ½e^(−εθ/2). The threshold is the number in
    (½, 1] with the least variance for rare values.

    The report holds the bits and not the noise. Therefore the privacy loss as realised is below ε
    (0.896 at ε = 1). The attribute ``privacy`` states it.

    Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation",
    USENIX Security 2017.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0. The loss as realised is
        smaller.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import THE
    >>> protocol = THE(10, epsilon=1.0)
    >>> round(float(protocol.threshold), 4), round(protocol.privacy.report, 4)
    (0.6186, 0.896)
    """

    @cached_property
    def threshold(self) -> Fraction:
        """The threshold θ as a multiple of 2⁻³².

        It is found by ternary search in decimal arithmetic, so it is the same on every machine.
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
