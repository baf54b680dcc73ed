"""Base of the solutions.

It resolves factories and checks tables. It draws and counts each attribute with its protocol.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import draws, exact, validate
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, as_generator, as_stream
from ..core.tally import Part, Tally
from ..estimation.several import Estimates, Rounds
from ..mechanism import LARGEST_LAW, Counts, Mechanism, Reading, Reports, as_readonly, find_silent
from ..protocol import BUDGETS, Protocol
from .factories import Factory, resolve_factories
from .over_time import RecordMembers
from .rows import EVERYBODY, as_bytes

MOST_KEPT = 2**8
"""The largest number of rounds whose solutions are kept."""

LARGEST_REPORT = 2**31 - 1  # above it, the length of a NumPy dtype overflows
DEEPEST = 8
"""The largest depth of solutions nested in solutions."""
# Users sampled together in simulations: NumPy's hypergeometric distribution ends at 10⁹
CHUNK = 2**29


@dataclass(frozen=True, init=False, repr=False)
class Solution(Mechanism):
    """Base of the solutions: one mechanism for each part of a record.

    A solution composes the budget and the report of a record from its parts.

    ``Solution(factory, ks, budgets…, options…)`` calls ``factory(k, budgets…, options…)`` for each
    domain size. The solution keeps only the protocols that the factories return.

    ``Solution.of([…])`` takes protocols and solutions instead. A solution within a solution reports
    on several attributes as one part. The attributes are those of the parts, in order. Estimates
    and tallies have the same order.

    Parameters
    ----------
    factory : callable or list of callable
        Protocol class, ``best``, or any callable that returns a protocol. A list gives one factory
        per attribute.
    ks : list of int
        Domain sizes, one per attribute.
    *budgets : float
        Privacy budgets, in order or by name. One budget is ``epsilon`` or ``eps_perm``. Two budgets
        are ``eps_perm`` and ``eps_1``.
    **options : object
        Options of the factories. A list of length d gives one value per attribute.

    Raises
    ------
    TypeError
        If a factory does not return a protocol of its domain size, or if budgets are missing or do
        not fit the factory.
    ValueError
        If a domain size, a budget or an option is out of range, or if there are more than 1024
        attributes.
    """

    takes_solutions: ClassVar[bool] = True
    """True if a part may itself be a solution."""

    protocols: tuple[Mechanism, ...]

    def __init__(
        self,
        factory: Factory | Sequence[Factory],
        ks: Sequence[int] | NDArray[Any],
        *budgets: float,
        **options: Any,
    ) -> None:
        sizes = validate.domain_sizes("ks", ks)
        whole = self._budgets(budgets, options)
        each = {name: self._budget(epsilon, len(sizes)) for name, epsilon in whole.items()}
        self._fill(resolve_factories(factory, sizes, each, not budgets, options))

    @classmethod
    def of(cls, protocols: Sequence[Mechanism], *options: Any, **named: Any) -> Self:
        """Return the solution over given protocols and solutions, with any budgets.

        Parameters
        ----------
        protocols : list of protocols and solutions
            Parts of the record, in order.
        *options : object
            Further fields of the solution, in order. ``RSFD`` has ``fake`` and ``balance``.
        **named : object
            Further fields of the solution, by name.

        Returns
        -------
        Solution
            The solution over these parts.

        Raises
        ------
        TypeError
            If a part is not a mechanism, if the solution takes protocols only, or if a field is
            unknown.
        ValueError
            If there are more than 1024 attributes or 8 nested levels, or if a report would have
            more than 2³¹ − 1 bytes.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP, SPL
        >>> pair = SPL(GRR, [3, 2], epsilon=1.0)
        >>> SMP.of([pair, GRR(4, epsilon=1.0)]).ks
        (3, 2, 4)
        """
        solution = object.__new__(cls)
        solution._fill(protocols, *options, **named)
        return solution

    def _fill(self, *given: Any, **named: Any) -> None:
        """Set the fields, given in order or by name, and check them."""
        names = [each.name for each in fields(self)]
        defaults = {each.name: each.default for each in fields(self)[1:]}
        known = defaults | dict(zip(names, given, strict=False)) | named
        if len(given) > len(names) or list(known) != [*defaults, "protocols"]:
            raise TypeError(
                f"{type(self).__name__} has the fields {', '.join(names)}, not"
                f" {validate.quote((*given[1:], *named))}"
            )
        for name, each in known.items():
            object.__setattr__(self, name, each)
        self._check()

    def _check(self) -> None:
        """Refuse wrong fields, and solutions that cannot be realised."""
        parts: object = self.protocols
        if (
            not isinstance(parts, list | tuple)
            or not parts
            or not all(isinstance(each, Mechanism) for each in parts)
        ):
            raise TypeError(
                "protocols must be a list of protocols, one per attribute, not"
                f" {validate.quote(parts)}"
            )
        object.__setattr__(self, "protocols", tuple(parts))
        for each in self.protocols:
            if not self.takes_solutions and not isinstance(each, Protocol):
                raise TypeError(
                    f"{type(self).__name__} takes protocols only, one per attribute: its privacy"
                    f" loss over a solution is not known: {validate.quote(each)}"
                )
        over_time = {each.rounds for each in self.protocols}
        if len(over_time) > 1:
            raise ValueError(
                "protocols must all have the same number of rounds, or none:"
                f" {validate.quote(self.protocols)}"
            )
        if over_time != {None} and any(isinstance(each, Solution) for each in self.protocols):
            raise ValueError(
                "protocols with rounds must not be nested: a solution over histories cannot be a"
                f" part of another solution: {validate.quote(self.protocols)}"
            )
        validate.record_size("protocols", sum(len(each.leaves) for each in self.protocols))
        if depth_of(self) > DEEPEST:
            raise ValueError(f"protocols must be nested at most {DEEPEST} deep")
        if (size := max(stop for _, stop in self._slots)) > LARGEST_REPORT:
            raise ValueError(
                f"protocols must make a report of at most {LARGEST_REPORT} bytes, not {size}"
            )
        _ = self.privacy

    # Declared by a subclass

    def _budget(self, epsilon: float, d: int) -> float:
        """Return the budget of the protocol of each attribute."""
        return epsilon

    @property
    @abstractmethod
    def _slots(self) -> tuple[tuple[int, int], ...]:
        """The first byte and the end of each part's report within the report of a record."""

    @abstractmethod
    def _law(self, record: list[int]) -> dict[bytes, Fraction]: ...

    @abstractmethod
    def _simulate(
        self, held: Sequence[Counts], n: int, rng: Rng
    ) -> Iterable[tuple[Counts, Counts]]:
        """Draw, for each part, its counts and the number of reports that speak of each value."""

    # Whole histories

    @cached_property
    def rounds(self) -> int | None:
        """The number of rounds, if the parts protect whole histories. None otherwise."""
        found: int | None = self.protocols[0].rounds
        return found

    def at(self, round: int) -> "Solution":
        """Return the solution of one round, for parts that protect whole histories.

        Parameters
        ----------
        round : int
            The round, counted from 0.

        Returns
        -------
        Solution
            The same solution over the rounds of its parts, with its wire format and its tallies.

        Raises
        ------
        TypeError
            If the parts have no rounds.
        ValueError
            If there is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import SMP, Steps
        >>> solution = SMP(Steps, [4, 2], epsilon=1.0, rounds=8, changes=1)
        >>> solution.at(3).report_bytes
        4
        """
        if self.rounds is None:
            raise TypeError(f"{type(self).__name__} over these protocols has no rounds")
        key = validate.Integer(0, self.rounds - 1)("round", round)
        if key not in self._rounds_made:
            if len(self._rounds_made) >= MOST_KEPT:
                self._rounds_made.clear()
            parts: Any = self.protocols
            self._rounds_made[key] = type(self).of(
                [each.at(key, optional=not self.samples) for each in parts]
            )
        return self._rounds_made[key]

    @cached_property
    def _rounds_made(self) -> "dict[int, Solution]":
        return {}

    @cached_property
    def _is_round(self) -> bool:
        """True if the parts are rounds of histories, so that a part may be silent."""
        return any(getattr(each, "optional", False) for each in self.protocols)

    def _groups(self, memory: Source, n: int) -> list[Counts]:
        """Return the users who report on each part."""
        return [np.arange(n)] * len(self.protocols)

    def _members(
        self, memory: Source, users: int | Counts, first: int = 0, restorable: bool = True
    ) -> RecordMembers:
        n = users if isinstance(users, int) else len(users)  # users of solutions are not listed
        return RecordMembers(self, memory, n, self._groups(memory, n), first, restorable)

    def _place(self, out: NDArray[np.uint8], rows: Counts, j: int, own: NDArray[np.uint8]) -> None:
        """Write the reports of part j of one round into rows of bytes, unless they are silent."""
        start, stop = self._slots[j]
        out[rows, start:stop] = own

    def _randomize_rounds(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        """Write all reports of users, given one record per round."""
        source.require_consecutive()
        members = self._members(source, len(values))
        for r in range(self.rounds or 0):
            out[:, r] = members.answer(values[:, r], r)

    def _refuse_whole(self) -> None:
        """Refuse to read the reports of all rounds at once."""
        if self.rounds is not None:
            raise TypeError("reports of histories are counted round by round: use at(round)")

    def _estimate_rounds(self, reports: Any, smooth: bool, users: int | None) -> Rounds:
        """Return the estimates of all attributes in every round so far."""
        parts: Any = self.protocols
        if not (isinstance(reports, list | tuple) and all(isinstance(t, Tally) for t in reports)):
            whole = self._as_array(reports)
            reports = [
                self.at(r).tally(whole[~find_silent(whole[:, r]), r])
                for r in range(self.rounds or 0)
            ]
            users = len(whole) if users is None else users
        for r, tally in enumerate(reports):
            if r >= (self.rounds or 0) or tally.mechanism != self.at(r):
                raise ValueError(
                    f"reports[{r}] must be the tally of round {r} of {validate.quote(self)}, not of"
                    f" {validate.quote(tally.mechanism)}"
                )
        own = [[tally[j] for tally in reports] for j in range(self.d)]
        if users is None:
            found = [
                each._count_users([each.at(r).numbers(t.n) for r, t in enumerate(tallies)])
                for each, tallies in zip(parts, own, strict=True)
            ]
            users = sum(found) if self.samples else max(found)
        each_part = [
            each.estimate(tallies, smooth, users) for each, tallies in zip(parts, own, strict=True)
        ]
        rounds = Rounds(map(Estimates, zip(*each_part, strict=True)))
        rounds._compares = tuple(each._compare for each in each_part)
        return rounds

    # Main methods

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.ks)

    @cached_property
    def ks(self) -> tuple[int, ...]:
        """The domain sizes of the attributes."""
        return tuple(leaf.k for leaf in self.leaves)

    @cached_property
    def leaves(self) -> tuple[Protocol, ...]:
        """The protocol of each attribute, in order."""
        return tuple(leaf for each in self.protocols for leaf in each.leaves)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The view of the aggregator on each attribute, with the position of its counts."""
        return tuple(
            Part(seen, slice(entries.start + own.start, entries.stop + own.start))
            for j, own in enumerate(self._own_entries)
            for seen, entries in self._seen_by_aggregator(j)
        )

    @overload  # type: ignore[override]
    def estimate(self, reports: Tally) -> Estimates: ...

    @overload
    def estimate(
        self, reports: Sequence[Tally], smooth: bool = True, users: int | None = None
    ) -> Rounds: ...

    @overload
    def estimate(
        self, reports: Reports, smooth: bool = True, users: int | None = None
    ) -> Estimates | Rounds: ...

    def estimate(
        self,
        reports: Tally | Sequence[Tally] | Reports,
        smooth: bool = True,
        users: int | None = None,
    ) -> Estimates | Rounds:
        """Return the unbiased frequencies of each attribute with their errors.

        Parameters
        ----------
        reports : Tally, array, list, or iterable of batches
            A tally of this solution, or reports as ``randomize`` returns them. If the parts protect
            whole histories, the tallies of the rounds so far.
        smooth : bool
            See ``History.estimate``. It is not used without rounds.
        users : int, optional
            See ``History.estimate``. It is not used without rounds.

        Returns
        -------
        Estimates or Rounds
            One ``Estimate`` per attribute, in order. If the parts protect whole histories, one
            ``Estimates`` per round.

        Raises
        ------
        ValueError
            If the tally is that of another mechanism, or if a report is invalid.
        TypeError
            If ``reports`` is neither a tally nor reports.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SPL
        >>> solution = SPL(GRR, [2, 3], epsilon=4.0)
        >>> estimates = solution.estimate(solution.randomize([[0, 2], [1, 2]] * 500, rng=1))
        >>> [each.frequencies.round(2) for each in estimates]
        [array([0.51, 0.49]), array([-0.02, -0.03,  1.05])]
        """
        if self.rounds is not None:
            return self._estimate_rounds(reports, smooth, users)
        return Estimates.of(self._as_tally(reports))

    def em(self, reports: Reports, iterations: int = 10_000, tol: float = 1e-3) -> Estimates:
        """Return the maximum-likelihood distribution of each attribute, given the reports.

        Parameters
        ----------
        reports : array, list, or iterable of batches
            Reports as ``randomize`` returns them, not a tally.
        iterations : int
            Largest number of iterations, for each attribute.
        tol : float
            Tolerance of the logarithm of the likelihood.

        Returns
        -------
        Estimates
            One distribution per attribute, without errors, whose ``method`` is "em".

        Raises
        ------
        ValueError
            If a report is invalid, or if a parameter is out of range.
        TypeError
            If the method is not known for the solution or for a part. Under RS+FD, for example,
            nobody knows which reports are fakes.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> solution = SMP(GRR, [2, 3], epsilon=2.0)
        >>> reports = solution.randomize([[0, 2], [1, 2]] * 500, rng=1)
        >>> [each.frequencies.round(2) for each in solution.em(reports)]
        [array([0.49, 0.51]), array([0.03, 0.  , 0.97])]
        """
        every = [np.empty(0, self.report_dtype), *(part for part, _ in self._batches(reports))]
        columns = self._split(np.concatenate(every))
        found: list[Any] = []
        for each, own in zip(self.protocols, columns, strict=True):
            estimated: Any = each.em(own, iterations, tol)  # type: ignore[attr-defined]
            found += estimated if isinstance(each, Solution) else [estimated]
        return Estimates(found)

    def _split(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the reports of each part."""
        raise TypeError(f"em is not known for {validate.quote(self)}")

    def simulate(self, data: ArrayLike | Sequence[ArrayLike], rng: Rng = None) -> Tally:
        """Draw a tally from a table of records or from d histograms, without reports in memory.

        The tally of each attribute has its exact distribution. Given the true values, attributes
        are drawn independently of each other. The dependence between the errors of two attributes
        is therefore not reproduced.

        Parameters
        ----------
        data : array of int, or list of arrays of int
            Table with one row per user and one column per attribute. Or d histograms: entry j is
            the number of users who hold each value of attribute j.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        Tally
            The tally of all users.

        Raises
        ------
        ValueError
            If a value is outside its domain, if histograms have different numbers of users, or if a
            list could be either records or histograms.
        TypeError
            If a value is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE, SMP
        >>> tally = SMP(OUE, [2, 3], epsilon=2.0).simulate([[600, 400], [100, 0, 900]], rng=1)
        >>> [int(part.n[0]) for part in tally], tally[1].counts
        ([468, 532], array([ 89,  69, 234]))
        """
        held = self._histograms(data)
        stream, n = rng if isinstance(rng, np.random.Generator) else as_stream(rng), held[0].sum()
        return Tally(self, *self._simulate_part(held, int(n), stream), int(n))

    def _simulate_part(self, held: Sequence[Counts], n: int, rng: Rng) -> tuple[Counts, Counts]:
        counts, answers = zip(*self._simulate(held, n, rng), strict=True)
        return np.concatenate(counts), np.concatenate(answers)

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Return, for each attribute, the variance of an estimated frequency.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array of float
            True frequency of the value. It is the frequency among the n users.

        Returns
        -------
        array of float64
            Variances. The first axis is the attributes, the other axes are those of n and f.

        Raises
        ------
        ValueError
            If n is negative, if f is outside [0, 1], or if their shapes do not go together.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP, SPL
        >>> SPL(GRR, [2, 3], epsilon=2.0).variance(1000).round(4)
        array([0.0009, 0.0013])
        >>> SMP(GRR, [2, 3], epsilon=2.0).variance(1000).round(4)
        array([0.0004, 0.0004])
        """
        users, share = validate.users_and_share(n, f)
        if self.rounds is not None:
            return self._variance_rounds(users, share)
        return np.array(
            [
                seen.channel.sampled_variance(answering, users, share)
                for (seen, _), answering in zip(self.parts, self.answering, strict=True)
            ]
        )

    def _variance_rounds(self, users: Any, share: Any) -> NDArray[np.float64]:
        """Return variances, one row per attribute and one column per round."""
        parts: Any = self.protocols
        if not self.samples:
            return np.array([each.variance(users, share) for each in parts])
        own = users / len(parts)
        with np.errstate(divide="ignore", invalid="ignore"):
            sampled = (1 / own - 1 / users) * share * (1 - share) * users / (users - 1)
        extra = np.where(users > 1, sampled, 0.0)
        return np.array([each._estimator.variance(own, share) + extra for each in parts])

    def law(self, record: ArrayLike) -> dict[bytes, Fraction]:
        """Return the exact distribution of a report of a user with this record.

        Parameters
        ----------
        record : list of int
            One value per attribute.

        Returns
        -------
        dict of bytes to Fraction
            Every possible report, as on the wire, with its exact probability.

        Raises
        ------
        ValueError
            If ``record`` is not one record, or if the possible reports cannot be listed. They are
            more than 2²⁰, or unbounded (SHE).
        TypeError
            If a value is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SMP
        >>> law = SMP(GRR, [2, 2], epsilon=2.0).law([0, 1])
        >>> {report.hex(): round(float(chance), 3) for report, chance in law.items()}
        {'0000': 0.44, '0001': 0.06, '0100': 0.06, '0101': 0.44}
        """
        self._refuse_whole()
        values, single = validate.table("record", record, self.ks)
        if not single:
            raise ValueError(
                f"record must have d={self.d} values, one per attribute, not"
                f" {validate.quote(record)}"
            )
        return self._law(values[0].tolist())

    # Helpers of the main methods

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        return self._law(value.tolist()).get(reports.tobytes(), Fraction(0))

    def _read(self, reports: NDArray[Any], record: Any) -> list[Reading]:
        record = self._require_answers(record)
        found, support = [], self.contributions(reports)[0] > 0
        for j, (k, part) in enumerate(zip(self.ks, self.parts, strict=True)):
            records = np.tile(record, (k, 1))
            records[:, j] = np.arange(k)
            chances = [self._likelihood(reports, each) for each in records]
            supports = support[part.entries][self.leaves[j].cell_of(np.arange(k))]
            found.append(Reading(None, supports, chances))
        return found

    def _require_answers(self, record: Any) -> Any:
        """Return a record, or refuse its absence."""
        if record is None:
            raise ValueError(
                "answers must be given, because the attributes of a report belong together under"
                f" {type(self).__name__}"
            )
        return record

    def _inputs(self, given: object, name: str = "table") -> tuple[Counts, bool]:
        if self.rounds is not None:
            return self._history_inputs(given, name or "histories")
        return validate.table(name or "table", given, self.ks)

    def _history_inputs(self, given: object, name: str) -> tuple[Counts, bool]:
        """Return histories of records, shape (users, rounds, attributes)."""
        array = validate.integers(name, given, 0, max(self.ks) - 1, what="values")
        if array.ndim not in (2, 3) or array.shape[-2:] != (self.rounds, self.d):
            raise ValueError(
                f"{name} must have rounds={self.rounds} records of {self.d} attributes per user,"
                f" not the shape {array.shape}"
            )
        for j, k in enumerate(self.ks):
            validate.within(f"{name}[…, {j}]", array[..., j], 0, k - 1, f"values below k={k}")
        return np.array(array, np.int64, ndmin=3), array.ndim == 2

    @staticmethod
    def _budgets(given: tuple[float, ...], options: dict[str, Any]) -> dict[str, float]:
        """Return the budgets, checked, given in order or by name."""
        named = [name for name in BUDGETS if name in options]
        if given and named:
            raise TypeError(
                f"budgets must be given in order or by name, not both: {validate.quote(given)} and"
                f" {', '.join(named)}"
            )
        names = named or (["epsilon"] if len(given) == 1 else ["eps_perm", "eps_1"])
        budgets = given or tuple(options.pop(name) for name in named)
        if names not in (["epsilon"], ["eps_perm"], ["eps_perm", "eps_1"]) or len(names) != len(
            budgets
        ):
            found = ", ".join(named) or validate.quote(budgets)
            others = f" (other options: {', '.join(options)})" if options else ""
            raise TypeError(
                "a solution needs one budget (epsilon, or eps_perm) or two (eps_perm, eps_1), not"
                f" {found}{others}"
            )
        return {
            name: validate.budget(name, each) for name, each in zip(names, budgets, strict=True)
        }

    @cached_property
    def _own_columns(self) -> tuple[slice, ...]:
        """The attributes of each part."""
        return _slices(len(each.leaves) for each in self.protocols)

    @cached_property
    def _own_entries(self) -> tuple[slice, ...]:
        """The positions of the counts of each part."""
        return _slices(each._entries for each in self.protocols)

    @cached_property
    def _own_space(self) -> tuple[slice, ...]:
        """The positions of the numbers that each part gathers."""
        return _slices(each._space for each in self.protocols)

    @cached_property
    def _space(self) -> int:
        return int(self._own_space[-1].stop)

    def _settle(self, gathered: Counts, n: Counts) -> Counts:
        where = zip(self.protocols, self._own_space, self._own_entries, strict=True)
        return np.concatenate([each._settle(gathered[a], n[b]) for each, a, b in where])

    def _of_part(self, values: Any, j: int) -> Any:
        """Return the columns of part j from records, or from one record.

        If the part is a protocol, this is one vector.
        """
        columns = self._own_columns[j]
        return values[..., columns if isinstance(self.protocols[j], Solution) else columns.start]

    def _seen_by_aggregator(self, j: int) -> tuple[Part, ...]:
        """Return the view of the aggregator on each attribute of part j."""
        return self.protocols[j].parts

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """The probability, for each attribute, that a report speaks of a given value of it."""
        return tuple(share for each in self.protocols for share in each.answering)

    @cached_property
    def permanent(self) -> "Solution | None":
        """The solution over the permanent answers of the parts, or None if a part has none.

        One report of that solution holds all information that is ever revealed about an unchanged
        record.
        """
        lasting = [each.permanent for each in self.protocols if each.permanent is not None]
        if len(lasting) < len(self.protocols):
            return None
        return self if tuple(lasting) == self.protocols else type(self).of(lasting)

    def _privacy(
        self, loss: Fraction | float, attribute: Fraction | float | None = None
    ) -> Privacy:
        """Return the privacy losses from the loss of one report and the loss for one attribute."""
        one = Privacy.of(loss, attribute)
        if self.rounds is not None or self._is_round:
            return self._privacy_rounds(one)
        if self.permanent is None:
            return one
        return Privacy.of(
            loss, attribute, one if self.permanent is self else self.permanent.privacy
        )

    def _privacy_rounds(self, one: Privacy) -> Privacy:
        """Return the losses over time: the largest among the parts, or their sum."""
        own = [each.privacy for each in self.protocols]
        lifetime, history = (
            max(ratios) if self.samples else prod(ratios, start=Fraction(1))
            for ratios in (
                [each.ratio_lifetime or Fraction(1) for each in own],
                [each.ratio_history or Fraction(1) for each in own],
            )
        )
        single = max(each.ratio_lifetime_attribute or Fraction(1) for each in own)
        return replace(
            one,
            lifetime=exact.log(lifetime),
            ratio_lifetime=lifetime,
            lifetime_attribute=exact.log(single),
            ratio_lifetime_attribute=single,
            history=exact.log(history),
            ratio_history=history,
        )

    def _column(self, rows: NDArray[np.uint8], j: int, users: Counts = EVERYBODY) -> NDArray[Any]:
        """Return the reports of part j, of the listed users or of all users, from rows of bytes."""
        start, stop = self._slots[j]
        fields = np.empty((len(users) or len(rows), stop - start), np.uint8)
        draws.choose("records", fields.size).take(
            as_readonly(rows), as_readonly(users), start, fields
        )
        return as_readonly(np.ndarray(len(fields), self.protocols[j].report_dtype, fields))

    def _put(
        self, reports: NDArray[Any], rows: NDArray[np.uint8], j: int, users: Counts = EVERYBODY
    ) -> None:
        """Write the reports of part j, of the listed users or of all users, into rows of bytes."""
        start, stop = self._slots[j]
        fields = as_bytes(reports, stop - start)
        draws.choose("records", fields.size).put(fields, as_readonly(users), start, rows)

    def _write(
        self,
        values: NDArray[Any],
        source: Source,
        rows: NDArray[np.uint8],
        j: int,
        users: Counts = EVERYBODY,
    ) -> None:
        """Randomize values of part j into rows of bytes.

        The rows are those of the listed users, or of all users. The values are randomized a few at
        a time.
        """
        start, stop = self._slots[j]
        protocol, step = self.protocols[j], max(1, 2**24 // (stop - start))
        for low in range(0, len(values), step):
            part = as_readonly(np.ascontiguousarray(values[low : low + step]))
            reports = np.empty(len(part), protocol.report_dtype)
            protocol._randomize(part, source.skip(low), reports)
            if len(users):
                self._put(reports, rows, j, users[low : low + step])
            else:
                self._put(reports, rows[low : low + step], j)

    def _histograms(self, data: Any) -> list[Counts]:
        """Return the number of users who hold each value of each attribute."""
        if self._look_like_histograms(data):
            held = [
                validate.histogram(f"data[{j}]", each, k)
                for j, (each, k) in enumerate(zip(data, self.ks, strict=True))
            ]
            totals = [int(each.sum()) for each in held]
            if len(set(totals)) > 1:
                raise ValueError(
                    f"data must have the same number of users in every histogram, not {totals}"
                )
            return held
        records, _ = validate.table("data", data, self.ks)
        return [np.bincount(records[:, j], minlength=k) for j, k in enumerate(self.ks)]

    def _look_like_histograms(self, data: Any) -> bool:
        """Tell histograms from a table; refuse data that could be either."""
        listed = (
            isinstance(data, list | tuple | np.ndarray)
            and validate.shape_of(data) != ()
            and len(data) == self.d
        )
        if not listed or [validate.shape_of(each) for each in data] != [(k,) for k in self.ks]:
            return False
        if any(k != self.d for k in self.ks):
            return True
        if isinstance(data, np.ndarray):
            return False
        try:
            validate.table("data", data, self.ks)
        except (ValueError, TypeError):
            return True
        raise ValueError(
            f"data could be d={self.d} records or {self.d} histograms: pass records as np.array(…):"
            f" {validate.quote(data)}"
        )

    def _check_counts(self, counts: Counts, n: Counts, users: int) -> None:
        if counts.shape != (self._entries,):
            raise ValueError(
                f"counts must have shape ({self._entries},), one entry per value of each attribute,"
                f" not {counts.shape}"
            )
        reporters = self._reporters(n)
        if reporters > users or (reporters < users and not self._is_round):
            raise ValueError(
                f"n must say how many of the {users} users reported on each value, but it is of"
                f" {reporters} users: {validate.quote(n)}"
            )
        for j, (each, (_, own)) in enumerate(zip(self.leaves, self.parts, strict=True)):
            try:
                each._check_counts(counts[own], n[own], users)
            except ValueError as error:
                raise ValueError(f"attribute {j}: {error}") from None

    def _part_reporters(self, n: Counts) -> list[int]:
        """Return the number of users who reported on each part."""
        pairs = zip(self.protocols, self._own_entries, strict=True)
        return [each._reporters(n[own]) for each, own in pairs]

    @cached_property
    def _part_prices(self) -> tuple[float, ...]:
        """The prices of charges if every part has its own accounts."""
        return tuple(price for each in self.protocols for price in each._prices)

    @cached_property
    def _accounts(self) -> tuple[int, ...]:
        """The first account of each part."""
        return tuple(accumulate((len(each._prices) for each in self.protocols), initial=0))

    def _fields(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            "protocol": type(self).__name__,
            **own,
            "protocols": [each._fields() for each in self.protocols],
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, tuple(getattr(self, each.name) for each in fields(self))

    def __repr__(self) -> str:
        options = [f", {each.name}={getattr(self, each.name)!r}" for each in fields(self)[1:]]
        return f"{type(self).__name__}.of({list(self.protocols)!r}{''.join(options)})"


def _slices(sizes: Iterable[int]) -> tuple[slice, ...]:
    """Return consecutive slices of these sizes."""
    return tuple(slice(low, high) for low, high in pairwise(accumulate(sizes, initial=0)))


def depth_of(mechanism: Mechanism) -> int:
    """Return the number of nested levels of solutions.

    Parameters
    ----------
    mechanism : protocol or solution
        Mechanism to look at.

    Returns
    -------
    int
        0 for a protocol, 1 for a solution over protocols, and so on.
    """
    parts = mechanism.protocols if isinstance(mechanism, Solution) else ()
    return 1 + max(map(depth_of, parts)) if parts else 0


def losses_of(
    protocols: Sequence[Mechanism], attribute: bool = False
) -> tuple[list[Fraction], bool]:
    """Return the privacy losses of mechanisms, as exact ratios if all of them are fractions.

    Parameters
    ----------
    protocols : list of protocols and solutions
        Mechanisms, in order.
    attribute : bool
        True for the losses between two inputs that differ in one attribute. False for the losses
        between any two inputs.

    Returns
    -------
    losses : list of Fraction
        Ratios of probabilities, or their logarithms if one of the ratios is not a fraction.
    exactly : bool
        True if the losses are ratios.
    """
    privacies = [each.privacy for each in protocols]
    both = [
        (each.ratio_attribute, each.report_attribute) if attribute else (each.ratio, each.report)
        for each in privacies
    ]
    ratios = [ratio for ratio, _ in both if ratio is not None]
    if len(ratios) == len(both):
        return ratios, True
    return [Fraction(loss) if ratio is None else exact.ln(ratio) for ratio, loss in both], False


def combine_laws(
    laws: list[dict[bytes, Fraction]],
) -> Iterable[tuple[tuple[bytes, ...], tuple[Fraction, ...]]]:
    """Return all combinations of reports, with the probability of each report.

    Parameters
    ----------
    laws : list of dict of bytes to Fraction
        Distributions of reports, one per part.

    Returns
    -------
    iterable of pairs of tuples
        The reports of a combination, and their probabilities, one of each per part.

    Raises
    ------
    ValueError
        If there are more than 2²⁰ combinations.
    """
    size = prod(map(len, laws))
    if size > LARGEST_LAW:
        raise ValueError(
            f"distribution of reports cannot be listed: these protocols have {size} reports"
        )
    return zip(product(*laws), product(*(law.values() for law in laws)), strict=True)


def sample_histograms(
    held: Sequence[Counts], columns: Sequence[slice], shares: list[float], n: int, rng: Rng
) -> list[list[Counts]]:
    """Draw, for each part, the histograms of the users who sample it.

    Parameters
    ----------
    held : list of arrays of int
        Numbers of users who hold each value, one array per attribute.
    columns : list of slice
        Attributes of each part.
    shares : list of float
        Probability that a user samples each part.
    n : int
        Number of users.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None, the default, is the operating system: use it to collect. Seeds
        are for simulations.

    Returns
    -------
    list of lists of arrays of int
        For each part, one histogram per attribute of the part.
    """
    generator = as_generator(rng)
    found = [np.zeros_like(counts) for counts in held]
    ends = [np.concatenate(([0], np.cumsum(counts))) for counts in held]
    for start in range(0, n, CHUNK):
        stop = min(n, start + CHUNK)
        for own, chosen in zip(columns, generator.multinomial(stop - start, shares), strict=True):
            for j in range(own.start, own.stop):
                users = np.diff(np.clip(ends[j], start, stop))
                found[j] += generator.multivariate_hypergeometric(users, chosen, method="marginals")
    return [found[own] for own in columns]
