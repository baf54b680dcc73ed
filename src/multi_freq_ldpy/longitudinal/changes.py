"""The change of frequencies between two rounds of a history, with its error."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..estimation.differences import Difference, Differences, OverTime, Part
from ..estimation.estimate import Estimate
from ..estimation.several import Rounds
from ..mechanism import Counts
from .averages import Errors, Numbers

if TYPE_CHECKING:
    from .history import History


@dataclass(frozen=True)
class BetweenRounds:
    """The differences between the rounds of one estimate.

    Parameters
    ----------
    history : History
        The mechanism.
    rounds : Rounds
        The estimates.
    numbers : list of array
        Numbers of reports, by round and kind.
    counts : list of array
        Counts, by round.
    smooth : bool
        True if every estimate uses the reports of all rounds.
    """

    history: "History"
    rounds: Rounds
    numbers: Sequence[Counts]
    counts: Sequence[Counts]
    smooth: bool

    def __call__(self, first: int, second: int) -> Differences:
        """Return the changes of all frequencies between two rounds."""
        errors, entries = self._errors(first, second), []
        one, two = self.rounds[first], self.rounds[second]
        assert isinstance(one, Estimate) and isinstance(two, Estimate)
        for v, label in enumerate(one.values):
            parts = [
                Part(float(each.frequencies[v]), int(each.n[v]), each.users, each.channel, None)
                for each in (one, two)
            ]
            pair = OverTime(parts[0], parts[1], partial(self._spread, errors, v))
            names = f"round {first}", f"round {second}"
            entries.append(Difference(*names, pair, str(label)))
        return Differences(tuple(entries), tuple(one.values), one.name, one.kind)

    def _spread(self, errors: Errors, v: int, f: Numbers) -> Numbers:
        """Return the variance of a change, if the mean of the two frequencies is f."""
        steps = np.broadcast_to(errors.steps[0], self.history.k)[v]
        noise = f * errors.own[0] + (1 - f) * errors.other[0] + steps
        found: Numbers = noise + errors.squares[0] * f * (1 - f)
        return found

    def _errors(self, first: int, second: int) -> Errors:
        """Return the parts of the variance of the difference of two rounds.

        The weights of the difference are the differences of the weights.
        """
        ends = [len(self.numbers)] * 2 if self.smooth else [first + 1, second + 1]
        every = self.history._estimator.average(self.numbers, self.counts)
        means = every.first(max(ends))
        column, flows = np.zeros(max(ends)), [np.zeros((1, len(n))) for n in means.network.steps]
        for r, end, sign in ((first, ends[0], 1), (second, ends[1], -1)):
            network = every.first(end).network
            own = np.nan_to_num(network.covariances_with(r))
            column[:end] += sign * own
            for flow, part in zip(flows, network.flows(own[np.newaxis]), strict=False):
                flow[:, : part.shape[1]] += sign * part
        return means.weigh(column, flows)
