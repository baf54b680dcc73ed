"""The protocol that the paper's parameter ``optimal`` chooses."""

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
    """Return the factory of unary encoding.

    Parameters
    ----------
    optimal : bool
        True for OUE, False for SUE.

    Returns
    -------
    type
        ``OUE`` or ``SUE``.

    Raises
    ------
    TypeError
        If ``optimal`` is no truth value.
    """
    return OUE if validate.flag("optimal", optimal) else SUE


def choose_hashing(optimal: bool) -> Any:
    """Return the factory of local hashing.

    Parameters
    ----------
    optimal : bool
        True for OLH, False for BLH.

    Returns
    -------
    type
        ``OLH`` or ``BLH``.

    Raises
    ------
    TypeError
        If ``optimal`` is no truth value.
    """
    return OLH if validate.flag("optimal", optimal) else BLH


def choose_lasting_hashing(optimal: bool) -> Any:
    """Return the factory of two rounds of local hashing.

    Parameters
    ----------
    optimal : bool
        True for L-OLH, False for L-BLH.

    Returns
    -------
    type
        ``LOLH`` or ``LBLH``.

    Raises
    ------
    TypeError
        If ``optimal`` is no truth value.
    """
    return LOLH if validate.flag("optimal", optimal) else LBLH


def choose_adaptive(optimal: bool) -> Any:
    """Return the factory of the adaptive choice.

    It is ``best``, which takes the protocol with the least variance at frequency 0.

    Parameters
    ----------
    optimal : bool
        True to choose between GRR and OUE, False to choose between GRR and SUE.

    Returns
    -------
    callable
        Makes a protocol from the domain size and the budget.

    Raises
    ------
    TypeError
        If ``optimal`` is no truth value.
    """
    return _ADP[choose_unary(optimal)]
