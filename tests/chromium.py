"""Chromium for tests in a browser. A machine without it fails with one sentence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tools.browser import MISSING, find_chromium, start_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """A browser without a window."""
    if not find_chromium():
        pytest.exit(MISSING, 1)
    with start_chromium() as started:
        yield started
