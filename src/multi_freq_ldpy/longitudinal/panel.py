"""Panel: many users over time, and estimates over several rounds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.deprecation import accept_old_names, old_attribute
from ..core.randomness import Rng, Source, as_stream, subkey
from ..core.tally import Tally
from ..estimation.estimate import Estimate
from ..estimation.several import Estimates, Rounds
from ..mechanism import Counts, Mechanism, as_readonly, find_silent, require_mechanism
from ..protocol import Protocol
from .members import Members

USERS = 2**40
# Users processed together, or fewer if reports are large: their permanent state is in memory
TOGETHER = 2**17


class Panel:
    """Panel of n users who report round after round, in simulations and tests of a collection.

    A panel acts like one ``Client`` per user.

    The permanent state is derived from one key when it is needed. No table of permanent answers is
    kept. The panel keeps only the key and the positions in the streams of fresh noise. Any split of
    a round into calls, and any number of threads, give bit-identical reports.

    A pickled panel keeps the permanent state and draws its own fresh noise. A panel with a seed
    cannot be pickled, because the copy would repeat the noise.

    Parameters
    ----------
    mechanism : protocol or solution
        Mechanism of the reports.
    n : int
        Number of users. It is at most 2⁴⁰.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None, the default, is the operating system: use it to collect. Seeds
        are for simulations.

    Raises
    ------
    TypeError
        If ``mechanism`` is not a mechanism, or if ``n`` is not an integer.
    ValueError
        If ``n`` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import LOSUE, Panel, over_rounds
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
            stream.part(b"panel %d, attribute %d" % (first, j))
            for j in range(len(mechanism.parts) if mechanism.rounds is None else 0)
        ]
        self._members: Any = None
        if mechanism.rounds is not None:
            self._members = mechanism._members(self._memory, self.n)

    protocol = old_attribute("protocol", "mechanism")

    def report(
        self, values: ArrayLike, users: ArrayLike | None = None, round: int | None = None
    ) -> NDArray[Any]:
        """Return one report per user about the present values.

        Parameters
        ----------
        values : array of int
            Present values, one per user. For a solution, a table with one row per user.
        users : array of int, optional
            Numbers of the users whose values these are, without repetition. None, the default, is
            all users in order.
        round : int, optional
            Number of the round, counted from 0, for mechanisms with rounds. None, the default, is
            the round after the last one.

        Returns
        -------
        array of ``report_dtype``
            One report per user. If ``values`` is the value of one user, one report. For mechanisms
            with rounds, all bytes are 255 in the place of a user who does not report.

        Raises
        ------
        ValueError
            If a value is outside the domain, if a user is unknown or given twice, or if the numbers
            of values and users differ. Also if ``round`` is earlier than the last round of a user.
        TypeError
            If a value or a user is not an integer.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import LGRR, Panel
        >>> panel = Panel(LGRR(3, eps_perm=4.0, eps_1=2.0), 5, rng=1)
        >>> panel.report([0, 1, 2, 2, 2])
        array([0, 0, 2, 2, 1], dtype=uint8)
        >>> panel.report([0, 1], users=[0, 4])
        array([1, 1], dtype=uint8)
        """
        held, numbers, single = self._inputs(values, users)
        if self.mechanism.rounds is not None:
            who = None if users is None else numbers
            answers: NDArray[Any] = self._members.answer(held, self._next(round), who)
            return answers[0] if single else answers
        self._refuse_round(round)
        reports = np.empty(len(numbers), self.mechanism.report_dtype)
        for part in self._blocks(len(numbers)):
            self._write(held[part], numbers[part], reports[part])
        found: NDArray[Any] = reports[0] if single else reports
        return found

    def tally(
        self, values: ArrayLike, users: ArrayLike | None = None, round: int | None = None
    ) -> Tally:
        """Return the tally of one round, without all its reports in memory.

        It is the tally of the reports that ``report`` would return.

        Parameters
        ----------
        values : array of int
            Present values, one per user. For a solution, a table with one row per user.
        users : array of int, optional
            Numbers of the users whose values these are, without repetition. None, the default, is
            all users in order.
        round : int, optional
            Number of the round, counted from 0, for mechanisms with rounds. None, the default, is
            the round after the last one.

        Returns
        -------
        Tally
            The tally of these users.

        Raises
        ------
        ValueError
            If a value is outside the domain, if a user is unknown or given twice, or if the numbers
            of values and users differ.
        TypeError
            If a value or a user is not an integer.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import LGRR, Panel
        >>> panel = Panel(LGRR(3, eps_perm=4.0, eps_1=2.0), 1000, rng=1)
        >>> panel.tally(np.arange(1000) % 2).counts
        array([447, 442, 111])
        """
        held, numbers, _ = self._inputs(values, users)
        if self.mechanism.rounds is not None:
            at = self._next(round)
            batches = self._send(held, None if users is None else numbers, at)
            return self.mechanism.at(at)._tally((as_readonly(each), 0) for each in batches)
        self._refuse_round(round)
        dtype = self.mechanism.report_dtype
        return self.mechanism._tally(
            (self._write(held[part], numbers[part], np.empty(part.stop - part.start, dtype)), 0)
            for part in self._blocks(len(numbers))
        )

    def run(self, rounds: Iterable[ArrayLike]) -> Rounds:
        """Return the estimate of each round, given the values of all users in each round.

        Use ``tally`` for rounds that are to be combined.

        Parameters
        ----------
        rounds : iterable of arrays of int
            Values of all n users, one array per round. For a solution, one table per round.

        Returns
        -------
        Rounds
            One estimate per round, in order.

        Raises
        ------
        TypeError
            If ``rounds`` is not an iterable of values, or if a value is not an integer.
        ValueError
            If a value is outside the domain, or if a round does not have n users. The message names
            the round.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import LGRR, Panel
        >>> panel = Panel(LGRR(3, eps_perm=4.0, eps_1=2.0), 1000, rng=1)
        >>> values = np.arange(1000) % 2
        >>> [estimate.frequencies.round(2) for estimate in panel.run([values, values + 1])]
        [array([0.5 , 0.49, 0.01]), array([0.02, 0.49, 0.49])]
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
        tallies: list[Tally] = []
        if self.mechanism.rounds is not None:
            self._require_new(rounds)
        for values in rounds:
            try:
                tallies.append(self.tally(values))
            except (ValueError, TypeError) as error:
                raise type(error)(f"round {len(tallies)}: {error}") from None
        if self.mechanism.rounds is not None:
            whole: Any = self.mechanism
            found: Rounds = whole.estimate(tallies, users=self.n)
            return found
        return Rounds(map(self.mechanism.estimate, tallies))

    def _require_new(self, rounds: Iterable[ArrayLike]) -> None:
        """Refuse to run a history that has begun, or more rounds than it has."""
        if self._members.last >= 0:
            raise ValueError(
                f"rounds must begin with round 0, but round {self._members.last} was asked already:"
                " use tally for single rounds"
            )
        most = self.mechanism.rounds
        if isinstance(rounds, Sized) and len(rounds) > most:
            raise ValueError(f"rounds must be at most {most}, not {len(rounds)}")

    def _next(self, round: int | None) -> int:
        """Return the round that is asked."""
        at = self._members.last + 1 if round is None else round
        return validate.Integer(0, self.mechanism.rounds - 1)("round", at)

    def _send(self, values: Counts, who: Counts | None, at: int) -> list[NDArray[Any]]:
        """Return batches of the reports that are sent in a round."""
        if who is None and isinstance(self._members, Members):
            dtype = self.mechanism.at(at).report_dtype
            sent = self._members.send(values, at)
            return [rows.reshape(-1).view(dtype) for _, rows in sent]
        answers = self._members.answer(values, at, who)
        return [answers[~find_silent(answers)]]

    def _refuse_round(self, round: int | None) -> None:
        if round is not None:
            raise ValueError(
                f"round={validate.quote(round)} is for mechanisms with rounds, not for"
                f" {validate.quote(self.mechanism)}"
            )

    def _blocks(self, n: int) -> Iterator[slice]:
        """Divide n users into blocks that are processed together."""
        step = max(1, min(TOGETHER, 2**24 // self.mechanism.report_bytes))
        return (slice(low, min(n, low + step)) for low in range(0, n, step))

    def _write(self, values: Counts, users: Counts, out: NDArray[Any]) -> NDArray[Any]:
        """Write the reports of users.

        First their permanent state is derived, then fresh noise is added.
        """
        recalled = self.mechanism._recall(values, users, self._memory)
        self.mechanism._report(recalled, self._fresh, out)
        return out

    def _inputs(self, values: ArrayLike, users: ArrayLike | None) -> tuple[Counts, Counts, bool]:
        """Return the values and the users' numbers, checked, and True if one user was given."""
        if self._members is not None:
            held, single = self._members.check_values(values), np.ndim(values) < self._members.ndim
        else:
            held, single = self.mechanism._inputs(values, "values")
        if users is None:
            if len(held) != self.n:
                raise ValueError(
                    f"values must be those of all n={self.n} users, not of {len(held)}"
                )
            # A history takes all users without a list of them
            numbers = np.arange(self.n if self._members is None else 0)
            return held, numbers, single
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
            raise ValueError(f"users must be different, but user {twice[0]} is among them twice")
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
    """Return the estimate of the frequencies over several rounds of the *same* users.

    Rounds share the permanent state, above all the permanent answers. So the error does not go to 0
    with the number of rounds. To add the tallies, as if the users were new, would state an error
    several times too small.

    The stated error is the error for unchanged values. If values change, the estimate is that of
    the mean frequencies, and the error is at most the stated one.

    All these users must report in every round. Only the number of users is checked. The caller has
    to make sure that they are the same users.

    Parameters
    ----------
    tallies : list of Tally
        Tallies of one mechanism, one per round.

    Returns
    -------
    Estimate or Estimates
        The estimate over all rounds. A solution gives ``Estimates``.

    Raises
    ------
    TypeError
        If ``tallies`` is not a list of tallies.
    ValueError
        If there is no tally, or if the tallies differ in mechanism, survey or number of users.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import LGRR, Panel, over_rounds
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
                f"tallies must be a list of tallies, one per round, but tallies[{i}] is"
                f" {validate.quote(each)}"
            )
    if not given:
        raise ValueError(f"tallies must hold at least one round, not {validate.quote(tallies)}")
    first = given[0]
    if hasattr(first.mechanism, "history"):
        raise ValueError("tallies of a history are estimated by history.estimate(tallies)")
    for i, each in enumerate(given):
        if each.mechanism != first.mechanism:
            raise ValueError(
                f"tallies[{i}] was counted by {validate.quote(each.mechanism)}, not by"
                f" {validate.quote(first.mechanism)}"
            )
        if not first._may_share_survey(each):
            raise ValueError(f"tallies[{i}] is of another survey than tallies[0]")
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
