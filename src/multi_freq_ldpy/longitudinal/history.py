"""The base of the mechanisms that protect whole histories of values.

All reports of a user together keep one budget between any two histories. A user draws once, without
looking at any value, when to report what. A report tells the value of its round, or the step since
an earlier round. The estimate of every round is a least squares solution over all reports.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import exact, validate
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source
from ..core.tally import Part, Tally
from ..estimation.several import Rounds
from ..mechanism import SILENT, Counts, Mechanism, Reports, find_silent
from ..protocol import OneShot, Protocol, check_declared
from ..protocols.formats import symbol_dtype
from ..protocols.grr import GRR
from ..protocols.hadamard import HR, find_parity
from ..protocols.subset import SS
from ..protocols.unary import OUE, SUE, THE
from .averages import Asked, Numbers
from .blocks import Block
from .changes import BetweenRounds
from .diary import Diary
from .estimator import Estimator
from .listing import Sent, list_reports, weigh_reports
from .members import Members
from .network import Network
from .paths import Integers, Paths
from .round import Node, Round

Due = tuple[int, int, int, NDArray[np.bool_] | None]
"""A kind, the first and the end of its users in the order of paths, and a mask among them."""

LARGEST_HISTORY = 2**31 - 1
"""The largest number of bytes of all reports of a user, above which a dtype overflows."""

MOST_ROUNDS = 2**16
MOST_CHANGES = 32
MOST_ONLINE = 2**12
"""The largest number of rounds that are estimated one by one, each from the rounds before."""

MOST_KEPT = 2**8
"""The largest number of rounds whose mechanisms are kept."""

PROTOCOLS: dict[str, type[OneShot]] = {each.__name__: each for each in (SS, GRR, OUE, SUE, THE, HR)}
"""The protocols through which a value can be reported, which draw for any list of users."""


@dataclass(frozen=True)
class Kind:
    """One kind of reports.

    Parameters
    ----------
    share : Fraction
        Share of the users who send this kind.
    length : int
        Length of the steps that are told, or 0 for reports of the value.
    block : Block, optional
        Noise of the steps. None for reports of the value.
    """

    share: Fraction
    length: int
    block: Block | None = None


@dataclass(frozen=True)
class History(Mechanism):
    """The base class of the mechanisms that protect whole histories of values.

    ``randomize`` takes one history per user, for simulations. ``Client`` and ``Panel`` take one
    value per round. ``at(round)`` is the mechanism of one round, with its bytes and tallies.
    ``estimate`` takes the tallies of all rounds so far.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import Steps
    >>> history = Steps(2, epsilon=2.0, rounds=8, changes=1)
    >>> histories = np.repeat([[0, 0, 0, 1, 1, 1, 1, 1], [0] * 8], 10_000, axis=0)
    >>> rounds = history.estimate(history.randomize(histories, rng=1))
    >>> [round(float(each.frequencies[1]), 2) for each in rounds]
    [-0.02, -0.0, 0.02, 0.5, 0.52, 0.51, 0.49, 0.49]
    """

    grounded: ClassVar[bool] = False
    """True if the value before the first round is known to be 0."""

    _first_kind: ClassVar[int] = 0
    """The number of the first kind on the wire, where 0 is a report of a value."""

    _draws_together: ClassVar[bool] = True
    """True if users with the same history and kind tell the same symbols."""

    encoding = "unary"
    epsilon = 0.0
    rounds = 0
    k = 2

    def __post_init__(self) -> None:
        check_declared(self)
        _ = self.kinds, self.privacy
        if (size := self.rounds * (1 + self._longest)) > LARGEST_HISTORY:
            raise ValueError(
                f"rounds={self.rounds} reports of {1 + self._longest} bytes must have at most"
                f" {LARGEST_HISTORY} bytes together, not {size}: use another protocol or encoding"
            )

    # Declared by a subclass

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of reports. Reports of values are the first kind."""

    @abstractmethod
    def _draw_paths(self, memory: Source, n: int) -> Paths:
        """Draw the paths of n users from their permanent randomness."""

    @abstractmethod
    def _every_path(self) -> Iterator[tuple[Paths, Fraction]]:
        """Yield every path of one user, with its probability."""

    # Optional overrides

    @cached_property
    def _one_shot(self) -> OneShot:
        """The protocol of the reports of values."""
        raise TypeError(f"{type(self).__name__} has no reports of values")

    @property
    def _window(self) -> int:
        """The number of rounds after which a value is reported again."""
        return self.rounds

    def _due(self, diary: Diary, round: int) -> Iterator[Due]:
        """Yield the kinds whose paths include a round, with their users in the order of paths.

        A mask chooses among these users. None means all of them.
        """
        for i, kind in enumerate(self.kinds):
            if kind.block is None:
                yield i, *diary.find_values(round % self._window), None
            elif (round + 1) % kind.length == 0:
                yield i, *diary.find_kind(i), None

    def _step(self, kind: int, t: int) -> tuple[int, int, int]:
        """Return the length of a step, the stride of its path, and the level of its start."""
        length = self.kinds[kind].length
        return length, length, 0

    def _levels_at(self, t: int) -> range:
        """Return the levels of the starts that round t renews. For t = 0 these are all levels."""
        return range(1)

    def _ordinal(self, kind: int, t: int) -> int:
        """Return the number of the step that ends in round t among those of its path."""
        return t // self.kinds[kind].length - (1 if self.grounded else 2)

    def _path_steps(self, kind: int) -> int:
        """Return the number of steps of a path."""
        return self._ordinal(kind, self.rounds) + 1

    def _chance(self, node: Node, asked: Asked) -> float:
        """Return the expected share of the users whose report comes."""
        kind = self.kinds[node.kind]
        if node.start is None:
            return float(kind.share) / self._window * asked.chance(1, 1)
        known = self.grounded and node.start == 0
        path = 2 - known
        if asked.restorable and not self._is_roomy(node.kind):
            path = node.end // kind.length
        return float(kind.share) * asked.chance(path, kind.length)

    # Derived

    @cached_property
    def order(self) -> int:
        """The order of the Hadamard matrix whose rows encode steps."""
        return 1 << (self.k - 1).bit_length()

    @property
    def symbols(self) -> int:
        """The number of symbols of a report of steps."""
        return self.k if self.symbols_per_change == 2 else 1

    @property
    def symbols_per_change(self) -> int:
        """The number of symbols that tell one change."""
        return 2 if self.encoding == "unary" and self.k > 2 else 1

    def _is_roomy(self, kind: int) -> bool:
        """Tell whether a block has an entry for every step of its path."""
        block = self.kinds[kind].block
        assert block is not None
        return block.symbols >= self.symbols_per_change * self._path_steps(kind)

    def _sign(self, start: Any, end: Any, rows: Any) -> Any:
        """Return the symbol of each step. For two symbols, it is 1 if the value changed."""
        if self.encoding == "row":
            return find_parity(rows & start) - find_parity(rows & end)
        return end - start if self.k == 2 else (end != start).astype(np.int64)

    def nodes(self, round: int) -> tuple[Node, ...]:
        """Return the content of the reports of one round, by kind.

        Parameters
        ----------
        round : int
            The round, counted from 0.

        Returns
        -------
        tuple of Node
            One entry per kind of reports.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> Steps(2, epsilon=1.0, rounds=8, changes=1, values=0.5).nodes(3)[2]
        Node(kind=2, start=2, end=4)
        """
        t, found = round + 1, []
        for i, kind in enumerate(self.kinds):
            if kind.block is None:
                found.append(Node(i, None, t))
            elif t % kind.length == 0 and (self.grounded or t > kind.length):
                found.append(Node(i, t - kind.length, t))
        return tuple(found)

    def at(self, round: int, optional: bool = False) -> Round:
        """Return the mechanism of one round, with its wire format and its tallies.

        Parameters
        ----------
        round : int
            The round, counted from 0.
        optional : bool
            True if a report may be empty, as a part of a record.

        Returns
        -------
        Round
            The mechanism of this round.

        Raises
        ------
        ValueError
            If there is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> Steps(4, epsilon=1.0, rounds=8, changes=1).at(3).report_bytes
        3
        """
        if optional:
            return Round(self, round, True)
        key = validate.Integer(0, self.rounds - 1)("round", round)
        if key not in self._rounds_made:
            if len(self._rounds_made) >= MOST_KEPT:
                self._rounds_made.clear()
            self._rounds_made[key] = Round(self, key)
        return self._rounds_made[key]

    @cached_property
    def _rounds_made(self) -> dict[int, Round]:
        return {}

    @cached_property
    def privacy(self) -> Privacy:
        """The exact losses. The loss ``history`` holds between any two histories.

        A user sends reports of one kind only. So the largest loss of a kind is that of all reports.
        """
        values = [self._one_shot.ratio] if self._tells_values else []
        often, many = -(-self.rounds // self._window), self.symbols_per_change
        alone, stays, whole = values.copy(), values.copy(), values.copy()
        for i, kind in enumerate(self.kinds):
            if kind.block is not None:
                first = self.grounded and self._path_steps(i) == 1
                alone.append(kind.block.spread(many, known=first))
                stays.append(kind.block.spread(self._told_if_unchanged, known=True))
                whole.append(self._kind_ratio(i))
        lifetime, ratio = Privacy.of(max(stays) ** often), max(whole) ** often
        return replace(
            Privacy.of(max(alone), None, lifetime),
            history=exact.log(ratio),
            ratio_history=ratio,
        )

    def _kind_ratio(self, kind: int) -> Fraction:
        """Return the largest ratio between two histories, for the users of one kind of steps.

        Two histories that tell opposite symbols in all steps attain the ratio of the block. From a
        known value, the first change has only one direction. Then one history tells one symbol
        more than the other, unless it can begin one step earlier.
        """
        block, most = self.kinds[kind].block, self._path_steps(kind)
        assert block is not None
        if not self.grounded or most > block.symbols:
            return block.ratio
        return max(
            block.mean_density(most, most) / block.mean_density(most - 1, 1 - most),
            block.mean_density(most - 1, most - 1) / block.mean_density(most, -most),
        )

    @property
    def _tells_values(self) -> bool:
        return self.kinds[0].block is None

    @property
    def _told_if_unchanged(self) -> int:
        """The largest number of symbols that users tell whose values never change."""
        return int(self.grounded)

    @property
    def _row_factor(self) -> Fraction:
        rows = self.encoding == "row"
        return Fraction(2 * (self.order - 1), self.order) if rows else Fraction(1)

    @cached_property
    def _estimator(self) -> Estimator:
        """The estimates of all rounds, with their errors."""
        return Estimator(self)

    @cached_property
    def report_shares(self) -> Numbers:
        """The expected share of the users who report in each round, if no round is missed."""
        asked = Asked()
        return np.array(
            [sum(self._chance(node, asked) for node in self.nodes(r)) for r in range(self.rounds)]
        )

    @property
    def work(self) -> int:
        """The approximate number of machine words that are read to count a report."""
        steps = 2 * -(-self.symbols // 64) if any(kind.block for kind in self.kinds) else 0
        return max(self._one_shot.work if self._tells_values else 0, steps)

    def network(
        self, n: float, missing: float = 0.0, gap: float | None = None, restorable: bool = True
    ) -> Network:
        """Return the network of the reports that n users are expected to send.

        Parameters
        ----------
        n : float
            Number of users.
        missing : float
            Share of the rounds that a user misses.
        gap : float, optional
            Mean number of rounds that are missed one after the other. None, the default, means that
            each round is missed independently.
        restorable : bool
            True if users who missed a round of their path stop (see ``Client.open``).

        Returns
        -------
        Network
            Numbers and costs of the reports.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> history = Steps(2, epsilon=1.0, rounds=256, changes=3)
        >>> round(float(history.network(1).variances.mean()), 1)
        68.1
        """
        return self._estimator.expect(n, Asked(missing, gap, restorable)).network

    def variance(
        self, n: ArrayLike, f: ArrayLike = 0.0, missing: float = 0.0
    ) -> NDArray[np.float64]:
        """Return the variance of the estimated frequency in each round, after all rounds.

        It is exact for users whose values do not change. Users who change add variance: little for
        budgets up to 1, and up to several times as much for large budgets and many changes. Use
        ``simulate`` to plan for them. The errors of estimates take them into account.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array of float
            True frequency of the value. It is the frequency among the n users.
        missing : float
            Share of the rounds that a user misses, each independently.

        Returns
        -------
        array of float
            Variances. The first axis is the rounds, the other axes are those of n and f.

        Raises
        ------
        ValueError
            If ``n`` is negative, or if ``f`` or ``missing`` is not in [0, 1]. Also if the shapes of
            n and f do not fit together.

        Examples
        --------
        >>> from multi_freq_ldpy import Once, Steps
        >>> history = Steps(2, epsilon=1.0, rounds=64, changes=1)
        >>> history.variance(10_000, f=0.5)[::16].round(5)
        array([0.00371, 0.00191, 0.00185, 0.00188])
        >>> Once(2, epsilon=1.0, rounds=64).variance(10_000, f=0.5)[::16].round(5)
        array([0.00747, 0.00747, 0.00747, 0.00747])
        """
        users, share = validate.users_and_share(n, f)
        return self._estimator.variance(users, share, missing)

    # Reports

    @property
    def ks(self) -> tuple[int, ...]:
        """The domain size of the one attribute, as a tuple."""
        return (self.k,)

    @property
    def cells(self) -> int:
        """The number of estimated frequencies of a round, which is k."""
        return self.k

    @property
    def leaves(self) -> "tuple[Protocol, ...]":
        """The one attribute, which is this history itself."""
        own: Any = self
        return (own,)

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of all reports of one user, one entry per round."""
        return np.dtype((self.at(0).report_dtype, (self.rounds,)))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The rounds as the aggregator sees them, each with the place of its counts."""
        found, low = [], 0
        for r in range(self.rounds):
            seen: Any = self.at(r)
            found.append(Part(seen, slice(low, low + seen._entries)))
            low += seen._entries
        return tuple(found)

    answering = (Fraction(0),)
    _answers_all = False

    @property
    def _row_bytes(self) -> int:
        """The number of bytes of the row in a report of steps."""
        return symbol_dtype(self.order).itemsize if self.encoding == "row" else 0

    @property
    def _step_bytes(self) -> int:
        """The number of bytes of a report of steps."""
        return self._row_bytes + 2 * -(-self.symbols // 8)

    @property
    def _step_space(self) -> int:
        """The number of integers in which reports of steps are gathered."""
        return self.order + 1 if self.encoding == "row" else 2 * self.symbols

    @cached_property
    def _longest(self) -> int:
        """The number of bytes of the longest content of a report."""
        steps = [self._step_bytes] if any(kind.block for kind in self.kinds) else []
        return max(steps + ([self._one_shot.report_bytes] if self._tells_values else []))

    @cached_property
    def _round_dtype(self) -> np.dtype[Any]:
        """The dtype of one report, the same in all rounds."""
        return np.dtype([("kind", np.uint8), ("payload", np.uint8, (self._longest,))])

    @cached_property
    def _base_bytes(self) -> int:
        """The number of bytes from which one symbol of base noise is drawn."""
        bits = [kind.block.bits for kind in self.kinds if kind.block is not None]
        return 2 if max(bits, default=1) <= 16 else 8

    def _inputs(self, given: object, name: str = "histories") -> tuple[Counts, bool]:
        array = validate.integers(
            name or "histories",
            given,
            0,
            self.k - 1,
            what=f"values are 0, …, k − 1 with k={self.k}",
        )
        if array.ndim not in (1, 2) or array.shape[-1] != self.rounds:
            raise ValueError(
                f"{name or 'histories'} must have rounds={self.rounds} values per user, not the"
                f" shape {array.shape}"
            )
        return np.array(array, np.int64, ndmin=2), array.ndim == 1

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        members = Members(self, source, len(values))
        for r in range(self.rounds):
            out[:, r] = members.answer(values[:, r], r)

    # Devices

    def _members(
        self, memory: Source, users: int | Counts, first: int = 0, restorable: bool = True
    ) -> Members:
        return Members(self, memory, users, first, restorable)

    @property
    def _prices(self) -> tuple[float, ...]:
        return (self.privacy.history,)

    # Counts

    @cached_property
    def _spaces(self) -> list[int]:
        ends = [0]
        for r in range(self.rounds):
            ends.append(ends[-1] + self.at(r)._space)
        return ends

    @property
    def _space(self) -> int:
        return self._spaces[-1]

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        refused = np.zeros(len(reports), np.bool_)
        for r in range(self.rounds):
            here = np.flatnonzero(~find_silent(reports[:, r]))
            refused[here] |= self.at(r)._refused(np.ascontiguousarray(reports[here, r]))
        return refused | self._find_mixed(reports["kind"].astype(np.int64) - self._first_kind)

    def _find_mixed(self, kinds: Integers) -> NDArray[np.bool_]:
        """Mark users whose reports cannot come from one path, given the kind of each report."""
        silent = kinds == SILENT - self._first_kind
        least = np.where(silent, len(self.kinds), kinds).min(axis=1)
        most = np.where(silent, -1, kinds).max(axis=1)
        mixed = least < most
        if self._tells_values:  # a value is reported in rounds of one window only
            own = np.where(kinds == 0, np.arange(self.rounds) % self._window, -1)
            first = own.max(axis=1, keepdims=True)
            mixed |= ((own >= 0) & (own != first)).any(axis=1)
        return np.asarray(mixed)

    def _sent(self, reports: NDArray[Any]) -> Iterator[tuple[Round, NDArray[np.bool_], Any]]:
        """Yield the rounds, the users who report, and their reports."""
        for r in range(self.rounds):
            sent = ~find_silent(reports[:, r])
            yield self.at(r), sent, np.ascontiguousarray(reports[sent, r])

    def _gather(self, reports: NDArray[Any]) -> Counts:
        return np.concatenate([own._gather(sent) for own, _, sent in self._sent(reports)])

    def _answers(self, reports: NDArray[Any]) -> Counts:
        return np.concatenate([own._answers(sent) for own, _, sent in self._sent(reports)])

    def _settle(self, gathered: Counts, n: Counts) -> Counts:
        return np.concatenate(
            [
                self.at(r)._settle(gathered[low:high], n[self.parts[r].entries])
                for r, (low, high) in enumerate(pairwise(self._spaces))
            ]
        )

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each user's reports to each count.

        Parameters
        ----------
        reports : array
            Reports as ``randomize`` returns them, one row per user.

        Returns
        -------
        array
            One row per user. Columns are the counts of all rounds.

        Examples
        --------
        >>> from multi_freq_ldpy import Once
        >>> history = Once(2, epsilon=1.0, rounds=2, protocol="GRR")
        >>> history.contributions(history.randomize([[0, 0], [1, 1]], rng=1))
        array([[0, 0, 1, 0],
               [0, 0, 1, 0]])
        """
        found = np.zeros((len(reports), self._entries), np.int64)
        for (own, sent, here), part in zip(self._sent(reports), self.parts, strict=True):
            found[sent, part.entries] = own.contributions(here)
        return found

    def _reporters(self, n: Counts) -> int:
        return max(self.at(r)._reporters(n[part.entries]) for r, part in enumerate(self.parts))

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        if counts.shape != (self._entries,):
            raise ValueError(
                f"counts must have shape ({self._entries},), one entry per round, kind and value,"
                f" not {counts.shape}"
            )
        for own, entries in self.parts:
            own._check_counts(counts[entries], n[entries], users)

    def _fields(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {"history": type(self).__name__, **own}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    # Estimates

    def estimate(  # type: ignore[override]
        self,
        reports: Tally | Sequence[Tally] | Reports,
        smooth: bool = True,
        users: int | None = None,
    ) -> Rounds:
        """Return the unbiased frequencies of every round so far, with their errors.

        They are unbiased if no user changes more often than the bound. Users beyond the bound move
        the estimates toward "no change".

        Parameters
        ----------
        reports : list of Tally, Tally, or array
            Tallies of the rounds so far, in their order. Or a tally of whole histories, or reports
            as ``randomize`` returns them.
        smooth : bool
            True, the default, uses the reports of all these rounds for every round. False uses only
            the reports up to the round itself: the frequencies as they could be published then.
        users : int, optional
            Number of users who take part. By default it is computed from the numbers of reports.

        Returns
        -------
        Rounds
            One ``Estimate`` per round. A round that no report of a value reaches has NaN.

        Raises
        ------
        ValueError
            If a tally is not that of its round, or if a report is invalid.
        TypeError
            If ``reports`` are neither tallies nor reports.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import Panel, Steps
        >>> history = Steps(2, epsilon=2.0, rounds=4, changes=1)
        >>> panel = Panel(history, 50_000, rng=1)
        >>> values = np.arange(50_000) % 2
        >>> tallies = [panel.tally(values), panel.tally(values), panel.tally(values * 0)]
        >>> history.estimate(tallies)[2]
        Estimate from 50,099 users: frequency ± standard error
        0   1.0013 ± 0.0047
        1  -0.0013 ± 0.0047
        """
        tallies, known = self._as_tallies(reports)
        total = known if users is None else validate.Integer(0, 2**62)("users", users)
        validate.flag("smooth", smooth)
        numbers = [self.at(r).numbers(tally.n) for r, tally in enumerate(tallies)]
        counts = [tally.counts for tally in tallies]
        if total is None:
            total = self._count_users(numbers)
        if smooth:
            means = self._estimator.average(numbers, counts)
            found = means.network.estimate(means.values, means.steps)
            errors = means.errors
        else:
            if len(tallies) > MOST_ONLINE:
                raise ValueError(
                    f"smooth=False is for at most {MOST_ONLINE} rounds, not {len(tallies)}"
                )
            found, errors = self._estimator.estimate_online(numbers, counts)
        rounds = Rounds(
            self._estimator.as_estimate(found[r], errors, r, total) for r in range(len(tallies))
        )
        rounds._compare = BetweenRounds(self, rounds, numbers, counts, smooth)
        return rounds

    def _as_tallies(self, reports: Any) -> tuple[list[Tally], int | None]:
        """Return the tallies of rounds, and the number of users if it is known."""
        if isinstance(reports, list | tuple) and any(isinstance(t, Tally) for t in reports):
            for r, tally in enumerate(reports):
                if not isinstance(tally, Tally):
                    raise TypeError(
                        f"reports[{r}] must be the tally of a round, not {validate.quote(tally)}"
                    )
                if r >= self.rounds or tally.mechanism not in (self.at(r), self.at(r, True)):
                    raise ValueError(
                        f"reports[{r}] must be the tally of round {r} of {validate.quote(self)},"
                        f" not of {validate.quote(tally.mechanism)}"
                    )
            return list(reports), None
        if isinstance(reports, list | tuple) and not reports:
            raise ValueError("reports must hold the tally of at least one round, not []")
        tally = self._as_tally(reports)
        return list(tally), tally.users

    def _count_users(self, numbers: list[Counts]) -> int:
        """Return the number of users, given the numbers of reports of the rounds so far."""
        most: dict[int, float] = {}
        share = reported = 0.0
        for r, own in enumerate(numbers):
            for node, n in zip(self.nodes(r), own.tolist(), strict=True):
                chance = self._chance(node, Asked())
                if node.start is None and r < self._window:
                    reported, share = reported + n, share + chance
                elif node.start is not None:
                    most[node.kind] = max(most.get(node.kind, 0), n)
        reported += sum(most.values())
        share += sum(float(self.kinds[kind].share) for kind in most)
        return round(reported / share) if share else 0

    # Enumeration

    def law(self, history: ArrayLike) -> dict[Sent, Fraction]:  # type: ignore[override]
        r"""Return the exact distribution of all reports of one user.

        Parameters
        ----------
        history : list of int
            Value in each round.

        Returns
        -------
        dict
            Probability of each tuple of reports. An entry of a tuple is a report as bytes, or None
            in a round without report.

        Raises
        ------
        ValueError
            If ``history`` is not that of one user, or if there are too many reports to list.

        Examples
        --------
        >>> from multi_freq_ldpy import Once
        >>> law = Once(2, epsilon=1.0, rounds=2, protocol="GRR").law([0, 1])
        >>> len(law), sum(law.values()), law[b"\0\0", None] == law[None, b"\0\1"]
        (4, Fraction(1, 1), True)
        """
        values, single = self._inputs(history, "history")
        if not single:
            raise ValueError(f"history must be that of one user, not {validate.quote(history)}")
        found: dict[Sent, Fraction] = {}
        for path, share in self._every_path():
            diary = Diary(self, path)
            told = [diary.decide(r, values[:, r]) for r in range(self.rounds)]
            for sent, chance in list_reports(self, path, told):
                found[sent] = found.get(sent, Fraction(0)) + share * chance
        return found

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        sent = tuple(
            None if find_silent(reports[:, r])[0] else reports[0, r].tobytes()
            for r in range(self.rounds)
        )
        found = Fraction(0)
        for path, share in self._paths_of(sent):
            diary = Diary(self, path)
            told = [diary.decide(r, value[r : r + 1]) for r in range(self.rounds)]
            found += share * weigh_reports(self, told, sent)
        return found

    def _paths_of(self, sent: Sent) -> Iterator[tuple[Paths, Fraction]]:
        """Yield the paths from which reports may come, with their probabilities."""
        return self._every_path()

    # Simulation

    def simulate(
        self, histories: ArrayLike, rng: Rng = None, *, counts: ArrayLike | None = None
    ) -> Tally:
        """Draw the tally of whole histories from its exact distribution, without keeping reports.

        Users with the same history are drawn together. So few different histories of very many
        users take milliseconds.

        Parameters
        ----------
        histories : array of int, shape (histories, rounds)
            Values in each round.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.
        counts : array of int, optional
            Number of users who have each history. By default each history has one user.

        Returns
        -------
        Tally
            The tally of all rounds. ``tally[r]`` is that of round r.

        Raises
        ------
        ValueError
            If a history has the wrong length or a value outside the domain, or if ``counts`` does
            not have one number per history.
        TypeError
            If an entry is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> history = Steps(2, epsilon=1.0, rounds=4, changes=1)
        >>> tally = history.simulate([[0, 0, 0, 1], [0, 0, 1, 1]], 1, counts=[10**9, 10**9])
        >>> [abs(float(each.frequencies[1].round(3))) for each in history.estimate(tally)]
        [0.0, 0.0, 0.5, 1.0]
        """
        from .simulation import simulate

        held, _ = self._inputs(histories)
        many = np.ones(len(held), np.int64)
        if counts is not None:
            many = validate.histogram("counts", counts, len(held))
        return simulate(self, held, many, rng)

    def _simulate_part(self, held: Sequence[Counts], n: int, rng: Rng) -> tuple[Counts, Counts]:
        raise TypeError("a history is simulated from histories: use simulate(histories, counts=…)")
