"""Commands for collecting: from a table to reports, to a tally, to estimates."""

import json
import re
from collections.abc import Iterator
from csv import writer
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import _check, datasets, plots, registry
from ..progress import Progress
from ..protocols.adaptive import best
from ..randomness import Stream
from ..survey import Survey
from ..tally import MAGIC, Tally
from ..whole import refuse_existing, whole
from . import files
from .files import BadFile
from .terminal import Force, Json, Seed, SurveyFile, command, exemplary, out, say, show_estimates


@command
def demo(
    users: Annotated[int, typer.Option(help="How many people to simulate.")] = 20_000, seed: Seed = None, as_json: Json = False
) -> None:
    """Ask simulated people three questions and estimate the answers."""
    people = datasets.population(users, seed)
    survey = Survey({name: datasets.CATEGORIES[name] for name in ("smokes", "status", "schooling")}, epsilon=2.0)
    found = survey.estimate(survey.randomize(people, seed))
    if as_json:
        print(json.dumps(found.to_frame("dict")))
        return
    out.print(
        f"{users:,} people who do not exist answer three questions. Each sends {survey.solution.report_bytes} bytes, from which nobody"
    )
    out.print(f"can tell their answers: any two are told apart by a factor of e^{survey.privacy.report:g} at most.\n")
    show_estimates(found)


@command
def randomize(
    survey: SurveyFile,
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file with the columns of the survey.", readable=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the reports: .parquet, or .csv.")],
    seed: Seed = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Randomize the rows of a file, as their users' devices would."""
    shared, stream = _survey(survey), Stream(seed) if seed is not None else None
    many = files.write_reports(output, _randomized(shared, data, stream), force)
    size = shared.solution.report_bytes
    say(f"{many:,} reports of {size} bytes in {output}", {"reports": many, "report_bytes": size, "output": str(output)}, as_json)


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
    return re.sub(r", row (\d+)", lambda found: f", row {int(found[1]) + done}", message, count=1)


def _survey(path: Path) -> Survey:
    files.readable(path)
    return Survey.load(path)


@command
def tally(
    survey: SurveyFile,
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, or of tallies.", readable=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file for the tally.")],
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Count reports; tallies of other users are added up."""
    counted = _tallied(_survey(survey), reports)
    with whole(output, force) as file:
        file.write(counted.to_bytes())
    say(f"{counted.users:,} reports counted in {output}", {"reports": counted.users, "output": str(output)}, as_json)


def _tallied(survey: Survey, paths: list[Path]) -> Tally:
    total = survey.tally({"report": []})
    for path in paths:
        files.readable(path)
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
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, or of tallies.", readable=False)],
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
        text = StringIO()
        writer(text, lineterminator="\n").writerows([[*columns], *zip(*columns.values(), strict=True)])
        with whole(csv, force) as file:
            file.write(text.getvalue().encode())
    if plot:
        with whole(plot, force) as file:
            plots.saved(found.plot(), file, plot.suffix.lstrip(".") or "png")
    print(json.dumps(columns)) if as_json else show_estimates(found)


@command
def warm(as_json: Json = False) -> None:
    """Compile all kernels ahead, so that nothing has to wait for it later."""
    every: list[Any] = [exemplary(cls, 100) for cls in registry.PROTOCOLS.values()]
    every += [cls(best, [3, 100], 2.0) for cls in registry.SOLUTIONS.values()]
    with Progress("compiling", len(every)) as progress:
        for subject in every:
            reports = subject.randomize([0] * 10 if len(subject.parts) == 1 else [[0, 0]] * 10)
            subject.tally(reports)
            subject.simulate(
                np.eye(1, 100, dtype=int)[0] * 10 if len(subject.parts) == 1 else [np.eye(1, k, dtype=int)[0] for k in subject.ks]
            )
            progress.step(type(subject).__name__)
    ready = [type(each).__name__ for each in every]
    say(f"{len(every)} protocols and solutions are ready", {"ready": ready}, as_json)


@command
def check(
    spec: Annotated[Path, typer.Argument(help="A survey, or the spec of a protocol, as JSON.", readable=False)], as_json: Json = False
) -> None:
    """Hold a survey or a protocol to the laws: exact privacy, unbiased estimates, stated errors."""
    from .. import checks

    files.readable(spec)
    content = _check.parsed(str(spec), spec.read_bytes())
    survey = isinstance(content, dict) and "attributes" in content
    subject = Survey.from_spec(content).solution if survey else registry.from_spec(content)
    try:
        checks.check_protocol(subject)
    except AssertionError as error:
        say(f"a law does not hold: {error}", {"holds": False, "subject": repr(subject), "why": str(error)}, as_json)
        raise typer.Exit(1) from None
    say(f"all laws hold for {subject!r}", {"holds": True, "subject": repr(subject)}, as_json)
