"""The base classes of protocols: one attribute, its domain size and its budgets.

A protocol has the methods of the client and the methods of the aggregator.
"""

import re
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
from .mechanism import BATCH, LARGEST_LAW, Counts, Mechanism, Reading, Reports, as_readonly

if TYPE_CHECKING:
    from .protocols.formats import Format


class Validator(typing.Protocol):
    """The type of the validator of a field.

    A validator returns the value in canonical type, or refuses it.
    """

    def __call__(self, name: str, value: object) -> object:
        """Return the value in canonical type.

        Parameters
        ----------
        name : str
            Name of the field, for error messages.
        value : object
            The value that was given.

        Returns
        -------
        object
            The value in canonical type.

        Raises
        ------
        TypeError
            If the value has the wrong type.
        ValueError
            If the value is out of range.
        """

    def list_invalid(self) -> list[Any]:
        """Return values that must be refused.

        Returns
        -------
        list
            Invalid values, with which the checks call the constructor.
        """


def declared(check: Validator, default: object = MISSING) -> Any:
    """Declare a field of a protocol by its validator.

    The constructor applies the validator. The checks generate invalid values from it.

    Parameters
    ----------
    check : Validator
        Validator of the field.
    default : object
        Default of the field. Without it the field is required.

    Returns
    -------
    Any
        A field of a dataclass.
    """
    return field(default=default, metadata={"check": check})


def check_declared(mechanism: Any) -> None:
    """Apply the validators of all fields of a frozen dataclass, and keep what they return.

    Parameters
    ----------
    mechanism : dataclass
        The object whose fields were just set.

    Raises
    ------
    TypeError
        If a field has the wrong type or no validator, or if the class is not a dataclass.
    ValueError
        If a field is out of range.
    """
    cls = type(mechanism)
    for name, each in vars(cls).items():
        if isinstance(each, Field):
            raise TypeError(f"field {name} must be one of a dataclass: @dataclass(frozen=True)")
    known = {each.name for each in fields(mechanism)}
    for name, kind in vars(cls).get("__annotations__", {}).items():
        if name not in known and not re.search("ClassVar|InitVar", str(kind)):
            raise TypeError(f"field {name} must be one of a dataclass: @dataclass(frozen=True)")
    for each in fields(mechanism):
        if "check" not in each.metadata:
            raise TypeError(f"field {each.name} must have a validator: declared(validator)")
        value = each.metadata["check"](each.name, getattr(mechanism, each.name))
        object.__setattr__(mechanism, each.name, value)


BUDGETS = ("epsilon", "eps_perm", "eps_1")


def budgets_of(cls: type["Protocol"]) -> list[str]:
    """Return the names of the budgets that a protocol class takes, in order.

    Parameters
    ----------
    cls : type
        A protocol class.

    Returns
    -------
    list of str
        Names out of ``epsilon``, ``eps_perm`` and ``eps_1``.
    """
    return [each.name for each in fields(cls) if each.name in BUDGETS]


def needs_options(cls: type["Protocol"]) -> bool:
    """Return True if a protocol class needs more than a domain size and budgets.

    Parameters
    ----------
    cls : type
        A protocol class.

    Returns
    -------
    bool
        True if a field other than ``k`` and the budgets has no default.
    """
    given = {"k", *BUDGETS}
    return any(each.name not in given and each.default is MISSING for each in fields(cls))


def build_protocol(
    factory: Callable[..., Any],
    k: int,
    budgets: Sequence[float],
    names: Sequence[str] = (),
    **options: Any,
) -> "Protocol":
    """Return the protocol that a class or factory makes of these parameters.

    A class must declare as many budgets as are given. It must declare them under ``names``, if any
    names are given. A factory that is not a protocol class is called without these checks.

    Parameters
    ----------
    factory : callable
        A protocol class, or a function that returns a protocol.
    k : int
        Number of possible values, which are 0, …, k − 1.
    budgets : sequence of float
        The budgets, in the order in which the class declares them.
    names : sequence of str
        The names of the budgets. If it is empty, names are not checked.
    **options
        Further parameters of the protocol.

    Returns
    -------
    Protocol
        The protocol.

    Raises
    ------
    TypeError
        If a class takes other budgets than the given ones.
    """
    if isinstance(factory, type) and issubclass(factory, Protocol):
        declares = budgets_of(factory)
        if len(declares) != len(budgets) or (names and declares != list(names)):
            given = ", ".join(names) or f"{len(budgets)}: {validate.quote(tuple(budgets))}"
            raise TypeError(
                f"{factory.__name__} takes the budget{'s' * (len(declares) > 1)}"
                f" {', '.join(declares)}, not {given}"
            )
    made: Protocol = factory(k, *budgets, **options)
    return made


@dataclass(frozen=True)
class Protocol(Mechanism):
    """The base class of all protocols.

    A subclass is a frozen dataclass. It declares its fields (domain, budgets, options), ``privacy``
    and ``_randomize``. It describes its reports in one of two ways:

    - by a ``format`` together with ``chances``;
    - by ``report_dtype``, ``contributions`` (shape (n, k)), ``moments``, ``ratio`` and ``law``.

    Further hooks are optional. ``_refused`` marks invalid reports. ``_count`` counts faster than
    the reference. ``_simulate`` simulates without reports. ``_fake`` describes a fake report for
    RS+FD.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5, unless the
        subclass declares another range.

    Raises
    ------
    TypeError
        If the subclass lacks a declaration, or if a field has the wrong type.
    ValueError
        If a field is out of range, or if the parameters cannot be realised.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE, Protocol
    >>> [issubclass(cls, Protocol) for cls in (GRR, OUE)]
    [True, True]
    >>> protocol = OUE(10, epsilon=1.0)
    >>> reports = protocol.randomize([3, 3, 7], rng=1)
    >>> reports.shape, protocol.report_bytes, protocol.tally(reports).users
    ((3, 2), 2, 3)
    """

    _formatted: ClassVar[bool] = False
    """True if the class has a format."""

    k: int = declared(validate.domain_size)

    def __init_subclass__(cls) -> None:
        cls._formatted = cls.format is not Protocol.format

    def __post_init__(self) -> None:
        check_declared(self)
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

    # Declared by a subclass

    @property
    def format(self) -> "Format":
        """The format of a report."""
        raise TypeError(f"{type(self).__name__} has no format")

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities, as realised, with which a report supports the own item and another.

        The format says whether an item is a value, a bit or a symbol.
        """
        raise TypeError(f"{type(self).__name__} has a format, so it must have chances")

    # Derived from the format, or declared where there is no format

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
        """The largest ratio of the probabilities of a report under two values, exactly."""
        return self.format.ratio(*self.chances)

    @property
    def work(self) -> int:
        """The approximate number of machine words that are read to count one report."""
        return self.format.work if self._formatted else self.k

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the contribution of each report to each value, shape (n, k).

        Parameters
        ----------
        reports : array
            Checked reports of ``report_dtype``, one per user.

        Returns
        -------
        array
            The contributions. Their sums over users are the counts.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, wire
        >>> protocol = GRR(4, epsilon=1.0)
        >>> protocol.contributions(wire.decode(protocol, bytes([2, 0])))
        array([[0, 0, 1, 0],
               [1, 0, 0, 0]], dtype=uint8)
        """
        return self.format.contributions(reports)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the exact distribution of a report of a user with this value.

        Parameters
        ----------
        value : int
            The value of one user.

        Returns
        -------
        dict of bytes to Fraction
            Every possible report, as bytes on the wire, with its exact probability.

        Raises
        ------
        ValueError
            If there are more than 2²⁰ reports, or if ``value`` is not one of 0, …, k − 1.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> law = GRR(3, epsilon=1.0).law(2)
        >>> [round(float(law[bytes([report])]), 4) for report in range(3)]
        [0.2119, 0.2119, 0.5761]
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

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        cells = self.cell_of(np.arange(self.k))
        supports = np.asarray(self.contributions(reports)[0] > 0)[cells]
        if not self._formatted:
            return [Reading(True, supports, [self._likelihood(reports, v) for v in range(self.k)])]
        levels = [int(self.format.levels(reports, cell)[0]) for cell in range(self.cells)]
        chances = {level: self.format.chance(level, *self.chances) for level in set(levels)}
        return [Reading(True, supports, [chances[levels[cell]] for cell in cells])]

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return self.format.refused(reports) if self._formatted else super()._refused(reports)

    def _count(self, reports: NDArray[Any]) -> Counts:
        return self.format.count(reports) if self._formatted else super()._count(reports)

    def _most(self, values: int) -> int:
        """Return the largest contribution of one report to a group of ``values`` values.

        The maximum is over all reports and all groups of this size.
        """
        if self._formatted:
            return self.format.most(values)
        reports = dict.fromkeys(report for value in range(self.k) for report in self.law(value))
        every = self.contributions(
            np.frombuffer(b"".join(reports), self.report_dtype, count=len(reports))
        )
        return int(np.sort(every, axis=1)[:, -values:].sum(axis=1, dtype=np.int64).max())

    def _cell(self, value: int) -> int:
        """Return the index of the frequency to which a value belongs."""
        return int(self.cell_of(np.array([value]))[0])

    # Optional overrides

    @cached_property
    def channel(self) -> Affine:
        """The moments of a report's contributions, in floats.

        They follow from the probabilities as realised.
        """
        return self.moments.rounded()

    @property
    def cells(self) -> int:
        """The number of estimated frequencies, which is k unless values are grouped."""
        return self.k

    def cell_of(self, values: Counts) -> Counts:
        """Return the index of the frequency to which each value belongs.

        Parameters
        ----------
        values : array of int
            Values of users.

        Returns
        -------
        array of int
            One index per value: the value itself, unless values are grouped.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import GRR, DBitFlipPM
        >>> GRR(4, epsilon=1.0).cell_of(np.arange(4))
        array([0, 1, 2, 3])
        >>> DBitFlipPM(4, eps_perm=1.0, b=2, d_bits=1).cell_of(np.arange(4))
        array([0, 0, 1, 1])
        """
        return values

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability that a report speaks of a given value."""
        return (Fraction(1),)

    @property
    def lasting(self) -> Affine:
        """The channel of the mean contribution of a user's reports, given the permanent state.

        The average of many reports of one user approaches this mean. For a protocol without
        permanent state, it is the channel of the expected contribution.
        """
        return self.moments.averaged()

    def _draw_and_gather(self, values: Counts, source: Source) -> tuple[Counts, Counts]:
        """Return the results of ``_gather`` and ``_answers`` for newly drawn reports.

        The reports are the ones that ``_randomize`` would write. A kernel does not have to keep
        them in memory.
        """
        out = np.empty(len(values), self.report_dtype)
        self._randomize(values, source, out)
        reports = as_readonly(out)
        return self._gather(reports), self._answers(reports)

    def _simulate(self, counts: Counts, rng: Rng, nobody: int = 0) -> tuple[Counts, Counts]:
        """Draw the counts of a tally, and the number of reports that speak of each value.

        ``counts`` is the number of users who hold each value. ``nobody`` is the number of users
        without a value, if the protocol has such reports. The format draws the counts if it can.
        Otherwise reports are drawn and counted, batch by batch.
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
        """Return the distribution of the fake report that RS+FD sends for this attribute.

        ``kind`` is "zero" or "random".
        """
        raise TypeError(f"RSFD cannot hide {type(self).__name__}, which does not define _fake")

    # Main methods

    def estimate(self, reports: Tally | Reports) -> Estimate:
        """Return the unbiased frequencies with their errors, from a tally or from reports.

        Parameters
        ----------
        reports : Tally, array, list, or iterable of batches
            A tally of this protocol, or reports as ``randomize`` returns them.

        Returns
        -------
        Estimate
            The frequency of each value with its standard error.

        Raises
        ------
        ValueError
            If a report is invalid, or if another protocol counted the tally.
        TypeError
            If ``reports`` is not a tally, an array, a list or an iterable.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE
        >>> protocol = OUE(3, epsilon=2.0)
        >>> protocol.estimate(protocol.randomize([0, 0, 1, 2] * 1000, rng=1))
        Estimate from 4,000 users: frequency ± standard error
        0  0.496 ± 0.017
        1  0.228 ± 0.015
        2  0.249 ± 0.016
        """
        return Estimate.of(self._as_tally(reports))

    def simulate(self, counts: ArrayLike, rng: Rng = None) -> Tally:
        """Draw a tally from its exact distribution, given the number of users who hold each value.

        No report is kept in memory.

        Parameters
        ----------
        counts : array of int
            Number of users who hold each value, k entries.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        Tally
            A tally, as if every user had sent one report.

        Raises
        ------
        ValueError
            If ``counts`` does not have k entries, or if an entry is negative.
        TypeError
            If ``counts`` has entries that are not integers.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(3, epsilon=1.0)
        >>> protocol.estimate(protocol.simulate([500_000, 300_000, 200_000], rng=1))
        Estimate from 1,000,000 users: frequency ± standard error
        0  0.4987 ± 0.0012
        1  0.3002 ± 0.0012
        2  0.2010 ± 0.0012
        """
        held = validate.histogram("counts", counts, self.k)
        stream, n = rng if isinstance(rng, np.random.Generator) else as_stream(rng), held.sum()
        return Tally(self, *self._simulate_part([held], int(n), stream), int(n))

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | NDArray[np.float64]:
        """Return the variance of an estimated frequency.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array of float
            True frequency of the value. It is the frequency among the n users.

        Returns
        -------
        float or array of float
            The variance, an array if n or f is one.

        Raises
        ------
        ValueError
            If ``n`` is negative, if ``f`` is not in [0, 1], or if their shapes do not fit together.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE
        >>> OUE(10, epsilon=1.0).variance(10_000, [0.0, 0.5]).round(6)
        array([0.000368, 0.000418])
        """
        return self.channel.sampled_variance(self.answering[0], *validate.users_and_share(n, f))

    def em(self, reports: Reports, iterations: int = 10_000, tol: float = 1e-3) -> Estimate:
        """Return the maximum-likelihood distribution of the values, given the reports.

        Reports hold more information than their counts. The iteration ends when the logarithm of
        the likelihood is certainly within ``tol`` of its maximum.

        Parameters
        ----------
        reports : array, list, or iterable of batches
            Reports as ``randomize`` returns them, not a tally.
        iterations : int
            Largest number of iterations.
        tol : float
            Tolerance of the logarithm of the likelihood.

        Returns
        -------
        Estimate
            A distribution without errors, whose ``method`` is "em".

        Raises
        ------
        ValueError
            If a report is invalid, or if a parameter is out of range.
        TypeError
            If ``reports`` is not an array, a list or an iterable.

        Warns
        -----
        RuntimeWarning
            If ``iterations`` were not enough for ``tol``.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(3, epsilon=2.0)
        >>> protocol.em(protocol.randomize([0, 0, 0, 1] * 1000, rng=1)).frequencies.round(3)
        array([0.746, 0.248, 0.006])
        """
        steps, slack = (
            validate.Integer(1, 2**62)("iterations", iterations),
            validate.budget("tol", tol),
        )
        every = np.concatenate(
            [np.empty(0, self.report_dtype), *(part for part, _ in self._batches(reports))]
        )
        self._supports(every[:0])  # a protocol may refuse this method here
        ratio = float(min(self.ratio, Fraction(10**300)))
        frequencies = postprocess.em(self, every, ratio, steps, slack)
        n = np.full(self.k, len(every))
        return Estimate(frequencies, n, self.channel, method="em")

    # Helpers of the main methods

    def _inputs(self, given: object, name: str = "values") -> tuple[Counts, bool]:
        return validate.values(name or "values", given, self.k)

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark, for each report, the values that are more likely than the others."""
        return self.contributions(reports) > 0

    def _fields(self) -> dict[str, Any]:
        return {
            "protocol": type(self).__name__,
            **{each.name: getattr(self, each.name) for each in fields(self)},
        }

    @property
    def ks(self) -> tuple[int, ...]:
        """The domain size of the one attribute, as a tuple."""
        return (self.k,)

    @property
    def leaves(self) -> "tuple[Protocol, ...]":
        """The protocol of the one attribute, which is this protocol itself."""
        return (self,)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The one attribute, which is this protocol itself with all counts."""
        return (Part(self, slice(0, self.cells)),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def _reporters(self, n: Counts) -> int:
        if (n != n[0]).any():
            raise ValueError(
                "n must be the same for all values, because every report speaks of every value, not"
                f" {validate.quote(n)}"
            )
        return int(n[0])

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        """Refuse counts that no set of reports can have."""
        if counts.shape != (self.cells,):
            raise ValueError(
                f"counts must have shape ({self.cells},), one entry per value, not {counts.shape}"
            )
        if (reporters := self._reporters(n)) > users:
            raise ValueError(
                f"n must come from at most users={users}, but {reporters} users made"
                f" n={validate.quote(n)}"
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
        """Return the checked ``value``, and refuse to list more than 2²⁰ reports."""
        if size > LARGEST_LAW:
            raise ValueError(
                f"distribution of reports cannot be listed: k={self.k} has"
                f" 2**{size.bit_length() - 1} reports or more"
            )
        return validate.Integer(0, self.k - 1)("value", value)


@dataclass(frozen=True)
class OneShot(Protocol):
    """The base class of the protocols with one budget, whose users report once.

    Every further report about the same value costs the budget again. A subclass with a format also
    declares ``weights``, which are its ``chances`` times 2⁶⁴.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5, unless the
        subclass declares another range.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``epsilon`` is too small to be realised.

    Examples
    --------
    >>> from multi_freq_ldpy.protocol import OneShot
    >>> from multi_freq_ldpy import GRR, SS
    >>> [issubclass(cls, OneShot) for cls in (GRR, SS)]
    [True, True]
    """

    epsilon: float = declared(validate.budget)

    @property
    def weights(self) -> tuple[int, int]:
        """The probabilities as realised, times 2⁶⁴."""
        raise TypeError(f"{type(self).__name__} has a format, so it must have weights")

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities as realised, in exact fractions."""
        own, other = self.weights
        return Fraction(own, exact.WORD), Fraction(other, exact.WORD)

    @cached_property
    def privacy(self) -> Privacy:
        """The privacy losses as realised. The loss of one report never exceeds ``epsilon``."""
        return Privacy.of(self.ratio)
