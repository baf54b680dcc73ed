"""Commands for a collection: from a table to reports, to a tally and to estimates."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from .. import datasets, registry, wire
from ..adaptive import best
from ..core import draws, validate
from ..core.randomness import Stream
from ..core.tally import MAGIC as PLAIN
from ..core.tally import Tally
from ..estimation import plots, postprocess
from ..estimation.several import Rounds
from ..files.atomic import open_atomic
from ..files.progress import Progress
from ..longitudinal.panel import Panel
from ..protocols.histogram import SHE
from ..solutions.base import Solution
from ..solutions.smp import SMP
from ..solutions.spl import SPL
from ..survey import MAGIC, Survey
from . import files
from .files import BadFile
from .serving import connect
from .terminal import (
    ESTIMATORS,
    EVERYDAY,
    MAINTENANCE,
    Force,
    Json,
    Seed,
    SurveyFile,
    build_example,
    build_history,
    command,
    estimates_as_json,
    out,
    print_estimates,
    say,
)

Invalid = Annotated[
    str,
    typer.Option(
        help='Treatment of invalid reports: "raise" ends with an error, "skip" leaves them out.'
    ),
]


@command(EVERYDAY)
def demo(
    users: Annotated[int, typer.Option(min=1, help="Number of simulated users.")] = 20_000,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Ask a synthetic population three questions, and estimate the answers.

    The budget is ε = 2. A user reports one answer, drawn at random.
    """
    survey = Survey(
        {name: datasets.CATEGORIES[name] for name in ("smokes", "status", "schooling")}, epsilon=2.0
    )
    generator, stream = np.random.default_rng(seed), Stream(seed) if seed is not None else None
    counted = survey.tally({"report": []})
    with Progress("demo", users) as progress:
        for start in range(0, users, files.ROWS):
            many = min(files.ROWS, users - start)
            counted = counted + survey.tally(
                survey.randomize(datasets.population(many, generator), stream)
            )
            progress.step("", many)
    found = survey.estimate(counted)
    if as_json:
        print(estimates_as_json(found))
        return
    out.print(
        f"A synthetic population of {users:,} users is asked three questions. Each user reports one"
        f" answer, drawn at random, in {survey.solution.report_bytes} bytes."
    )
    out.print(
        f"A report is at most e^{survey.privacy.report:g} times likelier for one set of answers"
        " than for any other.\n"
    )
    print_estimates(found)


@command(EVERYDAY)
def randomize(
    survey: SurveyFile,
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file with the columns of the survey.", readable=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File for the reports, .parquet or .csv.")
    ],
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Randomize the rows of a file, as the devices of the users would.

    A missing value stops the command, unless the survey has a category for it.
    """
    shared, stream = _load_survey(survey), Stream(seed) if seed is not None else None
    if shared.longitudinal:
        over_time = "two budgets" if shared.rounds is None else "rounds"
        raise BadFile(
            f"{survey} has {over_time}, but randomize needs a survey that asks once: use"
            " Survey.client or Survey.panel in Python"
        )
    files.require_outputs(force, output, inputs=[survey, data])
    many = files.write_reports(output, _randomize_file(shared, data, stream), shared, force, data)
    size = shared.solution.report_bytes
    say(
        f"{many:,} reports of {size} bytes in {output}",
        {"reports": many, "report_bytes": size, "output": str(output)},
        as_json,
    )


def _randomize_file(survey: Survey, data: Path, stream: Any) -> Iterator[NDArray[Any]]:
    done = 0
    for table in files.read_tables(data, list(survey.attributes)):
        typed = table if files.is_parquet(data) else survey.typed(table)
        try:
            records = survey._encode_table(typed)
        except ValueError as error:
            raise BadFile(f"{data}: {files.shift_row(str(error), done)}") from None
        done += len(records)
        yield survey.solution.randomize(records, stream)


def _load_survey(path: Path) -> Survey:
    files.require_readable(path)
    return Survey.load(path)


@command(EVERYDAY)
def tally(
    survey: SurveyFile,
    reports: Annotated[
        list[Path], typer.Argument(help="Files of reports or of tallies.", readable=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the tally.")],
    invalid: Invalid = "raise",
    round: Annotated[
        int | None,
        typer.Option(help="Round of the reports, counted from 0, for a survey with rounds."),
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Count reports, and add up tallies of different users.

    Give no tally together with the reports that it was made from.
    Their users would count twice.
    """
    shared = _load_survey(survey)
    files.require_outputs(force, output, inputs=[survey, *reports])
    _require_round(shared, round)
    counted = _tally_files(shared, reports, invalid, round)
    with open_atomic(output, force) as file:
        file.write(shared.pack(counted))
    left_out = f", {counted.invalid:,} invalid reports left out" if counted.invalid else ""
    say(
        f"{counted.users:,} reports counted in {output}{left_out}",
        {"reports": counted.users, "invalid": counted.invalid, "output": str(output)},
        as_json,
    )


def _require_round(survey: Survey, round: int | None) -> None:
    """Refuse a survey with rounds without the round, and the opposite."""
    if survey.rounds is None and round is not None:
        raise ValueError("--round is for surveys with rounds")
    if survey.rounds is not None:
        if round is None:
            raise ValueError("--round is missing: reports of this survey are counted by round")
        validate.Integer(0, survey.rounds - 1)("--round", round)


def _tally_files(
    survey: Survey, paths: list[Path], invalid: str, round: int | None = None
) -> Tally:
    validate.choice("--invalid", invalid, ("raise", "skip"))
    files.require_different(paths)
    total = survey.tally({"report": []}, round=round)
    for path in paths:
        start, done = b"", total.users + total.invalid
        if path.is_file():
            with open(path, "rb") as file:
                start = file.read(len(MAGIC))
        try:
            if start == MAGIC:
                total = total + survey.unpack(path.read_bytes())
            elif start == PLAIN:
                total = total + Tally.from_bytes(path.read_bytes())
            else:
                for table in files.read_reports(path, survey, invalid, round):
                    total = total + survey.tally(table, invalid=invalid, round=round)
        except BadFile:
            raise
        except (ValueError, TypeError) as error:
            raise BadFile(
                f"{path}: {files.shift_row(str(error), total.users + total.invalid - done)}"
            ) from None
    if not total.users:
        raise BadFile(f"{', '.join(map(str, paths))}: there are no reports")
    return total


@command(EVERYDAY)
def estimate(
    survey: SurveyFile,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of reports or of tallies.", readable=False),
    ] = None,
    method: Annotated[str, typer.Option(help=ESTIMATORS)] = "raw",
    invalid: Invalid = "raise",
    url: Annotated[
        str | None,
        typer.Option(help="Address of a service. SURVEY is then the name of its survey."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--round", help="A round of the service: a number, or latest.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="File for a table of the estimates.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a chart of the estimates (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Estimate the frequency of each category.

    Give no tally together with the reports that it was made from.
    Their users would count twice.

    For a survey with rounds, give the tallies of all rounds so far.
    The last round is printed. --csv, --json and --plot have all rounds.

    With --url, a service counts the reports, and SURVEY is the name of its survey.

    Groups of categories and differences need Python.
    See Estimate.group and Estimate.difference.
    """
    reports = reports or []
    if bool(reports) == (url is not None):
        raise ValueError("give files of reports or tallies, or --url of a service")
    if at is not None and url is None:
        raise ValueError("--round needs --url")
    validate.choice("--method", method, ("raw", *postprocess.METHODS))
    files.require_outputs(force, csv, plot, inputs=[survey, *reports] if url is None else [])
    if plot:
        files.require_chart(plot)
    found: Any
    tallies: list[Tally] | None = None
    if url is not None:
        remote = connect(url)
        shared, _ = remote.survey(str(survey))
        tallies = remote.tallies(str(survey), shared, at or "latest")
    else:
        shared = _load_survey(survey)
    if shared.rounds is not None:
        raw = shared.estimate(tallies or _tallies_of_rounds(shared, reports))
        found = Rounds(each.postprocess(method) for each in raw)
    elif tallies is not None:
        found = shared.estimate(tallies[-1]).postprocess(method)
    else:
        counted = _tally_files(shared, reports, invalid)
        if counted.invalid:
            print(f"{counted.invalid:,} invalid reports left out", file=sys.stderr)
        found = shared.estimate(counted).postprocess(method)
    if csv:
        files.write_csv(csv, found.to_frame("dict"), force)
    if plot:
        with open_atomic(plot, force) as file:
            plots.save_figure(found.plot(), file, plot.suffix.lower().lstrip("."))
    if as_json:
        print(estimates_as_json(found))
    elif shared.rounds is not None:
        out.print(f"round {len(found) - 1}, the last of {len(found)}\n")
        print_estimates(found[-1])
    else:
        print_estimates(found)


def _tallies_of_rounds(survey: Survey, paths: list[Path]) -> list[Tally]:
    """Return the tally of each round so far, from files of tallies in any order."""
    files.require_different(paths)
    found: dict[int, Tally] = {}
    for path in paths:
        data = path.read_bytes()
        if not data.startswith(MAGIC):
            raise BadFile(
                f"{path} is not a tally of a survey: count the reports of each round with tally"
                " --round"
            )
        try:
            counted = survey.unpack(data)
        except (ValueError, TypeError) as error:
            raise BadFile(f"{path}: {error}") from None
        at = survey.round_of(counted)
        found[at] = found[at] + counted if at in found else counted
    if missing := set(range(max(found))) - set(found):
        raise BadFile(f"there is no tally of round {min(missing)}: give the tallies of all rounds")
    return [found[at] for at in sorted(found)]


@command(MAINTENANCE)
def warm(as_json: Json = False) -> None:
    """Compile all kernels in advance, so that no later command has to wait."""
    if not find_spec("numba"):
        raise ValueError("numba is not installed: without numba there is nothing to compile")
    os.environ[draws.VARIABLE] = "always"
    names = [*registry.PROTOCOLS, *registry.HISTORIES, *registry.SOLUTIONS]
    classes = list(registry.PROTOCOLS.values())
    every: list[Any] = [
        build_example(cls, k)
        for cls in classes
        for k in (3, 100, 1000, 70_000)
        if k < 70_000 or cls is not SHE
    ]
    every += [cls(best, [3, 300], 2.0) for cls in registry.SOLUTIONS.values()]
    every += [
        cls.of([build_example(each, 5), build_example(each, 300)])
        for cls in (SPL, SMP)
        for each in classes
    ]
    with Progress("compiling", len(every) + len(registry.HISTORIES)) as progress:
        for mechanism in every:
            held = [0] * 10 if len(mechanism.parts) == 1 else [[0, 0]] * 10
            reports = wire.decode(mechanism, wire.encode(mechanism, mechanism.randomize(held)))
            mechanism.tally(reports)
            Panel(mechanism, 10).tally(held)
            mechanism.simulate(
                [10] + [0] * (mechanism.k - 1)
                if len(mechanism.parts) == 1
                else [[10] + [0] * (k - 1) for k in mechanism.ks]
            )
            progress.step(type(mechanism).__name__)
        for whole in registry.HISTORIES.values():
            history = build_history(whole, 3)
            history.tally(history.randomize([[0] * history.rounds] * 10))
            Panel(history, 10).tally([0] * 10)
            progress.step(whole.__name__)
    say(f"{len(names)} protocols and solutions are ready", {"ready": names}, as_json)


@command(MAINTENANCE)
def check(
    spec: Annotated[
        Path, typer.Argument(help="A survey, or the spec of a protocol, in JSON.", readable=False)
    ],
    as_json: Json = False,
) -> None:
    """Run all checks on a survey or protocol: exact privacy, unbiased estimates, stated errors.

    A survey with rounds is checked attribute by attribute.
    """
    from .. import checks

    files.require_readable(spec)
    content = validate.parse_json(str(spec), spec.read_bytes())
    try:
        survey = isinstance(content, dict) and "attributes" in content
        mechanism = Survey.from_spec(content).solution if survey else registry.from_spec(content)
    except (ValueError, TypeError) as error:
        raise BadFile(f"{spec}: {error}") from None
    subjects, which = [mechanism], ""
    if isinstance(mechanism, Solution) and mechanism.rounds is not None:
        subjects, which = list(dict.fromkeys(mechanism.protocols)), "the attributes of "
    try:
        with Progress("check", len(checks.CHECKS) * len(subjects)) as progress:
            for name in checks.CHECKS:
                for each in subjects:
                    with suppress(checks.NotApplicable):
                        checks.run_check(name, each)
                    progress.step(name)
    except AssertionError as error:
        say(
            f"a check does not hold: {error}",
            {"holds": False, "subject": repr(mechanism), "why": str(error)},
            as_json,
        )
        raise typer.Exit(1) from None
    sentence = f"all checks hold for {which}{mechanism!r}"
    say(sentence, {"holds": True, "subject": repr(mechanism)}, as_json)
