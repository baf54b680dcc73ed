"""The command ``watch``: the estimates of a survey in the terminal, as they change."""

from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..core import validate
from ..estimation.rendering import printable
from ..service.following import follow
from .serving import COLLECTING, connect
from .terminal import Json, as_json_text, command, out

SHOWN = ("raw", "norm_sub", "norm")
MOST_ROWS = 40
"""The largest number of categories of an attribute that are shown."""


@command(COLLECTING)
def watch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the service.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the survey.")],
    method: Annotated[str, typer.Option(help="raw, norm_sub or norm.")] = "raw",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Show the estimates of a survey as they change, until it is closed.

    Ctrl-C ends the command. With --json, each change is one line.
    """
    validate.choice("--method", method, SHOWN)
    validate.probability("--level", level, 0.01, 0.9999)
    found = follow(connect(url), name, level=level, method=method)
    with suppress(KeyboardInterrupt):
        if as_json:
            for each in found:
                print(as_json_text(each), flush=True)
            return
        waiting = f"{printable(name)}: waiting for the first estimate" if out.is_terminal else ""
        shown = Live(Text(waiting), console=out, auto_refresh=False, vertical_overflow="ellipsis")
        shown.transient = True  # until there is an estimate, which stays at the end
        with shown as live:
            for each in found:
                live.transient = False
                live.update(draw_estimates(each), refresh=True)


def draw_estimates(found: dict[str, Any]) -> Group:
    """Return the estimates of an event as a heading and tables."""
    (shown,) = found["rounds"]
    kind = "release" if found["released"] else "live"
    kind = "final" if found["state"] == "closed" and not found["released"] else kind
    parts: list[Any] = [
        Text(
            printable(
                f"{found['survey']} is {found['state']}, round {shown['round']}:"
                f" {shown['users']:,} reports ({kind})"
            ),
            style="bold",
        )
    ]
    if shown["needed"]:
        parts.append(Text(f"{shown['needed']:,} further reports give ±3 points for every share"))
    for attribute in shown["attributes"]:
        parts += [Text(""), _draw_attribute(attribute, found["level"])]
    return Group(*parts)


def _draw_attribute(attribute: dict[str, Any], level: float) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(printable(attribute["name"]))
    table.add_column("%", justify="right")
    table.add_column("")
    table.add_column(f"{100 * level:g} % interval")
    for each in attribute["values"][:MOST_ROWS]:
        share, low, high = each["frequency"], each["low"], each["high"]
        table.add_row(
            Text(printable(str(each["label"]))),
            "" if share is None else f"{100 * share:.1f}",
            "" if share is None else "█" * round(30 * min(1.0, max(0.0, share))),
            "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}",
        )
    if len(attribute["values"]) > MOST_ROWS:
        table.add_row(Text(f"… and {len(attribute['values']) - MOST_ROWS:,} more"))
    return table
