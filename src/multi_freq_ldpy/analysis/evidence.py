"""Events that tell two inputs apart in samples of reports.

The probabilities of these events have lower and upper bounds.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp, inf, lgamma, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimation.intervals import normal_quantile

Scores = NDArray[np.float64]
BINS = 64
"""Largest number of parts into which the values of a number in a report are divided."""


def lower_limit(successes: int, n: int, risk: float) -> float:
    """Return the lower Clopper–Pearson limit.

    A smaller probability gives this number of successes, or more, with probability at most
    ``risk``.
    """
    return 0.0 if successes == 0 else _bisect(lambda p: _tail(successes, n, p) < risk)[0]


def upper_limit(successes: int, n: int, risk: float) -> float:
    """Return the upper Clopper–Pearson limit."""
    return 1.0 if successes == n else _bisect(lambda p: 1 - _tail(successes + 1, n, p) >= risk)[1]


def _bisect(below: Callable[[float], bool]) -> tuple[float, float]:
    """Return two adjacent probabilities: the condition holds below them, and not above."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def _tail(successes: int, n: int, p: float) -> float:
    """Return the probability of this number of successes or more.

    It is the regularized incomplete beta function of p, by its continued fraction.
    """
    a, b = float(successes), float(n - successes + 1)
    if p <= 0.0 or p >= 1.0:
        return float(p >= 1.0)
    if p > (a + 1) / (a + b + 2):
        return 1.0 - _continued_fraction(b, a, 1 - p)
    return _continued_fraction(a, b, p)


def _continued_fraction(a: float, b: float, x: float) -> float:
    front = exp(lgamma(a + b) - lgamma(a + 1) - lgamma(b) + a * log(x) + b * log1p(-x))
    value, c, d = 1.0, 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1.0 / (1.0 + term * d), 1.0 + term / c
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value


def choose_threshold(first: Scores, second: Scores, risk: float) -> tuple[float, float]:
    """Return the threshold of scores that best tells the first input from the second.

    The event is a score of at least the threshold. The second result is the approximate loss that
    this event shows.
    """
    cuts = np.unique(np.concatenate((first, second)))
    if len(cuts) > BINS:
        cuts = np.unique(
            np.quantile(
                np.concatenate((first, second)), np.linspace(0, 1, BINS + 1), method="higher"
            )
        )
        highest = np.sort(first)[::-1]
        # Further thresholds, for rare events
        cuts = np.unique(
            np.append(cuts, highest[2 ** np.arange((len(first) - 1).bit_length()) - 1])
        )
    hits = [
        len(scores) - np.searchsorted(np.sort(scores), cuts, side="left")
        for scores in (first, second)
    ]
    bounds = expected_loss(hits[0] / len(first), hits[1] / len(second), len(first), risk)
    best = int(np.argmax(bounds))
    return float(cuts[best]), float(bounds[best])


def expected_loss(often: Any, seldom: Any, n: int, risk: float) -> Scores:
    """Return the approximate loss that n reports of each input show for an event.

    ``often`` and ``seldom`` are the probabilities of the event under the two inputs. The result
    serves to choose an event, not to claim a loss.
    """
    z = normal_quantile(1 - 2 * risk)
    low = np.asarray(often) - z * np.sqrt(np.asarray(often) * (1 - np.asarray(often)) / n) - z / n
    high = (
        np.asarray(seldom)
        + z * np.sqrt(np.asarray(seldom) * (1 - np.asarray(seldom)) / n)
        + (z * z / 2 + 1) / n
    )
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -inf)


def count_reports(data: bytes, size: int) -> dict[bytes, int]:
    """Return the count of each report of ``size`` bytes."""
    rows, counts = np.unique(np.frombuffer(data, f"V{size}"), return_counts=True)
    return dict(zip((row.tobytes() for row in rows), counts.tolist(), strict=True))


def as_bytes(report: Any) -> bytes:
    """Return a report of any kind as bytes.

    Different reports of one type give different bytes.
    """
    if isinstance(report, bytes | bytearray | memoryview):
        return bytes(report)
    if isinstance(report, list | tuple):
        return b"".join(len(each).to_bytes(8, "little") + each for each in map(as_bytes, report))
    if isinstance(report, np.ndarray | np.generic):
        return repr((str(report.dtype), report.shape)).encode() + report.tobytes()
    return repr(report).encode()


def as_numbers(report: Any) -> NDArray[Any]:
    """Return the numbers in a report of any kind.

    Bytes and letters count as numbers too. All other parts are left out.
    """
    if isinstance(report, str):
        report = report.encode()
    if isinstance(report, bytes | bytearray | memoryview):
        return np.frombuffer(bytes(report), np.uint8)
    if isinstance(report, dict):
        report = list(report.values())
    if isinstance(report, np.void) and report.dtype.names:
        report = [report[name] for name in report.dtype.names]
    if isinstance(report, list | tuple):
        if set(map(type, report)) <= {int, float, bool} and all(
            -1e300 < each < 1e300 for each in report
        ):
            return np.array(report, np.float64)  # one call for all numbers
        return np.concatenate([np.empty(0, np.uint8), *map(as_numbers, report)])
    if isinstance(report, np.ndarray) and report.dtype.kind in "biuf":
        return report.ravel()
    if isinstance(report, int | float | np.integer | np.floating | np.bool_):
        number: Any = report
        return np.array([float(number) if abs(number) < 2.0**1000 else np.inf])
    return np.empty(0, np.uint8)


def as_rows(samples: Sequence[Sequence[NDArray[Any]]]) -> NDArray[Any]:
    """Return one row per sample.

    A row has the average length of the reports of a sample, and the average of each number in the
    reports. A missing number counts as −1.
    """
    each = [numbers for sample in samples for numbers in sample]
    lengths = np.array([len(numbers) for numbers in each])
    padded = np.full(
        (len(each), lengths.max()), -1.0, np.float32 if lengths.max() > 64 else np.float64
    )
    padded[np.arange(lengths.max()) < lengths[:, np.newaxis]] = np.clip(
        np.nan_to_num(np.concatenate(each)), -1e30, 1e30
    )
    rows = np.column_stack((lengths.astype(padded.dtype), padded))
    return np.asarray(rows.reshape(len(samples), -1, rows.shape[1]).mean(axis=1))


def learn_reports(
    first: Sequence[bytes], second: Sequence[bytes]
) -> Callable[[Sequence[bytes]], Scores]:
    """Return a function that scores reports by the likelihood ratio that was learnt.

    A report that was not seen has the score 0.
    """
    a, b = Counter(first), Counter(second)
    scores = {report: log((a[report] + 0.5) / (b[report] + 0.5)) for report in a | b}
    return lambda reports: np.array([scores.get(report, 0.0) for report in reports])


def learn_numbers(first: Scores, second: Scores) -> Callable[[Scores], Scores]:
    """Return a function that scores the numbers in a report by learnt likelihood ratios.

    The scores of the numbers are added up, as if the numbers were independent.
    """
    tables = []
    for column, other in zip(first.T, second.T, strict=True):
        both = np.concatenate((column, other))
        edges = np.unique(both)
        if len(edges) > BINS:
            edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS)))
        counts = [
            np.bincount(np.searchsorted(edges, each, side="right"), minlength=len(edges) + 1)
            for each in (column, other)
        ]
        tables.append((edges, np.log((counts[0] + 0.5) / (counts[1] + 0.5))))

    def score(numbers: Scores) -> Scores:
        each = (
            table[np.searchsorted(edges, column, side="right")]
            for column, (edges, table) in zip(numbers.T, tables, strict=True)
        )
        return np.asarray(sum(each, np.zeros(len(numbers))))

    return score
