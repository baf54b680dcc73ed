"""Names and classes of the protocols; protocols as JSON and back."""

import dataclasses
from typing import TYPE_CHECKING, Any

from .protocols.grr import GRR
from .protocols.hashing import BLH, OLH
from .protocols.histogram import SHE
from .protocols.subset import SS
from .protocols.unary import OUE, SUE, THE

if TYPE_CHECKING:
    from .protocol import Protocol

VERSION = 1
PROTOCOLS: dict[str, type["Protocol"]] = {c.__name__: c for c in (GRR, BLH, OLH, SS, SUE, OUE, THE, SHE)}


def to_spec(protocol: "Protocol") -> dict[str, Any]:
    """Return the protocol as a dict that JSON can hold: all that client and aggregator have to share.

    >>> to_spec(OUE(10, epsilon=0.5))
    {'version': 1, 'protocol': 'OUE', 'k': 10, 'epsilon': 0.5}
    """
    name = type(protocol).__name__
    if PROTOCOLS.get(name) is not type(protocol):
        raise ValueError(f"protocol {protocol!r} is not in the registry, so it has no spec")
    return {"version": VERSION, **protocol._fields()}


def from_spec(spec: dict[str, Any]) -> "Protocol":
    """Return the protocol of a spec; an unknown name, field or version is a ValueError.

    >>> from_spec({"version": 1, "protocol": "GRR", "k": 4, "epsilon": 1.0})
    GRR(k=4, epsilon=1.0)
    """
    if not isinstance(spec, dict):
        raise TypeError(f"spec must be a dict, not {spec!r}")
    if type(spec.get("version")) is not int or spec["version"] != VERSION:
        raise ValueError(f"spec must have version {VERSION}, not {spec.get('version')!r}")
    name = spec.get("protocol")
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {name!r}")
    fields = {field.name for field in dataclasses.fields(PROTOCOLS[name])}
    given = set(spec) - {"version", "protocol"}
    if given != fields:
        raise ValueError(f"spec of {name} must have the fields {sorted(fields)}, not {sorted(map(str, given))}")
    return PROTOCOLS[name](**{field: spec[field] for field in fields})
