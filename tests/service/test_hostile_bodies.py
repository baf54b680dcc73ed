"""Tests of hostile requests: arbitrary bodies, lies about lengths, slow and idle clients."""

import json
import os
import random
import socket
import struct
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from multi_freq_ldpy import GRR, SPL, Survey
from multi_freq_ldpy.service.batch import count_records, read_header, write_batch
from multi_freq_ldpy.service.limits import LARGEST_BODY, MOST_RECORDS

from .harness import AUTHORIZED, Server, serving
from .test_api import App, running

VALUES = Survey({"a": [0, 1, 2, 3]}, epsilon=1.0, solution=SPL, protocol=GRR)
"""A survey whose reports are one byte, from 0 to 3."""

DIGEST = bytes.fromhex(VALUES.digest)
RECORD = 17
PATH = "/v1/surveys/a/reports"
BINARY = (b"content-type", b"application/octet-stream")
QUICK = settings(deadline=None, max_examples=100, database=None)

Headers = Sequence[tuple[bytes, bytes]]

BODIES = int(os.environ.get("BODIES", "2000"))
SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="module")
def app(databases: Callable[[], str]) -> Iterator[App]:
    """Return a service with one open survey."""
    with running(databases()) as made:
        made.create("a", VALUES)
        made.create("draft", VALUES, "draft")
        yield made


def drive(
    app: App, parts: Iterator[bytes], headers: Headers, path: str = PATH, gone: bool = False
) -> tuple[int | None, Any]:
    """Return status and JSON of an answer to a body that comes in parts.

    The status is None if there is no answer, because the client is ``gone``.
    """
    sent: list[Any] = []
    ahead = [next(parts, b"")]

    async def receive() -> Any:
        if not ahead:
            return {"type": "http.disconnect"}
        part, following = ahead.pop(), next(parts, None)
        if following is not None:
            ahead.append(following)
        elif gone:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": following is not None}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": list(headers),
        "client": None,
        "server": None,
    }
    app.portal.call(app.service, scope, receive, send)
    if not sent:
        return None, None
    return sent[0]["status"], json.loads(b"".join(each.get("body", b"") for each in sent))


def look(app: App) -> list[Any]:
    """Return everything that was counted."""
    with app.store.read() as connection:
        tables = ("SELECT * FROM tally ORDER BY 1, 2", "SELECT count(*) FROM report")
        return [connection.exec_driver_sql(each).fetchall() for each in tables]


def expect(body: bytes) -> int:
    """Return the status for a body, by a description that is independent of the service."""
    records, rest = divmod(len(body) - 25, RECORD)
    if len(body) > LARGEST_BODY:
        return 413
    if len(body) < 25 or body[:5] != b"MFLB\x01":
        return 400
    if body[5:21] != DIGEST:
        return 409
    if rest or records < 1:
        return 400
    if records > MOST_RECORDS:
        return 413
    if body[21:25] != bytes(4):
        return 409
    return 422 if max(body[25 + 16 :: RECORD]) > 3 else 200


def check_body(
    app: App, body: bytes, cuts: Sequence[int] = (), headers: Headers = (BINARY,)
) -> int | None:
    """Check the answer to a body, and that only a good one changes what is counted."""
    before = look(app)
    ends = sorted(min(each, len(body)) for each in cuts)
    parts = [body[i:j] for i, j in zip([0, *ends], [*ends, len(body)], strict=True)]
    status, answer = drive(app, iter(parts), headers)
    assert status == expect(body), (status, answer)
    if status == 200:
        assert answer["counted"] + answer["duplicates"] == (len(body) - 25) // RECORD
        assert (look(app) == before) == (answer["counted"] == 0)
        assert look(app)[1][0][0] == before[1][0][0] + answer["counted"]
    else:
        assert answer["status"] == status and look(app) == before
    return status


CHANGES: dict[str, Callable[[bytearray, int], None]] = {
    "nothing": lambda body, n: None,
    "a bit": lambda body, n: body.__setitem__(n % len(body), body[n % len(body)] ^ 1 << n % 8),
    "a byte": lambda body, n: body.__setitem__(n % len(body), n >> 8 & 255),
    "version": lambda body, n: body.__setitem__(4, n % 256),
    "round": lambda body, n: body.__setitem__(slice(21, 25), struct.pack("<I", n)),
    "digest": lambda body, n: body.__setitem__(5 + n % 16, body[5 + n % 16] ^ 255),
    "shorter": lambda body, n: body.__delitem__(slice(n % len(body), None)),
    "longer": lambda body, n: body.extend(bytes(1 + n % 40)),
    "without a piece": lambda body, n: body.__delitem__(slice(n % len(body), n % len(body) + 5)),
}


@st.composite
def bodies(draw: st.DrawFn, digest: str = VALUES.digest, largest: int = 4) -> bytes:
    """Draw a valid body, or one with a few changes."""
    every = st.binary(min_size=16, max_size=16) | st.integers(0, 9).map(lambda n: bytes([n] * 16))
    reports = st.integers(0, largest).map(lambda v: bytes([v]))
    records = draw(st.lists(st.tuples(every, reports), min_size=1, max_size=6))
    body = bytearray(write_batch(digest, 0, records))
    for name in draw(st.lists(st.sampled_from(sorted(CHANGES)), max_size=2)):
        if body[25:]:
            CHANGES[name](body, draw(st.integers(0, 2**32 - 1)))
    return bytes(body)


def draw_body(chooser: random.Random) -> bytes:
    """Return a valid body with up to three changes, or random bytes."""
    if chooser.random() < 0.1:
        return chooser.randbytes(chooser.randrange(200))
    records = [
        (bytes([chooser.randrange(10)] * 16), bytes([chooser.randrange(5)]))
        for _ in range(chooser.randint(1, 6))
    ]
    body = bytearray(write_batch(VALUES.digest, 0, records))
    for name in chooser.choices(sorted(CHANGES), k=chooser.randrange(4)):
        if body[25:]:
            CHANGES[name](body, chooser.getrandbits(32))
    return bytes(body)


def test_many_hostile_bodies(app: App) -> None:
    """Compare the answers to many bodies with their description, and what is counted with 200s."""
    chooser, statuses = random.Random(SEED), Counter[int | None]()
    before = now = look(app)[1][0][0]
    for i in range(BODIES):
        body = draw_body(chooser)
        cut = chooser.randrange(len(body) + 1)
        status, answer = drive(app, iter((body[:cut], body[cut:])), (BINARY,))
        assert status == expect(body), (body, status, answer)
        statuses[status] += 1
        now += answer["counted"] if status == 200 else 0
        if i % 1000 == 0:
            assert look(app)[1][0][0] == now
    assert look(app)[1][0][0] == now > before
    assert set(statuses) == {200, 400, 409, 422}
    print(f"{BODIES} bodies, {sum(statuses.values()) - statuses[200]} refused")


@QUICK
@given(st.binary(max_size=120) | bodies(), st.integers(-3, 40))
def test_reading_a_body(body: bytes, size: int) -> None:
    """Check that a body is read and written without a change, or refused in one sentence."""
    try:
        header = read_header(body)
        many = count_records(body, abs(size))
    except ValueError:
        return
    step = 16 + abs(size)
    rows = [body[25 + i * step : 25 + (i + 1) * step] for i in range(many)]
    records = [(each[:16], each[16:]) for each in rows]
    assert write_batch(header.digest, header.round, records) == body


def test_writing_a_body() -> None:
    """Check that no body is written that could not be read."""
    for records in ([], [(bytes(15), b"")], [(bytes(17), b"")], [(bytes(16), b""), (b"", b"")]):
        with pytest.raises(ValueError, match="must have"):
            write_batch("00" * 16, 0, records)
    for round in (-1, 2**32):
        with pytest.raises(struct.error):
            write_batch("00" * 16, round, [(bytes(16), b"")])


@settings(QUICK, max_examples=200)
@given(
    st.binary(max_size=80) | bodies(),
    st.lists(st.integers(0, 120), max_size=4),
    st.sampled_from([None, 0, 1, 25, 42, LARGEST_BODY]),
)
@example(b"MFLB\x01" + DIGEST + bytes(4 + RECORD), [1, 2, 24, 25], LARGEST_BODY)
@example(b"", [], 0)
def test_arbitrary_bodies(app: App, body: bytes, cuts: list[int], length: int | None) -> None:
    """Check arbitrary bodies, in parts and with wrong lengths, against their description."""
    headers = [BINARY]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    check_body(app, body, cuts, headers)


def test_every_status_is_met(app: App) -> None:
    """Check that the description knows every status, so that no case is empty."""
    good = write_batch(VALUES.digest, 0, [(b"met" * 5 + b"!", b"\x02")])
    cases = {
        good: 200,
        good[:-1]: 400,
        good[:21] + b"\1" + good[22:]: 409,
        good[:-1] + b"\x04": 422,
        good[:25] + good[25:] * 5001: 413,
        good + bytes(LARGEST_BODY): 413,
    }
    assert [check_body(app, body) for body in cases] == list(cases.values())


@settings(QUICK, max_examples=30)
@given(bodies(largest=3), st.integers(0, 5))
def test_clients_that_go_away(app: App, body: bytes, cut: int) -> None:
    """Check that a body that does not end is not counted, and not answered."""
    before = look(app)
    assert drive(app, iter([body[:cut], body[cut:]]), [BINARY], gone=True) == (None, None)
    assert look(app) == before


HEADERS: dict[str, tuple[Headers, int]] = {
    "gzip": ([BINARY, (b"content-encoding", b"gzip")], 415),
    "no encoding": ([BINARY, (b"content-encoding", b"identity")], 415),
    "no type": ([], 415),
    "wrong bytes": ([(b"content-type", b"\xff\xfe")], 415),
    "ten gigabytes": ([BINARY, (b"content-length", b"10000000000")], 413),
    "one byte more": ([BINARY, (b"content-length", b"1000001")], 413),
    "negative": ([BINARY, (b"content-length", b"-5")], 400),
    "text": ([BINARY, (b"content-length", b"abc")], 400),
    "empty": ([BINARY, (b"content-length", b"")], 400),
    "very long": ([BINARY, (b"content-length", b"9" * 5000)], 413),
    "no ascii": ([BINARY, (b"content-length", b"\xff")], 400),
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("path", [PATH, "/v1/surveys"])
def test_lies_in_headers(app: App, name: str, path: str) -> None:
    """Check that no header makes a fault, and that refused bodies count nothing."""
    headers, status = HEADERS[name]
    body = write_batch(VALUES.digest, 0, [(name.encode().ljust(16), b"\0")])
    before = look(app)
    found, _ = drive(app, iter([body]), headers, path)
    assert found is not None and found < 500
    if path == PATH:
        allowed = (200, 400, 413) if status == 400 else (status,)  # uvicorn refuses them before
        assert found in allowed
        assert (look(app) == before) == (found != 200)


@pytest.mark.parametrize("path", [PATH, "/v1/surveys", "/v1/surveys/a"])
@pytest.mark.parametrize("size", [1, 1000, 2**16])
def test_endless_bodies(app: App, path: str, size: int) -> None:
    """Check that a body without an end is refused at the limit, within the memory of the limit."""
    given_out = 0

    def endless() -> Iterator[bytes]:
        nonlocal given_out
        while given_out < 20 * LARGEST_BODY:
            given_out += size * 50 if size == 1 else size
            yield bytes(size * 50 if size == 1 else size)

    before = look(app)
    tracemalloc.start()
    try:
        status, answer = drive(app, endless(), [BINARY], path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert status == 413 and answer["type"] == "/problems/too-large"
    assert given_out <= LARGEST_BODY + 3 * max(size, 50)
    assert peak < 3.5 * LARGEST_BODY
    assert look(app) == before


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["SMP", "GRR", "OUE", "best", "yes", 10**30, -1, 1e308, 2**63])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "protocol", "ks", "a"]), each, max_size=3)
    ),
    max_leaves=6,
)


def replace_leaf(content: Any, steps: Sequence[int], new: Any) -> Any:
    """Return JSON with one entry replaced, which is found by a walk."""
    if not steps or not isinstance(content, list | dict) or not content:
        return new
    if isinstance(content, list):
        at = steps[0] % len(content)
        changed = replace_leaf(content[at], steps[1:], new)
        return [changed if i == at else each for i, each in enumerate(content)]
    key = sorted(content)[steps[0] % len(content)]
    return {**content, key: replace_leaf(content[key], steps[1:], new)}


@settings(QUICK, max_examples=60)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), ANYTHING)
def test_arbitrary_specs(app: App, steps: list[int], new: Any) -> None:
    """Check that no spec of a survey makes a fault, or changes another survey."""
    whole = {"name": "b", "spec": VALUES.to_spec(), "schedule": None}
    content = json.dumps(replace_leaf(whole, steps, new)).encode()
    before = app.ask("GET", "/v1/surveys/a").json()
    json_type = {"Content_Type": "application/json"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large budgets warn
        answer = app.ask("POST", "/v1/surveys", content, **json_type)
        if answer.status_code in (200, 201):
            path = f"/v1/surveys/{answer.json()['name']}"
            assert app.ask("DELETE", path).status_code in (204, 409)
    assert answer.status_code in (200, 201, 409, 422), answer.text
    assert app.ask("GET", "/v1/surveys/a").json() == before


@pytest.mark.parametrize("depth", [10, 300, 900, 5000, 100_000])
def test_deep_json(app: App, depth: int) -> None:
    """Check that JSON of any depth is refused without a fault."""
    for text in ('{"a":' * depth + "1" + "}" * depth, "[" * depth + "]" * depth):
        for whole in (text, f'{{"name":"b","spec":{text}}}', f'{{"name":{text}}}'):
            body = whole.encode()
            answer = app.ask("POST", "/v1/surveys", body, Content_Type="application/json")
            assert answer.status_code in (413, 422)


# A server in a process of its own

SLOWEST = 1.0
PROGRAM = f"""
from multi_freq_ldpy.service.limits import GuardedProtocol
GuardedProtocol.slowest = GuardedProtocol.slowest_reader = {SLOWEST}
from multi_freq_ldpy.cli import main
main()
"""
START = (
    b"POST /v1/surveys/a/reports HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/octet-stream\r\n"
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a service in a process, with a short limit of time."""
    folder: Path = tmp_path_factory.mktemp("slow")
    VALUES.save(folder / "a.json")
    url, log = f"sqlite:///{folder}/a.sqlite", folder / "log"
    with serving(url, [folder / "a.json"], program=PROGRAM, log=log) as made:
        yield made


def connect(own: Server) -> socket.socket:
    """Return a connection to a service."""
    made = socket.create_connection(("127.0.0.1", own.port))
    made.settimeout(10)
    return made


def read_all(connection: socket.socket) -> bytes:
    """Return everything until the service closes the connection."""
    found = b""
    with suppress(ConnectionError):
        while part := connection.recv(2**16):
            found += part
    return found


def drip(own: Server, start: bytes, more: bytes, after: bytes = b"") -> tuple[float, bytes]:
    """Return the time until a connection is cut to which bytes come one by one."""
    with connect(own) as connection:
        if after:
            connection.sendall(after)
            time.sleep(0.2)
            connection.recv(2**16)
        begun = time.monotonic()
        connection.sendall(start)
        connection.settimeout(0.05)
        for i in range(200):
            try:
                if not (answer := connection.recv(2**16)):
                    break
                return time.monotonic() - begun, answer
            except TimeoutError:
                with suppress(ConnectionError):
                    connection.sendall(more[i % max(1, len(more)) :][:1])
            except ConnectionError:
                break
        else:
            raise TimeoutError("the connection is not cut")
        return time.monotonic() - begun, b""


def memory(own: Server) -> int:
    """Return the memory of the process of a service, in bytes."""
    assert own.process is not None
    lines = Path(f"/proc/{own.process.pid}/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith("VmRSS")) * 1024


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW: dict[str, tuple[bytes, bytes, bytes]] = {
    "one byte": (b"P", b"", b""),
    "address": (b"POST /", b"a", b""),
    "headers": (START, b"a: b\r\n", b""),
    "one header": (START + b"X: ", b"y", b""),
    "body": (START + b"Content-Length: 1000\r\n\r\n", b"M", b""),
    "refused body": (
        START.replace(b"octet-stream", b"json") + b"Content-Length: 99\r\n\r\n",
        b"M",
        b"",
    ),
    "chunks": (START + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nM\r\n", b""),
    "trailers": (START + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n", b""),
    "second request": (START, b"a: b\r\n", HEALTH),
    "second body": (START + b"Content-Length: 1000\r\n\r\n", b"M", HEALTH),
}


@pytest.mark.process
def test_slow_clients(own: Server) -> None:
    """Check that every slow request is cut in time, and others are answered meanwhile."""
    with ThreadPoolExecutor(len(SLOW)) as pool:
        running_now = {name: pool.submit(drip, own, *each) for name, each in SLOW.items()}
        while not all(each.done() for each in running_now.values()):
            begun = time.monotonic()
            assert own.ask("GET", "/healthz")[0] == 200
            assert time.monotonic() - begun < 0.5
            time.sleep(0.05)
    for name, each in running_now.items():
        seconds, answer = each.result()
        if name == "refused body" and answer:  # it need not be read to its end
            assert answer.startswith(b"HTTP/1.1 415")
            continue
        assert 0.8 * SLOWEST <= seconds < SLOWEST + 1 and not answer, (name, seconds, answer)
    assert own.ask("GET", "/v1/surveys/a/rounds")[1][0]["users"] == 0


@pytest.mark.process
def test_idle_clients(own: Server) -> None:
    """Check that idle connections are cut in time, and others are answered meanwhile."""
    idle = [connect(own) for _ in range(300)]
    try:
        begun, slowest = time.monotonic(), 0.0
        while time.monotonic() - begun < SLOWEST / 2:
            start = time.monotonic()
            assert own.ask("GET", "/healthz")[0] == 200
            slowest = max(slowest, time.monotonic() - start)
        assert slowest < 0.5
        for each in idle:
            each.settimeout(max(0.01, SLOWEST + 1 - (time.monotonic() - begun)))
            assert each.recv(1) == b""
    finally:
        for each in idle:
            each.close()


@pytest.mark.process
def test_idle_after_an_empty_line(own: Server) -> None:
    """Check that a connection is cut that is idle after a request and an empty line."""
    with connect(own) as connection:
        connection.sendall(HEALTH)
        time.sleep(0.2)
        assert connection.recv(2**16).startswith(b"HTTP/1.1 200")
        connection.sendall(b"\r\n")
        connection.settimeout(SLOWEST + 1)
        assert connection.recv(1) == b""


@pytest.mark.process
def test_requests_far_ahead_of_their_answers(own: Server) -> None:
    """Check that some requests may wait on a connection, and that many end it."""
    with connect(own) as connection:
        connection.sendall(
            HEALTH * 99 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        )
        assert read_all(connection).count(b"HTTP/1.1 200") == 100
    before = memory(own)
    with connect(own) as connection:
        with suppress(ConnectionError):
            connection.sendall(HEALTH * 200_000)
        assert read_all(connection).count(b"HTTP/1.1 200") < 1000
    assert memory(own) - before < 64 * 2**20


def is_cut(connection: socket.socket, seconds: float) -> bool:
    """Return True if a connection ends before a time, while nothing is read from it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection.sendall(b"\r\n")
        except ConnectionError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.process
def test_clients_that_do_not_read(own: Server) -> None:
    """Check that a connection ends whose client takes nothing of its answers."""
    large = Survey({"a": [f"{i:0100}" for i in range(4000)]}, epsilon=1.0, protocol=GRR)
    content = {"name": "large", "spec": large.to_spec()}
    assert own.ask("POST", "/v1/surveys", content)[0] in (200, 201)
    token = AUTHORIZED["Authorization"].encode()
    request = b"GET /v1/surveys/large HTTP/1.1\r\nHost: x\r\nAuthorization: " + token + b"\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", own.port))
        connection.sendall(request * 60)  # answers of 24 MB
        assert is_cut(connection, 20 * SLOWEST)
    assert own.ask("GET", "/healthz")[0] == 200


LONG: dict[str, bytes] = {
    "one value": b"X: " + b"y" * 2_000_000,
    "one name": b"x" * 2_000_000,
    "many": b"a: b\r\n" * 350_000,
    "address": b"",
}


@pytest.mark.process
@pytest.mark.parametrize("name", LONG)
def test_long_headers(own: Server, name: str) -> None:
    """Check that two megabytes of headers are refused, and not kept."""
    before = memory(own)
    start = START + LONG[name] if LONG[name] else b"GET /" + b"a" * 2_000_000
    with connect(own) as connection:
        with suppress(ConnectionError):
            connection.sendall(start + b"\r\n\r\n")
        answer = read_all(connection)
    assert not answer or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert memory(own) - before < 8 * 2**20
    assert own.ask("GET", "/healthz")[0] == 200


@pytest.mark.process
def test_headers_below_the_limit(own: Server) -> None:
    """Check that 15 KB of headers are taken, again and again on one connection."""
    with connect(own) as connection:
        for _ in range(4):
            connection.sendall(HEALTH[:-2] + b"X: " + b"y" * 15_000 + b"\r\n\r\n")
            time.sleep(0.05)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200")


@pytest.mark.process
def test_headers_that_are_split_anywhere(own: Server) -> None:
    """Check that an honest request is taken, wherever its bytes are split on their way."""
    for split in range(1, 6):
        rows = [(b"%d" % split + i.to_bytes(15, "big"), b"\0") for i in range(2000)]
        body = write_batch(VALUES.digest, 0, rows)
        whole = START + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        at = len(whole) - len(body) - split + 1
        with connect(own) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(whole[:at])
            time.sleep(0.05)
            connection.sendall(whole[at:])
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 200"), (split, answer[:60])
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["counted"] == 2000


@pytest.mark.process
def test_trailers_are_not_kept(own: Server) -> None:
    """Check that headers after a chunked body have a limit too."""
    before, largest = memory(own), 0
    lines = b"".join(b"x%d: " % i + b"y" * 1000 + b"\r\n" for i in range(1000))
    with connect(own) as connection, suppress(ConnectionError):
        connection.sendall(START + b"Transfer-Encoding: chunked\r\n\r\n1\r\nM\r\n0\r\n")
        for _ in range(40):
            connection.sendall(lines)
            largest = max(largest, memory(own) - before)
    assert largest < 8 * 2**20


GOOD = write_batch(VALUES.digest, 0, [(b"over a network..", b"\1")])
LIES: dict[str, tuple[bytes, bytes, tuple[bytes, ...]]] = {
    "ten gigabytes": (b"Content-Length: 10000000000", b"MFLB", (b"413",)),
    "text": (b"Content-Length: abc", GOOD, (b"400",)),
    "negative": (b"Content-Length: -5", GOOD, (b"400",)),
    "very long": (b"Content-Length: " + b"9" * 400, GOOD, (b"400", b"413")),
    "two lengths": (b"Content-Length: 42\r\nContent-Length: 41", GOOD, (b"400",)),
    "length and chunks": (
        b"Content-Length: 42\r\nTransfer-Encoding: chunked",
        b"2a\r\n" + GOOD + b"\r\n0\r\n\r\n",
        (b"400",),
    ),
    "shorter": (b"Content-Length: 41", GOOD, (b"400",)),
    "not chunks": (b"Transfer-Encoding: chunked", GOOD, (b"400",)),
    "huge chunk": (b"Transfer-Encoding: chunked", b"fffffffff\r\n" + GOOD, (b"400", b"413", b"")),
    "too huge chunk": (b"Transfer-Encoding: chunked", b"f" * 40 + b"\r\n" + GOOD, (b"400",)),
    "gzip": (b"Content-Encoding: gzip\r\nContent-Length: 42", GOOD, (b"415",)),
    "zero bytes": (b"Content-Length: 0", b"", (b"400",)),
    "header with zero": (b"X: \0\r\nContent-Length: 42", GOOD, (b"400",)),
}


@pytest.mark.process
def test_lies_over_a_network(own: Server) -> None:
    """Check the answers to wrong lengths and encodings, which count nothing."""
    users = own.ask("GET", "/v1/surveys/a/rounds")[1][0]["users"]

    def try_one(lie: tuple[bytes, bytes, tuple[bytes, ...]]) -> bytes:
        with connect(own) as connection:
            with suppress(ConnectionError):
                connection.sendall(START + b"Connection: close\r\n" + lie[0] + b"\r\n\r\n" + lie[1])
            return read_all(connection)

    with ThreadPoolExecutor(len(LIES)) as pool:
        answers = dict(zip(LIES, pool.map(try_one, LIES.values()), strict=True))
    for name, answer in answers.items():
        assert answer[9:12] in LIES[name][2], (name, answer[:60])
    assert own.ask("GET", "/v1/surveys/a/rounds")[1][0]["users"] == users
    chunks = b"".join(b"1\r\n" + GOOD[i : i + 1] + b"\r\n" for i in range(len(GOOD)))
    counted = try_one((b"Transfer-Encoding: chunked", chunks + b"0\r\n\r\n", ()))
    assert counted.startswith(b"HTTP/1.1 200")
    assert own.ask("GET", "/v1/surveys/a/rounds")[1][0]["users"] == users + 1


@pytest.mark.process
def test_nothing_of_hostile_requests_is_logged(own: Server) -> None:
    """Check that the log has no bytes of refused requests."""
    with connect(own) as connection:
        connection.sendall(b"GET /canary\xff HTTP/1.1\r\ncanary: canary\r\n\r\n")
        read_all(connection)
    assert own.ask("POST", "/canary", b"canary", AUTHORIZED)[0] == 404
    assert own.log is not None and "canary" not in own.log.read_text()
