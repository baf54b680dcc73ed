"""The means of reports over rounds, and the errors of estimates from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from .network import Network

Numbers = NDArray[np.float64]


DENSE = 2**10
"""The largest number of rounds for which every value has its own part of the noise of steps."""


@dataclass(frozen=True)
class Errors:
    """The parts of the variance of estimates, one entry per round.

    Parameters
    ----------
    squares : array
        Sum of the squared weights of the reports of values.
    own, other : array
        Part of the noise of these reports, for users who hold the value and for all others.
    steps : array, shape (rounds, k) or (rounds, 1)
        Part of the noise of reports of steps, for each value or for all values.
    """

    squares: Numbers
    own: Numbers
    other: Numbers
    steps: Numbers

    def variance(self, n: Any, f: Any) -> Any:
        """Return the variance of estimates for n users, if values do not change."""
        sampled = f * (1 - f) * np.where(n > 1, n / np.where(n > 1, n - 1, 1), 0)
        noise = f * self.own + (1 - f) * self.other + self.steps
        return noise + (self.squares - 1 / n) * sampled


@dataclass(frozen=True)
class Means:
    """The means of all reports of some rounds, ready for least squares.

    Parameters
    ----------
    network : Network
        Numbers and costs of the reports.
    values : array, shape (rounds, k)
        Means of the reports of values.
    steps : list of array, shape (steps, k)
        Means of the reports of steps, by length.
    own, other : array
        Noise of one report of a value, one entry per round: for users who hold the value, and for
        all others.
    factors : list of array, shape (steps, k)
        Noise of one report of a step, divided by its cost. The cost is that of unchanged values.
        Changes add noise, because told symbols have a larger variance.
    """

    network: Network
    values: Numbers
    steps: list[Numbers]
    own: Numbers
    other: Numbers
    factors: list[Numbers]

    @cached_property
    def errors(self) -> Errors:
        """The parts of the variances of all rounds."""
        network, m = self.network, len(self.values)
        costs = np.asarray(network.value_cost)
        squares, own, other = (
            network.sum_squares(each / costs) for each in (1.0, self.own, self.other)
        )
        if m <= DENSE:
            columns = np.nan_to_num(network.ladder.solve(np.eye(m)))
            steps = self.weigh_steps(network.flows(columns.T))
        else:
            means = [each.mean(axis=1) for each in self.factors]
            steps = network.sum_step_squares(means)[:, np.newaxis]
        return Errors(squares, own, other, steps)

    def first(self, rounds: int) -> "Means":
        """Return the means of the first rounds only."""
        network, lengths = self.network, [2**h for h in range(len(self.steps))]
        ends = [rounds // length - 1 for length in lengths if 2 * length <= rounds]

        def cut(arrays: Sequence[Numbers]) -> list[Numbers]:
            return [each[:end] for each, end in zip(arrays, ends, strict=False)]

        less = Network(
            network.values[:rounds],
            cut(network.steps),
            np.asarray(network.value_cost)[:rounds],
            network.step_costs[: len(ends)],
        )
        own, other = self.own[:rounds], self.other[:rounds]
        return Means(less, self.values[:rounds], cut(self.steps), own, other, cut(self.factors))

    def weigh_steps(self, flows: list[Numbers]) -> Numbers:
        """Return the part of variances that comes from steps, given their weights."""
        pairs = zip(self.network.links, flows, self.factors, strict=True)
        found = np.zeros((len(flows[0]) if flows else 1, self.values.shape[1]))
        for link, flow, factor in pairs:
            found += (flow**2 * link) @ factor
        return found

    def weigh(self, column: Numbers, flows: list[Numbers]) -> Errors:
        """Return the parts of one variance, given the weights of reports of values and of steps."""
        squared = np.asarray(self.network.values) * (column / self.network.value_cost) ** 2
        squares, own, other = (
            np.array([squared @ each]) for each in (np.ones_like(squared), self.own, self.other)
        )
        return Errors(squares, own, other, self.weigh_steps(flows))


@dataclass(frozen=True)
class Asked:
    """The rounds in which users are asked: the share of missed ones, and the length of gaps.

    Parameters
    ----------
    missing : float
        Share of the rounds that a user misses.
    gap : float, optional
        Mean number of rounds that are missed one after the other. None means that each round is
        missed independently.
    restorable : bool
        True if users who missed a round of their path stop.
    """

    missing: float = 0.0
    gap: float | None = None
    restorable: bool = True

    def __post_init__(self) -> None:
        validate.probability("missing", self.missing)
        if self.gap is not None and not 1 <= self.gap < float("inf"):
            raise ValueError(f"gap must be a number of rounds from 1 on, not {self.gap!r}")

    def chance(self, times: int, stride: int) -> float:
        """Return the probability of being asked in ``times`` rounds of a path, one after another.

        The states "asked" and "missed" are a Markov chain of two states.
        """
        asked = 1 - self.missing
        if not self.missing or times < 1:
            return 1.0
        again = asked
        if self.gap is not None and asked > 0:
            fade = 1 - 1 / self.gap - self.missing / asked / self.gap
            again = asked + self.missing * fade**stride
        return float(asked * again ** (times - 1))
