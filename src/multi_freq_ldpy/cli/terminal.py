"""Shared parts of the commands.

They are the application, common options, errors in one sentence, and tables on a terminal.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..core import validate
from ..estimation.estimate import Estimate
from ..estimation.postprocess import METHODS
from ..estimation.rendering import OUTSIDE, find_outside, printable
from ..estimation.several import Estimates, Rounds
from ..longitudinal.history import MOST_CHANGES, MOST_ROUNDS, History
from ..longitudinal.trees import Tree
from ..protocol import Protocol, budgets_of, needs_options

Function = Callable[..., None]
ERRORS = ValueError, TypeError, OSError, ImportError, KeyError, ArithmeticError
"""The exceptions that a mistake of a user may cause."""

app = typer.Typer(
    name="multi-freq-ldpy",
    help="Frequency estimation under local differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(
    width=None if sys.stdout.isatty() else 140, markup=False, emoji=False, highlight=False
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"multi-freq-ldpy {version('multi-freq-ldpy')}")
        raise typer.Exit


@app.callback()
def start(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Frequency estimation under local differential privacy."""


Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
OFFERED = [name for name in METHODS if name != "norm"]  # for the functions of the paper
ESTIMATORS = (
    f"Method of estimation: raw, {', '.join(OFFERED[:-1])} or {OFFERED[-1]}. Only raw is unbiased"
    " and has intervals. norm_sub is the nearest distribution. mle is the most likely"
    " distribution, for protocols that report one value."
)
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed for a reproducible simulation. Never use a seed to collect."),
]
RoundsOption = Annotated[
    int | None,
    typer.Option(help="Number of rounds. --epsilon is then the budget of the whole history."),
]
ChangesOption = Annotated[
    int | None,
    typer.Option(help="Largest number of changes of a value after the first round, with --rounds."),
]
SurveyFile = Annotated[
    Path, typer.Argument(metavar="SURVEY", help="A survey file in JSON.", readable=False)
]


EVERYDAY, MAINTENANCE = "Everyday", "Maintenance"
"""The groups of commands in the help."""


def command(
    group: str, name: str | None = None, parent: typer.Typer = app
) -> Callable[[Function], Function]:
    """Make a command of a function, of the application or of a group of commands.

    The mistake of a user is reported in one sentence, with exit code 2.
    """

    def wrap(function: Function) -> Function:
        @wraps(function)
        def run(*arguments: Any, **options: Any) -> None:
            with warnings.catch_warnings():
                warnings.filterwarnings("default", category=UserWarning)
                warnings.showwarning = _show_warning
                try:
                    function(*arguments, **options)
                except BrokenPipeError:  # the reader of the output has closed it
                    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
                except MemoryError:
                    fail("the command needs more memory than there is")
                except ERRORS as error:
                    fail(
                        f"{error.filename}: {error.strerror}"
                        if isinstance(error, OSError) and error.filename
                        else str(error)
                    )

        parent.command(name, rich_help_panel=group if parent is app else None)(run)
        return run

    return wrap


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one sentence."""
    print(f"warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)


def fail(why: str) -> None:
    """End with one sentence and exit code 2."""
    print(f"error: {printable(' '.join(why.split()))}", file=sys.stderr)
    raise typer.Exit(2) from None


def build_example(cls: type[Protocol], k: int) -> Any:
    """Return a protocol with the budget 1, or with the budgets 2 and 1 over time.

    Bloom filters have 128 bits.
    """
    options = {"bits": 128} if needs_options(cls) else {}
    return cls(k, *([1.0] if len(budgets_of(cls)) == 1 else [2.0, 1.0]), **options)


ROUNDS, CHANGES = 12, 2
"""The rounds and changes of the histories in the table of protocols."""


def build_history(cls: type[History], k: int) -> History:
    """Return a history with the budget 1. Boolean histories have two values."""
    options: dict[str, Any] = {"k": k, "epsilon": 1.0, "rounds": ROUNDS, "changes": CHANGES}
    options["reports"] = (CHANGES + 1) * ROUNDS.bit_length()
    if cls is Tree:
        options["changes"] = CHANGES + 1
    known = {each.name for each in fields(cls)}
    return cls(**{name: each for name, each in options.items() if name in known})


def require_budgets(**budgets: float | list[float] | None) -> None:
    """Refuse a budget that is out of range. The message names the option."""
    for name, given in budgets.items():
        for each in given if isinstance(given, list) else [given]:
            if each is not None:
                validate.budget(f"--{name.replace('_', '-')}", each)


def require_rounds(
    rounds: int | None, changes: int | None, eps_perm: float | None, once: bool = False
) -> None:
    """Refuse rounds and changes that are out of range, or that do not go together."""
    if rounds is None:
        if changes is not None:
            raise ValueError("--changes needs --rounds")
        return
    if eps_perm is not None:
        raise ValueError("--rounds needs --epsilon, the budget of the whole history")
    validate.Integer(2, MOST_ROUNDS)("--rounds", rounds)
    if (changes is None) != once:
        raise ValueError(
            "--protocol Once needs no --changes" if once else "--rounds needs --changes"
        )
    if changes is not None:
        validate.Integer(1, MOST_CHANGES)("--changes", changes)


def say(sentence: str, content: dict[str, Any], as_json: bool) -> None:
    """Print a sentence, or its content as JSON."""
    print(as_json_text(content) if as_json else printable(sentence))


def as_json_text(content: Any) -> str:
    """Return content as JSON. NaN and infinity become null."""
    return json.dumps(_finite(content), allow_nan=False)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(each) for each in content]
    return None if isinstance(content, float) and not isfinite(content) else content


def print_table(columns: dict[str, list[Any]], title: str | None = None) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, entries in columns.items():
        numeric = name == "%" or all(isinstance(each, int | float) for each in entries)
        table.add_column(printable(name), justify="right" if numeric else "left")
    for row in zip(*columns.values(), strict=True):
        table.add_row(
            *(f"{each:.4g}" if isinstance(each, float) else printable(str(each)) for each in row)
        )
    out.print(table)


def estimates_as_json(estimates: Estimates | Rounds) -> str:
    """Return the columns of all estimates as JSON.

    If an estimate is outside its interval, a note explains the reason.
    """
    columns = estimates.to_frame("dict")
    note = {"note": OUTSIDE} if any(columns.get("outside", ())) else {}
    return as_json_text(columns | note)


MOST_ROWS = 100
"""The largest number of values of an attribute that a terminal shows."""


def most_frequent(estimate: Estimate, many: int) -> Estimate:
    """Return the estimate of the most frequent values, in their order."""
    kept = np.sort(np.argsort(-estimate.frequencies, kind="stable")[:many])
    return replace(
        estimate,
        frequencies=estimate.frequencies[kept],
        n=estimate.n[kept],
        counts=None if estimate.counts is None else estimate.counts[kept],
        labels=tuple(estimate.values[i] for i in kept),
    )


def print_estimates(estimates: Estimates) -> None:
    """Print estimates with bars."""
    marked = False
    for whole in estimates:
        cut = max(0, len(whole) - MOST_ROWS)
        estimate = whole if not cut else most_frequent(whole, MOST_ROWS)
        limits = estimate.interval() if estimate.method == "raw" else None
        outside = [False] * len(estimate)
        if limits is not None:
            outside = find_outside(estimate.frequencies, limits)
        marked |= any(outside)
        columns: dict[str, list[Any]] = {
            estimate.name or "value": list(estimate.values),
            "%": [f"{100 * f:.1f}" for f in estimate.frequencies],
            "": [
                "█" * round(30 * min(1.0, max(0.0, f))) + "*" * mark if f == f else ""
                for f, mark in zip(estimate.frequencies, outside, strict=True)
            ],
        }
        if limits is not None:
            columns |= {
                "95 % interval": [f"{100 * low:.1f} to {100 * high:.1f}" for low, high in limits]
            }
        print_table(columns)
        if cut:
            out.print(f"… and {cut:,} less frequent values: --json prints all values.")
        out.print()
    if marked:
        out.print(f"* {OUTSIDE}")
