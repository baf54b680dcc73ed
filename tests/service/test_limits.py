"""Tests of limits and of the network: rates, proxies, other origins, TLS, slow readers."""

import asyncio
import http.client
import random
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn

from multi_freq_ldpy.service import rate as rate_module
from multi_freq_ldpy.service.limits import GuardedProtocol
from multi_freq_ldpy.service.rate import Rate, find_address, name_network
from multi_freq_ldpy.service.server import Settings, describe
from multi_freq_ldpy.service.store import Store

from .harness import serving
from .test_api import ONCE, App, app, batch, check_problem, draw
from .test_commands import run

__all__ = ["app"]

# Rates


def test_a_bucket_by_its_definition() -> None:
    """Compare random requests with buckets that are counted in fractions of a request."""
    chooser = random.Random(1)
    for most in (1, 3, 50):
        rate, level, before, now = Rate(most), float(most), 0.0, 0.0
        for _ in range(2000):
            now += chooser.expovariate(2 * most)
            level = min(most, level + (now - before) * most)
            before = now
            allowed = rate.allow("192.0.2.1", now)
            if abs(level - 1) > 1e-6:  # rounding decides in between
                assert allowed == (level >= 1)
            level -= allowed


def test_addresses_have_buckets_of_their_own() -> None:
    """Check that addresses do not share a limit, and that networks of IPv6 do."""
    rate = Rate(1)
    assert rate.allow("192.0.2.1", 0) and rate.allow("192.0.2.2", 0)
    assert not rate.allow("192.0.2.1", 0.5) and rate.allow("192.0.2.1", 1)
    assert rate.allow("2001:db8::1", 0) and not rate.allow("2001:db8::ffff:1", 0)
    assert rate.allow("2001:db8:0:1::1", 0)


NAMES = {
    "192.0.2.1": "192.0.2.1",
    "192.0.2.1:8080": "192.0.2.1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
    "[2001:db8:1:2::9]:443": "2001:db8:1:2::",
    "fe80::1%eth0": "fe80::",
    "": "unknown",
    "unknown": "unknown",
    "_hidden": "unknown",
    "999.1.1.1": "unknown",
    "x" * 10_000: "unknown",
}


@pytest.mark.parametrize("address", NAMES)
def test_networks(address: str) -> None:
    """Check the name under which an address is counted."""
    assert name_network(address) == NAMES[address]


FORWARDED: list[tuple[int, list[bytes], str]] = [
    (0, [b"203.0.113.1"], "peer"),
    (1, [], "peer"),
    (1, [b"203.0.113.1"], "203.0.113.1"),
    (1, [b"198.51.100.9, 203.0.113.1"], "203.0.113.1"),
    (2, [b"198.51.100.9, 203.0.113.1"], "198.51.100.9"),
    (2, [b"198.51.100.9", b"203.0.113.1"], "198.51.100.9"),
    (2, [b"203.0.113.1"], "peer"),
    (3, [b"1.1.1.1, 2.2.2.2,3.3.3.3 ,4.4.4.4"], "2.2.2.2"),
    (1, [b"1.1.1.1,"], ""),
]


@pytest.mark.parametrize(("proxies", "lines", "expected"), FORWARDED)
def test_the_address_behind_proxies(proxies: int, lines: list[bytes], expected: str) -> None:
    """Check that only entries which the own proxies have written are used."""
    headers = [(b"x-forwarded-for", each) for each in lines] + [(b"forwarded", b"for=9.9.9.9")]
    scope = {"client": ("peer", 1), "headers": headers}
    assert find_address(scope, proxies) == expected


@pytest.mark.slow
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that many addresses take little memory, and none is kept as it is."""
    monkeypatch.setattr(rate_module, "MOST_ADDRESSES", rate_module.MOST_ADDRESSES // 10)
    chooser, rate, most = random.Random(2), Rate(50), 0
    for i in range(10**5):
        address = ".".join(map(str, chooser.randbytes(4)))
        assert rate.allow(address, i / 10**5)
        most = max(most, len(rate))
    assert most == 2 * rate_module.MOST_ADDRESSES
    kept = [rate._full, rate._former]
    assert sum(sys.getsizeof(each) for each in kept) < 2**24 / 10
    assert all(len(key) == 8 for each in kept for key in each)


def test_addresses_are_forgotten() -> None:
    """Check that an address is forgotten within a minute, also if nobody else comes."""
    rate = Rate(50)
    rate.forget(0)
    rate.allow("192.0.2.1", 0)
    for now in (31, 62):
        rate.forget(now)
    assert len(rate) == 0
    assert Rate(50)._key != Rate(50)._key


@pytest.fixture
def limited(app: App) -> App:
    """Return a service that takes three requests per second behind two proxies."""
    app.service.rate = Rate(3, 2)
    return app


def test_too_many_requests(limited: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that requests beyond the limit are refused, to any address of the service."""
    now = [100.0]
    monkeypatch.setattr(rate_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    own = {"X_Forwarded_For": "6.6.6.6, 203.0.113.1, 10.0.0.1"}
    other = {"X_Forwarded_For": "6.6.6.6, 203.0.113.2, 10.0.0.1"}
    paths = [("GET", "/v1/surveys"), ("GET", "/none"), ("POST", "/v1/surveys/a/reports")]
    for method, path in paths:
        assert limited.ask(method, path, **own).status_code in (200, 404, 415)
    for method, path in [*paths, ("OPTIONS", "/v1/surveys/a"), ("GET", "/metrics")]:
        refused = limited.ask(method, path, **own)
        check_problem(refused, "too-many")
        assert refused.headers["Retry-After"] == "1"
        assert "203.0.113" not in refused.text
    for _ in range(9):
        assert limited.ask("GET", "/healthz", **own).status_code == 200
        assert limited.ask("GET", "/readyz", **own).status_code == 200
    assert limited.ask("GET", "/v1/surveys", **other).status_code == 200
    now[0] += 1
    assert limited.ask("GET", "/v1/surveys", **own).status_code == 200


def test_no_limit(app: App) -> None:
    """Check that 0 sets no limit."""
    assert app.service.rate.most == 0
    assert all(app.ask("GET", "/v1/surveys").status_code == 200 for _ in range(100))


# Pages of other origins

ORIGIN = {"Origin": "https://example.org"}
ALLOW = "Access-Control-Allow-Origin"


@pytest.fixture
def surveys(app: App) -> App:
    """Return a service with surveys of all rules."""
    for rule in ("open", "token", "invite"):
        app.create(rule, ONCE, submission=rule)
        app.create(f"closed-{rule}", ONCE, "closed", submission=rule)
    app.create("draft", ONCE, "draft", submission="token")
    return app


SHARED: list[tuple[str, str, Any]] = [
    ("GET", "/v1/surveys/open", 200),
    ("GET", "/v1/surveys/token", 200),
    ("GET", "/v1/surveys/none", 404),
    ("POST", "/v1/surveys/open/reports", 200),
    ("POST", "/v1/surveys/closed-open/reports", 409),
    ("POST", "/v1/surveys/none/reports", 404),
]


def test_what_other_origins_may_read(surveys: App) -> None:
    """Check answers and problems that pages of other origins may read, without credentials."""
    for method, path, status in SHARED:
        body = batch(ONCE, draw(ONCE, 1)) if method == "POST" else None
        contents = [(body, status)]
        if body is not None and status == 200:
            contents += [(b"x", 400), (body + b"x", 400)]
        for content, expected in contents:
            answer = surveys.ask(method, path, content, token=None, **ORIGIN)
            assert answer.status_code == expected, answer.text
            assert answer.headers[ALLOW] == "*"
            assert answer.headers["Access-Control-Expose-Headers"] == "ETag, Retry-After"
            assert "Access-Control-Allow-Credentials" not in answer.headers
        asked = {**ORIGIN, "Access_Control_Request_Method": method}
        answer = surveys.ask("OPTIONS", path, token=None, **asked)
        assert answer.status_code == 204 and answer.headers[ALLOW] == "*" and not answer.content
        assert answer.headers["Access-Control-Allow-Methods"] == method
        assert answer.headers["Access-Control-Max-Age"] == "86400"
        assert "authorization" not in answer.headers["Access-Control-Allow-Headers"].lower()


OWN: list[tuple[str, str, Any]] = [
    ("GET", "/v1/surveys", None),
    ("PATCH", "/v1/surveys/open", {"public": False}),
    ("DELETE", "/v1/surveys/open", None),
    ("GET", "/v1/surveys/open/rounds", None),
    ("GET", "/v1/surveys/open/rounds/0/estimate", None),
    ("GET", "/v1/surveys/open/events", None),
    ("GET", "/metrics", None),
    ("GET", "/healthz", None),
    ("POST", "/v1/tokens", {"scope": "admin"}),
    ("GET", "/v1/surveys/open/reports", None),
    *(
        ("POST", f"/v1/surveys/{name}/reports", batch(ONCE, draw(ONCE, 1)))
        for name in ("token", "invite", "closed-token")
    ),
]


def test_what_other_origins_may_not_read(surveys: App) -> None:
    """Check that nothing else says that other origins may read it."""
    for method, path, content in OWN:
        for headers in (ORIGIN, {}):
            assert ALLOW not in surveys.ask(method, path, content, **headers).headers, path
        asked = {**ORIGIN, "Access_Control_Request_Method": method}
        answer = surveys.ask("OPTIONS", path, token=None, **asked)
        allowed = answer.headers.get("Access-Control-Allow-Methods", "")
        assert method not in allowed.split(", "), path


def test_other_origins_read_that_they_are_too_many(surveys: App) -> None:
    """Check that the refusal of too many requests has the header too."""
    surveys.service.rate = Rate(1)
    answers = [surveys.ask("GET", "/v1/surveys/open", token=None, **ORIGIN) for _ in range(50)]
    refused = next(each for each in answers if each.status_code == 429)
    assert refused.headers[ALLOW] == "*"


# Addresses and TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the files of a certificate for loopback, and of its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command += ["-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


SAID: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "http://127.0.0.1:8000", True),
    ({"host": "::1"}, "http://[::1]:8000", True),
    ({"proxies": 1}, "http://127.0.0.1:8000, behind 1 proxy.", False),
    ({"host": "0.0.0.0", "proxies": 2}, "http://0.0.0.0:8000, behind 2 proxies.", False),
    ({"host": "0.0.0.0", "tls": True}, "https://0.0.0.0:8000.", False),
    ({"host": "::", "tls": True}, "https://[::]:8000.", False),
    ({"tls": True}, "https://127.0.0.1:8000", True),
]


@pytest.mark.parametrize(("given", "address", "local"), SAID)
def test_who_reaches_the_service(
    given: dict[str, Any],
    address: str,
    local: bool,
    tmp_path: Path,
    certificate: tuple[Path, Path],
) -> None:
    """Check that the start says who reaches the service, and nothing that is not true."""
    given = dict(given)
    if given.pop("tls", False):
        given |= dict(zip(("certificate", "key"), map(str, certificate), strict=True))
    settings = Settings(**given)
    settings.check()
    store = Store(f"sqlite:///{tmp_path}/a.sqlite")
    said = describe(store, settings, None)
    store.close()
    assert f"Listening on {address}" in said
    assert ("on this machine only" in said) == local


def test_wrong_certificates(
    certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that files which are no certificate with its key are refused in one sentence."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: pytest.fail("it was started"))
    monkeypatch.chdir(tmp_path)
    cert, key = map(str, certificate)
    locked = str(tmp_path / "locked.pem")
    command = ["openssl", "ec", "-in", key, "-aes128", "-passout", "pass:canary", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)
    for given, why in (
        (["--tls-cert", cert], "go together"),
        (["--tls-key", key], "go together"),
        (["--tls-cert", cert, "--tls-key", cert], "no certificate with its key"),
        (["--tls-cert", key, "--tls-key", key], "no certificate with its key"),
        (["--tls-cert", cert, "--tls-key", locked], "no certificate with its key"),
        (["--tls-cert", "none.pem", "--tls-key", key], "none.pem: No such file"),
        (["--tls-cert", cert, "--tls-key", str(tmp_path)], "Is a directory"),
    ):
        assert why in run("serve", "--host", "0.0.0.0", *given, code=2)
    assert not list(tmp_path.glob("*.sqlite"))


@pytest.mark.process
def test_tls(tmp_path: Path, files: list[Path], certificate: tuple[Path, Path]) -> None:
    """Check that a service with a certificate answers over TLS, and only so."""
    cert, key = map(str, certificate)
    options = ["--tls-cert", cert, "--tls-key", key]
    trusted = ssl.create_default_context(cafile=cert)
    with serving(
        f"sqlite:///{tmp_path}/a.sqlite", files, options=options, context=trusted
    ) as server:
        assert server.ask("GET", "/v1/surveys")[0] == 200
        with (
            pytest.raises(http.client.RemoteDisconnected),
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz"),
        ):
            pass


@pytest.mark.process
def test_headers_of_proxies_are_ignored(tmp_path: Path, files: list[Path]) -> None:
    """Check that without proxies a client cannot choose its address, and with one it can."""
    found = {}
    for proxies in ("0", "1"):
        options = ["--rate", "5", "--behind-proxy", proxies]
        database = f"sqlite:///{tmp_path}/{proxies}.sqlite"
        with serving(database, files, options=options) as server:
            url = f"http://127.0.0.1:{server.port}/v1/surveys/smoking"
            with httpx.Client() as client:
                found[proxies] = {
                    client.get(url, headers={"X-Forwarded-For": f"203.0.113.{i}"}).status_code
                    for i in range(40)
                }
    assert found == {"0": {200, 429}, "1": {200}}


# Slow readers


class _Transport:
    """A transport that notes whether it was aborted."""

    def __init__(self) -> None:
        self.aborted = asyncio.Event()
        self.held, self.taken = 10**6, 0

    def get_extra_info(self, _: str, default: Any = None) -> Any:
        return default

    def abort(self) -> None:
        self.aborted.set()

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        self.held = max(0, self.held - self.taken)
        return self.held

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def _pause(resume: bool, taken: int = 0) -> bool:
    """Pause writing, while a client takes some bytes at a time. Returns True if it was cut."""
    config = uvicorn.Config(app=lambda *_: None, log_config=None)
    config.load()
    protocol = GuardedProtocol(config, uvicorn.server.ServerState(), {})
    protocol.slowest_reader = 0.05
    transport: Any = _Transport()
    transport.taken = taken
    protocol.connection_made(transport)
    protocol.pause_writing()
    if resume:
        protocol.resume_writing()
    if resume or taken:
        await asyncio.sleep(0.4)
    else:
        await asyncio.wait_for(transport.aborted.wait(), 30)
    protocol.connection_lost(None)
    return bool(transport.aborted.is_set())


def test_a_reader_that_takes_nothing_is_cut() -> None:
    """Check that a client must take some of its answer in time, and that others are not cut."""
    assert asyncio.run(_pause(False))
    assert not asyncio.run(_pause(True))
    assert not asyncio.run(_pause(False, taken=1000))
