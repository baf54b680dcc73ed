"""Commands that make a survey of a file, or try one out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .. import registry
from ..adaptive import best
from ..estimation import plots
from ..files.atomic import open_atomic
from ..survey import Survey
from ..tables.labels import is_missing, sort_labels
from . import files
from .files import BadFile
from .terminal import (
    EVERYDAY,
    Force,
    Json,
    Seed,
    command,
    estimates_as_json,
    out,
    print_estimates,
    say,
)

MOST = 100
"""Columns with more values are not tried unless they are named."""


@command(EVERYDAY)
def survey(
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file, or a survey written by hand (.json).", readable=False
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the survey.")],
    column: Annotated[list[str] | None, typer.Option(help="A column to ask for.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The budget.")] = None,
    eps_perm: Annotated[
        float | None, typer.Option(help="The budget for all reports about an unchanged value.")
    ] = None,
    eps_1: Annotated[
        float | None, typer.Option(help="The budget for one report, beside --eps-perm.")
    ] = None,
    solution: Annotated[str, typer.Option(help="SPL, SMP or RSFD.")] = "SMP",
    protocol: Annotated[
        str | None, typer.Option(help="A protocol for all columns (the best for each).")
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write a survey: its categories are the values that a file has."""
    files.require_outputs(force, output, inputs=[data])
    if data.suffix.lower() == ".json":
        if column or epsilon or eps_perm or eps_1 or protocol:
            raise ValueError(f"{data} is a survey already: its columns and budgets are in it")
        files.require_readable(data)
        made, looked = Survey.load(data), ""
    else:
        if not column:
            raise ValueError(f"--column must name a column of {data}, at least one")
        counters, _ = files.count_values(data, column)
        labels = {name: list_labels(data, set(counter)) for name, counter in counters.items()}
        made = build_survey(
            labels, solution, protocol, epsilon=epsilon, eps_perm=eps_perm, eps_1=eps_1
        )
        looked = (
            f"\nThe categories are the values found in {data}. Which values occur is thereby known:"
            " for a real collection, write down all that may occur, and take none from answers."
        )
    made.save(output, force=force)
    sizes = {name: len(each) for name, each in made.attributes.items()}
    asked = ", ".join(f"{name} ({many} categories)" for name, many in sizes.items())
    say(
        f"{output} asks for {asked}; ε of a report is {made.privacy.report:g}.{looked}",
        {"attributes": sizes, "looked": bool(looked), "output": str(output)},
        as_json,
    )


def list_labels(data: Path, found: set[Any]) -> list[Any]:
    """Return the labels of a column in order; those of a CSV file as numbers where all are."""
    if files.is_parquet(data):
        return sort_labels(found)
    for kind in (int, float):
        try:
            numbers = {text: kind(text) for text in found}
        except ValueError:
            continue
        if all(str(number) == text for text, number in numbers.items()):
            return sort_labels(numbers.values())
    return sort_labels(found)


def build_survey(
    labels: dict[str, list[Any]], solution: str, protocol: str | None, **budgets: float | None
) -> Survey:
    """Return a survey, with names of solutions and protocols as the command line has them."""
    if solution not in registry.SOLUTIONS:
        names = ", ".join(registry.SOLUTIONS)
        raise ValueError(f"--solution must be one of {names}, not {solution!r}")
    if protocol is not None and protocol not in registry.PROTOCOLS:
        names = ", ".join(registry.PROTOCOLS)
        raise ValueError(f"--protocol must be one of {names}, not {protocol!r}")
    if not any(budgets.values()):
        raise ValueError("give --epsilon, or --eps-perm and --eps-1")
    chosen: Any = best if protocol is None else registry.PROTOCOLS[protocol]
    return Survey(labels, solution=registry.SOLUTIONS[solution], protocol=chosen, **budgets)


@command(EVERYDAY, "try")
def try_out(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", readable=False)],
    column: Annotated[
        list[str] | None, typer.Option(help=f"A column (those with 2 to {MOST} values).")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The budget.")] = 2.0,
    plot: Annotated[
        Path | None, typer.Option(help="The chart (.png, .svg or .pdf; named after DATA).")
    ] = None,
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Simulate a survey among the rows of a file, and draw a chart beside the truth."""
    chart = plot or Path(f"{data.stem}-estimates.png")
    files.require_chart(chart)
    files.require_outputs(force, chart, inputs=[data])
    names = column or _choose_columns(data)
    counters, left_out = files.count_values(data, names)
    labels = {name: list_labels(data, set(counter)) for name, counter in counters.items()}
    made = build_survey(labels, "SMP", None, epsilon=epsilon)
    held = [
        [counters[name][label if label in counters[name] else str(label)] for label in own]
        for name, own in labels.items()
    ]
    found = made.labelled(made.solution.estimate(made.solution.simulate(held, seed)))
    with open_atomic(chart, force) as file:
        figure = found.plot(dict(zip(labels, held, strict=True)))
        plots.save_figure(figure, file, chart.suffix.lower().lstrip("."))
    if as_json:
        print(estimates_as_json(found))
        return
    users = f"{sum(held[0]):,} rows of {data}"
    out.print(f"Simulated: {users} answered with a budget of {epsilon:g}.")
    if left_out:
        out.print(f"{left_out:,} rows with a missing value are left out.")
    if not column:
        out.print(f"Columns with 2 to {MOST} values were taken: {', '.join(names)}.")
    out.print()
    print_estimates(found)
    out.print(f"{chart} has the chart, with the truth in it.")


def _choose_columns(data: Path) -> list[str]:
    """Return the columns that have some values, but not too many."""
    seen: dict[str, set[Any]] = {}
    for table in files.read_tables(data):
        lists = table if isinstance(table, dict) else table.to_pydict()
        for name, entries in lists.items():
            own = seen.setdefault(name, set())
            if len(own) <= MOST:
                try:
                    own.update(each for each in entries if not is_missing(each))
                except TypeError:  # lists, say
                    own.update(range(MOST + 1))
    if chosen := [name for name, own in seen.items() if 2 <= len(own) <= MOST]:
        return chosen
    raise BadFile(f"{data} has no column with 2 to {MOST} values: name one with --column")
