"""Chromium and a service for the tests of the pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chromium import browser as browser
from tests.service.harness import Server, serving

from .look import HEIGHT, PHONE, Look

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service in a process of its own, with an empty SQLite file."""
    folder: Path = tmp_path_factory.mktemp("pages")
    with serving(f"sqlite:///{folder}/service.sqlite") as made:
        yield made


def _open_profile(browser: "Browser", **options: Any) -> "BrowserContext":
    made = browser.new_context(viewport={"width": PHONE, "height": HEIGHT}, **options)
    made.set_default_timeout(30_000)
    return made


@pytest.fixture
def profiles(browser: "Browser") -> Iterator[Callable[..., "BrowserContext"]]:
    """A function that makes a new profile, as another person on another phone has it."""
    made: list[BrowserContext] = []

    def make(**options: Any) -> "BrowserContext":
        made.append(_open_profile(browser, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def shared(browser: "Browser") -> Iterator[Callable[..., "BrowserContext"]]:
    """A function that returns a profile for all tests, for pages that keep all in their tab.

    A new profile costs half of a short test.
    """
    made: dict[str, BrowserContext] = {}

    def find(motion: str) -> "BrowserContext":
        if motion not in made:
            made[motion] = _open_profile(browser, reduced_motion=motion)
        return made[motion]

    yield find
    for each in made.values():
        each.close()


@pytest.fixture
def look(shared: Callable[..., "BrowserContext"], server: Server) -> Iterator[Look]:
    """A tab at the service, of an analyst or a learner."""
    found = Look(shared("no-preference"), f"http://127.0.0.1:{server.port}")
    yield found
    found.page.close()


@pytest.fixture
def visit(profiles: Callable[..., "BrowserContext"], server: Server) -> Callable[..., Look]:
    """A function that opens a tab of a new profile, or of the given one."""

    def open_tab(context: Any = None, expected: tuple[str, ...] = ()) -> Look:
        origin = f"http://127.0.0.1:{server.port}"
        return Look(profiles() if context is None else context, origin, expected)

    return open_tab


@pytest.fixture
def still(shared: Callable[..., "BrowserContext"], server: Server) -> Iterator[Look]:
    """A tab of a person who wants no movement: a run is computed at once."""
    found = Look(shared("reduce"), f"http://127.0.0.1:{server.port}")
    yield found
    found.page.close()
