"""What the tests proved, in numbers, at the end of a run."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


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
