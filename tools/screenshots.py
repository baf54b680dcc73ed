"""Pictures of the pages of the service, into docs/pictures: ``make screenshots``.

A service of its own, on a temporary file, counts the reports of a simulated population.
"""

import os
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from multi_freq_ldpy import Sender, Survey
from multi_freq_ldpy.service.remote import Remote
from tools.browser import start_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
PHONE = {"width": 390, "height": 900}
DESK = {"width": 1120, "height": 780}
PATIENCE = 60.0
COLOURS = 96
LARGEST = 200_000  # bytes of a picture
NAME = "school-meals"
SHARES = {
    "bread": {"every day": 0.45, "some days": 0.35, "never": 0.2},
    "hungry": {"yes": 0.15, "no": 0.85},
}
ABOUT = {
    "title": "School meals",
    "asker": "The parents' council",
    "purpose": "We decide in June whether the school offers breakfast.",
    "questions": {
        "bread": "How often do you have breakfast before school?",
        "hungry": "Were you hungry in a lesson this week?",
    },
}
PEOPLE = 3000


@contextmanager
def serve(token: str) -> Iterator[str]:
    """Run a service on a temporary SQLite file; yield its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "from multi_freq_ldpy.cli import main; main()", "serve"]
        command += ["--database", f"sqlite:///{folder}/pictures.sqlite", "--port", str(port)]
        process = subprocess.Popen(
            [*command, "--rate", "0"],
            env={**os.environ, "MULTI_FREQ_LDPY_ADMIN_TOKEN": token},
            stdout=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(address)
            yield address
        finally:
            process.terminate()
            process.wait()


def wait_for(address: str) -> None:
    """Wait until the service answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            Remote(address).ask("GET", "/readyz")
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def fill(address: str, token: str) -> None:
    """Create the survey, and send the reports of the population."""
    survey = Survey({name: list(shares) for name, shares in SHARES.items()}, epsilon=2.0)
    admin, path = Remote(address, token), f"/v1/surveys/{NAME}"
    given = {"name": NAME, "spec": survey.to_spec(), "about": ABOUT, "public": True}
    admin.ask_json("POST", "/v1/surveys", given)
    admin.ask_json("PATCH", path, {"state": "open"})
    chooser = random.Random(1)
    people = {
        name: chooser.choices(list(shares), list(shares.values()), k=PEOPLE)
        for name, shares in SHARES.items()
    }
    Sender(address).submit(NAME, survey.randomize(people), survey=survey)


def show(browser: "Browser", size: Any, address: str) -> Any:
    """Open a page in a profile of its own, and wait for its first content."""
    page = browser.new_page(
        viewport=size, device_scale_factor=2, color_scheme="light", reduced_motion="reduce"
    )
    page.goto(address)
    page.locator("main[data-ready]").wait_for()
    return page


def keep(page: Any, name: str) -> None:
    """Write what the window shows, in few colours."""
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, more than {LARGEST}")


def scroll_to(locator: Any) -> None:
    """Move something close to the top of the window, as soon as it is there."""
    locator.evaluate("(it) => scrollBy(0, it.getBoundingClientRect().top - 24)")


def take(browser: "Browser", address: str, token: str) -> None:
    """Take all pictures."""
    page = show(browser, PHONE, f"{address}/s/{NAME}")
    keep(page, "page_respondent")
    for name, shares in SHARES.items():
        group = page.get_by_role("group", name=ABOUT["questions"][name])  # type: ignore[index]
        group.get_by_label(next(iter(shares)), exact=True).check()
    scroll_to(page.get_by_role("heading", name="Your answers", exact=True))
    keep(page, "page_questions")
    page.get_by_role("button", name="Send", exact=True).click()
    scroll_to(page.get_by_role("heading", name="Your report was sent"))
    keep(page, "page_sent")

    page = show(browser, DESK, f"{address}/d/{NAME}#token={token}")
    page.get_by_role("table").first.wait_for()
    keep(page, "page_dashboard")

    page = show(browser, DESK, f"{address}/play#protocol=OUE&k=5&epsilon=1.5&n=20000")
    page.get_by_role("button", name="Run").click()
    page.locator("main[data-state=finished]").wait_for(timeout=1000 * PATIENCE)
    scroll_to(page.get_by_role("heading", name="What the aggregator learns"))
    keep(page, "page_playground")


def main() -> None:
    """Start the service and Chromium, and write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    token = secrets.token_urlsafe(32)
    with serve(token) as address, start_chromium() as browser:
        fill(address, token)
        take(browser, address, token)


if __name__ == "__main__":
    main()
