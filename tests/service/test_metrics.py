"""Tests of the figures for Prometheus: their values, their readers, several processes."""

import re
import time
from typing import Any

import pytest

from multi_freq_ldpy.service import metrics, rounds
from multi_freq_ldpy.service.metrics import Metrics
from multi_freq_ldpy.service.problems import TITLES
from multi_freq_ldpy.service.store import Unavailable

from .test_api import ONCE, WAVES, App, app, batch, check_problem, draw

__all__ = ["app"]

LINE = re.compile(r"([a-z_]+)(\{[^}]*\})? ([0-9.e+-]+)")
NAMES = {
    "reports_counted_total": "counter",
    "reports_duplicate_total": "counter",
    "requests_refused_total": "counter",
    "group_size": "histogram",
    "commit_seconds": "histogram",
    "queue_reports": "gauge",
    "round_users": "gauge",
    "database_up": "gauge",
}


def read(page: str) -> dict[str, float]:
    """Return the figures of a page by name and labels."""
    lines = [each for each in page.splitlines() if not each.startswith("#")]
    found = [LINE.fullmatch(each) for each in lines]
    assert all(found), lines
    return {(each[1] + (each[2] or "")): float(each[3]) for each in found if each is not None}


def test_figures(app: App) -> None:
    """Check every figure against what was done."""
    app.create("a", ONCE)
    app.create("b", WAVES)
    body = batch(ONCE, draw(ONCE, 5))
    for _ in range(3):
        app.ask("POST", "/v1/surveys/a/reports", body)
    app.send("b", WAVES, draw(WAVES, 2))
    app.ask("POST", "/v1/surveys/b/rounds", {"number": 1})
    app.send("b", WAVES, draw(WAVES, 4, 1), 1)
    refused = [
        ("POST", "/v1/surveys/a/reports", body[:-1], "malformed"),
        ("POST", "/v1/surveys/a/reports", b"", "malformed"),
        ("GET", "/v1/surveys/none", None, "not-found"),
        ("POST", "/v1/tokens", {}, "invalid"),
    ]
    for method, path, content, kind in refused:
        check_problem(app.ask(method, path, content), kind)
    answer = app.ask("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", answer.text, re.M))
    assert types == NAMES
    found = read(answer.text)
    expected = {
        "reports_counted_total": 11,
        "reports_duplicate_total": 10,
        'requests_refused_total{problem="malformed"}': 2,
        'requests_refused_total{problem="not-found"}': 1,
        'requests_refused_total{problem="invalid"}': 1,
        "group_size_count": 5,
        "group_size_sum": 11,
        'group_size_bucket{le="5.0"}': 5,
        'group_size_bucket{le="1.0"}': 2,
        "commit_seconds_count": 5,
        "queue_reports": 0,
        "database_up": 1,
        'round_users{round="0",survey="a"}': 5,
        'round_users{round="1",survey="b"}': 4,
    }
    assert {name: found[name] for name in expected} == expected
    assert not any(name.startswith("round_users") for name in found.keys() - expected.keys())
    kinds = {each.partition('"')[2][:-2] for each in found if each.startswith("requests")}
    assert kinds <= set(TITLES)


def test_a_database_that_is_down(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the page names a lost database, to readers who have read it before only."""
    made = app.ask("POST", "/v1/tokens", {"scope": "analyst"}).json()["token"]
    gone = app.ask("POST", "/v1/tokens", {"scope": "analyst"}).json()
    for token in (made, gone["token"]):
        assert read(app.ask("GET", "/metrics", token=token).text)["database_up"] == 1
    app.ask("DELETE", f"/v1/tokens/{gone['hash']}")
    check_problem(app.ask("GET", "/metrics", token=gone["token"]), "no-token")

    def fail(_: Any) -> Any:
        raise Unavailable("x")

    monkeypatch.setattr(type(app.store), "read", fail)
    found = read(app.ask("GET", "/metrics", token=made).text)
    assert found["database_up"] == 0 and not any("round_users{" in each for each in found)
    for token in (None, "x" * 43, gone["token"]):
        check_problem(
            app.ask("GET", "/metrics", token=token), "unavailable" if token else "no-token"
        )


def test_a_database_that_hangs(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a page comes although the database hangs, and that few threads wait for it."""
    from threading import Event

    app.ask("GET", "/metrics")
    monkeypatch.setattr(metrics, "PATIENCE", 0.05)
    hanging, calls = Event(), []

    def hang(_: Any) -> Any:
        calls.append(1)
        hanging.wait(60)
        raise Unavailable("x")

    for name in ("advance_all", "sweep"):  # the background work uses the database too
        monkeypatch.setattr(rounds, name, lambda *_: 0)
    time.sleep(0.2)
    with monkeypatch.context() as patch:
        patch.setattr(type(app.store), "read", hang)
        for _ in range(20):
            assert read(app.ask("GET", "/metrics").text)["database_up"] == 0
        assert len(calls) <= metrics.MOST_ASKING
        hanging.set()
    while read(app.ask("GET", "/metrics").text)["database_up"] == 0:
        pass


def test_few_tokens_are_remembered(app: App) -> None:
    """Check that the tokens that are remembered do not grow, and that none is kept as it is."""
    known = app.service.metrics._known
    for _ in range(metrics.MOST_KNOWN + 5):
        token = app.ask("POST", "/v1/tokens", {"scope": "analyst"}).json()["token"]
        app.ask("GET", "/metrics", token=token)
        assert token not in known
    assert len(known) == metrics.MOST_KNOWN


def test_figures_of_services_do_not_mix(app: App) -> None:
    """Check that each service of a process has its own figures."""
    other = Metrics(app.store)
    other.note_problem("fault")
    assert "fault" not in app.ask("GET", "/metrics").text
