"""Weighted least squares over rounds, in time proportional to the number of rounds.

Rounds are the vertices of a network. A report of a value connects its round to the ground. A report
of a step of length 2^h connects two rounds that are neighbours among the multiples of 2^h. The
conductance of a connection is the number of its reports, divided by the variance of one of them.

The matrix of the network is M = Σ conductance·b bᵀ, where b is e_t for a value and e_t − e_s for a
step. The estimate of all rounds is M⁻¹ z, and M⁻¹ is its covariance. The solver eliminates every
second round. The rounds that are left form the same network, with steps of twice the length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Level:
    """One elimination: the odd vertices, with their connections to the even ones.

    Parameters
    ----------
    left, right : array
        Conductances from each odd vertex to its two neighbours. Zero means that there is none.
    inverse : array
        One divided by the sum of all conductances of each odd vertex, or zero if it has none.
    """

    left: Numbers
    right: Numbers
    inverse: Numbers


class Ladder:
    """A network of rounds, ready to be solved for any sources.

    Parameters
    ----------
    ground : array
        Conductance of each round to the ground.
    links : list of array
        Entry h has the conductances between neighbouring multiples of 2^h. Its first number is that
        of the step from round 2^h to round 2·2^h, in rounds counted from 1.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy.longitudinal.ladder import Ladder
    >>> ladder = Ladder(np.ones(4), [np.ones(3), np.ones(1)])
    >>> ladder.solve(np.array([1.0, 0, 0, 0])).round(9)
    array([0.6, 0.2, 0.1, 0.1])
    """

    def __init__(self, ground: Numbers, links: Sequence[Numbers]) -> None:
        self.levels: list[Level] = []
        links = list(links)
        link = links.pop(0) if links else np.zeros(max(0, len(ground) - 1))
        while len(ground) > 1:
            odd = ground[::2]
            left, right = np.zeros_like(odd), np.zeros_like(odd)
            right[: len(link[::2])] = link[::2]
            left[1 : 1 + len(link[1::2])] = link[1::2]
            total = odd + left + right
            inverse = np.divide(1, total, out=np.zeros_like(total), where=total != 0)
            self.levels.append(Level(left, right, inverse))
            halved = ground[1::2].copy()
            many = len(halved)
            halved += (right * odd * inverse)[:many]
            halved[: len(odd) - 1] += (left * odd * inverse)[1:]
            through = (left * right * inverse)[1:many]
            link = through + (links.pop(0) if links else 0)
            ground = halved
        self._last = ground

    def solve(self, sources: Numbers) -> Numbers:
        """Return M⁻¹ z.

        Parameters
        ----------
        sources : array
            The vector z, one row per round. Further axes are solved side by side.

        Returns
        -------
        array
            One row per round, with NaN for rounds that no value reaches.
        """
        stack = []
        for level in self.levels:
            shape = (-1,) + (1,) * (sources.ndim - 1)
            odd, halved = sources[::2], sources[1::2].copy()
            halved += (odd * (level.right * level.inverse).reshape(shape))[: len(halved)]
            halved[: len(odd) - 1] += (odd * (level.left * level.inverse).reshape(shape))[1:]
            stack.append(odd)
            sources = halved
        found = _divide(sources, self._last.reshape((-1,) + (1,) * (sources.ndim - 1)))
        for level, odd in zip(self.levels[::-1], stack[::-1], strict=True):
            found = _interleave(_go_back(level, odd, found), found)
        return found

    def covariances(self) -> tuple[Numbers, Numbers]:
        """Return the diagonal of M⁻¹, and its entries for neighbouring rounds.

        Returns
        -------
        diagonal : array
            One entry per round, with NaN for rounds that no value reaches.
        beside : array
            The entry of each round and the next one.
        """
        diagonal, beside = _divide(np.ones_like(self._last), self._last), np.zeros(0)
        for level in self.levels[::-1]:
            left, right, inverse = level.left, level.right, level.inverse
            at_left, at_right = _neighbours(diagonal, len(left))
            between = np.zeros_like(at_left)
            between[1 : 1 + len(beside)] = beside
            to_left = _times(left, at_left) + _times(right, between)
            to_right = _times(left, between) + _times(right, at_right)
            around = _times(left, to_left) + _times(right, to_right)
            own = np.where(inverse != 0, inverse * (1 + inverse * around), np.nan)
            pairs = _interleave(to_right * inverse, (to_left * inverse)[1:])
            diagonal = _interleave(own, diagonal)
            beside = pairs[: len(diagonal) - 1]
        return diagonal, beside


def _divide(numbers: Numbers, by: Numbers) -> Numbers:
    """Return quotients, with NaN where the divisor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by != 0, numbers / by, np.nan)


def _times(weights: Numbers, numbers: Numbers) -> Numbers:
    """Return products, with 0 where a weight is 0 and the number is not known."""
    return np.where(weights != 0, weights * numbers, 0)


def _neighbours(even: Numbers, many: int) -> tuple[Numbers, Numbers]:
    """Return the numbers at the left and at the right of each odd vertex."""
    left = np.zeros((many, *even.shape[1:]), even.dtype)
    right = left.copy()
    left[1:] = even[: many - 1]
    right[: len(even)] = even
    return left, right


def _interleave(odd: Numbers, even: Numbers) -> Numbers:
    """Return the numbers of all vertices, the odd ones first."""
    found = np.empty((len(odd) + len(even), *odd.shape[1:]), np.result_type(odd, even))
    found[::2], found[1::2] = odd, even
    return found


def _go_back(level: Level, sources: Numbers, even: Numbers) -> Numbers:
    """Return the solution at the odd vertices, given that at the even ones."""
    shape = (-1,) + (1,) * (sources.ndim - 1)
    left, right = _neighbours(even, len(sources))
    inverse = level.inverse.reshape(shape)
    total = (
        sources
        + _times(level.left.reshape(shape), left)
        + _times(level.right.reshape(shape), right)
    )
    return np.where(inverse != 0, total * inverse, np.nan)
