"""Tests of the set-ups of the playground: controls, links, lesson, layouts and the static copy."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playground import copy_playground

from .look import Look
from .playing import (
    FIRST,
    LABELS,
    PROTOCOLS,
    click,
    controls,
    expected_half,
    fragment_of,
    points,
    run,
    wait_for,
)

SHARED = {
    "defaults": {},
    "protocol": {"protocol": "OLH", "k": "20"},
    "budget": {"epsilon": "0.05", "n": "100"},
    "most": {"epsilon": "8", "n": "100000", "shares": "rare"},
}


@pytest.mark.parametrize("changes", SHARED.values(), ids=SHARED)
def test_links_restore_the_set_up(
    look: Look, visit: Callable[..., Look], changes: dict[str, str]
) -> None:
    """Set the controls, and follow the link in another profile."""
    look.open("/play")
    for field, value in changes.items():
        control = look.page.get_by_label(LABELS[field]).first
        if field in ("protocol", "shares"):
            control.select_option(value)
        else:
            control.fill(value)
            control.blur()
    wanted = {**FIRST, **changes}
    assert controls(look) == wanted == fragment_of(look)
    link = look.page.get_by_role("link", name="Link to this set-up").get_attribute("href")
    other = visit().open(f"/play{link}")
    assert controls(other) == wanted
    look.check()
    other.check()


def test_own_shares_are_in_the_link(look: Look, visit: Callable[..., Look]) -> None:
    """Edit the weights, which are normalised, and follow the link."""
    look.open("/play#k=2")
    look.page.get_by_label("True shares").select_option("own")
    sliders = look.page.locator("details input[type=range]")
    sliders.nth(0).fill("30")
    sliders.nth(1).fill("90")
    shares = look.page.locator("label.weight .number")
    assert shares.all_inner_texts() == ["25.0 %", "75.0 %"]
    assert fragment_of(look)["shares"] == "30-90"
    other = visit().open(f"/play#{look.page.url.split('#')[1]}")
    assert other.page.locator("label.weight .number").all_text_contents() == ["25.0 %", "75.0 %"]
    sliders.nth(0).fill("0")
    sliders.nth(1).fill("0")  # no share is left: all are equal
    assert shares.all_inner_texts() == ["50.0 %", "50.0 %"]
    assert controls(look)["shares"] == "own"
    look.page.get_by_label(LABELS["k"]).fill("3")
    look.page.get_by_label(LABELS["k"]).blur()
    assert shares.all_inner_texts() == ["50.0 %", "33.3 %", "16.7 %"]
    look.check()


HOSTILE = {
    "k=1e9": "the number of answers",
    "k=1": "the number of answers",
    "k=21": "the number of answers",
    "k=4.5": "the number of answers",
    "protocol=<script>alert(1)</script>": "the protocol",
    "protocol=constructor": "the protocol",
    "epsilon=-1": "ε",
    "epsilon=NaN": "ε",
    "epsilon=Infinity": "ε",
    "epsilon=0": "ε",
    "epsilon=0.123": "ε",
    "n=99999999999999999999": "the number of users",
    "n=0": "the number of users",
    "n=": "the number of users",
    "shares=1-2": "the true shares",
    "shares=0-0-0-0": "the true shares",
    "shares=1-2-3-101": "the true shares",
    "shares=__proto__": "the true shares",
    "k=1e9&epsilon=NaN&n=-0": "the number of answers, ε, the number of users",
}


def test_hostile_addresses_fall_back(look: Look) -> None:
    """Give values that are not valid: the page names the field, and shows its own value."""
    look.open("/play")
    for fragment, named in HOSTILE.items():
        look.page.goto(f"{look.origin}/play#{fragment}")
        sentence = f"The address has no valid value for {named}. "
        look.page.get_by_text(sentence).wait_for()
        assert controls(look) == FIRST == fragment_of(look), fragment
    look.page.goto(f"{look.origin}/play#k=5&unknown=1")
    look.page.get_by_text("Answer E").wait_for(state="attached")
    assert "no valid value" not in look.text()
    look.check()


def test_fields_refuse_what_is_not_valid(look: Look) -> None:
    """Enter numbers beyond the limits: the set-up stays."""
    look.open("/play")
    for field, value in (("k", "1"), ("k", "100"), ("k", ""), ("n", "5"), ("n", "1000001")):
        control = look.page.get_by_label(LABELS[field])
        control.fill(value)
        control.blur()
        assert fragment_of(look) == FIRST, (field, value)
        assert control.evaluate("(input) => !input.validity.valid")
        control.fill(FIRST[field])
        control.blur()
    look.check()


def test_keyboard_only(still: Look) -> None:
    """Run, change ε, and draw one report, with the keyboard alone."""
    still.open("/play#n=100")
    press = still.page.keyboard.press

    def reach(selector: str) -> None:
        for _ in range(60):
            press("Tab")
            if still.page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"{selector} cannot be reached")

    reach("button.main")
    press("Enter")
    wait_for(still, "finished")
    reach("form input[type=range]")
    press("ArrowRight")
    assert fragment_of(still)["epsilon"] == "1.05"
    assert "e^ε = 2.86" in still.text()
    wait_for(still, "ready")
    reach("div.row.low button")
    press("Space")
    still.page.get_by_text("Largest factor in 1 report").wait_for()


def test_lesson_leads_through_set_ups(still: Look) -> None:
    """Take all steps: each sets the controls, runs, and says the error to expect."""
    still.open("/play")
    steps: list[dict[str, str]] = [
        {},
        {"epsilon": "0.1"},
        {"epsilon": "3"},
        {"n": "100"},
        {"n": "100000"},
        {"k": "20"},
        {"k": "20", "protocol": "OUE"},
        {"k": "5", "protocol": "OUE", "shares": "rare"},
    ]
    for i, changes in enumerate(steps):
        click(still, "Next step" if i else "Start")
        still.page.get_by_role("heading", name=f"Step {i + 1} of 8").wait_for()
        setup = {**FIRST, **changes}
        assert fragment_of(still) == setup == controls(still)
        k, n = int(setup["k"]), int(setup["n"])
        if i:
            protocol = PROTOCOLS[setup["protocol"]](k, float(setup["epsilon"]))
            weights = np.arange(k, 0, -1) / (k * (k + 1) / 2)
            shares = [0.2475, 0.01] if "shares" in changes else weights
            card = still.page.locator("section.card").inner_text()
            assert f"± {points(expected_half(protocol, shares, n))} points" in card
        else:
            assert "Largest factor in 1 report" in still.text()
    wait_for(still, "finished")
    assert still.page.get_by_role("button", name="Next step").is_disabled()
    click(still, "Back")
    assert fragment_of(still) == FIRST | steps[6]
    still.check()


def test_layouts(look: Look) -> None:
    """Hold the page to accessibility and to its width, with everything that it can show."""
    fragment = "#protocol=OLH&k=6&n=100&epsilon=0.05"
    look.open(f"/play{fragment}")
    look.page.locator("summary").click()
    click(look, "Start")
    look.page.goto(f"{look.origin}/play{fragment}&shares=0")
    look.page.get_by_text("no valid value for the true shares").wait_for()
    click(look, "One report")
    click(look, "Draw a report")
    run(look)
    look.check_all_layouts()
    look.check()


@pytest.fixture
def static(tmp_path: Path) -> Iterator[str]:
    """Serve the copy of the documentation from a plain file server; yield its origin."""
    copy_playground(tmp_path)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *given: object) -> None:
            """Log nothing."""

    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_static_copy_needs_no_service(profiles: Callable[..., Any], static: str) -> None:
    """Run the copy of the documentation: it leads back there, and knows no service."""
    look = Look(profiles(reduced_motion="reduce"), static).open("/play.html#n=500&protocol=OUE")
    run(look)
    assert "500 of 500 users have reported." in look.text()
    links = look.page.get_by_role("link").evaluate_all("(all) => all.map((each) => each.pathname)")
    assert links == ["/index.html", "/play.html"]
    look.check()


def test_service_leads_to_its_surveys(look: Look) -> None:
    """Follow the link of the header."""
    look.open("/play")
    assert look.page.get_by_role("link", name="Surveys").evaluate("(a) => a.pathname") == "/"
