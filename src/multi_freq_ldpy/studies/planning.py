"""Planning of a collection: the choice of the protocol, the number of users and the budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import registry
from ..core import validate
from ..estimation import intervals
from ..longitudinal.history import MOST_CHANGES, MOST_ROUNDS, History
from ..longitudinal.memoized import Memoized
from ..longitudinal.once import Once
from ..longitudinal.steps import Steps
from ..longitudinal.trees import DDRM, Tree
from ..mechanism import Mechanism
from ..protocol import budgets_of, build_protocol
from ..tables import frames

USERS = 10_000
MOST_USERS = 2**62
SMALLEST, LARGEST = 1e-3, 50.0
FEWEST = 10
"""The least expected number of answers that can be enough. With fewer, there might be none."""


@dataclass(frozen=True)
class Recommendation:
    """One protocol, with its errors for users drawn from a population, and its costs.

    Parameters
    ----------
    protocol : Mechanism
        The protocol with its parameters.
    total : float
        The expected squared error, added up over all values, if all values are equally frequent.
    limit : float
        The total, divided by the least possible total. For many users and uniform data, no unbiased
        protocol with this budget has a smaller total. The printed table calls it "× limit".
    error : float
        The standard error of a value with frequency 0. The printed table calls it "rare".
    worst : float
        The largest standard error over all frequencies.
    report_bytes : int
        Length of a report in bytes.
    work : int
        Approximate number of machine words that are read to count one report. A work of 1 or 2 is
        small, and a work of k is large.
    linked : str or None
        Linkability of the reports of one user: "yes", "for large k" or "no". It is None for
        protocols whose users report once, and for whole histories.
    history : float or None
        Privacy loss of all reports of a user together, between any two histories. It is None for
        protocols that do not protect whole histories.

    Examples
    --------
    >>> from multi_freq_ldpy import recommend
    >>> first = recommend(100, 1.0, n=50_000)[0]
    >>> first.protocol, first.report_bytes, round(first.total, 5), round(first.error, 5)
    (SS(k=100, epsilon=1.0), 13, 0.00722, 0.00847)
    """

    protocol: Mechanism
    total: float
    limit: float
    error: float
    worst: float
    report_bytes: int
    work: int
    linked: str | None = None
    history: float | None = None


class Recommendations(tuple[Recommendation, ...]):
    """The result of ``recommend``: a tuple of recommendations, in the order of total error.

    Parameters
    ----------
    iterable : iterable of Recommendation
        The recommendations.

    Examples
    --------
    >>> from multi_freq_ldpy import recommend
    >>> found = recommend(4, 1.0, n=1000)
    >>> [type(each.protocol).__name__ for each in found[:3]]
    ['GRR', 'SS', 'OLH']
    >>> found[0].report_bytes, round(found[0].worst, 4)
    (1, 0.0526)
    """

    __slots__ = ()

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a table with one row per protocol.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            Kind of the table. None means the first kind that is installed.

        Returns
        -------
        table
            The columns are protocol, total, limit, error, worst, bytes and work. For a pair of
            budgets there is also linked, and for rounds there is also history. The printed table
            calls limit "× limit", and error "rare".

        Raises
        ------
        ImportError
            If the package for this kind of table is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import recommend
        >>> recommend(100, 1.0, max_bytes=4).to_frame("dict")["protocol"]
        ['OLH', 'BLH', 'HR', 'GRR']
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
        for name in ("linked", "history"):
            if any(getattr(each, name) for each in self):
                columns[name] = [getattr(each, name) for each in self]
        return columns

    def __repr__(self) -> str:
        shown = [name for name in ("linked", "history") if name in self._columns()]
        last = "".join(f"  {name}" for name in shown)
        heads = f"{'protocol':10} {'total':>8} {'× limit':>8} {'rare':>8} {'worst':>8}"
        lines = [f"{heads} {'bytes':>9} {'work':>9}{last}"]
        lines += [
            f"{type(each.protocol).__name__:10} {each.total:8.3g} {each.limit:8.2f}"
            f" {each.error:8.3g} {each.worst:8.3g} {each.report_bytes:9,}"
            f" {each.work:9,}  {each.linked or _show_history(each)}".rstrip()
            for each in self
        ]
        return "\n".join(lines)


def _show_history(each: Recommendation) -> str:
    return "" if each.history is None else f"ε = {each.history:.3g}"


def recommend(
    k: int,
    epsilon: float | Sequence[float],
    n: int | None = None,
    max_bytes: int | None = None,
    *,
    rounds: int | None = None,
    changes: int | None = None,
) -> Recommendations:
    """Return the protocols for k values and a budget, the protocol of least total error first.

    Protocols that cannot realise the budget are left out. dBitFlipPM is left out too, because it
    needs a number of buckets.

    With ``rounds``, the candidates protect whole histories: Once and Steps, and for two values also
    Tree and DDRM. Their parameters are those with which estimates are unbiased. All reports of a
    user keep ``epsilon``. The errors are then means over the rounds, for values that do not change.

    The order does not depend on the frequencies of the values. The expected squared error of raw
    estimates, added up over all values, is the same for all frequencies. Only the choice of the
    users from the population adds a part that depends on them, and it is equal for all protocols.
    ``compare`` measures errors about a sample, without this part. For equally frequent values the
    part is (1 − 1/k)/n.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float, or pair of float
        Privacy budget of one report. For users who report again and again, it is the pair
        (eps_perm, eps_1).
    n : int, optional
        Number of users. They are drawn from a population. None means 10 000 users.
    max_bytes : int, optional
        Length of the longest report in bytes. None means no limit.
    rounds : int, optional
        Number of rounds of a whole history. None means that histories are not protected.
    changes : int, optional
        Largest number of changes of a value after the first round. It goes with ``rounds``.

    Returns
    -------
    Recommendations
        One row per protocol. ``total`` is the expected squared error, added up over all values, if
        all values are equally frequent. ``limit`` ("× limit" in print) is the total, divided by the
        least possible total. For many users and uniform data, no unbiased protocol has less.
        ``error`` ("rare" in print) is the standard error of a rare value. ``worst`` is the largest
        standard error over all frequencies. ``work`` is the approximate number of machine words
        that are read to count a report. For a pair of budgets, ``linked`` says if the reports of
        one user can be linked. With ``rounds``, ``history`` is the loss of all reports of a user.

    Raises
    ------
    ValueError
        If no protocol is left, or if a parameter is out of range.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import recommend
    >>> recommend(100, 1.0, n=50_000, max_bytes=4)
    protocol      total  × limit     rare    worst     bytes      work
    OLH         0.00724     1.00  0.00848  0.00981         3       100
    BLH         0.00918     1.27  0.00958  0.00958         3       100
    HR          0.00937     1.30  0.00968  0.00968         1         1
    GRR          0.0694     9.61   0.0261   0.0427         1         1
    >>> recommend(100, (4.0, 2.0), max_bytes=5)
    protocol      total  × limit     rare    worst     bytes      work  linked
    LOLH        0.00712     1.00  0.00831   0.0134         3       100  yes
    LBLH         0.0169     2.38    0.013    0.013         3       100  yes
    LGRR         0.0275     3.87   0.0161   0.0423         1         1  no
    >>> recommend(2, 1.0, rounds=64, changes=3)
    protocol      total  × limit     rare    worst     bytes      work  history
    Steps       0.00769    32.83   0.0586   0.0617         3         2  ε = 1
    Once          0.015    64.00   0.0768   0.0866         2         1  ε = 1
    Tree          0.024   102.60    0.108    0.108         3         2  ε = 1
    DDRM           1.63  6971.68    0.892    0.892         3         2  ε = 1
    """
    size = validate.domain_size("k", k)
    users = USERS if n is None else validate.Integer(1, MOST_USERS)("n", n)
    most = None if max_bytes is None else validate.Integer(1, MOST_USERS)("max_bytes", max_bytes)
    budgets = check_budgets("epsilon", epsilon)
    found: list[Recommendation] = []
    refused: ValueError | None = None
    for make in _list_candidates(size, budgets, rounds, changes):
        try:
            protocol = make()
        except ValueError as error:  # this protocol cannot realise the budget
            refused = error
            continue
        rated = _rate(protocol, users, budgets[-1])
        if most is None or rated.report_bytes <= most:
            found.append(rated)
    if not found:
        within = "" if most is None else f" in at most {most} bytes"
        raise ValueError(
            f"no protocol realises epsilon={validate.quote(epsilon)} with k={size}{within}"
            + (f": {refused}" if refused else "")
        )
    return Recommendations(sorted(found, key=lambda each: (each.total, each.report_bytes)))


def _list_candidates(
    k: int, budgets: tuple[float, ...], rounds: int | None, changes: int | None
) -> list[Callable[[], Any]]:
    """Return functions that make the protocols to compare."""
    if rounds is None and changes is None:
        over_time = len(budgets) == 2
        return [
            partial(cls, k, *budgets)
            for cls in registry.BY_BUDGETS.values()
            if len(budgets_of(cls)) == len(budgets) and issubclass(cls, Memoized) == over_time
        ]
    if len(budgets) == 2:
        raise ValueError(
            f"rounds={validate.quote(rounds)} needs one budget, that of the whole history, not"
            f" {validate.quote(budgets)}"
        )
    (epsilon,) = budgets
    t = validate.Integer(2, MOST_ROUNDS)("rounds", rounds)
    c = validate.Integer(1, MOST_CHANGES)("changes", changes)
    made: list[Callable[[], Any]] = [
        partial(Once, k, epsilon, t),
        partial(Steps, k, epsilon, t, c),
    ]
    if k == 2:  # a first value of 1 is a change from the known 0
        made.append(partial(Tree, epsilon, t, c + 1))
        made.append(partial(DDRM, epsilon, t, (c + 1) * t.bit_length()))
    return made


def _rate(protocol: Any, n: int, epsilon: float) -> Recommendation:
    """Return the errors and costs of a protocol."""
    k = protocol.k
    least = k * least_error(k, epsilon, n) + (1 - 1 / k) / n
    if isinstance(protocol, History):
        return _rate_history(protocol, n, least)
    total = k * _largest_std(protocol, n, 1 / k, "population", 0) ** 2
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


def _rate_history(history: History, n: int, least: float) -> Recommendation:
    """Return the mean errors over the rounds, and the costs, of a mechanism with rounds.

    All its reports together keep the budget. So the least total of one report with this budget is
    also a bound for every round.
    """
    k, shares = history.k, np.array([0.0, 0.5, 1.0, 1 / history.k])
    variances = history.variance(n, shares) + shares * (1 - shares) / n
    total = float(k * variances[:, 3].mean())
    worst = [find_peak(each) for each in variances[:, :3].tolist()]
    return Recommendation(
        history,
        total,
        total / least,
        float(np.sqrt(variances[:, 0]).mean()),
        float(np.sqrt(worst).mean()),
        history.at(0).report_bytes,
        history.work,
        history=history.privacy.history,
    )


def least_error(k: int, epsilon: float, n: int) -> float:
    """Return the mean squared error over k values, with sets of the best size.

    For many users it is the least that a protocol with this budget can promise for all data. The
    proof is by Ye and Barg, "Optimal schemes for discrete distribution estimation under locally
    differential privacy", 2018. The error is about the users who took part. For users who are drawn
    from a population, add (1 − 1/k)/k/n.
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
    """Return the number of users that is needed to estimate a frequency to within ± ``error``.

    For whole histories, the round with the largest error decides.

    Parameters
    ----------
    factory : callable
        A protocol class, or a function. ``factory(k, epsilon)`` is a protocol, a history such as
        that of ``partial(Steps, rounds=12, changes=2)``, or a solution.
    k : int, or list of int
        Number of possible values, which are 0, …, k − 1. For a solution, a list with one number per
        attribute. The attribute with the largest error decides.
    epsilon : float, or pair of float
        Privacy budget of one report. For protocols with two budgets, the pair (eps_perm, eps_1).
    error : float
        Largest error of the estimate that is allowed.
    level : float
        Probability with which an interval covers the true value. The interval is the estimate
        ± ``error``.
    f : float, optional
        True frequency of the value. None means the frequency with the largest error.
    of : {"sample", "population"}
        Group whose frequency is meant: the users who took part, or the population that they were
        drawn from. The default is "population".

    Returns
    -------
    int
        The least number of users.

    Raises
    ------
    ValueError
        If no number of users is enough, or if a parameter is out of range.
    TypeError
        If ``factory`` does not make a protocol or a solution.

    Examples
    --------
    >>> from functools import partial
    >>> from multi_freq_ldpy import GRR, OUE, SMP, Steps, sample_size
    >>> sample_size(OUE, 10, 1.0, 0.01)
    179884
    >>> sample_size(OUE, 10, 1.0, 0.01, f=0.0)
    141470
    >>> sample_size(partial(SMP, GRR), [2, 3], 1.0, 0.01)
    144827
    >>> sample_size(partial(Steps, rounds=12, changes=2), 2, 1.0, 0.01)
    609091
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
                f"error={error} cannot be reached: even with {MOST_USERS} users the error is"
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

    The result is at least 0.001. Its relative error is at most a millionth. For whole histories,
    the round with the largest error decides, and the budget is that of the whole history.

    Parameters
    ----------
    factory : callable
        A protocol class, or a function. ``factory(k, epsilon)`` is a protocol or a solution with
        one budget. For two budgets, give a function that sets both, such as
        ``lambda k, eps: LOSUE(k, 2 * eps, eps)``.
    k : int, or list of int
        Number of possible values, which are 0, …, k − 1. For a solution, a list with one number per
        attribute. The attribute with the largest error decides.
    n : int
        Number of users.
    error : float
        Largest error of the estimate that is allowed.
    level : float
        Probability with which an interval covers the true value. The interval is the estimate
        ± ``error``.
    f : float, optional
        True frequency of the value. None means the frequency with the largest error.
    of : {"sample", "population"}
        Group whose frequency is meant: the users who took part, or the population that they were
        drawn from. The default is "population".

    Returns
    -------
    float
        The budget.

    Raises
    ------
    ValueError
        If no budget is enough, or if a parameter is out of range.
    TypeError
        If ``factory`` does not make a protocol or a solution.

    Examples
    --------
    >>> from multi_freq_ldpy import OUE, epsilon_for
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
            f"error={error} cannot be reached with n={users} users: the error of the best budget is"
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
    """Return the allowed error, the quantile of the level, and the frequency, all checked."""
    reach = validate.probability("error", error, 1e-9, 1.0)
    z = intervals.normal_quantile(validate.probability("level", level, 1e-6, 1 - 1e-12))
    validate.choice("of", of, ("sample", "population"))
    return reach, z, None if f is None else validate.probability("f", f)


def check_budgets(name: str, epsilon: Any) -> tuple[float, ...]:
    """Return one budget or two budgets, checked."""
    if isinstance(epsilon, list | tuple | np.ndarray):
        if len(epsilon) != 2:
            raise ValueError(
                f"{name} must be a number or a pair (eps_perm, eps_1), not"
                f" {validate.quote(epsilon)}"
            )
        return tuple(validate.budget(f"{name}[{i}]", each) for i, each in enumerate(epsilon))
    return (validate.budget(name, epsilon),)


def _build_mechanism(factory: Any, k: Any, budgets: tuple[float, ...]) -> Any:
    """Return the protocol or solution that a factory makes."""
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
    """Return the largest standard error over all attributes, at f or at the worst frequency.

    For whole histories it is the largest one over all rounds, too.
    """
    if n * _least_share(mechanism) < fewest:
        return float("inf")
    shares = np.array([0.0, 0.5, 1.0] if f is None else [f])
    if mechanism.rounds is not None:
        drawn = shares * (1 - shares) / n if of == "population" else 0.0
        rows = (mechanism.variance(n, shares) + drawn).reshape(-1, len(shares))
    else:
        rows = np.array(
            [
                seen.channel.sampled_variance(answering, np.array(n), shares, of)
                for (seen, _), answering in zip(mechanism.parts, mechanism.answering, strict=True)
            ],
            np.float64,
        )
    return float(max(find_peak(row) if f is None else row[0] for row in rows.tolist()) ** 0.5)


def _least_share(mechanism: Any) -> float:
    """Return the least expected share of the users who answer, over attributes and rounds."""
    if mechanism.rounds is None:
        return float(min(mechanism.answering))
    least: float = min(each.report_shares.min() for each in mechanism.leaves)
    return least / len(mechanism.leaves) if mechanism.samples else least


def find_peak(variances: Sequence[float]) -> float:
    """Return the largest variance over all frequencies, given those at 0, 1/2 and 1.

    A variance is a quadratic function of the frequency. It may be largest between the ends.
    """
    start, middle, end = variances
    bend, slope = 2 * (start + end - 2 * middle), 4 * middle - 3 * start - end
    inside = start - slope**2 / (4 * bend) if bend < 0 and 0 < slope < -2 * bend else 0.0
    return max(start, middle, end, inside)
