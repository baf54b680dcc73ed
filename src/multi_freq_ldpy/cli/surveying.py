"""Commands that make a survey from a file, or simulate a survey."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import registry
from ..adaptive import best
from ..core.randomness import as_stream
from ..core.tally import Tally
from ..estimation import plots
from ..files.atomic import open_atomic
from ..survey import BY_NAME, Survey
from ..tables.labels import is_missing, sort_labels
from . import files
from .files import BadFile
from .terminal import (
    EVERYDAY,
    ChangesOption,
    Force,
    Json,
    RoundsOption,
    Seed,
    command,
    estimates_as_json,
    out,
    print_estimates,
    require_budgets,
    require_rounds,
    say,
)

MOST = 100
"""The largest number of values of a column that ``try`` takes without ``--column``."""

LABELS = str | int | float


@command(EVERYDAY)
def survey(
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file, or a survey written by hand (.json).", readable=False
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the survey.")],
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column to ask for. Repeat --column for several columns."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget of one report.")] = None,
    eps_perm: Annotated[
        float | None,
        typer.Option(help="Privacy budget of all reports about an unchanged value."),
    ] = None,
    eps_1: Annotated[
        float | None,
        typer.Option(help="Privacy budget of the first report. It goes with --eps-perm."),
    ] = None,
    solution: Annotated[
        str | None, typer.Option(help="Solution: SPL, SMP or RSFD. Without it, SMP.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Protocol of all columns. Without it, each column gets the better of GRR and OUE,"
            " or of LGRR and LOSUE over time. With --rounds: Steps, the default, or Once."
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="Category of missing values. Columns with missing values get it. Without it,"
            " randomize stops at a missing value."
        ),
    ] = None,
    rounds: RoundsOption = None,
    changes: ChangesOption = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write a survey file, whose categories are the values in a data file.

    Categories are sorted: numbers by size, and text by alphabet.
    In a CSV file, only an empty field is a missing value.
    The text NA is a category, and so is a label that begins with a space.
    """
    given = [column, epsilon, eps_perm, eps_1, solution, protocol, missing, rounds, changes]
    files.require_outputs(force, output, inputs=[data])
    if data.suffix.lower() == ".json":
        if any(each is not None for each in given):
            raise ValueError(f"{data} is a survey already: it has its own columns and budgets")
        files.require_readable(data)
        made, looked = Survey.load(data), ""
    else:
        if not column:
            raise ValueError(f"--column must name at least one column of {data}")
        counters, without = files.count_values(data, column, complete=False)
        labels = {}
        for name, counter in counters.items():
            labels[name] = list_labels(data, counter.keys() - {None})
            if None in counter and missing is not None:
                labels[name].append(missing)
        budgets = {"epsilon": epsilon, "eps_perm": eps_perm, "eps_1": eps_1}
        made = build_survey(
            labels,
            solution or "SMP",
            protocol,
            budgets,
            missing if without else None,
            rounds,
            changes,
        )
        looked = (
            f"\nThe categories are the values found in {data}. The survey reveals these values. For"
            " a real collection, declare all values that may occur, and take none from answers."
        )
        if without and missing is None:
            looked += (
                f"\n{without:,} rows of {data} have a missing value, and this survey refuses them:"
                " --missing names a category for missing values."
            )
    made.save(output, force=force)
    sizes = {name: len(each) for name, each in made.attributes.items()}
    asked = ", ".join(f"{name} ({many} categories)" for name, many in sizes.items())
    budget = f"The ε of one report is {made.privacy.report:g}."
    if made.rounds is not None:
        budget = f"The ε of all {made.rounds} rounds together is {made.privacy.history:g}."
    say(
        f"{output} asks for {asked}. {budget}{looked}",
        {"attributes": sizes, "looked": bool(looked), "output": str(output)},
        as_json,
    )


def list_labels(data: Path, found: set[Any]) -> list[Any]:
    """Return the labels of a column in order.

    The labels of a CSV file become numbers if all of them are numbers.
    """
    if files.is_parquet(data):
        return sort_labels(found)
    for kind in (int, float):
        try:
            numbers = {text: kind(text) for text in found}
        except ValueError:
            continue
        if all(isfinite(number) and str(number) == text for text, number in numbers.items()):
            return sort_labels(numbers.values())
    return sort_labels(found)


def build_survey(
    labels: dict[str, list[Any]],
    solution: str,
    protocol: str | None,
    budgets: dict[str, float | None],
    missing: str | None = None,
    rounds: int | None = None,
    changes: int | None = None,
) -> Survey:
    """Return a survey, with the solution and the protocol given by name."""
    if solution not in registry.SOLUTIONS:
        names = ", ".join(registry.SOLUTIONS)
        raise ValueError(f"--solution must be one of {names}, not {solution!r}")
    known: Mapping[str, Any] = registry.BY_BUDGETS if rounds is None else BY_NAME
    if protocol is not None and protocol not in known:
        names = ", ".join(known)
        raise ValueError(f"--protocol must be one of {names}, not {protocol!r}")
    if all(each is None for each in budgets.values()):
        raise ValueError("give --epsilon, or --eps-perm and --eps-1")
    require_budgets(**budgets)
    require_rounds(rounds, changes, budgets.get("eps_perm"), protocol == "Once")
    chosen: Any = best if protocol is None else known[protocol]
    options: dict[str, Any] = {"rounds": rounds, "changes": changes, **budgets}
    made = registry.SOLUTIONS[solution]
    return Survey(labels, solution=made, protocol=chosen, missing=missing, **options)


@command(EVERYDAY, "try")
def try_out(
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", readable=False)],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to ask for. Repeat --column for several columns. Without it, all"
            f" columns with 2 to {MOST} values."
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of one report.")] = 2.0,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="File for the chart (.png, .svg or .pdf). By default, NAME-estimates.png for a"
            " data file NAME.csv."
        ),
    ] = None,
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Simulate a survey among the rows of a file, and draw the estimates beside the truth.

    Each row is one user. A user reports one column, drawn at random.
    Rows with a missing value are left out.
    Categories are sorted: numbers by size, and text by alphabet.
    """
    chart = plot or Path(f"{data.stem}-estimates.png")
    files.require_chart(chart)
    files.require_outputs(force, chart, inputs=[data])
    names = column or _choose_columns(data)
    counters, left_out = files.count_values(data, names)
    labels = {name: list_labels(data, set(counter)) for name, counter in counters.items()}
    made = build_survey(labels, "SMP", None, {"epsilon": epsilon})
    held = [
        np.array(
            [counters[name][label if label in counters[name] else str(label)] for label in own]
        )
        for name, own in labels.items()
    ]
    n = int(held[0].sum())
    counted = Tally(made.solution, *made.solution._simulate_part(held, n, as_stream(seed)), n)
    found = made.labelled(made.solution.estimate(counted))
    with open_atomic(chart, force) as file:
        figure = found.plot(dict(zip(labels, held, strict=True)))
        plots.save_figure(figure, file, chart.suffix.lower().lstrip("."))
    if as_json:
        print(estimates_as_json(found))
        return
    users = f"{n:,} rows of {data}"
    out.print(f"Simulated: {users} answered with a budget of {epsilon:g}.")
    if len(names) > 1:
        out.print(f"Each row reports one of the {len(names)} columns, drawn at random.")
    if left_out:
        out.print(f"{left_out:,} rows with a missing value are left out.")
    if not column:
        out.print(f"Columns with 2 to {MOST} values were taken: {', '.join(names)}.")
    out.print()
    print_estimates(found)
    out.print(f"{chart} shows the estimates and the true frequencies.")


def _choose_columns(data: Path) -> list[str]:
    """Return the columns that have 2 to MOST values."""
    seen: dict[str, set[Any]] = {}
    for table in files.read_tables(data):
        lists = table if isinstance(table, dict) else table.to_pydict()
        for name, entries in lists.items():
            own = seen.setdefault(name, set())
            if len(own) <= MOST:
                try:
                    own.update(each for each in entries if not is_missing(each))
                except TypeError:  # for example lists
                    own.update(range(MOST + 1))
    if chosen := [
        name
        for name, own in seen.items()
        if name and 2 <= len(own) <= MOST and all(isinstance(each, LABELS) for each in own)
    ]:
        return chosen
    raise BadFile(f"{data} has no column with 2 to {MOST} values: name one with --column")
