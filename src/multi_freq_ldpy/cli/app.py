"""All commands, in the order of the help."""

from . import choosing, collecting, exchanging, serving, submitting, surveying, watching
from .terminal import app

__all__ = [
    "app",
    "choosing",
    "collecting",
    "exchanging",
    "serving",
    "submitting",
    "surveying",
    "watching",
]

ORDER = (
    "demo try survey randomize tally estimate serve submit watch export backup move protocols"
    " recommend compare check warm bench"
)
app.registered_commands.sort(
    key=lambda each: ORDER.split().index(str(each.name or getattr(each.callback, "__name__", "")))
)
