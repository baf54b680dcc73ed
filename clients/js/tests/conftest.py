"""Chromium for the tests of the JavaScript client, and pages whose requests are recorded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.chromium import browser as browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture
def context(browser: "Browser") -> Iterator["BrowserContext"]:
    """A new profile of the browser, with an empty storage."""
    made = browser.new_context()
    yield made
    made.close()
