"""A whole survey by pages alone: made, answered, watched and closed, with a kill in between."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.batch import HEADER, ID_BYTES
from tests.service.harness import TOKEN, Server, serving, wait_until
from tools.browser import ARGUMENTS, find_chromium

from .collecting import WITH_TOKEN, agree, press, wait_for
from .look import DESK, HEIGHT, PHONE, Look
from .respondent import CANARIES, LOST, Person

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAME = "whole"
PATH = f"/v1/surveys/{NAME}"
FEW = ["canary-of-few-1", "canary-of-few-2", "canary-of-few-3"]
PATIENCE = 60_000


@pytest.fixture
def two_browsers(browser: "Browser") -> Iterator[list["Browser"]]:
    """Two processes of Chromium."""
    second = browser.browser_type.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
    yield [browser, second]
    second.close()


@pytest.fixture
def tab(
    two_browsers: list["Browser"],
) -> Iterator[Callable[[Server, int, int], Look]]:
    """A function that opens a tab of a new profile in one of the browsers."""
    contexts: list[Any] = []

    def open_tab(server: Server, number: int, width: int = PHONE) -> Look:
        chosen = two_browsers[number % len(two_browsers)]
        contexts.append(chosen.new_context(viewport={"width": width, "height": HEIGHT}))
        contexts[-1].set_default_timeout(PATIENCE)
        expected = (*LOST, "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY")
        return Look(contexts[-1], f"http://127.0.0.1:{server.port}", expected)

    yield open_tab
    for each in contexts:
        each.close()


def make(look: Look) -> None:
    """Make a survey with two questions by the form of the start page."""
    look.open(f"/{WITH_TOKEN}")
    wait_for(look, "surveys")
    texts = {"Title": "A whole survey", "Who asks": "The tests", "Name in the address": NAME}
    for label, text in texts.items():
        look.page.get_by_label(label, exact=True).fill(text)
    press(look, "Add a question")
    for at, (question, answers) in enumerate({"Which few?": FEW, "Which many?": CANARIES}.items()):
        look.page.get_by_label("Question", exact=True).nth(at).fill(question)
        look.page.get_by_label("Answers", exact=True).nth(at).fill("\n".join(answers))
    press(look, "Make and open the survey")
    wait_for(look, "made")


def see_users(look: Look, users: int) -> None:
    """Wait until the dashboard shows a number of reports."""
    text = f"{users} report{'' if users == 1 else 's'}. The survey is open."
    look.page.get_by_text(text).filter(visible=True).first.wait_for(timeout=PATIENCE)


def read_reports(people: list[Person]) -> list[bytes]:
    """Return the one report of each person, from all that the tab has sent."""
    found = []
    for each in people:
        bodies = {body for _, body in each.look.bodies()}
        assert len(bodies) == 1, f"{len(bodies)} different bodies of one person"
        (body,) = bodies
        found.append(body[HEADER.size + ID_BYTES :])
    return found


def test_a_whole_survey_in_two_browsers(tab: Callable[..., Look], tmp_path: Path) -> None:
    """Make, answer and close a survey by pages only, and kill the service in between."""
    with serving(f"sqlite:///{tmp_path}/whole.sqlite") as server:
        analyst = tab(server, 0, DESK)
        make(analyst)
        analyst.page.get_by_role("link", name="To the results").click()
        wait_for(analyst, "live")
        people = [Person(tab(server, i), NAME).open().choose(i % 3) for i in range(6)]
        first, second, *rest = people
        first.example()
        for person in (first, second):  # both browsers send before either is waited for
            person.button("Send").click()
        for person in (first, second):
            person.wait("sent")
        see_users(analyst, 2)
        server.kill()
        for person in rest[:3]:
            person.button("Send").click()
        for person in rest[:3]:
            person.wait("waiting")
        rest[2].page.close()  # a report that waits in a tab that is closed
        server.start()
        rest[0].reload().wait("sent", "already")
        rest[1].page.evaluate("dispatchEvent(new Event('online'))")
        rest[1].wait("sent")
        again = Person(
            Look(rest[2].look.context, rest[2].look.origin, rest[2].look.expected), NAME
        ).open()
        again.wait("sent", "already")
        assert rest[3].send() == "sent"
        see_users(analyst, 6)
        wait_until(lambda: server.ask("GET", f"{PATH}/rounds")[1][0]["users"] == 6)
        press(analyst, "Close the survey")
        agree(analyst, "Close the survey")
        wait_until(lambda: server.ask("GET", PATH)[1]["state"] == "closed")
        late = Person(tab(server, 1), NAME).open()
        assert late.state == "closed"
        rest[2].look.asked += again.look.asked
        survey = Survey.from_spec(server.ask("GET", PATH)[1]["spec"])
        status, tally = server.ask("GET", f"{PATH}/rounds/0/tally")
    assert status == 200 and tally == survey.pack(survey.tally(read_reports(people)))
    for each in [*(person.look for person in people), again.look, late.look]:
        each.check_clear([*FEW, *CANARIES])
        each.check()
    assert not late.look.bodies()
    analyst.check()
    assert all(TOKEN not in each.url for each in analyst.asked)
