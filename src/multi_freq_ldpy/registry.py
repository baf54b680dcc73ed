"""Names and classes of the protocols and solutions; both as JSON and back."""

import dataclasses
from typing import TYPE_CHECKING, Any

from .core import validate
from .core.deprecation import accept_old_names
from .core.tally import Specs, Tally
from .longitudinal.chains import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE
from .longitudinal.dbitflip import DBitFlipPM
from .protocols.grr import GRR
from .protocols.hashing import BLH, OLH
from .protocols.histogram import SHE
from .protocols.subset import SS
from .protocols.unary import OUE, SUE, THE
from .solutions.rsfd import RSFD
from .solutions.smp import SMP
from .solutions.spl import SPL

if TYPE_CHECKING:
    from .protocol import Protocol
    from .solutions.base import Solution

VERSION = 1
_ONE_SHOT = (GRR, BLH, OLH, SS, SUE, OUE, THE, SHE)
_MEMOIZED = (LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH, DBitFlipPM)
PROTOCOLS: dict[str, type["Protocol"]] = {c.__name__: c for c in (*_ONE_SHOT, *_MEMOIZED)}
SOLUTIONS: dict[str, type["Solution"]] = {c.__name__: c for c in (SPL, SMP, RSFD)}


@accept_old_names(protocol="mechanism")
def to_spec(mechanism: "Protocol | Solution") -> dict[str, Any]:
    """Return a protocol or solution as a dict that JSON can hold.

    All that client and aggregator have to share.

    >>> to_spec(OUE(10, epsilon=0.5))
    {'version': 1, 'protocol': 'OUE', 'k': 10, 'epsilon': 0.5}
    >>> to_spec(SMP(GRR, [3, 2], epsilon=0.5))["protocols"]
    [{'protocol': 'GRR', 'k': 3, 'epsilon': 0.5}, {'protocol': 'GRR', 'k': 2, 'epsilon': 0.5}]
    """
    for each in (mechanism, *getattr(mechanism, "protocols", ())):
        if (PROTOCOLS | SOLUTIONS).get(type(each).__name__) is not type(each):
            raise ValueError(
                f"protocol {validate.quote(each)} is not in the registry, so it has no spec"
            )
    return {"version": VERSION, **mechanism._fields()}


def from_spec(spec: dict[str, Any]) -> Any:
    """Return the protocol or solution of a spec.

    An unknown name, field or version is a ValueError, a value of the wrong type a TypeError.

    >>> from_spec({"version": 1, "protocol": "GRR", "k": 4, "epsilon": 1.0})
    GRR(k=4, epsilon=1.0)
    """
    if not isinstance(spec, dict):
        raise TypeError(f"spec must be a dict, not {validate.quote(spec)}")
    if type(spec.get("version")) is not int or spec["version"] != VERSION:
        raise ValueError(
            f"spec must have version {VERSION}, not {validate.quote(spec.get('version'))}"
        )
    given = {name: each for name, each in spec.items() if name != "version"}
    name = given.get("protocol")
    if not isinstance(name, str) or name not in SOLUTIONS:
        return PROTOCOLS[_name(given, PROTOCOLS | SOLUTIONS)](**_fields(given, PROTOCOLS))
    fields = _fields(given, SOLUTIONS)
    if isinstance(fields["protocols"], list):
        validate.record_size("protocols", len(fields["protocols"]))
    if not isinstance(fields["protocols"], list) or not all(
        isinstance(each, dict) for each in fields["protocols"]
    ):
        raise TypeError(
            f"protocols must be a list of specs, not {validate.quote(fields['protocols'])}"
        )
    protocols = [
        PROTOCOLS[_name(each, PROTOCOLS)](**_fields(each, PROTOCOLS))
        for each in fields.pop("protocols")
    ]
    return SOLUTIONS[name].of(protocols, **fields)


Tally._specs = Specs(to_spec, from_spec)


def _name(spec: dict[str, Any], among: dict[str, Any]) -> str:
    name = spec.get("protocol")
    if not isinstance(name, str) or name not in among:
        raise ValueError(f"protocol must be one of {', '.join(among)}, not {validate.quote(name)}")
    return name


def _fields(spec: dict[str, Any], classes: dict[str, Any]) -> dict[str, Any]:
    name = _name(spec, classes)
    fields = {field.name for field in dataclasses.fields(classes[name])}
    given = {field: each for field, each in spec.items() if field != "protocol"}
    if set(given) != fields:
        raise ValueError(
            f"spec of {name} must have the fields {sorted(fields)}, not"
            f" {validate.quote(sorted(map(str, given)))}"
        )
    return given
