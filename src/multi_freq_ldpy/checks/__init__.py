"""The checks that every protocol and every solution passes.

They work for mechanisms of this package and for mechanisms written elsewhere. Statistical checks
use fixed seeds, and reject at six standard deviations or more.
"""

from collections.abc import Callable
from typing import Any

from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_mechanism
from . import behaviour, enumeration, histories, statistics
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
    "whole_histories": histories.whole_histories,
    "missed_rounds": histories.missed_rounds,
    "told_means": histories.told_means,
    "round_by_round": histories.round_by_round,
    "bad_histories": histories.bad_histories,
    "round_encoding": histories.round_encoding,
    "counted": histories.counted,
    "over_time": histories.over_time,
}
OF_EVERYTHING = {"bad_parameters", "equality", "spec", "documented"}
"""Checks that apply both to mechanisms of single reports and to those of whole histories."""

OF_HISTORIES = OF_EVERYTHING | {
    name for name in CHECKS if CHECKS[name].__module__ == histories.__name__
}
"""Checks that apply to mechanisms of whole histories."""


LAWS = CHECKS
"""The old name of ``CHECKS``."""


class CheckFailed(AssertionError):
    """The error for a mechanism that fails a check.

    Its attribute ``check`` is the name of the check, and ``law`` is the old name of this attribute.
    The last line of the message is a command that repeats the check.

    Parameters
    ----------
    check : str
        Name of the check.
    mechanism : protocol or solution
        The mechanism that fails.
    why : str
        The reason.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, checks
    >>> failed = checks.CheckFailed("fit", GRR(3, epsilon=1.0), "chi-square is 50")
    >>> failed.check, str(failed).splitlines()[0]
    ('fit', "GRR(k=3, epsilon=1.0) fails the check 'fit': chi-square is 50")
    """

    def __init__(self, check: str, mechanism: object, why: str) -> None:
        repeat = repeat_command(check, mechanism)
        super().__init__(f"{mechanism!r} fails the check {check!r}: {why}\n{repeat}")
        self.check = self.law = check


LawBroken = CheckFailed
"""The old name of ``CheckFailed``."""


@accept_old_names(protocol="mechanism")
def check_protocol(mechanism: Mechanism) -> dict[str, str]:
    """Run every check on a protocol or solution.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism to check.

    Returns
    -------
    dict of str to str
        The result of each check by name: "holds", or "not applicable: " and the reason.

    Raises
    ------
    CheckFailed
        If a check fails. The first check that fails raises it. It is an AssertionError.
    TypeError
        If ``mechanism`` is not a protocol or solution.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, checks
    >>> found = checks.check_protocol(GRR(3, epsilon=1.0))
    >>> set(found.values())
    {'holds'}
    """
    found = {}
    require_mechanism(mechanism)
    for name in checks_of(mechanism):
        try:
            run_check(name, mechanism)
            found[name] = "holds"
        except NotApplicable as reason:
            found[name] = f"not applicable: {reason}"
    return found


def checks_of(mechanism: Mechanism) -> list[str]:
    """Return the names of the checks for a mechanism of single reports, or of whole histories.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism to check.

    Returns
    -------
    list of str
        Keys of ``CHECKS``, in their order.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, Once, checks
    >>> [len(checks.checks_of(each)) for each in (GRR(3, 1.0), Once(3, 1.0, rounds=4))]
    [20, 12]
    """
    over_time = mechanism.rounds is not None
    only = OF_HISTORIES - OF_EVERYTHING
    return [name for name in CHECKS if (name in OF_HISTORIES if over_time else name not in only)]


@accept_old_names(protocol="mechanism")
def run_check(name: str, mechanism: Mechanism) -> None:
    """Run one check on a protocol or solution.

    Parameters
    ----------
    name : str
        Name of the check, a key of ``CHECKS``.
    mechanism : protocol or solution
        The mechanism to check.

    Raises
    ------
    CheckFailed
        If the mechanism fails the check. It is an AssertionError.
    NotApplicable
        If the check does not apply to this mechanism.
    ValueError
        If there is no check of this name.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, checks
    >>> checks.run_check("privacy", GRR(3, epsilon=1.0))
    >>> sorted(checks.CHECKS)[:4]
    ['bad_histories', 'bad_parameters', 'bad_values', 'batches']
    """
    if name not in CHECKS:
        raise ValueError(f"name must be one of {', '.join(CHECKS)}, not {name!r}")
    if mechanism.rounds is not None and name not in OF_HISTORIES:
        raise NotApplicable("it protects whole histories, which other checks enumerate")
    try:
        CHECKS[name](mechanism)
    except (NotApplicable, CheckFailed, MemoryError):
        raise
    except Exception as error:
        raise CheckFailed(name, mechanism, f"{type(error).__name__}: {error}") from error


check_law = run_check
"""The old name of ``run_check``."""
