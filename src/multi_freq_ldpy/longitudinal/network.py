"""The estimate of every round from reports of values and of steps, with its error.

A report is about the value of one round, or about a step between two rounds. A step from a known
value is a report about a value too. The numbers of reports depend on no value. So the weights of
the estimate are known numbers.
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
    value_cost : float or array
        Variance of the mean of one report of a value, which includes the choice of the user. An
        array has one entry per round.
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
    value_cost: float | Numbers
    step_costs: Sequence[float]

    @property
    def links(self) -> list[Numbers]:
        """The conductances of the steps: numbers of reports divided by their costs."""
        return [np.asarray(n) / v for n, v in zip(self.steps, self.step_costs, strict=True)]

    @cached_property
    def ladder(self) -> Ladder:
        """The solver of the network."""
        return Ladder(self.grounds, self.links)

    @cached_property
    def grounds(self) -> Numbers:
        """The conductances of the reports of values, one entry per round."""
        return np.asarray(self.values) / self.value_cost

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
        sources = np.asarray(values) * self.grounds[:, np.newaxis]
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

    def flows(self, columns: Numbers) -> list[Numbers]:
        """Return the differences of covariances at both ends of each step.

        Parameters
        ----------
        columns : array, shape (any, rounds)
            Covariances of some rounds with all rounds.

        Returns
        -------
        list of array, shape (any, steps)
            One array per length. Divided by the cost and times the number of reports, these are the
            weights of the steps.
        """
        found, m = [], len(self.values)
        for h in range(len(self.steps)):
            ends = slice(2 ** (h + 1) - 1, None, 2**h)
            starts = slice(2**h - 1, m - 2**h, 2**h)
            found.append(columns[:, ends] - columns[:, starts])
        return found

    def sum_step_squares(self, factors: Sequence[Numbers]) -> Numbers:
        """Return the sum of n·factor·weight² over the reports of steps, for each round.

        Parameters
        ----------
        factors : list of array
            Factor of the reports of each step.

        Returns
        -------
        array
            One entry per round. With factors 1 it is the part of the variance that comes from
            steps.
        """
        pairs = zip(self.links, factors, strict=True)
        links = [link * (1 + TINY * 1j * np.asarray(each)) for link, each in pairs]
        return -Ladder(self.grounds.astype(complex), links).covariances()[0].imag / TINY

    def sum_squares(self, factors: float | Numbers) -> Numbers:
        """Return the sum of n·factor·W²/value_cost over the reports of values, for each round.

        W is the covariance of the two rounds. The sum is a derivative of the variance, with respect
        to the conductances of these reports.

        Parameters
        ----------
        factors : float or array
            Factor of the reports of each round.

        Returns
        -------
        array
            One entry per round. With factors 1 it is the part of the variance that comes from
            reports of values.
        """
        ground: NDArray[Any] = self.grounds * (1 + TINY * 1j * np.asarray(factors))
        return -Ladder(ground, self.links).covariances()[0].imag / TINY

    @cached_property
    def shares(self) -> tuple[Numbers, Numbers]:
        """The parts A/N and B/N of each variance, from values and from steps.

        A/N is the sum of the squared weights of all reports of values. With N users and equal
        costs, N·variance = A·value_cost + B.
        """
        return self.sum_squares(1 / np.asarray(self.value_cost)), self.variances - self.from_values

    @cached_property
    def from_values(self) -> Numbers:
        """The part of each variance that comes from reports of values."""
        return self.sum_squares(1.0)
