"""Estimates of all rounds of a history, from the counts of their reports, with errors.

Every kind of reports in every round has a mean. The estimate is the least squares solution over all
these means. Its weights depend on numbers of reports only, not on values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.channel import Affine
from ..estimation.estimate import Estimate
from ..mechanism import Counts
from .averages import Asked, Errors, Means, Numbers
from .blocks import Block
from .network import Network

if TYPE_CHECKING:
    from .history import History


@dataclass(frozen=True)
class Estimator:
    """The means, the least squares solution and the errors of one history.

    Parameters
    ----------
    history : History
        The mechanism of the reports.
    """

    history: "History"

    @cached_property
    def _value_cost(self) -> Fraction:
        """The variance of one report of a value, at the frequency max(1/k, 1/20).

        It includes the variance of the choice of the user who reports.
        """
        f = max(Fraction(1, self.history.k), Fraction(1, 20))
        own, other = self._value_noise(None)
        return f * own + (1 - f) * other + f * (1 - f)

    def _value_noise(self, block: Block | None) -> tuple[Fraction, Fraction]:
        """Return the noise of one report of a value, for users who hold it and for others."""
        if block is not None:
            return block.second / block.gap**2 - 1, block.cost
        moments = self.history._one_shot.moments
        p, q = Fraction(moments.p), Fraction(moments.q)
        return p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2

    def _step_cost(self, block: Block) -> Fraction:
        """Return the variance of one report of a step."""
        return block.cost * self.history._row_factor**2

    def average(self, numbers: Sequence[Any], counts: Sequence[Counts] | None = None) -> Means:
        """Return the means of the reports of the first rounds.

        ``numbers`` has the number of reports for each node of each round. ``counts`` are those of
        the rounds. Without counts, all means are 0.
        """
        m, k = len(numbers), self.history.k
        grounds, costs, own, other = np.zeros(m), np.ones(m), np.zeros(m), np.zeros(m)
        values = np.zeros((m, k))
        lengths = [2**h for h in range(m.bit_length()) if 2 * 2**h <= m]
        steps = [np.zeros(m // length - 1) for length in lengths]
        means = [np.zeros((m // length - 1, k)) for length in lengths]
        factors = [np.ones((m // length - 1, k)) for length in lengths]
        step_costs = np.ones(len(lengths))
        for r, numbers_here in enumerate(numbers):
            slots = self.history.at(r)._slots
            for i, (node, n) in enumerate(zip(self.history.nodes(r), numbers_here, strict=True)):
                block = self.history.kinds[node.kind].block
                mean, factor = np.zeros(k), np.ones(k)
                if counts is not None and n:
                    found = counts[r][slots[i]]
                    mean = self._mean(found[:k], n, block)
                    if block is not None:
                        factor = self._spread(found[k:] / n, mean, node.kind)
                if node.start:
                    h = (node.end - node.start).bit_length() - 1
                    place = node.end // 2**h - 2
                    steps[h][place], means[h][place], factors[h][place] = n, mean, factor
                    step_costs[h] = self.costs[node.kind]
                    continue
                grounds[r], values[r], costs[r] = n, mean, self.costs[node.kind]
                own[r], other[r] = self._noises[node.kind]
                if block is not None:
                    values[r, 0] += 1  # the known value before the first round
        network = Network(grounds, steps, costs, step_costs.tolist())
        return Means(network, values, means, own, other, factors)

    def _spread(self, some: Numbers, mean: Numbers, kind: int) -> Numbers:
        """Return the variance of a report of a step, divided by its cost, for each value.

        ``some`` is the share of symbols that are not 0. It is larger than that of base noise if
        users tell changes. Users who change differ from each other, so their choice adds variance.
        This part is that of a sample without replacement.
        """
        own = self.history.kinds[kind]
        assert own.block is not None
        scale = float(self.history._row_factor / own.block.gap)
        least, most = float(own.block.noise), float(own.block.second)
        telling = np.clip((some - least) / (most - least), 0, 1) if most > least else 0 * some
        drawn = np.clip(mean**2, 0, telling)
        noise = some * scale**2 - drawn - float(own.share) * (telling - drawn)
        return np.maximum(noise, 0) / self.costs[kind] * np.ones(self.history.k)

    @cached_property
    def costs(self) -> list[float]:
        """The cost of a report, by kind."""
        return [
            float(self._value_cost if kind.block is None else self._step_cost(kind.block))
            for kind in self.history.kinds
        ]

    @cached_property
    def _noises(self) -> list[tuple[float, float]]:
        """The noise of a report of a value, by kind: for users who hold it, and for others."""
        return [
            (float(own), float(other))
            for own, other in (self._value_noise(kind.block) for kind in self.history.kinds)
        ]

    def _mean(self, counts: Counts, n: float, block: Block | None) -> Numbers:
        """Return the mean of the reports of one node."""
        if block is None:
            return np.asarray(
                self.history._one_shot.channel.estimate(counts, np.full(self.history.k, n))
            )
        return np.asarray(counts * float(self.history._row_factor / block.gap) / n, np.float64)

    def expect(self, n: float, asked: Asked) -> Means:
        """Return the expected numbers of reports, with means of 0."""
        chances = [
            [n * self.history._chance(node, asked) for node in self.history.nodes(r)]
            for r in range(self.history.rounds)
        ]
        return self.average(chances)

    @cached_property
    def _unit(self) -> Errors:
        """The parts of the variances for one user who misses no round."""
        return self.expect(1.0, Asked()).errors

    def variance(self, users: Any, share: Any, missing: float = 0.0) -> NDArray[np.float64]:
        """Return variances for checked numbers of users, which need not be integers."""
        unit = self._unit if missing == 0 else self.expect(1.0, Asked(missing)).errors
        numbers = np.where(users > 0, users, np.nan)
        axes = (-1,) + (1,) * np.broadcast(users, share).ndim
        # All parts are those of one user, so they are divided by the number of users
        parts = (unit.squares, unit.own, unit.other, unit.steps[:, 0])
        scaled = Errors(*(each.reshape(axes) / numbers for each in parts))
        found = scaled.variance(numbers, share)
        return np.where(np.isnan(found), np.inf, found)

    def estimate_online(
        self, numbers: list[Counts], counts: list[Counts]
    ) -> tuple[Numbers, Errors]:
        """Return the estimates of all rounds, each from the rounds up to it."""
        found, parts = np.empty((len(numbers), self.history.k)), []
        every = self.average(numbers, counts)
        for r in range(len(numbers)):
            means = every.first(r + 1)
            found[r] = means.network.estimate(means.values, means.steps)[r]
            column = np.nan_to_num(means.network.covariances_with(r))
            parts.append(means.weigh(column, means.network.flows(column[np.newaxis])))
        names = ("squares", "own", "other", "steps")
        return found, Errors(
            *(np.concatenate([getattr(each, name) for each in parts]) for name in names)
        )

    def as_estimate(self, frequencies: Numbers, errors: Errors, r: int, users: int) -> Estimate:
        """Return the estimate of one round, given the parts of all variances.

        Its number of reports is the one that would give the same error.
        """
        squares, own, other = (float(x[r]) for x in (errors.squares, errors.own, errors.other))
        if not squares > 0:
            channel = Affine(1.0, 0.0, 1.0, 0.0, 0.0, 0.0)
            return Estimate(frequencies, np.zeros(self.history.k, np.int64), channel, None, users)
        steps = np.broadcast_to(errors.steps[r], self.history.k)
        mean, f = float(steps.mean()), np.clip(frequencies, 0.0, 1.0)
        rest = f * own + (1 - f) * other + squares * f * (1 - f)
        n = np.rint((rest + mean) / (rest + steps) / squares).astype(np.int64)
        channel = self._channel(squares, own, other, mean, frequencies)
        return Estimate(frequencies, n, channel, None, max(users, int(n.max())))

    def _channel(
        self, squares: float, own: float, other: float, steps: float, frequencies: Numbers
    ) -> Affine:
        """Return the channel whose errors are those of an estimate."""
        own, other, steps = own / squares, other / squares, steps / squares
        if not self.history._tells_values:
            # The two values have one error, which is that of value 1
            f = float(np.clip(frequencies[1], 0.0, 1.0))
            own = other = f * own + (1 - f) * other
            return Affine(1.0, 0.0, 1 + own + steps, own + steps, -own - steps, -own - steps)
        moments = self.history._one_shot.channel
        p, q, gap = float(moments.p), float(moments.q), float(moments.gap or 0)
        one, two = float(moments.own_other or 0), float(moments.others or 0)
        less = steps / (self.history.order - 1) if self.history.symbols_per_change == 1 else 0.0
        pair, others = (one - p * q) / gap**2 - less, (two - q * q) / gap**2 - less
        return Affine(1.0, 0.0, 1 + own + steps, other + steps, pair, others)
