"""Choosing the protocol of least variance."""

from collections.abc import Callable, Sequence
from typing import Any

from ..channel import Channel
from ..protocol import Protocol
from .grr import GRR
from .unary import OUE


def best(
    k: int,
    *budgets: float,
    of: Sequence[Callable[..., Any]] | None = None,
    channel: Callable[[Any], Channel] | None = None,
) -> Any:
    """Return the protocol of least variance at f = 0 for this domain and budget, among the factories in ``of``.

    By default among GRR and OUE, as the paper's ADP does. ``channel`` says how the aggregator sees a candidate, where that is
    not the candidate's own channel. The first of equals wins.

    >>> best(4, 1.0)
    GRR(k=4, epsilon=1.0)
    >>> best(40, 1.0)
    OUE(k=40, epsilon=1.0)
    """
    if of is None:
        if len(budgets) != 1:
            raise TypeError(f"best takes one budget by default, not {len(budgets)}: {budgets!r}")
        of = (GRR, OUE)
    if not isinstance(of, Sequence) or isinstance(of, str) or not all(map(callable, of)):
        raise TypeError(f"of must be a sequence of protocols or factories, not {of!r}")
    candidates = [factory(k, *budgets) for factory in of]
    if not candidates:
        raise ValueError(f"of must name at least one protocol, not {of!r}")

    def variance(protocol: Protocol) -> float:
        return float((channel(protocol) if channel else protocol.channel).variance(1))

    return min(candidates, key=variance)
