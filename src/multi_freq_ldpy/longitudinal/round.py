"""One round of a history: its reports as bytes, and their counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source
from ..core.tally import Part, Tally
from ..mechanism import Counts, Mechanism, Reports, find_silent
from ..protocols.formats import count_columns, symbol_dtype, unpack
from ..protocols.hadamard import find_parity, transform

if TYPE_CHECKING:
    from ..protocol import Protocol
    from .history import History


class Node(NamedTuple):
    """The content of the reports of one kind in one round.

    Parameters
    ----------
    kind : int
        Kind of the reports.
    start : int or None
        First end of the step: a round counted from 1, or 0 for the known value before round 1. None
        means that the report tells the value.
    end : int
        Second end of the step, which is the round of the report, counted from 1.
    """

    kind: int
    start: int | None
    end: int


@dataclass(frozen=True)
class Round(Mechanism):
    """One round of a history, as ``history.at(round)`` returns it.

    A round has reports, bytes and tallies. Its reports are made by ``Client``, ``Panel`` or
    ``history.randomize``, because they depend on earlier rounds. Its frequencies are estimated
    together with those of the other rounds, by ``history.estimate``.

    Parameters
    ----------
    history : History
        The mechanism of all rounds.
    round : int
        Number of the round, counted from 0.
    optional : bool
        True if a report may be empty, because it is a part of a record whose other parts report.

    Raises
    ------
    ValueError
        If the history has no such round.

    Examples
    --------
    >>> from multi_freq_ldpy import Steps, wire
    >>> history = Steps(4, epsilon=1.0, rounds=8, changes=1, protocol="GRR")
    >>> third = history.at(2)
    >>> tally = wire.tally(third, bytes([0, 3, 0, 1, 0b1111, 0b0101]))
    >>> tally.counts[4:].reshape(-1, 4)
    array([[-1,  1, -1,  1],
           [ 1,  1,  1,  1]])
    """

    history: "History"
    round: int
    optional: bool = False

    def __post_init__(self) -> None:
        limit = validate.Integer(0, self.history.rounds - 1)
        object.__setattr__(self, "round", limit("round", self.round))
        object.__setattr__(self, "optional", validate.flag("optional", self.optional))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The content of the reports of this round, by kind."""
        return self.history.nodes(self.round)

    @property
    def k(self) -> int:
        """The number of possible values."""
        return self.history.k

    @property
    def privacy(self) -> Privacy:
        """The exact losses of the whole history."""
        return self.history.privacy

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report: the kind, and the content padded with zeros."""
        return self.history._round_dtype

    @property
    def ks(self) -> tuple[int, ...]:
        """The domain size of the one attribute, as a tuple."""
        return (self.k,)

    @property
    def leaves(self) -> "tuple[Protocol, ...]":
        """The one attribute, which is this round itself."""
        own: Any = self
        return (own,)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The one attribute, which is this round itself with all counts."""
        seen: Any = self
        return (Part(seen, slice(0, self._slots[-1].stop)),)

    @cached_property
    def _slots(self) -> list[slice]:
        """The places of the counts of each node.

        Reports of values have one count per value. Reports of steps have one sum of symbols per
        value. Then they have the number of symbols other than 0, for each place of a report.
        """
        ends = [0]
        for node in self.nodes:
            more = 0 if node.start is None else self.history.symbols
            ends.append(ends[-1] + self.k + more)
        return [slice(low, high) for low, high in pairwise(ends)]

    def numbers(self, n: Counts) -> Counts:
        """Return the number of reports of each kind.

        Parameters
        ----------
        n : array of int
            The attribute ``n`` of a tally of this round.

        Returns
        -------
        array of int
            One entry per kind of reports.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> third = Steps(4, epsilon=1.0, rounds=8, changes=1, values=0.5).at(2)
        >>> third.numbers(third.tally([]).n)
        array([0, 0])
        """
        return n[[own.start for own in self._slots]]

    @property
    def cells(self) -> int:
        """The number of counts."""
        return self._entries

    answering = (Fraction(0),)
    _answers_all = False

    @property
    def channel(self) -> NoReturn:
        """No channel, because a round is estimated together with the others."""
        raise ValueError(
            "a round is estimated together with the others: use history.estimate(tallies)"
        )

    # Reports

    def _by_node(self, reports: NDArray[Any]) -> Iterator[tuple[int, Node, NDArray[np.bool_]]]:
        """Yield the number of each node, the node, and a mask of its reports."""
        for i, node in enumerate(self.nodes):
            yield i, node, reports["kind"] == self.history._first_kind + node.kind

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        refused = np.ones(len(reports), np.bool_)
        for _, node, mask in self._by_node(reports):
            refused[mask] = self._find_wrong(node, reports["payload"][mask])
        if self.optional:
            refused[find_silent(reports)] = False
        return refused

    def _find_wrong(self, node: Node, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mark the contents that no honest client sends."""
        history = self.history
        if node.start is None:
            size = history._one_shot.report_bytes
            wrong = history._one_shot._refused(self._values(payload))
            return wrong | payload[:, size:].any(axis=1)
        size, block = history._step_bytes, history.kinds[node.kind].block
        assert block is not None
        rows, nonzero, negative = self._symbols(payload)
        wrong = np.asarray(payload[:, size:].any(axis=1) | (negative & ~nonzero).any(axis=1))
        beyond = history.symbols % 8
        if beyond:
            wrong |= (nonzero[:, -1] >> beyond) != 0
        if block.bits == 1:
            wrong |= ~unpack(nonzero, history.symbols).all(axis=1)
        if history.encoding == "row":
            wrong |= (rows < 1) | (rows >= history.order)
        return wrong

    def _values(self, payload: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the reports of values among contents."""
        protocol = self.history._one_shot
        cut = np.ascontiguousarray(payload[:, : protocol.report_bytes])
        return np.frombuffer(cut.tobytes(), protocol.report_dtype, count=len(cut))

    def _symbols(
        self, payload: NDArray[np.uint8]
    ) -> tuple[Counts, NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the rows of reports of steps, and their packed bits: non-zero, and negative."""
        history, rows = self.history, np.zeros(len(payload), np.int64)
        start = history._row_bytes
        if start:
            cut = np.ascontiguousarray(payload[:, :start])
            rows = cut.view(symbol_dtype(history.order))[:, 0].astype(np.int64)
        width = -(-history.symbols // 8)
        bits = payload[:, start : start + 2 * width]
        return rows, bits[:, :width], bits[:, width:]

    # Counts

    @cached_property
    def _spaces(self) -> list[slice]:
        """The places of the gathered numbers of each node."""
        history, ends = self.history, [0]
        for node in self.nodes:
            many = history._one_shot._space if node.start is None else history._step_space
            ends.append(ends[-1] + many)
        return [slice(low, high) for low, high in pairwise(ends)]

    @property
    def _space(self) -> int:
        return int(self._spaces[-1].stop)

    def _gather(self, reports: NDArray[Any]) -> Counts:
        found = np.zeros(self._space, np.int64)
        for i, node, mask in self._by_node(reports):
            many = int(np.count_nonzero(mask))
            if many:
                own = reports if many == len(reports) else reports[mask]
                if node.start is None:
                    values = self._values(own["payload"])
                    found[self._spaces[i]] = self.history._one_shot._gather(values)
                else:
                    found[self._spaces[i]] = self._gather_steps(own)
        return found

    def _gather_steps(self, reports: NDArray[Any]) -> Counts:
        """Return the sums of symbols: for each value, or for each row of the matrix."""
        history = self.history
        if history.encoding == "row":
            rows, nonzero, negative = self._symbols(reports["payload"])
            signs = (nonzero[:, 0] & 1).astype(np.int64) - 2 * (negative[:, 0] & 1)
            sums = np.bincount(rows, weights=signs, minlength=history.order)
            return np.append(sums.astype(np.int64), np.abs(signs).sum())
        # The bits of whole reports are counted, with the kind in front
        size, symbols = self.report_bytes, history.symbols
        ones = count_columns(reports.view(np.uint8).reshape(-1, size), 8 * size)
        second = 8 + 8 * (history._step_bytes // 2)
        some, minus = ones[8 : 8 + symbols], ones[second : second + symbols]
        return np.concatenate([some - 2 * minus, some])

    def _settle(self, gathered: Counts, n: Counts) -> Counts:
        found, history = np.empty(self._entries, np.int64), self.history
        for i, node in enumerate(self.nodes):
            own, entries = gathered[self._spaces[i]], self._slots[i]
            if node.start is None:
                found[entries] = history._one_shot._settle(own, n[entries])
            elif history.encoding == "row":
                found[entries] = np.append(transform(own[:-1])[: self.k], own[-1])
            else:
                found[entries] = own if self.k > 2 else (-own[0], own[0], own[1])
        return found

    def _answers(self, reports: NDArray[Any]) -> Counts:
        many = [int(np.count_nonzero(mask)) for *_, mask in self._by_node(reports)]
        return np.repeat(many, [own.stop - own.start for own in self._slots])

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each count, the reference for counting.

        Parameters
        ----------
        reports : array
            Checked reports of ``report_dtype``, one per user.

        Returns
        -------
        array
            One row per report. Each kind of this round has k columns. Reports of steps have more
            columns for the symbols that are not 0.

        Examples
        --------
        >>> from multi_freq_ldpy import Once, wire
        >>> first = Once(3, epsilon=1.0, rounds=2, protocol="GRR").at(0)
        >>> first.contributions(wire.decode(first, bytes([0, 2, 0, 1])))
        array([[0, 0, 1],
               [0, 1, 0]])
        """
        found = np.zeros((len(reports), self._entries), np.int64)
        history = self.history
        for i, node, mask in self._by_node(reports):
            payload = reports["payload"][mask]
            if node.start is None:
                own = history._one_shot.contributions(self._values(payload))
            else:
                rows, *packed = self._symbols(payload)
                ones, twos = (unpack(each, history.symbols).astype(np.int64) for each in packed)
                own = ones - 2 * twos
                if history.encoding == "row":
                    odd = find_parity(rows[:, np.newaxis] & np.arange(self.k))
                    own = own * (1 - 2 * odd)
                elif self.k == 2:
                    own = np.hstack([-own, own])
                own = np.hstack([own, ones])
            found[mask, self._slots[i]] = own
        return found

    def _reporters(self, n: Counts) -> int:
        if any((n[own] != n[own.start]).any() for own in self._slots):
            raise ValueError(
                f"n must be the same for all values of a kind of reports, not {validate.quote(n)}"
            )
        return int(self.numbers(n).sum())

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        if counts.shape != (self._entries,):
            raise ValueError(
                f"counts must have shape ({self._entries},), one entry per kind and value, not"
                f" {counts.shape}"
            )
        if (reporters := self._reporters(n)) > users:
            raise ValueError(
                f"n must come from at most users={users}, but {reporters} users made"
                f" n={validate.quote(n)}"
            )
        for i, node in enumerate(self.nodes):
            own, many = counts[self._slots[i]], n[self._slots[i]]
            if node.start is None:
                self.history._one_shot._check_counts(own, many, users)
                continue
            sums, some = own[: self.k], own[self.k :]
            wrong = (np.abs(sums) > some).any() or (some > many[0]).any()
            if wrong or (self.k == 2 and sums[0] != -sums[1]):
                raise ValueError(
                    f"counts of the steps of kind {node.kind} must be sums of symbols and numbers"
                    f" of non-zero symbols, at most n={many[0]}, not {validate.quote(own)}"
                )

    def _fields(self) -> dict[str, Any]:
        more = {"round": self.round} | ({"optional": True} if self.optional else {})
        return self.history._fields() | more

    # Verbs of whole histories

    def _refuse(self) -> TypeError:
        return TypeError(
            f"reports of round {self.round} depend on earlier rounds: use Client, Panel, or the"
            " methods of the history"
        )

    def _inputs(self, given: object, name: str = "") -> tuple[Counts, bool]:
        raise self._refuse()

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        raise self._refuse()

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        raise self._refuse()

    def _simulate_part(self, held: Sequence[Counts], n: int, rng: Rng) -> tuple[Counts, Counts]:
        raise self._refuse()

    def estimate(self, reports: Tally | Reports) -> NoReturn:
        """Raise an error, because a round is estimated together with the others.

        Parameters
        ----------
        reports : object
            Not used.

        Raises
        ------
        TypeError
            Always. Use ``history.estimate``.
        """
        raise self._refuse()

    def simulate(self, data: ArrayLike, rng: Rng = None) -> NoReturn:
        """Raise an error, because reports depend on earlier rounds.

        Parameters
        ----------
        data : object
            Not used.
        rng : object
            Not used.

        Raises
        ------
        TypeError
            Always. Use ``history.simulate``.
        """
        raise self._refuse()

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | NDArray[np.float64]:
        """Return the variance of an estimated frequency of this round, after all rounds.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array of float
            True frequency of the value. It is the frequency among the n users.

        Returns
        -------
        float or array of float
            The variance.

        Examples
        --------
        >>> from multi_freq_ldpy import Once
        >>> float(Once(2, epsilon=1.0, rounds=4).at(0).variance(1000).round(5))
        0.00368
        """
        found: float | NDArray[np.float64] = self.history.variance(n, f)[self.round]
        return found

    def law(self, value: Any) -> NoReturn:
        """Raise an error, because reports depend on earlier rounds.

        Parameters
        ----------
        value : object
            Not used.

        Raises
        ------
        TypeError
            Always. Use ``history.law``.
        """
        raise self._refuse()
