"""The page of a respondent: each state with its sentences, its layout, and its way out."""

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from multi_freq_ldpy import GRR, LGRR, LOSUE, OLH, OUE, SPL, SS, SUE, Survey
from tests.service.harness import Server

from .respondent import FEW, LOST, SURVEYS, Person, Visit, create, invite, refuse, users

pytestmark = [pytest.mark.process, pytest.mark.extras]
WEEK = 604_800
DAY = 86_400


def scheduled(begins: float, period: int = WEEK) -> dict[str, Any]:
    """Return a schedule whose first round begins in some seconds."""
    return {"schedule": {"starts": int(time.time() + begins), "period": period}}


BROKEN = {
    "missing": "Object.defineProperty(globalThis, 'indexedDB', { value: undefined });",
    "blocked": "IDBFactory.prototype.open = () => { throw new DOMException('blocked'); };",
    "full": "IDBObjectStore.prototype.put = () => {"
    " throw new DOMException('full', 'QuotaExceededError'); };",
}

# The state on arrival, a survey, its state and settings, and what the page says
ARRIVALS: dict[str, tuple[str, str, str, dict[str, Any], list[str]]] = {
    "a draft": ("missing", "one", "draft", {}, ["There is no such survey", "not open yet"]),
    "closed": ("closed", "one", "closed", {}, ["The survey is closed", "nothing more is sent"]),
    "closed for a device that takes part": (
        "closed", "weekly", "closed", {}, ["The survey is closed"],
    ),
    "before the first round": (
        "between", "weekly", "open", scheduled(DAY), ["No round is open now", "begins on"],
    ),
    "after the last round": (
        "between", "year", "open", scheduled(-5 * WEEK), ["All rounds are over"],
    ),
    "no invite": (
        "tokenless", "one", "open", {"submission": "invite"}, ["You need an invite"],
    ),
    "no token": (
        "tokenless", "one", "open", {"submission": "token"}, ["You need the full link"],
    ),
    "questions": (
        "questions", "two", "open", {},
        ["Do you smoke?", "at most 7.39 times as likely", "88.1 %",
         "90 % sure before can be at most 98.6 % sure after", "The works council",
         "Until its owner closes it", "does not keep the report", "lets see them",
         "Everybody who has the address", "A report on one of the 2 questions",
         "Not answered yet: Do you smoke? · On which day do you smoke most?"],
    ),
    "kept and public": (
        "questions", "one", "open", {"keep": True, "public": True, "about": {}},
        ["The service keeps each report", "Everybody, from 100 reports on", "See the results",
         "does not say who asks. Its page comes from 127.0.0.1", "smokes"],
    ),
    "all questions at once": (
        "questions", "all", "open", {}, ["on all 2 questions", "at most 7.39 times"],
    ),
    "among fakes": ("questions", "fakes", "open", {}, ["among made-up reports on the others"]),
    "consent": (
        "consent", "weekly", "open", scheduled(-DAY),
        ["Before you begin", "at most 2.72 times", "together are at most 7.39 times",
         "Changes are not hidden", "In rounds of 1 week", "The present round ends on",
         "Each different answer weakens",
         "below 404 times", "no promise for all reports together",
         "The secret can get lost", "You can leave at any time"],
    ),
    "consent for a history": (
        "consent", "year", "open", {},
        ["In 4 rounds that the owner opens", "in all rounds is at most 7.39 times"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARRIVALS)
def test_each_arrival_has_its_sentences(case: str, server: Server, visit: Visit) -> None:
    state, kind, of, settings, sentences = ARRIVALS[case]
    person = Person(visit(expected=LOST), create(server, kind, of, **settings)).open()
    assert person.state == state
    shown = person.look.text()
    for each in sentences:
        assert each in shown, each
    assert "is loading" not in shown
    title = "There is no such survey" if state == "missing" else "Smoking at work"
    asked = person.page.locator("h1").inner_text()
    assert asked == (person.name if settings.get("about") == {} else title)
    if state != "missing":
        assert person.page.title() == asked
        assert SURVEYS[kind].digest in shown
    person.look.check_layout()
    person.look.check()
    assert not person.look.bodies()
    assert not person.kept()


def test_without_scripts_the_page_says_that_it_needs_them(
    profiles: Callable[..., Any], server: Server, visit: Visit
) -> None:
    look = visit(profiles(java_script_enabled=False))
    look.page.goto(f"{look.origin}/s/{create(server, 'one')}")
    assert "Without scripts nothing can be sent" in look.text()


@pytest.mark.parametrize("how", ["missing", "blocked"])
def test_without_storage_nothing_is_drawn_and_nothing_is_sent(
    how: str, server: Server, visit: Visit
) -> None:
    look = visit()
    look.page.add_init_script(BROKEN[how])
    person = Person(look, create(server, "one")).open()
    assert person.state == "storage"
    assert "nothing was drawn, and nothing was sent" in look.text()
    assert "at most 7.39 times" in look.text()
    look.check_layout()
    assert not look.bodies()
    look.check()


def test_a_full_storage_ends_in_no_report(server: Server, visit: Visit) -> None:
    look = visit()
    look.page.add_init_script(BROKEN["full"])
    person = Person(look, create(server, "bits")).open().choose()
    assert person.send("storage") == "storage"
    assert "nothing was sent" in look.text()
    assert not look.bodies()
    assert users(server, person.name) == 0


def test_a_damaged_outbox_stops_everything(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "bits")).open().choose()
    person.send()
    person.write(f"outbox {person.name}", "0" * 64 + "\ngarbage\n")
    person.reload()
    assert person.state == "damaged"
    person.look.check_layout()
    assert len(person.look.bodies()) == 1
    person.look.check()


def test_another_survey_at_the_same_address_is_not_answered(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "bits")).open().choose()
    person.send()
    assert server.ask("PATCH", f"/v1/surveys/{person.name}", {"state": "closed"})[0] == 200
    path = f"/v1/surveys/{person.name}"
    assert server.ask("DELETE", f"{path}?confirm={person.name}")[0] == 204
    content = {"name": person.name, "spec": SURVEYS["one"].to_spec()}
    assert server.ask("POST", "/v1/surveys", content)[0] == 201
    assert server.ask("PATCH", path, {"state": "open"})[0] == 200
    person.reload()
    assert person.state == "changed"
    assert "another survey at the same address" in person.look.text()
    person.look.check_layout()
    assert users(server, person.name) == 0


REFUSALS = {
    (409, "round-closed"): ("Its round ended", "It is not sent again"),
    (409, "wrong-survey"): ("is another one now", "It is not sent again"),
    (422, "not-a-report"): ("are no report of this survey", "It is not sent again"),
    (413, "too-large"): ("the report is too large", "It is not sent again"),
    (409, "not-open"): ("The survey was closed before", "It stays on this device"),
    (401, "no-token"): ("does not know this link or invite", "It stays on this device"),
    (403, "forbidden"): ("is not for this survey", "It stays on this device"),
    (415, "media-type"): ("It says: This is media-type.", "It stays on this device"),
}


@pytest.mark.parametrize(("status", "kind"), REFUSALS)
def test_each_refusal_is_said_and_nothing_is_drawn_anew(
    status: int, kind: str, server: Server, visit: Visit
) -> None:
    reason, fate = REFUSALS[status, kind]
    person = Person(visit(expected=LOST), create(server, "bits")).open().choose()
    person.page.route("**/reports", refuse(status, kind))
    person.send("refused")
    assert reason in person.look.text()
    assert fate in person.look.text()
    person.look.check_layout()
    person.page.unroute("**/reports")
    person.reload()
    if fate == "It is not sent again":
        assert person.state == "refused"
        assert "It was refused before" in person.look.text()
        assert users(server, person.name) == 0
    else:
        person.wait("sent")
        assert "It waited on this device" in person.look.text()
        assert users(server, person.name) == 1
    assert len(set(person.look.bodies())) == 1
    person.look.check()


def test_a_survey_that_closes_before_send_gets_nothing(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "bits")).open().choose()
    assert server.ask("PATCH", f"/v1/surveys/{person.name}", {"state": "closed"})[0] == 200
    person.send("refused")
    assert "Nothing was drawn, and nothing was sent" in person.look.text()
    assert not person.look.bodies()
    assert not person.outbox()
    person.button("Try again").click()
    person.wait("closed")


@pytest.mark.parametrize("of", ["sent", "waiting"])
def test_a_closed_survey_says_what_became_of_the_report(
    of: str, server: Server, visit: Visit
) -> None:
    person = Person(visit(expected=LOST), create(server, "bits")).open().choose()
    if of == "waiting":
        person.page.route("**/reports", refuse(403, "forbidden"))
    person.send("sent" if of == "sent" else "refused")
    assert server.ask("PATCH", f"/v1/surveys/{person.name}", {"state": "closed"})[0] == 200
    person.reload()
    said = {
        "sent": "has sent its report before",
        "waiting": "It may have been counted, and is not sent any more",
    }[of]
    assert person.state == "closed"
    assert said in person.look.text()


def test_a_service_that_does_not_answer_leaves_a_way_back(server: Server, visit: Visit) -> None:
    person = Person(visit(expected=LOST), create(server, "one"))
    person.page.clock.install()  # readings are tried again after some seconds
    person.page.route("**/v1/**", lambda route: route.abort())
    person.page.goto(person.look.origin + person.path)
    for _ in range(8):
        person.page.clock.run_for(4_000)
    assert person.wait("unreachable")
    assert "does not answer" in person.look.text()
    person.look.check_layout()
    person.page.unroute("**/v1/**")
    person.button("Try again").click()
    person.wait("questions")


def test_an_invite_leaves_the_address_and_counts_once(server: Server, visit: Visit) -> None:
    name = create(server, "bits", submission="invite")
    given, other = invite(server, name), invite(server, name)
    look = visit()
    person = Person(look, name, f"#invite={given}").open()
    assert person.page.url == f"{look.origin}/s/{name}"
    assert "Whoever issued your invite can tell which report is yours" in look.text()
    person.choose().send()
    assert person.reload().state == "already"
    another = Person(visit(look.context), name, f"#invite={other}").open()
    another.choose().send()
    assert users(server, name) == 2
    assert not any(given in text + key for key, text in person.kept().items())
    sent = [each.headers["authorization"] for each in look.asked if "authorization" in each.headers]
    assert sent == [f"Bearer {given}"]
    look.check()


def test_the_invite_of_another_person_in_the_same_tab_is_taken(
    server: Server, visit: Visit
) -> None:
    name = create(server, "bits", submission="invite")
    given = [invite(server, name) for _ in range(2)]
    person = Person(visit(), name, f"#invite={given[0]}").open().choose()
    person.page.goto(f"{person.look.origin}/s/{name}#invite={given[1]}")  # loads nothing by itself
    person.page.wait_for_url(f"**/s/{name}")
    person.wait("questions")
    person.choose(5).send()
    sent = [e.headers["authorization"] for e in person.look.asked if "authorization" in e.headers]
    assert sent == [f"Bearer {given[1]}"]
    wrong = Person(visit(expected=LOST), "none", f"#invite={given[0]}").open()
    assert wrong.state == "missing" and given[0] not in wrong.page.url
    person.look.check()


def test_a_survey_made_again_with_invites_is_another_one(server: Server, visit: Visit) -> None:
    name = create(server, "bits")
    spec = SURVEYS["bits"].to_spec()
    person = Person(visit(expected=LOST), name).open().choose()
    person.send()
    assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": "closed"})[0] == 200
    assert server.ask("DELETE", f"/v1/surveys/{name}?confirm={name}")[0] == 204
    made = {"name": name, "spec": spec, "submission": "invite"}
    assert server.ask("POST", "/v1/surveys", made)[0] == 201
    assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": "open"})[0] == 200
    path = f"#invite={invite(server, name)}"
    assert Person(visit(person.look.context), name, path).open().state == "changed"
    assert Person(visit(), name, f"#invite={invite(server, name)}").open().state == "questions"


def test_an_attribute_may_have_any_name(server: Server, visit: Visit) -> None:
    name = "any-name"
    survey = Survey({"constructor": FEW, "toString": FEW}, epsilon=2.0, solution=SPL)
    assert server.ask("POST", "/v1/surveys", {"name": name, "spec": survey.to_spec()})[0] == 201
    assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": "open"})[0] == 200
    person = Person(visit(expected=LOST), name).open().choose()
    person.example()
    person.page.route("**/reports", lambda route: None)
    with person.page.expect_request("**/reports"):
        person.button("Send").click()
    person.page.unroute("**/reports")
    person.reload().wait("sent")
    person.look.check()


def test_a_report_that_waits_never_goes_with_the_invite_of_another(
    server: Server, visit: Visit
) -> None:
    name = create(server, "bits", submission="invite")
    first = Person(visit(expected=LOST), name, f"#invite={invite(server, name)}").open().choose()
    first.page.route("**/reports", refuse(401, "no-token"))
    first.send("refused")
    second = Person(visit(first.look.context), name, f"#invite={invite(server, name)}").open()
    assert second.state == "questions"
    second.choose(3).send()
    [(_, waiting)], [(_, sent)] = first.look.bodies(), second.look.bodies()
    assert waiting != sent
    assert users(server, name) == 1


def test_a_shared_token_goes_with_the_report_only(server: Server, visit: Visit) -> None:
    name = create(server, "one", submission="token")
    content = {"scope": "submit", "survey": name, "note": ""}
    token = server.ask("POST", "/v1/tokens", content)[1]["token"]
    person = Person(visit(), name, f"#token={token}").open().choose()
    person.send()
    assert users(server, name) == 1
    with_token = [each.url for each in person.look.asked if token in str(each.headers)]
    assert with_token == [f"{person.look.origin}/v1/surveys/{name}/reports"]


def test_a_survey_for_everybody_sends_no_token(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "one"), "#token=of-somebody").open().choose()
    person.send()
    assert all("authorization" not in each.headers for each in person.look.asked)
    assert person.page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("kind", ["one", "two", "all", "fakes"])
def test_examples_are_explained_and_leave_no_trace(kind: str, server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, kind)).open()
    assert person.button("Send").is_disabled()
    assert person.button("Show me an example").is_disabled()
    person.choose()
    assert "All questions are answered." in person.look.text()
    requests = len(person.look.asked)
    for _ in range(4):
        person.example()
    shown = person.page.locator(".example")
    assert "threw it away" in shown.inner_text()
    assert shown.locator("svg").count() >= len(FEW)
    assert shown.locator(".bytes").inner_text()
    assert "(your answer)" in shown.inner_text()
    person.choose(2)
    assert shown.count() == 0  # it was an example of another answer
    assert len(person.look.asked) == requests
    assert not person.kept()
    person.look.check()


def test_what_was_sent_is_shown_in_words_bytes_and_bars(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "one")).open().choose()
    person.send()
    [(path, body)] = person.look.bodies()
    assert path == f"/v1/surveys/{person.name}/reports"
    assert person.page.locator(".bytes").inner_text() == body[41:].hex(" ")
    survey = SURVEYS["one"]
    [explained] = survey.explain(body[41:], {"smokes": FEW[1]})
    (fitting,) = explained.supports
    shown = person.look.text()
    assert f"The report says “{fitting}”." in shown
    assert person.page.locator("td.bar svg").count() == len(FEW)
    assert "× 0.135" in shown
    assert "Your answers are shown here only until you leave this page" in shown
    assert (
        person.page.locator("h2")
        .get_by_text("Your report was sent")
        .evaluate("(heading) => heading === document.activeElement")
    )


PROTOCOLS = {
    "GRR": Survey({"a": FEW}, epsilon=1.0, protocol=GRR),
    "OUE": Survey({"a": FEW}, epsilon=1.0, protocol=OUE),
    "SUE": Survey({"a": FEW}, epsilon=1.0, protocol=SUE),
    "SS": Survey({"a": [*range(20)]}, epsilon=1.0, protocol=SS),
    "OLH": Survey({"a": [*range(500)]}, epsilon=2.0, protocol=OLH),
    "LGRR": Survey({"a": FEW}, eps_perm=2.0, eps_1=1.0, protocol=LGRR),
    "LOSUE": Survey({"a": FEW}, eps_perm=2.0, eps_1=1.0, protocol=LOSUE),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_example_has_the_true_figures(protocol: str, server: Server, visit: Visit) -> None:
    survey, name = PROTOCOLS[protocol], f"figures-{protocol.lower()}"
    assert server.ask("POST", "/v1/surveys", {"name": name, "spec": survey.to_spec()})[0] == 201
    assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": "open"})[0] == 200
    look = Person(visit(), name).open().look
    look.page.get_by_text("An example with the true figures").click()
    part: Any = survey.solution.protocols[0]
    own, other = round(1000 * part.channel.p), round(1000 * part.channel.q)
    fitting = round(0.3 * own + 0.7 * other)
    shown = look.text()
    label = f"“{survey.to_spec()['attributes'][0]['categories'][0]}”"
    assert f"About {own} of them send a report that fits {label}" in shown
    assert f"About {other} of them also send a report that fits {label}" in shown
    assert f"From {fitting} it computes back to 300" in shown
    half = 1.959963984540054 * math.sqrt(1000**2 * part.variance(1000, 0.3))
    low, high = round(max(0, 300 - half)), round(min(1000, 300 + half))
    assert f"its estimate lies between {low} and {high}" in shown


def test_the_keyboard_alone_is_enough(server: Server, visit: Visit) -> None:
    person = Person(visit(), create(server, "two")).open()
    keys = person.page.keyboard

    def reach(selector: str) -> None:
        for _ in range(40):
            keys.press("Tab")
            if person.page.locator(f"{selector}:focus-visible").count():
                return
        pytest.fail(f"the key Tab does not reach {selector}")

    reach("input[type=radio]")
    keys.press("Space")
    reach("select")
    keys.press("ArrowDown")
    # Some browsers submit a form when Enter is pressed in it
    person.page.evaluate("document.querySelector('form').requestSubmit()")
    reach("button.main")
    assert not person.look.bodies()
    keys.press("Enter")
    person.wait("sent")
    assert users(server, person.name) == 1
    assert person.page.locator("h2:focus").inner_text() == "Your report was sent"
    person.look.check()


@pytest.mark.parametrize("state", ["questions", "example", "sent", "consent"])
def test_the_layout_fits_all_screens(state: str, server: Server, visit: Visit) -> None:
    kind = "weekly" if state == "consent" else "two"
    person = Person(visit(), create(server, kind, public=True)).open()
    if state != "consent":
        person.choose()
    if state == "example":
        person.example()
    if state == "sent":
        person.send()
    for each in person.page.locator("summary").all():
        each.click()
    person.look.check_all_layouts()
    person.look.check()
