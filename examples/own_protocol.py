"""A protocol written outside the package: randomized response in plain NumPy.

>>> from multi_freq_ldpy import checks
>>> found = checks.check_protocol(Warner(3, epsilon=1.0))
>>> found["privacy"], found["unbiased"], found["spec"]
('holds', 'holds', 'not applicable: it is not in the registry')
>>> protocol = Warner(5, epsilon=2.0)
>>> reports = protocol.randomize([0, 1, 1, 1, 4] * 10_000, rng=1)
>>> protocol.estimate(reports).norm_sub().frequencies.round(1)
array([0.2, 0.6, 0. , 0. , 0.2])
"""

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_freq_ldpy import Affine, exact
from multi_freq_ldpy.protocol import OneShot
from multi_freq_ldpy.randomness import Source


class Warner(OneShot):
    """Randomized response.

    A report is the user's value with probability p = e^ε/(e^ε + k − 1), and each other
    value with probability q = 1/(e^ε + k − 1).

    >>> Warner(4, epsilon=1.0).report_bytes
    4
    """

    @cached_property
    def weights(self) -> tuple[int, int]:
        """Probabilities times 2⁶⁴, from decimal arithmetic, rounded toward privacy."""
        return exact.symbol_weights(self.k, self.epsilon)

    @cached_property
    def moments(self) -> Affine:
        """Mean contributions to the user's value and to another, as exact fractions."""
        p, q = (Fraction(weight, 2**64) for weight in self.weights)
        return Affine(p, q, own_other=Fraction(0), others=Fraction(0))

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of probabilities between two values.

        It is the privacy that is claimed. The checks compare it with the distribution
        of reports.
        """
        return Fraction(*self.weights)

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """Type of a report: a number of four bytes."""
        return np.dtype("<u4")

    def _randomize(
        self,
        values: NDArray[np.int64],
        source: Source,
        out: NDArray[Any],
    ) -> None:
        own, other = map(np.uint64, self.weights)
        word = source.words(len(values), 1)[:, 0]  # one uniform 64-bit word per user
        others = (word - own) // other + np.uint64(1)
        offset = np.where(word < own, np.uint64(0), others)
        out[:] = (values + offset.astype(np.int64)) % self.k

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(reports >= self.k)

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return 1 for the reported value and 0 for the others, shape (n, k)."""
        return np.asarray(reports[:, np.newaxis] == np.arange(self.k), np.uint8)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the distribution of reports about this value.

        Keys are all possible reports in wire format, values are their exact
        probabilities.
        """
        value = self._check_law(value, self.k)
        own, other = (Fraction(weight, 2**64) for weight in self.weights)
        values = range(self.k)
        return {v.to_bytes(4, "little"): own if v == value else other for v in values}
