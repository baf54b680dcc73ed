"""Plots of estimates, with matplotlib.

Colours are those of Okabe and Ito. Colour-blind readers can tell them apart.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..tables.frames import not_installed
from . import rendering

if TYPE_CHECKING:
    from .estimate import Estimate
    from .several import Estimates

BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, GREY, INK = "#E69F00", "#56B4E9", "#999999", "ink"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, INK, GREY)
MARKERS = "os^Dv*PX"
"""Colours and markers of values. ``INK`` stands for the colour of text."""

LOOKS = {
    "GRR LGRR Once": (BLUE, "o"),
    "OUE LOUE Steps": (VERMILION, "s"),
    "OLH LOLH Tree": (GREEN, "^"),
    "SS LOSUE DDRM": (PINK, "D"),
    "SUE LSUE": (ORANGE, "v"),
    "THE LSOUE": (SKY, "X"),
    "SHE DBitFlipPM": (INK, "*"),
    "BLH LBLH": (GREY, "P"),
    "HR": (GREEN, "<"),
    "Bloom": (ORANGE, ">"),
}
"""Colour and marker of each protocol in all figures. Protocols over time have dashed lines."""

DASHES = ("-", "--", "-.", ":")
MANY = 40
"""Smallest number of values that are drawn as points instead of bars."""

FONT = 8
ENTRIES = {"estimate": 0, "truth": 2}
"""Order of entries in legends. Intervals come between these two."""

METRICS = {"mse": "mean squared error", "mae": "mean absolute error", "max": "largest error"}
OUTSIDE = "outside its interval (raw estimates\nmay lie below 0 or above 100 %)"


def ink(colour: str = INK) -> str:
    """Return a colour. For ``INK`` it is the colour of text: dark on light, or light on dark."""
    return str(import_pyplot().rcParams["text.color"]) if colour == INK else colour


def looks_of(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return colour, marker and dashes of each series of a comparison.

    A name that contains a protocol, such as "SMP[OUE]", looks like this protocol. Other names get
    the looks that are left. Series with the same colour and marker have different dashes.
    """
    looks = {name: look for known, look in LOOKS.items() for name in known.split()}
    found: list[tuple[str, str] | None] = []
    over_time = []
    for name in names:
        own = [word for word in reversed(re.findall(r"\w+", name)) if word in looks]
        found.append(looks[own[0]] if own else None)
        over_time.append(bool(own) and own[0] in [n for known in LOOKS for n in known.split()[1:]])
    free = cycle([look for look in LOOKS.values() if look not in found] or LOOKS.values())
    chosen = [look or next(free) for look in found]
    dashes = [
        chosen[:i].count(look) + late
        for i, (look, late) in enumerate(zip(chosen, over_time, strict=True))
    ]
    return [
        {"color": ink(colour), "marker": marker, "ls": DASHES[dash % len(DASHES)]}
        for (colour, marker), dash in zip(chosen, dashes, strict=True)
    ]


def import_pyplot() -> Any:
    """Return pyplot, or raise an error if matplotlib is not installed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise not_installed("matplotlib", "plot") from None
    return plt


def save_figure(figure: Any, file: Any, form: str) -> None:
    """Write a figure to a file, and close it."""
    figure.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    import_pyplot().close(figure)


def escape_label(label: Any) -> str:
    """Return a label in the form that matplotlib needs.

    A $ does not start a formula, and a leading _ does not hide the label from legends.
    """
    text = rendering.shorten(label).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def draw_bars(
    estimate: "Estimate",
    truth: Any = None,
    level: float = 0.95,
    ax: Any = None,
    title: str | None = None,
    color: str = BLUE,
    **keywords: Any,
) -> Any:
    """Draw one attribute: bars with intervals, or points with a band if there are many values."""
    true = _truth_of(truth, estimate)
    few = len(estimate) < MANY
    if ax is None:
        wide = min(10.0, 2.5 + 0.5 * len(estimate)) if few else 9.0
        _, ax = import_pyplot().subplots(figsize=(max(4.5, wide), 3.6), layout="constrained")
    numeric = all(isinstance(each, int | float) for each in estimate.values)
    places = (
        np.arange(len(estimate)) if few or not numeric else np.array(estimate.values, np.float64)
    )
    order = np.argsort(places, kind="stable")
    shares = 100 * estimate.frequencies
    limits = 100 * estimate.interval(level) if estimate.method == "raw" else None
    interval = f"{100 * level:g} % interval"
    if few:
        room = 0.6 + (len(estimate) < 4) * 0.6
        ax.set_xlim(-room, len(estimate) - 1 + room)
        look = {"width": 0.62, "color": color, "alpha": 0.75, "label": "estimate"}
        ax.bar(places, shares, **look | keywords)
        if limits is not None:
            middle, reach = limits.mean(axis=1), np.diff(limits, axis=1)[:, 0] / 2
            ax.errorbar(
                *(places, middle, reach),
                fmt="none",
                ecolor=ink(),
                capsize=3,
                lw=1.2,
                label=interval,
            )
        _set_ticks(ax, places, estimate.values)
    else:
        size = 4 if len(estimate) < 300 else 2
        look = {"marker": ".", "ls": "", "color": color, "markersize": size, "label": "estimate"}
        ax.plot(places, shares, **look | keywords)
        if limits is not None:
            ax.fill_between(
                places[order], *limits[order].T, color=color, alpha=0.25, lw=0, label=interval
            )
        ax.set_xlabel(escape_label(estimate.name or "value"))
        if not numeric:
            some = np.linspace(0, len(estimate) - 1, 12).round().astype(int)
            _set_ticks(ax, some, [estimate.values[i] for i in some])
    if limits is not None and any(outside := rendering.find_outside(shares, limits)):
        ax.plot(
            *(places[outside], shares[outside]),
            marker="*",
            ls="",
            color=ink(),
            markersize=6 if few else 4,
            label=OUTSIDE,
        )
    if true is not None:
        points = {"marker": "D", "markersize": 5, "mfc": "none", "mew": 1.3, "ls": ""}
        line = points if few else {"lw": 1.2}
        ax.plot(
            *(places[order], 100 * true[order]), color=VERMILION, label="truth", zorder=3, **line
        )
    _finish_axes(ax)
    shown = title if title is not None else estimate.name or rendering.describe_users(estimate)
    ax.set_title(escape_label(shown), fontsize=10, loc="left")
    above = 1 + 0.3 / (ax.figure.get_figheight() * ax.get_position().height)
    place = {"loc": "lower left", "bbox_to_anchor": (0, above), "borderaxespad": 0}
    entries = _list_entries([ax], [few])
    ax.legend(*entries, frameon=False, fontsize=FONT, ncols=4, **place)
    return ax


def draw_attributes(
    estimates: "Estimates", truth: Any, level: float, title: str | None = None, **keywords: Any
) -> Any:
    """Draw several attributes side by side, three in a row, with one legend."""
    figure, panels = _make_panels(len(estimates), 3.8, 2.9)
    true = _order_by_name("truth", truth, estimates.names)
    drawn = zip(panels, estimates.names, estimates, true, strict=True)
    for panel, name, estimate, own in drawn:
        draw_bars(estimate, own, level, panel, name, **keywords)
        panel.get_legend().remove()
    if title is not None:
        figure.suptitle(escape_label(title), fontsize=11)
    # Bars and points have different entries in the legend
    entries = _list_entries(panels, [len(estimate) < MANY for estimate in estimates])
    place = f"outside {'upper' if title is None else 'lower'} left"
    columns = 3 if len(estimates) < 3 else len(entries[0])
    figure.legend(*entries, loc=place, ncols=columns, frameon=False, fontsize=FONT)
    return figure


def _list_entries(panels: Sequence[Any], kinds: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the entries of a legend, one per label and kind of panel, the estimate first."""
    legend: dict[tuple[str, Any], Any] = {}
    for panel, kind in zip(panels, kinds, strict=True):
        handles, labels = panel.get_legend_handles_labels()
        legend |= {(label, kind): handle for label, handle in zip(labels, handles, strict=True)}
    order = sorted(
        legend, key=lambda entry: (entry[0] == OUTSIDE, not entry[1], ENTRIES.get(entry[0], 1))
    )
    return [legend[entry] for entry in order], [label for label, _ in order]


def _make_panels(many: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a figure with panels, three in a row."""
    across = min(3, many)
    down = ceil(many / across)
    size = (0.8 + width * across, 0.4 + height * down)
    figure, panels = import_pyplot().subplots(
        down, across, figsize=size, layout="constrained", squeeze=False
    )
    for panel in panels.flat[many:]:
        panel.set_visible(False)
    return figure, list(panels.flat[:many])


def _order_by_name(what: str, given: Any, names: Sequence[str]) -> list[Any]:
    """Return one entry per attribute, from a list or from a mapping by name."""
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise ValueError(
                f"keys of {what} must be attributes, {', '.join(names)}, not"
                f" {', '.join(map(repr, unknown))}"
            )
        return [given.get(name) for name in names]
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence | np.ndarray)
        or len(given) != len(names)
    ):
        raise ValueError(
            f"{what} must have {len(names)} entries, one per attribute, not {validate.quote(given)}"
        )
    return list(given)


def draw_rounds(
    rounds: Sequence[Any],
    values: Any,
    truth: Any,
    level: float,
    title: str | None = None,
    colors: Sequence[str] | None = None,
    **keywords: Any,
) -> Any:
    """Draw frequencies over rounds, one panel per attribute."""
    if not rounds:
        raise ValueError("there are no rounds to draw")
    several = isinstance(rounds[0], tuple)  # ``Estimates``, not the ``Estimate`` of one attribute
    attributes = list(zip(*rounds, strict=True)) if several else [tuple(rounds)]
    names = rounds[0].names if several else [rounds[0].name or ""]
    chosen, true = (
        _order_by_name(what, each, names) if several else [each]
        for what, each in (("values", values), ("truth", truth))
    )
    figure, panels = _make_panels(len(attributes), 5.0, 3.2)
    if title is not None:
        figure.suptitle(escape_label(title), fontsize=11)
    drawn = zip(panels, names, attributes, chosen, true, strict=True)
    for panel, name, estimates, some, own in drawn:
        _draw_attribute_rounds(panel, estimates, some, own, level, colors or COLOURS, keywords)
        panel.set_title(escape_label(name), fontsize=10, loc="left")
    return figure


def _draw_attribute_rounds(
    panel: Any,
    estimates: Sequence["Estimate"],
    values: Sequence[Any] | None,
    truth: Any,
    level: float,
    colours: Sequence[str],
    keywords: dict[str, Any],
) -> None:
    shares = 100 * np.array([each.frequencies for each in estimates])
    limits = (
        100 * np.array([each.interval(level) for each in estimates])
        if estimates[0].method == "raw"
        else None
    )
    if limits is not None:
        limits[np.isnan(shares)] = np.nan  # no band where no report was made
    first, at = estimates[0], np.arange(len(estimates))
    drawn = (
        np.sort(np.argsort(-np.nan_to_num(shares).sum(axis=0))[: len(colours)])
        if values is None
        else first._numbers("values", values)
    )
    if len(drawn) > len(colours):
        raise ValueError(f"values must be at most {len(colours)}, one per colour, not {len(drawn)}")
    true = None if truth is None else validate.numbers("truth", truth, 0, 1)
    if true is not None and true.shape != shares.shape:
        raise ValueError(
            "truth must have one row per round and one column per value,"
            f" {shares.shape}, not {true.shape}"
        )
    for colour, marker, i in zip(map(ink, colours), cycle(MARKERS), drawn, strict=False):
        look = {"marker": marker, "ls": "-", "color": colour, "markersize": 4, "lw": 1.4}
        panel.plot(at, shares[:, i], label=escape_label(first.values[i]), **look | keywords)
        if limits is not None and len(at) > 1:
            panel.fill_between(at, limits[:, i, 0], limits[:, i, 1], color=colour, alpha=0.15, lw=0)
        elif limits is not None:
            panel.plot(at.repeat(2), limits[0, i], "_-", color=colour, lw=1)
        if true is not None:
            panel.plot(at, 100 * true[:, i], "--", color=colour, lw=1)
    if limits is not None:
        panel.fill_between([], [], [], color=GREY, alpha=0.3, lw=0, label=_bands(level, len(at)))
    if true is not None:
        panel.plot([], [], "--", color=ink(), lw=1, label="truth")
    panel.set_xlabel("round")
    if len(at) > 1:
        panel.xaxis.get_major_locator().set_params(integer=True)
    else:
        panel.set_xticks(at)
    _finish_axes(panel)
    panel.legend(frameon=False, fontsize=FONT, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _bands(level: float, rounds: int) -> str:
    return f"{'band' if rounds > 1 else 'line'}: {100 * level:g} %\ninterval"


def draw_comparison(
    comparison: Any,
    ax: Any = None,
    title: str | None = None,
    colors: Mapping[str, str] | None = None,
    **keywords: Any,
) -> Any:
    """Draw the errors of a comparison against the budget of a report."""
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(7.2, 4.0), layout="constrained")
    one_each = len({(cell.protocol, cell.epsilon) for cell in comparison}) == len(comparison)
    series: dict[str, list[Any]] = {}
    for cell in comparison:
        apart = (
            ""
            if one_each or not isinstance(cell.budget, tuple)
            else f", {cell.budget[0]:g} for ever"
        )
        series.setdefault(cell.protocol + apart, []).append(cell)
    if unknown := set(colors or ()) - set(series):
        raise ValueError(
            f"keys of colors must be protocols, {', '.join(series)}, not"
            f" {', '.join(sorted(unknown))}"
        )
    # A smaller error is rounding: it counts as 0, which a logarithmic axis cannot show
    least = 1e-24 if comparison.metric == "mse" else 1e-12
    budgets = sorted({cell.epsilon for cell in comparison})
    one = len(budgets) == 1  # protocols side by side
    looks = looks_of(list(series))
    for i, ((name, found), look) in enumerate(zip(series.items(), looks, strict=True)):
        cells = sorted(found, key=lambda cell: cell.epsilon)
        at = [i] if one else [cell.epsilon for cell in cells]
        colour = (colors or {}).get(name, look["color"])
        low, high = np.array([np.percentile(cell.errors, (10, 90)) for cell in cells]).T
        mean = np.array([cell.error for cell in cells])
        label = name
        if (none := mean < least).any():
            label += f" (0 at {', '.join(f'{cell.epsilon:g}' for cell in np.array(cells)[none])})"
            mean[none] = low[none] = high[none] = np.nan
        look |= {"color": colour, "markersize": 5, "mfc": "none", "lw": 1.4}
        ax.plot(at, mean, label=escape_label(label), **look | keywords)
        if len(at) > 1:
            ax.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
        else:
            ax.plot(at * 2, [low[0], high[0]], "_-", color=colour, lw=1)
        if cells[0].theory is not None:
            ax.plot(at, [cell.theory for cell in cells], "_", color=colour, markersize=12, mew=1.2)
    what = "line" if one else "band"
    ax.fill_between([], [], [], color=GREY, alpha=0.3, lw=0, label=f"{what}: 8 of 10\nrepetitions")
    if any(cell.theory is not None for cell in comparison):
        ax.plot(
            [], [], "_", color=ink(), markersize=12, mew=1.2, label="theory: the\nexpected error"
        )
    limits = {cell.epsilon: cell.limit for cell in comparison if cell.limit is not None}
    if limits:
        places = [0, len(series) - 1] if one else sorted(limits)
        style = {"color": ink(), "lw": 1, "ls": (0, (1, 1)), "marker": "x" if one else None}
        values = list(limits.values()) * 2 if one else [limits[each] for each in places]
        ax.plot(places, values, label="limit: the least that\nany protocol can promise", **style)
    ax.set_xlabel(f"protocols, at ε = {budgets[0]:g}" if one else "ε of a report")
    ax.set_ylabel(METRICS[comparison.metric])
    ax.set_xscale("linear" if one else "log")
    ax.set_yscale("log")
    errors = [cell.error for cell in comparison]
    if min(errors) < least < max(errors):
        ax.set_ylim(bottom=min(error for error in errors if error >= least) / 10)
    if title is not None:
        ax.set_title(escape_label(title), fontsize=10, loc="left")
    _open_axes(ax, "both")
    if one:
        _set_ticks(ax, range(len(series)), list(series))
    else:
        ax.set_xticks(budgets, [f"{each:g}" for each in budgets], fontsize=FONT)
    ax.xaxis.set_minor_locator(import_pyplot().NullLocator())
    ax.legend(frameon=False, fontsize=FONT, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _truth_of(truth: Any, estimate: "Estimate") -> NDArray[np.float64] | None:
    """Return the true frequencies, given as frequencies or as counts."""
    if truth is None:
        return None
    if hasattr(truth, "to_dict"):  # a pandas Series, whose index has the values
        truth = truth.to_dict()
    if isinstance(truth, Mapping):
        chosen = estimate._numbers("truth", list(truth))
        shares = np.zeros(len(estimate))
        shares[chosen] = validate.numbers("truth", list(truth.values()), 0)
        truth = shares
    true = validate.numbers("truth", truth, 0)
    if true.shape != (len(estimate),):
        raise ValueError(
            f"truth must have {len(estimate)} entries, one per value, not shape {true.shape}"
        )
    return np.asarray(true / true.sum() if true.sum() > 1.5 else true)


def _set_ticks(ax: Any, places: Any, values: Sequence[Any]) -> None:
    """Label the places: horizontally on up to three lines if labels fit, otherwise vertically."""
    labels = [escape_label(value) for value in values]
    inches = 1.1 * ax.figure.get_figwidth() * ax.get_position().width  # margins will shrink
    room = int(inches / (len(places) + 0.5) / (0.56 * FONT / 72))  # in characters
    lines = [wrap(label, max(room, 1), break_long_words=False) or [label] for label in labels]
    if all(len(each) <= 3 and max(map(len, each)) <= room for each in lines):
        ax.set_xticks(places, ["\n".join(each) for each in lines], fontsize=FONT)
        return
    cut = [label if len(label) <= 24 else label[:23] + "…" for label in labels]
    ax.set_xticks(places, cut, fontsize=FONT, rotation=90)


def _finish_axes(ax: Any) -> None:
    ax.axhline(0, color=ink(), lw=0.8)
    ax.set_ylabel("users, %")
    _open_axes(ax, "y")


def _open_axes(ax: Any, grid: str) -> None:
    """Draw a faint grid, and no frame."""
    ax.grid(axis=grid, color=GREY, alpha=0.25, lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
