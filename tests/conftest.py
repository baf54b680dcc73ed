"""What the tests proved, in numbers, at the end of a run."""

import os
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from multi_freq_ldpy.core import draws

WAYS = ["always", "never"] if find_spec("numba") else ["never"]
"""Whether draws are compiled."""

os.environ.setdefault(draws.VARIABLE, WAYS[0])


@pytest.fixture(params=WAYS, ids={"always": "compiled", "never": "plain"}.get)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw in either way: with kernels, and with NumPy alone."""
    monkeypatch.setenv(draws.VARIABLE, request.param)
    monkeypatch.setattr(draws, "_chosen", {})


@pytest.fixture
def proved(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Return a function that counts what a test has gone through.

    It stands in the summary if the test passes.
    """
    return lambda what, many: request.node.user_properties.append((what, many))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was proved by the tests that passed."""
    total: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", ()):
        total.update({name: many for name, many in report.user_properties if isinstance(many, int)})
    if total:
        terminalreporter.section("proved")
        for what, many in total.items():
            terminalreporter.write_line(f"{many:>15,} {what}")
