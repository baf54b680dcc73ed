"""Users of one history over time: their paths, their states, and their last answers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Source
from ..mechanism import SILENT, Charge
from .diary import Diary, States
from .paths import Integers

if TYPE_CHECKING:
    from .history import History


class Members:
    """Users who are asked round after round.

    All noise is derived from the users' permanent randomness. So an answer that is made again is
    the same to the bit.

    Parameters
    ----------
    history : History
        The mechanism.
    memory : Source
        Permanent randomness of the users.
    users : int or array of int
        Number of users, or their numbers in ``memory``.
    first : int
        First round in which the users take part.
    restorable : bool
        True if old copies of the states may be used again.

    Raises
    ------
    ValueError
        If the history has no round ``first``.
    """

    ndim = 1
    """The number of axes of the values of several users in one round."""

    def __init__(
        self,
        history: "History",
        memory: Source,
        users: int | Integers,
        first: int = 0,
        restorable: bool = True,
    ) -> None:
        self.history, self.memory = history, memory
        listed = None if isinstance(users, int) else users
        n = users if isinstance(users, int) else len(users)
        self._users = np.arange(n) if listed is None else listed
        first = validate.Integer(0, history.rounds - 1)("first_round", first)
        own = memory if listed is None else memory.at(listed)
        self.diary = Diary(history, history._draw_paths(own, n), first, restorable, own)
        self.answers = np.full((n, history.at(0).report_bytes), SILENT, np.uint8)

    @property
    def restorable(self) -> bool:
        """True if old copies of the states may be used again."""
        return self.diary.restorable

    @property
    def last(self) -> int:
        """The last round that any user was asked for."""
        return int(self.diary.states.last.max())

    def check_values(self, values: Any, single: bool = False) -> Integers:
        """Return the values of users in one round, checked."""
        found, alone = validate.values("value" if single else "values", values, self.history.k)
        if single and not alone:
            raise ValueError(f"value must be that of one user, not {validate.quote(values)}")
        return found

    def answer(self, values: Integers, round: int, who: Integers | None = None) -> NDArray[Any]:
        """Return the reports of a round, with silent places.

        A user who is asked again for the last round gives the same answer, for any value.

        Parameters
        ----------
        values : array of int
            Present values, one per asked user.
        round : int
            The round, counted from 0.
        who : array of int, optional
            Places of the users who are asked, without repetition. None means all users.

        Returns
        -------
        array
            One entry per asked user, of the dtype of the round's reports.

        Raises
        ------
        ValueError
            If a user was asked for a later round already, or takes part from a later round on.
        """
        everyone: Any = slice(None) if who is None else who
        states = self.diary.states
        last, first = states.last[everyone], states.first[everyone]
        if (late := np.flatnonzero(last > round)).size:
            at = int(last[late[0]])
            raise ValueError(f"round={round} is over: the last round of a user was {at}")
        if (early := np.flatnonzero(first > round)).size:
            at = int(first[early[0]])
            raise ValueError(f"round={round} is before the first round of a user, which is {at}")
        new = last < round
        if new.all():
            held, asked = values, who
            if who is not None:
                held = np.zeros(len(self.answers), np.int64)
                held[who] = values
        else:
            asked = (np.arange(len(self.answers)) if who is None else who)[new]
            held = np.zeros(len(self.answers), np.int64)
            held[asked] = values[new]
        if asked is None or len(asked):
            self._answer_new(held, round, asked)
        rows = self.answers[everyone]
        dtype = self.history.at(0).report_dtype
        return np.ascontiguousarray(rows).reshape(-1).view(dtype)

    def _answer_new(self, values: Integers, round: int, who: Integers | None) -> None:
        """Make the answers of users who were not asked for this round before."""
        self.answers[slice(None) if who is None else who] = SILENT
        for told in self.diary.decide(round, values, who):
            written = np.empty((len(told.who), self.answers.shape[1]), np.uint8)
            rows = self.diary.paths.rows[told.who]
            numbered = told._replace(who=self._users[told.who])
            self.history._write(numbered, rows, round, self.memory, written)
            self.answers[told.who] = written

    def charges(self) -> list[Charge]:
        """Return the charges for the last answer of the only user.

        The whole history is paid for once, by the first report.
        """
        return [] if self._is_silent() else [(0, 0)]

    def _is_silent(self) -> bool:
        """Tell whether the last answer of the only user is none."""
        return bool((self.answers[0] == SILENT).all())

    # The state of one user, for a file

    def to_fields(self) -> dict[str, Any]:
        """Return the state of the only user, for JSON."""
        states, answer = self.diary.states, self.answers[0]
        return {
            "first": int(states.first[0]),
            "last": int(states.last[0]),
            "told": int(states.told[0]),
            "stopped": bool(states.stopped[0]),
            "starts": states.starts[0].tolist(),
            "asked": states.asked[0].tolist(),
            "answer": None if self._is_silent() else answer.tobytes().hex(),
            "restorable": self.diary.restorable,
        }

    def read_fields(self, given: object) -> None:
        """Replace the state of the only user by one that ``to_fields`` returned."""
        history, states = self.history, self.diary.states
        wanted = self.to_fields()
        if not isinstance(given, dict) or given.keys() != wanted.keys():
            raise ValueError("it is not the state of a history: its fields are others")
        levels, t = states.starts.shape[1], history.rounds
        numbers = {
            "first": validate.Integer(0, t - 1)("first", given["first"]),
            "last": validate.Integer(-1, t - 1)("last", given["last"]),
            "told": validate.Integer(0, 2**16)("told", given["told"]),
        }
        stopped = validate.flag("stopped", given["stopped"])
        self.diary.restorable = validate.flag("restorable", given["restorable"])
        rows = []
        for name, low, high in (("starts", 0, history.k - 1), ("asked", -1, t)):
            row = given[name]
            if not isinstance(row, list) or len(row) != levels:
                raise ValueError(f"{name} must have {levels} entries, not {validate.quote(row)}")
            check = validate.Integer(low, high)
            rows.append(np.array([[check(name, each) for each in row]], np.int32))
        answer = np.full(self.answers.shape[1], SILENT, np.uint8)
        if given["answer"] is not None:
            data = bytes.fromhex(given["answer"])
            if len(data) != answer.size:
                raise ValueError(f"answer must have {answer.size} bytes, not {len(data)}")
            answer[:] = np.frombuffer(data, np.uint8)
        one = {name: np.array([number], np.int32) for name, number in numbers.items()}
        self.diary.states = States(
            one["first"], one["last"], one["told"], np.array([stopped]), *rows
        )
        self.answers[0] = answer
