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
        RSFD(GRR, [5], 1.0, balance=True),
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
ASKED = ("first", "rounds", "restorable")
"""Fields of an entry about the rounds that a device is asked for. Absent ones have defaults."""

GAPS: dict[str, Any] = {"rounds": [0, 1, 3, 4, 5, 7]}
COPIED: dict[str, Any] = {**GAPS, "restorable": False}
FURTHER: dict[str, list[tuple[Any, dict[str, Any], list[int]]]] = {
    "Once": [
        (Once(9, 1.0, 6, "SUE", window=9), {}, [9, 20]),
        (Once(5, 2.0, 6, "THE"), {"first": 2, "rounds": [2, 3, 5]}, [9, 13]),
    ],
    "Steps": [
        (Steps(5, 1.0, 8, 2, "SUE", values=1.0), {}, [9, 10]),
        (Steps(5, 1.0, 8, 2, "THE", "row", values=0.75), {}, [9, 10]),
        (Steps(1000, 10.0, 4, 3, "GRR", values=0.5), {}, [16, 200]),
        (Steps(2, 1.0, 8, 7, values=0.5), GAPS, [17, 11]),
        (Steps(2, 1.0, 8, 1, values=0.5), GAPS, [12, 11]),
        (Steps(2, 1.0, 8, 1, values=0.5), COPIED, [12]),
        (Steps(5, 2.0, 8, 2, values=0.5), {"first": 3, "rounds": [3, 4, 5, 6, 7]}, [10, 17]),
        (Steps(1000, 9.0, 4, 3, "GRR", values=0.5), {}, [40]),
    ],
    "Tree": [
        (Tree(1.0, 8, 8), GAPS, [9, 13]),
        (Tree(1.0, 8, 1), GAPS, [9, 14]),
        (Tree(1.0, 8, 1), COPIED, [24]),
        (Tree(1.0, 8, 2), {"first": 1, "rounds": [1, 2, 3, 4, 5, 6, 7]}, [9, 16, 10]),
        (Tree(1.0, 8, 8), {"first": 2, "rounds": [2, 3, 4, 5, 6, 7]}, [9, 13]),
    ],
    "DDRM": [
        (DDRM(2.0, 8, 3), GAPS, [9, 13]),
        (DDRM(2.0, 8, 3), COPIED, [9, 11]),
        (DDRM(2.0, 8, 8), GAPS, [9, 10, 11]),
        (DDRM(2.0, 8, 8, "ball"), {"first": 3, "rounds": [3, 4, 5, 6, 7]}, [9, 10]),
        (DDRM(2.0, 8, 2), {"first": 1, "rounds": [1, 2, 3, 4, 5, 6, 7]}, [9, 12]),
    ],
}
"""Histories, the rounds that are asked, and the bytes that the secrets consist of.

A path and a block depend on the secret. These secrets have a step, or base noise that is not 0.
"""

WIDE = SMP(GRR, [2] * 257, 1.0)
"""A solution whose number of the sampled part has two bytes. User 141 samples the last part."""


def spec_of(mechanism: Any) -> dict[str, Any]:
    """Return a spec as it is read from JSON."""
    spec: dict[str, Any] = json.loads(json.dumps(registry.to_spec(mechanism)))
    return spec


def history_vector(spec: dict[str, Any], secret: bytes, **asked: Any) -> dict[str, Any]:
    """Return the path, the block, all reports and all states of a device with a known secret.

    ``asked`` may have the first round, the list of rounds that are asked, and ``restorable``.
    """
    history: Any = registry.from_spec(spec)
    first, rounds = asked.get("first", 0), asked.get("rounds", range(history.rounds))
    client: Client = object.__new__(Client)
    restorable = asked.get("restorable", True)
    client._begin(history, b"golden", secret, first_round=first, restorable=restorable)
    path = client._members.diary.paths
    block = history.kinds[int(path.kinds[0])].block
    values = [(r // 2 + secret[0]) % history.k for r in rounds]
    reports, states = [], []
    for r, value in zip(rounds, values, strict=True):
        report = client.report(value, round=r)
        reports.append(None if report is None else report.tobytes().hex())
        states.append(client._members.to_fields())
    one = np.zeros(1, np.int64)
    return {
        "spec": spec,
        "secret": secret.hex(),
        **asked,
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
    values: Any = VALUES
    if spec["protocol"] not in registry.PROTOCOLS:
        values = [[row[j % 3] % k for j, k in enumerate(protocol.ks)] for row in RECORDS]
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
        asked = {name: entry[name] for name in ASKED if name in entry}
        return history_vector(entry["spec"], bytes.fromhex(entry["secret"]), **asked)
    return vector(entry["spec"], entry["position"])


def make(name: str) -> list[dict[str, Any]]:
    """Return the entries of one class, or of nested solutions."""
    made = SOLUTIONS.get(name) or HISTORIES.get(name)
    if made is None:
        two = len(budgets_of(registry.PROTOCOLS[name])) == 2
        given = OPTIONS.get(name) or (TWO_ROUNDS if two else PARAMETERS)
        made = [registry.PROTOCOLS[name](*each) for each in given]
    specs = [spec_of(each) for each in made]
    if name in HISTORIES:
        found = [history_vector(spec, secret) for spec in specs for secret in SECRETS]
        for history, asked, secrets in FURTHER[name]:
            spec = spec_of(history)
            found += [history_vector(spec, bytes([each]) * 32, **asked) for each in secrets]
        return found
    # Two bytes for the attribute, and users on both sides of the end of a block of users
    wide = [vector(spec_of(WIDE), 135), vector(specs[0], 2**16 - 4)] if name == "SMP" else []
    return [vector(spec, position) for spec in specs for position in (0, 2**33 + 7)] + wide
