"""Commands for choosing a protocol."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import registry
from ..estimation import plots
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
    Force,
    Json,
    Seed,
    as_json_text,
    build_example,
    command,
    print_table,
)


@command(EVERYDAY)
def protocols(
    k: Annotated[int, typer.Option(help="Number of values.")] = 100,
    users: Annotated[int, typer.Option(min=1, help="Number of users.")] = 10_000,
    as_json: Json = False,
) -> None:
    """List the protocols, with the standard error of a rare value at ε = 1 (2 and 1 over time)."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("protocol", "budgets", "bytes", "std", "what it is")
    }
    for name, cls in registry.PROTOCOLS.items():
        protocol = build_example(cls, k)
        about = " ".join((cls.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        entries = (
            name,
            ", ".join(budgets_of(cls)),
            protocol.report_bytes,
            float(np.sqrt(protocol.variance(users))),
            about,
        )
        for column, entry in zip(columns.values(), entries, strict=True):
            column.append(entry)
    print(as_json_text(columns)) if as_json else print_table(columns)


@command(EVERYDAY)
def recommend(
    k: Annotated[int, typer.Argument(help="Number of values.")],
    epsilon: Annotated[float | None, typer.Option(help="The budget.")] = None,
    eps_perm: Annotated[
        float | None, typer.Option(help="The budget for all reports about an unchanged value.")
    ] = None,
    eps_1: Annotated[
        float | None, typer.Option(help="The budget for one report, beside --eps-perm.")
    ] = None,
    users: Annotated[int | None, typer.Option(help="Number of users (10 000).")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="The longest report allowed.")] = None,
    as_json: Json = False,
) -> None:
    """Rank the protocols by their total error for uniform data."""
    columns = planning.recommend(
        k, _one_budget(epsilon, eps_perm, eps_1), users, max_bytes
    )._columns()
    print(as_json_text(columns)) if as_json else print_table(columns)


def _one_budget(epsilon: float | None, eps_perm: float | None, eps_1: float | None) -> Any:
    if (epsilon is None) == (eps_perm is None) or (eps_perm is None) != (eps_1 is None):
        raise ValueError("give --epsilon, or --eps-perm and --eps-1")
    return epsilon if epsilon is not None else (eps_perm, eps_1)


@command(EVERYDAY)
def compare(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", readable=False)],
    column: Annotated[list[str], typer.Option(help="A column to estimate; several make records.")],
    protocol: Annotated[
        list[str] | None, typer.Option(help="A protocol to compare (all that take such budgets).")
    ] = None,
    solution: Annotated[str, typer.Option(help="SPL, SMP or RSFD, for several columns.")] = "SMP",
    epsilon: Annotated[list[float] | None, typer.Option(help="A budget (0.5, 1, 2 and 4).")] = None,
    eps_perm: Annotated[
        list[float] | None,
        typer.Option(help="A budget for all reports about an unchanged value: over time."),
    ] = None,
    eps_1: Annotated[
        list[float] | None, typer.Option(help="The budget for one report, beside each --eps-perm.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Repetitions.")] = 30,
    estimator: Annotated[str, typer.Option(help=ESTIMATORS)] = "raw",
    metric: Annotated[str, typer.Option(help="mse, mae or max.")] = "mse",
    png: Annotated[Path | None, typer.Option(help="Draw the errors into this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report into this file.")] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the error of every repetition into this file.")
    ] = None,
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Compare protocols on the values of a file, which is looked at.

    Their number and frequencies are taken from it.
    """
    if solution not in registry.SOLUTIONS:
        raise ValueError(
            f"--solution must be one of {', '.join(registry.SOLUTIONS)}, not {solution!r}"
        )
    budgets = _all_budgets(epsilon, eps_perm, eps_1)
    names = protocol or [
        name
        for name in registry.PROTOCOLS
        if _suits(name, budgets, solution if len(column) > 1 else None)
    ]
    for name in names:
        if name not in registry.PROTOCOLS:
            raise ValueError(
                f"--protocol must be one of {', '.join(registry.PROTOCOLS)}, not {name!r}"
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
    """Return numbers and pairs."""
    first, second = eps_perm or [], eps_1 or []
    if len(first) != len(second):
        raise ValueError(
            f"give an --eps-1 beside each --eps-perm, not {len(second)} beside {len(first)}"
        )
    return [*(epsilon or ([] if first else [0.5, 1.0, 2.0, 4.0])), *zip(first, second, strict=True)]


def _suits(name: str, budgets: list[Any], solution: str | None) -> bool:
    """Tell whether a protocol takes some of the budgets, and the solution that protocol."""
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
    """Return how often each value of each column occurs.

    Missing values are left out, records with one too.
    """
    counters, left_out = files.count_values(data, columns)
    held = [
        np.array([counter[label] for label in sort_labels(set(counter))])
        for counter in counters.values()
    ]
    return held, left_out


@command(MAINTENANCE)
def bench(
    users: Annotated[int, typer.Option(min=1, help="Users a measurement.")] = 300_000,
    as_json: Json = False,
) -> None:
    """Measure this machine.

    Nanoseconds a user, of all threads, to randomize and to count (k = 100).
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
