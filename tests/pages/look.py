"""Pages in Chromium: what they show, ask for, say in the console, and send."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

PHONE, TABLET, DESK = 375, 768, 1440
NARROW = 320  # a desk of 1280 pixels at a zoom of 400 %
HEIGHT = 900
ZOOM = 2


@dataclass
class Look:
    """A tab, with all that it asked for, sent and complained about.

    ``expected`` has parts of messages of the console that a test provokes, such as lost
    connections.
    """

    context: "BrowserContext"
    origin: str
    expected: tuple[str, ...] = ()
    asked: list[Any] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open a tab and listen to it."""
        self.page: Any = self.context.new_page()
        self.page.on("request", lambda request: self.asked.append(request))
        self.page.on(
            "console",
            lambda message: (
                self.said.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, path: str) -> "Look":
        """Load a page, and wait until it shows its first content."""
        self.page.goto(self.origin + path, wait_until="load")
        self.page.locator("main[data-ready]").wait_for()
        return self

    def text(self) -> str:
        """Return the visible text of the page."""
        shown: str = self.page.locator("body").inner_text()
        return shown

    def bodies(self) -> list[tuple[str, bytes]]:
        """Return the paths and the bodies of all submissions of this tab."""
        return [
            (each.url.removeprefix(self.origin), each.post_data_buffer)
            for each in self.asked
            if each.method == "POST" and each.url.endswith("/reports")
        ]

    def check(self) -> None:
        """Hold the tab to its own origin, to the policy, and to a silent console."""
        foreign = [each.url for each in self.asked if not self._is_own(each.url)]
        assert not foreign, foreign
        wrong = [each for each in self.said if not any(part in each for part in self.expected)]
        assert not wrong, wrong

    def _is_own(self, url: str) -> bool:
        return url.startswith((self.origin + "/", f"blob:{self.origin}/"))

    def check_clear(self, answers: Iterable[str]) -> None:
        """Check that no request of this tab has one of these texts, in any part."""
        for request in self.asked:
            parts = [request.url.encode(), str(request.headers).encode()]
            parts.append(request.post_data_buffer or b"")
            for answer in answers:
                assert all(answer.encode() not in part for part in parts), (request.url, answer)

    def check_width(self) -> None:
        """Check that the page as it is shown now does not scroll sideways."""
        wide = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, f"{wide} pixels too wide at {self.page.viewport_size}"

    def check_layout(self) -> None:
        """Hold the page as it is shown now to accessibility, without scrolling sideways."""
        self.check_width()
        results = Axe().run(self.page)
        assert results.violations_count == 0, results.generate_report()

    def check_all_layouts(self) -> None:
        """Check the layout on phones and desks, light and dark, and enlarged."""
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        for width in (NARROW, TABLET, DESK // ZOOM):
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.check_width()
        for width, scheme in ((PHONE, "light"), (PHONE, "dark"), (DESK, "dark"), (DESK, "light")):
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.check_layout()
        self.page.set_viewport_size({"width": PHONE, "height": HEIGHT})
