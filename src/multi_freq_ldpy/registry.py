"""The registry of protocols and solutions, and their specs for JSON."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from .core import validate
from .core.deprecation import accept_old_names
from .longitudinal.chains import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE
from .longitudinal.dbitflip import DBitFlipPM
from .longitudinal.history import History
from .longitudinal.once import Once
from .longitudinal.round import Round
from .longitudinal.steps import Steps
from .longitudinal.trees import DDRM, Tree
from .mechanism import Mechanism
from .protocol import Protocol, needs_options
from .protocols.bloom import Bloom
from .protocols.grr import GRR
from .protocols.hadamard import HR
from .protocols.hashing import BLH, OLH
from .protocols.histogram import SHE
from .protocols.subset import SS
from .protocols.unary import OUE, SUE, THE
from .solutions.base import DEEPEST, Solution
from .solutions.rsfd import RSFD
from .solutions.smp import SMP
from .solutions.spl import SPL

VERSION = 1


@dataclass(frozen=True)
class Entry:
    """An entry of the registry: a class with two short texts about it.

    The tables of the documentation are made from these texts.

    Parameters
    ----------
    cls : type
        The class of the protocol or solution.
    report : str
        Description of a report.
    choose : str
        Purpose for which to choose the class.
    device : bool
        True if the specification of the wire format covers the class, so that clients in other
        languages can make its reports. True is the default.
    """

    cls: type[Any]
    report: str
    choose: str
    device: bool = True


ENTRIES = {
    entry.cls.__name__: entry
    for entry in (
        Entry(GRR, "a value", "small domains, k < 3e^ε + 2"),
        Entry(BLH, "a seed and a bit", "comparison"),
        Entry(OLH, "a seed and a symbol", "large domains, where reports have to be small"),
        Entry(
            SS,
            "a set of values, as k bits",
            "least total error: no unbiased ε-LDP protocol has less on uniform data,"
            " for many users",
        ),
        Entry(SUE, "k bits", "comparison (basic one-time RAPPOR)"),
        Entry(OUE, "k bits", "large domains, where k bits are affordable"),
        Entry(THE, "k bits", "comparison"),
        Entry(SHE, "k integers", "sums of noisy histograms"),
        Entry(HR, "an index below the least power of two above k", "small budgets, short reports"),
        Entry(
            Bloom,
            "a seed and some bits",
            "comparison (one-time RAPPOR with Bloom filters)",
            device=False,
        ),
        Entry(LGRR, "a value", "small domains, over time"),
        Entry(LSUE, "k bits", "comparison (basic RAPPOR)"),
        Entry(LSOUE, "k bits", "comparison"),
        Entry(LOUE, "k bits", "comparison"),
        Entry(LOSUE, "k bits", "large domains, over time"),
        Entry(LBLH, "a seed and a bit", "values that change often: two permanent answers"),
        Entry(LOLH, "a seed and a symbol", "large domains, where reports have to be small"),
        Entry(DBitFlipPM, "d_bits of b bits, with their positions", "numbers that change a little"),
        Entry(Once, "the value of one round, drawn beforehand", "whole histories: comparison"),
        Entry(
            Steps,
            "the value of one round, or the changes since the last report",
            "whole histories, with the times of changes protected",
        ),
        Entry(Tree, "the change since the last report", "whole histories: comparison"),
        Entry(
            DDRM,
            "the change over a short or a long step",
            "whole histories: comparison",
            device=False,
        ),
        Entry(SPL, "every attribute with ε/d", "comparison, or two attributes at most"),
        Entry(SMP, "one attribute, drawn at random, with all of ε", "protecting whole records"),
        Entry(RSFD, "one attribute among fakes (RS+FD)", "protecting one attribute at a time"),
    )
}
"""Every protocol and solution by name. Tests, tables and commands find them here."""

PROTOCOLS: dict[str, type[Protocol]] = {
    name: entry.cls for name, entry in ENTRIES.items() if issubclass(entry.cls, Protocol)
}
BY_BUDGETS = {name: cls for name, cls in PROTOCOLS.items() if not needs_options(cls)}
"""Every protocol that a domain size and budgets determine, by name."""

SOLUTIONS: dict[str, type[Solution]] = {
    name: entry.cls for name, entry in ENTRIES.items() if issubclass(entry.cls, Solution)
}
HISTORIES: dict[str, type[History]] = {
    name: entry.cls for name, entry in ENTRIES.items() if issubclass(entry.cls, History)
}


@accept_old_names(protocol="mechanism")
def to_spec(mechanism: Mechanism) -> dict[str, Any]:
    """Return a protocol or solution as a dict that JSON can hold.

    The spec holds everything that client and aggregator have to share.

    Parameters
    ----------
    mechanism : Mechanism
        A protocol or solution of this package.

    Returns
    -------
    dict
        The version of the format, the name of the class and its parameters.

    Raises
    ------
    ValueError
        If the class of the mechanism, or of one of its protocols, is not in the registry.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, OUE, SMP, Tree, registry
    >>> registry.to_spec(OUE(10, epsilon=0.5))
    {'version': 1, 'protocol': 'OUE', 'k': 10, 'epsilon': 0.5}
    >>> registry.to_spec(Tree(epsilon=0.5, rounds=8, changes=1).at(3))["round"]
    3
    >>> registry.to_spec(SMP(GRR, [3, 2], epsilon=0.5))["protocols"]
    [{'protocol': 'GRR', 'k': 3, 'epsilon': 0.5}, {'protocol': 'GRR', 'k': 2, 'epsilon': 0.5}]
    """
    if isinstance(mechanism, Round):
        to_spec(mechanism.history)
        return {"version": VERSION, **mechanism._fields()}
    if (PROTOCOLS | SOLUTIONS | HISTORIES).get(type(mechanism).__name__) is not type(mechanism):
        raise ValueError(
            f"mechanism {validate.quote(mechanism)} is not in the registry, so it has no spec"
        )
    for each in mechanism.protocols if isinstance(mechanism, Solution) else ():
        to_spec(each)
    return {"version": VERSION, **mechanism._fields()}


def from_spec(spec: dict[str, Any]) -> Mechanism:
    """Return the protocol or solution of a spec.

    Parameters
    ----------
    spec : dict
        The result of ``to_spec``, possibly after a passage through JSON.

    Returns
    -------
    Mechanism
        The protocol or solution.

    Raises
    ------
    ValueError
        If a name, a field or the version is unknown, or if a value is out of range.
    TypeError
        If ``spec`` is not a dict, or if a value has the wrong type.

    Examples
    --------
    >>> from multi_freq_ldpy import registry
    >>> registry.from_spec({"version": 1, "protocol": "GRR", "k": 4, "epsilon": 1.0})
    GRR(k=4, epsilon=1.0)
    """
    if not isinstance(spec, dict):
        raise TypeError(f"spec must be a dict, not {validate.quote(spec)}")
    if type(spec.get("version")) is not int or spec["version"] != VERSION:
        raise ValueError(
            f"spec must have version {VERSION}, not {validate.quote(spec.get('version'))}"
        )
    given = {name: each for name, each in spec.items() if name != "version"}
    _count_leaves(given)
    return _build(given)


def _count_leaves(spec: dict[str, Any], depth: int = 0) -> int:
    """Return the number of protocols in a spec, before any of them is built.

    Too many protocols are refused.
    """
    if "history" in spec:
        return 1
    parts = _fields(spec, PROTOCOLS | SOLUTIONS).get("protocols")
    if not isinstance(parts, list):
        return 1
    if depth >= DEEPEST:
        raise ValueError(f"protocols must be nested at most {DEEPEST} deep")
    validate.record_size("protocols", leaves := len(parts))
    for each in parts:
        leaves += _count_leaves(each, depth + 1) - 1 if isinstance(each, dict) else 0
        validate.record_size("protocols", leaves)
    return leaves


def _build(spec: dict[str, Any]) -> Mechanism:
    """Return the protocol or solution of a spec without a version."""
    if "history" in spec:
        return _build_history(spec)
    name = _name(spec, PROTOCOLS | SOLUTIONS)
    if name in PROTOCOLS:
        return PROTOCOLS[name](**_fields(spec, PROTOCOLS))
    fields = _fields(spec, SOLUTIONS)
    parts = fields.pop("protocols")
    if not isinstance(parts, list) or not all(isinstance(each, dict) for each in parts):
        raise TypeError(f"protocols must be a list of specs, not {validate.quote(parts)}")
    return SOLUTIONS[name].of([_build(each) for each in parts], **fields)


def _build_history(spec: dict[str, Any]) -> Mechanism:
    """Return the history of a spec, or one of its rounds."""
    name = spec["history"]
    if not isinstance(name, str) or name not in HISTORIES:
        known = ", ".join(HISTORIES)
        raise ValueError(f"history must be one of {known}, not {validate.quote(name)}")
    of_round = {each: spec[each] for each in ("round", "optional") if each in spec}
    given = {each: spec[each] for each in spec if each not in {"history", *of_round}}
    _require_fields(name, given, HISTORIES[name])
    if "values" in given and given["values"] is None:
        raise ValueError("values must be the share that was chosen, not None")
    history = HISTORIES[name](**given)
    if not of_round:
        return history
    if "round" not in of_round or of_round.get("optional") is False:
        raise ValueError(f"spec of a round must name it, not {validate.quote(of_round)}")
    return history.at(**of_round)


def _name(spec: dict[str, Any], among: dict[str, Any]) -> str:
    name = spec.get("protocol")
    if not isinstance(name, str) or name not in among:
        raise ValueError(f"protocol must be one of {', '.join(among)}, not {validate.quote(name)}")
    return name


def _fields(spec: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    name = _name(spec, classes)
    given = {field: each for field, each in spec.items() if field != "protocol"}
    _require_fields(name, given, classes[name])
    return given


def _require_fields(name: str, given: dict[str, Any], cls: Any) -> None:
    """Refuse a spec that has other fields than its class."""
    fields = {field.name for field in dataclasses.fields(cls)}
    if set(given) != fields:
        raise ValueError(
            f"spec of {name} must have the fields {sorted(fields)}, not"
            f" {validate.quote(sorted(map(str, given)))}"
        )
