"""Choosing the protocol of least variance."""

from collections.abc import Callable, Sequence
from typing import Any

from .core.channel import Channel
from .longitudinal.chains import LGRR, LOSUE
from .protocol import Protocol, build_protocol
from .protocols.grr import GRR
from .protocols.unary import OUE


def best(
    k: int,
    *budgets: float,
    of: Sequence[Callable[..., Any]] | None = None,
    channel: Callable[[Protocol], Channel] | None = None,
) -> Protocol:
    """Return the protocol of least variance at f = 0 for this domain and budget, among the
    factories in ``of``.

    By default among GRR and OUE, as the paper's ADP does, or for two budgets (eps_perm, eps_1)
    among LGRR and LOSUE, as its L-ADP does. Candidates that cannot be realised with these
    parameters are left out, as long as one can. ``channel`` says how the aggregator sees a
    candidate, where that is not the candidate's own channel. The first of equals wins.

    >>> best(4, 1.0)
    GRR(k=4, epsilon=1.0)
    >>> best(40, 1.0)
    OUE(k=40, epsilon=1.0)
    >>> best(40, 2.0, 1.0)
    LOSUE(k=40, eps_perm=2.0, eps_1=1.0)
    """
    if of is None:
        if len(budgets) not in (1, 2):
            raise TypeError(
                "best takes one budget (epsilon) or two (eps_perm, eps_1) by default, not"
                f" {len(budgets)}: {budgets!r}"
            )
        of = (GRR, OUE) if len(budgets) == 1 else (LGRR, LOSUE)
    if not isinstance(of, Sequence) or isinstance(of, str) or not all(map(callable, of)):
        raise TypeError(f"of must be a sequence of protocols or factories, not {of!r}")
    if not of:
        raise ValueError(f"of must name at least one protocol, not {of!r}")
    candidates, refused = [], None
    for factory in of:
        try:
            candidates.append(build_protocol(factory, k, budgets))
        except ValueError as error:
            refused = refused or error
    if not candidates and refused is not None:
        raise refused

    def variance(protocol: Protocol) -> float:
        return float((channel(protocol) if channel else protocol.channel).variance(1))

    return min(candidates, key=variance)
