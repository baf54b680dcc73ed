"""Many users over time, and what their rounds say together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.deprecation import accept_old_names, old_attribute
from ..core.randomness import Rng, Source, as_stream, subkey
from ..core.tally import Tally
from ..estimation.estimate import Estimate
from ..estimation.several import Estimates, Rounds
from ..mechanism import Counts, Mechanism, require_mechanism
from ..protocol import Protocol

USERS = 2**40
# Users who are asked together, or fewer where reports are large: what lasts of them is in memory
TOGETHER = 2**17


class Panel:
    """n users who report round after round, in simulations and in tests of a collection.

    ``Client`` for all of them at once.

    Everything that lasts is derived from one key, when it is needed: no table of permanent answers
    is kept, only the key and how far the streams of fresh noise have gone. ``rng`` is as for
    ``randomize``; any split of a round into calls, and any number of threads, give the same reports
    to the bit. Pickles remember the same and draw fresh noise of their own; a panel with a seed
    cannot be pickled, because it would repeat the noise.

    >>> from multi_freq_ldpy import LOSUE, over_rounds
    >>> protocol = LOSUE(4, eps_perm=3.0, eps_1=1.5)
    >>> panel, values = Panel(protocol, 10_000, rng=1), np.arange(10_000) % 3
    >>> once = panel.run([values])[0]
    >>> often = over_rounds([panel.tally(values) for _ in range(20)])
    >>> once.std.round(3), often.std.round(3)
    (array([0.014, 0.013, 0.014, 0.012]), array([0.008, 0.008, 0.008, 0.005]))
    """

    @accept_old_names(protocol="mechanism")
    def __init__(self, mechanism: Mechanism, n: int, rng: Rng = None) -> None:
        self.mechanism = require_mechanism(mechanism)
        self.n = validate.Integer(1, USERS)("n", n)
        stream = as_stream(rng)
        first = stream.take(1)
        self._memory = Source.keyed(subkey(stream.key, b"panel %d " % first + mechanism._label))
        self._fresh = [
            stream.part(b"panel %d, attribute %d" % (first, j)) for j in range(len(mechanism.parts))
        ]

    protocol = old_attribute("protocol", "mechanism")

    def report(self, values: ArrayLike, users: ArrayLike | None = None) -> NDArray[Any]:
        """Return a report of each user about the present values.

        ``users`` says whose they are where not all report.
        """
        held, numbers, single = self._inputs(values, users)
        reports = np.empty(len(numbers), self.mechanism.report_dtype)
        for part in self._blocks(len(numbers)):
            self._write(held[part], numbers[part], reports[part])
        found: NDArray[Any] = reports[0] if single else reports
        return found

    def tally(self, values: ArrayLike, users: ArrayLike | None = None) -> Tally:
        """Return the tally of what ``report`` would return, without keeping more than a part of the
        reports.
        """
        held, numbers, _ = self._inputs(values, users)
        dtype = self.mechanism.report_dtype
        return self.mechanism._tally(
            (self._write(held[part], numbers[part], np.empty(part.stop - part.start, dtype)), 0)
            for part in self._blocks(len(numbers))
        )

    def run(self, rounds: Iterable[ArrayLike]) -> Rounds:
        """Return the estimate of each round, given an iterable of everybody's values in each.

        ``tally`` is for rounds to be combined.
        """
        single = isinstance(rounds, np.ndarray) and rounds.ndim == 0
        if (
            single
            or not isinstance(rounds, Iterable)
            or isinstance(rounds, str | bytes | Mapping | Set)
        ):
            raise TypeError(
                f"rounds must be an iterable of values of all users, not {validate.quote(rounds)}"
            )
        found = Rounds()
        for values in rounds:
            try:
                found.append(self.mechanism.estimate(self.tally(values)))
            except (ValueError, TypeError) as error:
                raise type(error)(f"round {len(found)}: {error}") from None
        return found

    def _blocks(self, n: int) -> Iterator[slice]:
        """Divide n users into those that are asked together."""
        step = max(1, min(TOGETHER, 2**24 // self.mechanism.report_bytes))
        return (slice(low, min(n, low + step)) for low in range(0, n, step))

    def _write(self, values: Counts, users: Counts, out: NDArray[Any]) -> NDArray[Any]:
        """Write the reports of users: what lasts of them first, then what does not."""
        recalled = self.mechanism._recall(values, users, self._memory)
        self.mechanism._report(recalled, self._fresh, out)
        return out

    def _inputs(self, values: ArrayLike, users: ArrayLike | None) -> tuple[Counts, Counts, bool]:
        """Return values and whose they are, checked, and whether they are of one user."""
        held, single = self.mechanism._inputs(values, "values")
        if users is None:
            if len(held) != self.n:
                raise ValueError(
                    f"values must be those of all n={self.n} users, not of {len(held)}"
                )
            numbers = np.arange(self.n)
        else:
            numbers = np.atleast_1d(
                validate.integers(
                    "users", users, 0, self.n - 1, what=f"users are 0, …, n − 1 with n={self.n}"
                )
            ).copy()
            if numbers.ndim > 1:
                raise ValueError(
                    f"users must be a number or a vector, not an array of shape {numbers.shape}"
                )
            ordered = np.sort(numbers)
            twice = ordered[1:][ordered[1:] == ordered[:-1]]
            if twice.size:
                raise ValueError(
                    f"users must be different, but user {twice[0]} is among them twice"
                )
        if len(held) != len(numbers):
            raise ValueError(
                f"values must be those of the {len(numbers)} users, not of {len(held)}"
            )
        return held, numbers, single

    def __repr__(self) -> str:
        return (  # the key stays out of logs
            f"<Panel of {self.n} users of {validate.quote(self.mechanism)}>"
        )


def over_rounds(tallies: Sequence[Tally]) -> Estimate | Estimates:
    """Return the estimate of the frequencies over several rounds of the *same* users, with the
    error that is left.

    Rounds share what lasts, the permanent answers above all, so the error does not go to 0 with the
    number of rounds; adding the tallies, as if of new users, would state it several times too
    small. The error is that for unchanged values; where values change, the estimate is that of the
    mean frequencies and the error at most this. A solution gives ``Estimates``. Every round must be
    of all these users; that they are the same ones is for the caller to know, only their number is
    checked.

    >>> from multi_freq_ldpy import LGRR, Panel
    >>> protocol = LGRR(3, eps_perm=2.0, eps_1=1.0)
    >>> panel = Panel(protocol, 30_000, rng=1)
    >>> estimate = over_rounds([panel.tally(np.arange(30_000) % 2) for _ in range(10)])
    >>> estimate.frequencies.round(2), estimate.std.round(3)
    (array([0.5, 0.5, 0. ]), array([0.004, 0.004, 0.003]))
    """
    given = (
        list(tallies)
        if isinstance(tallies, Iterable) and not isinstance(tallies, Tally)
        else [tallies]
    )
    for i, each in enumerate(given):
        if not isinstance(each, Tally):
            raise TypeError(
                "tallies must be a list of tallies, one a round, not to have"
                f" {validate.quote(each)} at {i}"
            )
    if not given:
        raise ValueError(f"tallies must hold at least one round, not {validate.quote(tallies)}")
    first = given[0]
    for i, each in enumerate(given):
        if each.mechanism != first.mechanism:
            raise ValueError(
                f"tallies[{i}] was counted by {validate.quote(each.mechanism)}, not by"
                f" {validate.quote(first.mechanism)}"
            )
        if not first._may_share_survey(each):
            raise ValueError(f"tallies[{i}] is of another survey than the first")
        if each.users != first.users or not np.array_equal(each.n, first.n):
            raise ValueError(
                f"tallies[{i}] is not of the same users: users={each.users} and"
                f" n={validate.quote(each.n)} differ from round 0"
            )

    if max(int(np.abs(each.counts).max(initial=0)) for each in given) * len(given) > 2**62:
        raise ValueError(f"tallies of {len(given)} rounds add up to more than 2**62")

    def combined(parts: Sequence[Tally]) -> Estimate:
        (seen, _), counts = parts[0].mechanism.parts[0], np.sum([p.counts for p in parts], axis=0)
        channel = seen.moments.over(len(parts), seen.lasting).rounded()
        return Estimate(
            channel.estimate(counts, parts[0].n), parts[0].n, channel, counts, parts[0].users
        )

    if isinstance(first.mechanism, Mechanism) and not isinstance(first.mechanism, Protocol):
        return Estimates(map(combined, zip(*given, strict=True)))
    return combined(given)
