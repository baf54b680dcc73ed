"""Steps: whole histories of values under one budget, by telling steps of one length.

A user draws once, without looking at any value, when to report what. Some users report their value
in one round, with the whole budget. The others report, at the multiples of one length, what has
changed since the multiple before. Their changes pass through one block of noise.
"""

from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..core import validate
from ..core.randomness import Source
from ..protocol import OneShot, check_declared, declared
from .averages import Asked
from .blocks import Block, share_block
from .history import MOST_CHANGES, MOST_ROUNDS, PROTOCOLS, History, Kind
from .paths import Paths

ENCODINGS = ("unary", "row")
SHARES = (0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Steps(History):
    """Values and steps: the mechanism of least error for values that change a few times.

    Some users report their value in one round. The others report the changes since their last
    report, through one block of noise. All reports of a user keep ``epsilon`` between any two
    histories, also for users who change more often than ``changes``.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float
        Privacy budget of one report. It is also the budget of the whole history.
    rounds : int
        Number of rounds, from 2 to 65536.
    changes : int
        Largest number of changes after the first round for which estimates are unbiased, from 1 to
        32.
    protocol : str
        Name of the one-shot protocol of the reports of values.
    encoding : {"unary", "row"}
        Content of a report of steps: one symbol per value, or one symbol for a drawn row of a
        Hadamard matrix. "row" has short reports for large k, and 1.1 to 1.5 times the variance.
    values : {0.5, 0.75, 1.0}, optional
        Share of the users who report their value. None, the default, chooses the share of least
        mean variance.
    missing : float
        Expected share of missed rounds. It enters the choice of ``values`` only.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the budget is too small for a block.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import Steps
    >>> history = Steps(2, epsilon=1.0, rounds=256, changes=3)
    >>> history.privacy.history, history.values
    (1.0, 0.5)
    """

    k: int = declared(validate.domain_size)
    epsilon: float = declared(validate.budget)
    rounds: int = declared(validate.Integer(2, MOST_ROUNDS))
    changes: int = declared(validate.Integer(1, MOST_CHANGES))
    protocol: str = declared(validate.Choice(*PROTOCOLS), "SS")
    encoding: str = declared(validate.Choice(*ENCODINGS), "unary")
    values: float | None = declared(validate.Optional(validate.Choice(*SHARES)), None)
    missing: InitVar[float] = 0.0

    def __post_init__(self, missing: float) -> None:
        check_declared(self)
        if self.values is None:
            asked = Asked(validate.probability("missing", missing))
            means = {share: self._mean_variance(share, asked) for share in SHARES}
            object.__setattr__(self, "values", min(SHARES, key=means.__getitem__))
        super().__post_init__()

    def _mean_variance(self, share: float, asked: Asked) -> float:
        """Return the mean variance over rounds, for one user and a share of value reports."""
        own = Steps(
            self.k, self.epsilon, self.rounds, self.changes, self.protocol, self.encoding, share
        )
        return float(own._estimator.expect(1.0, asked).network.variances.mean())

    @cached_property
    def _one_shot(self) -> OneShot:
        return PROTOCOLS[self.protocol](self.k, self.epsilon)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of steps: the powers of two up to half the number of rounds."""
        if self.values == 1:
            return ()
        return tuple(2**h for h in range(self.rounds.bit_length()) if 2 * 2**h <= self.rounds)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Reports of the value, and reports of steps by length.

        Each length has half of the share of the one before, and the last has the rest.
        """
        values = Fraction(self.values or 0)
        shares = [(1 - values) / 2 ** (h + 1) for h in range(len(self.lengths))]
        if shares:
            shares[-1] *= 2
        return (
            Kind(values, 0),
            *(
                Kind(share, length, self._block(length))
                for share, length in zip(shares, self.lengths, strict=True)
            ),
        )

    def _block(self, length: int) -> Block:
        most = min(self.changes, self.rounds // length - 1)
        return share_block(self.symbols_per_change * most, self.epsilon)

    def _draw_paths(self, memory: Source, n: int) -> Paths:
        source = memory.part(b"plan")
        coins = source.part(b"kind").rows(n, 8).view(np.uint64)[:, 0]
        tosses = Fraction(self.values or 0).denominator.bit_length() - 1
        kinds = np.zeros(n, np.int64)
        if tosses:  # the user reports steps if all tosses show 1
            more = (coins >> np.uint64(64 - tosses)) == 2**tosses - 1
            kinds += more
            for h in range(1, len(self.lengths)):
                more &= (coins >> np.uint64(64 - tosses - h)) & np.uint64(1) == 1
                kinds += more
        rounds = source.part(b"round").below(n, self.rounds)
        rows = np.ones(n, np.int64)
        if self.encoding == "row" and self.order > 2:
            rows += source.part(b"row").below(n, self.order - 1)
        return Paths(kinds, rounds, rows)

    def _every_path(self) -> Iterator[tuple[Paths, Fraction]]:
        for r in range(self.rounds):
            yield Paths(*np.array([[0], [r], [1]])), self.kinds[0].share / self.rounds
        rows = range(1, self.order) if self.encoding == "row" else range(1, 2)
        for i, kind in enumerate(self.kinds[1:], 1):
            for row in rows:
                yield Paths(*np.array([[i], [0], [row]])), kind.share / len(rows)
