"""Tests of the dashboard: live figures, the promise, the risk, administration."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy import Survey
from tests.service.harness import TOKEN, Server, serving

from .collecting import (
    ABOUT,
    ATTRIBUTES,
    HISTORY,
    ONCE,
    WEEKLY,
    WITH_TOKEN,
    agree,
    ask,
    find,
    make_survey,
    press,
    save,
    send,
    wait_for,
)
from .look import Look

PATIENCE = 40_000
LOST = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_SOCKET", "ERR_EMPTY")


def open_dashboard(look: Look, name: str, state: str = "live") -> Look:
    """Open the dashboard with the token of the administrator."""
    look.open(f"/d/{name}{WITH_TOKEN}")
    wait_for(look, state)
    return look


def see(look: Look, text: str | re.Pattern[str], patience: int = PATIENCE) -> None:
    """Wait until a text is visible."""
    look.page.get_by_text(text).filter(visible=True).first.wait_for(timeout=patience)


def numbers(look: Look) -> list[list[str]]:
    """Return the shares that the tables show, by attribute."""
    tables = look.page.locator("section[data-attribute] table").all()
    return [table.locator("tbody td.number").all_inner_texts() for table in tables]


def written(share: float | None, half: float | None = None) -> str:
    """Return a share as the page writes it."""
    if share is None:
        return "–"
    text = f"{100 * share:.1f}".replace("-", "−")
    return f"{text} %" if half is None else f"{text} ± {100 * half:.1f} %"


def expected(found: Any, method: str) -> list[list[str]]:
    """Return the shares of an answer of the service, as the page writes them."""
    return [
        [
            written(each["frequency"], half_of(each) if method == "raw" else None)
            for each in attribute["values"]
        ]
        for attribute in found["attributes"]
    ]


def half_of(value: Any) -> float:
    """Return the distance from a share to the far end of its interval."""
    share: float = value["frequency"] or 0.0  # without a share, nothing is written
    return max(float(value["high"]) - share, share - float(value["low"]))


def estimate(server: Server, name: str, number: Any = "latest", method: str = "raw") -> Any:
    """Return the estimate of a round."""
    path = f"/surveys/{name}/rounds/{number}/estimate?method={method}"
    return ask(server, "GET", path)["rounds"][0]


def weekly(server: Server, rounds: int = 3, **rules: Any) -> str:
    """Make a survey with reports in several rounds, and return its name."""
    name = make_survey(server, WEEKLY, **rules)
    own = {"Authorization": f"Bearer {TOKEN}"} if rules.get("submission") == "token" else {}
    for number in range(rounds):
        if number:
            ask(server, "POST", f"/surveys/{name}/rounds", {"number": number})
        assert send(server, name, 150 + number, number, **own) == 200
    return name


def test_live(look: Look, server: Server) -> None:
    """Check that a report is seen within 2 s after it was counted, with the figures of the API."""
    name = make_survey(server, about=ABOUT)
    open_dashboard(look, name)
    see(look, "No report is here yet.")
    times = []
    for many in (1, 2, 3):
        assert send(server, name, 1) == 200
        counted = time.monotonic()
        see(look, f"{many} report{'s' if many > 1 else ''}. The survey is open.")
        times.append(time.monotonic() - counted)
    assert min(times) <= 2.0, times
    assert numbers(look) == expected(estimate(server, name), "raw")
    see(look, "Last change at")
    look.check()


CASES = [("raw", 0), ("raw", 2), ("norm_sub", 1), ("norm_sub", 2)]


@pytest.mark.parametrize(("method", "number"), CASES)
def test_figures(look: Look, server: Server, method: str, number: int) -> None:
    """Check the shares of a round, raw or as a distribution, and the table over all rounds."""
    name = weekly(server)
    open_dashboard(look, name)
    if method != "raw":
        press(look, "Distribution")
        see(look, "A distribution has no share below 0 %")
    if number < 2:
        look.page.get_by_label("Round").first.select_option(str(number))
    see(look, f"{150 + number} reports in round {number}.")
    wanted = expected(estimate(server, name, number, method), method)
    look.page.get_by_text(wanted[0][0]).filter(visible=True).first.wait_for(timeout=PATIENCE)
    assert numbers(look) == wanted
    look.page.get_by_text("Figures").click()
    tables = look.page.get_by_role("region").get_by_role("row")
    rows = [row.locator("td").all_inner_texts() for row in tables.all()]
    by_round = [expected(estimate(server, name, r, method), method) for r in range(3)]
    assert [row[1:] for row in rows if row] == [each[j] for j in range(2) for each in by_round]
    figures = look.page.locator(".small-charts figure")
    shown = [each for attribute in ATTRIBUTES.values() for each in attribute]
    last = [re.sub(r" (±.*)?%", " %", each) for j in range(2) for each in by_round[2][j]]
    assert figures.all_inner_texts() == [f"{a}\n{b}" for a, b in zip(shown, last, strict=True)]
    assert figures.locator("polyline").count() == len(shown)
    look.check()


def test_next_round_is_seen(look: Look, server: Server) -> None:
    """Check that a round that begins elsewhere is shown, and that it can be compared at once."""
    name = weekly(server, 1)
    open_dashboard(look, name)
    assert not look.page.get_by_role("heading", name="Over the rounds").is_visible()
    ask(server, "POST", f"/surveys/{name}/rounds", {"number": 1})
    see(look, "0 reports in round 1.")
    assert send(server, name, 7, 1) == 200
    see(look, "7 reports in round 1.")
    assert look.page.get_by_role("heading", name="Over the rounds").is_visible()
    look.check()


UNSURE = [
    (0, "No report is here yet.", 5),
    (99, "fewer than 100 reports", 5),
    (100, "more reports bring every share within ±3 points", 0),
    (9000, "Every share is within ±3 points.", 0),
]


@pytest.mark.parametrize(("many", "text", "grey"), UNSURE)
def test_sureness(look: Look, server: Server, many: int, text: str, grey: int) -> None:
    """Check what the page says of few and of many reports, and that bars are grey below 100."""
    name = make_survey(server, {**ONCE, "epsilon": 4.0})
    for start in range(0, many, 3000):
        assert send(server, name, min(3000, many - start)) == 200
    open_dashboard(look, name)
    see(look, text)
    if needed := estimate(server, name)["needed"]:
        see(look, f"About {needed:,} more reports")
    bars = look.page.locator("section[data-attribute] rect.share")
    assert (bars.count(), look.page.locator("rect.unsure").count()) == (5, grey)
    look.check()


def test_risk(look: Look, server: Server) -> None:
    """Check that the slider shows the figures of each stop, by keyboard."""
    name = make_survey(server, about=ABOUT)
    assert send(server, name, 1000) == 200
    open_dashboard(look, name)
    stops = estimate(server, name)["influence"]["stops"]
    slider = look.page.get_by_role("slider", name="Number of malicious users")
    slider.focus()
    look.page.keyboard.press("Home")
    for stop in stops:
        see(look, f"If {stop['users']} of 1,000 users lie together")
        points = [f"{100 * min(1.0, each):.1f}" for each in stop["shift"].values()]
        see(look, f"{points[0]} points in “How do you eat?”")
        see(look, f"{points[1]} points in “smokes”")
        assert f"{stop['users']} of 1,000" in slider.get_attribute("aria-valuetext")
        look.page.keyboard.press("ArrowRight")
    assert [each["users"] for each in stops] == [1, 2, 5, 10, 20, 50, 100, 200]
    look.check()


PROMISES = [
    (ONCE, ["at most 7.39 times as likely (ε = 2)"]),
    (WEEKLY, ["at most 4.49 times as likely (ε = 1.5)", "at most 20.1 times as likely (ε = 3)"]),
    (HISTORY, ["at most 54.6 times as likely (ε = 4)"]),
]


@pytest.mark.parametrize(("spec", "losses"), PROMISES)
def test_promise(look: Look, server: Server, spec: Any, losses: list[str]) -> None:
    """Check the losses, the digest, the spec, and what is said where the risk is not known."""
    name = make_survey(server, spec, keep=spec is WEEKLY)
    open_dashboard(look, name)
    card = look.page.locator("section", has_text="What the survey promises").last
    found = find(server, name)
    shown = [each.replace("\u00a0", " ") for each in card.locator("dd").all_inner_texts()]
    assert shown == [*losses, found["digest"]]
    see(look, found["privacy"]["sentence"])
    see(look, "The largest shift is not known for this survey, or no report is here yet.")
    see(look, "The service keeps the reports." if spec is WEEKLY else "and no single report.")
    file, content = save(look, "Save the specification")
    assert file == f"{name}.json" and json.loads(content) == found["spec"]
    assert Survey.from_spec(json.loads(content)).digest == found["digest"]
    look.check()


def test_token(look: Look, server: Server) -> None:
    """Check that the token leaves the address at once, gets into no URL, and stays in the tab."""
    name = make_survey(server)
    open_dashboard(look, name)
    look.page.reload()
    wait_for(look, "live")
    assert look.page.url == f"{look.origin}/d/{name}"
    assert all(TOKEN not in each.url for each in look.asked)
    assert TOKEN not in look.page.content()
    look.page.go_back()
    assert TOKEN not in look.page.url
    look.check()


def test_token_is_asked_for(visit: Callable[..., Look], server: Server) -> None:
    """Check that a private survey asks for a token, and refuses tokens that do not read."""
    name = make_survey(server)
    submit = ask(server, "POST", "/tokens", {"scope": "submit", "survey": name})["token"]
    analyst = ask(server, "POST", "/tokens", {"scope": "analyst"})["token"]
    look = visit(expected=("401",)).open(f"/d/{name}")
    field = look.page.get_by_label("Token")
    assert field.get_attribute("type") == "password"
    for given, text in (("", "Paste the token"), ("x" * 43, "unknown"), (submit, "only sends")):
        field.fill(given)
        press(look, "Use the token")
        see(look, text)
        wait_for(look, "token")
    field.fill(analyst)
    look.page.keyboard.press("Enter")
    wait_for(look, "live")
    assert not look.page.get_by_role("heading", name="Administration").count()
    assert all(analyst not in each.url and submit not in each.url for each in look.asked)
    look.check()


def test_absent(visit: Callable[..., Look], server: Server) -> None:
    """Check that a survey that is not there has its sentence."""
    look = visit(expected=("404",)).open("/d/nothing-here")
    see(look, "There is no survey of this name.")
    look.check()


def test_public(look: Look, server: Server) -> None:
    """Check that people without a token see releases, which move in steps, and nothing more."""
    name = make_survey(server, public=True, min_users=30, step=20)
    look.expected = ("409",)
    look.open(f"/d/{name}")
    see(look, "There is no release yet: it needs at least 30 reports.")
    see(look, "They move only in steps of at least 20 reports")
    assert send(server, name, 30) == 200
    see(look, "30 reports. The survey")
    assert send(server, name, 19) == 200
    look.page.reload()
    wait_for(look, "live")
    see(look, "30 reports. The survey")
    assert send(server, name, 1) == 200
    see(look, "50 reports. The survey")
    assert not look.page.get_by_role("heading", name="Administration").count()
    assert not look.page.get_by_label("Token").count()
    assert all("authorization" not in each.headers for each in look.asked)
    look.check()


def test_pause(look: Look, server: Server) -> None:
    """Check that nothing moves while the page is paused, and that it goes on where it is."""
    name = make_survey(server)
    open_dashboard(look, name)
    with look.page.expect_event("requestfailed", lambda request: "/events" in request.url):
        press(look, "Pause")  # the stream ends
    wait_for(look, "paused")
    see(look, "Paused")
    assert send(server, name, 3) == 200
    press(look, "Distribution")
    see(look, "3 reports.")  # what a person asks for is shown
    assert send(server, name, 1) == 200
    assert look.page.locator("main").get_attribute("data-state") == "paused"
    before = [each for each in look.asked if "/events" in each.url]
    press(look, "Go on")
    wait_for(look, "live")
    see(look, "4 reports.")
    after = [each for each in look.asked if "/events" in each.url]
    assert len(before) == 1 and len(after) == 2 and "norm_sub" in after[1].url
    look.check()


def test_lost_connection(profiles: Callable[..., Any], tmp_path: Path) -> None:
    """Check that a lost connection is said, and that the page goes on by itself."""
    with serving(f"sqlite:///{tmp_path}/own.sqlite") as server:
        name = make_survey(server)
        look = Look(profiles(), f"http://127.0.0.1:{server.port}", LOST)
        open_dashboard(look, name)
        assert send(server, name, 2) == 200
        see(look, "2 reports.")
        server.kill()
        wait_for(look, "lost")
        see(look, "Connection lost, trying again")
        see(look, "Last change at")
        see(look, "2 reports.")
        server.start()
        assert send(server, name, 1) == 200
        wait_for(look, "live")
        see(look, "3 reports.")
        look.check()


def test_fault_of_the_service(visit: Callable[..., Look], server: Server) -> None:
    """Check that the page reads everything again after the service had a fault."""
    name = make_survey(server)
    look = open_dashboard(visit(expected=("500",)), name)
    look.page.route("**/estimate*", lambda route: route.fulfill(status=500, body="{}"))
    press(look, "Distribution")
    wait_for(look, "lost")
    assert send(server, name, 200) == 200
    look.page.unroute("**/estimate*")
    wait_for(look, "live")
    see(look, "200 reports.")
    assert numbers(look) == expected(estimate(server, name, method="norm_sub"), "norm_sub")
    look.check()


ENDS: list[tuple[str, Callable[[Server, str, str], Any], str]] = [
    (
        "closed",
        lambda server, name, _: ask(server, "PATCH", f"/surveys/{name}", {"state": "closed"}),
        "The survey is closed, and these figures are final.",
    ),
    (
        "deleted",
        lambda server, name, _: [
            ask(server, "PATCH", f"/surveys/{name}", {"state": "closed"}),
            ask(server, "DELETE", f"/surveys/{name}?confirm={name}"),
        ],
        r"it was deleted|figures are final",
    ),
    (
        "revoked",
        lambda server, _, hash: ask(server, "DELETE", f"/tokens/{hash}"),
        "The token of this tab does not work any more: it was revoked.",
    ),
]


@pytest.mark.parametrize(("change", "text"), [each[1:] for each in ENDS], ids=[e[0] for e in ENDS])
def test_end(
    visit: Callable[..., Look], server: Server, change: Callable[..., Any], text: str
) -> None:
    """Check that the end of a stream has its sentence, and that nothing is asked for any more."""
    name = make_survey(server)
    made = ask(server, "POST", "/tokens", {"scope": "analyst"})
    look = visit(expected=("401", "404")).open(f"/d/{name}#token={made['token']}")
    wait_for(look, "live")
    change(server, name, made["hash"])
    wait_for(look, "ended")
    see(look, re.compile(text))
    assert not look.page.get_by_role("button", name="Pause").is_visible()
    look.check()


def test_announcements(look: Look, server: Server) -> None:
    """Check that changes are announced at most every ten seconds, with the last figures."""
    name = make_survey(server)
    look.page.clock.install()
    open_dashboard(look, name)
    said = look.page.locator("[aria-live=polite].hidden")
    for many in (1, 2):
        assert send(server, name, 1) == 200
        see(look, f"{many} report")
        assert said.inner_text() == ""
    look.page.clock.fast_forward(10_000)
    said.get_by_text("2 reports are counted.").wait_for(timeout=PATIENCE)
    look.check()


def test_markup(look: Look, server: Server) -> None:
    """Check that texts of people are texts."""
    name = make_survey(server, about=ABOUT)
    open_dashboard(look, name)
    assert look.page.get_by_role("heading", level=1).inner_text() == "How we <b>eat</b>"
    assert not look.page.locator("b").count()
    see(look, "City of Lyon")
    see(look, "The shares help to plan school meals.")
    look.check()


# Administration


def test_life(look: Look, server: Server) -> None:
    """Check that a draft is opened, goes on to another round, is closed and deleted."""
    name = make_survey(server, WEEKLY, state="draft")
    open_dashboard(look, name)
    see(look, "Only administrators see this draft.")
    press(look, "Open the survey")
    see(look, "Respondents can answer.")
    assert find(server, name)["accepted"] == [0]
    press(look, "Begin round 1")
    agree(look, "Cancel")
    assert find(server, name)["accepted"] == [0]
    press(look, "Begin round 1")
    agree(look, "Begin round 1")
    see(look, "0 reports in round 1.")
    assert find(server, name)["accepted"] == [1]
    press(look, "Close the survey")
    look.page.keyboard.press("Enter")  # the focus is on Cancel, so a second Enter does no harm
    look.page.get_by_role("dialog").wait_for(state="detached")
    assert find(server, name)["state"] == "open"
    press(look, "Close the survey")
    agree(look, "Close the survey")
    wait_for(look, "ended")
    assert find(server, name)["state"] == "closed"
    press(look, "Delete the survey")
    agree(look, "Delete the survey")
    wait_for(look, "surveys")
    assert server.ask("GET", f"/v1/surveys/{name}")[0] == 404
    look.check()


RULED: list[tuple[Any, dict[str, Any], bool]] = [
    (ONCE, {}, False),
    (WEEKLY, {}, True),
    (WEEKLY, {"schedule": {"starts": 1, "period": 604_800, "grace": 0}}, False),
]


@pytest.mark.parametrize(("spec", "rules", "by_hand"), RULED)
def test_rounds_by_hand(
    look: Look, server: Server, spec: Any, rules: dict[str, Any], by_hand: bool
) -> None:
    """Check that only surveys with rounds by hand have a button for the next round."""
    name = make_survey(server, spec, **rules)
    open_dashboard(look, name)
    see(look, "Close the survey")
    assert look.page.get_by_role("button", name="Begin round").count() == by_hand
    assert look.page.get_by_text("7 days each.").count() == bool(rules)
    look.check()


def test_audience(look: Look, server: Server) -> None:
    """Check that results are published with the least numbers of a release, and taken back."""
    name = make_survey(server)
    open_dashboard(look, name)
    box = look.page.get_by_label("Show results to people without a token")
    least = look.page.get_by_label("Reports before the first release")
    assert not box.is_checked() and least.input_value() == "100"
    box.check()
    least.fill("0")
    look.page.get_by_label("Reports between two releases").fill("25")
    press(look, "Save")
    see(look, "A whole number from 1 is needed.")
    assert not find(server, name)["public"]
    least.fill("60")
    press(look, "Save")
    see(look, "Saved.")
    found = find(server, name)
    assert (found["public"], found["min_users"], found["step"]) == (True, 60, 25)
    see(look, "People without a token see releases")
    box.uncheck()
    press(look, "Save")
    look.page.get_by_text("People without a token see releases").wait_for(state="detached")
    assert not find(server, name)["public"]
    look.check()


def test_invites(look: Look, server: Server) -> None:
    """Check that invites are saved as links, and that each of them counts."""
    name = make_survey(server, submission="invite")
    open_dashboard(look, name)
    see(look, "Who issues an invite can tell whose report it is.")
    assert not look.page.locator("img").count()
    look.page.get_by_label("Number of invites").fill("10001")
    press(look, "Save invites as a file")
    see(look, "A whole number from 1 to 10,000 is needed.")
    look.page.get_by_label("Number of invites").fill("3")
    file, content = save(look, "Save invites as a file")
    head, *links = content.decode().split()
    assert (file, head, len(set(links))) == (f"{name}-invites.csv", "link", 3)
    for link in links:
        page, invite = link.split("#invite=")
        assert page == f"{look.origin}/s/{name}"
        assert send(server, name, 1, Authorization=f"Bearer {invite}") == 200
    see(look, "3 reports.")
    assert all(invite not in each.url for each in look.asked)
    look.check()


def test_link_with_a_token(look: Look, server: Server) -> None:
    """Check that the link of a survey with a shared token lets people send reports."""
    name = make_survey(server, submission="token")
    open_dashboard(look, name)
    press(look, "Make a link")
    page, token = look.page.get_by_label("Link with the token").input_value().split("#token=")
    assert page == f"{look.origin}/s/{name}"
    assert send(server, name, 1) == 401
    assert send(server, name, 1, Authorization=f"Bearer {token}") == 200
    see(look, "1 report.")
    look.check()


def test_tokens(look: Look, server: Server) -> None:
    """Check that tokens are made, shown once, copied, listed and revoked."""
    name = make_survey(server)
    look.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_dashboard(look, name)
    made = {}
    for scope, label in (("analyst", "may read results"), ("submit", "may send reports")):
        look.page.get_by_label("A new token …").select_option(label)
        look.page.get_by_label("Note", exact=True).fill(f"{scope} of {name}")
        press(look, "Make a token")
        revoke = look.page.get_by_role("button", name=f"Revoke “{scope} of {name}”")
        revoke.wait_for()
        made[scope] = look.page.get_by_label("New token", exact=True).input_value()
        own = {"Authorization": f"Bearer {made[scope]}"}
        assert server.ask("GET", "/v1/scope", headers=own) == (200, {"scope": scope})
    look.page.get_by_role("button", name="Copy").last.click()
    see(look, "Copied.")
    assert look.page.evaluate("navigator.clipboard.readText()") == made["submit"]
    revoke = look.page.get_by_role("button", name=f"Revoke “analyst of {name}”")
    revoke.click()
    agree(look, "Revoke")
    revoke.wait_for(state="detached")
    found = {each["note"]: each for each in ask(server, "GET", "/tokens")}
    assert found[f"analyst of {name}"]["revoked"] and not found[f"submit of {name}"]["revoked"]
    assert found[f"submit of {name}"]["survey"] == name
    own = {"Authorization": f"Bearer {made['analyst']}"}
    assert server.ask("GET", "/v1/scope", headers=own)[0] == 401
    assert all(each not in request.url for each in made.values() for request in look.asked)
    look.check()


@pytest.mark.parametrize("keep", [False, True])
def test_files(look: Look, server: Server, keep: bool) -> None:
    """Check that tallies are saved round by round, and reports where they are kept."""
    name = weekly(server, 2, keep=keep)
    open_dashboard(look, name)
    look.page.get_by_label("Round", exact=True).last.select_option("0")
    file, content = save(look, "Save the tally")
    survey = Survey.from_spec(find(server, name)["spec"])
    assert file == f"{name}-round-0.tally" and survey.unpack(content).users == 150
    assert look.page.get_by_role("button", name="Save the reports").count() == keep
    if keep:
        file, content = save(look, "Save the reports")
        assert file == f"{name}-round-0.parquet" and content[:4] == content[-4:] == b"PAR1"
    look.check()


def test_refusal(visit: Callable[..., Look], server: Server) -> None:
    """Check that the sentence of the service is beside the button that it refused."""
    name = make_survey(server, WEEKLY)
    look = open_dashboard(visit(expected=("409",)), name)
    press(look, "Pause")
    ask(server, "PATCH", f"/surveys/{name}", {"state": "closed"})
    press(look, "Begin round 1")
    agree(look, "Begin round 1")
    refused = look.page.get_by_role("alert").filter(has_text="The survey is closed.")
    refused.wait_for(timeout=PATIENCE)
    look.check()


def show_draft(look: Look, server: Server) -> None:
    """Show a draft to an administrator."""
    open_dashboard(look, make_survey(server, WEEKLY, state="draft", submission="invite"))


def show_rounds(look: Look, server: Server) -> None:
    """Show rounds with their figures, and a token that was just made."""
    open_dashboard(look, weekly(server, submission="token", about=ABOUT, public=True))
    look.page.get_by_text("Figures").click()
    press(look, "Make a link")
    press(look, "Make a token")
    look.page.get_by_label("New token", exact=True).wait_for()


def show_public(look: Look, server: Server) -> None:
    """Show a release with long words."""
    long = ["a" * 60, "an answer of several words that is long", "no"]
    spec = {"attributes": {"x" * 40: long}, "epsilon": 2.0}
    name = make_survey(server, spec, public=True)
    assert send(server, name, 200) == 200
    look.open(f"/d/{name}")
    wait_for(look, "live")


def show_form(look: Look, server: Server) -> None:
    """Show the form for a token, with an error."""
    look.open(f"/d/{make_survey(server)}")
    press(look, "Use the token")


def show_dialog(look: Look, server: Server) -> None:
    """Show the dialog that asks once more."""
    open_dashboard(look, make_survey(server))
    press(look, "Close the survey")


@pytest.mark.parametrize("show", [show_draft, show_rounds, show_public, show_form, show_dialog])
def test_layouts(look: Look, server: Server, show: Callable[[Look, Server], None]) -> None:
    """Check that all states are accessible and fit phones and desks, light, dark and enlarged."""
    show(look, server)
    look.check_all_layouts()
    look.check()
