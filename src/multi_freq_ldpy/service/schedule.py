"""The times of rounds, which services and devices compute alike."""

from dataclasses import dataclass

from ..core import validate
from ..survey import Survey

DAY = 86_400
LARGEST_ROUND = 2**32 - 1


@dataclass(frozen=True)
class Schedule:
    """The times of the rounds of a survey, in whole seconds.

    Parameters
    ----------
    starts : int
        Start of round 0, in seconds since 1970.
    period : int
        Length of a round.
    grace : int
        Time for which a round stays open after its end. Devices may be offline.
    """

    starts: int
    period: int
    grace: int

    @classmethod
    def check(cls, starts: object, period: object, grace: object = None) -> "Schedule":
        """Return a schedule, and refuse impossible ones.

        Parameters
        ----------
        starts : int
            Start of round 0, in seconds since 1970.
        period : int
            Length of a round, in seconds.
        grace : int, optional
            None, the default, is a tenth of the period, and at most a day.

        Returns
        -------
        Schedule
            The schedule.

        Raises
        ------
        ValueError
            If a number is out of its range.
        """
        length = validate.Integer(1, 2**31)("period", period)
        late = min(length // 10, DAY) if grace is None else grace
        return cls(
            validate.Integer(0, 2**40)("starts", starts),
            length,
            validate.Integer(0, length)("grace", late),
        )

    def number(self, now: float) -> int:
        """Return the number of the round that runs now, which is negative before the start."""
        return int((now - self.starts) // self.period)

    def earliest(self, now: float) -> int:
        """Return the earliest round that takes reports now, or would if it existed."""
        present = self.number(now)
        late = now - self.starts - present * self.period < self.grace
        return present - 1 if late else present

    def accepted(self, now: float, last: int = LARGEST_ROUND) -> list[int]:
        """Return the rounds that take reports now: the present one, and one that ended lately."""
        due = range(self.earliest(now), self.number(now) + 1)
        return [each for each in due if 0 <= each <= last]


def find_last_round(survey: Survey) -> int:
    """Return the largest number of a round of a survey.

    Parameters
    ----------
    survey : Survey
        The survey.

    Returns
    -------
    int
        The number. It is 0 for a survey that asks once.
    """
    if not survey.longitudinal:
        return 0
    return LARGEST_ROUND if survey.rounds is None else survey.rounds - 1
