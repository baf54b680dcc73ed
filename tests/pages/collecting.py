"""Surveys and reports at the service, for the tests of the dashboard and the start page."""

import secrets
from typing import Any

from multi_freq_ldpy import Survey
from multi_freq_ldpy.service.batch import write_batch
from tests.service.harness import TOKEN, Server

from .look import Look

ATTRIBUTES = {"diet": ["everything", "vegetarian", "vegan"], "smokes": ["yes", "no"]}
ONCE: dict[str, Any] = {"attributes": ATTRIBUTES, "epsilon": 2.0}
WEEKLY: dict[str, Any] = {"attributes": ATTRIBUTES, "eps_perm": 3.0, "eps_1": 1.5}
HISTORY: dict[str, Any] = {"attributes": ATTRIBUTES, "epsilon": 4.0, "rounds": 3, "changes": 1}
ABOUT = {
    "title": "How we <b>eat</b>",
    "asker": "City of Lyon",
    "purpose": "The shares help to plan school meals.",
    "questions": {"diet": "How do you eat?"},
}
WITH_TOKEN = f"#token={TOKEN}"


def new_name() -> str:
    """Return a name that no other test uses. Its last letter is no digit of a number behind it."""
    return f"survey-{secrets.token_hex(6)}-x"


def ask(server: Server, method: str, path: str, content: Any = None) -> Any:
    """Return the content of an answer, which is no problem."""
    status, found = server.ask(method, f"/v1{path}", content)
    assert status < 300, found
    return found


def make_survey(server: Server, spec: Any = ONCE, state: str = "open", **rules: Any) -> str:
    """Make a survey, and return its name."""
    name = new_name()
    ask(server, "POST", "/surveys", {"name": name, "spec": spec, **rules})
    for each in ("open", "closed")[: ("draft", "open", "closed").index(state)]:
        ask(server, "PATCH", f"/surveys/{name}", {"state": each})
    return name


def find(server: Server, name: str) -> Any:
    """Return a survey."""
    return ask(server, "GET", f"/surveys/{name}")


def send(server: Server, name: str, many: int, round: int = 0, **headers: str) -> int:
    """Send reports, and return the status of the answer."""
    survey = Survey.from_spec(find(server, name)["spec"])
    solution = survey.solution if survey.rounds is None else survey.solution.at(round)
    answers = [[i * i % k for k in solution.ks] for i in range(many)]
    data, size = solution.randomize(answers).tobytes(), solution.report_bytes
    reports = [data[i : i + size] for i in range(0, len(data), size)]
    body = write_batch(survey.digest, round, [(secrets.token_bytes(16), r) for r in reports])
    own = {"Content-Type": "application/octet-stream", **headers}
    return server.ask("POST", f"/v1/surveys/{name}/reports", body, own)[0]


def wait_for(look: Look, state: str) -> None:
    """Wait until the page is in a state."""
    look.page.locator(f"main[data-state={state}]").wait_for(timeout=30_000)


def press(look: Look, name: str) -> None:
    """Click a button."""
    look.page.get_by_role("button", name=name, exact=True).click()


def agree(look: Look, name: str) -> None:
    """Agree in the dialog."""
    look.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def save(look: Look, name: str) -> tuple[str, bytes]:
    """Click a button that saves a file, and return the name of the file and its content."""
    with look.page.expect_download() as waiting:
        press(look, name)
    found = waiting.value
    return found.suggested_filename, found.path().read_bytes()
