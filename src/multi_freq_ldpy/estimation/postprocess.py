"""Post-processing: functions that turn raw estimates into distributions.

A distribution is not unbiased, and it has no standard error.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.channel import Channel

if TYPE_CHECKING:
    from ..protocol import Protocol

Vector = NDArray[np.float64]
SLICE = 2**25

ERRORS: dict[str, Callable[[Vector], float]] = {
    "max_abs": lambda change: float(np.abs(change).max()),
    "mse": lambda change: float(np.square(change).mean()),
    "mae": lambda change: float(np.abs(change).mean()),
    "max_squared": lambda change: float(np.square(change).max()),
}


def norm(frequencies: Vector) -> Vector:
    """Clip at 0 and divide by the sum. The result is uniform if no frequency is positive.

    >>> norm(np.array([0.5, 0.75, -0.25]))
    array([0.4, 0.6, 0. ])
    """
    clipped = np.clip(frequencies, 0.0, None)
    total = clipped.sum()
    return clipped / total if total > 0 else np.full(clipped.shape, 1 / clipped.size)


def norm_sub(frequencies: Vector) -> Vector:
    """Return the nearest distribution (Euclidean projection on the simplex).

    It is found by subtracting a constant and clipping at 0.

    >>> norm_sub(np.array([0.5, 0.75, -0.25]))
    array([0.375, 0.625, 0.   ])
    """
    # This does not change the result, but it keeps the digits of large frequencies
    lowered = frequencies - frequencies.max()
    descending = np.sort(lowered)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, descending.size + 1)
    projected: Vector = np.clip(
        lowered - excess[np.flatnonzero(descending > excess)[-1]], 0.0, None
    )
    return projected


def mle(counts: NDArray[Any], n: int, q: float, gap: float) -> Vector:
    """Return the maximum-likelihood distribution of values that were reported as symbols.

    A symbol is kept with probability q + gap. It is replaced by each other symbol with probability
    q. The t values with the smallest shares get 0. The number t is the smallest for which no other
    frequency is negative.

    >>> mle(np.array([60, 30, 10]), 100, q=0.2, gap=0.4)
    array([0.83333333, 0.16666667, 0.        ])
    """
    share = np.asarray(counts, np.float64) / n
    order = np.argsort(share, kind="stable")
    ascending = share[order]
    kept_sum = np.cumsum(ascending[::-1])[::-1]
    t = int(np.argmax((1 - np.arange(share.size) * q) * ascending >= q * kept_sum))
    result = np.zeros(share.size)
    result[order[t:]] = ((1 - t * q) * ascending[t:] / kept_sum[t] - q) / gap
    return norm(result)


class Raw(NamedTuple):
    """A raw estimate in the form that post-processings take.

    For a value without reports, the frequency is 0 and ``std`` is infinite. ``counts`` is None for
    an estimate without counts. ``n`` is the number of reports that speak of each value. ``std`` is
    the standard error of each frequency. It includes the random choice of the users who answered.
    """

    frequencies: Vector
    counts: NDArray[np.int64] | None
    n: NDArray[np.int64]
    channel: Channel
    std: Vector


def _suit_all(channel: Channel) -> bool:
    return True


@dataclass(frozen=True)
class Method:
    """A post-processing: a function of a raw estimate, and the channels that it is for.

    ``limits`` describes these channels in words, for error messages.
    """

    process: Callable[[Raw], Vector]
    applies: Callable[[Channel], bool] = _suit_all
    limits: str = ""

    def __post_init__(self) -> None:
        if self.applies is not _suit_all and not self.limits:
            raise ValueError("limits must say which channels the method is for, not ''")


def _mle_of(raw: Raw) -> Vector:
    k = len(raw.frequencies)
    if raw.counts is None or not raw.counts.any():
        return np.full(k, 1 / k)
    return mle(raw.counts, int(raw.counts.sum()), float(raw.channel.q), raw.channel.slope)


METHODS: dict[str, Method] = {
    "norm_sub": Method(lambda raw: norm_sub(raw.frequencies)),
    "mle": Method(
        _mle_of,
        lambda channel: channel.own_other == channel.others == 0,
        "protocols that report one value",
    ),
    "norm": Method(lambda raw: norm(raw.frequencies)),
}
"""Every post-processing by name. Estimates, ``compare`` and the command line read it.

The last one, ``norm``, is that of the functions of the paper.
"""


@dataclass(frozen=True)
class Even:
    """A square matrix of ``size`` with one number on its diagonal and another elsewhere.

    A product with a vector takes as long as a sum.
    """

    size: int
    diagonal: float
    beside: float

    __array_ufunc__ = None  # so that arrays leave products to this class

    def __len__(self) -> int:
        return self.size

    def __matmul__(self, vector: Vector) -> Vector:
        return np.asarray(self.beside * vector.sum() + (self.diagonal - self.beside) * vector)

    __rmatmul__ = __matmul__


def ibu(matrix: Any, observed: Vector, iterations: int, tol: float, error: str) -> Vector:
    """Return a distribution by iterated Bayesian updates, given observed shares of outputs.

    ``matrix[input, output]`` is the probability of an output given an input.
    """
    estimate = np.full(len(matrix), 1 / len(matrix))
    for _ in range(iterations):
        expected = estimate @ matrix
        ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
        previous, estimate = estimate, estimate * (matrix @ ratio)
        if ERRORS[error](estimate - previous) < tol:
            break
    return estimate


def em(
    protocol: "Protocol", reports: NDArray[Any], ratio: float, iterations: int, tol: float
) -> Vector:
    """Return the distribution that maximises the likelihood of the reports.

    A report is ``ratio`` times as likely for a value that it supports as for any other value.

    The updates are those of expectation maximisation. They are extrapolated (SQUAREM, Varadhan and
    Roland 2008), because plain updates converge slowly for small budgets. The log-likelihood is
    concave, so n·(largest gradient − 1) bounds its distance from the maximum. The iteration ends
    once this bound is below ``tol``. Equal reports are taken together. If the table of the values
    that they support does not fit in memory, it is computed in slices.
    """
    k = protocol.k
    estimate = np.full(k, 1 / k)
    if not len(reports):
        return estimate
    rows = (
        np.ascontiguousarray(reports).view(np.dtype((np.void, protocol.report_bytes))).reshape(-1)
    )
    _, first, weight = np.unique(rows, return_index=True, return_counts=True)
    distinct, share = reports[first], weight / len(reports)
    step = max(1, SLICE // k)
    slices = range(0, len(distinct), step)

    def supports(i: int) -> NDArray[Any]:
        return protocol._supports(distinct[i : i + step]).astype(np.float64)

    kept = {0: supports(0)} if len(slices) == 1 else {}

    def gradient(f: Vector) -> tuple[Vector, float]:
        """Return the gradient of the mean log-likelihood, and the mean log-likelihood.

        The mean of the gradient under f is 1.
        """
        posterior, plain, value = np.zeros(k), 0.0, 0.0
        for i in slices:
            matrix = kept[i] if i in kept else supports(i)
            chance = 1 + (ratio - 1) * (matrix @ f)
            posterior += (share[i : i + step] / chance) @ matrix
            plain += float((share[i : i + step] / chance).sum())
            value += float(share[i : i + step] @ np.log(chance))
        return plain + (ratio - 1) * posterior, value

    for _ in range(iterations):
        slope, value = gradient(estimate)
        if len(reports) * (slope.max() - 1) < tol:
            return estimate
        once = estimate * slope
        twice = once * gradient(once)[0]
        change, bend = once - estimate, twice - 2 * once + estimate
        length = min(float(np.linalg.norm(change)) / max(float(np.linalg.norm(bend)), 1e-300), 1e4)
        further = norm(np.maximum(estimate + 2 * length * change + length**2 * bend, 1e-3 * twice))
        estimate = further if length > 1 and gradient(further)[1] >= value else norm(twice)
    warnings.warn(
        f"em has not converged after {iterations} iterations: increase iterations or tol",
        RuntimeWarning,
        stacklevel=3,
    )
    return estimate
