"""The commands."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from .. import comparison as comparing
from .. import datasets, planning, registry
from ..estimates import Estimates
from ..labels import ordered
from ..protocol import BUDGETS
from ..protocols.adaptive import best
from ..survey import Survey
from ..tally import MAGIC, Tally
from ..whole import refuse_existing, whole
from . import files
from .files import BadFile

app = typer.Typer(
    name="multi-freq-ldpy",
    help="Frequency estimation under local differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(width=None if sys.stdout.isatty() else 140)

Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Seed = Annotated[int | None, typer.Option(help="Make the run reproducible: for simulations only, never to collect with.")]
SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="A survey as JSON (Survey.save).")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function: what users did wrong is told in one sentence, with exit code 2."""

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            function(*arguments, **options)
        except (ValueError, TypeError, OSError, ImportError, KeyError) as error:
            said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
            print(f"error: {' '.join(said.split())}", file=sys.stderr)
            raise typer.Exit(2) from None

    app.command()(run)
    return run


def show(columns: dict[str, list[Any]], title: str | None = None) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, entries in columns.items():
        numeric = all(isinstance(each, int | float) for each in entries)
        table.add_column(name, justify="right" if numeric else "left")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(f"{each:.4g}" if isinstance(each, float) else str(each) for each in row))
    out.print(table)


def show_estimates(estimates: Estimates) -> None:
    """Print estimates with bars."""
    for estimate in estimates:
        limits = estimate.interval() if estimate.method == "raw" else None
        columns: dict[str, list[Any]] = {
            estimate.name or "value": list(estimate.values),
            "%": [f"{100 * f:.1f}" for f in estimate.frequencies],
            "": ["█" * round(30 * min(1.0, max(0.0, f))) if f == f else "" for f in estimate.frequencies],
        }
        if limits is not None:
            columns |= {"95 % interval": [f"{100 * low:.1f} to {100 * high:.1f}" for low, high in limits]}
        show(columns)
        out.print()


@command
def demo(users: Annotated[int, typer.Option(help="How many people to simulate.")] = 20_000, seed: Seed = None) -> None:
    """Ask simulated people three questions and estimate the answers."""
    people = datasets.population(users, seed)
    survey = Survey({name: datasets.CATEGORIES[name] for name in ("smokes", "status", "schooling")}, epsilon=2.0)
    out.print(
        f"{users:,} people who do not exist answer three questions. Each sends {survey.solution.report_bytes} bytes, from which nobody"
    )
    out.print(f"can tell their answers: any two are told apart by a factor of e^{survey.privacy.report:g} at most.\n")
    show_estimates(survey.estimate(survey.randomize(people, seed)))


@command
def protocols(
    k: Annotated[int, typer.Option(help="Number of values.")] = 100,
    users: Annotated[int, typer.Option(help="Number of users.")] = 10_000,
    as_json: Json = False,
) -> None:
    """List the protocols: budgets, length of a report, standard error of a rare value (ε = 1, or 2 and 1 over time)."""
    columns: dict[str, list[Any]] = {name: [] for name in ("protocol", "budgets", "bytes", "std", "what it is")}
    for name, cls in registry.PROTOCOLS.items():
        takes = [field for field in cls.__dataclass_fields__ if field in BUDGETS]
        protocol: Any = cls(k, *([1.0] if len(takes) == 1 else [2.0, 1.0]))
        about = " ".join((cls.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        entries = (name, ", ".join(takes), protocol.report_bytes, float(np.sqrt(protocol.variance(users))), about)
        for column, entry in zip(columns.values(), entries, strict=True):
            column.append(entry)
    print(json.dumps(columns)) if as_json else show(columns)


@command
def recommend(
    k: Annotated[int, typer.Argument(help="Number of values.")],
    epsilon: Annotated[float | None, typer.Option(help="The budget.")] = None,
    eps_perm: Annotated[float | None, typer.Option(help="The budget for all reports about an unchanged value.")] = None,
    eps_1: Annotated[float | None, typer.Option(help="The budget for one report, beside --eps-perm.")] = None,
    users: Annotated[int | None, typer.Option(help="Number of users (10 000).")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="The longest report allowed.")] = None,
    as_json: Json = False,
) -> None:
    """Rank the protocols by their error."""
    columns = planning.recommend(k, _budget(epsilon, eps_perm, eps_1), users, max_bytes)._columns()
    print(json.dumps(columns)) if as_json else show(columns)


def _budget(epsilon: float | None, eps_perm: float | None, eps_1: float | None) -> Any:
    if (epsilon is None) == (eps_perm is None) or (eps_perm is None) != (eps_1 is None):
        raise ValueError("give --epsilon, or --eps-perm and --eps-1")
    return epsilon if epsilon is not None else (eps_perm, eps_1)


@command
def compare(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    column: Annotated[list[str], typer.Option(help="A column to estimate; several make records.")],
    protocol: Annotated[list[str] | None, typer.Option(help="A protocol to compare (all of one budget).")] = None,
    solution: Annotated[str, typer.Option(help="SPL, SMP or RSFD, for several columns.")] = "SMP",
    epsilon: Annotated[list[float] | None, typer.Option(help="A budget (0.5, 1, 2 and 4).")] = None,
    repeats: Annotated[int, typer.Option(help="Repetitions.")] = 30,
    estimator: Annotated[str, typer.Option(help="raw, norm, norm_sub or mle.")] = "raw",
    metric: Annotated[str, typer.Option(help="mse, mae or max.")] = "mse",
    png: Annotated[Path | None, typer.Option(help="Draw the errors into this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report into this file.")] = None,
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Compare protocols on the values of a file, which is looked at: their number and frequencies are taken from it."""
    names = protocol or [name for name, cls in registry.PROTOCOLS.items() if "epsilon" in cls.__dataclass_fields__]
    for name in names:
        if name not in registry.PROTOCOLS:
            raise ValueError(f"--protocol must be one of {', '.join(registry.PROTOCOLS)}, not {name!r}")
    if solution not in registry.SOLUTIONS:
        raise ValueError(f"--solution must be one of {', '.join(registry.SOLUTIONS)}, not {solution!r}")
    for path in filter(None, (png, html)):
        refuse_existing(path, force)
    held = _counted(data, column)
    single, sizes = len(held) == 1, tuple(len(each) for each in held)
    factories: dict[str, Any] = {
        name: registry.PROTOCOLS[name] if single else partial(registry.SOLUTIONS[solution], registry.PROTOCOLS[name]) for name in names
    }
    found = comparing.compared(factories, held, sizes, single, epsilon or [0.5, 1.0, 2.0, 4.0], repeats, estimator, metric, seed)
    if png:
        with whole(png, force) as file:
            found.plot().figure.savefig(file, format="png", dpi=150)
    if html:
        users = int(held[0].sum())
        with whole(html, force) as file:
            file.write(found.report(f"{', '.join(column)} of {data.name}, {users:,} users").encode())
    if as_json:
        cells = [{"protocol": cell.protocol, "epsilon": cell.budget, metric: cell.error, "theory": cell.theory} for cell in found]
        print(json.dumps(cells))
    else:
        print(found)
        print("least error:", ", ".join(f"{name} at {budget}" for budget, name in found.best().items()))


def _counted(data: Path, columns: list[str]) -> list[Any]:
    """Return how often each value of each column occurs; missing values are left out, records with one too."""
    counters = [Counter[Any]() for _ in columns]
    for table in files.tables(data, columns):
        rows = [row for row in zip(*table.values(), strict=True) if None not in row]
        for counter, entries in zip(counters, zip(*rows, strict=True), strict=False):
            counter.update(entries)
    for name, counter in zip(columns, counters, strict=True):
        if len(counter) < 2:
            raise BadFile(f"{data}: column {name!r} has {len(counter)} values, which leaves nothing to estimate")
    return [np.array([counter[label] for label in ordered(set(counter))]) for counter in counters]


@command
def randomize(
    survey: SurveyFile,
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file with the columns of the survey.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the reports: .parquet, or .csv.")],
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Randomize the rows of a file, as their users' devices would."""
    from ..randomness import Stream

    shared, stream = _survey(survey), Stream(seed) if seed is not None else None
    many = files.write_reports(output, _randomized(shared, data, stream), force)
    print(f"{many:,} reports of {shared.solution.report_bytes} bytes in {output}")


def _randomized(survey: Survey, data: Path, stream: Any) -> Iterator[list[bytes]]:
    done = 0
    for table in files.tables(data, list(survey.attributes)):
        typed = survey.typed(table) if data.suffix != ".parquet" else table
        try:
            reports = survey.randomize(typed, stream)
        except ValueError as error:
            raise BadFile(f"{data}: {_shifted(str(error), done)}") from None
        done += len(next(iter(table.values())))
        yield reports["report"]


def _shifted(message: str, done: int) -> str:
    """Return a message about a row of a part, counted from the first row of the file."""
    import re

    return re.sub(r", row (\d+)", lambda found: f", row {int(found[1]) + done}", message, count=1)


def _survey(path: Path) -> Survey:
    files._readable(path)
    return Survey.load(path)


@command
def tally(
    survey: SurveyFile,
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, or of tallies.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the tally.")],
    force: Force = False,
) -> None:
    """Count reports; tallies of other users are added up."""
    counted = _tallied(_survey(survey), reports)
    with whole(output, force) as file:
        file.write(counted.to_bytes())
    print(f"{counted.users:,} reports counted in {output}")


def _tallied(survey: Survey, paths: list[Path]) -> Tally:
    total = survey.tally({"report": []})
    for path in paths:
        files._readable(path)
        with open(path, "rb") as file:
            start = file.read(len(MAGIC))
        try:
            counted = Tally.from_bytes(path.read_bytes()) if start == MAGIC else survey.tally(files.read_reports(path))
            total = total + counted
        except BadFile:
            raise
        except (ValueError, TypeError) as error:
            raise BadFile(f"{path}: {error}") from None
    return total


@command
def estimate(
    survey: SurveyFile,
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, or of tallies.")],
    method: Annotated[str, typer.Option(help="raw, norm or norm_sub.")] = "raw",
    csv: Annotated[Path | None, typer.Option(help="Write a table into this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the estimates into this file (.png, .svg or .pdf).")] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Estimate how frequent each category is."""
    if method not in ("raw", "norm", "norm_sub"):
        raise ValueError(f"--method must be raw, norm or norm_sub, not {method!r}")
    for path in filter(None, (csv, plot)):
        refuse_existing(path, force)
    shared = _survey(survey)
    raw = shared.estimate(_tallied(shared, reports))
    found = raw if method == "raw" else getattr(raw, method)()
    columns = found.to_frame("dict")
    if csv:
        lines = [",".join(_quoted(each) for each in row) for row in ([*columns], *zip(*columns.values(), strict=True))]
        with whole(csv, force) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    if plot:
        with whole(plot, force) as file:
            found.plot().savefig(file, format=plot.suffix.lstrip(".") or "png", dpi=150)
    print(json.dumps(columns)) if as_json else show_estimates(found)


def _quoted(entry: Any) -> str:
    text = str(entry)
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\r\n') else text


@command
def warm() -> None:
    """Compile all kernels ahead, so that nothing has to wait for it later."""
    from ..progress import Progress

    every: list[Any] = [
        cls(100, *([1.0] if "eps_1" not in cls.__dataclass_fields__ else [2.0, 1.0])) for cls in registry.PROTOCOLS.values()
    ]
    every += [cls(best, [3, 100], 2.0) for cls in registry.SOLUTIONS.values()]
    with Progress("compiling", len(every)) as progress:
        for subject in every:
            reports = subject.randomize([0] * 10 if len(subject.parts) == 1 else [[0, 0]] * 10)
            subject.tally(reports)
            subject.simulate(
                np.eye(1, 100, dtype=int)[0] * 10 if len(subject.parts) == 1 else [np.eye(1, k, dtype=int)[0] for k in subject.ks]
            )
            progress.step(type(subject).__name__)
    print(f"{len(every)} protocols and solutions are ready")


@command
def bench(users: Annotated[int, typer.Option(help="Users a measurement.")] = 300_000, as_json: Json = False) -> None:
    """Measure this machine: nanoseconds a user, of all threads, to randomize and to count (k = 100)."""
    from time import perf_counter

    columns: dict[str, list[Any]] = {"protocol": [], "randomize": [], "count": []}
    values = np.arange(users) % 100
    for name, cls in registry.PROTOCOLS.items():
        protocol: Any = cls(100, *([1.0] if "eps_1" not in cls.__dataclass_fields__ else [2.0, 1.0]))
        reports = protocol.randomize(values)
        protocol.tally(reports)
        times = []
        for work in (partial(protocol.randomize, values), partial(protocol.tally, reports)):
            rounds = []
            for _ in range(3):
                started = perf_counter()
                work()
                rounds.append(perf_counter() - started)
            times.append(min(rounds) / users * 1e9)
        for column, entry in zip(columns.values(), (name, *times), strict=True):
            column.append(entry)
    print(json.dumps(columns)) if as_json else show(columns)


@command
def check(spec: Annotated[Path, typer.Argument(help="A survey, or the spec of a protocol, as JSON.")]) -> None:
    """Hold a survey or a protocol to the laws: exact privacy, unbiased estimates, stated errors."""
    from .. import checks

    files._readable(spec)
    try:
        content = json.loads(spec.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{spec} is not JSON: {error}") from None
    survey = isinstance(content, dict) and "attributes" in content
    subject = Survey.from_spec(content).solution if survey else registry.from_spec(content)
    try:
        checks.check_protocol(subject)
    except AssertionError as error:
        print(f"a law does not hold: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"all laws hold for {subject!r}")
