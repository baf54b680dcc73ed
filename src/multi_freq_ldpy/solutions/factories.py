"""Building the protocols of a solution from one factory, or from one factory per attribute."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, TypeAlias

from ..core import validate
from ..core.channel import Channel
from ..mechanism import Mechanism
from ..protocol import Protocol, build_protocol

Factory: TypeAlias = Callable[..., Mechanism]


def _takes_channel(factory: Factory) -> bool:
    try:
        return "channel" in signature(factory).parameters
    except ValueError:  # some callables written in C have no signature
        return False


def resolve_factories(
    factory: Factory | Sequence[Factory],
    ks: tuple[int, ...],
    budgets: dict[str, float],
    named: bool,
    options: dict[str, Any],
    channel: Callable[[Protocol], Channel] | None = None,
) -> tuple[Mechanism, ...]:
    """Return the protocols of the attributes, made by the factories and checked.

    ``channel`` is passed to the factories that have a parameter of this name. It gives the channel
    under which the aggregator sees a protocol.
    """
    d = len(ks)
    factories = list(factory) if isinstance(factory, list | tuple) else [factory] * d
    if len(factories) != d:
        raise ValueError(
            f"factory must be one factory, or a list of d={d} factories, one per attribute, not of"
            f" {len(factories)}: {validate.quote(factory)}"
        )
    protocols: list[Mechanism] = []
    known: dict[Any, Any] = {}  # a class makes equal protocols for equal domains: make each once
    for j, (make, k) in enumerate(zip(factories, ks, strict=True)):
        if not callable(make):
            raise TypeError(
                f"factory must be a protocol class or another callable, not {validate.quote(make)}"
            )
        reusable = isinstance(make, type) and not options
        own = {
            name: each[j] if isinstance(each, list) and len(each) == d else each
            for name, each in options.items()
        }
        if channel is not None and _takes_channel(make):
            own["channel"] = channel
        try:
            protocol: Any = (reusable and known.get((make, k))) or build_protocol(
                make, k, [*budgets.values()], [*budgets] if named else (), **own
            )
        except (ValueError, TypeError) as error:
            raise type(error)(f"factory for attribute {j} of k={k}: {error}") from None
        if not isinstance(protocol, Mechanism) or protocol.ks != (k,):
            raise TypeError(
                f"factory must give a protocol of k={k} for attribute {j}, not"
                f" {validate.quote(protocol)}"
            )
        protocols.append(protocol)
        if reusable:
            known[make, k] = protocol
    return tuple(protocols)
