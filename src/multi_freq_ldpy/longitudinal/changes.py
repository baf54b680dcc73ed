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
    smooth : bool
        True if every estimate uses the reports of all rounds.
    """

    history: "History"
    rounds: Rounds
    numbers: Sequence[Counts]
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
            pair = OverTime(parts[0], parts[1], partial(self._spread, errors))
            names = f"round {first}", f"round {second}"
            entries.append(Difference(*names, pair, str(label)))
        return Differences(tuple(entries), tuple(one.values), one.name, one.kind)

    def _spread(self, errors: Errors, f: Numbers) -> Numbers:
        """Return the variance of a change, if the mean of the two frequencies is f."""
        noise = f * errors.own + (1 - f) * errors.other + errors.steps
        found: Numbers = (noise + errors.squares * f * (1 - f)).reshape(np.shape(f))
        return found

    def _errors(self, first: int, second: int) -> Errors:
        """Return the parts of the variance of the difference of two rounds.

        An estimate from more reports is the best one. So its covariance with an estimate from fewer
        reports is that of the best estimates of both rounds.
        """
        last = max(first, second)
        many = len(self.numbers) if self.smooth else last + 1
        means = self.history._average(self.numbers[:many])
        columns, total = [], -2 * float(means.network.covariances_with(first)[second])
        for r in (first, second):
            own = means if self.smooth else self.history._average(self.numbers[: r + 1])
            column = np.zeros(many)
            column[: len(own.values)] = np.nan_to_num(own.network.covariances_with(r))
            columns.append(column)
            total += float(own.network.variances[r])
        return means.weigh(columns[0] - columns[1], total)
