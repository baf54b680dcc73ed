"""Protocols that remember.

What is randomized once and for all, and what every report adds to it.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import exact, parallel, validate
from ..core.channel import Channel
from ..core.fakes import Fake
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, Stream
from ..mechanism import as_readonly
from ..protocol import Exact, OneShot, declared

# Users whose permanent answers exist at a time, or fewer where reports are large
REMEMBERED_TOGETHER = 2**14


@dataclass(frozen=True)
class Memoized(Exact):
    """A protocol whose reports about an unchanged value tell no more, all together, than one
    permanent answer does.

    The permanent answer belongs to the user and the *memo class* of the value. ``randomize`` makes
    the *first report of new users*: to report again, use ``Client`` (one device) or ``Panel`` (many
    users).
    """

    eps_perm: float = declared(validate.budget)

    # What a subclass declares

    @property
    @abstractmethod
    def classes(self) -> int:
        """The number of memo classes that a user can have."""

    @abstractmethod
    def _remember(
        self, values: NDArray[np.int64], users: NDArray[np.int64], memory: Source, out: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Write the users' permanent answers for the memo classes of their values.

        Return the classes.
        """

    @abstractmethod
    def _report(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        """Write what is sent, given permanent answers."""

    # What follows

    def randomize(self, values: ArrayLike, rng: Rng = None) -> Any:
        """Return the *first report* of new users.

        A number gives one report, a vector a vector of reports.

        Nothing is remembered, so to call it again for the same users would give their values away:
        use ``Client`` or ``Panel`` for that. ``rng`` is as for every protocol.
        """
        return super().randomize(values, rng)

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised, exactly.

        One report alone, and all reports ever made about an unchanged value.
        """
        assert self.permanent is not None
        return Privacy.of(
            self.ratio,
            None,
            Privacy.of(self.ratio) if self.permanent is self else self.permanent.privacy,
        )

    def _report_again(
        self,
        values: NDArray[np.int64],
        users: NDArray[np.int64],
        memory: Source,
        fresh: Sequence[Stream],
        out: NDArray[Any],
    ) -> None:
        source = Source.of(fresh[0], self._label, len(values)).part(b"report")
        values = as_readonly(values)

        def job(low: int, high: int) -> None:
            for part in self._blocks(low, high):
                permanent = np.empty(part.stop - part.start, self.report_dtype)
                self._remember(values[part], users[part], memory, permanent)
                self._report(as_readonly(permanent), source.skip(part.start), out[part])

        parallel.run_ranges(len(values), job)

    def _blocks(self, low: int, high: int) -> Iterator[slice]:
        """Divide a range of users into blocks of a few megabytes."""
        step = max(1, min(REMEMBERED_TOGETHER, 2**24 // self.report_bytes))
        return (slice(start, min(high, start + step)) for start in range(low, high, step))

    def _fake(self, kind: str) -> Fake:
        raise TypeError(
            f"RSFD cannot hide {type(self).__name__}: fakes drawn anew for every report would"
            " average out"
        )

    def _charges(self, values: NDArray[np.int64], memory: Source) -> list[tuple[int, int | None]]:
        permanent = np.empty(1, self.report_dtype)
        return [
            (
                0,
                int(
                    self._remember(as_readonly(values), np.zeros(1, np.int64), memory, permanent)[0]
                ),
            )
        ]

    @property
    def _prices(self) -> tuple[float, ...]:
        return (self.privacy.lifetime,)

    def _build_first(self, make: Any, *options: Any) -> Any:
        """Return a protocol of this domain with the budget eps_perm."""
        try:
            return make(self.k, self.eps_perm, *options)
        except ValueError as error:
            raise ValueError(str(error).replace("epsilon=", "eps_perm=")) from None


@dataclass(frozen=True)
class Chain(Memoized):
    """Two rounds: a one-shot protocol whose report is kept, and a second round, drawn anew for
    every report.

    Together they are at most eps_1 for one report, exactly; all reports are post-processing of the
    first round, which is eps_perm.
    """

    eps_1: float = declared(validate.budget)

    @property
    @abstractmethod
    def permanent(self) -> OneShot:
        """The first round, a protocol of its own: its reports are the permanent answers."""

    @property
    @abstractmethod
    def second(self) -> tuple[int, int]:
        """The probabilities with which the second round keeps what the permanent answer supports,
        and adds what it does not, times 2⁶⁴.
        """

    @property
    def _second(self) -> tuple[Fraction, Fraction]:
        """The second round's q, and p − q."""
        own, other = (Fraction(weight, exact.WORD) for weight in self.second)
        return other, own - other

    def _through(self, chance: Any) -> Fraction:
        """Return with what probability the report supports a value, given that of the permanent
        answer.
        """
        q, gap = self._second
        return q + Fraction(chance) * gap

    @property
    def lasting(self) -> Channel:
        """The channel of what a report contributes on average given the permanent answer."""
        (q, gap), first = self._second, self.permanent.moments

        def product(one: Any, other: Any, both: Any) -> Fraction:
            return q * q + q * gap * Fraction(one + other) + gap * gap * Fraction(both)

        return Channel(
            self._through(first.p),
            self._through(first.q),
            product(first.p, first.p, first.p),
            product(first.q, first.q, first.q),
            product(first.p, first.q, first.own_other),
            product(first.q, first.q, first.others),
        )

    def _randomize(self, values: NDArray[np.int64], source: Source, out: NDArray[Any]) -> None:
        once, again = source.part(b"permanent"), source.part(b"report")
        for part in self._blocks(0, len(values)):
            permanent = np.empty(part.stop - part.start, self.report_dtype)
            self.permanent._randomize(values[part], once.skip(part.start), permanent)
            self._report(as_readonly(permanent), again.skip(part.start), out[part])

    @property
    def classes(self) -> int:
        """The number of memo classes: every value is one of its own."""
        return self.k

    def _remember(
        self, values: NDArray[np.int64], users: NDArray[np.int64], memory: Source, out: NDArray[Any]
    ) -> NDArray[np.int64]:
        self.permanent._randomize(values, memory.classes(users, self.classes, values), out)
        return values
