"""What the solutions share.

Factories are resolved, tables checked, attributes drawn and counted each by its protocol.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import exact, validate
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, as_generator, as_stream
from ..core.tally import Tally
from ..estimation.several import Estimates
from ..mechanism import LARGEST_LAW, Mechanism, as_readonly
from ..protocol import BUDGETS, Protocol
from .factories import Factory, resolve_factories
from .rows import EVERYBODY, as_bytes

Counts: TypeAlias = NDArray[np.int64]

LARGEST_REPORT = 2**31 - 1  # beyond it, the length of a NumPy dtype wraps around
# Users who are sampled together in simulations: NumPy's hypergeometric law ends at 10⁹
CHUNK = 2**29


@dataclass(frozen=True, init=False, repr=False)
class Solution(Mechanism):
    """Base of the solutions.

    A protocol for each attribute, and how a record's budget and report are made of theirs.

    ``Solution(factory, ks, budgets…, options…)`` calls the factory (a protocol class, ``best``, any
    callable) as ``factory(k, budgets…, options…)`` for each domain size; a list of factories gives
    each attribute its own, and an option that is a list of length d is one value an attribute. What
    the factories return is all that is kept: the solution *is* its protocols.
    """

    protocols: tuple[Protocol, ...]

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
        self._set(resolve_factories(factory, sizes, each, not budgets, options))

    @classmethod
    def of(cls, protocols: Sequence[Protocol], *options: Any, **named: Any) -> Any:
        """Return the solution over given protocols, whatever their budgets."""
        solution = object.__new__(cls)
        solution._set(protocols, *options, **named)
        return solution

    # What a subclass declares

    def _budget(self, epsilon: float, d: int) -> float:
        """Return the budget of each attribute's protocol."""
        return epsilon

    @property
    @abstractmethod
    def _slots(self) -> tuple[tuple[int, int], ...]:
        """Where each attribute's report is, in the bytes of a record's report."""

    @abstractmethod
    def _law(self, record: list[int]) -> dict[bytes, Fraction]: ...

    @abstractmethod
    def _simulate(
        self, held: list[Counts], n: int, rng: Rng
    ) -> tuple[list[Counts], int | Counts]: ...

    # The verbs

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.protocols)

    @cached_property
    def ks(self) -> tuple[int, ...]:
        """The domain sizes."""
        return tuple(protocol.k for protocol in self.protocols)

    @cached_property
    def parts(self) -> tuple[tuple[Any, slice], ...]:
        """For each attribute, as what the aggregator sees it, and where its counts are."""
        edges = pairwise(accumulate((each.cells for each in self.protocols), initial=0))
        return tuple(
            (self._seen_by_aggregator(j), slice(low, high)) for j, (low, high) in enumerate(edges)
        )

    def randomize(self, table: ArrayLike, rng: Rng = None) -> Any:
        """Return a report for each record: ``table`` has a row a user and a column an attribute.

        A single row gives one report.

        ``rng=None`` uses the operating system's randomness, as real collection must. An int,
        ``SeedSequence`` or ``Generator`` makes the reports reproducible; the same int gives the
        same noise at every call, so for several batches pass a ``Stream``.
        """
        records, single = self._inputs("table", table)
        reports = self._reports(records, rng)
        return reports[0] if single else reports

    def estimate(self, reports: Any) -> Estimates:
        """Return the unbiased frequencies of each attribute with their errors, from a tally or from
        reports.
        """
        return Estimates.of(self._as_tally(reports))

    def simulate(self, data: Any, rng: Rng = None) -> Tally:
        """Draw a tally given a table of records, or given d histograms.

        No report is kept in memory.

        Each attribute's tally has its exact law. Attributes are drawn independently of each other
        given the truth: how the errors of two attributes go together is not reproduced.
        """
        return self._simulate_tally(self._histograms(data), rng)

    def _simulate_tally(self, held: list[Counts], rng: Rng) -> Tally:
        """Draw a tally given how many users hold each value of each attribute."""
        n = int(held[0].sum())
        counts, answers = self._simulate(
            held, n, rng if isinstance(rng, np.random.Generator) else as_stream(rng)
        )
        return Tally(self, np.concatenate(counts), answers, n)

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Return, for each attribute, the variance of an estimated frequency whose true value among
        the n users is f.

        The first axis is the attributes; n and f may be arrays.
        """
        users, share = validate.users_and_share(n, f)
        return np.array([self._variance(j, users, share) for j in range(self.d)])

    def law(self, record: Any) -> dict[bytes, Fraction]:
        """Return every possible report of a user with this record, as on the wire, with its exact
        probability.
        """
        values, single = validate.table("record", record, self.ks)
        if not single:
            raise ValueError(
                f"record must be one value an attribute, d={self.d} of them, not"
                f" {validate.quote(record)}"
            )
        return self._law(values[0].tolist())

    # What the verbs share

    def _inputs(self, name: str, given: object) -> tuple[NDArray[np.int64], bool]:
        return validate.table(name, given, self.ks)

    def _set(self, protocols: Sequence[Protocol]) -> None:
        """Set the fields, checked; what cannot be realised is refused here."""
        if (
            not isinstance(protocols, list | tuple)
            or not protocols
            or not all(isinstance(each, Protocol) for each in protocols)
        ):
            raise TypeError(
                "protocols must be a list of protocols, one an attribute, not"
                f" {validate.quote(protocols)}"
            )
        validate.record_size("protocols", len(protocols))
        object.__setattr__(self, "protocols", tuple(protocols))
        if (size := max(stop for _, stop in self._slots)) > LARGEST_REPORT:
            raise ValueError(
                f"protocols must make a report of at most {LARGEST_REPORT} bytes, not {size}"
            )
        _ = self.privacy

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

    def _seen_by_aggregator(self, j: int) -> Any:
        """Return what the reports about attribute j follow."""
        return self.protocols[j]

    def _variance(self, j: int, n: NDArray[np.int64], f: NDArray[Any]) -> Any:
        return self.parts[j][0].channel.sampled_variance(self.answering[j], n, f)

    @property
    def answering(self) -> tuple[Fraction, ...]:
        """For each attribute, the probability that a report speaks of a given value of it."""
        return tuple(each.answering[0] for each in self.protocols)

    @cached_property
    def permanent(self) -> "Solution | None":
        """The solution over what lasts of each attribute, one report of which holds all that is
        ever told.
        """
        lasting: list[Any] = [each.permanent for each in self.protocols]
        if None in lasting:
            return None
        return self if lasting == list(self.protocols) else type(self).of(lasting)

    def _privacy(
        self, loss: Fraction | float, attribute: Fraction | float | None = None
    ) -> Privacy:
        """Return what is promised, given the loss of one report, and for one attribute."""
        one = Privacy.of(loss, attribute)
        if self.permanent is None:
            return one
        return Privacy.of(
            loss, attribute, one if self.permanent is self else self.permanent.privacy
        )

    def _column(
        self, rows: NDArray[np.uint8], j: int, users: NDArray[np.int64] = EVERYBODY
    ) -> NDArray[Any]:
        """Return attribute j's reports from the bytes of the reports of the users listed, or of
        all.
        """
        from ..kernels import records

        start, stop = self._slots[j]
        fields = np.empty((len(users) or len(rows), stop - start), np.uint8)
        records.take(as_readonly(rows), as_readonly(users), start, fields)
        return as_readonly(np.ndarray(len(fields), self.protocols[j].report_dtype, fields))

    def _put(
        self,
        reports: NDArray[Any],
        rows: NDArray[np.uint8],
        j: int,
        users: NDArray[np.int64] = EVERYBODY,
    ) -> None:
        """Write attribute j's reports into the bytes of the reports of the users listed, or of
        all.
        """
        from ..kernels import records

        start, stop = self._slots[j]
        records.put(as_bytes(reports, stop - start), as_readonly(users), start, rows)

    def _write(
        self,
        values: NDArray[Any],
        source: Source,
        rows: NDArray[np.uint8],
        j: int,
        users: NDArray[np.int64] = EVERYBODY,
    ) -> None:
        """Randomize values of attribute j, a few at a time, into the bytes of the reports of the
        users listed, or of all.
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
        """Return how many users hold each value of each attribute."""
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
        """Tell histograms from a table; refuse what could be either."""
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
        entries = self.parts[-1][1].stop
        if counts.shape != (entries,):
            raise ValueError(
                f"counts must have shape ({entries},), one entry a value of each attribute, not"
                f" {counts.shape}"
            )
        for j, (protocol, answered) in enumerate(
            zip(self.protocols, self._split_answers(n, users), strict=True)
        ):
            try:
                protocol._check_counts(counts[self.parts[j][1]], answered, users)
            except ValueError as error:
                raise ValueError(f"attribute {j}: {error}") from None

    def _split_answers(self, n: Counts, users: int) -> list[Counts]:
        """Return how many reports speak of each attribute.

        A number, or an entry a value where not all speak of all.
        """
        each = self._split_by_part(n)
        if any(
            protocol._reporters(one) != users
            for protocol, one in zip(self.protocols, each, strict=True)
        ):
            raise ValueError(
                f"n must be the number of users, {users}, because every report speaks of every"
                f" attribute, not {validate.quote(n)}"
            )
        return each

    def _split_by_part(self, n: Counts) -> list[Counts]:
        """Return n for each attribute, as its protocol has it."""
        found = []
        for protocol, (_, part) in zip(self.protocols, self.parts, strict=True):
            one = n[part] if n.ndim else n
            if one.ndim and protocol.answering[0] == 1:
                if (one != one[0]).any():
                    raise ValueError(
                        "n must say the same for all values of an attribute that is reported as a"
                        f" whole, not {validate.quote(n)}"
                    )
                one = one[0]
            found.append(np.asarray(one))
        return found

    def _join_answers(self, answers: Sequence[Any]) -> Counts:
        """Return how many reports speak of each value of each attribute, given that for each
        attribute.
        """
        return np.concatenate(
            [
                np.broadcast_to(n, each.cells)
                for n, each in zip(answers, self.protocols, strict=True)
            ]
        ).astype(np.int64)

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


def losses_of(protocols: Sequence[Protocol]) -> tuple[list[Fraction], list[Fraction] | None]:
    """Return the losses of protocols, and their ratios if all are fractions."""
    ratios = [each.privacy.ratio for each in protocols]
    losses = [
        Fraction(p.privacy.report) if ratio is None else exact.ln(ratio)
        for p, ratio in zip(protocols, ratios, strict=True)
    ]
    return losses, [ratio for ratio in ratios if ratio is not None] if None not in ratios else None


def combine_laws(laws: list[dict[bytes, Fraction]]) -> Any:
    """Go through all combinations of reports with the probabilities of each."""
    size = prod(map(len, laws))
    if size > LARGEST_LAW:
        raise ValueError(f"law lists every report: these protocols have too many, {size}")
    return zip(product(*laws), product(*(law.values() for law in laws)), strict=True)


def sample_histograms(held: list[Counts], shares: list[float], n: int, rng: Rng) -> list[Counts]:
    """Draw, for each attribute, the histogram of the users who sample it."""
    generator = as_generator(rng)
    found = [np.zeros_like(counts) for counts in held]
    ends = [np.concatenate(([0], np.cumsum(counts))) for counts in held]
    for start in range(0, n, CHUNK):
        stop = min(n, start + CHUNK)
        for j, chosen in enumerate(generator.multinomial(stop - start, shares)):
            users = np.diff(np.clip(ends[j], start, stop))
            found[j] += generator.multivariate_hypergeometric(users, chosen, method="marginals")
    return found
