"""Before collecting: which protocol, how many users, how much budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import registry
from ..core import validate
from ..estimation import intervals
from ..longitudinal.memoized import Memoized
from ..mechanism import Mechanism
from ..protocol import Protocol, budgets_of, build_protocol
from ..tables import frames

USERS = 10_000
MOST_USERS = 2**62
SMALLEST, LARGEST = 1e-3, 50.0
FEWEST = 10
"""Fewer answers than this, on average, are never enough: there might be none."""


@dataclass(frozen=True)
class Recommendation:
    """One protocol, with its errors for users drawn from a population, and its costs.

    Attributes
    ----------
    protocol : Mechanism
        The protocol with its parameters.
    total : float
        The expected squared error, added up over all values, if all are equally frequent.
    limit : float
        How many times the least total that any protocol with this budget can promise.
    error : float
        The standard error of a value that nobody holds.
    worst : float
        The largest standard error over all frequencies.
    report_bytes : int
        The length of a report.
    work : int
        About how many machine words counting a report looks at.
    linked : str or None
        Whether the reports of one user can be told to be of one user: "yes", "for large k" or "no".
        None for protocols of one report.
    """

    protocol: Mechanism
    total: float
    limit: float
    error: float
    worst: float
    report_bytes: int
    work: int
    linked: str | None = None


class Recommendations(tuple[Recommendation, ...]):
    """Protocols, the one of least total error first."""

    __slots__ = ()

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a table with one row per protocol.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is a kind that is installed.

        Returns
        -------
        table
            The attributes of ``Recommendation`` as columns.
        """
        return frames.build_table(kind, self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "protocol": [type(each.protocol).__name__ for each in self],
            "total": [each.total for each in self],
            "limit": [each.limit for each in self],
            "error": [each.error for each in self],
            "worst": [each.worst for each in self],
            "bytes": [each.report_bytes for each in self],
            "work": [each.work for each in self],
        }
        return columns | ({"linked": [each.linked for each in self]} if self._over_time() else {})

    def _over_time(self) -> bool:
        return any(each.linked for each in self)

    def __repr__(self) -> str:
        last = "  linked" if self._over_time() else ""
        heads = f"{'protocol':10} {'total':>8} {'× limit':>8} {'rare':>8} {'worst':>8}"
        lines = [f"{heads} {'bytes':>9} {'work':>9}{last}"]
        lines += [
            f"{type(each.protocol).__name__:10} {each.total:8.3g} {each.limit:8.2f}"
            f" {each.error:8.3g} {each.worst:8.3g} {each.report_bytes:9,}"
            f" {each.work:9,}  {each.linked or ''}".rstrip()
            for each in self
        ]
        return "\n".join(lines)


def recommend(
    k: int, epsilon: float | Sequence[float], n: int | None = None, max_bytes: int | None = None
) -> Recommendations:
    """Return the protocols for k values and a budget, the one of least total error first.

    Protocols that cannot realise the budget are left out, and so is dBitFlipPM, which has buckets
    to choose.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float, or pair of floats
        The budget, or (eps_perm, eps_1) for users who report again and again.
    n : int, optional
        The number of users, drawn from a population; 10 000 by default.
    max_bytes : int, optional
        The length of the longest report.

    Returns
    -------
    Recommendations
        One row per protocol. ``total`` is the expected squared error of all values together, if all
        are equally frequent, and ``limit`` how many times the least that can be promised that is.
        ``error`` is the standard error of a rare value, ``worst`` the largest over all frequencies.
        For a pair of budgets, ``linked`` says whether the reports of one user can be told to be of
        one user.

    Raises
    ------
    ValueError
        If no protocol is left, or a parameter is out of range.

    Examples
    --------
    >>> recommend(100, 1.0, n=50_000, max_bytes=4)
    protocol      total  × limit     rare    worst     bytes      work
    OLH         0.00724     1.00  0.00848  0.00981         3       100
    BLH         0.00918     1.27  0.00958  0.00958         3       100
    GRR          0.0694     9.61   0.0261   0.0427         1         1
    >>> recommend(100, (4.0, 2.0), max_bytes=5)
    protocol      total  × limit     rare    worst     bytes      work  linked
    LOLH        0.00712     1.00  0.00831   0.0134         3       100  yes
    LBLH         0.0169     2.38    0.013    0.013         3       100  yes
    LGRR         0.0275     3.87   0.0161   0.0423         1         1  no
    """
    size = validate.domain_size("k", k)
    users = USERS if n is None else validate.Integer(1, MOST_USERS)("n", n)
    most = None if max_bytes is None else validate.Integer(1, MOST_USERS)("max_bytes", max_bytes)
    budgets = check_budgets("epsilon", epsilon)
    found: list[Recommendation] = []
    refused: ValueError | None = None
    for cls in registry.PROTOCOLS.values():
        if len(budgets_of(cls)) != len(budgets) or issubclass(cls, Memoized) != (len(budgets) == 2):
            continue
        try:
            protocol = cls(size, *budgets)
        except ValueError as error:  # a budget that this protocol cannot realise
            refused = error
            continue
        if most is None or protocol.report_bytes <= most:
            found.append(_rate(protocol, users, budgets[-1]))
    if not found:
        within = "" if most is None else f" in at most {most} bytes"
        raise ValueError(
            f"no protocol realises epsilon={validate.quote(epsilon)} with k={size}{within}"
            + (f": {refused}" if refused else "")
        )
    return Recommendations(sorted(found, key=lambda each: (each.total, each.report_bytes)))


def _rate(protocol: Protocol, n: int, epsilon: float) -> Recommendation:
    """Return the errors and costs of a protocol."""
    k = protocol.k
    total = k * _largest_std(protocol, n, 1 / k, "population", 0) ** 2
    least = k * least_error(k, epsilon, n) + (1 - 1 / k) / n
    rare, worst = (_largest_std(protocol, n, f, "population", 0) for f in (0.0, None))
    return Recommendation(
        protocol,
        total,
        total / least,
        rare,
        worst,
        protocol.report_bytes,
        protocol.work,
        getattr(protocol, "linked", None),
    )


def least_error(k: int, epsilon: float, n: int) -> float:
    """Return the mean squared error over k values, with sets of the best size.

    For many users it is the least that a protocol with this budget can promise for all data: Ye and
    Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy",
    2018. The users are given; for users drawn from a population (1 − 1/k)/k/n comes on top.
    """
    e = np.exp(min(epsilon, 500.0))
    best = k / (1 + e)
    sizes = np.clip([np.floor(best), np.ceil(best)], 1, k - 1)
    p = sizes * e / (sizes * e + k - sizes)
    q = (sizes * e * (sizes - 1) + (k - sizes) * sizes) / ((k - 1) * (sizes * e + k - sizes))
    return float(np.min(q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / k) / n)


def sample_size(
    factory: Callable[..., Any],
    k: Any,
    epsilon: float | Sequence[float],
    error: float,
    level: float = 0.95,
    f: float | None = None,
    of: str = "population",
) -> int:
    """Return how many users are needed to estimate a frequency to within ± ``error``.

    Parameters
    ----------
    factory : callable
        ``factory(k, epsilon)`` is a protocol or a solution.
    k : int, or list of int
        The number of values; for a solution one number per attribute. The attribute with the
        largest error counts.
    epsilon : float, or pair of floats
        The budget, or (eps_perm, eps_1) for protocols with two budgets.
    error : float
        How far the estimate may be off.
    level : float
        The probability that it is not further off.
    f : float, optional
        The true frequency; by default the one with the largest error.
    of : {"population", "sample"}
        Whether the frequency is that of the population which the users are drawn from, or that of
        the users who take part.

    Returns
    -------
    int
        The least number of users.

    Raises
    ------
    ValueError
        If no number of users is enough, or a parameter is out of range.

    Examples
    --------
    >>> from functools import partial
    >>> from multi_freq_ldpy import GRR, OUE, SMP
    >>> sample_size(OUE, 10, 1.0, 0.01)
    179884
    >>> sample_size(OUE, 10, 1.0, 0.01, f=0.0)
    141470
    >>> sample_size(partial(SMP, GRR), [2, 3], 1.0, 0.01)
    144827
    """
    mechanism = _build_mechanism(factory, k, check_budgets("epsilon", epsilon))
    reach, z, share = _check_aim(error, level, f, of)

    def enough(n: int) -> bool:
        return z * _largest_std(mechanism, n, share, of) <= reach

    n = 1
    while not enough(n):
        n *= 2
        if n > MOST_USERS:
            raise ValueError(
                f"error={error} cannot be reached: even {MOST_USERS} users have"
                f" {z * _largest_std(mechanism, MOST_USERS, share, of):.2g}"
            )
    low = n // 2
    while n - low > 1:
        middle = (low + n) // 2
        low, n = (low, middle) if enough(middle) else (middle, n)
    return n


def epsilon_for(
    factory: Callable[..., Any],
    k: Any,
    n: int,
    error: float,
    level: float = 0.95,
    f: float | None = None,
    of: str = "population",
) -> float:
    """Return the smallest budget with which n users are enough for ± ``error``.

    It is 0.001 at least, and found to a millionth.

    Parameters
    ----------
    factory : callable
        ``factory(k, epsilon)`` is a protocol or a solution with one budget. For two, say how they
        go together: ``lambda k, eps: LOSUE(k, 2 * eps, eps)``.
    k : int, or list of int
        The number of values; for a solution one number per attribute. The attribute with the
        largest error counts.
    n : int
        The number of users.
    error : float
        How far the estimate may be off.
    level : float
        The probability that it is not further off.
    f : float, optional
        The true frequency; by default the one with the largest error.
    of : {"population", "sample"}
        Whether the frequency is that of the population which the users are drawn from, or that of
        the users who take part.

    Returns
    -------
    float
        The budget.

    Raises
    ------
    ValueError
        If no budget is enough, or a parameter is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy import OUE
    >>> round(epsilon_for(OUE, 10, 141_470, 0.01, f=0.0), 4)
    1.0
    """
    users = validate.Integer(1, MOST_USERS)("n", n)
    reach, z, share = _check_aim(error, level, f, of)
    refused: list[ValueError] = []

    def reached(epsilon: float) -> float:
        try:
            return z * _largest_std(_build_mechanism(factory, k, (epsilon,)), users, share, of)
        except ValueError as refusal:  # not every budget can be realised
            refused.append(refusal)
            return float("inf")

    grid = np.geomspace(SMALLEST, LARGEST, 80).tolist()
    errors = [reached(grid[0])]
    while errors[-1] > reach and len(errors) < len(grid):
        errors.append(reached(grid[len(errors)]))
    if len(refused) == len(errors):
        raise refused[0]
    if errors[-1] > reach:
        raise ValueError(
            f"error={error} cannot be reached with n={users} users: the best budget has"
            f" {min(errors):.2g}"
        )
    high, low = grid[len(errors) - 1], grid[max(0, len(errors) - 2)]
    while high / low > 1 + 1e-6:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if reached(middle) <= reach else (middle, high)
    return float(high)


def _check_aim(
    error: float, level: float, f: float | None, of: str
) -> tuple[float, float, float | None]:
    """Return the error aimed at, how many standard errors it has to be, and the frequency."""
    reach = validate.probability("error", error, 1e-9, 1.0)
    z = intervals.normal_quantile(validate.probability("level", level, 1e-6, 1 - 1e-12))
    validate.choice("of", of, ("sample", "population"))
    return reach, z, None if f is None else validate.probability("f", f)


def check_budgets(name: str, epsilon: Any) -> tuple[float, ...]:
    """Return one budget or two."""
    if isinstance(epsilon, list | tuple | np.ndarray):
        if len(epsilon) != 2:
            raise ValueError(
                f"{name} must be a number or a pair (eps_perm, eps_1), not"
                f" {validate.quote(epsilon)}"
            )
        return tuple(validate.budget(f"{name}[{i}]", each) for i, each in enumerate(epsilon))
    return (validate.budget(name, epsilon),)


def _build_mechanism(factory: Any, k: Any, budgets: tuple[float, ...]) -> Any:
    """Return what a factory makes."""
    if not callable(factory):
        raise TypeError(
            "factory must be a protocol class, or a callable that makes a protocol or a solution,"
            f" not {validate.quote(factory)}"
        )
    mechanism = build_protocol(factory, k, budgets)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"factory must make a protocol or a solution, not {validate.quote(mechanism)}"
        )
    return mechanism


def _largest_std(mechanism: Any, n: int, f: float | None, of: str, fewest: int = FEWEST) -> float:
    """Return the standard error of the attribute with the largest, at f or at the worst f."""
    if n * min(mechanism.answering) < fewest:
        return float("inf")
    shares = np.array([0.0, 0.5, 1.0] if f is None else [f])
    worst = 0.0
    for (seen, _), answering in zip(mechanism.parts, mechanism.answering, strict=True):
        variance = np.asarray(
            seen.channel.sampled_variance(answering, np.array(n), shares, of), np.float64
        )
        worst = max(worst, float(variance.max()))
        if f is None:  # a quadratic function of f, which may be largest between the ends
            start, middle, end = variance.tolist()
            bend, slope = 2 * (start + end - 2 * middle), 4 * middle - 3 * start - end
            if bend < 0 and 0 < slope < -2 * bend:
                worst = max(worst, start - slope**2 / (4 * bend))
    return float(worst**0.5)
