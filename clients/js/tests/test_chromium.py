"""All vectors in Chromium, under the strictest content security policy that can run scripts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tools.browser import MISSING, find_chromium, serve, start_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLIENT = Path(__file__).parent.parent
VECTORS = CLIENT.parent.parent / "spec" / "vectors"
NAMES = sorted(path.stem for path in VECTORS.glob("*.json"))
PAGE = '<!doctype html><title>vectors</title><script type="module" src="/run.mjs"></script>'
INLINE = "<!doctype html><title>inline</title><script>document.title = 'run'</script>"
# Counts and messages of all files, and the violations of the policy
RUN = """
import * as ldp from "/ldp.mjs";
import { LEFT_OUT, checkFile } from "/vectors.mjs";
globalThis.check = async (name) => {
    const entries = await (await fetch(`/vectors/${name}.json`)).json();
    return checkFile({ ...ldp, ...ldp.testing }, name, entries);
};
globalThis.leftOut = LEFT_OUT;
globalThis.reports = (text, answers) => {
    const survey = ldp.Survey.parse(text);
    return [0, 1].map(() => ldp.testing.hex(survey.randomize(answers)));
};
document.title = "ready";
"""
FILES: dict[str, Path | str] = {
    "/page.html": PAGE,
    "/inline.html": INLINE,
    "/run.mjs": RUN,
    "/ldp.mjs": CLIENT / "dist" / "ldp.mjs",
    "/vectors.mjs": CLIENT / "tests" / "vectors.mjs",
    **{f"/vectors/{name}.json": VECTORS / f"{name}.json" for name in NAMES},
}


class Visit:
    """A page in Chromium, the requests it made, and its violations and errors."""

    def __init__(self, browser: "Browser", origin: str) -> None:
        self.origin = origin
        self.requests: list[str] = []
        self.said: list[str] = []
        context = browser.new_context()
        context.on("request", lambda request: self.requests.append(request.url))
        self.page: Any = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.add_init_script(
            "globalThis.violations = []; addEventListener('securitypolicyviolation',"
            " (event) => violations.push(event.violatedDirective));"
        )

    def open(self, path: str) -> None:
        self.page.goto(self.origin + path, wait_until="load")


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    if not find_chromium():
        pytest.exit(MISSING, 1)
    with start_chromium() as started:
        yield started


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve(FILES) as found:
        yield found


def test_vectors_hold_in_chromium(browser: "Browser", origin: str) -> None:
    visit = Visit(browser, origin)
    visit.open("/page.html")
    visit.page.wait_for_function("document.title === 'ready'")
    assert len(NAMES) == 32
    left_out = visit.page.evaluate("leftOut")
    for name in (each for each in NAMES if each not in left_out):
        found = visit.page.evaluate("(name) => check(name)", name)
        wanted = len(json.loads((VECTORS / f"{name}.json").read_text()))
        assert wanted > 0
        assert found == {"checked": wanted, "failures": []}, name
    assert visit.page.evaluate("violations") == []
    assert visit.said == []
    assert len(visit.requests) == 4 + len(NAMES) - len(left_out)
    assert all(url.startswith(origin + "/") for url in visit.requests)


def test_reports_use_new_random_bytes_in_chromium(browser: "Browser", origin: str) -> None:
    visit = Visit(browser, origin)
    visit.open("/page.html")
    visit.page.wait_for_function("document.title === 'ready'")
    solution = {"protocol": "SPL", "protocols": [{"protocol": "OUE", "k": 256, "epsilon": 1.0}]}
    survey = {
        "version": 1,
        "attributes": [{"name": "a", "categories": list(range(256))}],
        "other": None,
        "missing": None,
        "solution": {"version": 1, **solution},
    }
    given = [json.dumps(survey), {"a": 7}]
    first, second = visit.page.evaluate("(given) => reports(...given)", given)
    assert first != second
    assert len(first) == len(second) == 64


def test_violations_of_the_policy_are_noticed(browser: "Browser", origin: str) -> None:
    visit = Visit(browser, origin)
    visit.open("/inline.html")
    assert visit.page.title() == "inline"
    assert visit.page.evaluate("violations") == ["script-src-elem"]
    assert any("Content Security Policy" in text for text in visit.said)
