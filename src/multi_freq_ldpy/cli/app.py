"""All commands."""

from . import choosing, collecting
from .terminal import app

__all__ = ["app", "choosing", "collecting"]
