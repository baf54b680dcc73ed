"""Vectors of every registered class: reports, tallies and permanent answers of fixed keys."""

import json
from typing import Any

import numpy as np

from multi_freq_ldpy import (
    BLH,
    DDRM,
    GRR,
    HR,
    LGRR,
    LOLH,
    LOSUE,
    LSOUE,
    OLH,
    OUE,
    RSFD,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    Client,
    DBitFlipPM,
    Once,
    Steps,
    Stream,
    Tree,
    registry,
    wire,
)
from multi_freq_ldpy.longitudinal.memoized import Memoized
from multi_freq_ldpy.longitudinal.paths import draw_blocks
from multi_freq_ldpy.protocol import budgets_of

from .derived import derive, losses

KEY = bytes(range(32))
VALUES = [0, 1, 2, 3, 4, 0, 0, 1]
PARAMETERS = [(5, 1.0), (60, 0.5), (300, 3.0)]
TWO_ROUNDS = [(5, 2.0, 1.0), (60, 1.0, 0.5), (300, 6.0, 3.0)]
OPTIONS: dict[str, list[tuple[Any, ...]]] = {
    "DBitFlipPM": [(5, 2.0), (60, 1.0, 20, 3), (300, 4.0, 300, 1)],
    "Bloom": [(5, 1.0, 16), (60, 0.5, 6, 4), (300, 3.0, 100, 2)],
}
RECORDS = [[0, 1, 2], [4, 1, 11], [2, 0, 7], [0, 0, 0], [0, 0, 0], [3, 1, 5], [1, 1, 1], [4, 0, 11]]
SIZES = [5, 2, 12]
SOLUTIONS: dict[str, list[Any]] = {
    "SPL": [
        SPL(OUE, SIZES, 3.0),
        SPL([GRR, SUE, OLH], SIZES, 1.0),
        SPL([LGRR, LOSUE, LOLH], SIZES, 6.0, 3.0),
    ],
    "SMP": [
        SMP(OUE, SIZES, 1.0),
        SMP([GRR, SS, OLH], SIZES, 2.0),
        SMP([LOLH, LGRR, LSOUE], SIZES, 2.0, 1.0),
        SMP(DBitFlipPM, SIZES, 2.0),
    ],
    "RSFD": [
        RSFD(GRR, SIZES, 1.0),
        RSFD([OUE, GRR, OLH], SIZES, 1.0),
        RSFD(OUE, SIZES, 1.0, fake="random"),
        RSFD(SS, SIZES, 2.0, balance=True),
        RSFD([HR, SUE, BLH], SIZES, 1.0),
        RSFD([THE, HR, OLH], SIZES, 2.0, balance=True),
    ],
    "nested": [
        SMP.of([SPL([GRR, SUE], SIZES[:2], 2.0), OLH(12, 1.0)]),
        SPL.of([SMP.of([LOLH(5, 2.0, 1.0), DBitFlipPM(2, 2.0)]), LOSUE(12, 3.0, 1.0)]),
    ],
}
HISTORIES: dict[str, list[Any]] = {
    "Once": [Once(5, 1.0, 6), Once(60, 2.0, 6, "GRR", window=2), Once(2, 1.0, 6, "OUE")],
    "Steps": [
        Steps(2, 1.0, 8, 1, values=0.5),
        Steps(5, 1.0, 8, 2, values=0.5),
        Steps(12, 2.0, 8, 3, "GRR", values=0.75),
        Steps(300, 4.0, 8, 2, "HR", "row", values=0.5),
        Steps(3, 15.0, 8, 7, "OUE", values=0.5),
    ],
    "Tree": [Tree(1.0, 8, 2), Tree(2.0, 8, 3, "linear"), Tree(4.0, 11, 1)],
    "DDRM": [DDRM(1.0, 8, 3), DDRM(2.0, 8, 8, "ball"), DDRM(2.0, 11, 4)],
}
SECRETS = [bytes([i]) * 32 for i in range(1, 9)]


def history_vector(spec: dict[str, Any], secret: bytes) -> dict[str, Any]:
    """Return the path, the block, all reports and all states of a device with a known secret."""
    history: Any = registry.from_spec(spec)
    client = Client(history, secret, b"golden")
    path = client._members.diary.paths
    block = history.kinds[int(path.kinds[0])].block
    values = [(r // 2 + secret[0]) % history.k for r in range(history.rounds)]
    reports, states = [], []
    for r, value in enumerate(values):
        report = client.report(value, round=r)
        reports.append(None if report is None else report.tobytes().hex())
        states.append(client._members.to_fields())
    one = np.zeros(1, np.int64)
    return {
        "spec": spec,
        "secret": secret.hex(),
        "path": {name: int(each[0]) for name, each in vars(path).items()},
        "block": None if block is None else draw_blocks(block, client._memory, one)[0].tolist(),
        "values": values,
        "reports": reports,
        "states": states,
        "spent": client.spent,
        **derive(history),
        "losses": losses(history),
    }


def vector(spec: dict[str, Any], position: int) -> dict[str, Any]:
    protocol = registry.from_spec(spec)
    entries = protocol.parts[-1][1].stop
    values = VALUES if spec["protocol"] in registry.PROTOCOLS else RECORDS
    reports = protocol.randomize(values, Stream(KEY, position=position))
    return {
        "spec": spec,
        "position": position,
        "values": values,
        "reports": wire.encode(protocol, reports).hex(),
        "counts": protocol.tally(reports).counts.tolist() if entries <= 100 else None,
        "tally": protocol.tally(reports).to_bytes().hex() if entries <= 20 else None,
        "privacy": protocol.privacy.report,
        **over_time(protocol, values),
        **derive(protocol),
        "losses": losses(protocol),
    }


def over_time(protocol: Any, values: Any) -> dict[str, Any]:
    """Return the permanent state of a device with a known secret, which must never change."""
    memory = Client(protocol, KEY, b"golden")._memory
    users, held, one = np.zeros(len(values), np.int64), np.array(values), np.zeros(1, np.int64)
    found: dict[str, Any] = {}
    if isinstance(protocol, Memoized):
        answers = np.empty(len(values), protocol.report_dtype)
        found["classes"] = protocol._remember(held, users, memory, answers).tolist()
        found["permanent"] = wire.encode(protocol, answers).hex()
    elif protocol.permanent is not None:
        found["charges"] = [
            [
                list(each)
                for each in protocol._charges(protocol._recall(held[i : i + 1], one, memory))
            ]
            for i in range(len(values))
        ]
    return found


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry, computed anew from its inputs."""
    if "history" in entry["spec"]:
        return history_vector(entry["spec"], bytes.fromhex(entry["secret"]))
    return vector(entry["spec"], entry["position"])


def make(name: str) -> list[dict[str, Any]]:
    """Return the entries of one class, or of nested solutions."""
    made = SOLUTIONS.get(name) or HISTORIES.get(name)
    if made is None:
        two = len(budgets_of(registry.PROTOCOLS[name])) == 2
        given = OPTIONS.get(name) or (TWO_ROUNDS if two else PARAMETERS)
        made = [registry.PROTOCOLS[name](*each) for each in given]
    specs = [json.loads(json.dumps(registry.to_spec(each))) for each in made]
    if name in HISTORIES:
        return [history_vector(spec, secret) for spec in specs for secret in SECRETS]
    return [vector(spec, position) for spec in specs for position in (0, 2**33 + 7)]
