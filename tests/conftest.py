"""Fixtures, and a summary at the end of a run: the numbers of cases that the tests covered."""

import os
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from multi_freq_ldpy.core import draws

WAYS = ["always", "never"] if find_spec("numba") else ["never"]
"""Settings of the draws: always compiled, or never."""

os.environ.setdefault(draws.VARIABLE, WAYS[0])


@pytest.fixture(params=WAYS, ids={"always": "compiled", "never": "plain"}.get)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test twice: with compiled kernels, and with NumPy alone."""
    monkeypatch.setenv(draws.VARIABLE, request.param)
    monkeypatch.setattr(draws, "_chosen", {})


@pytest.fixture
def proved(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Return a function that counts the cases of a test.

    If the test passes, the summary contains the numbers.
    """
    return lambda what, many: request.node.user_properties.append((what, many))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the numbers of cases that were covered by the tests that passed."""
    total: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", ()):
        total.update({name: many for name, many in report.user_properties if isinstance(many, int)})
    if total:
        terminalreporter.section("covered by the tests that passed")
        for what, many in total.items():
            terminalreporter.write_line(f"{many:>15,} {what}")
