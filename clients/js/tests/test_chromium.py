"""All vectors in Chromium, under the strictest content security policy that can run scripts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tools.browser import Visit, serve

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

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


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve(FILES) as found:
        yield found


def test_vectors_hold_in_chromium(context: "BrowserContext", origin: str) -> None:
    visit = Visit(context, origin)
    visit.open("/page.html")
    assert len(NAMES) == 34
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


def test_reports_use_new_random_bytes_in_chromium(context: "BrowserContext", origin: str) -> None:
    visit = Visit(context, origin)
    visit.open("/page.html")
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


def test_violations_of_the_policy_are_noticed(context: "BrowserContext", origin: str) -> None:
    visit = Visit(context, origin)
    said = visit.page.goto(origin + "/inline.html", wait_until="load")
    policy = "default-src 'none'; script-src 'self'; connect-src 'self'"
    assert said.headers["content-security-policy"] == policy
    assert policy in (CLIENT / "README.md").read_text().replace("\n  ", " ")
    assert visit.page.title() == "inline"
    assert visit.page.evaluate("violations") == ["script-src-elem"]
    assert any("Content Security Policy" in text for text in visit.said)
