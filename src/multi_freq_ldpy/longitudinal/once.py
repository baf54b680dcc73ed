"""Once: every user reports the value of one round, which was drawn beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..core import validate
from ..core.randomness import Source
from ..protocol import OneShot, declared
from .history import MOST_ROUNDS, PROTOCOLS, History, Kind
from .paths import Paths


@dataclass(frozen=True)
class Once(History):
    """Time sampling: a report of the value in one round, with the whole budget.

    The round is drawn once, without looking at any value. All reports of a user together are this
    one report. With a window of w rounds, a user reports again after every w rounds.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float
        Privacy budget of one report. Without a window it is the budget of the whole history.
    rounds : int
        Number of rounds, from 2 to 65536.
    protocol : str
        Name of the one-shot protocol of the reports.
    window : int, optional
        Number of rounds after which a user reports again. The budget then holds for any ``window``
        rounds one after the other. None, the default, means that every user reports once.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import Once
    >>> history = Once(10, epsilon=1.0, rounds=52)
    >>> history.privacy.history
    1.0
    >>> Once(10, epsilon=1.0, rounds=52, window=13).privacy.history
    4.0
    """

    k: int = declared(validate.domain_size)
    epsilon: float = declared(validate.budget)
    rounds: int = declared(validate.Integer(2, MOST_ROUNDS))
    protocol: str = declared(validate.Choice(*PROTOCOLS), "SS")
    window: int | None = declared(validate.Optional(validate.Integer(1, MOST_ROUNDS)), None)

    @cached_property
    def _one_shot(self) -> OneShot:
        return PROTOCOLS[self.protocol](self.k, self.epsilon)

    @property
    def _window(self) -> int:
        return min(self.window or self.rounds, self.rounds)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The only kind: reports of the value."""
        return (Kind(Fraction(1), 0),)

    def _draw_paths(self, memory: Source, n: int) -> Paths:
        rounds = memory.part(b"plan").part(b"round").below(n, self._window)
        return Paths(np.zeros(n, np.int64), rounds, np.ones(n, np.int64))

    def _every_path(self) -> Iterator[tuple[Paths, Fraction]]:
        for r in range(self._window):
            yield Paths(*np.array([[0], [r], [1]])), Fraction(1, self._window)
