"""Old names of parameters and attributes: they still work, with a warning."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def accept_old_names(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept keywords by their old names: ``@accept_old_names(protocol="mechanism")``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old, new in names.items():
                if old in kwargs:
                    if new in kwargs:
                        raise TypeError(f"{new} must be given once, not as {new} and {old}")
                    _warn(f"parameter {old} is now {new}")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def old_attribute(old: str, new: str) -> property:
    """Return a property that reads the attribute ``new`` under its old name."""

    def read(self: Any) -> Any:
        _warn(f"attribute {old} is now {new}")
        return getattr(self, new)

    return property(read, doc=f"The old name of ``{new}``.")


def _warn(why: str) -> None:
    warnings.warn(why, DeprecationWarning, stacklevel=3)
