"""Estimates as text and as HTML, for people."""

from collections.abc import Iterable
from html import escape
from math import ceil, isfinite, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimate import Estimate

MOST_ROWS = 24
"""Values shown; of more, the first and the last."""

HEAD, TAIL = 16, 4


def to_text(estimate: "Estimate") -> str:
    """Return a line a value, under a line that says what it is."""
    rows = _rows(estimate)
    widths = [max((len(row[c]) for row in rows), default=0) for c in range(3)]
    lines = []
    for label, frequency, error in rows:
        cells = f"{label:{widths[0]}}  {frequency:>{widths[1]}}" + (
            f" ± {error:>{widths[2]}}" if error else ""
        )
        lines.append(cells.rstrip())
    return "\n".join([describe_estimate(estimate), *lines])


def describe_estimate(estimate: "Estimate") -> str:
    """Say what the numbers are."""
    name = "" if estimate.name is None else f" of {estimate.name}"
    what = (
        "frequency ± standard error"
        if estimate.method == "raw"
        else f"frequency ({estimate.method})"
    )
    return f"Estimate{name} from {describe_users(estimate)}: {what}"


def describe_users(estimate: "Estimate") -> str:
    """Say how many took part."""
    one = bool((estimate.n == estimate.n[0]).all())
    if estimate.users is None and not one:
        return "several numbers of users"
    users = int(estimate.n[0]) if estimate.users is None else estimate.users
    answered = f"{estimate.n[0]:,} of " if one and estimate.n[0] != users else ""
    return f"{answered}{users:,} user{'s' * (users != 1)}"


def _rows(estimate: "Estimate") -> list[tuple[str, str, str]]:
    """Return labels, frequencies and errors as strings, with as many digits as matter."""
    errors: Any = estimate.std if estimate.method == "raw" else [0.0] * len(estimate)
    smallest = min((float(each) for each in errors if isfinite(each) and each > 0), default=0.0)
    digits = min(9, max(2, 1 + ceil(-log10(smallest)))) if smallest else 3
    rows = []
    for i in _shown_rows(len(estimate)):
        if i is None:
            rows.append(("…", "", ""))
        else:
            error = f"{errors[i]:.{digits}f}" if estimate.method == "raw" else ""
            rows.append(
                (shorten(estimate.values[i]), f"{estimate.frequencies[i]:.{digits}f}", error)
            )
    return rows


def _shown_rows(k: int) -> list[int | None]:
    return [*range(k)] if k <= MOST_ROWS else [*range(HEAD), None, *range(k - TAIL, k)]


def shorten(label: Any) -> str:
    """Return a label on one line, and cut where it is long."""
    line = " ".join(str(label).split())
    return line if len(line) <= 40 else line[:39] + "…"


def to_html(estimates: Iterable["Estimate"]) -> str:
    """Return a table with a bar a value, and its interval, for each of the estimates."""
    return "".join(map(_to_table, estimates))


def _to_table(estimate: "Estimate") -> str:
    raw = estimate.method == "raw"
    limits = estimate.interval() if raw else None
    head = ["value", "frequency", *(["95 % interval"] if raw else [])]
    rows = []
    for i in _shown_rows(len(estimate)):
        if i is None:
            rows.append(f"<tr><td colspan={len(head)}>…</td></tr>")
            continue
        frequency = float(estimate.frequencies[i])
        width = round(100 * min(1.0, max(0.0, frequency))) if isfinite(frequency) else 0
        bar = f"background:linear-gradient(to right,#bcdcf2 {width}%,transparent {width}%)"
        cells = [
            f"<td>{escape(shorten(estimate.values[i]))}</td>",
            f"<td style='text-align:right;min-width:8em;{bar}'>{frequency:.2%}</td>",
        ]
        if limits is not None:
            cells.append(f"<td>{limits[i, 0]:.2%} – {limits[i, 1]:.2%}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = escape(describe_estimate(estimate).replace(" ± standard error", ""))
    titles = "".join(f"<th style='text-align:left'>{title}</th>" for title in head)
    head_row, body = f"<thead><tr>{titles}</tr></thead>", "".join(rows)
    caption = f"<caption style='text-align:left'>{caption}</caption>"
    return f"<table>{caption}{head_row}<tbody>{body}</tbody></table>"
