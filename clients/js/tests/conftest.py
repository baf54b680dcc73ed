"""Chromium for the tests of the JavaScript client, and pages whose requests are recorded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tools.browser import MISSING, find_chromium, start_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    if not find_chromium():
        pytest.exit(MISSING, 1)
    with start_chromium() as started:
        yield started


@pytest.fixture
def context(browser: "Browser") -> Iterator["BrowserContext"]:
    """A new profile of the browser, with an empty storage."""
    made = browser.new_context()
    yield made
    made.close()
