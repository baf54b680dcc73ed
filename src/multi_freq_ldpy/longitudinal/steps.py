"""Steps: whole histories of values under one budget, by telling steps of one length.

A user draws once, without looking at any value, when to report what. Some users report their value
in one round, with the whole budget. The others report, at the multiples of one length, what has
changed since the multiple before. Their changes pass through one block of noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.privacy import Privacy
from ..protocol import OneShot
from .blocks import Block
from .network import Network

MOST_ROUNDS = 2**16
MOST_CHANGES = 32
ENCODINGS = ("unary", "row")
SHARES = (Fraction(1, 2), Fraction(3, 4), Fraction(1))

Symbols = tuple[int, ...]
Sent = tuple[int, object] | None
"""A report as an observer sees it: its kind and its content, or None in a round without report."""


@dataclass(frozen=True)
class Plan:
    """The public plan of ``Steps``: who reports what, and through which noise.

    Parameters
    ----------
    protocol : OneShot
        Protocol of the reports of values, with the whole budget.
    rounds : int
        Number of rounds.
    changes : int
        Largest number of changes of a user for which the estimates are unbiased.
    encoding : {"unary", "row"}
        Content of a report of steps: one symbol per value, or one symbol for a drawn row of a
        Hadamard matrix.
    values : Fraction, optional
        Share of the users who report their value: 1/2, 3/4 or 1. None, the default, chooses the
        share of least mean variance.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the budget is too small for a block.

    Examples
    --------
    >>> from multi_freq_ldpy import SS
    >>> from multi_freq_ldpy.longitudinal.steps import Plan
    >>> plan = Plan(SS(2, epsilon=1.0), rounds=256, changes=3)
    >>> plan.lengths[:4], round(float(plan.variance(1).mean()), 1)
    ((1, 2, 4, 8), 68.1)
    """

    protocol: OneShot
    rounds: int
    changes: int
    encoding: str = "unary"
    values: Fraction | None = None

    def __post_init__(self) -> None:
        validate.Integer(2, MOST_ROUNDS)("rounds", self.rounds)
        validate.Integer(1, MOST_CHANGES)("changes", self.changes)
        if self.encoding not in ENCODINGS:
            raise ValueError(
                f"encoding must be one of {', '.join(ENCODINGS)}, not {self.encoding!r}"
            )
        if self.values is None:
            object.__setattr__(self, "values", min(SHARES, key=self._mean_variance))
        elif self.values not in SHARES:
            shares = ", ".join(map(str, SHARES))
            raise ValueError(f"values must be one of {shares}, not {self.values!r}")

    def _mean_variance(self, share: Fraction) -> float:
        """Return the mean variance over rounds, for one user and a share of value reports."""
        plan = Plan(self.protocol, self.rounds, self.changes, self.encoding, share)
        return float(plan.variance(1).mean())

    @property
    def k(self) -> int:
        """The number of possible values."""
        return self.protocol.k

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of steps: the powers of two up to half the number of rounds."""
        if self.values == 1:
            return ()
        return tuple(2**h for h in range(self.rounds.bit_length()) if 2 * 2**h <= self.rounds)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of the users who report steps, one entry per length.

        Each length has half of the share of the one before, and the last has the rest.
        """
        assert self.values is not None
        found = [(1 - self.values) / 2 ** (h + 1) for h in range(len(self.lengths))]
        return tuple([*found[:-1], 2 * found[-1]] if found else found)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The block of noise of each length."""
        each = 2 if self.encoding == "unary" and self.k > 2 else 1
        return tuple(
            Block(each * min(self.changes, self.rounds // length - 1), self.protocol.epsilon)
            for length in self.lengths
        )

    @cached_property
    def order(self) -> int:
        """The order of the Hadamard matrix whose rows encode steps."""
        return 1 << (self.k - 1).bit_length()

    @property
    def symbols(self) -> int:
        """The number of symbols of a report of steps."""
        return self.k if self.encoding == "unary" and self.k > 2 else 1

    @cached_property
    def privacy(self) -> Privacy:
        """The exact losses. The loss ``history`` holds between any two histories.

        A user sends reports of one kind only, so the largest loss of a kind is that of all reports.
        """
        ratio = max([self.protocol.ratio, *(block.ratio for block in self.blocks)])
        once = Privacy.of(ratio)
        return replace(Privacy.of(ratio, None, once), history=once.report, ratio_history=ratio)

    @cached_property
    def value_cost(self) -> float:
        """The variance of one report of a value, at the frequency max(1/k, 1/20).

        It includes the variance of the choice of the user who reports.
        """
        f, moments = max(Fraction(1, self.k), Fraction(1, 20)), self.protocol.moments
        p, q = Fraction(moments.p), Fraction(moments.q)
        return float((f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2 + f * (1 - f))

    @cached_property
    def step_costs(self) -> tuple[float, ...]:
        """The variance of one report of a step, one entry per length."""
        rows = Fraction(2 * (self.order - 1), self.order) if self.encoding == "row" else Fraction(1)
        return tuple(float(block.cost * rows**2) for block in self.blocks)

    def network(self, n: float) -> Network:
        """Return the network of the reports that n users are expected to send.

        Parameters
        ----------
        n : float
            Number of users.

        Returns
        -------
        Network
            The estimate of all rounds, with its errors.
        """
        assert self.values is not None
        steps = [
            np.full(self.rounds // length - 1, n * float(share))
            for length, share in zip(self.lengths, self.shares, strict=True)
        ]
        values = np.full(self.rounds, n * float(self.values) / self.rounds)
        return Network(values, steps, self.value_cost, self.step_costs)

    def variance(self, n: float) -> NDArray[np.float64]:
        """Return the variance of the estimated frequency of each round.

        Parameters
        ----------
        n : float
            Number of users.

        Returns
        -------
        array
            One number per round, for values of the frequency max(1/k, 1/20).
        """
        return self.network(n).variances

    def law(self, history: Sequence[int]) -> dict[tuple[Sent, ...], Fraction]:
        """Return the exact distribution of all reports of one user.

        Parameters
        ----------
        history : list of int
            Value in each round.

        Returns
        -------
        dict
            Probability of each sequence of reports, with None in the rounds without report.
        """
        assert self.values is not None
        found: dict[tuple[Sent, ...], Fraction] = {}
        for t, value in enumerate(history):
            for report, chance in self.protocol.law(value).items():
                sent: list[Sent] = [None] * self.rounds
                sent[t] = (0, report)
                found[tuple(sent)] = self.values / self.rounds * chance
        for h, share in enumerate(self.shares):
            rows = range(1, self.order) if self.encoding == "row" else (0,)
            for row in rows:
                for steps, chance in self._law_of_steps(history, h, row):
                    found[steps] = share / len(rows) * chance
        return found

    def encode(self, start: int, end: int, row: int) -> Symbols:
        """Return the symbols of a step, before noise.

        Parameters
        ----------
        start, end : int
            Values at both ends of the step.
        row : int
            Row of the Hadamard matrix, for the encoding "row".

        Returns
        -------
        tuple of int
            One symbol per value in the encoding "unary", otherwise one symbol.
        """
        if self.encoding == "row":
            return ((_sign(row, end) - _sign(row, start)) // 2,)
        if self.k == 2:
            return (end - start,)
        return tuple((v == end) - (v == start) for v in range(self.k))

    def _law_of_steps(
        self, history: Sequence[int], h: int, row: int
    ) -> Iterator[tuple[tuple[Sent, ...], Fraction]]:
        """Yield the reports of a user of one length and row, with their probabilities."""
        length, block = self.lengths[h], self.blocks[h]
        ends = range(2 * length, self.rounds + 1, length)
        told: list[tuple[int, int, int]] = []  # node, place and symbol, in the order of the block
        for node, end in enumerate(ends):
            symbols = self.encode(history[end - length - 1], history[end - 1], row)
            # The old value comes first, so that both symbols of a change fit or neither does
            own = sorted((s, place) for place, s in enumerate(symbols) if s)
            if len(told) + len(own) <= block.symbols:
                told += [(node, place, s) for s, place in own]
        base = block.base
        for outputs in product(product(base, repeat=self.symbols), repeat=len(ends)):
            entries = [s * outputs[node][place] for node, place, s in told]
            chance = block.mean_density(len(told), sum(entries))
            for symbols in outputs:
                for symbol in symbols:
                    chance *= base[symbol]
            sent: list[Sent] = [None] * self.rounds
            for end, symbols in zip(ends, outputs, strict=True):
                sent[end - 1] = (1 + h, (row, symbols))
            yield tuple(sent), chance


def _sign(row: int, value: int) -> int:
    """Return an entry of the Hadamard matrix."""
    return 1 - 2 * ((row & value).bit_count() % 2)
