"""Users who report records over time, through solutions whose parts protect whole histories."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Source
from ..mechanism import SILENT, Charge, Counts
from .rows import as_bytes

if TYPE_CHECKING:
    from .base import Solution


class RecordMembers:
    """n users of a solution over histories, who are asked round after round.

    Parameters
    ----------
    solution : Solution
        The solution.
    memory : Source
        Permanent randomness of the users.
    n : int
        Number of users.
    groups : list of array of int
        Places of the users who report on each part, in ascending order.
    first : int
        First round in which the users take part.
    restorable : bool
        True if old copies of the states may be used again.
    """

    ndim = 2
    """The number of axes of the records of several users in one round."""

    def __init__(
        self,
        solution: "Solution",
        memory: Source,
        n: int,
        groups: Sequence[Counts],
        first: int,
        restorable: bool,
    ) -> None:
        self.solution, self.n, self.groups = solution, n, groups
        self.restorable = restorable
        self.parts = [
            each._members(memory.part(b"%d" % j), group, first, restorable)
            for j, (each, group) in enumerate(zip(solution.protocols, groups, strict=True))
        ]

    @property
    def last(self) -> int:
        """The last round that any user was asked for."""
        pairs = zip(self.parts, self.groups, strict=True)
        return max(int(each.last) for each, group in pairs if len(group))

    def check_values(self, values: Any, single: bool = False) -> Counts:
        """Return the records of users in one round, checked."""
        found, alone = validate.table("value" if single else "values", values, self.solution.ks)
        if single and not alone:
            raise ValueError(f"value must be that of one user, not {validate.quote(values)}")
        return found

    def answer(self, values: Counts, round: int, who: Counts | None = None) -> NDArray[Any]:
        """Return the reports of a round, with silent places.

        Parameters
        ----------
        values : array of int, shape (users, attributes)
            Present records, one per asked user.
        round : int
            The round, counted from 0.
        who : array of int, optional
            Places of the users who are asked, without repetition. None means all users.

        Returns
        -------
        array
            One entry per asked user, of the dtype of the round's reports.
        """
        round = validate.Integer(0, (self.solution.rounds or 0) - 1)("round", round)
        own: Any = self.solution.at(round)
        asked = np.arange(self.n) if who is None else who
        out = np.full((len(asked), own.report_bytes), SILENT, np.uint8)
        position = np.full(self.n, -1)
        position[asked] = np.arange(len(asked))
        here_of = [np.flatnonzero(position[group] >= 0) for group in self.groups]
        for part, here in zip(self.parts, here_of, strict=True):
            if len(here):
                part.check_round(round, here)  # before any part is changed
        for j, (part, group) in enumerate(zip(self.parts, self.groups, strict=True)):
            here = here_of[j]
            if len(here):
                rows = position[group[here]]
                reports = part.answer(values[rows, j], round, here)
                own._place(out, rows, j, as_bytes(reports, reports.dtype.itemsize))
        return out.reshape(-1).view(own.report_dtype)

    def charges(self) -> list[Charge]:
        """Return the charges for the last answer of the only user."""
        return [
            (first + account, charge)
            for first, part, group in zip(
                self.solution._accounts, self.parts, self.groups, strict=False
            )
            if len(group)
            for account, charge in part.charges()
        ]

    def to_fields(self) -> dict[str, Any]:
        """Return the state of the only user, for JSON."""
        pairs = zip(self.parts, self.groups, strict=True)
        return {"parts": [part.to_fields() if len(group) else None for part, group in pairs]}

    def read_fields(self, given: object) -> None:
        """Replace the state of the only user by one that ``to_fields`` returned."""
        if not isinstance(given, dict) or given.keys() != {"parts"}:
            raise ValueError("it is not the state of a record: its fields are others")
        states = given["parts"]
        if not isinstance(states, list) or len(states) != len(self.parts):
            raise ValueError(f"parts must be a list of {len(self.parts)} states")
        for part, group, state in zip(self.parts, self.groups, states, strict=True):
            if (state is None) != (len(group) == 0):
                raise ValueError("parts must have a state for each part that this user reports on")
            if state is not None:
                part.read_fields(state)
                self.restorable = part.restorable
