"""The laws that every protocol and every solution keeps.

For those of this package and for those written elsewhere.

Statistical laws use fixed seeds and reject beyond six standard deviations.
"""

from collections.abc import Callable
from typing import Any

from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_mechanism
from . import behaviour, enumeration, statistics
from .tools import NotApplicable as NotApplicable
from .tools import repeat_command

CHECKS: dict[str, Callable[[Any], None]] = {
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


LAWS = CHECKS
"""The old name of ``CHECKS``."""


class CheckFailed(AssertionError):
    """A mechanism fails a check.

    ``check`` is its name, ``law`` the same by its old name; the last line of the message repeats
    it.
    """

    def __init__(self, check: str, mechanism: object, why: str) -> None:
        repeat = repeat_command(check, mechanism)
        super().__init__(f"{mechanism!r} fails the check {check!r}: {why}\n{repeat}")
        self.check = self.law = check


LawBroken = CheckFailed
"""The old name of ``CheckFailed``."""


@accept_old_names(protocol="mechanism")
def check_protocol(mechanism: Mechanism) -> dict[str, str]:
    """Run every check on a protocol or solution; return what each found.

    The first check that fails raises ``CheckFailed``.

    >>> from multi_freq_ldpy import GRR
    >>> found = check_protocol(GRR(3, epsilon=1.0))
    >>> set(found.values())
    {'holds'}
    """
    found = {}
    require_mechanism(mechanism)
    for name in CHECKS:
        try:
            run_check(name, mechanism)
            found[name] = "holds"
        except NotApplicable as reason:
            found[name] = f"not applicable: {reason}"
    return found


@accept_old_names(protocol="mechanism")
def run_check(name: str, mechanism: Mechanism) -> None:
    """Run one check on a protocol or solution."""
    if name not in CHECKS:
        raise ValueError(f"name must be one of {', '.join(CHECKS)}, not {name!r}")
    try:
        CHECKS[name](mechanism)
    except (NotApplicable, CheckFailed, MemoryError):
        raise
    except Exception as error:
        raise CheckFailed(name, mechanism, f"{type(error).__name__}: {error}") from error


check_law = run_check
"""The old name of ``run_check``."""
