"""Confidence limits for frequencies in [0, 1].

Under a true frequency f the estimate is close to normal with a variance that is a quadratic
function of f, known exactly. A value f is kept if the estimate x is not too unlikely under it,
compared with the best f in [0, 1]: the score test with the likelihood-ratio ordering of Feldman and
Cousins (1998). Plain score limits cut off at 0 would cover 97.5 % instead of 95 % at f = 0. Where
counts are too small for the normal law, limits come from the exact law of the count, half of the
error on either side, or, for groups of values whose law is not known, from Bernstein's inequality.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, erfc, floor, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.channel import Channel

Vector = NDArray[np.float64]
SMALL = 50.0
"""Counts of smaller variance, or from fewer reports, are not taken for normal."""

SKEWED = 15.0
"""The same where a frequency of 0 gives a variance of at least ``SMALL`` and only larger
frequencies have less.
"""


def variance_of(
    channel: Channel, n: ArrayLike, users: int | None, of: str
) -> Callable[[ArrayLike], Vector]:
    """Return the variance of an estimated frequency as a function of the true one.

    Where only n of the users answered, or the users stand for a population, who answered is random
    too.
    """
    n = np.maximum(np.asarray(n, np.float64), 1.0)
    if of == "population":
        sampling: ArrayLike = 1 / n
    else:
        everyone = np.maximum(n, n if users is None else users)
        sampling = (everyone - n) / (n * np.maximum(everyone - 1, 1))
    return lambda f: channel.variance(n, f) + np.asarray(f) * (1 - np.asarray(f)) * sampling


def limits(
    x: Vector,
    counts: NDArray[np.int64] | None,
    n: ArrayLike,
    users: int | None,
    channel: Channel,
    level: float,
    of: str,
) -> Vector:
    """Return lower and upper limits, shape (k, 2)."""
    every = np.broadcast_to(np.asarray(n), x.shape)
    result = np.tile([0.0, 1.0], (x.size, 1))
    known = np.flatnonzero(every > 0)
    if not known.size:
        return result
    _, first, inverse = np.unique(
        x[known] + 1j * every[known], return_index=True, return_inverse=True
    )
    first = known[first]  # equal counts of equal numbers of reports have equal limits
    sigma2 = variance_of(channel, every[first], users, of)
    found = normal_limits(x[first], sigma2, level)
    if counts is not None:
        reports = every[first].astype(np.float64)
        # The variance of the count at either end
        spread = np.minimum(*((reports * channel.slope) ** 2 * sigma2(f) for f in found.T))
        enough = channel.unit**2 * np.where(
            reports * float(channel.spread[1]) >= channel.unit**2 * SMALL, SKEWED, SMALL
        )
        sampled = of == "population" or (users is not None and bool((every < users).any()))
        for i in np.flatnonzero((spread < enough) | (reports < SMALL)):
            count, n = int(counts[first[i]]), int(every[first[i]])
            if channel.known_law:
                found[i] = exact_limits(count, n, channel, level, sampled)
            else:
                found[i] = bernstein_limits(x[first[i]], n, channel, level, sampled)
    result[known] = found[inverse.reshape(-1)]
    return result


def normal_limits(x: Vector, sigma2: Callable[[ArrayLike], Vector], level: float) -> Vector:
    """Return the limits of the frequencies that are kept, by bisection on either side of the best
    one.
    """
    best = np.clip(x, 0.0, 1.0)
    z = normal_quantile(level)
    # No kept f is further from the best one
    reach = z * np.sqrt(sigma2(0.0) + 2 * sigma2(0.5) + sigma2(1.0))

    def kept(f: Vector) -> NDArray[np.bool_]:
        sigma = np.sqrt(sigma2(f))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = ((x - f) ** 2 - (x - best) ** 2) / sigma**2
            near, far = f / sigma, (1 - f) / sigma
        return np.asarray((f == best) | (statistic <= _critical(near, far, level)))

    outside = np.clip(np.stack((best - reach, best + reach)), 0.0, 1.0)
    result = np.where(kept(outside), outside, best)
    step = outside - result
    for _ in range(30):
        step = step / 2
        result = np.where(kept(result + step), result + step, result)
    return result.T


@lru_cache(maxsize=32)
def normal_quantile(level: float) -> float:
    """Return how many standard deviations on either side hold ``level`` of a normal law."""
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def _critical(near: Vector, far: Vector, level: float) -> Vector:
    """Return how large the statistic may be, given the distances to 0 and to 1 in standard
    deviations (bilinear in a table).
    """
    table = _critical_table(level)
    last = table.shape[0] - 1
    z = normal_quantile(level)
    a, b = (
        np.clip(np.nan_to_num(d, nan=np.inf, posinf=np.inf) / z * last, 0, last)
        for d in (near, far)
    )
    i, j = np.minimum(a.astype(np.int64), last - 1), np.minimum(b.astype(np.int64), last - 1)
    u, v = a - i, b - j
    low = table[i, j] * (1 - v) + table[i, j + 1] * v
    high = table[i + 1, j] * (1 - v) + table[i + 1, j + 1] * v
    result: Vector = low * (1 - u) + high * u
    return result


@lru_cache(maxsize=32)
def _critical_table(level: float) -> Vector:
    """Solve P(statistic ≤ c) = level on a grid of distances to the two ends.

    Beyond z both ends are out of reach.
    """
    z = normal_quantile(level)
    distance = np.linspace(0.0, z, 129)
    grid = np.linspace(0.0, 9.0, 9001)
    normal = np.array([erfc(-d / sqrt(2)) / 2 for d in grid])
    low, high = np.zeros((129, 129)), np.full((129, 129), z * z)

    def reached(d: Vector, c: Vector) -> Vector:
        root = np.sqrt(c)
        with np.errstate(divide="ignore"):
            bound = np.where(d >= root, root, (d * d + c) / (2 * d))
        return np.asarray(np.interp(bound, grid, normal))

    for _ in range(50):
        middle = (low + high) / 2
        covered = reached(distance[:, None], middle) + reached(distance[None, :], middle) - 1
        low, high = np.where(covered < level, middle, low), np.where(covered < level, high, middle)
    return high


def exact_limits(
    count: int, n: int, channel: Channel, level: float, sampled: bool
) -> tuple[float, float]:
    """Return the frequencies under which neither tail beyond ``count`` is rarer than (1 −
    level)/2.
    """
    tail = (1 - level) / 2
    # A count beyond what f = 0 or f = 1 gives on average says no more than that average: no
    # interval shrinks to a point
    at_least, at_most = (
        max(count, floor(n * float(channel.q))),
        min(count, ceil(n * float(channel.p))),
    )
    # Frequencies to choose from: multiples of 1/n, or practically all
    points = n if not sampled else 2**40

    def up_to(i: int) -> float:
        start, law = channel.count_law(n, i / points, sampled=sampled)
        return float(law[: max(at_least - start + 1, 0)].sum())

    def from_on(i: int) -> float:
        start, law = channel.count_law(n, i / points, sampled=sampled)
        return float(law[max(at_most - start, 0) :].sum())

    def last(holds: Callable[[int], bool], inside: int, outside: int) -> int:
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if holds(middle) else (inside, middle)
        return inside

    lower = 0 if from_on(0) > tail else last(lambda i: from_on(i) > tail, points, 0)
    upper = points if up_to(points) > tail else last(lambda i: up_to(i) > tail, 0, points)
    return lower / points, upper / points


def bernstein_limits(
    x: float, n: int, channel: Channel, level: float, sampled: bool
) -> tuple[float, float]:
    """Return limits from Bernstein's inequality, which needs the variance and the size of a
    contribution only.
    """
    rarity = log(2 / (1 - level))
    spread = n * (
        max(float(v) for v in channel.spread) + (channel.slope**2 / 4 if sampled else 0.0)
    )
    size = (channel.largest - channel.smallest) * rarity / 3
    reach = (size + sqrt(size * size + 2 * spread * rarity)) / (n * channel.slope)
    return min(max(x - reach, 0.0), 1.0), max(min(x + reach, 1.0), 0.0)
