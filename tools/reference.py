"""The reference: check that every public name says what to pass, what comes back, and shows it.

``python tools/reference.py`` holds the docstrings of all public classes, methods and functions to
numpydoc's validation, and the parameters that they share to one text each.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import multi_freq_ldpy

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
PAPER = (
    "pure_frequency_oracles",
    "mdim_freq_est",
    "long_freq_est",
    "long_mdim_freq_est",
    "estimators",
)
# Summaries, parameters, what is returned, examples; not "See Also" and not a longer summary
CODES = {"GL08", "SS02", "SS03", "SS06", "EX01", "RT01", "RT03", "RT04", "YD01"}
CODES |= {f"PR{number:02}" for number in range(1, 11)}
NO_EXAMPLE = (property, cached_property)
RNG = (
    "Source of randomness. None, the default, is the operating system: use it to collect. "
    "Seeds are for simulations."
)
SHARED: dict[tuple[str, str], str | tuple[str, ...]] = {
    ("k", "int"): "Number of possible values, which are 0, …, k − 1.",
    ("epsilon", "float"): ("Privacy budget of one report.", "Privacy budget of the whole history."),
    ("eps_perm", "float"): "Privacy budget of all reports about an unchanged value.",
    ("eps_1", "float"): "Privacy budget of the first report.",
    ("rng", "None, int, SeedSequence, Generator or Stream"): RNG,
    ("n", "int"): "Number of users.",
    ("level", "float"): "Probability with which an interval covers the true value.",
    ("f", "float"): "True frequency of the value.",
}
# Parameters of the same name and type that mean something else
OTHER = {("Audit", "epsilon"), ("audit", "n"), ("Stream.spawn", "n")}


def find_object(path: str) -> Any:
    """Return the object at a dotted path below the package."""
    found: Any = multi_freq_ldpy
    for part in path.split("."):
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def find_functions(package: str) -> Iterator[Any]:
    """Yield the functions of one of the paper's folders."""
    folder = find_object(package)
    for each in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
        module = importlib.import_module(each.name)
        yield from (
            found
            for name, found in vars(module).items()
            if getattr(found, "__module__", "") == each.name and not name.startswith("_")
        )


def find_public() -> dict[str, Any]:
    """Return all that users call: classes and functions, and the members of the classes."""
    listed = re.findall(r"^   ~?([\w.]+)$", PAGE.read_text(), re.MULTILINE)
    found = [find_object(name) for name in [*multi_freq_ldpy.__all__, *listed]]
    found += [function for package in PAPER for function in find_functions(package)]
    public = {f"{o.__module__}.{o.__qualname__}": o for o in found if hasattr(o, "__qualname__")}
    for each in list(public.values()):
        for owner in getattr(each, "__mro__", ()):
            if owner.__module__.startswith("multi_freq_ldpy"):
                public |= {
                    f"{owner.__module__}.{owner.__qualname__}.{name}": member
                    for name, member in vars(owner).items()
                    if not name.startswith("_") and is_documented(member)
                }
    return public


def is_documented(member: Any) -> bool:
    """Return whether a member of a class is a method or a property."""
    return inspect.isfunction(member) or isinstance(member, (classmethod, *NO_EXAMPLE))


def find_faults(name: str, each: Any) -> Iterator[str]:
    """Yield one line per fault of a docstring."""
    for code, message in validate(name)["errors"]:
        if code in CODES and not (code == "EX01" and isinstance(each, NO_EXAMPLE)):
            yield f"{name}: {code} {message}"
    for parameter in NumpyDocString(inspect.getdoc(each) or "")["Parameters"]:
        shared = SHARED.get((parameter.name, parameter.type), "")
        if (each.__qualname__, parameter.name) in OTHER:
            continue
        if not " ".join(parameter.desc).startswith(shared):
            yield f"{name}: {parameter.name} must begin with {shared!r}"


def main() -> int:
    """Return 1 if anything is missing."""
    public = sorted(find_public().items())
    faults = [fault for name, each in public for fault in find_faults(name, each)]
    print(*faults, sep="\n", end="\n" * bool(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
