"""Subset selection."""

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.channel import Channel
from ..core.fakes import Fake
from ..core.randomness import Source
from ..protocol import OneShot
from .packed import PackedBits, count_ones


def kernel_arguments(
    values: NDArray[np.int64], source: Source, k: int, omega: int, own: int, law: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return what the kernels draw sets of ω out of k from.

    ``own`` is the probability of the own value, times 2⁶⁴.
    """
    from ..kernels import subsets

    return (
        source.key,
        *source.users(len(values), subsets.stride(k, omega)),
        values,
        np.uint64(own),
        *law,
    )


class SS(PackedBits, OneShot):
    """Subset selection: a report is a set of ω of the k values, likelier if it holds the user's
    own.

    p = ωe^ε/(ωe^ε + k − ω), q = ω(e^ε(ω − 1) + k − ω)/((k − 1)(ωe^ε + k − ω)). No ε-LDP protocol
    with a linear estimator has less variance; choose it when k bits a report are affordable. The
    set is sent as packed bits: there is no order that could tell the value.

    Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential
    privacy", IEEE Transactions on Information Theory 2018.

    >>> protocol = SS(10, epsilon=1.0)
    >>> protocol.omega, protocol.report_bytes
    (3, 2)
    >>> protocol.contributions(protocol.randomize([4], rng=2))
    array([[1, 0, 0, 0, 1, 0, 1, 0, 0, 0]], dtype=uint8)
    """

    @cached_property
    def omega(self) -> int:
        """The size of a set: the integer that minimises (ωe^ε + k − ω)²/(ω(k − ω)), one of the two
        next to k/(e^ε + 1).
        """
        e, _ = exact.exp(exact.budget(self.epsilon))
        near = floor(self.k / (e + 1))
        candidates = {min(max(w, 1), self.k - 1) for w in (near, near + 1)}
        return min(candidates, key=lambda w: ((w * e + self.k - w) ** 2 / (w * (self.k - w)), w))

    @cached_property
    def weight(self) -> int:
        """The probability that the set holds the own value, times 2⁶⁴, rounded down."""
        below, _ = exact.exp(exact.budget(self.epsilon))
        own = min(
            exact.WORD - 1,
            floor(exact.WORD * self.omega * below / (self.omega * below + self.k - self.omega)),
        )
        if own * self.k <= exact.WORD * self.omega:
            raise exact.too_small(self.epsilon, self.k)
        return own

    @cached_property
    def moments(self) -> Channel:
        """The channel in exact fractions."""
        k, w, p = self.k, self.omega, Fraction(self.weight, exact.WORD)
        q = (p * (w - 1) + (1 - p) * w) / (k - 1)
        pairs = (
            (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((k - 1) * (k - 2))
            if k > 2
            else Fraction(0)
        )
        return Channel(p, q, own_other=p * (w - 1) / (k - 1), others=pairs)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        return Fraction(
            self.weight * (self.k - self.omega), (exact.WORD - self.weight) * self.omega
        )

    @cached_property
    def _sets(self) -> tuple[Any, ...]:
        from ..kernels import subsets

        return subsets.constants(self.k, self.omega)

    def _arguments(self, values: NDArray[np.int64], source: Source) -> tuple[Any, ...]:
        return kernel_arguments(values, source, self.k, self.omega, self.weight, self._sets)

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        from ..kernels import subsets

        subsets.randomize(*self._arguments(values, source), out)

    def _draw_and_count(self, values: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        from ..kernels import subsets

        counts = np.zeros(8 * self.report_bytes, np.int64)
        rows = np.empty(
            min(subsets.DRAWN_TOGETHER, 16 + 2**22 // self.report_bytes), self.report_dtype
        )
        subsets.draw_and_count(*self._arguments(values, source), rows, counts)
        return counts[: self.k]

    def _most(self, values: int) -> int:
        return min(values, self.omega)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(super()._refused(reports) | (count_ones(reports) != self.omega))

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        super()._check_counts(counts, n, users)
        if validate.sum_exactly(counts) != self.omega * int(n):
            raise ValueError(
                f"counts must add up to omega·n = {self.omega * int(n)}, not to"
                f" {validate.sum_exactly(counts)}"
            )

    def _fake(self, kind: str) -> Fake:
        low = (1 - Fraction(self.weight, exact.WORD)) * self.k / (self.k - self.omega)
        return Fake.of_uniform_value(self, low, low)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        # Otherwise the number of sets alone takes long to work out
        few = min(self.omega, self.k - self.omega) <= 32
        value = self._check_law(value, comb(self.k, self.omega) if few else 2**64)
        p = Fraction(self.weight, exact.WORD)
        inside, outside = (
            p / comb(self.k - 1, self.omega - 1),
            (1 - p) / comb(self.k - 1, self.omega),
        )
        return {
            sum(1 << v for v in chosen).to_bytes(self.report_bytes, "little"): (
                inside if value in chosen else outside
            )
            for chosen in combinations(range(self.k), self.omega)
        }
