"""A protocol: one attribute, its domain size and its budgets.

Client and aggregator are both its methods.
"""

import typing
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import exact, parallel, validate
from .core.channel import Affine
from .core.fakes import Fake
from .core.privacy import Privacy
from .core.randomness import Rng, Source, as_generator, as_stream
from .core.tally import Part, Tally
from .estimation import postprocess
from .estimation.estimate import Estimate
from .mechanism import BATCH, LARGEST_LAW, Counts, Mechanism, Reports, as_readonly

if TYPE_CHECKING:
    from .protocols.formats import Format


class Validator(typing.Protocol):
    """What a field is declared with: it returns the value, or refuses it."""

    def __call__(self, name: str, value: object) -> object:
        """Return the value in canonical type."""

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused."""


def declared(check: Validator, default: object = MISSING) -> Any:
    """Declare a field of a protocol by its validator.

    It is applied in the constructor, and bad values are generated from it.
    """
    return field(default=default, metadata={"check": check})


BUDGETS = ("epsilon", "eps_perm", "eps_1")


def budgets_of(cls: type["Protocol"]) -> list[str]:
    """Return the names of the budgets that a protocol class takes, in order."""
    return [each.name for each in fields(cls) if each.name in BUDGETS]


def build_protocol(
    factory: "Callable[..., Protocol]",
    k: int,
    budgets: Sequence[float],
    names: Sequence[str] = (),
    **options: Any,
) -> "Protocol":
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
    ``privacy`` and ``_randomize``. What its reports are is a ``format`` with ``chances``; or it
    says itself what that would: ``report_dtype``, ``contributions`` (shape (n, k)), ``moments``,
    ``ratio`` and ``law``. It may say what no honest client sends (``_refused``), count faster than
    the reference (``_count``), simulate without reports (``_simulate``), and say what a fake report
    is (``_fake``).
    """

    _formatted: ClassVar[bool] = False
    """Whether there is a format."""

    k: int = declared(validate.domain_size)

    def __init_subclass__(cls) -> None:
        cls._formatted = cls.format is not Protocol.format

    def __post_init__(self) -> None:
        for name, each in vars(type(self)).items():
            if isinstance(each, Field):
                raise TypeError(f"field {name} must be one of a dataclass: @dataclass(frozen=True)")
        known = {each.name for each in fields(self)}
        for name, kind in vars(type(self)).get("__annotations__", {}).items():
            if name not in known and "ClassVar" not in str(kind):
                raise TypeError(f"field {name} must be one of a dataclass: @dataclass(frozen=True)")
        for each in fields(self):
            if "check" not in each.metadata:
                raise TypeError(f"field {each.name} must have a validator: declared(validator)")
            value = each.metadata["check"](each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
        missing = [
            name
            for name in ("report_dtype", "contributions", "moments", "ratio", "law")
            if not self._formatted and getattr(type(self), name) is getattr(Protocol, name)
        ]
        if missing:
            raise TypeError(
                f"{type(self).__name__} must define {', '.join(missing)}, or have a format"
            )
        # Parameters that cannot be realised are refused here, not at the first report
        _ = self.channel, self.privacy

    # What a subclass declares

    @property
    def format(self) -> "Format":
        """What a report is."""
        raise TypeError(f"{type(self).__name__} has no format")

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities, as realised, with which a report supports what is the user's own, and
        what is not: a value, a bit or a symbol, as the format says.
        """
        raise TypeError(f"{type(self).__name__} must have chances, which go with its format")

    # What follows from the format, or is declared without one

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report."""
        return self.format.dtype

    @cached_property
    def moments(self) -> Affine:
        """The channel in exact fractions."""
        return self.format.moments(*self.chances)

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of a report between two values, exactly."""
        return self.format.ratio(*self.chances)

    @property
    def work(self) -> int:
        """About how many machine words counting a report looks at."""
        return self.format.work if self._formatted else self.k

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return what each report contributes to each value, shape (n, k)."""
        return self.format.contributions(reports)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this value, as on the wire, with its exact
        probability.
        """
        value = self._check_law(value, self.format.size)
        reports = self.format.every()
        levels = np.asarray(self.format.levels(reports, self._cell(value))).tolist()
        chances = {level: self.format.chance(level, *self.chances) for level in set(levels)}
        data, size = np.ascontiguousarray(reports).tobytes(), self.report_bytes
        return {data[i * size : i * size + size]: chances[level] for i, level in enumerate(levels)}

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        if not self._formatted:
            return self.law(int(value)).get(reports.tobytes(), Fraction(0))
        level = int(self.format.levels(reports, self._cell(int(value)))[0])
        return self.format.chance(level, *self.chances)

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return self.format.refused(reports) if self._formatted else super()._refused(reports)

    def _count(self, reports: NDArray[Any]) -> Counts:
        return self.format.count(reports) if self._formatted else super()._count(reports)

    def _most(self, values: int) -> int:
        """Return the most that one report contributes to so many values together, for the values
        that suit it best.
        """
        if self._formatted:
            return self.format.most(values)
        reports = dict.fromkeys(report for value in range(self.k) for report in self.law(value))
        every = self.contributions(
            np.frombuffer(b"".join(reports), self.report_dtype, count=len(reports))
        )
        return int(np.sort(every, axis=1)[:, -values:].sum(axis=1, dtype=np.int64).max())

    def _cell(self, value: int) -> int:
        """Return which frequency a value counts for."""
        return int(self.cell_of(np.array([value]))[0])

    # What a subclass may do better

    @cached_property
    def channel(self) -> Affine:
        """The moments of a report's contributions, with the probabilities as realised."""
        return self.moments.rounded()

    @property
    def cells(self) -> int:
        """The number of frequencies that are estimated: one a value, unless values are grouped."""
        return self.k

    def cell_of(self, values: Counts) -> Counts:
        """Return which frequency each value counts for."""
        return values

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a report speaks of a given value."""
        return (Fraction(1),)

    @property
    def lasting(self) -> Affine:
        """The channel of what a report contributes on average given all that lasts.

        What averaging a user's reports comes to.

        Here nothing lasts.
        """
        return self.moments.averaged()

    def _draw_and_gather(self, values: Counts, source: Source) -> tuple[Counts, Counts]:
        """Return what ``_gather`` and ``_answers`` make of the reports that ``_randomize`` would
        write.

        A kernel need not keep them.
        """
        out = np.empty(len(values), self.report_dtype)
        self._randomize(values, source, out)
        reports = as_readonly(out)
        return self._gather(reports), self._answers(reports)

    def _simulate(self, counts: Counts, rng: Rng, nobody: int = 0) -> tuple[Counts, Counts]:
        """Draw the counts of a tally, and how many reports speak of each value, given how many
        users hold each value and how many none, where the protocol has such reports.

        From the format, or by drawing and counting, batch by batch.
        """
        ends = nobody + np.cumsum(np.concatenate(([0], counts)))
        n = int(ends[-1])
        if self._formatted:
            found = self.format.spread(counts, *self.chances, nobody, lambda: as_generator(rng))
            if found is not None:
                return found, np.broadcast_to(np.int64(n), self.cells)
        source = Source.of(as_stream(rng), self._label, n)
        step = max(1, min(BATCH, 2**24 // self.report_bytes))

        def job(low: int, high: int) -> tuple[Counts, Counts]:
            gathered, answers = np.zeros(self._space, np.int64), np.zeros(self.cells, np.int64)
            for start in range(low, high, step):
                stop = min(high, start + step)
                first, last = np.searchsorted(ends, (start, stop - 1), side="right")
                edges = np.clip(ends[first : last + 1], start, stop)
                held = edges - np.concatenate(([start], edges[:-1]))
                values = as_readonly(np.repeat(np.arange(first, last + 1) - 1, held))
                one, n = self._draw_and_gather(values, source.skip(start))
                gathered, answers = gathered + one, answers + n
            return gathered, answers

        both = zip(*parallel.map_ranges(n, job), strict=True)
        gathered, answers = (np.sum(each, axis=0) for each in both)
        return self._settle(gathered, answers), answers

    def _simulate_part(self, held: Sequence[Counts], n: int, rng: Rng) -> tuple[Counts, Counts]:
        zeros = np.zeros(self.cells, np.int64)
        return self._simulate(held[0], rng) if n else (zeros, zeros)

    def _fake(self, kind: str) -> Fake:
        """Return what RS+FD sends in place of a report about this attribute.

        ``kind`` is "zero" or "random".
        """
        raise TypeError(
            f"RSFD cannot hide {type(self).__name__}: define _fake to say what a fake is"
        )

    # The verbs

    def estimate(self, reports: Tally | Reports) -> Estimate:
        """Return the unbiased frequencies with their errors, from a tally or from reports."""
        return Estimate.of(self._as_tally(reports))

    def simulate(self, counts: ArrayLike, rng: Rng = None) -> Tally:
        """Draw a tally from its exact law, given how many users hold each value.

        No report is kept in memory.
        """
        held = validate.histogram("counts", counts, self.k)
        stream, n = rng if isinstance(rng, np.random.Generator) else as_stream(rng), held.sum()
        return Tally(self, *self._simulate_part([held], int(n), stream), int(n))

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | NDArray[np.float64]:
        """Return the variance of an estimated frequency whose true value among the n users is f."""
        return self.channel.sampled_variance(self.answering[0], *validate.users_and_share(n, f))

    def em(self, reports: Reports, iterations: int = 10_000, tol: float = 1e-3) -> Estimate:
        """Return the maximum-likelihood distribution given the reports themselves, which hold more
        than their counts do.

        It ends when the logarithm of the likelihood is certainly within ``tol`` of its maximum, and
        warns if ``iterations`` were not enough for that.
        """
        steps, slack = (
            validate.Integer(1, 2**62)("iterations", iterations),
            validate.budget("tol", tol),
        )
        every = np.concatenate(
            [np.empty(0, self.report_dtype), *(part for part, _ in self._batches(reports))]
        )
        self._supports(every[:0])  # which may refuse
        ratio = float(min(self.ratio, Fraction(10**300)))
        frequencies = postprocess.em(self, every, ratio, steps, slack)
        n = np.full(self.k, len(every))
        return Estimate(frequencies, n, self.channel, method="em")

    # What the verbs share

    def _inputs(self, given: object, name: str = "values") -> tuple[Counts, bool]:
        return validate.values(name or "values", given, self.k)

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which values are likelier than the others given each report."""
        return self.contributions(reports) > 0

    def _fields(self) -> dict[str, Any]:
        return {
            "protocol": type(self).__name__,
            **{each.name: getattr(self, each.name) for each in fields(self)},
        }

    @property
    def ks(self) -> tuple[int, ...]:
        """The domain size of the one attribute."""
        return (self.k,)

    @property
    def leaves(self) -> "tuple[Protocol, ...]":
        """The one attribute's protocol: itself."""
        return (self,)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The one attribute: this protocol itself, and all counts."""
        return (Part(self, slice(0, self.cells)),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def _reporters(self, n: Counts) -> int:
        if (n != n[0]).any():
            raise ValueError(
                "n must say the same for all values, because every report speaks of them, not"
                f" {validate.quote(n)}"
            )
        return int(n[0])

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        """Refuse counts that no reports have."""
        if counts.shape != (self.cells,):
            raise ValueError(
                f"counts must have shape ({self.cells},), one entry a value, not {counts.shape}"
            )
        if (reporters := self._reporters(n)) > users:
            raise ValueError(
                f"n must not be of more than users={users}, but {reporters} users made"
                f" {validate.quote(n)}"
            )
        low, high = self.channel.smallest, self.channel.largest
        # Quotients, because products of large numbers would overflow
        wrong = counts > n if high == 1 else -(-counts // high) > n
        wrong |= -(counts // -low) > n if low else counts < 0
        if wrong.any():
            v = int(np.argmax(wrong))
            most = f"n={n[v]}" if high == 1 else f"{high * int(n[v])}, n={n[v]}"
            raise ValueError(f"counts[{v}] = {counts[v]} is outside [{low * int(n[v])}, {most}]")
        if self._formatted:
            self.format.check_sum(counts, reporters)

    def _check_law(self, value: object, size: int) -> int:
        """Return ``value`` checked, if all ``size`` reports can be listed."""
        if size > LARGEST_LAW:
            raise ValueError(
                f"law lists every report: k={self.k} has too many, 2**{size.bit_length() - 1} or"
                " more"
            )
        return validate.Integer(0, self.k - 1)("value", value)


@dataclass(frozen=True)
class OneShot(Protocol):
    """A protocol of one budget, reported once.

    Every further report about the same value costs as much again. ``weights`` are its chances,
    times 2⁶⁴, where it has a format.
    """

    epsilon: float = declared(validate.budget)

    @property
    def weights(self) -> tuple[int, int]:
        """The probabilities as realised, times 2⁶⁴."""
        raise TypeError(f"{type(self).__name__} must have weights, which go with its format")

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities as realised."""
        own, other = self.weights
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    @cached_property
    def privacy(self) -> Privacy:
        """What is promised, exactly; never more than ``epsilon``."""
        return Privacy.of(self.ratio)
