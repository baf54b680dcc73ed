"""Generalized randomized response."""

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.channel import Channel
from ..core.fakes import Fake
from ..core.randomness import Rng, Source, as_generator
from ..mechanism import as_readonly
from ..protocol import Exact, OneShot


def symbol_dtype(m: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type for 0, …, m − 1, little endian."""
    return np.dtype(np.min_scalar_type(m - 1)).newbyteorder("<")


def randomize_symbols(
    values: NDArray[np.int64], m: int, weights: tuple[int, int], source: Source, out: NDArray[Any]
) -> None:
    """Randomize symbols out of m, kept and replaced with probabilities ``weights``/2⁶⁴."""
    from ..kernels import symbols

    symbols.randomize(
        source.key,
        *source.users(len(values), 4),
        as_readonly(values),
        *symbols.constants(m, weights),
        out,
    )


class Symbols(Exact):
    """Base of the protocols whose report is a value of the domain."""

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type."""
        return symbol_dtype(self.k)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        return Fraction(self.moments.p) / Fraction(self.moments.q)

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return 1

    def _most(self, values: int) -> int:
        return 1

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return reports >= self.k

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the reported value and 0 for the others, shape (n, k)."""
        return np.asarray(reports[:, np.newaxis] == np.arange(self.k), np.uint8)

    def _count(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        from ..kernels import symbols

        counts = np.zeros(self.k, np.int64)
        symbols.count(as_readonly(reports), counts)
        return counts

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        super()._check_counts(counts, n, users)
        if validate.sum_exactly(counts) != n:
            raise ValueError(
                f"counts must add up to n={n}, one report a user, not to"
                f" {validate.sum_exactly(counts)}"
            )

    def _simulate(self, counts: NDArray[np.int64], rng: Rng, nobody: int = 0) -> NDArray[np.int64]:
        # With probability p − q the own value for certain, otherwise one of all k alike
        generator = as_generator(rng)
        kept = generator.binomial(counts, self.moments.slope)
        return kept + generator.multinomial(int((counts - kept).sum()), np.full(self.k, 1 / self.k))

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        value = self._check_law(value, self.k)
        own, other = Fraction(self.moments.p), Fraction(self.moments.q)
        reports = np.arange(self.k, dtype=self.report_dtype)
        return {report.tobytes(): own if report == value else other for report in reports}


class GRR(Symbols, OneShot):
    """Generalized randomized response: a report is a value, the user's own or one of the others.

    p = e^ε/(e^ε + k − 1), q = 1/(e^ε + k − 1). The smallest report and the least work; choose it
    for small domains, k < 3e^ε + 2, where it has less variance than OUE.

    Kairouz, Bonawitz and Ramage, "Discrete distribution estimation under local privacy", ICML 2016.

    >>> protocol = GRR(4, epsilon=1.0)
    >>> protocol.randomize([0, 1, 2, 3], rng=1)
    array([0, 1, 2, 3], dtype=uint8)
    >>> protocol.channel.p, round(protocol.privacy.report, 9)
    (0.4753668864186717, 1.0)
    """

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities of the own and of each other value, times 2⁶⁴."""
        return exact.symbol_weights(self.k, self.epsilon)

    @cached_property
    def moments(self) -> Channel:
        """The channel in exact fractions."""
        own, other = (Fraction(w, exact.WORD) for w in self.weights)
        return Channel(own, other, own_other=Fraction(0), others=Fraction(0))

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        randomize_symbols(values, self.k, self.weights, source, out)

    def _fake(self, kind: str) -> Fake:
        low = self.k * Fraction(self.weights[1], exact.WORD)
        return Fake.of_uniform_value(self, low, low)
