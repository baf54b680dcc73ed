"""Text and HTML of estimates."""

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .estimate import Estimate

MOST_ROWS = 24
"""Largest number of values that are all shown. Of more values, the first and the last are shown."""

HEAD, TAIL = 16, 4

UNBIASED = "unbiased and may lie below 0 or above 1"
OUTSIDE = f"outside its interval: a raw estimate is {UNBIASED}; norm_sub gives a distribution"
"""The footnote of estimates that are marked with an asterisk."""


def find_outside(frequencies: NDArray[np.float64], limits: NDArray[np.float64]) -> list[bool]:
    """Tell which frequencies lie outside their intervals."""
    low, high = limits.T
    found: list[bool] = ((frequencies < low - 1e-12) | (frequencies > high + 1e-12)).tolist()
    return found


def to_text(estimate: "Estimate") -> str:
    """Return a headline, and one line per value."""
    errors = estimate.std if estimate.method == "raw" else None
    rows = number_rows(estimate.values, estimate.frequencies, errors)
    return "\n".join([describe_estimate(estimate), *align_rows(rows)])


def align_rows(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return labels, numbers and errors as lines."""
    widths = [max((len(row[c]) for row in rows), default=0) for c in range(3)]
    lines = []
    for label, number, error in rows:
        cells = f"{label:{widths[0]}}  {number:>{widths[1]}}" + (
            f" ± {error:>{widths[2]}}" if error else ""
        )
        lines.append(cells.rstrip())
    return lines


def describe_estimate(estimate: "Estimate") -> str:
    """Return the headline of an estimate: attribute, users and kind of numbers."""
    name = "" if estimate.name is None else f" of {estimate.name}"
    what = (
        "frequency ± standard error"
        if estimate.method == "raw"
        else f"frequency ({estimate.method})"
    )
    return f"Estimate{name} from {describe_users(estimate)}: {what}"


def describe_users(estimate: "Estimate") -> str:
    """Return a phrase with the number of users who took part."""
    one = bool((estimate.n == estimate.n[0]).all())
    if estimate.users is None and not one:
        return "a different number of users per value"
    users = int(estimate.n[0]) if estimate.users is None else estimate.users
    # Without counts, n is the number of reports that would give the same error
    some = one and estimate.counts is not None and estimate.n[0] != users
    answered = f"{estimate.n[0]:,} of " if some else ""
    return f"{answered}{users:,} user{'s' * (users != 1)}"


def number_rows(labels: Sequence[Any], numbers: Any, errors: Any) -> list[tuple[str, str, str]]:
    """Return labels, numbers and errors as strings.

    The number of digits depends on the smallest error.
    """
    known = [float(each) for each in ([] if errors is None else errors)]
    smallest = min((each for each in known if isfinite(each) and each > 0), default=0.0)
    digits = min(9, max(2, 1 + ceil(-log10(smallest)))) if smallest else 3
    rows = []
    for i in _shown_rows(len(labels)):
        if i is None:
            rows.append(("…", "", ""))
        else:
            error = f"{known[i]:.{digits}f}" if known else ""
            rows.append((shorten(labels[i]), f"{numbers[i]:.{digits}f}", error))
    return rows


def _shown_rows(k: int) -> list[int | None]:
    return [*range(k)] if k <= MOST_ROWS else [*range(HEAD), None, *range(k - TAIL, k)]


def shorten(label: Any) -> str:
    """Return a label on one line, shortened if it is long."""
    line = printable(" ".join(str(label).split()))
    return line if len(line) <= 40 else line[:39] + "…"


def printable(text: str) -> str:
    """Return text without characters that control a terminal: labels may come from anywhere."""
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text)


def to_html(estimates: Iterable["Estimate"]) -> str:
    """Return one HTML table per estimate, with one bar and one interval per value."""
    return "".join(map(_to_table, estimates))


def _to_table(estimate: "Estimate") -> str:
    raw = estimate.method == "raw"
    limits = estimate.interval() if raw else None
    outside = find_outside(estimate.frequencies, limits) if limits is not None else []
    head = ["value", "frequency", *(["95 % interval"] if raw else [])]
    rows = []
    for i in _shown_rows(len(estimate)):
        if i is None:
            rows.append(f"<tr><td colspan={len(head)}>…</td></tr>")
            continue
        frequency = float(estimate.frequencies[i])
        width = round(100 * min(1.0, max(0.0, frequency))) if isfinite(frequency) else 0
        bar = f"background:linear-gradient(to right,#0072b255 {width}%,transparent {width}%)"
        mark = "*" if outside and outside[i] else ""
        cells = [
            f"<td>{escape(shorten(estimate.values[i]))}</td>",
            f"<td style='text-align:right;min-width:8em;{bar}'>{frequency:.2%}{mark}</td>",
        ]
        if limits is not None:
            cells.append(f"<td>{limits[i, 0]:.2%} – {limits[i, 1]:.2%}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if any(outside):
        note = escape(f"* {OUTSIDE}")
        rows.append(f"<tr><td colspan={len(head)} style='text-align:left'>{note}</td></tr>")
    caption = escape(describe_estimate(estimate).replace(" ± standard error", ""))
    titles = "".join(f"<th style='text-align:left'>{title}</th>" for title in head)
    head_row, body = f"<thead><tr>{titles}</tr></thead>", "".join(rows)
    caption = f"<caption style='text-align:left'>{caption}</caption>"
    return f"<table>{caption}{head_row}<tbody>{body}</tbody></table>"
