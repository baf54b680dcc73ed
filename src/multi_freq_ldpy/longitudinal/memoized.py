"""Base of the protocols with memory.

A permanent answer is randomized once for ever. Reports are derived from it, with fresh noise if
there is a second round.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core import exact, parallel, validate
from ..core.channel import Affine
from ..core.fakes import Fake
from ..core.privacy import Privacy
from ..core.randomness import Source, Stream
from ..mechanism import Charge, Counts, as_readonly
from ..protocol import OneShot, Protocol, declared
from ..protocols.formats import Format

# Users whose permanent answers are in memory at a time, or fewer if reports are large
REMEMBERED_TOGETHER = 2**14


First = TypeVar("First", bound=OneShot)


class Recalled(NamedTuple):
    """The permanent state of users: the memo classes of their values, and their permanent answers.

    Parameters
    ----------
    classes : array of int
        Memo class of each user's value.
    permanent : array of ``report_dtype``
        Permanent answer of each user for this class.
    """

    classes: Counts
    permanent: NDArray[Any]


@dataclass(frozen=True)
class Memoized(Protocol):
    """Base of the protocols with memory.

    All reports about an unchanged value together reveal no more than one permanent answer.

    The permanent answer belongs to the user and the *memo class* of the value. ``randomize`` makes
    the *first report of new users*. To report again, use ``Client`` (one device) or ``Panel`` (many
    users).

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    """

    eps_perm: float = declared(validate.budget)

    # Declared by a subclass

    linked: ClassVar[str] = "unknown"
    """Linkability of the reports of one user: "yes", "for large k", "no" or "unknown"."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """The number of memo classes that a user can have."""

    @abstractmethod
    def _remember(self, values: Counts, users: Counts, memory: Source, out: NDArray[Any]) -> Counts:
        """Write the users' permanent answers for the memo classes of their values.

        Return the classes.
        """

    @abstractmethod
    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        """Write the reports to send, given permanent answers."""

    # Derived

    @cached_property
    def privacy(self) -> Privacy:
        """The exact privacy losses.

        One loss is that of one report alone. The other is that of all reports about an unchanged
        value.
        """
        assert self.permanent is not None
        return Privacy.of(
            self.ratio,
            None,
            Privacy.of(self.ratio) if self.permanent is self else self.permanent.privacy,
        )

    def _recall(self, values: Counts, users: Counts, memory: Source) -> Recalled:
        values, n = as_readonly(values), len(users)
        found = Recalled(np.empty(n, np.int64), np.empty(n, self.report_dtype))

        def job(low: int, high: int) -> None:
            for part in self._blocks(low, high):
                found.classes[part] = self._remember(
                    values[part], users[part], memory, found.permanent[part]
                )

        parallel.run_ranges(n, job)
        return found

    def _charges(self, recalled: Recalled) -> list[Charge]:
        return [(0, int(recalled.classes[0]))]

    def _report(self, recalled: Recalled, fresh: Sequence[Stream], out: NDArray[Any]) -> None:
        source = Source.of(fresh[0], self._label, len(out)).part(b"report")
        permanent = as_readonly(recalled.permanent)
        parallel.run_ranges(
            len(out),
            lambda low, high: self._add_noise(permanent[low:high], source.skip(low), out[low:high]),
        )

    def _blocks(self, low: int, high: int) -> Iterator[slice]:
        """Divide a range of users into blocks of a few megabytes."""
        step = max(1, min(REMEMBERED_TOGETHER, 2**24 // self.report_bytes))
        return (slice(start, min(high, start + step)) for start in range(low, high, step))

    def _fake(self, kind: str) -> Fake:
        raise TypeError(
            f"RSFD cannot hide {type(self).__name__}: fakes drawn anew for every report would"
            " average out"
        )

    @property
    def _prices(self) -> tuple[float, ...]:
        return (self.privacy.lifetime,)

    def _build_first(self, make: type[First], *options: int) -> First:
        """Return a protocol of this domain with the budget eps_perm."""
        try:
            return make(self.k, self.eps_perm, *options)
        except ValueError as error:
            raise ValueError(str(error).replace("epsilon=", "eps_perm=")) from None


@dataclass(frozen=True)
class Chain(Memoized):
    """Base of the protocols of two rounds.

    The first round is a one-shot protocol whose report is kept. The second round is drawn anew for
    every report.

    Both rounds together cost at most eps_1 for one report, exactly. All reports are post-processing
    of the first round, which costs eps_perm.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. Any other report alone has the same budget.
    """

    eps_1: float = declared(validate.budget)

    @property
    @abstractmethod
    def permanent(self) -> OneShot:
        """The first round, a protocol whose reports are the permanent answers."""

    @property
    @abstractmethod
    def second(self) -> tuple[int, int]:
        """The probabilities of the second round, times 2⁶⁴.

        The first is the probability of keeping a supported entry of the permanent answer. The
        second is the probability of adding an entry that is not supported.
        """

    @cached_property
    def format(self) -> Format:
        """The format of a report, which is that of the first round."""
        return self.permanent.format

    @property
    def _second_chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the second round."""
        own, other = self.second
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities of both rounds together, as the format uses them."""
        both = Affine(*self.permanent.chances).then(*self._second_chances)
        return Fraction(both.p), Fraction(both.q)

    @property
    def lasting(self) -> Affine:
        """The channel of the mean contribution of a report, given the permanent answer."""
        return self.permanent.moments.recalled(*self._second_chances)

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        once, again = source.part(b"permanent"), source.part(b"report")
        for part in self._blocks(0, len(values)):
            permanent = np.empty(part.stop - part.start, self.report_dtype)
            self.permanent._randomize(values[part], once.skip(part.start), permanent)
            self._add_noise(as_readonly(permanent), again.skip(part.start), out[part])

    @property
    def classes(self) -> int:
        """The number of memo classes, which is k, because every value is its own class."""
        return self.k

    def _remember(self, values: Counts, users: Counts, memory: Source, out: NDArray[Any]) -> Counts:
        self.permanent._randomize(values, memory.classes(users, self.classes, values), out)
        return values
