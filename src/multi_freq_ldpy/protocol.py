"""A protocol: one attribute, its domain size and its budgets.

Client and aggregator are both its methods.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import parallel, validate
from .core.channel import Channel
from .core.fakes import Fake
from .core.privacy import Privacy
from .core.randomness import Rng, Source, as_stream
from .core.tally import Tally
from .estimation import postprocess
from .estimation.estimate import Estimate
from .mechanism import BATCH, LARGEST_LAW, Mechanism, as_readonly


def declared(check: Any, default: Any = MISSING) -> Any:
    """Declare a field of a protocol by its validator.

    It is applied in the constructor, and bad values are generated from it.
    """
    return field(default=default, metadata={"check": check})


BUDGETS = ("epsilon", "eps_perm", "eps_1")


def budgets_of(cls: type["Protocol"]) -> list[str]:
    """Return the names of the budgets that a protocol class takes, in order."""
    return [each.name for each in fields(cls) if each.name in BUDGETS]


def build_protocol(
    factory: Any, k: Any, budgets: Sequence[float], names: Sequence[str] = (), **options: Any
) -> Any:
    """Call a factory of protocols, if it is a class only with as many budgets as that declares, and
    under these names if any are given.
    """
    if isinstance(factory, type) and issubclass(factory, Protocol):
        declares = budgets_of(factory)
        if len(declares) != len(budgets) or (names and declares != list(names)):
            given = ", ".join(names) or f"{len(budgets)}: {validate.quote(tuple(budgets))}"
            raise TypeError(
                f"{factory.__name__} takes the budget{'s' * (len(declares) > 1)}"
                f" {', '.join(declares)}, not {given}"
            )
    return factory(k, *budgets, **options)


@dataclass(frozen=True)
class Protocol(Mechanism):
    """Base of all protocols: the verbs, in terms of a few hooks.

    A subclass is a frozen dataclass that declares its fields (domain, budgets, options),
    ``channel``, ``privacy``, ``report_dtype``, ``_randomize``, ``contributions`` (shape (n, k)) and
    ``law``; it may say what no honest client sends (``_refused``), count faster than the reference
    (``_count``), simulate without reports (``_simulate``), and say what a fake report is
    (``_fake``).
    """

    k: int = declared(validate.domain_size)

    def __post_init__(self) -> None:
        for name, each in vars(type(self)).items():
            if isinstance(each, Field):
                raise TypeError(f"field {name} must be one of a dataclass: @dataclass(frozen=True)")
        for each in fields(self):
            if "check" not in each.metadata:
                raise TypeError(f"field {each.name} must have a validator: declared(validator)")
            value = each.metadata["check"](each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
        # Parameters that cannot be realised are refused here, not at the first report
        _ = self.channel, self.privacy

    # What a subclass declares

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The moments of a report's contributions, with the probabilities as realised."""

    @abstractmethod
    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """

    # What a subclass may do better

    @property
    def cells(self) -> int:
        """The number of frequencies that are estimated: one a value, unless values are grouped."""
        return self.k

    def cell_of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which frequency each value counts for."""
        return values

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a report speaks of a given value."""
        return (Fraction(1),)

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return self.k

    @property
    def lasting(self) -> Channel:
        """The channel of what a report contributes on average given all that lasts.

        What averaging a user's reports comes to.

        Here nothing lasts.
        """
        exact: Channel = getattr(self, "moments", self.channel)
        return exact.averaged()

    def _most(self, values: int) -> int:
        """Return the most that one report contributes to so many values together, for the values
        that suit it best.
        """
        return int(np.sort(self._every(), axis=1)[:, -values:].sum(axis=1, dtype=np.int64).max())

    @property
    def _fewest(self) -> int:
        """The least that one report contributes to a value."""
        return 0 if self.channel.binary else int(self._every().min())

    def _every(self) -> NDArray[Any]:
        """Return what every possible report contributes."""
        reports = dict.fromkeys(report for value in range(self.k) for report in self.law(value))
        return self.contributions(
            np.frombuffer(b"".join(reports), self.report_dtype, count=len(reports))
        )

    def _draw_and_count(self, values: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
        """Return the counts of the reports that ``_randomize`` would write.

        A kernel need not keep them.
        """
        out = np.empty(len(values), self.report_dtype)
        self._randomize(values, source, out)
        return self._count(as_readonly(out))

    def _simulate(self, counts: NDArray[np.int64], rng: Rng, nobody: int = 0) -> NDArray[np.int64]:
        """Draw the counts of a tally given how many users hold each value and how many none, where
        the protocol has such reports.

        Here by drawing and counting, batch by batch.
        """
        ends = nobody + np.cumsum(np.concatenate(([0], counts)))
        n = int(ends[-1])
        source = Source.of(as_stream(rng), self._label, n)
        step = max(1, min(BATCH, 2**24 // self.report_bytes))
        totals: list[NDArray[np.int64]] = []

        def job(low: int, high: int) -> None:
            total = np.zeros(1, np.int64)
            for start in range(low, high, step):
                stop = min(high, start + step)
                first, last = np.searchsorted(ends, (start, stop - 1), side="right")
                edges = np.clip(ends[first : last + 1], start, stop)
                held = edges - np.concatenate(([start], edges[:-1]))
                total = total + self._draw_and_count(
                    as_readonly(np.repeat(np.arange(first, last + 1) - 1, held)), source.skip(start)
                )
            totals.append(total)

        parallel.run_ranges(n, job)
        return np.asarray(np.sum(totals, axis=0))

    def _simulate_tally(
        self, counts: NDArray[np.int64], rng: Rng, nobody: int = 0
    ) -> tuple[NDArray[np.int64], Any]:
        """Draw the counts of a tally and how many reports speak of each value, also where nobody
        reports.
        """
        n = nobody + int(counts.sum())
        return self._simulate(counts, rng, nobody) if n else np.zeros(self.cells, np.int64), n

    def _fake(self, kind: str) -> Fake:
        """Return what RS+FD sends in place of a report about this attribute.

        ``kind`` is "zero" or "random".
        """
        raise TypeError(
            f"RSFD cannot hide {type(self).__name__}: it does not say what a fake report is"
        )

    # The verbs

    def randomize(self, values: ArrayLike, rng: Rng = None) -> Any:
        """Return a report for each user: a number gives one report, a vector a vector of reports.

        ``rng=None`` uses the operating system's randomness, as real collection must. An int,
        ``SeedSequence`` or ``Generator`` makes the reports reproducible; the same int gives the
        same noise at every call, so for several batches pass a ``Stream``.
        """
        vector, single = self._inputs("values", values)
        reports = self._reports(vector, rng)
        return reports[0] if single else reports

    def estimate(self, reports: Any) -> Estimate:
        """Return the unbiased frequencies with their errors, from a tally or from reports."""
        return Estimate.of(self._as_tally(reports))

    def simulate(self, counts: ArrayLike, rng: Rng = None) -> Tally:
        """Draw a tally from its exact law, given how many users hold each value.

        No report is kept in memory.
        """
        held = validate.histogram("counts", counts, self.k)
        stream = rng if isinstance(rng, np.random.Generator) else as_stream(rng)
        return Tally(self, *self._simulate_tally(held, stream), int(held.sum()))

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> Any:
        """Return the variance of an estimated frequency whose true value among the n users is f."""
        return self.channel.sampled_variance(self.answering[0], *validate.users_and_share(n, f))

    def em(self, reports: Any, iterations: int = 10_000, tol: float = 1e-3) -> Estimate:
        """Return the maximum-likelihood distribution given the reports themselves, which hold more
        than their counts do.

        It ends when the logarithm of the likelihood is certainly within ``tol`` of its maximum, and
        warns if ``iterations`` were not enough for that.
        """
        steps, slack = (
            validate.Integer(1, 2**62)("iterations", iterations),
            validate.budget("tol", tol),
        )
        every = np.concatenate([np.empty(0, self.report_dtype), *self._batches(reports)])
        frequencies = postprocess.em(self, every, self._likelihood_ratio, steps, slack)
        return Estimate(frequencies, len(every), self.channel, method="em")

    # What the verbs share

    def _inputs(self, name: str, given: object) -> tuple[NDArray[np.int64], bool]:
        return validate.values(name, given, self.k)

    @property
    def _likelihood_ratio(self) -> float:
        """How much likelier a report is for the values it supports than for the others."""
        raise TypeError(
            f"{type(self).__name__} does not support exactly the values that are likelier: no"
            " maximum likelihood"
        )

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which values are likelier than the others given each report."""
        return self.contributions(reports) > 0

    def _fields(self) -> dict[str, Any]:
        return {
            "protocol": type(self).__name__,
            **{each.name: getattr(self, each.name) for each in fields(self)},
        }

    @property
    def parts(self) -> tuple[tuple[Any, slice], ...]:
        """The one attribute: this protocol itself, and all counts."""
        return ((self, slice(0, self.cells)),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def _check_counts(self, counts: NDArray[np.int64], n: NDArray[np.int64], users: int) -> None:
        """Refuse counts that no reports have."""
        if counts.shape != (self.cells,):
            raise ValueError(
                f"counts must have shape ({self.cells},), one entry a value, not {counts.shape}"
            )
        if n.ndim and self.answering[0] == 1:
            raise ValueError(
                "n must be a number, because every report speaks of every value, not"
                f" {validate.quote(n)}"
            )
        if self.channel.binary and ((counts < 0) | (counts > n)).any():
            v = int(np.argmax((counts < 0) | (counts > n)))
            raise ValueError(f"counts[{v}] = {counts[v]} is outside [0, n={n[v] if n.ndim else n}]")

    def _reporters(self, n: NDArray[np.int64]) -> int:
        """Return how many users made the reports of which so many speak of each value."""
        return int(n)

    def _check_law(self, value: object, size: int) -> int:
        """Return ``value`` checked, if all ``size`` reports can be listed."""
        if size > LARGEST_LAW:
            raise ValueError(
                f"law lists every report: k={self.k} has too many, 2**{size.bit_length() - 1} or"
                " more"
            )
        return validate.Integer(0, self.k - 1)("value", value)


class Exact(Protocol):
    """A protocol whose probabilities are fractions."""

    @property
    @abstractmethod
    def moments(self) -> Channel:
        """The channel in exact fractions."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""

    @cached_property
    def channel(self) -> Channel:
        """The moments of a report's contributions, with the probabilities as realised."""
        return self.moments.rounded()

    @property
    def _likelihood_ratio(self) -> float:
        return float(min(self.ratio, Fraction(10**300)))


@dataclass(frozen=True)
class OneShot(Exact):
    """A protocol of one budget, reported once.

    Every further report about the same value costs as much again.
    """

    epsilon: float = declared(validate.budget)

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised, exactly; never more than ``epsilon``."""
        return Privacy.of(self.ratio)
