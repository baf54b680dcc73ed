"""The laws that every protocol and every solution keeps: for those of this package and for those written elsewhere.

Statistical laws use fixed seeds and reject beyond six standard deviations.
"""

from collections.abc import Callable
from typing import Any

from ..mechanism import Mechanism
from . import behaviour, enumeration, statistics
from .tools import NotApplicable as NotApplicable
from .tools import repeated

LAWS: dict[str, Callable[[Any], None]] = {
    "integers": behaviour.integers,
    "randomness": behaviour.randomness,
    "batches": behaviour.batches,
    "bad_values": behaviour.bad_values,
    "bad_parameters": behaviour.bad_parameters,
    "equality": behaviour.equality,
    "spec": behaviour.spec,
    "encoding": behaviour.encoding,
    "counting": behaviour.counting,
    "tallies": behaviour.tallies,
    "moments": enumeration.moments,
    "privacy": enumeration.privacy,
    "lifetime": enumeration.lifetime,
    "memory": behaviour.memory,
    "fit": statistics.fit,
    "unbiased": statistics.unbiased,
    "variance": statistics.variance,
    "coverage": statistics.coverage,
    "rounds": statistics.rounds,
    "documented": behaviour.documented,
}


class LawBroken(AssertionError):
    """A protocol breaks a law; ``law`` is its name, and the last line of the message repeats it."""

    def __init__(self, law: str, protocol: object, why: str) -> None:
        super().__init__(f"{protocol!r} breaks the law {law!r}: {why}\n{repeated(law, protocol)}")
        self.law = law


def check_protocol(protocol: Mechanism) -> dict[str, str]:
    """Hold a protocol or solution to every law; return what was found by law, or raise ``LawBroken`` at the first that is broken.

    >>> from multi_freq_ldpy import GRR
    >>> found = check_protocol(GRR(3, epsilon=1.0))
    >>> set(found.values())
    {'holds'}
    """
    found = {}
    for name in LAWS:
        try:
            check_law(name, protocol)
            found[name] = "holds"
        except NotApplicable as reason:
            found[name] = f"not applicable: {reason}"
    return found


def check_law(name: str, protocol: Mechanism) -> None:
    """Hold a protocol or solution to one law."""
    if name not in LAWS:
        raise ValueError(f"name must be one of {', '.join(LAWS)}, not {name!r}")
    try:
        LAWS[name](protocol)
    except (NotApplicable, LawBroken, MemoryError):
        raise
    except Exception as error:
        raise LawBroken(name, protocol, f"{type(error).__name__}: {error}") from error
