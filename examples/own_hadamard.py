"""A protocol whose contributions are −1 and 1, counted by one transform per tally.

>>> from multi_freq_ldpy import SMP, SPL, checks
>>> for mechanism in (Hadamard(5, 1.0), SMP(Hadamard, [3, 4], 1.0), SPL(Hadamard, [3, 4], 1.0)):
...     found = checks.check_protocol(mechanism)
...     print({name: what for name, what in found.items() if what != "holds"})
{'spec': 'not applicable: it is not in the registry'}
{'spec': 'not applicable: it is not in the registry'}
{'spec': 'not applicable: it is not in the registry'}
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray as Array

from multi_freq_ldpy import Affine, exact
from multi_freq_ldpy.core import validate
from multi_freq_ldpy.protocol import OneShot, declared
from multi_freq_ldpy.randomness import Source


def differ(values: int | Array[np.int64], reports: Array[np.int64]) -> Array[np.int8]:
    """Return 0 where the sign in a report 2j + s is H[v + 1, j], and 1 elsewhere."""
    odd = (values + 1) & (reports >> 1)
    for shift in (16, 8, 4, 2, 1):  # the parity of 32 bits
        odd = odd ^ (odd >> shift)
    return ((odd ^ reports) & 1).astype(np.int8)


@dataclass(frozen=True)
class Hadamard(OneShot):
    """Hadamard response: a report is a uniform index j below K and one sign.

    K is the least power of two greater than k, and H[a, j] is −1 to the number of ones in a & j.
    The sign is H[v + 1, j] with probability P = e^ε/(e^ε + 1), and the opposite otherwise. A report
    is the number 2j + s, where s is 1 for the sign −1. It contributes sign·H[v + 1, j] to v. Its
    mean contribution is p = 2P − 1 to the user's value and q = 0 to another value.

    >>> Hadamard(5, epsilon=1.0).report_bytes
    4
    """

    k: int = declared(validate.Integer(2, 2**31 - 1))  # 2K must fit into four bytes
    report_dtype = np.dtype("<u4")

    @property
    def _space(self) -> int:
        return 1 << self.k.bit_length()  # K: counting adds up the signs of every index

    @cached_property
    def weights(self) -> tuple[int, int]:
        """Probabilities of the true sign and of the opposite sign, times 2⁶⁴."""
        return exact.symbol_weights(2, self.epsilon)

    @cached_property
    def moments(self) -> Affine:
        """Moments of a report: rows of H are orthogonal, so all means but the own one are 0."""
        p, zero = Fraction(self.weights[0] - self.weights[1], 2**64), Fraction(0)
        return Affine(p, zero, own_other=zero, others=zero, p2=Fraction(1), q2=Fraction(1))

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of probabilities between two values."""
        return Fraction(*self.weights)

    def _randomize(self, values: Array[np.int64], source: Source, out: Array[np.uint32]) -> None:
        index, coin = source.words(len(values), 2).T  # one call, so that no byte is read twice
        drawn = (index & np.uint64(2 * self._space - 2)).astype(np.int64)  # 2j
        out[:] = drawn | (differ(values, drawn) ^ (coin >= np.uint64(self.weights[0])))

    def _refused(self, reports: Array[np.uint32]) -> Array[np.bool_]:
        return np.asarray(reports >= 2 * self._space)

    def contributions(self, reports: Array[np.uint32]) -> Array[np.int8]:
        """Return sign·H[v + 1, j] for every value v, shape (n, k)."""
        return 1 - 2 * differ(np.arange(self.k), reports.astype(np.int64)[:, np.newaxis])

    def _gather(self, reports: Array[np.uint32]) -> Array[np.int64]:
        return -np.diff(np.bincount(reports, minlength=2 * self._space).reshape(-1, 2)).ravel()

    def _settle(self, gathered: Array[np.int64], n: Array[np.int64]) -> Array[np.int64]:
        for _ in range(self.k.bit_length()):  # Walsh–Hadamard transform, bit by bit
            left, right = gathered.reshape(2, -1)
            gathered = np.stack([left + right, left - right], axis=1).ravel()
        return gathered[1 : self.k + 1]

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report in wire format, with its exact probability."""
        chance = [Fraction(weight, 2**64 * self._space) for weight in self.weights]
        flips = differ(self._check_law(value, 2 * self._space), np.arange(2 * self._space))
        return {r.to_bytes(4, "little"): chance[flip] for r, flip in enumerate(flips)}
