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
from ..protocol import budgets_of, build_protocol
from ..solutions.base import Solution
from ..tables import frames

USERS = 10_000
MOST_USERS = 2**62
SMALLEST, LARGEST = 1e-3, 50.0
FEWEST = 10
"""Fewer answers than this, on average, are never enough: there might be none."""


@dataclass(frozen=True)
class Recommendation:
    """One protocol: its standard error for rare values, the length of a report, and about how many
    words counting one looks at.

    ``linked`` says whether the reports of one user can be told to be of one user: "yes", "for large
    k" or "no". It is None for protocols of one report.
    """

    protocol: Mechanism
    error: float
    report_bytes: int
    work: int
    linked: str | None = None


class Recommendations(tuple[Recommendation, ...]):
    """Protocols, the one of least error first."""

    __slots__ = ()

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a table with a row a protocol."""
        return frames.build_table(kind, self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "protocol": [type(each.protocol).__name__ for each in self],
            "error": [each.error for each in self],
            "bytes": [each.report_bytes for each in self],
            "work": [each.work for each in self],
        }
        return columns | ({"linked": [each.linked for each in self]} if self._over_time() else {})

    def _over_time(self) -> bool:
        return any(each.linked for each in self)

    def __repr__(self) -> str:
        last = "  linked" if self._over_time() else ""
        lines = [f"{'protocol':10} {'error':>8} {'bytes':>9} {'work':>9}{last}"]
        lines += [
            f"{type(each.protocol).__name__:10} {each.error:8.3g} {each.report_bytes:9,}"
            f" {each.work:9,}  {each.linked or ''}".rstrip()
            for each in self
        ]
        return "\n".join(lines)


def recommend(
    k: int, epsilon: float | Sequence[float], n: int | None = None, max_bytes: int | None = None
) -> Recommendations:
    """Return the protocols for k values and a budget, the one with the least error first.

    ``epsilon`` is one budget, or a pair (eps_perm, eps_1) for users who report again and again. The
    error is the standard error of the frequency of a rare value among n users (10 000 if nothing
    else); ``max_bytes`` leaves out longer reports; ``work`` is about how many machine words
    counting a report looks at. For a pair of budgets, ``linked`` says whether the reports of one
    user can be told to be of one user. Protocols that cannot realise the budget are left out, and
    so is dBitFlipPM, which has buckets to choose.

    >>> recommend(100, 1.0, n=50_000, max_bytes=4)
    protocol      error     bytes      work
    OLH         0.00848         3       100
    BLH         0.00958         3       100
    GRR          0.0261         1         1
    >>> recommend(100, (4.0, 2.0), max_bytes=5)
    protocol      error     bytes      work  linked
    LOLH        0.00831         3       100  yes
    LBLH          0.013         3       100  yes
    LGRR         0.0161         1         1  no
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
            found.append(
                Recommendation(
                    protocol,
                    float(protocol.variance(users)) ** 0.5,
                    protocol.report_bytes,
                    protocol.work,
                    getattr(protocol, "linked", None),
                )
            )
    if not found:
        within = "" if most is None else f" in at most {most} bytes"
        raise ValueError(
            f"no protocol realises epsilon={validate.quote(epsilon)} with k={size}{within}"
            + (f": {refused}" if refused else "")
        )
    return Recommendations(sorted(found, key=lambda each: (each.error, each.report_bytes)))


def sample_size(
    factory: Callable[..., Any],
    k: Any,
    epsilon: float | Sequence[float],
    error: float,
    level: float = 0.95,
    f: float = 0.0,
) -> int:
    """Return how many users are needed for a frequency of f to be estimated to within ± ``error``
    with probability ``level``.

    ``factory(k, epsilon)`` is a protocol or a solution (then k is a list of domain sizes, and the
    attribute with the largest error counts); ``epsilon`` is a pair for protocols with two budgets.

    >>> from functools import partial
    >>> from multi_freq_ldpy import GRR, OUE, SMP
    >>> sample_size(OUE, 10, 1.0, 0.01)
    141470
    >>> sample_size(partial(SMP, GRR), [2, 3], 1.0, 0.01)
    96758
    """
    mechanism = _build_mechanism(factory, k, check_budgets("epsilon", epsilon))
    reach = validate.probability("error", error, 1e-9, 1.0)
    share, z = (
        validate.probability("f", f),
        intervals.normal_quantile(validate.probability("level", level, 1e-6, 1 - 1e-12)),
    )

    def enough(n: int) -> bool:
        return z * _largest_std(mechanism, n, share) <= reach

    n = 1
    while not enough(n):
        n *= 2
        if n > MOST_USERS:
            raise ValueError(
                f"error={error} cannot be reached: even {MOST_USERS} users have"
                f" {z * _largest_std(mechanism, MOST_USERS, share):.2g}"
            )
    low = n // 2
    while n - low > 1:
        middle = (low + n) // 2
        low, n = (low, middle) if enough(middle) else (middle, n)
    return n


def epsilon_for(
    factory: Callable[..., Any], k: Any, n: int, error: float, level: float = 0.95, f: float = 0.0
) -> float:
    """Return the smallest budget from 0.001 on with which n users are enough for ± ``error`` (see
    ``sample_size``), to a millionth.

    ``factory`` takes one budget; for two say how they go together: ``lambda k, eps: LOSUE(k, 2 *
    eps, eps)``.

    >>> from multi_freq_ldpy import OUE
    >>> round(epsilon_for(OUE, 10, 141_470, 0.01), 4)
    1.0
    """
    users, reach = (
        validate.Integer(1, MOST_USERS)("n", n),
        validate.probability("error", error, 1e-9, 1.0),
    )
    share, z = (
        validate.probability("f", f),
        intervals.normal_quantile(validate.probability("level", level, 1e-6, 1 - 1e-12)),
    )

    refused: list[ValueError] = []

    def reached(epsilon: float) -> float:
        try:
            return z * _largest_std(_build_mechanism(factory, k, (epsilon,)), users, share)
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


def _largest_std(mechanism: Any, n: int, f: float) -> float:
    if n * min(mechanism.answering) < FEWEST:
        return float("inf")
    variance = mechanism.variance(n, f)
    worst = np.max(variance) if isinstance(mechanism, Solution) else variance
    return float(np.sqrt(worst))
