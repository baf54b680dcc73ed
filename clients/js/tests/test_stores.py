"""The stores of browsers in Chromium: tabs, workers, lost and damaged storage, and full quotas."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tools.browser import Visit, serve

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

CLIENT = Path(__file__).parent.parent
PAGE = '<!doctype html><title>…</title><script type="module" src="/page.mjs"></script>'
FILES: dict[str, Path | str] = {
    "/page.html": PAGE,
    "/page.mjs": CLIENT / "tests" / "stores.page.mjs",
    "/ldp.mjs": CLIENT / "dist" / "ldp.mjs",
    **{
        f"/stores/{name}.js": CLIENT / "dist" / "stores" / f"{name}.js"
        for name in ("indexeddb", "local")
    },
}
KINDS = ["indexeddb", "local"]
PRICE = 2.0


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve(FILES) as found:
        yield found


def visit(context: "BrowserContext", origin: str) -> Visit:
    """Return a new tab."""
    found = Visit(context, origin)
    found.open("/page.html")
    return found


def classes_of(record: str) -> set[int]:
    """Return the values that a record has charged."""
    charged = json.loads(record.split("\n")[0])["classes"]
    return {memo_class - 1 for memo_class in charged.get("0", [])}


def check_traffic(tabs: list[Visit]) -> None:
    """Hold every tab to its own origin and to the policy."""
    for tab in tabs:
        assert tab.page.evaluate("violations") == []
        assert tab.requests
        assert all(url.startswith(tab.origin + "/") for url in tab.requests)
        assert [text for text in tab.said if not text.startswith("told ")] == []


START = """([own, options]) => {
    globalThis.results = [];
    for (const [ask, values] of own.map((values, i) => [i ? callWorker : call, values])) {
        ask("many", values).then((found) => results.push(found));
    }
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_four_tabs_and_a_worker_share_one_record(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    tabs = [visit(context, origin) for _ in range(4)]
    limit = {"limit": 100 * PRICE}
    assert tabs[0].call("begin", kind, limit) is False
    for tab in tabs[1:]:
        assert tab.call("open", kind, limit) is True
    # Values overlap between neighbours, so that some classes are charged by two of them
    values = [[(40 * i + j) % 256 for j in range(60)] for i in range(5)]
    shares = [[each] for each in values[:4]]
    if kind == "indexeddb":  # workers have no localStorage
        tabs[0].page.evaluate("() => startWorker()")
        opened = tabs[0].page.evaluate("(limit) => callWorker('open', 'indexeddb', limit)", limit)
        assert opened == {"value": True}
        shares[0].append(values[4])
    for tab, own in zip(tabs, shares, strict=True):
        tab.page.evaluate(START, [own, limit])
    results = []
    for tab, own in zip(tabs, shares, strict=True):
        while tab.page.evaluate("results.length") < len(own):
            time.sleep(0.02)
        results += tab.page.evaluate("results")
    told = {value for found in results for value in found["value"]["told"]}
    refused = {value for found in results for value in found["value"]["refused"]}
    assert len(told) == 100 and refused
    assert not told & refused
    for tab in tabs:
        record = tab.call("export")
        assert classes_of(record) == told
        assert tab.call("spent") == 100 * PRICE
    check_traffic(tabs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tab_that_is_closed_in_the_middle_loses_nothing(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    first = visit(context, origin)
    first.call("begin", kind)
    for start in range(0, 200, 40):
        tab = visit(context, origin)
        tab.call("open", kind)
        tab.page.evaluate("(own) => { call('many', own) }", [*range(start, start + 40)])
        while len(tab.said) < 3:
            tab.page.wait_for_timeout(1)
        tab.page.close()
        told = {int(re.sub(r"told ", "", text)) for text in tab.said}
        end = time.monotonic() + 60  # localStorage shows the last write of a closed tab late
        while not told <= (charged := classes_of(first.call("export"))):
            assert time.monotonic() < end, told - charged
            first.page.wait_for_timeout(20)
        assert first.call("spent") == PRICE * len(charged)


@pytest.mark.parametrize("kind", KINDS)
def test_cleared_storage_is_not_replaced_in_silence(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    tab, other = visit(context, origin), visit(context, origin)
    tab.call("begin", kind)
    before = tab.call("report", 7)
    assert other.call("open", kind) is True
    session = context.new_cdp_session(tab.page)
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    for each in (tab, other):
        assert "record of the client is gone" in each.call("report", 7)
        assert each.call("open", kind) is False
    assert tab.call("begin", kind) is False
    assert tab.call("report", 7) != before
    assert tab.call("spent") == PRICE


# Browsers abort the transaction if the disk or the quota is full, or refuse to write at once
FAULTS = {
    "aborted": "function(...given) { const made = own.apply(this, given);"
    " setTimeout(() => this.transaction.abort()); return made; }",
    "aborted later": "function(...given) { const made = own.apply(this, given);"
    " made.onsuccess = () => this.transaction.abort(); return made; }",
    "refused": "function() { throw new DOMException('full', 'QuotaExceededError'); }",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failed_write_is_no_report(name: str, context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    tab.call("begin", "indexeddb")
    before = tab.call("report", 1)
    tab.page.evaluate(
        "() => { const own = globalThis.ownPut = IDBObjectStore.prototype.put;"
        f" IDBObjectStore.prototype.put = {FAULTS[name]}; }}"
    )
    assert "Error" in tab.call("report", 2)
    tab.page.evaluate("() => { IDBObjectStore.prototype.put = ownPut; }")
    assert tab.call("spent") == PRICE
    assert classes_of(tab.call("export")) == {1}
    assert tab.call("report", 1) == before
    assert len(tab.call("report", 2)) == len(before)
    assert tab.call("spent") == 2 * PRICE


# Random bytes, because the browser compresses the others
FILL = """async () => {
    const opened = indexedDB.open("fill");
    const database = await new Promise((done) => {
        opened.onupgradeneeded = () => opened.result.createObjectStore("bytes");
        opened.onsuccess = () => done(opened.result);
    });
    const put = (size, key) => new Promise((done) => {
        const written = database.transaction("bytes", "readwrite");
        written.objectStore("bytes").put(crypto.getRandomValues(new Uint8Array(size)), key);
        written.oncomplete = () => done(null);
        written.onabort = () => done(written.error.name);
    });
    const refused = new Set();
    for (let size = 2 ** 16, key = 0; size >= 16; size >>= 1) {
        let said = null;
        while (!said) said = await put(size, key++);
        refused.add(said);
    }
    database.close();
    return [...refused];
}"""


def test_a_full_indexeddb_is_no_report(context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    session = context.new_cdp_session(tab.page)
    quota = {"origin": origin, "quotaSize": 200_000}
    session.send("Storage.overrideQuotaForOrigin", quota)
    tab.call("begin", "indexeddb")
    before = tab.call("report", 1)
    assert tab.page.evaluate(FILL) == ["QuotaExceededError"]
    assert tab.call("report", 2).startswith("QuotaExceededError")
    assert tab.call("spent") == PRICE
    assert classes_of(tab.call("export")) == {1}
    assert tab.call("report", 1) == before
    session.send("Storage.overrideQuotaForOrigin", {"origin": origin})
    assert len(tab.call("report", 2)) == len(before)
    assert tab.call("spent") == 2 * PRICE


COUNT = """() => {
    const own = IDBDatabase.prototype.transaction;
    globalThis.begun = [];
    IDBDatabase.prototype.transaction = function(...given) {
        const made = own.apply(this, given);
        begun.push([made.mode, made.durability, made.db.name]);
        return made;
    };
}"""


def test_a_report_is_one_strict_transaction(context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    tab.call("begin", "indexeddb")
    tab.page.evaluate(COUNT)
    for value in (1, 2, 1):
        assert "Error" not in tab.call("report", value)
    assert tab.page.evaluate("begun") == [["readwrite", "strict", "multi-freq-ldpy"]] * 3


CLOSE = """() => {
    const own = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function(...given) {
        IDBDatabase.prototype.transaction = own;
        this.close();
        return own.apply(this, given);
    };
}"""


def test_a_closed_connection_is_opened_again(context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    tab.call("begin", "indexeddb")
    before = tab.call("report", 1)
    tab.page.evaluate(CLOSE)
    assert tab.call("report", 1) == before
    assert tab.call("spent") == PRICE


def test_a_full_local_storage_is_no_report(context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    tab.call("begin", "local")
    tab.call("report", 1)
    fill = """() => {
        for (let size = 2 ** 22; size; size >>= 1) {
            try {
                localStorage.setItem(`fill ${size}`, "x".repeat(size));
            } catch {}
        }
    }"""
    tab.page.evaluate(fill)
    assert tab.call("report", 100).startswith("QuotaExceededError")
    assert tab.call("spent") == PRICE
    tab.page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('fill'))"
        ".forEach((key) => localStorage.removeItem(key))"
    )
    assert "Error" not in tab.call("report", 100)
    assert tab.call("spent") == 2 * PRICE


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_record_is_never_replaced(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    tab = visit(context, origin)
    tab.call("begin", kind)
    record = tab.call("export")
    for wrong in (record[:-2], record.replace("a", "b", 1), "{}", "left"):
        tab.call("put", wrong)
        for action in (["open", kind], ["begin", kind], ["begin", kind, {"again": True}]):
            found = tab.call(*action)
            assert isinstance(found, str) and found.startswith(("SpecError", "Error")), found
        assert tab.call("kept") == wrong


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_copy_repeats_permanent_answers(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    tab = visit(context, origin)
    tab.call("begin", kind)
    old = tab.call("export")
    reports = [tab.call("report", value) for value in (1, 2)]
    tab.call("put", old)
    assert tab.call("spent") == 0
    assert [tab.call("report", value) for value in (1, 2)] == reports
    assert tab.call("spent") == 2 * PRICE


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_deletes_the_secret_for_all_tabs(
    kind: str, context: "BrowserContext", origin: str
) -> None:
    tab, other = visit(context, origin), visit(context, origin)
    tab.call("begin", kind)
    other.call("open", kind)
    secret = json.loads(tab.call("export").split("\n")[0])["secret"]
    tab.call("leave")
    assert tab.call("kept") == "left\n"
    assert "gone" in other.call("report", 1)
    assert other.call("open", kind) is False
    assert "again: true" in other.call("begin", kind)
    assert other.call("begin", kind, {"again": True}) is False
    record = other.call("export")
    assert secret not in record
    everything = tab.page.evaluate("JSON.stringify({...localStorage})")
    assert secret not in everything


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_survives_the_tab(kind: str, context: "BrowserContext", origin: str) -> None:
    tab = visit(context, origin)
    tab.call("begin", kind)
    before = tab.call("report", 9)
    tab.page.close()
    later = visit(context, origin)
    assert later.call("open", kind) is True
    assert later.call("report", 9) == before
    assert later.call("spent") == PRICE


@pytest.mark.parametrize("text", ["7", "7\n", "7x", "0", "-0", "{}", "7\n{}"])
def test_a_damaged_entry_of_local_storage_is_no_empty_one(
    text: str, context: "BrowserContext", origin: str
) -> None:
    tab = visit(context, origin)
    tab.page.evaluate("(text) => localStorage.setItem('multi-freq-ldpy test', text)", text)
    assert tab.call("open", "local").startswith("SpecError")
    assert "open it" in tab.call("begin", "local")


# Holds a lock as long as the tab lives
HOLD = """(name) => new Promise((held) => {
    navigator.locks.request(name, { mode: "shared" }, () => {
        held();
        return new Promise(() => {});
    });
})"""
LOCKS = "() => navigator.locks.query()"


def test_an_update_of_local_storage_waits_for_the_lock(
    context: "BrowserContext", origin: str
) -> None:
    tab, other = visit(context, origin), visit(context, origin)
    tab.call("begin", "local")
    before = tab.page.evaluate("JSON.stringify(localStorage)")
    other.page.evaluate(HOLD, "multi-freq-ldpy test")
    tab.page.evaluate("() => { call('report', 1).then((found) => { globalThis.found = found; }); }")
    while not (waiting := tab.page.evaluate(LOCKS)["pending"]):
        assert tab.page.evaluate("globalThis.found") is None, "the report did not wait"
    assert [(each["name"], each["mode"]) for each in waiting] == [
        ("multi-freq-ldpy test", "exclusive")
    ]
    assert tab.page.evaluate("JSON.stringify(localStorage)") == before
    other.page.close()
    while not tab.page.evaluate("globalThis.found"):
        tab.page.wait_for_timeout(20)
    assert tab.call("spent") == PRICE


def test_a_tab_shows_the_last_record_that_it_has_seen(
    context: "BrowserContext", origin: str
) -> None:
    tab = visit(context, origin)
    tab.call("begin", "local")
    for value in range(3):
        tab.call("report", value)
        number = tab.page.evaluate("localStorage['multi-freq-ldpy test']").split("\n")[0]
        assert number == str(value + 2)
        end = time.monotonic() + 60  # the lock of the last record is released a little later
        wanted = {f"multi-freq-ldpy-seen {number} test"}
        while {each["name"] for each in tab.page.evaluate(LOCKS)["held"]} != wanted:
            assert time.monotonic() < end


def test_a_write_that_has_not_arrived_is_an_error(context: "BrowserContext", origin: str) -> None:
    tab, other = visit(context, origin), visit(context, origin)
    tab.call("begin", "local")
    other.page.evaluate(HOLD, "multi-freq-ldpy-seen 99 test")
    assert "has not arrived" in tab.call("report", 1)
    other.page.close()
    held = "async () => (await navigator.locks.query()).held.some((each) => each.name.includes(99))"
    while tab.page.evaluate(held):
        tab.page.wait_for_timeout(20)
    assert tab.call("spent") == 0
    assert "Error" not in tab.call("report", 1)
