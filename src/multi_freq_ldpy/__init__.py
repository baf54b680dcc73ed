"""Frequency estimation under local differential privacy: one short class a protocol, exact guarantees, errors on every estimate."""

from typing import TYPE_CHECKING, Any

from . import datasets, exact, registry, wire
from .auditing import Audit, audit
from .channel import Channel
from .comparison import Comparison, compare
from .estimate import Difference, Estimate
from .estimates import Estimates, Rounds
from .longitudinal.chains import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE
from .longitudinal.client import Client
from .longitudinal.dbitflip import DBitFlipPM
from .longitudinal.ledger import LimitReached
from .longitudinal.panel import Panel, over_rounds
from .planning import epsilon_for, recommend, sample_size
from .poisoning import Influence, influence
from .privacy import Privacy
from .protocol import Protocol
from .protocols.adaptive import best
from .protocols.grr import GRR
from .protocols.hashing import BLH, OLH
from .protocols.histogram import SHE
from .protocols.subset import SS
from .protocols.unary import OUE, SUE, THE
from .randomness import Stream
from .solutions.rsfd import RSFD
from .solutions.smp import SMP
from .solutions.spl import SPL
from .survey import Survey
from .tally import Tally
from .worst_case import exact_epsilon

if TYPE_CHECKING:
    from . import checks

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


def __getattr__(name: str) -> Any:
    """Import ``checks`` when it is asked for: most programs never do."""
    if name == "checks":
        from importlib import import_module

        return import_module(".checks", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
