"""Commands that bring data into a service, out of it, and from one database to another."""

import os
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from ..files.atomic import open_atomic
from ..service.remote import LOCAL
from .files import BadFile
from .serving import (
    COLLECTING,
    FILE,
    Database,
    Name,
    Url,
    command_of,
    connect,
    group,
    import_service,
    path_of,
)
from .terminal import Force, Json, command, say

PRIVATE = 0o600
"""The mode of a file with invites, which only its owner may read."""

invites = group("invites", "Invites: one-time tokens, of which each sends one report per round.")


@command_of(invites, "create")
def create_invites(
    name: Name,
    count: Annotated[int, typer.Argument(help="Number of invites.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A CSV file, instead of the terminal.")
    ] = None,
    force: Force = False,
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Make invites. They are shown once.

    The person who hands out an invite can tell which report came with it.
    """
    if output is None:
        found = connect(url).ask_json("POST", f"{path_of(name)}/invites", {"count": count})
        say("\n".join(found["invites"]), found, as_json)
        return
    with open_atomic(output, force) as file:
        found = connect(url).ask_json("POST", f"{path_of(name)}/invites", {"count": count})
        lines = [f"{each}\n" for each in ("invite", *found["invites"])]
        file.write("".join(lines).encode())
        os.fchmod(file.fileno(), PRIVATE)  # before the file has its name
    output.chmod(PRIVATE)
    say(f"{count} invites: {output}", {"file": str(output), "invites": count}, as_json)


@command(COLLECTING)
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Name of the new file: .parquet or .tally.")],
    round: Annotated[str, typer.Option(help="Number of the round, or latest.")] = "latest",
    force: Force = False,
    url: Url = LOCAL,
    as_json: Json = False,
) -> None:
    """Write the kept reports of a round as Parquet, or its tally.

    Reports are in the order of their ids, which is no order. Their ids are left out.
    """
    kinds = {".parquet": "reports.parquet", ".tally": "tally"}
    if file.suffix.lower() not in kinds:
        raise BadFile(f"{file} must end in .parquet or .tally")
    path = f"{path_of(name)}/rounds/{quote(round, safe='')}/{kinds[file.suffix.lower()]}"
    with open_atomic(file, force) as target:
        size = connect(url).save(path, target)
    say(f"{size:,} bytes: {file}", {"file": str(file), "bytes": size}, as_json)


@command(COLLECTING)
def move(
    to: Annotated[str, typer.Option(help="URL of an empty database.")],
    database: Database = FILE,
    as_json: Json = False,
) -> None:
    """Copy the database of a stopped service into an empty one, such as of PostgreSQL.

    Devices and people go on with a service on the new database. Never start the old one again.
    """
    store, moving = import_service("store"), import_service("moving")
    old = store.parse_url(database)
    if old.get_backend_name() == "sqlite" and not Path(old.database).is_file():
        raise FileNotFoundError(f"{old.database} does not exist")
    source = store.Store(database)
    try:
        target = store.Store(to)
        try:
            many = moving.copy_database(source, target)
        finally:
            target.close()
    finally:
        source.close()
    say(f"the new database has {many:,} rows", {"rows": many}, as_json)
