"""The suite rejects every planted fault, by the law that names it."""

from collections.abc import Callable

import pytest
from faults import FAULTS

from multi_freq_ldpy import checks
from multi_freq_ldpy.mechanism import Mechanism


@pytest.mark.parametrize(("protocol", "law"), FAULTS, ids=lambda x: repr(x))
def test_fault_is_rejected(protocol: Mechanism, law: str, proved: Callable[[str, int], None]) -> None:
    with pytest.raises(checks.LawBroken) as broken:
        checks.check_law(law, protocol)
    assert broken.value.law == law
    assert isinstance(broken.value.__cause__, AssertionError), "rejected by the law itself, not by an accident on the way"
    with pytest.raises(checks.LawBroken):
        checks.check_protocol(protocol)
    proved("planted faults rejected by the law that names them", 1)
