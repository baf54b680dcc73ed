"""Client files that Node and Python use in turn."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy import Client, registry
from tools.node import CLIENT, find_path

CONTEXT = bytes([1, 200])
ONE = {"epsilon": 1.0, "rounds": 8}
STEPS = {"history": "Steps", "k": 3, "changes": 7, "protocol": "SS", "values": 0.5, **ONE}
STEPS["encoding"] = "unary"
SPECS: dict[str, dict[str, Any]] = {
    "over time": {"protocol": "DBitFlipPM", "k": 9, "eps_perm": 2.0, "b": 9, "d_bits": 9},
    "rounds": STEPS,
    # The record names the sampled part, which follows from the secret and the context
    "several": {
        "protocol": "SMP",
        "protocols": [
            {"history": "Once", "k": 4, "protocol": "SS", "window": 2, **ONE},
            {"history": "Tree", "changes": 8, "kernel": "ball", **ONE},
        ]
        * 4,
    },
}
PROGRAM = """
import { Client, mechanism } from "multi-freq-ldpy";
import { hex } from "multi-freq-ldpy/testing";
import { fileStore } from "multi-freq-ldpy/stores/file";

const { spec, path, context, value, round } = JSON.parse(process.argv[1]);
const own = mechanism(spec), store = fileStore(path);
const options = { context: Uint8Array.from(context) };
const client = await Client.open(own, store, options) ?? await Client.begin(own, store, options);
const report = await client.report(value, round === null ? {} : { round });
console.log(JSON.stringify([report && hex(report), await client.spent()]));
"""


@cache
def find_node() -> str:
    """Return the program of Node."""
    return shutil.which("node", path=find_path()) or "node"


def ask_node(spec: dict[str, Any], path: Path, value: Any, round: int | None) -> list[Any]:
    """Return the report and the spent budget of a client in Node, which begins if it is new."""
    given = {"spec": spec, "path": str(path), "context": [*CONTEXT], "value": value}
    command = [
        find_node(),
        "--input-type=module",
        "-e",
        PROGRAM,
        json.dumps(given | {"round": round}),
    ]
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("first", ["Node", "Python"])
@pytest.mark.parametrize("name", SPECS)
def test_node_and_python_use_one_file_in_turn(name: str, first: str, tmp_path: Path) -> None:
    spec = {"version": 1, **SPECS[name]}
    mechanism, path = registry.from_spec(spec), tmp_path / "client"
    answers = []
    for i in range(6):
        value: Any = [i // 2 % k for k in mechanism.ks]
        value = value if "protocols" in spec else value[0]
        round = None if mechanism.rounds is None else i
        if (i % 2 == 0) == (first == "Node"):
            answers.append((value, round, *ask_node(spec, path, value, round)))
        else:
            device = Client.open(path, mechanism, context=CONTEXT)
            report = device.report(value, round)
            sent = None if report is None else report.tobytes().hex()
            answers.append((value, round, sent, device.spent))
    body = json.loads(path.read_text().splitlines()[0])
    assert body["version"] == (1 if mechanism.rounds is None else 2)
    # A device of Python alone, with the same secret, gives the same reports
    alone = Client(mechanism, bytes.fromhex(body["secret"]), CONTEXT)
    for value, round, sent, spent in answers:
        report = alone.report(value, round)
        assert sent == (None if report is None else report.tobytes().hex())
        assert spent == pytest.approx(alone.spent, rel=1e-12)
