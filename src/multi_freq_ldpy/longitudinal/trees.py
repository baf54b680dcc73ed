"""Trees: Boolean histories that start from 0, told by steps of many lengths."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import declared
from .averages import Asked
from .blocks import Block, share_block
from .diary import Diary
from .history import MOST_CHANGES, MOST_ROUNDS, Due, History, Kind
from .listing import Sent
from .paths import Integers, Paths
from .round import Node


@dataclass(frozen=True)
class Tree(History):
    """Steps of one drawn length, for Boolean values that are 0 before the first round.

    Each user draws the length of all steps. ``kernel="ball"`` is the structure of FutureRand, with
    the noise of least variance. ``kernel="linear"`` is the noise of Erlingsson et al.: only one
    change, drawn beforehand, is told.

    Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta, "Amplification by shuffling",
    SODA 2019. Ohrimenko, Wirth and Wu, "Randomize the future", PODS 2022.

    Parameters
    ----------
    epsilon : float
        Privacy budget of one report. It is also the budget of the whole history.
    rounds : int
        Number of rounds, from 2 to 65536.
    changes : int
        Largest number of changes for which estimates are unbiased, from 1 to 32. A value of 1 in
        the first round is a change.
    kernel : {"ball", "linear"}
        Noise of the steps.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the budget is too small for a block.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import Tree
    >>> history = Tree(epsilon=1.0, rounds=256, changes=4)
    >>> round(float(history.network(1).variances.mean()), 1)
    189.4
    """

    grounded = True
    _first_kind = 1

    epsilon: float = declared(validate.budget)
    rounds: int = declared(validate.Integer(2, MOST_ROUNDS))
    changes: int = declared(validate.Integer(1, MOST_CHANGES))
    kernel: str = declared(validate.Choice("ball", "linear"), "ball")

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Reports of steps by length, which have equal shares."""
        lengths = [2**h for h in range(self.rounds.bit_length())]
        return tuple(
            Kind(Fraction(1, len(lengths)), length, self._block(length)) for length in lengths
        )

    def _block(self, length: int) -> Block:
        return share_block(min(self.changes, self.rounds // length), self.epsilon, self.kernel)

    def _draw_paths(self, memory: Source, n: int) -> Paths:
        kinds = memory.part(b"plan").part(b"kind").below(n, len(self.kinds))
        return Paths(kinds, np.zeros(n, np.int64), np.ones(n, np.int64))

    def _every_path(self) -> Iterator[tuple[Paths, Fraction]]:
        for i, kind in enumerate(self.kinds):
            yield Paths(*np.array([[i], [0], [1]])), kind.share


@dataclass(frozen=True)
class DDRM(History):
    """Differences in every round, for Boolean values that are 0 before the first round.

    In an even round, a coin chooses between the step since the round before and a longer step. All
    steps of a user pass through one block of noise.

    ``kernel="product"`` is the published noise with its right bound: the budget divided by
    ``reports``. ``kernel="ball"`` is the same with the noise of least variance.

    Xue, Ye, Hu, Zhu, Wang and Sun, "DDRM: a continual frequency estimation mechanism with local
    differential privacy", TKDE 2022.

    Parameters
    ----------
    epsilon : float
        Privacy budget of one report. It is also the budget of the whole history.
    rounds : int
        Number of rounds, from 2 to 65536.
    reports : int
        Number of changes that a user can tell, from 1 to 64. Estimates are unbiased only if no user
        has more. (changes + 1)·(1 + log₂ rounds) is always enough.
    kernel : {"product", "ball"}
        Noise of the steps.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the budget is too small for a block.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import DDRM
    >>> history = DDRM(epsilon=1.0, rounds=16, reports=10)
    >>> round(history.privacy.history, 9)
    1.0
    """

    grounded = True
    _draws_together = False

    epsilon: float = declared(validate.budget)
    rounds: int = declared(validate.Integer(2, MOST_ROUNDS))
    reports: int = declared(validate.Integer(1, 64))
    kernel: str = declared(validate.Choice("product", "ball"), "product")

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Short steps, which everybody reports in odd rounds, and long steps."""
        block = share_block(self.reports, self.epsilon, self.kernel)
        return Kind(Fraction(1), 1, block), Kind(Fraction(1, 2), 2, block)

    def nodes(self, round: int) -> tuple[Node, ...]:
        """Return the content of the reports of one round, by kind.

        Parameters
        ----------
        round : int
            The round, counted from 0.

        Returns
        -------
        tuple of Node
            The short step. In every second round the long step too.

        Examples
        --------
        >>> from multi_freq_ldpy import DDRM
        >>> DDRM(epsilon=1.0, rounds=8, reports=4).nodes(3)
        (Node(kind=0, start=3, end=4), Node(kind=1, start=0, end=4))
        """
        t = round + 1
        short = Node(0, round, t)
        return (short,) if t % 2 else (short, Node(1, t - (t & -t), t))

    def _step(self, kind: int, t: int) -> tuple[int, int, int]:
        length = t & -t if kind else 1
        return length, 1, length.bit_length() - 1

    def _levels_at(self, t: int) -> range:
        return range((t & -t).bit_length() if t else self.rounds.bit_length())

    def _ordinal(self, kind: int, t: int) -> int:
        return t - 1

    def _path_steps(self, kind: int) -> int:
        return self.rounds

    def _chance(self, node: Node, asked: Asked) -> float:
        # A user who may stop must be asked in every round, others at both ends of the step
        assert node.start is not None
        share = 1.0 if node.end % 2 else 0.5
        length = node.end - node.start
        if asked.restorable and not self._is_roomy(node.kind):
            return share * asked.chance(node.end, 1)
        return share * asked.chance(1 if node.start == 0 else 2, length)

    @property
    def _told_if_unchanged(self) -> int:
        return min(self.reports, self.rounds.bit_length())

    def _find_mixed(self, kinds: Integers) -> NDArray[np.bool_]:
        return np.zeros(len(kinds), np.bool_)  # coins mix the kinds

    def _count_users(self, numbers: list[Counts]) -> int:
        return max((int(own.sum()) for own in numbers), default=0)

    def _draw_paths(self, memory: Source, n: int) -> Paths:
        return Paths(np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64))

    def _due(self, diary: Diary, round: int) -> Iterator[Due]:
        everyone = 0, len(diary)
        if round % 2 == 0:
            yield 0, *everyone, None
            return
        long = self._toss(diary, round)
        yield 0, *everyone, ~long
        yield 1, *everyone, long

    def _toss(self, diary: Diary, round: int) -> NDArray[np.bool_]:
        """Return the coins of a round, one per user: True for the long step."""
        if diary.memory is None:  # one path, whose rounds are the bits of a number
            return np.asarray((diary.paths.rounds >> round) & 1 == 1)
        n, source = len(diary), diary.memory.part(b"plan").part(b"coin")
        users = np.arange(n)
        if (numbers := source.numbers) is not None:
            source, users = source.starting(0), numbers.astype(np.int64)
        coins = source.classes(users, self.rounds, np.full(n, round)).rows(n, 2)
        return np.asarray(coins[:, 0] & 1 == 1)

    def _paths_of(self, sent: Sent) -> Iterator[tuple[Paths, Fraction]]:
        # The kinds of the reports show the coins of their rounds
        coins = [report is not None and report[0] == 1 for report in sent]
        if self.rounds > 62:
            raise ValueError(f"likelihood is for at most 62 rounds, not rounds={self.rounds}")
        number = sum(coin << r for r, coin in enumerate(coins))
        yield Paths(*np.array([[0], [number], [1]])), Fraction(1, 2 ** (self.rounds // 2))

    def _every_path(self) -> Iterator[tuple[Paths, Fraction]]:
        even = range(1, self.rounds, 2)
        for coins in product((0, 1), repeat=len(even)):
            number = sum(coin << r for coin, r in zip(coins, even, strict=True))
            yield Paths(*np.array([[0], [number], [1]])), Fraction(1, 2 ** len(even))
