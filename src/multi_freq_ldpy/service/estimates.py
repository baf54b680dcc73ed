"""Estimates as the service shows them: numbers with errors, the promise, and the risk."""

from collections.abc import Sequence
from math import ceil, exp, floor, inf, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.poisoning import influence
from ..core.tally import Tally
from ..estimation.several import Estimates
from ..survey import Survey
from .problems import Problem, as_sentence
from .surveys import Served

METHODS = ("raw", "norm_sub", "norm")
MALICIOUS = 0.01
"""Share of users whose influence is shown."""

STOPS = (0.001, 0.002, 0.005, MALICIOUS, 0.02, 0.05, 0.1, 0.2)
"""Shares of users among which a reader chooses."""

HALF_WIDTH = 0.03
Z = 1.959963984540054
"""The answer to "how many reports are needed" is for intervals of ±3 points, at 95 %."""


def plain(x: float) -> float | None:
    """Return a number, or None if it is not finite. JSON has no other numbers."""
    return float(x) if isfinite(x) else None


def _at_most(bound: float) -> str:
    """Return a bound in three digits, rounded up, so that it stays a bound."""
    unit = 10.0 ** (floor(log10(bound)) - 2)
    return f"{ceil(bound / unit - 1e-9) * unit:.3g}"


def describe_privacy(served: Served) -> dict[str, Any]:
    """Return the promise of a survey of the service. See ``describe_losses``."""
    return describe_losses(served.survey)


def describe_losses(survey: Survey) -> dict[str, Any]:
    """Return the promise of a survey: its losses, and one sentence.

    Parameters
    ----------
    survey : Survey
        The survey.

    Returns
    -------
    dict
        The losses by name, or None where they have no bound, and ``sentence``.
    """
    losses = survey.privacy
    over_time = survey.rounds is not None
    loss = losses.history if over_time else losses.report
    times = _at_most(exp(loss)) if loss < 30 else f"e^{loss:g}"
    if over_time:
        sentence = (
            f"All that a device ever sends is at most {times} times as likely for its answers as"
            " for any others."
        )
    else:
        sentence = (
            f"A report is at most {times} times as likely for the given answers as for any others."
        )
    if survey.longitudinal and not over_time and losses.lifetime < 30:
        sentence += (
            " All reports about unchanged answers together are at most"
            f" {_at_most(exp(losses.lifetime))} times as likely."
        )
    names = ("report", "report_attribute", "lifetime", "lifetime_attribute", "history")
    return {name: plain(getattr(losses, name)) for name in names} | {"sentence": sentence}


def estimate_round(served: Served, tallies: Sequence[Tally]) -> Estimates:
    """Return the estimates of the last of these rounds.

    Parameters
    ----------
    served : Served
        The survey.
    tallies : sequence of Tally
        The tally of the round. For a survey with rounds, those of all rounds up to this one.

    Returns
    -------
    Estimates
        What ``survey.estimate`` returns.
    """
    if served.survey.rounds is None:
        return served.survey.estimate(tallies[-1])
    found: Any = served.survey.estimate(list(tallies))[-1]
    return found  # type: ignore[no-any-return]


def estimate_kept(served: Served, reports: NDArray[Any], users: int) -> Estimates:
    """Return the maximum-likelihood distributions from the kept reports of a round.

    Parameters
    ----------
    served : Served
        The survey.
    reports : array
        The kept reports.
    users : int
        Number of users of the tally.

    Returns
    -------
    Estimates
        What ``survey.em`` returns.

    Raises
    ------
    Problem
        If the tally has users without a kept report. Also if the method is not known for the
        survey.
    """
    if users != len(reports):
        raise Problem("not-kept", "Tallies of other services came without their reports.")
    try:
        return served.survey.em(reports)
    except TypeError as error:
        raise Problem("invalid", as_sentence(error)) from None


def describe(
    served: Served,
    estimates: Estimates,
    users: int,
    level: float,
    method: str,
    chosen: Estimates | None = None,
) -> dict[str, Any]:
    """Return estimates as JSON.

    Parameters
    ----------
    served : Served
        The survey.
    estimates : Estimates
        Estimates of all attributes.
    users : int
        Number of users who reported in the round.
    level : float
        Level of the intervals.
    method : str
        Post-processing: "raw", "norm_sub", "norm" or "em".
    chosen : Estimates, optional
        The estimates of "em".

    Returns
    -------
    dict
        The attributes with their labels and figures. Post-processed frequencies have no errors.
    """
    attributes = []
    for name in served.survey.attributes:
        raw = estimates[name]
        if method == "raw":
            shown = raw
        else:
            shown = getattr(raw, method)() if chosen is None else chosen[name]
        limits = raw.interval(level) if method == "raw" else None
        values = [
            {
                "label": label,
                "frequency": plain(shown.frequencies[v]),
                "std": plain(raw.std[v]) if limits is not None else None,
                "low": plain(limits[v, 0]) if limits is not None else None,
                "high": plain(limits[v, 1]) if limits is not None else None,
            }
            for v, label in enumerate(raw.labels or ())
        ]
        attributes.append({"name": name, "values": values})
    return {
        "users": users,
        "attributes": attributes,
        "needed": count_needed(served, estimates, users),
        "influence": describe_influence(served, users),
    }


def count_needed(served: Served, estimates: Estimates, users: int) -> int | None:
    """Return how many further reports make all intervals as short as ±3 points.

    Parameters
    ----------
    served : Served
        The survey.
    estimates : Estimates
        Estimates of all attributes.
    users : int
        Number of users who reported so far.

    Returns
    -------
    int or None
        The number of further reports. None if it is not known yet.
    """
    if served.survey.rounds is None:
        many = 10**6
        variance = float(np.max(served.survey.solution.variance(many, 0.5)))
        wanted = variance * many * (Z / HALF_WIDTH) ** 2
    else:
        errors = [float(each) for name in served.survey.attributes for each in estimates[name].std]
        wanted = users * (Z * max(errors, default=inf) / HALF_WIDTH) ** 2 if users else inf
    return max(0, ceil(wanted) - users) if isfinite(wanted) else None


def describe_influence(served: Served, users: int) -> dict[str, Any] | None:
    """Return how far malicious users could shift each attribute.

    Parameters
    ----------
    served : Served
        The survey.
    users : int
        Number of users who reported.

    Returns
    -------
    dict or None
        The number of users who are one per cent, and the largest shift of one frequency by
        attribute. ``stops`` has the same for other shares. None without users, and for surveys with
        rounds.
    """
    if served.survey.rounds is not None or not users:
        return None

    def shift(share: float) -> dict[str, Any]:
        malicious = ceil(share * users)
        found: Any = influence(served.survey.solution, users, malicious)
        shifts = zip(served.survey.attributes, found, strict=True)
        return {"users": malicious, "shift": {name: float(each.value) for name, each in shifts}}

    return shift(MALICIOUS) | {"stops": [shift(share) for share in STOPS]}
