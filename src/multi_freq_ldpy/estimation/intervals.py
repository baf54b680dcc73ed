"""Confidence limits for frequencies in [0, 1], and for differences in [−1, 1].

Given a true frequency f, the estimate is close to normal. Its variance is a quadratic function of
f, which is known exactly. The interval keeps each f under which the estimate x is not too unlikely,
compared with the best f in [0, 1]. This is the score test with the likelihood-ratio ordering of
Feldman and Cousins (1998). Plain score limits, cut off at 0, would cover 97.5 % instead of 95 % at
f = 0.

Estimates from few reports, or from counts of small variance, are not normal. The same test then
takes its probabilities from the exact distribution of the count. If that is not known, as for some
groups of values, limits come from Bernstein's inequality.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import erfc, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.channel import Channel

Vector = NDArray[np.float64]
Law = Callable[[float], Sequence[tuple[Vector, Vector]]]
"""A function from a parameter to the values of its estimate and their probabilities.

If the parameter does not determine the distribution, there are several. The parameter is kept if
one distribution keeps it.
"""

FEW = 200
"""Largest number of reports whose estimates are not treated as normal."""

SMALL = 50.0
"""Variance below which counts are not treated as normal."""

SKEWED = 15.0
"""Variance that replaces ``SMALL`` if a frequency of 0 gives a variance of at least ``SMALL``.

Then only larger frequencies have a smaller variance.
"""

BETWEEN = 0.03
"""Share of the error probability that is held back if not every parameter is tried."""

FINE = 2**40
"""Number of steps between the ends of a parameter that may have any value."""


def variance_of(
    channel: Channel, n: ArrayLike, users: int | None, of: str
) -> Callable[[ArrayLike], Vector]:
    """Return the variance of an estimated frequency as a function of the true frequency.

    It includes the random choice of the users who answered, if only n of the users answered. For a
    population, it includes the random choice of all users.
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
    """Return the lower and the upper limit of each value, shape (k, 2)."""
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
        # Smaller of the variances of the count at the two limits
        spread = np.minimum(*((reports * channel.slope) ** 2 * sigma2(f) for f in found.T))
        enough = channel.unit**2 * np.where(
            reports * float(channel.spread[1]) >= channel.unit**2 * SMALL, SKEWED, SMALL
        )
        sampled = of == "population" or (users is not None and bool((every < users).any()))
        for i in np.flatnonzero((spread < enough) | (reports <= FEW)):
            own, many = float(x[first[i]]), int(every[first[i]])
            if channel.known_law:
                variance = variance_of(channel, many, users, of)
                law = partial(_estimate_law, channel, many, sampled)
                found[i] = exact_limits(own, variance, law, level, FINE if sampled else many)
            else:
                found[i] = bernstein_limits(own, many, channel, level, sampled)
    result[known] = found[inverse.reshape(-1)]
    return result


def normal_limits(
    x: Vector,
    sigma2: Callable[[ArrayLike], Vector],
    level: float,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Vector:
    """Return the limits of the parameters that are kept.

    They are found by bisection on either side of the best parameter.
    """
    best = np.clip(x, *ends)
    z = normal_quantile(level)
    # No kept parameter is further from the best one
    reach = z * np.sqrt(sigma2(ends[0]) + 2 * sigma2(sum(ends) / 2) + sigma2(ends[1]))

    def kept(f: Vector) -> NDArray[np.bool_]:
        sigma = np.sqrt(sigma2(f))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = ((x - f) ** 2 - (x - best) ** 2) / sigma**2
            near, far = (f - ends[0]) / sigma, (ends[1] - f) / sigma
        return np.asarray((f == best) | (statistic <= _critical(near, far, level)))

    outside = np.clip(np.stack((best - reach, best + reach)), *ends)
    result = np.where(kept(outside), outside, best)
    step = outside - result
    for _ in range(30):
        step = step / 2
        result = np.where(kept(result + step), result + step, result)
    return result.T


@lru_cache(maxsize=32)
def normal_quantile(level: float) -> float:
    """Return z such that a standard normal variable lies in [−z, z] with probability ``level``."""
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def _critical(near: Vector, far: Vector, level: float) -> Vector:
    """Return the largest statistic that is kept, by bilinear interpolation in a table.

    ``near`` and ``far`` are the distances to the two ends, in standard deviations.
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

    An end at a distance of z or more has no influence.
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


@lru_cache(maxsize=1024)
def _estimate_law(channel: Channel, n: int, sampled: bool, f: float) -> list[tuple[Vector, Vector]]:
    """Return the values of an estimated frequency and their probabilities."""
    start, law = channel.count_law(n, f, sampled=sampled)
    return [(channel.estimate(start + np.arange(law.size), n), law)]


def exact_limits(
    x: float,
    sigma2: Callable[[ArrayLike], Vector],
    law: Law,
    level: float,
    steps: int,
    ends: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """Return the limits of the parameters that are kept, given exact distributions.

    The parameter is one of the ends or one of ``steps`` − 1 values between them.
    """
    low, width = ends[0], ends[1] - ends[0]
    # An estimate beyond an end is moved to at most one standard error from it. So no interval
    # shrinks to a point
    x = float(np.clip(x, low - sqrt(sigma2(low)), ends[1] + sqrt(sigma2(ends[1]))))

    @cache
    def likelier(i: int) -> float:
        """Return the probability of the estimates that fit a parameter better than x does."""
        f = low + width * i / steps

        def statistic(values: Any) -> Any:
            return (values - f) ** 2 - (values - np.clip(values, *ends)) ** 2

        own = float(statistic(x))
        bound = own - 1e-9 * (float(sigma2(f)) + abs(own))
        return min(float(chances[statistic(values) < bound].sum()) for values, chances in law(f))

    best = round((min(max(x, low), ends[1]) - low) / width * steps)
    most = max(float(sigma2(low + width * part)) for part in (0.0, 0.5, 1.0))
    here = max(float(sigma2(low + width * best / steps)), most / 100)
    # A power of two, so that neighbouring estimates use the same distributions
    stride = 1 << max(0, int(min(sqrt(here) / width / 16, 1 / FEW) * steps).bit_length() - 1)
    if stride > 1:  # a parameter between two strides may be kept, though both of these are not
        level += BETWEEN * (1 - level)

    def edge(direction: int) -> int:
        end, start = (steps, best) if direction > 0 else (0, best + stride)
        kept, i = best, min(start // stride * stride, steps)
        while i != end:
            i = min(max(i + direction * stride, 0), steps)
            if likelier(i) < level:
                kept = i
            elif likelier(i) > 1 - (1 - level) / 20 and direction * (i - best) > 0:
                break  # no parameter further out is kept
        outside = min(max(kept + direction * stride, 0), steps)
        while abs(outside - kept) > 1:
            middle = (kept + outside) // 2
            kept, outside = (middle, outside) if likelier(middle) < level else (kept, middle)
        return outside if likelier(outside) < level else kept

    return low + width * edge(-1) / steps, low + width * edge(1) / steps


def bernstein_limits(
    x: float, n: int, channel: Channel, level: float, sampled: bool
) -> tuple[float, float]:
    """Return limits from Bernstein's inequality.

    It needs only the variance and the size of a contribution.
    """
    rarity = log(2 / (1 - level))
    spread = n * (
        max(float(v) for v in channel.spread) + (channel.slope**2 / 4 if sampled else 0.0)
    )
    size = (channel.largest - channel.smallest) * rarity / 3
    reach = (size + sqrt(size * size + 2 * spread * rarity)) / (n * channel.slope)
    return min(max(x - reach, 0.0), 1.0), max(min(x + reach, 1.0), 0.0)
