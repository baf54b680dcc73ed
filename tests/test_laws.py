"""Every protocol and every solution keeps every law."""

from collections.abc import Callable

import pytest
from cases import EVERY, SMALL, SMALL_SOLUTIONS

from multi_freq_ldpy import SHE, checks
from multi_freq_ldpy.checks.tools import laws_of
from multi_freq_ldpy.mechanism import Mechanism

ENUMERATED = {"moments", "privacy", "lifetime", "fit"}


@pytest.mark.parametrize("law", checks.LAWS)
@pytest.mark.parametrize("subject", EVERY, ids=repr)
def test_law(subject: Mechanism, law: str, proved: Callable[[str, int], None]) -> None:
    try:
        checks.check_law(law, subject)
        proved("laws held by a protocol or solution with its parameters", 1)
        if law == "privacy" and not hasattr(subject, "log_law"):
            proved("settings enumerated: all reports, all pairs of inputs", 1)
            proved("pairs of a report and an input in them", sum(map(len, laws_of(subject))))
    except checks.NotApplicable:
        # Only enumeration may not apply: where reports are unbounded (SHE) or too many (large domains)
        assert law in ENUMERATED
        unbounded = any(isinstance(each, SHE) for each in getattr(subject, "protocols", [subject]))
        assert unbounded or subject not in SMALL + SMALL_SOLUTIONS
