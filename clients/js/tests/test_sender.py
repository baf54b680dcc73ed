"""Senders in Chromium: tabs, workers, closed tabs, full storage and a service that fails."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.harness import BINARY, serving
from tools.browser import Answer, Visit, serve

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

CLIENT = Path(__file__).parent.parent
PAGE = '<!doctype html><title>…</title><script type="module" src="/page.mjs"></script>'
FILES: dict[str, Path | str] = {
    "/page.html": PAGE,
    "/page.mjs": CLIENT / "tests" / "sender.page.mjs",
    "/ldp.mjs": CLIENT / "dist" / "ldp.mjs",
}
HEADER = 25


def survey_of(**protocol: Any) -> dict[str, Any]:
    """Return the spec of a survey with one question of 256 answers."""
    parts = [{"k": 256, **protocol}]
    return {
        "version": 1,
        "attributes": [{"name": "a", "categories": list(range(256))}],
        "other": None,
        "missing": None,
        "solution": {"version": 1, "protocol": "SPL", "protocols": parts},
    }


SPECS = {
    "once": survey_of(protocol="OUE", epsilon=1.0),
    "weekly": survey_of(protocol="LOSUE", eps_perm=2.0, eps_1=1.0),
}


@dataclass
class Service:
    """A service that counts each id once. ``broken`` says which of its next answers get lost."""

    digests: dict[str, str] = field(default_factory=dict)
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    counted: set[tuple[str, bytes]] = field(default_factory=set)
    broken: int = 0
    held: bool = False

    def answer(self, method: str, path: str, body: bytes) -> Answer | None:
        """Return the answer to a request."""
        name = path.split("/")[3]
        if method == "GET":
            about = {"digest": self.digests[name], "spec": SPECS[name], "schedule": None}
            return 200, json.dumps({**about, "state": "open", "accepted": [0]}).encode()
        self.bodies.append((name, body))
        while self.held:
            time.sleep(0.01)
        if self.broken:
            self.broken -= 1
            return None
        key = name, body[: HEADER + 16]
        fresh = key not in self.counted
        self.counted.add(key)
        return 200, json.dumps({"counted": int(fresh), "duplicates": int(not fresh)}).encode()

    def check(self, many: int = 1) -> None:
        """Hold the submissions to one id and one body per survey."""
        assert len(self.counted) == len(set(self.bodies)) == many


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.held = False


@pytest.fixture
def origin(service: Service) -> Iterator[str]:
    with serve(FILES, service.answer) as found:
        yield found
        service.held = False


def visit(context: "BrowserContext", origin: str, service: Service) -> Visit:
    """Return a new tab."""
    found = Visit(context, origin)
    found.open("/page.html")
    for name, spec in SPECS.items():
        service.digests[name] = found.call("digest", json.dumps(spec))
    return found


def entries_of(tab: Visit) -> list[dict[str, Any]]:
    """Return the entries of the outbox."""
    found: list[dict[str, Any]] = json.loads(tab.call("kept").split("\n")[1])["reports"]
    return found


def check_traffic(tabs: list[Visit], *expected: str) -> None:
    """Hold every tab to its own origin and to the policy."""
    for tab in tabs:
        assert tab.page.evaluate("violations") == []
        assert tab.requests
        assert all(url.startswith(tab.origin + "/") for url in tab.requests)
        assert [text for text in tab.said if not any(each in text for each in expected)] == []


START = """(given) => {
    globalThis.results = [];
    for (const [ask, ...each] of given) {
        (ask === "page" ? call : callWorker)(...each).then((found) => results.push(found));
    }
}"""


def answer_at_once(tabs: list[Visit], name: str, **options: Any) -> list[dict[str, Any]]:
    """Answer a survey in all tabs and in a worker at the same time, each with other answers."""
    tabs[0].page.evaluate("() => startWorker()")
    shares = [[["page", "answer", name, {"a": i}, options]] for i in range(len(tabs))]
    shares[0].append(["worker", "answer", name, {"a": 99}, options])
    for tab, share in zip(tabs, shares, strict=True):
        tab.page.evaluate(START, share)
    found: list[dict[str, Any]] = []
    for tab, share in zip(tabs, shares, strict=True):
        while tab.page.evaluate("results.length") < len(share):
            time.sleep(0.02)
        found += tab.page.evaluate("results")
    return found


def test_four_tabs_and_a_worker_draw_one_report(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tabs = [visit(context, origin, service) for _ in range(4)]
    found = answer_at_once(tabs, "once")
    service.check()
    (_, body) = service.bodies[0]
    values = [each["value"] for each in found]
    sent = {each["report"] for each in values if each["state"] == "sent"}
    assert sent == {body[HEADER + 16 :].hex()}
    assert {each["state"] for each in values} <= {"sent", "sent before"}
    for tab in tabs:
        assert [(each["round"], each["state"]) for each in entries_of(tab)] == [(0, "sent")]
        assert tab.call("answer", "once", {"a": 1})["state"] == "sent before"
    check_traffic(tabs)


def test_four_tabs_and_a_worker_spend_one_limit_for_a_round(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tabs = [visit(context, origin, service) for _ in range(4)]
    tabs[0].call("begin", "weekly")
    found = answer_at_once(tabs, "weekly", limit=2.0)
    # A tab may see the limit before it sees the report that another tab is about to store
    refused = [each["error"] for each in found if "error" in each]
    assert len(found) == 5 and len(refused) < 5
    assert all(each.startswith("LimitReached") for each in refused)
    service.check()
    assert tabs[0].call("spent", "weekly") == 2.0
    check_traffic(tabs)


def test_a_closed_tab_leaves_an_outbox_that_is_sent(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    service.held = True
    tab = visit(context, origin, service)
    tab.page.evaluate("() => void call('answer', 'once', {a: 3})")
    while not service.bodies:
        tab.page.wait_for_timeout(5)
    tab.page.close()
    service.held = False
    later = visit(context, origin, service)
    (entry,) = entries_of(later)
    while later.call("flush") == 0 and entries_of(later)[0]["state"] != "sent":
        later.page.wait_for_timeout(5)
    service.check()
    assert entry["report"] == service.bodies[0][1][HEADER + 16 :].hex()
    assert later.call("answer", "once", {"a": 4})["state"] == "sent before"
    check_traffic([later])


def test_a_tab_that_is_closed_at_any_moment_draws_one_report(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    for wait in (0, 1, 2, 4, 8, 16, 32, 64):
        tab = visit(context, origin, service)
        tab.page.evaluate("() => void call('answer', 'once', {a: 3})")
        tab.page.wait_for_timeout(wait)
        tab.page.close()
    last = visit(context, origin, service)
    assert last.call("answer", "once", {"a": 5})["state"] in ("sent", "sent before")
    service.check()
    assert entries_of(last)[0]["state"] == "sent"


def test_a_service_counts_each_round_of_a_page_once(
    context: "BrowserContext", tmp_path: Path
) -> None:
    """Answer a real service that is killed and started again, through the origin of the page."""
    files = [tmp_path / f"{name}.json" for name in SPECS]
    for file, spec in zip(files, SPECS.values(), strict=True):
        file.write_text(json.dumps(spec))

    def forward(method: str, path: str, body: bytes) -> Answer | None:
        try:
            status, content = server.ask(method, path, body or None, BINARY)
        except OSError:
            return None
        return status, json.dumps(content).encode()

    def users(name: str) -> list[int]:
        rounds = server.ask("GET", f"/v1/surveys/{name}/rounds")[1]
        return [each["users"] for each in rounds]

    with (
        serving(f"sqlite:///{tmp_path / 'reports'}", files) as server,
        serve(FILES, forward) as origin,
    ):
        tab = Visit(context, origin)
        tab.open("/page.html")
        assert tab.call("answer", "once", {"a": 0})["state"] == "sent"
        tab.call("begin", "weekly")
        assert tab.call("answer", "weekly", {"a": 0})["state"] == "sent"
        assert server.ask("POST", "/v1/surveys/weekly/rounds", {"number": 1})[0] == 201
        late = tab.call("answer", "weekly", {"a": 0}, {"round": 7})
        assert late == "Refused: round 7 takes no reports now, only [1]"
        server.kill()
        options = {"round": 1, "timeout": 0.3}
        assert tab.call("answer", "weekly", {"a": 0}, options).startswith("NotDelivered")
        server.start()
        assert tab.call("flush") == 1
        assert tab.call("flush") == 0
        assert tab.call("answer", "weekly", {"a": 9})["state"] == "sent before"
        assert (users("once"), users("weekly")) == ([1], [1, 1])
        assert server.ask("PATCH", "/v1/surveys/weekly", {"state": "closed"})[0] == 200
        assert tab.call("answer", "weekly", {"a": 0}) == 'Refused: the survey is "closed"'
        assert users("weekly") == [1, 1]


def test_lost_answers_are_repeated_with_the_same_bytes(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tab = visit(context, origin, service)
    service.broken = 2
    assert tab.call("answer", "once", {"a": 1})["state"] == "sent"
    assert len(service.bodies) >= 3
    service.check()
    check_traffic([tab], "Failed to load resource")


def test_a_tab_without_a_connection_keeps_its_report(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tab = visit(context, origin, service)
    tab.call("begin", "weekly")
    first = tab.call("answer", "weekly", {"a": 1}, {"round": 0})
    context.set_offline(True)
    options = {"round": 1, "timeout": 0.2}
    assert tab.call("answer", "weekly", {"a": 1}, options).startswith("NotDelivered: no service")
    assert tab.call("answer", "once", {"a": 1}, {"timeout": 0.2}).startswith("NoAnswer")
    waiting = [each["report"] for each in entries_of(tab)]
    assert waiting[0] is None and len(bytes.fromhex(waiting[1])) == 32
    assert waiting[1] != first["report"]
    context.set_offline(False)
    assert tab.call("flush") == 1
    assert service.bodies[-1][1].endswith(bytes.fromhex(waiting[1]))


# Browsers abort the transaction if the disk or the quota is full, or refuse to write at once
FAULTS = {
    "aborted": "function(...given) { const made = own.apply(this, given);"
    " setTimeout(() => this.transaction.abort()); return made; }",
    "aborted later": "function(...given) { const made = own.apply(this, given);"
    " made.onsuccess = () => this.transaction.abort(); return made; }",
    "refused": "function() { throw new DOMException('full', 'QuotaExceededError'); }",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failed_write_sends_no_report(
    name: str, context: "BrowserContext", origin: str, service: Service
) -> None:
    tab = visit(context, origin, service)
    tab.page.evaluate(
        "() => { const own = globalThis.ownPut = IDBObjectStore.prototype.put;"
        f" IDBObjectStore.prototype.put = {FAULTS[name]}; }}"
    )
    assert "Error" in tab.call("answer", "once", {"a": 2})
    assert service.bodies == []
    tab.page.evaluate("() => { IDBObjectStore.prototype.put = ownPut; }")
    assert tab.call("kept") is None
    assert tab.call("answer", "once", {"a": 2})["state"] == "sent"
    service.check()


def test_cleared_storage_is_not_replaced_in_silence(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tab = visit(context, origin, service)
    tab.call("answer", "once", {"a": 2})
    session = context.new_cdp_session(tab.page)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    assert "the outbox is gone" in tab.call("answer", "once", {"a": 2})
    assert len(service.bodies) == 1


def test_a_damaged_outbox_is_never_replaced(
    context: "BrowserContext", origin: str, service: Service
) -> None:
    tab = visit(context, origin, service)
    tab.call("answer", "once", {"a": 2})
    kept = tab.call("kept")
    for wrong in (kept[:-2], kept.replace("sent", "Sent", 1), "{}", kept[65:], ""):
        tab.call("put", wrong)
        assert tab.call("answer", "once", {"a": 2}).startswith(
            "SpecError: the outbox cannot be used"
        )
        assert tab.call("kept") == wrong
    assert len(service.bodies) == 1
