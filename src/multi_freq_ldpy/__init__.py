"""Frequency estimation under local differential privacy.

One short class a protocol, exact guarantees, errors on every estimate.
"""

from typing import TYPE_CHECKING, Any

from . import datasets, exact, registry, wire
from .adaptive import best
from .core.channel import Affine, Channel
from .core.privacy import Privacy
from .core.randomness import Stream
from .core.tally import Tally
from .estimation.estimate import Difference, Estimate
from .estimation.several import Estimates, Rounds
from .longitudinal.chains import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE
from .longitudinal.client import Client
from .longitudinal.dbitflip import DBitFlipPM
from .longitudinal.ledger import LimitReached
from .longitudinal.panel import Panel, over_rounds
from .protocol import Protocol
from .protocols.grr import GRR
from .protocols.hashing import BLH, OLH
from .protocols.histogram import SHE
from .protocols.subset import SS
from .protocols.unary import OUE, SUE, THE
from .solutions.rsfd import RSFD
from .solutions.smp import SMP
from .solutions.spl import SPL
from .survey import Survey

if TYPE_CHECKING:
    from . import checks
    from .analysis.auditing import Audit, audit
    from .analysis.poisoning import Influence, influence
    from .analysis.worst_case import exact_epsilon
    from .studies.comparison import Comparison, compare
    from .studies.planning import epsilon_for, recommend, sample_size

__version__ = "1.0.0.dev0"

__all__ = [
    "BLH",
    "GRR",
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
    "Channel",
    "Client",
    "Comparison",
    "DBitFlipPM",
    "Difference",
    "Estimate",
    "Estimates",
    "Influence",
    "LimitReached",
    "Panel",
    "Privacy",
    "Protocol",
    "Rounds",
    "Stream",
    "Survey",
    "Tally",
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


_LAZY = {
    "Audit": "analysis.auditing",
    "audit": "analysis.auditing",
    "Influence": "analysis.poisoning",
    "influence": "analysis.poisoning",
    "exact_epsilon": "analysis.worst_case",
    "Comparison": "studies.comparison",
    "compare": "studies.comparison",
    "epsilon_for": "studies.planning",
    "recommend": "studies.planning",
    "sample_size": "studies.planning",
}
"""Names that are imported when they are asked for: devices and aggregators never do."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "checks":
        return import_module(".checks", __name__)
    if name in _LAZY:
        globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
