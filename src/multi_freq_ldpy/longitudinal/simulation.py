"""Tallies of whole histories from their exact distribution, without reports.

Users with the same history and the same path tell the same symbols. So their reports are counted
together. Base noise is two binomial draws per symbol. The entries of a block depend on each other
only through the sum of the earlier entries. So the numbers of users by this sum are a Markov chain.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import Rng, as_generator, as_stream
from ..core.tally import Tally
from ..mechanism import BATCH, Counts
from ..protocol import OneShot
from ..protocols.formats import Sets, Symbols
from .blocks import Block
from .diary import Diary, Told
from .paths import Paths

if TYPE_CHECKING:
    from .history import History


def simulate(history: "History", histories: Counts, many: Counts, rng: Rng) -> Tally:
    """Draw the tally of whole histories.

    Parameters
    ----------
    history : History
        The mechanism.
    histories : array of int, shape (histories, rounds)
        Different histories.
    many : array of int
        Number of users who have each history.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness.

    Returns
    -------
    Tally
        The tally of all rounds.
    """
    users = int(many.sum())
    if len(histories) * len(history.kinds) >= users or not history._draws_together:
        return _report(history, histories, many, rng)
    generator = as_generator(rng)
    counts, n = (np.zeros(history._entries, np.int64) for _ in range(2))
    shares = [float(kind.share) for kind in history.kinds]
    by_kind = generator.multinomial(many, shares)
    for i, kind in enumerate(history.kinds):
        if kind.block is None:
            _draw_values(history, histories, by_kind[:, i], generator, counts, n)
            continue
        rows = range(1, history.order) if history.encoding == "row" else range(1, 2)
        split = generator.multinomial(by_kind[:, i], [1 / len(rows)] * len(rows))
        for row in rows:
            _draw_steps(history, histories, i, row, split[:, row - 1], generator, counts, n)
    return Tally(history, counts, n, users)


def _report(history: "History", histories: Counts, many: Counts, rng: Rng) -> Tally:
    """Make the reports of all users, a few at a time, and count them."""
    stream, found = as_stream(rng), history.tally(np.empty(0, history.report_dtype))
    who = np.repeat(np.arange(len(histories)), many)
    step = max(1, min(BATCH, 2**24 // history.report_bytes))
    for low in range(0, len(who), step):
        found += history.tally(history.randomize(histories[who[low : low + step]], stream))
    return found


def _draw_values(
    history: "History",
    histories: Counts,
    many: Counts,
    generator: np.random.Generator,
    counts: Counts,
    n: Counts,
) -> None:
    """Add the counts of the reports of values."""
    window = history._window
    by_round = generator.multinomial(many, [1 / window] * window)
    for r, (_, entries) in enumerate(history.parts):
        held = np.zeros(history.k, np.int64)
        np.add.at(held, histories[:, r], by_round[:, r % window])
        here = slice(entries.start, entries.start + history.k)  # values are the first kind
        counts[here] += _count_values(history._one_shot, held, generator)
        n[here] += held.sum()


def _count_values(protocol: OneShot, held: Counts, generator: np.random.Generator) -> Counts:
    """Draw the counts of reports of values, given the number of users who hold each value."""
    own = protocol.format
    if isinstance(own, Sets) and own.omega == 1:  # a set of one value is a symbol
        drawn = Symbols(protocol.k).spread(held, *protocol.chances, 0, lambda: generator)
        assert drawn is not None
        return drawn
    return protocol._simulate_part([held], int(held.sum()), generator)[0]


def _draw_steps(
    history: "History",
    histories: Counts,
    kind: int,
    row: int,
    many: Counts,
    generator: np.random.Generator,
    counts: Counts,
    n: Counts,
) -> None:
    """Add the counts of the reports of steps of one length and row."""
    block = history.kinds[kind].block
    assert block is not None
    g = len(histories)
    diary = Diary(history, Paths(np.full(g, kind), np.zeros(g, np.int64), np.full(g, row)))
    chains = [Chain(block, int(users), generator) for users in many]
    signs = 1 - 2 * np.array([(row & v).bit_count() % 2 for v in range(history.k)])
    for r, (_, entries) in enumerate(history.parts):
        nodes = [node.kind for node in history.nodes(r)]
        for told in diary.decide(r, histories[:, r]):
            slot = history.at(r)._slots[nodes.index(kind)]
            here = slice(entries.start + slot.start, entries.start + slot.stop)
            sums, some = _draw_node(history, told, row, many, block, chains, generator)
            if history.encoding == "row":
                sums = signs * sums[0]
            elif history.k == 2:
                sums = np.array([-sums[0], sums[0]])
            counts[here] += np.concatenate([sums, some])
            n[here] += int(many[told.who].sum())


def _draw_node(
    history: "History",
    told: Told,
    row: int,
    many: Counts,
    block: Block,
    chains: "list[Chain]",
    generator: np.random.Generator,
) -> tuple[Counts, Counts]:
    """Return the sums of the symbols of one node, and the numbers of symbols other than 0."""
    noisy = np.full(history.symbols, int(many[told.who].sum()))
    sums, some = np.zeros(history.symbols, np.int64), np.zeros(history.symbols, np.int64)
    for i in np.flatnonzero(told.entry >= 0):
        g, start, end = int(told.who[i]), int(told.start[i]), int(told.end[i])
        if history.symbols_per_change == 2:
            symbols = [(start, -1), (end, 1)]
        else:
            sign = history._sign(told.start[i : i + 1], told.end[i : i + 1], np.array([row]))
            symbols = [(0, int(sign[0]))]
        for place, sign in symbols:
            noisy[place] -= many[g]
            plus, minus = chains[g].tell()
            sums[place] += sign * (plus - minus)
            some[place] += plus + minus
    chance = 2.0**-block.bits
    ones = generator.binomial(noisy, chance)
    others = generator.binomial(noisy - ones, chance / (1 - chance))
    return sums + ones - others, some + ones + others


class Chain:
    """The blocks of some users who tell the same symbols, by the sums of the entries so far.

    Parameters
    ----------
    block : Block
        Distribution of the blocks.
    users : int
        Number of users.
    generator : numpy Generator
        Source of randomness.
    """

    def __init__(self, block: Block, users: int, generator: np.random.Generator) -> None:
        self.block, self._generator = block, generator
        self._told, self._users = 0, {0: users}

    def tell(self) -> tuple[int, int]:
        """Draw the next entry of all users, and return the numbers of entries 1 and −1."""
        total, after = [0, 0, 0], dict[int, int]()
        for margin, users in self._users.items():
            drawn = self._generator.multinomial(users, self._chances(margin))
            for i, (symbol, number) in enumerate(zip((1, -1, 0), drawn.tolist(), strict=True)):
                total[i] += number
                if number:
                    after[margin + symbol] = after.get(margin + symbol, 0) + number
        self._told, self._users = self._told + 1, after
        return total[0], total[1]

    def _chances(self, margin: int) -> NDArray[np.float64]:
        """Return the probabilities of the next entry, given the sum of the earlier entries."""
        block, told = self.block, self._told
        base = block.base
        before = block.mean_density(told, margin)
        found = [
            float(base[s] * block.mean_density(told + 1, margin + s) / before) if s in base else 0.0
            for s in (1, -1, 0)
        ]
        return np.array(found) / sum(found)
