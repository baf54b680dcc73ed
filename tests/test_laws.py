"""Every protocol keeps every law."""

import pytest
from cases import CASES, SMALL

from multi_freq_ldpy import SHE, checks
from multi_freq_ldpy.protocol import Protocol

ENUMERATED = {"moments", "privacy", "fit"}


@pytest.mark.parametrize("law", checks.LAWS)
@pytest.mark.parametrize("protocol", CASES, ids=repr)
def test_law(protocol: Protocol, law: str) -> None:
    try:
        checks.check_law(law, protocol)
    except checks.NotApplicable:
        # Only enumeration may not apply: where reports are unbounded (SHE) or too many (large domains)
        assert law in ENUMERATED
        assert isinstance(protocol, SHE) or protocol not in SMALL
