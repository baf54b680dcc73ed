"""Frequency estimation under local differential privacy.

There is one short class per protocol. Privacy guarantees are exact, and every estimate has errors.
"""

from typing import TYPE_CHECKING, Any

from .core.tally import Specs, Tally

if TYPE_CHECKING:
    from . import checks, datasets, exact, registry, wire
    from .adaptive import best
    from .analysis.auditing import Audit, audit
    from .analysis.poisoning import Influence, influence
    from .analysis.worst_case import exact_epsilon
    from .core.channel import Affine, Channel
    from .core.privacy import Privacy
    from .core.randomness import Stream
    from .estimation.differences import Difference, Differences
    from .estimation.estimate import Estimate
    from .estimation.several import Estimates, Rounds
    from .longitudinal.chains import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE
    from .longitudinal.client import Client
    from .longitudinal.dbitflip import DBitFlipPM
    from .longitudinal.history import History
    from .longitudinal.ledger import LimitReached
    from .longitudinal.once import Once
    from .longitudinal.panel import Panel, over_rounds
    from .longitudinal.steps import Steps
    from .longitudinal.thresh import Thresh
    from .longitudinal.trees import DDRM, Tree
    from .mechanism import Mechanism
    from .protocol import Protocol
    from .protocols.bloom import Bloom
    from .protocols.grr import GRR
    from .protocols.hadamard import HR
    from .protocols.hashing import BLH, OLH
    from .protocols.histogram import SHE
    from .protocols.subset import SS
    from .protocols.unary import OUE, SUE, THE
    from .sender import Sender
    from .solutions.rsfd import RSFD
    from .solutions.smp import SMP
    from .solutions.spl import SPL
    from .studies.comparison import Comparison, compare
    from .studies.planning import epsilon_for, recommend, sample_size
    from .survey import Survey

__version__ = "1.0.0.dev0"

__all__ = [
    "BLH",
    "DDRM",
    "GRR",
    "HR",
    "LBLH",
    "LGRR",
    "LOLH",
    "LOSUE",
    "LOUE",
    "LSOUE",
    "LSUE",
    "OLH",
    "OUE",
    "RSFD",
    "SHE",
    "SMP",
    "SPL",
    "SS",
    "SUE",
    "THE",
    "Affine",
    "Audit",
    "Bloom",
    "Channel",
    "Client",
    "Comparison",
    "DBitFlipPM",
    "Difference",
    "Differences",
    "Estimate",
    "Estimates",
    "History",
    "Influence",
    "LimitReached",
    "Once",
    "Panel",
    "Privacy",
    "Protocol",
    "Rounds",
    "Sender",
    "Steps",
    "Stream",
    "Survey",
    "Tally",
    "Thresh",
    "Tree",
    "audit",
    "best",
    "checks",
    "compare",
    "datasets",
    "epsilon_for",
    "exact",
    "exact_epsilon",
    "influence",
    "over_rounds",
    "recommend",
    "registry",
    "sample_size",
    "wire",
]

_HOMES = {
    "": "checks datasets exact registry wire",
    "adaptive": "best",
    "analysis.auditing": "Audit audit",
    "analysis.poisoning": "Influence influence",
    "analysis.worst_case": "exact_epsilon",
    "core.channel": "Affine Channel",
    "core.privacy": "Privacy",
    "core.randomness": "Stream",
    "estimation.differences": "Difference Differences",
    "estimation.estimate": "Estimate",
    "estimation.several": "Estimates Rounds",
    "longitudinal.chains": "LBLH LGRR LOLH LOSUE LOUE LSOUE LSUE",
    "longitudinal.client": "Client",
    "longitudinal.dbitflip": "DBitFlipPM",
    "longitudinal.history": "History",
    "longitudinal.ledger": "LimitReached",
    "longitudinal.once": "Once",
    "longitudinal.panel": "Panel over_rounds",
    "longitudinal.steps": "Steps",
    "longitudinal.thresh": "Thresh",
    "longitudinal.trees": "DDRM Tree",
    "protocol": "Protocol",
    "protocols.bloom": "Bloom",
    "protocols.grr": "GRR",
    "protocols.hadamard": "HR",
    "protocols.hashing": "BLH OLH",
    "protocols.histogram": "SHE",
    "protocols.subset": "SS",
    "protocols.unary": "OUE SUE THE",
    "sender": "Sender",
    "solutions.rsfd": "RSFD",
    "solutions.smp": "SMP",
    "solutions.spl": "SPL",
    "studies.comparison": "Comparison compare",
    "studies.planning": "epsilon_for recommend sample_size",
    "survey": "Survey",
}
"""The module of each public name.

A module is imported when one of its names is first used, because a device needs only a few.
"""


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    for home, names in _HOMES.items():
        if name in names.split():
            module = import_module(f".{home or name}", __name__)
            globals()[name] = getattr(module, name) if home else module
            return globals()[name]
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _to_spec(mechanism: "Mechanism") -> dict[str, Any]:
    from .registry import to_spec

    return to_spec(mechanism)


def _from_spec(spec: Any) -> "Mechanism":
    from .registry import from_spec

    return from_spec(spec)


# The registry depends on the tally, so it is imported only when a tally is written or read
Tally._specs = Specs(_to_spec, _from_spec)
