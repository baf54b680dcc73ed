"""Commands for choosing a protocol."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import registry
from ..core import validate
from ..estimation import plots, postprocess
from ..files.atomic import open_atomic
from ..files.progress import Progress
from ..protocol import budgets_of
from ..studies import comparison, planning
from ..tables.labels import sort_labels
from . import files
from .terminal import (
    ESTIMATORS,
    EVERYDAY,
    MAINTENANCE,
    ChangesOption,
    Force,
    Json,
    RoundsOption,
    Seed,
    as_json_text,
    build_example,
    build_history,
    command,
    print_table,
    require_budgets,
    require_rounds,
)


@command(EVERYDAY)
def protocols(
    k: Annotated[int, typer.Option(help="Number of values.")] = 100,
    users: Annotated[int, typer.Option(min=1, help="Number of users.")] = 10_000,
    as_json: Json = False,
) -> None:
    """List the protocols, with the standard error of a rare value.

    The budget is ε = 1. Protocols over time have the budgets 2 and 1.
    Once, Steps, Tree and DDRM protect whole histories with ε = 1.
    Their error is the mean over 12 rounds, for up to 2 changes.
    Tree and DDRM have two values.
    """
    validate.domain_size("--k", k)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("protocol", "budgets", "bytes", "std", "description")
    }
    for name, cls in registry.PROTOCOLS.items():
        protocol = build_example(cls, k)
        entries = (
            name,
            ", ".join(budgets_of(cls)),
            protocol.report_bytes,
            float(np.sqrt(protocol.variance(users))),
            _describe(cls),
        )
        for column, entry in zip(columns.values(), entries, strict=True):
            column.append(entry)
    for name, whole in registry.HISTORIES.items():
        history = build_history(whole, k)
        std = float(np.sqrt(history.variance(users)).mean())
        entries = (name, "epsilon", history.at(0).report_bytes, std, _describe(whole))
        for column, entry in zip(columns.values(), entries, strict=True):
            column.append(entry)
    print(as_json_text(columns)) if as_json else print_table(columns)


def _describe(cls: type) -> str:
    """Return the first sentence of the docstring of a class."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split()).rstrip(".")


@command(EVERYDAY)
def recommend(
    k: Annotated[int, typer.Argument(help="Number of values.")],
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget of one report.")] = None,
    eps_perm: Annotated[
        float | None,
        typer.Option(help="Privacy budget of all reports about an unchanged value."),
    ] = None,
    eps_1: Annotated[
        float | None,
        typer.Option(help="Privacy budget of the first report. It goes with --eps-perm."),
    ] = None,
    users: Annotated[
        int | None, typer.Option(help="Number of users. Without it, 10 000 users.")
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(help="Length of the longest report in bytes. By default, no limit."),
    ] = None,
    rounds: RoundsOption = None,
    changes: ChangesOption = None,
    as_json: Json = False,
) -> None:
    """Rank the protocols by their total error for uniform data.

    With --rounds, --epsilon is the budget of the whole history, and errors are means over rounds.

    The columns of the table are:

    - total: the expected squared error, added up over all values
    - limit: the total, divided by the least possible total
    - error: the standard error of a value with frequency 0
    - worst: the largest standard error over all frequencies
    - bytes: the length of a report
    - work: the approximate number of machine words per counted report
    - linked: with two budgets, the linkability of the reports of one user
    - history: with --rounds, the privacy loss of all reports of one user
    """
    budget = _one_budget(epsilon, eps_perm, eps_1)
    validate.domain_size("k", k)
    for name, given in (("--users", users), ("--max-bytes", max_bytes)):
        if given is not None:
            validate.Integer(1, planning.MOST_USERS)(name, given)
    require_budgets(epsilon=epsilon, eps_perm=eps_perm, eps_1=eps_1)
    require_rounds(rounds, changes, eps_perm)
    found = planning.recommend(k, budget, users, max_bytes, rounds=rounds, changes=changes)
    columns = found._columns()
    print(as_json_text(columns)) if as_json else print_table(columns)


def _one_budget(epsilon: float | None, eps_perm: float | None, eps_1: float | None) -> Any:
    if (epsilon is None) == (eps_perm is None) or (eps_perm is None) != (eps_1 is None):
        raise ValueError("give --epsilon, or --eps-perm and --eps-1")
    return epsilon if epsilon is not None else (eps_perm, eps_1)


@command(EVERYDAY)
def compare(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", readable=False)],
    column: Annotated[
        list[str],
        typer.Option(
            help="A column to estimate. Repeat --column for several columns, which make records."
        ),
    ],
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            help="A protocol to compare. Repeat --protocol for several. Without it, all protocols"
            " with these budgets."
        ),
    ] = None,
    solution: Annotated[
        str, typer.Option(help="Solution for several columns: SPL, SMP or RSFD.")
    ] = "SMP",
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            help="Privacy budget of one report. Repeat --epsilon for several. Without a budget,"
            " 0.5, 1, 2 and 4."
        ),
    ] = None,
    eps_perm: Annotated[
        list[float] | None,
        typer.Option(
            help="Privacy budget of all reports about an unchanged value, for protocols over time."
        ),
    ] = None,
    eps_1: Annotated[
        list[float] | None,
        typer.Option(help="Privacy budget of the first report. Give one per --eps-perm."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Number of repetitions.")] = 30,
    estimator: Annotated[str, typer.Option(help=ESTIMATORS)] = "raw",
    metric: Annotated[str, typer.Option(help="Metric of the errors: mse, mae or max.")] = "mse",
    png: Annotated[Path | None, typer.Option(help="File for a chart of the errors.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="File for a page with the chart and the table.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="File for the error of every repetition.")
    ] = None,
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Compare protocols on the values in a file.

    The command compares the errors of protocols, not groups of users.
    For groups of users, use Estimate.difference in Python.

    The command takes the values and their frequencies from the file.
    Rows with a missing value are left out.
    """
    if solution not in registry.SOLUTIONS:
        raise ValueError(
            f"--solution must be one of {', '.join(registry.SOLUTIONS)}, not {solution!r}"
        )
    budgets = _all_budgets(epsilon, eps_perm, eps_1)
    names = protocol or [
        name
        for name in registry.BY_BUDGETS
        if _suits(name, budgets, solution if len(column) > 1 else None)
    ]
    for name in names:
        if name not in registry.BY_BUDGETS:
            raise ValueError(
                f"--protocol must be one of {', '.join(registry.BY_BUDGETS)}, not {name!r}"
            )
    files.require_outputs(force, png, html, csv, inputs=[data])
    if png and png.suffix.lower() != ".png":
        raise ValueError(f"--png must end in .png, not {str(png)!r}")
    held, left_out = _count_values(data, column)
    single, sizes = len(held) == 1, tuple(len(each) for each in held)
    factories: dict[str, Any] = {
        name: (
            registry.PROTOCOLS[name]
            if single
            else partial(registry.SOLUTIONS[solution], registry.PROTOCOLS[name])
        )
        for name in names
    }
    require_budgets(epsilon=epsilon, eps_perm=eps_perm, eps_1=eps_1)
    validate.Integer(1, 2**31)("--repeats", repeats)
    validate.choice("--estimator", estimator, ("raw", *postprocess.METHODS))
    validate.choice("--metric", metric, tuple(comparison.METRICS))
    found = comparison.compare_histograms(
        factories, held, sizes, single, budgets, repeats, estimator, metric, seed
    )
    if png:
        with open_atomic(png, force) as file:
            plots.save_figure(found.plot().figure, file, "png")
    if html:
        title = f"{', '.join(column)} of {data.name}, {found.users:,} users"
        with open_atomic(html, force) as file:
            file.write(found.report(title, shlex.join(["multi-freq-ldpy", *sys.argv[1:]])).encode())
    if csv:
        files.write_csv(csv, found.to_frame("dict"), force)
    if as_json:
        print(as_json_text([_cell_as_dict(cell, metric) for cell in found]))
    else:
        if left_out:
            print(f"{left_out:,} rows with a missing value are left out.")
        print(found)
        ranked = all(cell.theory is not None for cell in found)
        print(
            f"least{' expected' * ranked} error:",
            ", ".join(
                f"{' = '.join(names)} at {comparison.show_budget(budget)}"
                for budget, names in found.ties().items()
            ),
        )


def _all_budgets(
    epsilon: list[float] | None, eps_perm: list[float] | None, eps_1: list[float] | None
) -> list[Any]:
    """Return the budgets: numbers, and pairs (eps_perm, eps_1)."""
    first, second = eps_perm or [], eps_1 or []
    if len(first) != len(second):
        raise ValueError(f"give one --eps-1 per --eps-perm, not {len(second)} for {len(first)}")
    return [*(epsilon or ([] if first else [0.5, 1.0, 2.0, 4.0])), *zip(first, second, strict=True)]


def _suits(name: str, budgets: list[Any], solution: str | None) -> bool:
    """Return True if a protocol takes some of the budgets, and the solution takes the protocol."""
    cls = registry.PROTOCOLS[name]
    if len(budgets_of(cls)) not in {np.size(each) for each in budgets}:
        return False
    try:
        return solution is None or bool(registry.SOLUTIONS[solution].of([build_example(cls, 4)]))
    except TypeError:
        return False


def _cell_as_dict(cell: comparison.Cell, metric: str) -> dict[str, Any]:
    pair = {"eps_perm": cell.budget[0]} if isinstance(cell.budget, tuple) else {}
    return {
        "protocol": cell.protocol,
        "epsilon": cell.epsilon,
        **pair,
        metric: cell.error,
        "std": cell.std,
        "theory": cell.theory,
    }


def _count_values(data: Path, columns: list[str]) -> tuple[list[Any], int]:
    """Return the counts of the values of each column, and the number of rows left out.

    Rows with a missing value are left out.
    """
    counters, left_out = files.count_values(data, columns)
    held = [
        np.array([counter[label] for label in sort_labels(set(counter))])
        for counter in counters.values()
    ]
    return held, left_out


@command(MAINTENANCE)
def bench(
    users: Annotated[int, typer.Option(min=1, help="Number of users per measurement.")] = 300_000,
    as_json: Json = False,
) -> None:
    """Measure the speed of this machine.

    The times are nanoseconds per user to randomize and to count, with k = 100 and all threads.
    """
    from time import perf_counter

    columns: dict[str, list[Any]] = {"protocol": [], "randomize": [], "count": []}
    values = np.arange(users) % 100
    with Progress("bench", len(registry.PROTOCOLS)) as progress:
        for name, cls in registry.PROTOCOLS.items():
            protocol = build_example(cls, 100)
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
            progress.step(name)
    print(as_json_text(columns)) if as_json else print_table(columns)
