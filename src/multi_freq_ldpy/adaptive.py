"""Choice of the protocol of least variance."""

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
    """Return the protocol of least variance at f = 0 for a domain and budgets.

    By default the candidates are GRR and OUE, as for ADP in the paper. For two budgets they are
    LGRR and LOSUE, as for L-ADP in the paper. To rank all protocols use ``recommend``, and to
    measure their errors on data use ``compare``.

    A candidate that cannot be realised with these parameters is left out. If two candidates have
    the same variance, the first one is returned.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    *budgets : float
        The budgets of each protocol: ``epsilon``, or ``eps_perm`` and ``eps_1``.
    of : sequence of callables, optional
        Protocol classes or factories to choose from. None means the default candidates.
    channel : callable, optional
        Function from a candidate to the channel that the aggregator sees. None means the
        candidate's own channel.

    Returns
    -------
    Protocol
        The candidate of least variance.

    Raises
    ------
    TypeError
        If the number of budgets does not fit the candidates, or if ``of`` is not a sequence of
        callables.
    ValueError
        If ``of`` is empty, or if no candidate can be realised.

    Examples
    --------
    >>> from multi_freq_ldpy import best
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
