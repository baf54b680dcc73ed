"""Tests of the start page: the list of surveys, and the form that makes one."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from multi_freq_ldpy import Survey
from tests.service.harness import TOKEN, Server

from .collecting import (
    ONCE,
    WITH_TOKEN,
    ask,
    find,
    make_survey,
    new_name,
    press,
    save,
    send,
    wait_for,
)
from .look import Look

PATIENCE = 40_000
Z = 1.959963984540054
MAKE = "Make and open the survey"
DRAFT = "Make a draft"
MOST_TABS = 60


def see(look: Look, text: str | re.Pattern[str]) -> None:
    """Wait until a text is visible."""
    look.page.get_by_text(text).filter(visible=True).first.wait_for(timeout=PATIENCE)


def open_form(look: Look) -> Look:
    """Open the start page with the token of the administrator, and its form."""
    look.open(f"/{WITH_TOKEN}")
    wait_for(look, "surveys")
    if not look.page.get_by_label("Title").is_visible():
        look.page.get_by_role("heading", name="New survey").click()
    look.page.get_by_label("Title").wait_for()
    return look


def fill(look: Look, label: str, text: str, at: int = 0) -> None:
    """Fill a field."""
    look.page.get_by_label(label, exact=True).nth(at).fill(text)


def fill_once(look: Look) -> str:
    """Fill the form of a survey with one question, and return its name."""
    name = new_name()
    fill(look, "Title", "How we eat")
    fill(look, "Name in the address", name)
    fill(look, "Question", "How do you eat?")
    fill(look, "Answers", "everything\n vegetarian \n\nvegan\n")
    return name


def finish(look: Look, button: str = MAKE) -> None:
    """Make the survey, and wait until the page says so."""
    press(look, button)
    wait_for(look, "made")


def posts(look: Look, path: str = "/v1/surveys") -> list[Any]:
    """Return what the tab has sent to a path."""
    return [each for each in look.asked if each.method == "POST" and each.url.endswith(path)]


def test_welcome(look: Look) -> None:
    """Check what people without a token read, and where they can go."""
    look.open("/")
    wait_for(look, "welcome")
    see(look, "Each device changes its answer by chance before it sends it")
    see(look, "The service printed a link with a token")
    assert look.page.get_by_role("link", name="playground").get_attribute("href") == "/play"
    assert not look.page.get_by_label("Title").count()
    look.check_all_layouts()
    look.check()


def test_token(visit: Callable[..., Look], server: Server) -> None:
    """Check that wrong tokens are refused, and that the right one gets into no address."""
    name = make_survey(server)
    submit = ask(server, "POST", "/tokens", {"scope": "submit", "survey": name})["token"]
    look = visit(expected=("401",)).open("/")
    field = look.page.get_by_label("Token")
    for given, text in (("", "Paste the token"), ("y" * 43, "unknown"), (submit, "only sends")):
        field.fill(given)
        press(look, "Use the token")
        see(look, text)
    field.fill(TOKEN)
    press(look, "Use the token")
    wait_for(look, "surveys")
    look.page.goto(f"{look.origin}/{WITH_TOKEN}")  # the same page: it is loaded anew
    wait_for(look, "surveys")
    assert look.page.url == f"{look.origin}/"
    assert all(TOKEN not in each.url for each in look.asked)
    assert TOKEN not in look.page.content()
    look.check()


def test_list(visit: Callable[..., Look], server: Server) -> None:
    """Check the list: states, links, and no form for analysts."""
    names = {state: make_survey(server, state=state) for state in ("draft", "open", "closed")}
    analyst = ask(server, "POST", "/tokens", {"scope": "analyst"})["token"]
    look = visit().open(f"/#token={analyst}")
    for state, name in names.items():
        row = look.page.get_by_role("listitem").filter(has_text=name)
        assert row.locator(".state").inner_text().lower() == state
        links = row.get_by_role("link").all()
        paths = [f"/d/{name}", f"/s/{name}"][: 1 if state == "draft" else 2]
        assert [each.get_attribute("href") for each in links] == paths
    assert not look.page.get_by_role("heading", name="New survey").count()
    look.page.get_by_role("link", name=f"Results of {names['open']}").click()
    wait_for(look, "live")
    look.page.get_by_role("link", name="All surveys").click()
    wait_for(look, "surveys")
    look.check()


def tab_to(look: Look, name: str) -> None:
    """Press the tab key until a control has the focus."""
    for _ in range(MOST_TABS):
        if (
            look.page.get_by_role("main")
            .get_by_label(name, exact=True)
            .filter(visible=True)
            .and_(look.page.locator(":focus"))
            .count()
        ):
            return
        if (
            look.page.get_by_role("button", name=name, exact=True)
            .and_(look.page.locator(":focus"))
            .count()
        ):
            return
        look.page.keyboard.press("Tab")
    raise AssertionError(f"the tab key does not reach {name}")


def test_keyboard(look: Look, server: Server) -> None:
    """Check that the keyboard alone leads from the token to the link of a new survey."""
    make_survey(server)  # so that the form is closed at first
    name, keyboard = new_name(), look.page.keyboard
    look.open("/")
    tab_to(look, "Token")
    keyboard.insert_text(TOKEN)
    keyboard.press("Enter")
    wait_for(look, "surveys")
    for _ in range(MOST_TABS):
        if look.page.locator("summary:focus").count():
            break
        keyboard.press("Tab")
    keyboard.press("Enter")
    texts = {
        "Title": "How we eat",
        "Who asks": "City of Lyon",
        "Name in the address": name,
        "Question": "How do you eat?",
        "Answers": "everything\nvegan",
    }
    for label, text in texts.items():
        tab_to(look, label)
        keyboard.press("ControlOrMeta+a")
        keyboard.insert_text(text)
    tab_to(look, "Privacy budget ε of one report")
    keyboard.press("ArrowLeft")
    see(look, "ε = 1.9: a report is at most 6.69 times as likely")
    tab_to(look, MAKE)
    keyboard.press("Enter")
    wait_for(look, "made")
    assert look.page.locator("h1:focus").inner_text() == "The survey “How we eat” is open"
    link = look.page.get_by_label("Link for respondents").input_value()
    assert link == f"{look.origin}/s/{name}"
    found = find(server, name)
    assert (found["state"], found["privacy"]["report"]) == ("open", 1.9)
    assert found["about"]["asker"] == "City of Lyon"
    look.check()


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"Title": " "}, "Title", "A title is needed."),
    ({"Name in the address": "Not Good"}, "Name in the address", "small letters, digits and hyph"),
    ({"Question": ""}, "Question", "A question is needed."),
    ({"Answers": "yes"}, "Answers", "Two answers are needed"),
    ({"Answers": "yes\nno\nyes "}, "Answers", "Two answers are the same."),
    ({"Short name in tables and files": ""}, "Short name in tables and files", "is needed."),
]


@pytest.mark.parametrize(("texts", "label", "problem"), FAULTS)
def test_fault(look: Look, texts: dict[str, str], label: str, problem: str) -> None:
    """Check that a fault is said beside its field before anything is sent, and goes away."""
    open_form(look)
    fill_once(look)
    for field, text in texts.items():
        fill(look, field, text)
    press(look, MAKE)
    control = look.page.get_by_label(label, exact=True)
    assert control.and_(look.page.locator(":focus")).count()
    assert control.get_attribute("aria-invalid") == "true"
    described = (control.get_attribute("aria-describedby") or "").split()
    assert any(problem in look.page.locator(f"#{each}").inner_text() for each in described)
    assert look.page.locator("[aria-invalid]").count() == 1
    see(look, "Some fields need a change.")
    control.press("End")
    control.press_sequentially("x")
    assert control.get_attribute("aria-invalid") is None
    assert not look.page.get_by_text("Some fields need a change.").count()
    assert not posts(look)
    look.check()


AGAIN: list[tuple[dict[str, str], str]] = [
    ({"Privacy budget ε of one report": "3"}, "must be smaller than that of all reports."),
    ({"Days per round": "1.5"}, "A whole number from 1 to 10,000 is needed."),
    ({"Days per round": ""}, "A whole number from 1 to 10,000 is needed."),
    ({"Reports between two releases": "0"}, "A whole number from 1 is needed."),
]


@pytest.mark.parametrize(("texts", "problem"), AGAIN)
def test_fault_over_time(look: Look, texts: dict[str, str], problem: str) -> None:
    """Check the faults of fields that only some surveys have."""
    open_form(look)
    fill_once(look)
    for label in ("Again and again", "Begin by the clock", "Show results to everybody"):
        look.page.get_by_label(label).check()
    for label, text in texts.items():
        look.page.get_by_label(label, exact=True).filter(visible=True).fill(text)
    press(look, MAKE)
    see(look, problem)
    assert look.page.locator("[aria-invalid]").count() == 1 and not posts(look)
    look.page.get_by_label("Once").check()
    look.page.get_by_label("Show results to everybody").uncheck()
    finish(look)  # fields that are hidden have no faults
    look.check()


def test_same_short_name(look: Look) -> None:
    """Check that two questions need two short names, and that a question can be removed."""
    open_form(look)
    fill_once(look)
    press(look, "Add a question")
    question = look.page.get_by_label("Question", exact=True).nth(1)
    assert question.and_(look.page.locator(":focus")).count()
    question.fill("How do you eat?")
    fill(look, "Answers", "yes\nno", 1)
    press(look, MAKE)
    see(look, "Another question has this short name.")
    press(look, "Remove question 1")
    assert look.page.get_by_label("Question", exact=True).count() == 1
    assert look.page.get_by_label("Answers", exact=True).input_value() == "yes\nno"
    finish(look)
    look.check()


def test_derived_names(look: Look) -> None:
    """Check that names follow the texts until somebody writes them."""
    open_form(look)
    name = look.page.get_by_label("Name in the address")
    short = look.page.get_by_label("Short name in tables and files")
    fill(look, "Title", "Schools")
    assert name.input_value() == "schools"
    fill(look, "Title", "Écoles: how  we eat?")
    assert name.input_value() == "ecoles-how-we-eat"
    fill(look, "Question", "How many portions do you eat?")
    assert short.input_value() == "how-many-portions-do-you"
    name.fill("meals")
    fill(look, "Title", "Another title")
    assert name.input_value() == "meals"
    name.fill("")
    fill(look, "Title", "x" * 80)
    assert name.input_value() == "x" * 64
    look.check()


WEEK = 7 * 86_400
MADE: list[tuple[list[str], dict[str, str], dict[str, Any]]] = [
    ([], {}, {"submission": "open", "kept": False, "public": False, "schedule": None}),
    (["Keep the reports"], {}, {"kept": True}),
    (
        ["Show results to everybody"],
        {"Reports before the first release": "50", "Reports between two releases": "10"},
        {"public": True, "min_users": 50, "step": 10},
    ),
    (["Again and again"], {}, {"schedule": None, "accepted": [0]}),
    (
        ["Again and again", "Begin by the clock"],
        {"Days per round": "7", "Start of the first round": "2040-01-01T00:00"},
        {"schedule": {"starts": 2_208_988_800, "period": WEEK, "grace": WEEK // 10}},
    ),
    (["People with a link that you share"], {}, {"submission": "token"}),
    (["One report per invite and round"], {}, {"submission": "invite"}),
]


@pytest.mark.parametrize(("ticks", "texts", "wanted"), MADE)
def test_made(
    profiles: Callable[..., Any],
    visit: Callable[..., Look],
    server: Server,
    ticks: list[str],
    texts: dict[str, str],
    wanted: dict[str, Any],
) -> None:
    """Check that the survey is made as the form says, with its spec and its texts."""
    look = open_form(visit(profiles(timezone_id="UTC")))
    name = fill_once(look)
    for label in ticks:
        look.page.get_by_label(label).check()
    for label, text in texts.items():
        fill(look, label, text)
    finish(look)
    found = find(server, name)
    assert {field: found[field] for field in wanted} == wanted
    assert found["state"] == "open" and found["about"]["title"] == "How we eat"
    assert found["about"]["questions"] == {"how-do-you-eat": "How do you eat?"}
    budgets: Any = {"eps_perm": 3.0, "eps_1": 1.5} if "Again and again" in ticks else {"epsilon": 2}
    answers = {"how-do-you-eat": ["everything", "vegetarian", "vegan"]}
    assert found["digest"] == Survey(answers, **budgets).digest
    look.page.get_by_role("link", name="To the results").click()
    wait_for(look, "live")
    look.check()


def test_draft_and_no_answer(look: Look, server: Server) -> None:
    """Check that a draft stays closed, and that "no answer" is the category of missing values."""
    open_form(look)
    name = fill_once(look)
    look.page.get_by_label("Offer “no answer”").check()
    finish(look, DRAFT)
    see(look, "The draft “How we eat” is made")
    found = find(server, name)
    assert (found["state"], found["spec"]["missing"]) == ("draft", "no answer")
    assert found["spec"]["attributes"][0]["categories"][-1] == "no answer"
    look.check()


def test_ways_to_a_survey(look: Look, server: Server) -> None:
    """Check the QR code, the link with a token, and the invites of surveys that were just made."""
    open_form(look)
    name = fill_once(look)
    finish(look)
    code = look.page.get_by_alt_text(f"QR code of the link to {name}")
    assert code.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    assert f"/s/{name}/qr.svg?origin=http" in code.get_attribute("src")
    for rule, button in (("People with a link", "Make a link"), ("One report per invite", "")):
        open_form(look)
        name = fill_once(look)
        look.page.get_by_label(rule).check()
        finish(look)
        assert not look.page.locator("img").count()
        if button:
            press(look, button)
            link = look.page.get_by_label("Link with the token").input_value()
        else:
            link = save(look, "Save invites as a file")[1].decode().split()[1]
        page, token = re.split("#(?:token|invite)=", link)
        assert page == f"{look.origin}/s/{name}"
        assert send(server, name, 1, Authorization=f"Bearer {token}") == 200
    look.check()


def test_errors_to_expect(look: Look, server: Server) -> None:
    """Check that the expected errors follow the questions, the budget and the number of users."""
    open_form(look)
    see(look, "The errors appear when each question has two answers")
    fill_once(look)
    press(look, "Add a question")
    fill(look, "Question", "Do you smoke?", 1)
    fill(look, "Answers", "yes\nno", 1)
    for users, epsilon in (("1000", "2"), ("5000", "2"), ("5000", "1")):
        fill(look, "Reports that you expect, per round", users)
        look.page.get_by_label("Privacy budget ε of one report").first.fill(epsilon)
        attributes = {"how-do-you-eat": ["a", "b", "c"], "do-you-smoke": ["yes", "no"]}
        content = {"spec": {"attributes": attributes, "epsilon": float(epsilon)}}
        found = ask(server, "POST", "/plan", {**content, "users": int(users)})["attributes"]
        for each in found:
            row = look.page.get_by_role("row").filter(has_text=each["name"])
            points = f"±{100 * Z * each['largest']:.1f} points"
            row.get_by_text(points, exact=True).wait_for(timeout=PATIENCE)
        see(look, f"With {int(users):,} reports")
    fill(look, "Reports that you expect, per round", "0")
    see(look, "A whole number from 1 is needed.")
    look.check()


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "6"])
def test_meaning_of_a_budget(look: Look, epsilon: str) -> None:
    """Check the odds and the largest certainty of a budget."""
    open_form(look)
    slider = look.page.get_by_label("Privacy budget ε of one report").first
    slider.fill(epsilon)
    bound = math.exp(float(epsilon))
    unit = 10.0 ** (math.floor(math.log10(bound)) - 2)
    times = float(f"{math.ceil(bound / unit) * unit:.3g}")  # never too small
    see(look, f"ε = {epsilon}: a report is at most {times:.10g} times as likely")
    sure = math.ceil(1000 / (1 + math.exp(-float(epsilon)))) / 10
    see(look, f"equally likely is at most {sure:.1f} % sure of one of them")
    assert f"{times:.10g} times" in slider.get_attribute("aria-valuetext")
    look.check()


def test_nothing_is_lost(visit: Callable[..., Look], server: Server) -> None:
    """Check that a refusal and a reload keep all that was typed, and that success forgets it."""
    taken = make_survey(server, ONCE)
    look = open_form(visit(expected=("409",)))
    fill_once(look)
    fill(look, "Purpose", "The shares help.")
    fill(look, "Name in the address", taken)
    look.page.get_by_label("Again and again").check()
    look.page.get_by_label("One report per invite").check()
    press(look, MAKE)
    see(look, "Another survey has this name. Choose another one.")
    look.page.reload()
    wait_for(look, "surveys")
    assert look.page.get_by_label("Title").input_value() == "How we eat"
    assert look.page.get_by_label("Purpose").input_value() == "The shares help."
    assert look.page.get_by_label("Again and again").is_checked()
    assert look.page.get_by_label("One report per invite").is_checked()
    assert "vegetarian" in look.page.get_by_label("Answers", exact=True).input_value()
    name = new_name()
    fill(look, "Name in the address", name)
    finish(look)
    assert find(server, name)["about"]["purpose"] == "The shares help."
    look.page.get_by_role("link", name="All surveys").click()
    wait_for(look, "surveys")
    assert not look.page.get_by_label("Title").is_visible()
    look.page.get_by_role("heading", name="New survey").click()
    assert look.page.get_by_label("Title").input_value() == ""
    look.check()


def show_faults(look: Look) -> None:
    """Show the form with an error in each field."""
    open_form(look)
    press(look, MAKE)


def show_form(look: Look) -> None:
    """Show the form with two questions, and with all fields."""
    open_form(look)
    fill_once(look)
    press(look, "Add a question")
    fill(look, "Answers", "yes\nno", 1)
    fill(look, "Question", "a" * 100, 1)
    for label in ("Again and again", "Begin by the clock", "Show results to everybody"):
        look.page.get_by_label(label).check()
    see(look, "With 1,000 reports")


def show_made(look: Look) -> None:
    """Show a survey that was just made."""
    open_form(look)
    fill_once(look)
    finish(look)


@pytest.mark.parametrize("show", [show_faults, show_form, show_made])
def test_layouts(look: Look, server: Server, show: Callable[[Look], None]) -> None:
    """Check that all states are accessible and fit phones and desks, light, dark and enlarged."""
    make_survey(server)
    show(look)
    look.check_all_layouts()
    look.check()
