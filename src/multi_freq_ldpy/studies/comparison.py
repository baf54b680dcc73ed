"""Comparison of protocols on the same data.

The tallies of the repetitions have the same distribution as the tallies of real reports. Counts are
drawn directly where that is possible, because it is faster.
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
from ..estimation.estimate import Estimate
from ..files.progress import Progress
from ..longitudinal.history import History
from ..mechanism import Mechanism
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
    """The errors of one protocol with one budget: an entry of a ``Comparison``.

    The mean error and its standard error are the numbers that a printed comparison shows.

    Parameters
    ----------
    protocol : str
        Name of the protocol.
    budget : float or tuple of float
        The budget, or the pair (eps_perm, eps_1).
    errors : array of float
        The error of each repetition. It is the metric over all values, such as the mean of the
        squared errors.
    theory : float or None
        The expected error. It is known for raw estimates and the metric "mse".
    limit : float or None
        The expected error of subset selection (``SS``) with sets of the best size. For many users,
        no unbiased protocol has less on uniform data. A measured error may lie below the limit by
        chance. The limit is known for raw estimates of one attribute and the metric "mse".

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, compare
    >>> found = compare([GRR], [0, 0, 0, 1, 2] * 2000, budgets=[1.0], k=50, repeats=30, rng=1)
    >>> cell = found[0]
    >>> cell.protocol, cell.budget, cell.errors.shape
    ('GRR', 1.0, (30,))
    >>> [float(f"{each:.2g}") for each in (cell.error, cell.std, cell.theory, cell.limit)]
    [0.002, 8.9e-05, 0.0018, 0.00035]
    """

    protocol: str
    budget: float | tuple[float, ...]
    errors: NDArray[np.float64]
    theory: float | None
    limit: float | None

    @property
    def error(self) -> float:
        """The mean error over the repetitions."""
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """The standard error of the mean error. It is NaN for one repetition."""
        with np.errstate(invalid="ignore"):
            many = len(self.errors)
            return float(self.errors.std(ddof=1) / many**0.5) if many > 1 else float("nan")

    @property
    def epsilon(self) -> float:
        """The budget of one report."""
        return self.budget[-1] if isinstance(self.budget, tuple) else self.budget


class Comparison(tuple[Cell, ...]):
    """The result of ``compare``: a tuple with one ``Cell`` per protocol and budget.

    A printed comparison has one row per protocol and one column per budget. An entry is the mean
    error over the repetitions, ± the standard error of this mean. In each column, ``*`` marks the
    protocol with the least error, and ``=`` marks the protocols that tie with it.

    The expected error (``Cell.theory``) decides if it is known. The heading then says "least
    expected error", and the star may stand beside a measured error that is not the smallest.
    Otherwise the measured errors decide, and the heading says "least error".

    Parameters
    ----------
    iterable : iterable of Cell
        The cells. ``Cell`` has the attributes protocol, budget, errors, theory and limit, and the
        properties error, std and epsilon.

    Attributes
    ----------
    metric : str
        The metric of the errors: "mse", "mae" or "max".
    estimator : str
        The estimator: "raw", or the name of a post-processing.
    users : int
        Number of users in the data.
    repeats : int
        Number of repetitions.
    sizes : tuple of int
        Number of values of each attribute.
    seed : int or None
        The seed of the comparison, which makes it reproducible.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE, compare
    >>> found = compare([GRR, OUE], [0, 0, 0, 1, 2] * 2000, budgets=[1.0], k=50, rng=1)
    >>> found
    mse of raw estimates ± standard error (* least expected error)
    ε                   1
    GRR   0.00196 ± 9e-05
    OUE  0.000364 ± 1e-05 *
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
            Kind of the table. None means the first kind that is installed.

        Returns
        -------
        table
            The columns are protocol, epsilon, eps_perm (for pairs of budgets), repeat, the metric,
            and theory if it is known. The column of the metric, such as "mse", has the error of the
            repetition. For a pair of budgets, epsilon is eps_1.

        Raises
        ------
        ImportError
            If the package for this kind of table is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, OUE, compare
        >>> found = compare([GRR, OUE], [0, 0, 1, 2], budgets=[1.0], repeats=2, rng=1)
        >>> found.to_frame("dict")["protocol"]
        ['GRR', 'GRR', 'OUE', 'OUE']
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

        The expected error decides if it is known. Otherwise the mean of the repetitions decides.

        Returns
        -------
        dict
            The name of one protocol for each budget.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, OUE, compare
        >>> compare([GRR, OUE], [0, 0, 0, 1, 2], budgets=[0.5, 4.0], k=50, rng=1).best()
        {0.5: 'OUE', 4.0: 'GRR'}
        """
        return {budget: names[0] for budget, names in self.ties().items()}

    def ties(self) -> dict[Any, list[str]]:
        """Return the protocols whose error cannot be told from the least, for each budget.

        Expected errors tie if they differ by at most a thousandth of the least error. Means of
        repetitions tie within two standard errors of their difference.

        Returns
        -------
        dict
            A list of names for each budget. The protocol of least error is the first.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, OUE, SS, compare
        >>> compare([OUE, GRR, SS], [0, 0, 0, 1, 2], budgets=[1.0], rng=1).ties()
        {1.0: ['GRR', 'SS']}
        """
        found: dict[Any, list[str]] = {}
        for budget in dict.fromkeys(cell.budget for cell in self):
            cells = [cell for cell in self if cell.budget == budget]
            known = all(cell.theory is not None for cell in cells)
            errors = [cell.theory or 0.0 if known else cell.error for cell in cells]
            # Errors are NaN if no user reported an attribute. They come last
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

        A line connects the mean errors. A band contains eight of ten repetitions, from the 10th to
        the 90th percentile. Short strokes are the expected errors (``Cell.theory``), and the dotted
        line is ``Cell.limit``. Measured errors may lie below both, by chance.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on. None means a new figure.
        title : str, optional
            Title of the figure.
        colors : mapping, optional
            Colours by protocol. None means the usual colours: a protocol has the same colour and
            marker in all figures.
        **keywords
            Further keywords of ``Axes.plot`` for the errors.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing. ``found.plot().figure.savefig("errors.png")`` saves it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, OUE, compare
        >>> found = compare([GRR, OUE], [0, 0, 0, 1, 2], budgets=[0.5, 4.0], repeats=2, rng=1)
        >>> found.plot().get_ylabel()
        'mean squared error'
        """
        from ..estimation import plots

        axes: Axes = plots.draw_comparison(self, ax, title, colors, **keywords)
        return axes

    def report(self, title: str, command: str | None = None) -> str:
        """Return a page of HTML with the picture, the table, and the parameters of the run.

        Parameters
        ----------
        title : str
            Heading of the page.
        command : str, optional
            The command that made the comparison. The page shows it.

        Returns
        -------
        str
            A page that needs no other file.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, OUE, compare
        >>> found = compare([GRR, OUE], [0, 0, 0, 1, 2], budgets=[0.5, 4.0], repeats=2, rng=1)
        >>> "<h1>Two protocols</h1>" in found.report("Two protocols")
        True
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
                "<h2>Parameters of the comparison</h2>",
                f"<table>{rows}</table>",
                "</html>\n",
            ]
        )

    def _rows(self) -> list[list[str]]:
        """Return the errors with one row per protocol and one column per budget.

        The first row has the budgets.
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
        """Return a sentence that explains the numbers and the marks."""
        tied = any(len(names) > 1 for names in self.ties().values())
        ranked = all(cell.theory is not None for cell in self)
        least = f"* least{' expected' if ranked else ''} error"
        return (
            f"{self.metric} of {self.estimator} estimates ± standard error"
            f" ({least}{'; = tied with it' if tied else ''})"
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
    """Return one budget, or two budgets, as text."""
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

    The truth is the frequencies in the data, so the errors are about the users in the data (the
    sample). They do not include the error from drawing these users from a population. The errors of
    ``recommend`` do include it.

    The tallies have the same distribution as the tallies of real reports. For GRR and unary
    encodings the counts are drawn directly, which is faster. Each protocol and budget has a random
    stream of its own. Its errors do not depend on the other protocols.

    Whole histories are compared on an array of histories, with one number k for all rounds. Errors
    are then means over the rounds. They include the bias from users who change more often than a
    history allows for, so their expected value is not known.

    For raw estimates of one attribute, the expected mse does not depend on the frequencies in the
    data. For dBitFlipPM it does, by a small amount. After a post-processing, the expected mse
    depends on the frequencies.

    Parameters
    ----------
    protocols : list, or mapping by name
        Protocol classes, or callables that make a protocol or a solution from k and budgets, such
        as ``partial(SMP, OUE)``.
    data : array, list or table
        A vector of values or labels, an array of records with one column per attribute, or a table.
        For whole histories, an array with one row per user and one column per round.
    budgets : list
        Numbers, or pairs (eps_perm, eps_1). A protocol uses the numbers if it has one budget, and
        the pairs if it has two.
    repeats : int
        Number of repetitions. Each draws the noise anew, for the same data. Four times as many
        repetitions halve the standard error of the mean error.
    estimator : {"raw", "norm_sub", "norm", "mle"}
        Estimates to compare: "raw", or the name of a post-processing (``Estimate.postprocess``).
    metric : {"mse", "mae", "max"}
        Error of one repetition: the mean squared error, the mean absolute error or the largest
        absolute error over all values. For several attributes it is the mean over the attributes.
        The root of an mse is a typical error of one frequency.
    rng : int, SeedSequence, Generator or Stream, optional
        Source of randomness. An int makes the comparison reproducible. None gives different errors
        at every call. A comparison is a simulation, so a seed puts no privacy at risk.
    k : int or list of int, optional
        Number of possible values, which are 0, …, k − 1. For records, one number per attribute.
        None means the largest value in the data plus 1, so give k if larger values are possible.
        For labels, k is their number in the data, and must not be given. One number for an array
        with several columns means that its rows are histories.

    Returns
    -------
    Comparison
        One ``Cell`` per protocol and budget.

    Raises
    ------
    ValueError
        If a protocol does not fit the data, the budgets or the estimator.
    TypeError
        If an entry of ``protocols`` does not make a protocol or a solution.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE, compare
    >>> found = compare([GRR, OUE], [0, 0, 0, 1, 2] * 2000, budgets=[0.5, 4.0], k=50, rng=1)
    >>> found.best()
    {0.5: 'OUE', 4.0: 'GRR'}
    """
    factories = _name_factories(protocols)
    if _are_histories(data, k):
        histories, many, size = _count_histories(data, k)
        return compare_histograms(
            factories, [many], (size,), True, budgets, repeats, estimator, metric, rng, histories
        )
    held, sizes, single = _histograms_of(data, k)
    return compare_histograms(
        factories, held, sizes, single, budgets, repeats, estimator, metric, rng
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
    histories: NDArray[np.int64] | None = None,
) -> Comparison:
    """Return the result of ``compare``, given the number of users who hold each value.

    With ``histories``, the numbers are those of the users who have each history.
    """
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
    if histories is not None:
        truth = [np.bincount(r, held[0], sizes[0]) / n for r in histories.T]
    mechanisms = _build_mechanisms(
        factories, list(pairs), sizes[0] if single else list(sizes), single, estimator, histories
    )
    with Progress("compare", len(mechanisms) * times) as progress:
        for name, budget, mechanism in mechanisms:
            true = truth
            if histories is None:
                true = [cells_of(*each) for each in zip(mechanism.leaves, truth, strict=True)]
            errors = np.empty(times)
            # Each cell has its own stream, so that cells do not depend on each other
            own_stream = stream.part(f"compare {first}, {name}, {budget!r}".encode())
            for i in range(times):
                if histories is None:
                    counts, answers = mechanism._simulate_part(held, n, own_stream)
                    tally = Tally(mechanism, counts, answers, n)
                else:
                    tally = mechanism.simulate(histories, own_stream, counts=held[0])
                found = mechanism.estimate(tally)
                own = [found] if isinstance(found, Estimate) else found
                errors[i] = np.mean(
                    [
                        METRICS[metric](each.postprocess(estimator).frequencies - expected)
                        for each, expected in zip(own, true, strict=True)
                    ]
                )
                progress.step(f"{name}, ε = {budget}")
            theory = (
                _expected_error(mechanism, true, n)
                if estimator == "raw" and metric == "mse" and histories is None
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
    histories: NDArray[np.int64] | None = None,
) -> list[Any]:
    """Return each protocol or solution with each of its budgets, checked."""
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
            if histories is not None:
                _require_history(name, mechanism, histories.shape[1], estimator)
                found.append((name, budget, mechanism))
                continue
            if isinstance(mechanism, Mechanism) and mechanism.rounds is not None:
                raise TypeError(
                    f"{name} protects whole histories: give an array of histories, with one column"
                    " per round, and one number k"
                )
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


def _require_history(name: str, mechanism: Any, rounds: int, estimator: str) -> None:
    """Refuse a mechanism that does not take histories of this length."""
    if not isinstance(mechanism, History):
        raise TypeError(
            f"{name} must make a history, such as Steps, for an array of histories, not"
            f" {validate.quote(mechanism)}"
        )
    if mechanism.rounds != rounds:
        raise ValueError(
            f"{name} has rounds={mechanism.rounds}, but the histories in data have {rounds} rounds"
        )
    if estimator == "mle":
        raise ValueError(f"estimator {estimator!r} is not for whole histories: {name}")


def _are_histories(data: Any, k: Any) -> bool:
    """Tell histories from records: they have several columns, and one number k."""
    shape = () if frames.is_table(data) else validate.shape_of(data) or ()
    return k is not None and np.ndim(k) == 0 and len(shape) == 2 and shape[1] > 1


def _count_histories(data: Any, k: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the different histories, the number of users who have each, and k."""
    size = validate.domain_size("k", k)
    what = f"values are 0, …, k − 1 with k={size}"
    every = validate.integers("data", data, 0, size - 1, what=what)
    if not every.size:
        raise ValueError(f"data must have at least one history, not the shape {every.shape}")
    found, many = np.unique(every, axis=0, return_counts=True)
    return found.astype(np.int64), many, size


def _count_budgets(factory: Any) -> int | None:
    """Return the number of budgets that a protocol class takes, also within a partial.

    The result is None for a callable of another kind.
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
                f"protocols must have different names, but two have the name {name!r}: give a"
                " mapping from names to protocols"
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
    """Return the number of users who hold each value of each attribute, and the domain sizes.

    The third result is True if ``data`` has one attribute, given as a vector.
    """
    if frames.is_table(data) or np.asarray(data).dtype.kind in "USO":
        if k is not None:
            raise ValueError(
                f"k must not be given with labels, which determine it, not {validate.quote(k)}"
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
                f"k must be at least {found if records.ndim == 2 else found[0]}, because of the"
                f" largest value in the data, not {validate.quote(k)}"
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
