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

from collections.abc import Iterator
from dataclasses import dataclass
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
        Places of the users who report.
    start, end : array of int
        Values at both ends of the step. For a report of the value, both are the value.
    entry : array of int
        First entry of the block through which the step is told, or −1 if all symbols are base
        noise.
    """

    kind: int
    who: Integers
    start: NDArray[Any]
    end: Integers
    entry: NDArray[Any]


@dataclass
class States:
    """The states of users, one entry per user.

    Parameters
    ----------
    first : array of int
        First round in which the user takes part.
    last : array of int
        Last round that was asked, or ``first`` − 1.
    told : array of int
        Number of symbols told through the block.
    stopped : array of bool
        True for users who are silent for ever.
    starts : array of int, shape (users, levels)
        Values from which later steps start. Level b is that of the last round whose number,
        counted from 1, is divisible by 2^b times the stride of the path.
    asked : array of int, shape (users, levels)
        Rounds of these values, counted from 1. The number 0 is the known value before the first
        round, and −1 means that there is none.
    """

    first: NDArray[np.int32]
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
            np.full(n, first, np.int32),
            np.full(n, first - 1, np.int32),
            np.zeros(n, np.int32),
            np.zeros(n, np.bool_),
            np.zeros((n, levels), np.int32),
            np.full((n, levels), known, np.int32),
        )

    def copy(self) -> "States":
        """Return independent copies of all states."""
        return States(*(each.copy() for each in vars(self).values()))


class Diary:
    """Users of one history: their paths, their states, and the rules.

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
        self.history, self.paths, self.restorable = history, paths, restorable
        self.memory = memory
        self.states = States.begin(len(paths), len(history._levels_at(0)), first, history.grounded)
        self._by_kind = [np.flatnonzero(paths.kinds == i) for i in range(len(history.kinds))]
        own = self._by_kind[0]
        self._by_round = own[np.argsort(paths.rounds[own], kind="stable")]
        self._rounds = paths.rounds[self._by_round]

    def __len__(self) -> int:
        return len(self.paths)

    def decide(self, round: int, values: Integers, who: Integers | None = None) -> list[Told]:
        """Take the values of a round, change the states, and return what is told.

        Parameters
        ----------
        round : int
            The round, counted from 0. It must be later than the last round of these users.
        values : array of int
            Present values, one per user of the diary. Entries of other users are not read.
        who : array of int, optional
            Places of the users who are asked. None means all users.

        Returns
        -------
        list of Told
            Content of the reports, by kind.
        """
        due = list(self._due(round, who))
        found = [
            self._decide_value(kind, values, places)
            if self.history.kinds[kind].block is None
            else self._decide_step(kind, round + 1, values, places)
            for kind, places in due
        ]
        for kind, places in due:
            if self.history.kinds[kind].block is not None:
                for level in self.history._levels_at(round + 1):
                    self.states.starts[places, level] = values[places]
                    self.states.asked[places, level] = round + 1
        self.states.last[slice(None) if who is None else who] = round
        return [each for each in found if len(each.who)]

    def _due(self, round: int, who: Integers | None) -> Iterator[tuple[int, Integers]]:
        """Yield the kinds of this round, with the places of the asked users on their paths."""
        asked = None
        if who is not None and len(who) < len(self):
            asked = np.zeros(len(self), np.bool_)
            asked[who] = True
        for kind, places in self.history._due(self, round):
            yield kind, places if asked is None else places[asked[places]]

    def find_values(self, round: int, window: int) -> Integers:
        """Return the places of the users who report their value in a round.

        Parameters
        ----------
        round : int
            The round, counted from 0.
        window : int
            Number of rounds after which a user reports again.

        Returns
        -------
        array of int
            The places.
        """
        low, high = np.searchsorted(self._rounds, [round % window, round % window + 1])
        return self._by_round[low:high]

    def find_kind(self, kind: int) -> Integers:
        """Return the places of the users of one kind."""
        return self._by_kind[kind]

    def _decide_value(self, kind: int, values: Integers, places: Integers) -> Told:
        held = values[places]
        return Told(kind, places, held, held, np.full(len(places), -1))

    def _decide_step(self, kind: int, t: int, values: Integers, places: Integers) -> Told:
        """Apply the rules to the users whose path has a step that ends in round t."""
        states, history = self.states, self.history
        block, each = history.kinds[kind].block, history.symbols_per_change
        assert block is not None
        length, stride, level = history._step(kind, t)
        begins = -(-(states.first[places] + 1) // stride) * stride
        missed = (states.asked[places, 0] != t - stride) & (begins < t)
        roomy = history._is_roomy(kind)
        if self.restorable and not roomy:
            states.stopped[places] |= missed
        sends = (states.asked[places, level] == t - length) & ~states.stopped[places]
        places = places[sends]
        start, end = states.starts[places, level], values[places]
        changed = history._sign(start, end, self.paths.rows[places]) != 0
        if roomy:
            entry = np.where(changed, each * history._ordinal(kind, t), -1)
        else:
            told = states.told[places]
            fits = changed & (told + each <= block.symbols)
            entry = np.where(fits, told, -1)
            states.told[places] += each * fits
        return Told(kind, places, start, end, entry)
