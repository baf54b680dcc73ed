"""The estimate of every round from reports of values and of steps, with its error.

Every report is drawn either about the value of one round, or about the steps between rounds. The
numbers of reports do not depend on any value. So the weights of the estimate are known numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ladder import Ladder

Numbers = NDArray[np.float64]
TINY = 1e-30
"""The imaginary part that gives a derivative: no digits cancel, so it may be this small."""


@dataclass(frozen=True)
class Network:
    """Numbers of reports and their costs, for one mechanism.

    Parameters
    ----------
    values : array
        Number of reports of the value, one entry per round.
    steps : list of array
        Entry h has the numbers of reports of the steps of length 2^h, from the first step on.
    value_cost : float
        Variance of the mean of one report of a value. It includes the choice of the user.
    step_costs : list of float
        Variance of the mean of one report of a step, one entry per length.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy.longitudinal.network import Network
    >>> quarter = np.full(4, 1 / 8)
    >>> network = Network(quarter, [np.full(3, 0.25), np.full(1, 0.25)], 1.0, [4.0, 4.0])
    >>> (45 * network.variances).round(9)
    array([260., 180., 212., 212.])
    """

    values: Numbers
    steps: Sequence[Numbers]
    value_cost: float
    step_costs: Sequence[float]

    @property
    def links(self) -> list[Numbers]:
        """The conductances of the steps: numbers of reports divided by their costs."""
        return [np.asarray(n) / v for n, v in zip(self.steps, self.step_costs, strict=True)]

    @cached_property
    def ladder(self) -> Ladder:
        """The solver of the network."""
        return Ladder(np.asarray(self.values) / self.value_cost, self.links)

    @cached_property
    def variances(self) -> Numbers:
        """The variance of each round, at the frequency for which the costs were computed."""
        return self.ladder.covariances()[0]

    def estimate(self, values: Numbers, steps: Sequence[Numbers]) -> Numbers:
        """Return the estimate of all rounds.

        Parameters
        ----------
        values : array, shape (rounds, k)
            Mean of the reports of each round's value, for each value of the domain.
        steps : list of array, shape (steps, k)
            Mean of the reports of each step. An entry without reports may be anything finite.

        Returns
        -------
        array, shape (rounds, k)
            The estimates, with NaN for rounds that no report of a value reaches.
        """
        sources = np.asarray(values) * (np.asarray(self.values) / self.value_cost)[:, np.newaxis]
        for h, (link, mean) in enumerate(zip(self.links, steps, strict=True)):
            ends = slice(2 ** (h + 1) - 1, None, 2**h)
            starts = slice(2**h - 1, len(sources) - 2**h, 2**h)
            flow = np.asarray(mean) * link[:, np.newaxis]
            sources[ends] += flow
            sources[starts] -= flow
        return self.ladder.solve(sources)

    def covariances_with(self, round: int) -> Numbers:
        """Return the covariance of all rounds with one round.

        Parameters
        ----------
        round : int
            The round, counted from 0.

        Returns
        -------
        array
            One entry per round.
        """
        unit = np.zeros(len(self.values))
        unit[round] = 1
        return self.ladder.solve(unit)

    @cached_property
    def shares(self) -> tuple[Numbers, Numbers]:
        """The parts A/N and B/N of each variance, from values and from steps.

        With N users, N·variance = A·value_cost + B. A is N times the sum of n·(W/value_cost)² over
        the reports of values, where W is the covariance of the two rounds. This sum is a derivative
        of the variance: that with respect to a common factor of all conductances to the ground.
        """
        ground: NDArray[Any] = np.asarray(self.values) / self.value_cost * (1 + TINY * 1j)
        slopes = Ladder(ground, self.links).covariances()[0].imag / TINY
        from_values = -slopes / self.value_cost
        return from_values, self.variances - from_values * self.value_cost
