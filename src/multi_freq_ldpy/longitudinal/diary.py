"""The rules by which users of a history answer, round after round.

A diary keeps the states of users. For each round it decides who sends a report, and what the report
tells. It draws no noise, and knows no secret. So the same rules run on devices, in panels, and in
the enumeration of all reports.

A device may be off, and its file may be lost, copied or restored. Then these rules hold:

1. A step is reported only if this state was asked at its start. Otherwise the user is silent, and
   the present value is the next start.
2. If the block has room for every step of the path, each step owns its entry of the block.
3. Elsewhere a user who missed a round of the path stops: this user is silent for ever. Without this
   rule, two copies of a file could tell two symbols through one entry.
4. A value is reported in its own round, and never later.

All this depends on rounds only. So silence tells nothing about values.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import Source
from .paths import Integers, Paths

if TYPE_CHECKING:
    from .history import History


class Told(NamedTuple):
    """The content of the reports of one kind in one round, before noise.

    Parameters
    ----------
    kind : int
        Kind of the reports.
    who : array of int
        The users who report.
    start, end : array of int
        Values at both ends of the step. For a report of the value, both are the value.
    entry : array of int
        First entry of the block through which the step is told, or −1 if all symbols are base
        noise.
    rows : array of int
        Rows of the Hadamard matrix, for the encoding "row".
    """

    kind: int
    who: Integers
    start: NDArray[Any]
    end: NDArray[Any]
    entry: NDArray[Any]
    rows: Integers


@dataclass
class States:
    """The states of users, one entry per user.

    Parameters
    ----------
    first : int
        First round in which the users take part.
    last : array of int
        Last round that was asked, or ``first`` − 1.
    told : array of int
        Number of symbols told through the block.
    stopped : array of bool
        True for users who are silent for ever.
    starts : array of int, shape (levels, users)
        Values from which later steps start. Level b is that of the last round whose number,
        counted from 1, is divisible by 2^b times the stride of the path.
    asked : array of int, shape (levels, users)
        Rounds of these values, counted from 1. The number 0 is the known value before the first
        round, and −1 means that there is none.
    """

    first: int
    last: NDArray[np.int32]
    told: NDArray[np.int32]
    stopped: NDArray[np.bool_]
    starts: NDArray[np.int32]
    asked: NDArray[np.int32]

    @classmethod
    def begin(cls, n: int, levels: int, first: int, grounded: bool) -> "States":
        """Return the states of n users before their first round."""
        known = 0 if grounded and first == 0 else -1
        return cls(
            first,
            np.full(n, first - 1, np.int32),
            np.zeros(n, np.int32),
            np.zeros(n, np.bool_),
            np.zeros((levels, n), np.int32),
            np.full((levels, n), known, np.int32),
        )

    def copy(self) -> "States":
        """Return independent copies of all states."""
        arrays = [each.copy() for name, each in vars(self).items() if name != "first"]
        return States(self.first, *arrays)


class Diary:
    """Users of one history: their paths, their states, and the rules.

    States are kept in the order of paths. So the users of one kind are neighbours. Users who report
    their value in the same round are neighbours too.

    Parameters
    ----------
    history : History
        The mechanism.
    paths : Paths
        Path of each user.
    first : int
        First round in which the users take part.
    restorable : bool
        True if old copies of the states may be used again. False leaves out the third rule.
    memory : Source, optional
        Permanent randomness of the users, for mechanisms that toss coins in each round.
    """

    def __init__(
        self,
        history: "History",
        paths: Paths,
        first: int = 0,
        restorable: bool = True,
        memory: Source | None = None,
    ) -> None:
        self.history, self.restorable, self.memory = history, restorable, memory
        tells_values = (paths.kinds == 0) & (history.kinds[0].block is None)
        self.order = np.lexsort((np.where(tells_values, paths.rounds, 0), paths.kinds))
        self.paths = Paths(*(each[self.order] for each in vars(paths).values()))
        self.states = States.begin(len(paths), len(history._levels_at(0)), first, history.grounded)
        self._ends = np.searchsorted(self.paths.kinds, range(len(history.kinds) + 1)).tolist()
        self._rounds = self.paths.rounds[: self._ends[1]]

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def rank(self) -> Integers:
        """The place in the order of paths, one entry per user."""
        rank = np.empty(len(self), np.int64)
        rank[self.order] = np.arange(len(self))
        return rank

    def decide(self, round: int, values: NDArray[Any], who: Integers | None = None) -> list[Told]:
        """Take the values of a round, change the states, and return what is told.

        Parameters
        ----------
        round : int
            The round, counted from 0. It must be later than the last round of these users.
        values : array of int
            Present values, one per asked user.
        who : array of int, optional
            The users who are asked, in any order. None means all users.

        Returns
        -------
        list of Told
            Content of the reports, by kind.
        """
        found, source, places = [], self.order, None
        if who is not None:
            given = self.rank[who]
            source = np.argsort(given)
            places = given[source]
        for kind, low, high, chosen in self.history._due(self, round):
            if low == high:
                continue
            here: Any = slice(low, high)
            if places is None:
                if chosen is not None:
                    here = low + np.flatnonzero(chosen)
                held = values[source[here]]
            else:
                part = slice(*np.searchsorted(places, [low, high]))
                here, held = places[part], values[source[part]]
                if chosen is not None:
                    keep = chosen[here - low]
                    here, held = here[keep], held[keep]
            value = self.history.kinds[kind].block is None
            decide = self._decide_value if value else self._decide_step
            told, kept = decide(kind, round + 1, held, here)
            found.append((told, kept, here, held))
        for _, kept, here, held in found:
            for level in self.history._levels_at(round + 1) if kept else ():
                self.states.starts[level, here] = held
                self.states.asked[level, here] = round + 1
        self.states.last[slice(None) if places is None else places] = round
        return [each[0] for each in found if len(each[0].who)]

    def find_values(self, round: int) -> tuple[int, int]:
        """Return the first and the end of the users who report their value in a round."""
        low, high = np.searchsorted(self._rounds, [round, round + 1])
        return int(low), int(high)

    def find_kind(self, kind: int) -> tuple[int, int]:
        """Return the first and the end of the users of one kind."""
        return self._ends[kind], self._ends[kind + 1]

    def _decide_value(self, kind: int, t: int, held: Any, here: Any) -> tuple[Told, bool]:
        who = self.order[here]
        return Told(kind, who, held, held, np.full(len(who), -1), self.paths.rows[here]), False

    def _decide_step(self, kind: int, t: int, held: Any, here: Any) -> tuple[Told, bool]:
        """Apply the rules to the users whose path has a step that ends in round t."""
        states, history = self.states, self.history
        block, each = history.kinds[kind].block, history.symbols_per_change
        assert block is not None
        length, stride, level = history._step(kind, t)
        roomy = history._is_roomy(kind)
        begins = -(-(states.first + 1) // stride) * stride
        if self.restorable and not roomy and begins < t:
            states.stopped[here] |= states.asked[0, here] != t - stride
        sends = (states.asked[level, here] == t - length) & ~states.stopped[here]
        start, rows = states.starts[level, here].copy(), self.paths.rows[here]
        who = self.order[here]
        if not sends.all():
            place = np.arange(here.start, here.stop) if isinstance(here, slice) else here
            who, start, held, rows, here = (
                array[sends] for array in (who, start, held, rows, place)
            )
        changed = history._sign(start, held, rows) != 0
        if roomy:
            entry = np.where(changed, each * history._ordinal(kind, t), -1)
        else:
            told = states.told[here]
            fits = changed & (told + each <= block.symbols)
            entry = np.where(fits, told, -1)
            states.told[here] = told + each * fits
        return Told(kind, who, start, held, entry, rows), True
