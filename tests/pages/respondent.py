"""A person who answers a survey in a browser, and the surveys that are asked."""

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from multi_freq_ldpy import OUE, RSFD, SPL, Survey
from tests.service.harness import Server

from .look import Look

NUMBERS = count()
CANARIES = [f"canary-{i:02}-of-the-answers" for i in range(40)]
"""Labels that no request may have. With 40 labels, two reports are practically never equal."""

FEW = ["canary-yes", "canary-sometimes", "canary-no"]
ABOUT = {
    "title": "Smoking at work",
    "asker": "The works council of a hospital",
    "purpose": "Help with stopping is offered where it is wanted.",
    "questions": {"smokes": "Do you smoke?", "day": "On which day do you smoke most?"},
}
SURVEYS = {
    "one": Survey({"smokes": FEW}, epsilon=2.0),
    "bits": Survey({"smokes": CANARIES}, epsilon=1.0, protocol=OUE),
    "two": Survey({"smokes": FEW, "day": CANARIES}, epsilon=2.0),
    "all": Survey({"smokes": FEW, "day": CANARIES}, epsilon=2.0, solution=SPL),
    "fakes": Survey({"smokes": FEW, "day": CANARIES}, epsilon=2.0, solution=RSFD),
    "weekly": Survey({"smokes": CANARIES}, eps_perm=2.0, eps_1=1.0),
    "year": Survey({"smokes": FEW}, epsilon=2.0, rounds=4, changes=1),
}
LOST = ("Failed to load resource",)
"""Messages of the console about requests that a test lets fail."""


def create(server: Server, kind: str, state: str = "open", **more: Any) -> str:
    """Create a survey, and return its name."""
    survey, name = SURVEYS[kind], f"{kind}-{next(NUMBERS)}"
    names = [each["name"] for each in survey.to_spec()["attributes"]]
    questions = {each: ABOUT["questions"][each] for each in names}  # type: ignore[index]
    about = {**ABOUT, "questions": questions}
    content = {"name": name, "spec": survey.to_spec(), "about": about, **more}
    status, found = server.ask("POST", "/v1/surveys", content)
    assert status == 201, found
    for each in {"draft": [], "open": ["open"], "closed": ["open", "closed"]}[state]:
        assert server.ask("PATCH", f"/v1/surveys/{name}", {"state": each})[0] == 200
    return name


def users(server: Server, name: str) -> int:
    """Return the number of reports that the service has counted in all rounds."""
    rounds = server.ask("GET", f"/v1/surveys/{name}/rounds")[1]
    return sum(each["users"] for each in rounds)


def invite(server: Server, name: str) -> str:
    """Return a new invite."""
    made = server.ask("POST", f"/v1/surveys/{name}/invites", {"count": 1})[1]
    token: str = made["invites"][0]
    return token


def refuse(status: int, kind: str) -> Callable[[Any], None]:
    """Return what a route does to answer with a problem."""
    problem = {"type": f"/problems/{kind}", "detail": f"This is {kind}.", "status": status}
    return lambda route: route.fulfill(
        status=status, body=json.dumps(problem), content_type="application/problem+json"
    )


class Person:
    """A person in a tab of a browser."""

    def __init__(self, look: Look, name: str, fragment: str = "") -> None:
        self.look, self.page, self.name = look, look.page, name
        self.path = f"/s/{name}{fragment}"

    def open(self) -> "Person":
        """Open the page of the survey."""
        self.look.open(self.path)
        return self

    def reload(self) -> "Person":
        """Load the page again."""
        self.page.reload()
        self.page.locator("main[data-ready]").wait_for()
        return self

    @property
    def state(self) -> str:
        """The state that the page shows."""
        found: str = self.page.locator("main").get_attribute("data-state")
        return found

    def wait(self, *states: str) -> str:
        """Wait until the page is in one of these states, and return it."""
        wanted = ", ".join(f'main[data-ready][data-state="{each}"]' for each in states)
        self.page.locator(wanted).wait_for(timeout=60_000)
        return self.state

    def button(self, text: str) -> Any:
        """Return a button."""
        return self.page.get_by_role("button", name=text, exact=True)

    def consent(self, changes: str = "They may not change") -> "Person":
        """Agree to a survey over time."""
        self.page.get_by_label(changes).first.check()
        self.button("I agree, begin").click()
        self.wait("questions")
        return self

    def choose(self, at: int = 1) -> "Person":
        """Choose an answer to each question."""
        for card in self.page.locator("fieldset").all():
            if card.locator("select").count():
                card.locator("select").select_option(index=at + 1)
            else:
                card.locator("input").nth(at).check()
        return self

    def example(self) -> None:
        """Look at an example."""
        shown = self.page.locator(".example h2")
        before = shown.inner_text() if shown.count() else ""
        self.page.get_by_role("button", name="example").click()
        number = int(before.split()[1].strip(",")) + 1 if before else 1
        self.page.get_by_role("heading", name=f"Example {number}, not sent").wait_for()

    def send(self, *states: str) -> str:
        """Send the answers, and wait for one of these states."""
        self.button("Send").click()
        return self.wait(*(states or ("sent",)))

    def kept(self) -> dict[str, str]:
        """Return all texts that this browser keeps for the service, by name."""
        found: dict[str, str] = self.page.evaluate(READ)
        return found

    def outbox(self) -> list[dict[str, Any]]:
        """Return the entries of the outbox."""
        texts = [text for name, text in self.kept().items() if name.startswith("outbox ")]
        return [each for text in texts for each in json.loads(text.split("\n")[1])["reports"]]

    def write(self, name: str, text: str) -> None:
        """Replace a text that this browser keeps."""
        assert name in self.kept(), (name, list(self.kept()))
        self.page.evaluate(WRITE, [name, text])


OPENED = """
const opened = await new Promise((done, fail) => {
  const request = indexedDB.open("multi-freq-ldpy", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("records");
  request.onsuccess = () => done(request.result);
  request.onerror = () => fail(request.error);
});
const begun = opened.transaction("records", "readwrite"), records = begun.objectStore("records");
const ask = (request) => new Promise((done) => (request.onsuccess = () => done(request.result)));
"""
READ = f"""async () => {{
{OPENED}
const [names, texts] = [await ask(records.getAllKeys()), await ask(records.getAll())];
opened.close();
return Object.fromEntries(names.map((name, i) => [name, texts[i]]));
}}"""
WRITE = f"""async ([name, text]) => {{
{OPENED}
await ask(records.put(text, name));
opened.close();
}}"""


def check_once(server: Server, name: str, tabs: Sequence[Look], sent: int = 1) -> None:
    """Check that all tabs together sent the same bytes, and that they count as one report."""
    bodies = {each for tab in tabs for each in tab.bodies()}
    assert len(bodies) == sent, f"{len(bodies)} different bodies"
    assert users(server, name) == sent


Visit = Callable[..., Look]
