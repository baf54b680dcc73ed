"""Protocols side by side on the same data.

Many repetitions drawn from the exact law of the tallies, no report ever made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.randomness import Rng, as_stream
from ..core.tally import Tally
from ..estimation import postprocess
from ..estimation.several import Estimates
from ..files.progress import Progress
from ..protocol import Protocol, budgets_of, build_protocol
from ..rehearsal import cells_of
from ..solutions.base import Solution
from ..survey import Survey
from ..tables import frames
from ..tables.labels import is_missing
from .planning import check_budgets, least_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS: dict[str, Callable[[NDArray[Any]], float]] = {
    "mse": lambda errors: float(np.mean(errors**2)),
    "mae": lambda errors: float(np.mean(np.abs(errors))),
    "max": lambda errors: float(np.max(np.abs(errors))),
}


@dataclass(frozen=True)
class Cell:
    """One protocol with one budget.

    The error of each repetition, what theory says of it, and what no protocol can do better than.
    """

    protocol: str
    budget: float | tuple[float, ...]
    errors: NDArray[np.float64]
    theory: float | None
    limit: float | None

    @property
    def error(self) -> float:
        """The mean over the repetitions."""
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """The standard error of that mean; NaN for one repetition."""
        with np.errstate(invalid="ignore"):
            many = len(self.errors)
            return float(self.errors.std(ddof=1) / many**0.5) if many > 1 else float("nan")

    @property
    def epsilon(self) -> float:
        """The budget of a report."""
        return self.budget[-1] if isinstance(self.budget, tuple) else self.budget


class Comparison(tuple[Cell, ...]):
    """What ``compare`` found: one cell per protocol and budget.

    Attributes
    ----------
    metric, estimator : str
        What was measured, and of which estimates.
    users, repeats : int
        The number of users in the data, and of repetitions.
    sizes : tuple of int
        The number of values of each attribute.
    seed : int or None
        What makes the run reproducible.
    """

    metric: str
    estimator: str
    users: int
    repeats: int
    sizes: tuple[int, ...]
    seed: int | None

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a tidy table with one row per protocol, budget and repetition.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is a kind that is installed.

        Returns
        -------
        table
            Columns are protocol, epsilon, eps_perm (for pairs), repeat, the metric, and theory
            where it is known.
        """
        columns: dict[str, list[Any]] = {
            "protocol": [],
            "epsilon": [],
            "eps_perm": [],
            "repeat": [],
            self.metric: [],
            "theory": [],
        }
        pairs = any(isinstance(cell.budget, tuple) for cell in self)
        for cell in self:
            for repeat, error in enumerate(cell.errors.tolist()):
                first = cell.budget[0] if isinstance(cell.budget, tuple) else None
                for name, entry in zip(
                    columns,
                    (cell.protocol, cell.epsilon, first, repeat, error, cell.theory),
                    strict=True,
                ):
                    columns[name].append(entry)
        if not pairs:
            del columns["eps_perm"]
        if all(each is None for each in columns["theory"]):
            del columns["theory"]
        return frames.build_table(kind, columns)

    def best(self) -> dict[Any, str]:
        """Return the protocol of least error for each budget.

        The expected error decides where theory knows it, and the mean of the repetitions elsewhere.
        """
        return {budget: names[0] for budget, names in self.ties().items()}

    def ties(self) -> dict[Any, list[str]]:
        """Return the protocol of least error for each budget, and those it cannot be told from.

        Expected errors tie within a thousandth; means of repetitions within two standard errors of
        their difference.
        """
        found: dict[Any, list[str]] = {}
        for budget in dict.fromkeys(cell.budget for cell in self):
            cells = [cell for cell in self if cell.budget == budget]
            known = all(cell.theory is not None for cell in cells)
            errors = [cell.theory or 0.0 if known else cell.error for cell in cells]
            # NaN, where nobody reported an attribute, last
            order = sorted(range(len(cells)), key=lambda i: (isnan(cells[i].error), errors[i]))
            best, least = cells[order[0]], errors[order[0]]
            reach = [
                1e-3 * least if known else 2 * float(np.hypot(best.std, cell.std)) for cell in cells
            ]
            found[budget] = [
                cells[i].protocol
                for i in order
                if i == order[0] or (errors[i] - least <= reach[i] and not isnan(cells[i].error))
            ]
        return found

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        title: str | None = None,
        colors: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> "Axes":
        """Draw the errors against the budget of a report, both logarithmic.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            The title.
        colors : mapping, optional
            Colours by protocol. Each protocol has a colour and a marker of its own in all figures.
        **keywords
            Further keywords of ``Axes.plot`` for the errors.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from ..estimation import plots

        axes: Axes = plots.draw_comparison(self, ax, title, colors, **keywords)
        return axes

    def report(self, title: str, command: str | None = None) -> str:
        """Return a page of HTML with the picture, the table, and how it was made.

        Parameters
        ----------
        title : str
            The heading.
        command : str, optional
            The command that made it.

        Returns
        -------
        str
            A page that needs nothing else.
        """
        from html import escape
        from io import StringIO

        from ..estimation import plots

        picture = StringIO()
        plots.save_figure(self.plot().figure, picture, "svg")
        drawing = picture.getvalue()
        figure = drawing[drawing.index("<svg") :]
        what, ranked = plots.METRICS[self.metric], all(cell.theory is not None for cell in self)
        best = "".join(
            f"<li>ε = {escape(show_budget(budget))}: {escape(' = '.join(names))}</li>"
            for budget, names in self.ties().items()
        )
        made = {
            "users (n)": f"{self.users:,}",
            "values (k)": ", ".join(f"{size:,}" for size in self.sizes),
            "metric, estimator": f"{self.metric}, {self.estimator}",
            "repetitions": f"{self.repeats:,}",
            "seed": "none" if self.seed is None else str(self.seed),
            "version": f"multi-freq-ldpy {version('multi-freq-ldpy')}",
        } | ({} if command is None else {"command": command})
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(entry)}</td></tr>"
            for name, entry in made.items()
        )
        style = (
            ":root{color-scheme:light dark}body{font-family:sans-serif;max-width:60em;"
            "margin:2em auto;padding:0 1em}svg{max-width:100%;height:auto;background:#fff}"
            "th{text-align:left;padding-right:1em}pre{overflow-x:auto}"
        )
        return "\n".join(
            [
                "<!doctype html>",
                "<html lang='en'>",
                "<meta charset='utf-8'>",
                "<meta name='viewport' content='width=device-width, initial-scale=1'>",
                f"<title>{escape(title)}</title>",
                f"<style>{style}</style>",
                f"<h1>{escape(title)}</h1>",
                figure,
                f"<pre>{escape(repr(self))}</pre>",
                f"<p>{what.capitalize()} of {escape(self.estimator)} estimates, for each protocol"
                " and privacy budget ε of a report. Less is better.</p>",
                f"<h2>Least{' expected' * ranked} error</h2>",
                f"<ul>{best}</ul>",
                "<h2>How it was made</h2>",
                f"<table>{rows}</table>",
                "</html>\n",
            ]
        )

    def _rows(self) -> list[list[str]]:
        """Return the errors as one row per protocol and one column per budget, under a row of
        budgets.
        """
        names, budgets = (
            list(dict.fromkeys(getattr(cell, what) for cell in self))
            for what in ("protocol", "budget")
        )
        ties = self.ties()
        cells = {}
        for cell in self:
            least = ties[cell.budget]
            mark = " =" if cell.protocol in least[1:] else "  "
            error = "" if cell.std != cell.std else f" ± {cell.std:.1g}"
            cells[cell.protocol, cell.budget] = (
                f"{cell.error:.3g}{error}{' *' if cell.protocol == least[0] else mark}"
            )
        return [
            ["ε", *(f"{show_budget(each)}  " for each in budgets)],
            *([name, *(cells.get((name, each), "") for each in budgets)] for name in names),
        ]

    def _describe(self) -> str:
        """Say what the numbers and the marks are."""
        tied = any(len(names) > 1 for names in self.ties().values())
        ranked = all(cell.theory is not None for cell in self)
        least = f"* least{' expected' if ranked else ''} error"
        return (
            f"{self.metric} of {self.estimator} estimates ± standard error of the mean"
            f" ({least}{'; = not told from it' if tied else ''})"
        )

    def __repr__(self) -> str:
        rows = self._rows()
        width = max(len(row[0]) for row in rows)
        widths = [max(9, *(len(row[c]) for row in rows)) for c in range(1, len(rows[0]))]
        lines = [
            f"{first:{width}}  "
            + "  ".join(f"{each:>{wide}}" for each, wide in zip(rest, widths, strict=True))
            for first, *rest in rows
        ]
        return "\n".join([self._describe(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        from html import escape

        lines = ["".join(f"<td>{escape(each)}</td>" for each in row) for row in self._rows()]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{escape(self._describe())}</caption><tbody>{body}</tbody></table>"


def show_budget(budget: float | tuple[float, ...]) -> str:
    """Return a budget, or two, as text."""
    return f"{budget:g}" if isinstance(budget, float) else ", ".join(f"{each:g}" for each in budget)


def compare(
    protocols: Sequence[Any] | Mapping[str, Any],
    data: Any,
    budgets: Sequence[float | Sequence[float]],
    repeats: int = 30,
    estimator: str = "raw",
    metric: str = "mse",
    rng: Rng = None,
    *,
    k: Any = None,
) -> Comparison:
    """Estimate the same data with several protocols and budgets, and return the errors.

    Tallies are drawn from their exact distribution, so no report is made. Each cell has a stream of
    its own: another protocol beside it changes nothing.

    Parameters
    ----------
    protocols : list, or mapping by name
        Protocol classes, or callables that make a protocol or a solution of k and budgets, such as
        ``partial(SMP, OUE)``.
    data : array, list or table
        A vector of values or labels, an array of records with one column per attribute, or a table.
    budgets : list
        Numbers, or pairs (eps_perm, eps_1). Each protocol takes the budgets that suit it.
    repeats : int
        Number of repetitions.
    estimator : str
        "raw", or the name of a post-processing (``Estimate.postprocess``).
    metric : {"mse", "mae", "max"}
        Mean squared error, mean absolute error or largest error of the values; the mean over
        attributes where there are several.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. Seeds make the comparison reproducible.
    k : int or list of int, optional
        Number of possible values, for records one number per attribute. By default it is what the
        data have.

    Returns
    -------
    Comparison
        One cell per protocol and budget.

    Raises
    ------
    ValueError
        If a protocol does not suit the data, the budgets or the estimator.
    TypeError
        If ``protocols`` has entries that make no protocol and no solution.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE
    >>> found = compare([GRR, OUE], [0, 0, 0, 1, 2] * 2000, budgets=[0.5, 4.0], k=50, rng=1)
    >>> found.best()
    {0.5: 'OUE', 4.0: 'GRR'}
    """
    held, sizes, single = _histograms_of(data, k)
    return compare_histograms(
        _name_factories(protocols), held, sizes, single, budgets, repeats, estimator, metric, rng
    )


def compare_histograms(
    factories: Mapping[str, Any],
    held: list[NDArray[np.int64]],
    sizes: tuple[int, ...],
    single: bool,
    budgets: Sequence[float | Sequence[float]],
    repeats: int,
    estimator: str,
    metric: str,
    rng: Rng,
) -> Comparison:
    """Do what ``compare`` does, given how many users hold each value."""
    if (
        isinstance(budgets, str)
        or not isinstance(budgets, Sequence | np.ndarray)
        or not len(budgets)
    ):
        raise TypeError(
            f"budgets must be a list of numbers or pairs, not {validate.quote(budgets)}"
        )
    pairs = dict.fromkeys(check_budgets(f"budgets[{i}]", one) for i, one in enumerate(budgets))
    times = validate.Integer(1, 2**31)("repeats", repeats)
    validate.choice("estimator", estimator, ("raw", *postprocess.METHODS))
    validate.choice("metric", metric, tuple(METRICS))
    stream, cells, n = as_stream(rng), [], int(held[0].sum())
    first = stream.take(1)
    truth = [each / n for each in held]
    mechanisms = _build_mechanisms(
        factories, list(pairs), sizes[0] if single else list(sizes), single, estimator
    )
    with Progress("compare", len(mechanisms) * times) as progress:
        for name, budget, mechanism in mechanisms:
            true = [cells_of(*each) for each in zip(mechanism.leaves, truth, strict=True)]
            errors = np.empty(times)
            # A stream of its own: the cells of a comparison do not depend on each other
            own_stream = stream.part(f"compare {first}, {name}, {budget!r}".encode())
            for i in range(times):
                counts, answers = mechanism._simulate_part(held, n, own_stream)
                tally = Tally(mechanism, counts, answers, n)
                estimate = mechanism.estimate(tally)
                found = estimate.postprocess(estimator)
                own = found if isinstance(found, Estimates) else [found]
                errors[i] = np.mean(
                    [
                        METRICS[metric](each.frequencies - expected)
                        for each, expected in zip(own, true, strict=True)
                    ]
                )
                progress.step(f"{name}, ε = {budget}")
            theory = (
                _expected_error(mechanism, true, n)
                if estimator == "raw" and metric == "mse"
                else None
            )
            limit = (
                least_error(sizes[0], budget[-1] if isinstance(budget, tuple) else budget, n)
                if theory is not None and single and mechanism.cells == sizes[0]
                else None
            )
            cells.append(Cell(name, budget, errors, theory, limit))
    result = Comparison(cells)
    result.metric, result.estimator = metric, estimator
    result.users, result.repeats, result.sizes = n, times, sizes
    result.seed = rng if isinstance(rng, int) else None
    return result


def _build_mechanisms(
    factories: Mapping[str, Any],
    budgets: list[tuple[float, ...]],
    domain: Any,
    single: bool,
    estimator: str,
) -> list[Any]:
    """Return each protocol or solution with each of the budgets it takes, checked."""
    found = []
    for name, factory in factories.items():
        arity = _count_budgets(factory)
        own = [each for each in budgets if arity is None or len(each) == arity]
        if not own:
            wanted = "numbers" if arity == 1 else "pairs (eps_perm, eps_1)"
            raise ValueError(
                f"budgets must have {wanted} for {name}, not only {validate.quote(budgets)}"
            )
        for pair in own:
            budget = pair[0] if len(pair) == 1 else pair
            try:
                mechanism: Any = build_protocol(factory, domain, pair)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{name} with budget {budget}: {error}") from None
            if isinstance(mechanism, Solution) == single or not isinstance(
                mechanism, Solution | Protocol
            ):
                needs = "a protocol, for one attribute" if single else "a solution, for records"
                raise TypeError(f"{name} must make {needs}, not {validate.quote(mechanism)}")
            if estimator != "raw":
                method = postprocess.METHODS[estimator]
                if not all(method.applies(seen.channel) for seen, _ in mechanism.parts):
                    raise ValueError(f"estimator {estimator!r} is for {method.limits}, not {name}")
            found.append((name, budget, mechanism))
    return found


def _count_budgets(factory: Any) -> int | None:
    """Return how many budgets a protocol class takes, also within a partial.

    None where only calling tells.
    """
    if isinstance(factory, partial) and factory.args:
        return _count_budgets(factory.args[0])
    if isinstance(factory, type) and issubclass(factory, Protocol):
        return len(budgets_of(factory))
    return None


def _name_factories(protocols: Any) -> dict[str, Any]:
    """Return factories by name."""
    given: Any = (
        protocols
        if isinstance(protocols, Mapping)
        else list(protocols)
        if isinstance(protocols, Iterable)
        else [protocols]
    )
    if not given:
        raise ValueError("protocols must have at least one entry")
    named: dict[str, Any] = {}
    for name, each in (
        given.items() if isinstance(given, Mapping) else ((None, each) for each in given)
    ):
        if not callable(each):
            raise TypeError(
                "protocols must be classes, or callables that make a protocol or a solution, not"
                f" {validate.quote(each)}"
            )
        name = _name_of(each) if name is None else str(name)
        if name in named:
            raise ValueError(
                f"protocols must have different names, but {name!r} is among them twice: give a"
                " mapping of names"
            )
        named[name] = each
    return named


def _name_of(factory: Any) -> str:
    inner = getattr(factory, "func", None)  # a partial
    if inner is not None:
        return (
            f"{_name_of(inner)}[{', '.join(map(_name_of, factory.args))}]"
            if factory.args
            else _name_of(inner)
        )
    return str(getattr(factory, "__name__", None) or type(factory).__name__)


def _histograms_of(data: Any, k: Any) -> tuple[list[NDArray[np.int64]], tuple[int, ...], bool]:
    """Return how many users hold each value of each attribute, the domain sizes, and whether there
    is one attribute, given as a vector.
    """
    if frames.is_table(data) or np.asarray(data).dtype.kind in "USO":
        if k is not None:
            raise ValueError(
                f"k must not be given with labels, which tell it, not {validate.quote(k)}"
            )
        table = data if frames.is_table(data) else {"data": list(data)}
        for name, values in frames.columns_of(
            "data", table, frames.names_of("data", table)
        ).items():
            if any(map(is_missing, values)):
                row = next(i for i, each in enumerate(values) if is_missing(each))
                raise ValueError(
                    f"data, column {name!r}, row {row} is missing: leave such rows out"
                )
        survey = Survey.from_table(table, 1.0)
        records, sizes = survey.encode(table), survey.solution.ks
        records = records[:, 0] if len(sizes) == 1 else records
    else:
        records = validate.integers(
            "data", data, 0, validate.LARGEST_DOMAIN, what="values are 0, …, k − 1"
        )
        if records.ndim not in (1, 2) or not records.size:
            raise ValueError(
                "data must be a vector of values or an array of records, not of shape"
                f" {records.shape}"
            )
        found = [max(2, int(each) + 1) for each in np.atleast_1d(records.max(axis=0))]
        sizes = (
            tuple(found) if k is None else validate.domain_sizes("k", [k] if np.ndim(k) == 0 else k)
        )
        if len(sizes) != len(found) or any(
            size < needed for size, needed in zip(sizes, found, strict=True)
        ):
            raise ValueError(
                f"k must be at least {found if records.ndim == 2 else found[0]}, which the data"
                f" need, not {validate.quote(k)}"
            )
    columns = records.T if records.ndim == 2 else [records]
    return (
        [np.bincount(column, minlength=size) for column, size in zip(columns, sizes, strict=True)],
        sizes,
        records.ndim == 1,
    )


def _expected_error(mechanism: Any, truth: list[NDArray[np.float64]], n: int) -> float:
    """Return the expected mean squared error of raw estimates."""
    if isinstance(mechanism, Solution):
        return float(np.mean([mechanism.variance(n, own)[j].mean() for j, own in enumerate(truth)]))
    return float(np.mean(mechanism.variance(n, truth[0])))
