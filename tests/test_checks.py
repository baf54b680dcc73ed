"""Tests that run every check on every protocol and every solution."""

from collections.abc import Callable

import pytest

from multi_freq_ldpy import SHE, checks
from multi_freq_ldpy.analysis.worst_case import tabulate
from multi_freq_ldpy.checks.tools import listed
from multi_freq_ldpy.mechanism import Mechanism

from .cases import EVERY, SMALL, SMALL_SOLUTIONS

ENUMERATED = {"moments", "privacy", "lifetime", "fit"}
STATISTICAL = {"fit", "unbiased", "variance", "coverage", "rounds"}
MARKED = [
    pytest.param(name, marks=[pytest.mark.statistical] * (name in STATISTICAL))
    for name in checks.checks_of(EVERY[0])
]


@pytest.mark.parametrize("check", MARKED)
@pytest.mark.parametrize("mechanism", EVERY, ids=repr)
def test_check(mechanism: Mechanism, check: str, proved: Callable[[str, int], None]) -> None:
    try:
        checks.run_check(check, mechanism)
        proved("checks passed by mechanisms", 1)
        if check == "privacy" and not hasattr(mechanism, "log_law"):
            proved("mechanisms enumerated: all reports and all pairs of inputs", 1)
            proved(
                "pairs of a report and an input enumerated", listed(tabulate, mechanism).levels.size
            )
    except checks.NotApplicable:
        # Only enumeration may be not applicable, and intervals from unknown distributions
        known = all(seen.channel.known_law for seen, _ in mechanism.parts)
        assert check in ENUMERATED or (check == "coverage" and not known)
        unbounded = any(isinstance(each, SHE) for each in mechanism.leaves)
        assert unbounded or mechanism not in SMALL + SMALL_SOLUTIONS
