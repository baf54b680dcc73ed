"""Numbers that a spec determines: label, length of a report, weights and losses."""

from math import isinf
from typing import Any

from multi_freq_ldpy import SHE, SS, THE
from multi_freq_ldpy.longitudinal.history import History
from multi_freq_ldpy.longitudinal.memoized import Chain
from multi_freq_ldpy.solutions.base import Solution


def derive(mechanism: Any) -> dict[str, Any]:
    """Return the label, the length of a report and all integers that the draws compare with."""
    timed = mechanism.rounds is not None
    found: dict[str, Any] = {
        "label": mechanism._label.decode(),
        "bytes": (mechanism.at(0) if timed else mechanism).report_bytes,
    }
    if isinstance(mechanism, History):
        return found
    if isinstance(mechanism, Solution):
        found["parts"] = [derive(each) for each in mechanism.protocols]
        if weights := getattr(mechanism, "weights", None):
            found["weights"] = list(map(str, weights))
        return found
    first = mechanism.permanent if isinstance(mechanism, Chain) else mechanism
    single = isinstance(mechanism, SS | SHE)
    found["weights"] = list(map(str, [first.weight] if single else first.weights))
    for name in ("g", "prime", "omega"):
        if hasattr(mechanism, name):
            found[name] = getattr(mechanism, name)
    if isinstance(mechanism, THE):
        found["threshold"] = str(int(mechanism.threshold * 2**32))
    if isinstance(mechanism, Chain):
        found["second"] = list(map(str, mechanism.second))
    return found


def losses(mechanism: Any) -> list[float | None]:
    """Return the privacy losses, with None for infinity.

    The last loss, that of whole histories, is for mechanisms with rounds.
    """
    privacy = mechanism.privacy
    found = [
        privacy.report,
        privacy.lifetime,
        privacy.report_attribute,
        privacy.lifetime_attribute,
    ]
    if mechanism.rounds is not None:
        found.append(privacy.history)
    return [None if isinf(each) else each for each in found]
