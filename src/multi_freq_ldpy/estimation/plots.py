"""Pictures of estimates, with matplotlib.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..tables.frames import not_installed
from . import rendering

if TYPE_CHECKING:
    from .estimate import Estimate
    from .several import Estimates

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#999999"
MARKERS = "os^Dv*PX"
COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", GREY)
MANY = 40
"""Values from which on there are no bars."""


def import_pyplot() -> Any:
    """Return pyplot, or say that matplotlib has to be installed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise not_installed("matplotlib", "plot") from None
    return plt


def save_figure(figure: Any, file: Any, form: str) -> None:
    """Write a figure to a file, and forget it."""
    figure.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    import_pyplot().close(figure)


def escape_label(label: Any) -> str:
    """Return a label as matplotlib has to be given it.

    $ is no mathematics, and _ does not hide it from legends.
    """
    text = rendering.shorten(label).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def draw_bars(estimate: "Estimate", truth: Any = None, level: float = 0.95, ax: Any = None) -> Any:
    """Draw one attribute: bars with intervals, points with a band where there are many values."""
    true = _truth_of(truth, estimate)
    if ax is None:
        wide = min(10.0, 2.5 + 0.5 * len(estimate)) if len(estimate) < MANY else 9.0
        _, ax = import_pyplot().subplots(figsize=(max(4.5, wide), 3.6), layout="constrained")
    few = len(estimate) < MANY
    numeric = all(isinstance(each, int | float) for each in estimate.values)
    places = (
        np.arange(len(estimate)) if few or not numeric else np.array(estimate.values, np.float64)
    )
    shares = 100 * estimate.frequencies
    limits = 100 * estimate.interval(level) if estimate.method == "raw" else None
    if few:
        ax.set_xlim(
            -0.6 - (len(estimate) < 4) * 0.6, len(estimate) - 0.4 + (len(estimate) < 4) * 0.6
        )
        ax.bar(places, shares, width=0.62, color=BLUE, alpha=0.75, label="estimate")
        if limits is not None:
            middle, reach = limits.mean(axis=1), np.diff(limits, axis=1)[:, 0] / 2
            ax.errorbar(
                places,
                middle,
                reach,
                fmt="none",
                ecolor="black",
                capsize=3,
                lw=1.2,
                label=f"{100 * level:g} % interval",
            )
        _set_ticks(ax, places, estimate.values)
    else:
        order = np.argsort(places, kind="stable")
        ax.plot(
            places,
            shares,
            ".",
            color=BLUE,
            markersize=4 if len(estimate) < 300 else 2,
            label="estimate",
        )
        if limits is not None:
            ax.fill_between(
                places[order],
                *limits[order].T,
                color=BLUE,
                alpha=0.25,
                lw=0,
                label=f"{100 * level:g} % interval",
            )
        ax.set_xlabel(escape_label(estimate.name or "value"))
        if not numeric:
            some = np.linspace(0, len(estimate) - 1, 12).round().astype(int)
            _set_ticks(ax, some, [estimate.values[i] for i in some])
    if true is not None:
        style = (
            {"marker": "D", "markersize": 5, "mfc": "none", "mew": 1.3, "ls": ""}
            if few
            else {"lw": 1.2}
        )
        by_place = np.argsort(places, kind="stable")
        ax.plot(
            places[by_place],
            100 * true[by_place],
            color=VERMILION,
            label="truth",
            zorder=3,
            **style,
        )
    _finish_axes(ax)
    ax.set_title(
        escape_label(estimate.name or rendering.describe_users(estimate)), fontsize=10, loc="left"
    )
    ax.legend(
        frameon=False,
        fontsize=8,
        loc="lower left",
        bbox_to_anchor=(0, 1.08),
        ncols=3,
        borderaxespad=0,
    )
    return ax


def draw_attributes(estimates: "Estimates", truth: Any, level: float) -> Any:
    """Draw several attributes side by side, three in a row."""
    figure, panels = _make_panels(len(estimates), 3.8, 2.9)
    legend: dict[tuple[str, bool], Any] = {}  # bars and points look different
    for panel, name, estimate, true in zip(
        panels,
        estimates.names,
        estimates,
        _order_by_name("truth", truth, estimates.names),
        strict=True,
    ):
        draw_bars(estimate, true, level, panel)
        panel.set_title(escape_label(name), fontsize=10, loc="left")
        panel.get_legend().remove()
        handles, labels = panel.get_legend_handles_labels()
        legend |= {
            (label, len(estimate) < MANY): handle
            for label, handle in zip(labels, handles, strict=True)
        }
    columns = len(legend) if len(estimates) > 2 else 3
    figure.legend(
        legend.values(),
        [label for label, _ in legend],
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=8,
    )
    return figure


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
    """Return something given for each attribute, in their order: a list, or a mapping by name."""
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise ValueError(
                f"{what} must be by attribute, {', '.join(names)}, not"
                f" {', '.join(map(repr, unknown))}"
            )
        return [given.get(name) for name in names]
    if (
        isinstance(given, str)
        or not isinstance(given, Sequence | np.ndarray)
        or len(given) != len(names)
    ):
        raise ValueError(
            f"{what} must have an entry an attribute, {len(names)} of them, not"
            f" {validate.quote(given)}"
        )
    return list(given)


def draw_rounds(rounds: Sequence[Any], values: Any, truth: Any, level: float) -> Any:
    """Draw frequencies over rounds, a panel an attribute."""
    if not rounds:
        raise ValueError("there are no rounds to draw")
    several = isinstance(rounds[0], tuple)  # ``Estimates``; one attribute has an ``Estimate``
    attributes = list(zip(*rounds, strict=True)) if several else [tuple(rounds)]
    names = rounds[0].names if several else [rounds[0].name or ""]
    figure, panels = _make_panels(len(attributes), 5.0, 3.2)
    chosen, true = (
        _order_by_name(what, each, names) if several else [each]
        for what, each in (("values", values), ("truth", truth))
    )
    for panel, name, estimates, drawn, own in zip(
        panels, names, attributes, chosen, true, strict=True
    ):
        _draw_attribute_rounds(panel, estimates, drawn, own, level)
        panel.set_title(escape_label(name), fontsize=10, loc="left")
    return figure


def _draw_attribute_rounds(
    panel: Any,
    estimates: Sequence["Estimate"],
    values: Sequence[Any] | None,
    truth: Any,
    level: float,
) -> None:
    shares = 100 * np.array([each.frequencies for each in estimates])
    limits = (
        100 * np.array([each.interval(level) for each in estimates])
        if estimates[0].method == "raw"
        else None
    )
    first, at = estimates[0], np.arange(len(estimates))
    drawn = (
        np.sort(np.argsort(-shares.mean(axis=0))[: len(COLOURS)])
        if values is None
        else first._numbers("values", values)
    )
    if len(drawn) > len(COLOURS):
        raise ValueError(
            f"values must be {len(COLOURS)} at most, which colours can tell apart, not {len(drawn)}"
        )
    true = None if truth is None else validate.numbers("truth", truth, 0, 1)
    if true is not None and true.shape != shares.shape:
        raise ValueError(
            f"truth must have a row a round and a column a value, {shares.shape}, not {true.shape}"
        )
    for colour, marker, i in zip(COLOURS, MARKERS, drawn, strict=False):
        panel.plot(
            at,
            shares[:, i],
            marker,
            ls="-",
            color=colour,
            markersize=4,
            lw=1.4,
            label=escape_label(first.values[i]),
        )
        if limits is not None and len(at) > 1:
            panel.fill_between(at, limits[:, i, 0], limits[:, i, 1], color=colour, alpha=0.15, lw=0)
        elif limits is not None:
            panel.plot(at.repeat(2), limits[0, i], "_-", color=colour, lw=1)
        if true is not None:
            panel.plot(at, 100 * true[:, i], "--", color=colour, lw=1)
    if true is not None:
        panel.plot([], [], "--", color="black", lw=1, label="truth")
    panel.set_xlabel("round")
    if len(at) > 1:
        panel.xaxis.get_major_locator().set_params(integer=True)
    else:
        panel.set_xticks(at)
    _finish_axes(panel)
    panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw_comparison(comparison: Any, ax: Any = None) -> Any:
    """Draw the errors of a comparison against the budget of a report."""
    if ax is None:
        _, ax = import_pyplot().subplots(figsize=(6.8, 4.0), layout="constrained")
    one_each = len({(cell.protocol, cell.epsilon) for cell in comparison}) == len(comparison)
    series: dict[str, list[Any]] = {}
    for cell in comparison:
        apart = (
            ""
            if one_each or not isinstance(cell.budget, tuple)
            else f", {cell.budget[0]:g} for ever"
        )
        series.setdefault(cell.protocol + apart, []).append(cell)
    # Less is rounding: no error, which a logarithmic axis cannot show
    least = 1e-24 if comparison.metric == "mse" else 1e-12
    for i, (name, found) in enumerate(series.items()):
        cells = sorted(found, key=lambda cell: cell.epsilon)
        at, colour = [cell.epsilon for cell in cells], COLOURS[i % len(COLOURS)]
        low, high = np.array([np.percentile(cell.errors, (10, 90)) for cell in cells]).T
        mean = np.array([cell.error for cell in cells])
        if (none := mean < least).any():
            name += f" (0 at {', '.join(f'{cell.epsilon:g}' for cell in np.array(cells)[none])})"
            mean[none] = low[none] = high[none] = np.nan
        look: dict[str, Any] = {
            "marker": MARKERS[i % len(MARKERS)],
            "ls": ("-", "--", "-.", ":")[(i + i // len(COLOURS)) % 4],
        }
        ax.plot(
            at,
            mean,
            color=colour,
            markersize=5,
            mfc="none",
            lw=1.4,
            label=escape_label(name),
            **look,
        )
        if len(at) > 1:
            ax.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
        else:
            ax.plot(at * 2, [low[0], high[0]], "_-", color=colour, lw=1)
        if cells[0].theory is not None:
            ax.plot(at, [cell.theory for cell in cells], "_", color=colour, markersize=12, mew=1.2)
    if any(cell.theory is not None for cell in comparison):
        ax.plot([], [], "_", color="black", markersize=12, mew=1.2, label="theory")
    limits = {cell.epsilon: cell.limit for cell in comparison if cell.limit is not None}
    if limits:
        style = {
            "marker": "x" if len(limits) == 1 else None,
            "color": "black",
            "lw": 1,
            "ls": (0, (1, 1)),
        }
        ax.plot(sorted(limits), [limits[each] for each in sorted(limits)], label="limit", **style)
    ax.set_xlabel("ε asked for")
    ax.set_ylabel(comparison.metric)
    ax.set_xscale("log")
    ax.set_yscale("log")
    errors = [cell.error for cell in comparison]
    if min(errors) < least < max(errors):
        ax.set_ylim(bottom=min(error for error in errors if error >= least) / 10)
    ax.grid(color="#e8e8e8", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ticks = sorted({cell.epsilon for cell in comparison})
    ax.set_xticks(ticks, [f"{each:g}" for each in ticks], fontsize=8)
    ax.xaxis.set_minor_locator(import_pyplot().NullLocator())
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _truth_of(truth: Any, estimate: "Estimate") -> NDArray[np.float64] | None:
    """Return the true frequencies, given as such or as counts."""
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
            f"truth must have {len(estimate)} entries, one a value, not shape {true.shape}"
        )
    return np.asarray(true / true.sum() if true.sum() > 1.5 else true)


def _set_ticks(ax: Any, places: Any, values: Sequence[Any]) -> None:
    labels = [
        text if len(text := escape_label(value)) <= 24 else text[:23] + "…" for value in values
    ]
    crowded = sum(len(label) for label in labels) > 45 or len(labels) > 16
    ax.set_xticks(places, labels, fontsize=8, rotation=90 if crowded else 0)


def _finish_axes(ax: Any) -> None:
    ax.axhline(0, color="black", lw=0.8)
    ax.set_ylabel("users, %")
    ax.grid(axis="y", color="#e8e8e8", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
