"""Users of one history over time: their paths, their states, and their last answers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Source
from ..mechanism import SILENT, Charge
from .diary import Diary, States
from .paths import Integers
from .writing import write_reports

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
        self._sent: list[tuple[int, Integers, NDArray[np.uint8]]] = []

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
        sent, asked = self.send(values, round, who), np.arange(len(self.diary))
        if who is not None:
            asked = np.full(len(self.diary), -1)
            asked[who] = np.arange(len(who))
        dtype = self.history.at(0).report_dtype
        out = np.full((len(values), dtype.itemsize), SILENT, np.uint8)
        for users, rows in sent:
            places = asked[users]
            out[places[places >= 0]] = rows[places >= 0]
        return out.reshape(-1).view(dtype)

    def send(
        self, values: Integers, round: int, who: Integers | None = None
    ) -> list[tuple[Integers, NDArray[np.uint8]]]:
        """Return the users who report in a round, with their reports as rows of bytes.

        It takes the arguments of ``answer``. The result may contain further users of this round.
        """
        round = self.check_round(round, who)
        states = self.diary.states
        last = states.last if who is None else states.last[self.diary.rank[who]]
        new = last < round
        if new.all():
            self._send_new(values, round, who)
        elif new.any():
            places = np.arange(len(self.diary)) if who is None else who
            fresh = new if who is not None else new[self.diary.rank]
            self._send_new(values[fresh], round, places[fresh])
        return [(users, rows) for at, users, rows in self._sent if at == round]

    def check_round(self, round: object, who: Integers | None = None) -> int:
        """Return the round that is asked, or refuse it before anything is changed.

        Parameters
        ----------
        round : int
            The round, counted from 0.
        who : array of int, optional
            Places of the users who are asked. None means all users.

        Returns
        -------
        int
            The round.

        Raises
        ------
        ValueError
            If there is no such round, or if a user was asked for a later round already. Also if the
            users take part from a later round on.
        TypeError
            If ``round`` is not an integer.
        """
        round = validate.Integer(0, self.history.rounds - 1)("round", round)
        states = self.diary.states
        if round < states.first:
            raise ValueError(
                f"round={round} is before the first round of the users, which is {states.first}"
            )
        last = states.last if who is None else states.last[self.diary.rank[who]]
        if (late := last > round).any():
            at = int(last[np.argmax(late)])
            raise ValueError(f"round={round} is over: the last round of a user was {at}")
        return round

    def _send_new(self, values: Integers, round: int, who: Integers | None) -> None:
        """Make the answers of users who were not asked for this round before."""
        new = []
        for told in self.diary.decide(round, values, who):
            numbered = told._replace(who=self._users[told.who])
            new.append((round, told.who, write_reports(self.history, numbered, round, self.memory)))
        kept = []
        if who is not None:  # answers of earlier rounds are kept until the next round of their user
            last = self.diary.states.last[self.diary.rank]
            for at, users, rows in self._sent:
                stays = last[users] == at
                if stays.any():
                    kept.append((at, users[stays], rows[stays]))
        self._sent = kept + new

    def charges(self) -> list[Charge]:
        """Return the charges for the last answer of the only user.

        The whole history is paid for once, by the first report.
        """
        return [(0, 0)] if self._sent else []

    # The state of one user, for a file

    def to_fields(self) -> dict[str, Any]:
        """Return the state of the only user, for JSON."""
        states = self.diary.states
        return {
            "first": states.first,
            "last": int(states.last[0]),
            "told": int(states.told[0]),
            "stopped": bool(states.stopped[0]),
            "starts": states.starts[:, 0].tolist(),
            "asked": states.asked[:, 0].tolist(),
            "answer": self._sent[0][2][0].tobytes().hex() if self._sent else None,
            "restorable": self.diary.restorable,
        }

    def read_fields(self, given: object) -> None:
        """Replace the state of the only user by one that ``to_fields`` returned."""
        history, t = self.history, self.history.rounds
        if not isinstance(given, dict) or given.keys() != self.to_fields().keys():
            raise ValueError("it is not the state of a history: its fields are others")
        first = validate.Integer(0, t - 1)("first", given["first"])
        last = validate.Integer(first - 1, t - 1)("last", given["last"])
        told = validate.Integer(0, 2**16)("told", given["told"])
        stopped = validate.flag("stopped", given["stopped"])
        levels, columns = len(self.diary.states.starts), []
        for name, low, high in (("starts", 0, history.k - 1), ("asked", -1, t)):
            column = given[name]
            if not isinstance(column, list) or len(column) != levels:
                raise ValueError(f"{name} must have {levels} entries, not {validate.quote(column)}")
            check = validate.Integer(low, high)
            columns.append(np.array([[check(name, each)] for each in column], np.int32))
        sent = []
        if given["answer"] is not None:
            data = bytes.fromhex(given["answer"])
            if last < first or len(data) != history.at(0).report_bytes:
                raise ValueError(f"answer must be a report, not {validate.quote(data)}")
            report = np.frombuffer(data, np.uint8)[np.newaxis]
            if (
                history.at(last)
                ._find_refused(report.reshape(-1).view(history.at(0).report_dtype))
                .size
            ):
                raise ValueError(f"answer must be a report, not {validate.quote(data)}")
            sent.append((last, np.zeros(1, np.int64), report))
        self.diary.restorable = validate.flag("restorable", given["restorable"])
        self.diary.states = States(
            first,
            np.array([last], np.int32),
            np.array([told], np.int32),
            np.array([stopped]),
            columns[0],
            columns[1],
        )
        self._sent = sent
