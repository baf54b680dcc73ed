"""Which protocol the paper's ``optimal`` chooses."""

from functools import partial
from typing import Any

from ..adaptive import best
from ..core import validate
from ..longitudinal.chains import LBLH, LOLH
from ..protocols.grr import GRR
from ..protocols.hashing import BLH, OLH
from ..protocols.unary import OUE, SUE

_ADP = {better: partial(best, of=(GRR, better)) for better in (OUE, SUE)}


def choose_unary(optimal: bool) -> Any:
    """Return the factory of unary encoding: OUE, or SUE."""
    return OUE if validate.flag("optimal", optimal) else SUE


def choose_hashing(optimal: bool) -> Any:
    """Return the factory of local hashing: OLH, or BLH."""
    return OLH if validate.flag("optimal", optimal) else BLH


def choose_lasting_hashing(optimal: bool) -> Any:
    """Return the factory of two rounds of local hashing: L-OLH, or L-BLH."""
    return LOLH if validate.flag("optimal", optimal) else LBLH


def choose_adaptive(optimal: bool) -> Any:
    """Return the factory of the adaptive choice."""
    return _ADP[choose_unary(optimal)]
