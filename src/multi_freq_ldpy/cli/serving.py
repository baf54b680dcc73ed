"""Commands of the collection service: ``serve``, and administration over HTTP."""

import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from ..core import validate
from ..estimation.rendering import printable
from ..service.remote import LOCAL, Remote
from ..service.remote import path_of as path_of
from ..survey import Survey
from .terminal import (
    Function,
    Json,
    app,
    as_json_text,
    command,
    out,
    print_table,
    say,
)

COLLECTING = "Collecting"
"""The group of these commands in the help."""

TOKEN = "MULTI_FREQ_LDPY_TOKEN"
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the survey.")]
Url = Annotated[
    str,
    typer.Option(envvar="MULTI_FREQ_LDPY_URL", help=f"Address of the service: {LOCAL}."),
]
Database = Annotated[
    str,
    typer.Option(
        envvar="MULTI_FREQ_LDPY_DATABASE",
        help="sqlite:///file, or postgresql://user@host/name for several processes.",
    ),
]
FILE = "sqlite:///multi-freq-ldpy.sqlite"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def group(name: str, text: str) -> typer.Typer:
    """Add a group of commands."""
    made = typer.Typer(no_args_is_help=True, help=text, add_completion=False)
    app.add_typer(made, name=name, rich_help_panel=COLLECTING)
    return made


surveys = group("surveys", "Surveys of a service: create, open, close, list and show.")
rounds = group("rounds", "Rounds of a survey: list them, or begin the next one.")
tokens = group("tokens", "Tokens of a service: create and revoke.")


def connect(url: str) -> Remote:
    """Return the service at an address, with the token of the environment."""
    return Remote(url, os.environ.get(TOKEN))


@command(COLLECTING)
def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SURVEY]...", help="Survey files to open.", readable=False),
    ] = None,
    database: Database = FILE,
    host: Annotated[
        str,
        typer.Option(envvar="MULTI_FREQ_LDPY_HOST", help="Address; not loopback only with TLS."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="MULTI_FREQ_LDPY_PORT", help="The port.")] = 8000,
    workers: Annotated[
        int, typer.Option(envvar="MULTI_FREQ_LDPY_WORKERS", help="Processes, with PostgreSQL.")
    ] = 1,
    max_body: Annotated[
        int, typer.Option(envvar="MULTI_FREQ_LDPY_MAX_BODY", help="Largest body, in bytes.")
    ] = 1_000_000,
    rate: Annotated[
        int,
        typer.Option(
            envvar="MULTI_FREQ_LDPY_RATE", help="Requests per second and address; 0 for no limit."
        ),
    ] = 50,
    behind_proxy: Annotated[
        int,
        typer.Option(
            envvar="MULTI_FREQ_LDPY_BEHIND_PROXY",
            help="Number of proxies that append to X-Forwarded-For.",
        ),
    ] = 0,
    tls_cert: Annotated[
        str, typer.Option(envvar="MULTI_FREQ_LDPY_TLS_CERT", help="File of a certificate.")
    ] = "",
    tls_key: Annotated[
        str, typer.Option(envvar="MULTI_FREQ_LDPY_TLS_KEY", help="File of its key.")
    ] = "",
) -> None:
    """Take reports over HTTP, and count each exactly once.

    The name of a survey is that of its file. A survey that exists stays as it is.
    The first start prints the admin token.
    """
    validate.Integer(1, 65_535)("--port", port)
    validate.Integer(1, 256)("--workers", workers)
    validate.Integer(1_000, 2**26)("--max-body", max_body)
    validate.Integer(0, 10**6)("--rate", rate)
    validate.Integer(0, 10)("--behind-proxy", behind_proxy)
    server = import_service("server")
    settings = server.Settings(
        *(database, host, port, workers, max_body),
        *(rate, behind_proxy, tls_cert, tls_key),
    )
    server.run(settings, files or [], announce=lambda text: print(text, flush=True))


def import_service(name: str) -> Any:
    """Return a module of the service, or say what to install."""
    from importlib import import_module

    try:
        return import_module(f"multi_freq_ldpy.service.{name}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the service needs {error.name}, which is not installed: pip install"
            " 'multi-freq-ldpy[serve]'"
        ) from None


@command(COLLECTING)
def backup(
    file: Annotated[Path, typer.Argument(help="Name of the copy, which must not exist.")],
    database: Database = FILE,
    as_json: Json = False,
) -> None:
    """Copy the SQLite file of a service, also while it is running.

    An older copy that is put back has lost what was acknowledged since, ids and tallies alike.
    """
    store = import_service("store")
    url = store.parse_url(database)
    if url.get_backend_name() != "sqlite":
        raise ValueError("backup copies SQLite files: for PostgreSQL, use pg_dump")
    store.back_up(Path(url.database), file)
    say(str(file), {"file": str(file)}, as_json)


def command_of(parent: typer.Typer, name: str) -> Callable[[Function], Function]:
    """Make a command of a group. Mistakes are reported as by ``command``."""
    return command(COLLECTING, name, parent)


@command_of(surveys, "create")
def create_survey(
    file: Annotated[Path, typer.Argument(help="A survey file in JSON.", readable=False)],
    name: Annotated[str | None, typer.Option(help="Name in URLs; that of the file.")] = None,
    every: Annotated[
        str | None, typer.Option(help="Length of a round, such as 7d or 12h, from now on.")
    ] = None,
    grace: Annotated[
        str | None, typer.Option(help="Time for which a round stays open after its end.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the reports, for ever.")] = False,
    submission: Annotated[
        str, typer.Option(help="Rule of submission: open (anybody), token or invite.")
    ] = "open",
    public: Annotated[
        bool, typer.Option("--public", help="Show releases to people without a token.")
    ] = False,
    min_users: Annotated[int, typer.Option(help="Least reports of a release.")] = 100,
    step: Annotated[int, typer.Option(help="Least reports between two releases.")] = 20,
    title: Annotated[str, typer.Option(help="Title on the page of respondents.")] = "",
    asker: Annotated[str, typer.Option(help="Name of the asker, for respondents.")] = "",
    purpose: Annotated[str, typer.Option(help="Use of the estimates, for respondents.")] = "",
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Create a survey as a draft."""
    content: dict[str, Any] = {"name": name or file.stem, "spec": Survey.load(file).to_spec()}
    if title or asker or purpose:
        content["about"] = {"title": title, "asker": asker, "purpose": purpose}
    content |= {"keep": keep, "submission": submission, "public": public}
    content |= {"min_users": min_users, "step": step}
    if every is not None:
        starts = int(datetime.now(UTC).timestamp())
        content["schedule"] = {"starts": starts, "period": _seconds("--every", every)}
        if grace is not None:
            content["schedule"]["grace"] = _seconds("--grace", grace)
    elif grace is not None:
        raise ValueError("--grace needs --every")
    found = connect(url).ask_json("POST", "/v1/surveys", content)
    audience = {field: found[field] for field in ("public", "min_users", "step")}
    if audience != {field: content[field] for field in audience}:
        present = ", ".join(f"{field}={value}" for field, value in audience.items())
        raise ValueError(f"{found['name']} exists, with {present}: use surveys change")
    say(_describe_state(found), found, as_json)


def _describe_state(found: dict[str, Any]) -> str:
    """Return the state of a survey, and what opens a draft."""
    hint = f": surveys open {found['name']}" if found["state"] == "draft" else ""
    return f"{found['name']} is {found['state']}{hint}"


def _seconds(option: str, text: str) -> int:
    """Return a length of time, such as 7d, in seconds."""
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in SECONDS:
        raise ValueError(f"{option} must be a number and one of s, m, h, d, w, not {text!r}")
    return int(number) * SECONDS[unit]


def _change(name: str, state: str, url: str, as_json: bool) -> None:
    found = connect(url).ask_json("PATCH", path_of(name), {"state": state})
    say(f"{found['name']} is {found['state']}", found, as_json)


@command_of(surveys, "open")
def open_survey(name: Name, url: Url = LOCAL, as_json: Json = False) -> None:
    """Open a draft, so that it takes reports."""
    _change(name, "open", url, as_json)


@command_of(surveys, "close")
def close_survey(name: Name, url: Url = LOCAL, as_json: Json = False) -> None:
    """Close a survey for ever."""
    _change(name, "closed", url, as_json)


@command_of(surveys, "change")
def change_survey(
    name: Name,
    public: Annotated[
        bool | None, typer.Option("--public/--private", help="Show releases, or nothing.")
    ] = None,
    min_users: Annotated[int | None, typer.Option(help="Least reports of a release.")] = None,
    step: Annotated[int | None, typer.Option(help="Least reports between two releases.")] = None,
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Change what people without a token see of a survey."""
    wanted = {"public": public, "min_users": min_users, "step": step}
    content = {field: value for field, value in wanted.items() if value is not None}
    if not content:
        raise ValueError("give --public, --private, --min-users or --step")
    found = connect(url).ask_json("PATCH", path_of(name), content)
    say(_describe_rules(found), found, as_json)


def _describe_rules(about: dict[str, Any]) -> str:
    """Return the rules that people rely on, as sentences."""
    kept = "Reports are kept." if about["kept"] else "Only tallies are kept."
    shown = "Estimates need a token."
    if about["public"]:
        shown = f"Releases are public, from {about['min_users']:,} reports on, in steps of"
        shown += f" {about['step']:,}."
    return f"Submission rule: {about['submission']}. {kept} {shown}"


@command_of(surveys, "list")
def list_surveys(url: Url = LOCAL, as_json: Json = False) -> None:
    """List all surveys."""
    found = connect(url).ask_json("GET", "/v1/surveys")
    _print_rows(found, ["name", "state", "digest"], as_json)


@command_of(surveys, "show")
def show_survey(name: Name, url: Url = LOCAL, as_json: Json = False) -> None:
    """Show a survey: its promise, its state, and the rounds that take reports."""
    survey, about = connect(url).survey(name)
    if as_json:
        print(as_json_text(about))
        return
    out.print(f"{name} is {about['state']}, digest {about['digest']}")
    for field in ("title", "asker", "purpose"):
        if text := about["about"][field]:
            out.print(f"{field.capitalize()}: {printable(text)}")
    out.print(about["privacy"]["sentence"])
    accepted = ", ".join(map(str, about["accepted"])) or "none"
    out.print(f"A report has {about['report_bytes']} bytes. Rounds that take reports: {accepted}")
    out.print(_describe_rules(about))
    labels = [", ".join(map(str, each)) for each in survey.attributes.values()]
    print_table({"attribute": [*survey.attributes], "categories": labels})


@command_of(rounds, "list")
def list_rounds(name: Name, url: Url = LOCAL, as_json: Json = False) -> None:
    """List the rounds of a survey."""
    found = connect(url).ask_json("GET", f"{path_of(name)}/rounds")
    _print_rows(found, ["number", "state", "users"], as_json)


@command_of(rounds, "next")
def next_round(name: Name, url: Url = LOCAL, as_json: Json = False) -> None:
    """Close the present round, and open the next one."""
    remote, path = connect(url), f"{path_of(name)}/rounds"
    last = max((each["number"] for each in remote.ask_json("GET", path)), default=-1)
    found = remote.ask_json("POST", path, {"number": last + 1})
    say(f"round {found['number']} is open", found, as_json)


@command_of(tokens, "create")
def create_token(
    scope: Annotated[
        str, typer.Argument(help="admin, or analyst, who may read, or submit, for one survey.")
    ],
    survey: Annotated[str | None, typer.Option(help="Survey of a token to submit.")] = None,
    note: Annotated[str, typer.Option(help="Text by which you recognise the token.")] = "",
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Make a token. It is shown once."""
    content = {"scope": scope, "note": note, "survey": survey}
    found = connect(url).ask_json("POST", "/v1/tokens", content)
    say(f"{found['token']}\nto revoke it: {found['hash']}", found, as_json)


@command_of(tokens, "revoke")
def revoke_token(
    name: Annotated[str, typer.Argument(metavar="HASH", help="Hash of the token, or the token.")],
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Revoke a token."""
    if len(name) != 2 * hashlib.sha256().digest_size:
        name = hashlib.sha256(name.encode()).hexdigest()
    connect(url).ask("DELETE", f"/v1/tokens/{quote(name, safe='')}")
    say("revoked", {"revoked": name}, as_json)


def _print_rows(found: list[dict[str, Any]], columns: list[str], as_json: bool) -> None:
    if as_json:
        print(as_json_text(found))
    elif found:
        print_table({name: [each[name] for each in found] for name in columns})
    else:
        print("none")
