"""Vectors of devices over time: their reports, charges and files."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from multi_freq_ldpy import (
    BLH,
    GRR,
    HR,
    LBLH,
    LGRR,
    LOLH,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    Client,
    DBitFlipPM,
    LimitReached,
    Once,
    Steps,
    Stream,
    Tree,
    registry,
    wire,
)

from .classes import spec_of

SECRETS = [bytes(range(i, i + 32)) for i in range(100)]
CONTEXTS = [b"", b"golden", bytes(range(250, 256)) + bytes(26)]
CHAINS = (LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH)
ONE_SHOT = (GRR, BLH, OLH, SS, SUE, OUE, THE, SHE, HR)
REPORTING: list[Any] = [
    *(cls(k, 3.0, 1.0) for cls in CHAINS for k in (5, 21, 100)),
    *(DBitFlipPM(5, 2.0), DBitFlipPM(60, 1.0, 20, 3), DBitFlipPM(300, 4.0, 30, 28)),
    *(cls(9, 1.0) for cls in ONE_SHOT),
    SPL([LGRR, LOSUE, LOLH], [5, 2, 12], 6.0, 3.0),
    SPL.of([LOUE(9, 3.0, 0.5), GRR(5, 1.0), DBitFlipPM(20, 2.0, 7, 2), OLH(40, 1.0)]),
    SMP([LOLH, LGRR, LSOUE], [5, 2, 12], 2.0, 1.0),
    SMP.of([LSUE(9, 3.0, 0.5), SS(5, 1.0), DBitFlipPM(20, 2.0, 7, 2)]),
    SMP(OUE, [4, 3, 9], 1.0),
    RSFD([GRR, OUE, OLH], [5, 2, 12], 1.0),
    SMP.of([SPL([LGRR, LOSUE], [3, 9], 4.0, 1.0), SMP([LOLH, LBLH], [20, 5], 2.0, 1.0)]),
    SPL.of([SMP.of([LOUE(5, 2.0, 1.0), DBitFlipPM(8, 2.0)]), LOSUE(12, 3.0, 1.0), HR(6, 0.5)]),
    SPL.of([RSFD(SS, [4, 3], 1.0, balance=True), LGRR(3, 2.0, 1.0)]),
]
"""Mechanisms of devices that report again and again."""

TIMES = (0, 1, 0, 0, 2, 1, 3, 0)
"""Numbers of values, in the order in which a device has them. Values return."""


def value_of(mechanism: Any, number: int) -> Any:
    """Return one of several values, or of several records."""
    values = [(j + number * (k // 3 + 1)) % k for j, k in enumerate(mechanism.ks)]
    return values if hasattr(mechanism, "protocols") else values[0]


def fresh_keys(*names: Any, many: int) -> list[str]:
    """Return keys that take the place of the operating system's."""
    return [blake2b(repr((*names, i)).encode(), digest_size=32).hexdigest() for i in range(many)]


def set_fresh(client: Client, keys: list[str]) -> None:
    """Let the next report of a client draw from these keys, one per attribute."""
    client._fresh = (Stream(bytes.fromhex(key)) for key in keys).__next__


def charges_of(client: Client, value: Any) -> list[list[Any]]:
    """Return the accounts and the memo classes that a report is charged to."""
    values, _ = client.mechanism._inputs(value, "value")
    recalled = client.mechanism._recall(values, np.zeros(1, np.int64), client._memory)
    return [list(charge) for charge in client.mechanism._charges(recalled)]


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the reports of a device, computed anew from its inputs."""
    mechanism = registry.from_spec(entry["spec"])
    secret, context = (bytes.fromhex(entry[name]) for name in ("secret", "context"))
    client, reports = Client(mechanism, secret, context), []
    for each in entry["reports"]:
        set_fresh(client, each["fresh"])
        report = wire.encode(mechanism, client.report(each["value"])).hex()
        inputs = {name: each[name] for name in ("value", "fresh")}
        reports.append(inputs | {"report": report, "charges": charges_of(client, each["value"])})
    return {name: entry[name] for name in ("spec", "secret", "context")} | {"reports": reports}


def secrets_of(mechanism: Any, context: bytes) -> list[bytes]:
    """Return secrets of devices that together report on every attribute."""
    found: dict[int, bytes] = {}
    for secret in SECRETS:
        for account, _ in charges_of(Client(mechanism, secret, context), value_of(mechanism, 0)):
            found.setdefault(account, secret)
        if len(found) == len(mechanism._prices):
            break
    return list(dict.fromkeys(found.values()))


def make() -> list[dict[str, Any]]:
    """Return devices that report again and again."""
    found = []
    for i, mechanism in enumerate(REPORTING):
        context = CONTEXTS[i % 3]
        for j, secret in enumerate(secrets_of(mechanism, context)):
            reports = [
                {
                    "value": value_of(mechanism, number),
                    "fresh": fresh_keys(i, j, r, many=len(mechanism.parts)),
                }
                for r, number in enumerate(TIMES)
            ]
            inputs = {"secret": secret.hex(), "context": context.hex()}
            found.append(again({"spec": spec_of(mechanism), **inputs, "reports": reports}))
    return found


def first_file(mechanism: Any, secret: bytes, context: bytes, **options: Any) -> str:
    """Return the content of a new client's file, with a known secret."""
    client: Client = object.__new__(Client)
    client._begin(mechanism, context, secret, **options)
    return client._state.to_bytes().decode()


def client_again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the steps of a client with a file, computed anew from its inputs."""
    mechanism = registry.from_spec(entry["spec"])
    context, steps = bytes.fromhex(entry["context"]), []
    options = {"restorable": False} if '"restorable": false' in entry["file"] else {}
    with TemporaryDirectory() as folder:
        path = Path(folder, "client")
        path.write_text(entry["file"])
        path.chmod(0o600)
        for step in entry["steps"]:
            client = Client.open(path, mechanism, entry["limit"], context, **options)
            set_fresh(client, step["fresh"])
            inputs = {name: step[name] for name in ("value", "round", "fresh") if name in step}
            try:
                report, refused = client.report(step["value"], step.get("round")), False
            except LimitReached:
                report, refused = None, True
            sent = None if report is None else report.tobytes().hex()
            after = {"file": path.read_text(), "spent": client.spent}
            steps.append(inputs | {"report": sent, "refused": refused} | after)
    return {
        **{name: entry[name] for name in ("spec", "secret", "context", "limit")},
        "prices": list(mechanism._prices),
        "file": entry["file"],
        "steps": steps,
    }


def clients() -> Iterator[tuple[Any, float | None, list[Any], dict[str, Any]]]:
    """Yield mechanisms with limits, the numbers of values, and options of the client."""
    returning = [0, 1, 1, 2, 0, 3, 1]
    yield LGRR(5, 2.0, 1.0), None, returning, {}
    yield LGRR(5, 2.0, 1.0), 4.0, returning, {}
    yield LOSUE(21, 0.1, 0.05), 0.3, [0, 1, 2, 3, 0, 1, 2, 4], {}
    yield LOLH(100, 3.0, 1.0), 6.0, [*range(9), 0, 1], {}
    yield DBitFlipPM(60, 1.0, 20, 3), 1.0, [*range(20), 0], {}
    yield GRR(5, 0.7), 2.1, [0, 0, 1, 0], {}
    yield SHE(3, 1.0), None, [0, 1, 0], {}
    yield SPL([LGRR, LOSUE, LOLH], [5, 2, 12], 6.0, 3.0), 14.5, returning, {}
    yield SPL.of([LOUE(9, 3.0, 0.5), GRR(5, 1.0)]), 9.0, returning, {}
    yield SMP([LOLH, LGRR, LSOUE], [5, 2, 12], 2.0, 1.0), 4.0, returning, {}
    yield SMP.of([SPL([LGRR, LOSUE], [3, 9], 4.0, 1.0), GRR(4, 1.0)]), 5.0, returning, {}
    yield RSFD([GRR, OUE], [5, 2], 1.0), 3.0, [0, 1, 0], {}
    for history in (
        *(Steps(2, 1.0, 8, 1), Steps(5, 1.0, 8, 2, values=0.5), Steps(3, 15.0, 8, 7, "OUE")),
        *(Steps(12, 4.0, 8, 2, "HR", "row", values=0.5), Tree(2.0, 8, 3), Once(5, 1.0, 6)),
        *(Once(9, 2.0, 6, "GRR", window=2), SPL.of([Once(3, 1.0, 6), Once(5, 1.0, 6)])),
        SMP.of([Steps(2, 1.0, 8, 1, values=0.5), Once(5, 1.0, 8)]),
    ):
        every = list(range(history.rounds))
        yield history, None, every, {}
        yield history, None, [0, 0, 1, 2, 2, every[-1]], {}
    yield (
        Steps(5, 2.0, 8, 2, values=0.5),
        None,
        [2, 3, 5, 6, 7],
        {"first_round": 2, "restorable": False},
    )
    yield Once(9, 2.0, 6, "GRR", window=2), 3.0, [0, 1, 2, 3, 4, 5], {}
    gaps = [0, 1, 3, 4, 5, 7]
    yield Steps(2, 1.0, 8, 7, values=0.5), None, gaps, {}
    yield Tree(1.0, 8, 8), None, gaps, {}
    yield Tree(2.0, 8, 2), None, [1, 2, 3, 3, 4, 5, 6, 7], {"first_round": 1}
    yield Tree(1.0, 8, 1), None, gaps, {"restorable": False}
    for limit in (0.5, 1.5):
        yield SPL.of([Once(3, 1.0, 4), Once(5, 1.0, 4, window=2)]), limit, [0, 1, 1, 2, 3], {}
    yield SPL.of([Tree(1.0, 4, 4), Steps(3, 1.0, 4, 1, values=0.5)]), 1.5, [0, 1, 2, 3], {}


def begin_client(
    i: int, secret: bytes, mechanism: Any, limit: float | None, numbers: list[int], options: Any
) -> dict[str, Any]:
    """Return the entry of a client. The numbers are those of its values, or of rounds."""
    steps, context, timed = [], CONTEXTS[i % 3], mechanism.rounds is not None
    for r, number in enumerate(numbers):
        step: dict[str, Any] = {"value": value_of(mechanism, r // 2 if timed else number)}
        step |= {"round": number} if timed else {}
        many = 0 if timed else len(mechanism.parts)
        steps.append(step | {"fresh": fresh_keys("client", i, r, many=many)})
    entry = {
        "spec": spec_of(mechanism),
        "secret": secret.hex(),
        "context": context.hex(),
        "limit": limit,
        "file": first_file(mechanism, secret, context, **options),
        "steps": steps,
    }
    return client_again(entry)


def make_clients() -> list[dict[str, Any]]:
    """Return clients with files, each with a secret under which it reports at least twice."""
    found = []
    for i, case in enumerate(clients()):
        for secret in SECRETS[i : i + 30]:
            entry = begin_client(i, secret, *case)
            if sum(step["report"] is not None or step["refused"] for step in entry["steps"]) > 1:
                break
        found.append(entry)
    return found
