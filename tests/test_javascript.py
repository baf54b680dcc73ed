"""Tests of the JavaScript client against Python: same vectors, labels, weights and bytes."""

import hashlib
import hmac
import json
import math
import os
import random
import struct
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import RSFD, SMP, SPL, Client, Stream, Survey, registry, wire
from multi_freq_ldpy.mechanism import Mechanism
from multi_freq_ldpy.sending.outbox import Contents
from tests.javascript import Engine
from tests.vectors import FOLDER
from tests.vectors.derived import derive, losses

pytestmark = pytest.mark.extras

LEFT_OUT = {"Bloom", "DDRM"}
"""Files of mechanisms that are not for devices."""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture
def chooser() -> random.Random:
    """A generator with a new seed for each run.

    The checks compare two programs, so a failure is a fault for any seed. ``SEED`` repeats a run.
    """
    seed = int(os.environ.get("SEED", random.SystemRandom().getrandbits(32)))
    print(f"SEED={seed}")
    return random.Random(seed)


FILES = sorted(path for path in FOLDER.glob("*.json") if path.stem not in LEFT_OUT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_vectors_hold_in_javascript(path: Path, engine: Engine) -> None:
    found = engine.ask("check", path.stem, path.read_text())
    assert found == {"checked": len(json.loads(path.read_text())), "failures": []}
    assert found["checked"]


def test_all_vectors_are_checked() -> None:
    assert len(FILES) + len(LEFT_OUT) == len(list(FOLDER.glob("*.json")))


# Protocols by the names of their budgets
ONE_ROUND = ("GRR", "BLH", "OLH", "SS", "SUE", "OUE", "THE", "SHE", "HR")
TWO_ROUNDS = ("LGRR", "LSUE", "LSOUE", "LOUE", "LOSUE", "LBLH", "LOLH")
HIDDEN = tuple(name for name in ONE_ROUND if name != "SHE")


def a_budget(chooser: random.Random) -> float:
    """Return a budget: on a logarithmic scale, or with few decimals."""
    if chooser.random() < 0.5:
        return math.exp(chooser.uniform(math.log(1e-3), math.log(30)))
    return chooser.choice([1, 2, 5]) * round(chooser.uniform(0.01, 4), chooser.randint(0, 3)) or 0.1


def a_protocol(
    chooser: random.Random, names: tuple[str, ...], largest: int = 200
) -> dict[str, Any]:
    """Return the spec of a random protocol that Python accepts."""
    while True:
        name, k = chooser.choice(names), round(math.exp(chooser.uniform(0.7, math.log(largest))))
        spec: dict[str, Any] = {"protocol": name, "k": max(2, k)}
        if name in ONE_ROUND:
            spec["epsilon"] = a_budget(chooser)
        else:
            spec["eps_perm"] = a_budget(chooser)
        if name in TWO_ROUNDS:
            spec["eps_1"] = spec["eps_perm"] * chooser.uniform(0.1, 0.95)
        if name == "DBitFlipPM":
            spec["b"] = chooser.randint(2, spec["k"])
            spec["d_bits"] = chooser.randint(1, spec["b"])
        try:
            registry.from_spec({"version": 1, **spec})
        except ValueError:
            continue
        return spec


def a_spec(chooser: random.Random) -> dict[str, Any]:
    """Return the spec of a random mechanism of devices."""
    kind = chooser.choice(["one", "one", "two", "SPL", "SMP", "RSFD", "nested"])
    many = chooser.randint(1, 4)
    every = (*ONE_ROUND, *TWO_ROUNDS, "DBitFlipPM")
    if kind == "one":
        return {"version": 1, **a_protocol(chooser, ONE_ROUND)}
    if kind == "two":
        return {"version": 1, **a_protocol(chooser, (*TWO_ROUNDS, "DBitFlipPM"))}
    if kind == "RSFD":
        parts = [a_protocol(chooser, HIDDEN, 40) for _ in range(many)]
        fake = chooser.choice(["zero", "random"])
        options = {"fake": fake, "balance": fake == "zero" and chooser.random() < 0.5}
        return {"version": 1, "protocol": kind, "protocols": parts, **options}
    parts = [a_protocol(chooser, every, 40) for _ in range(many)]
    if kind == "nested":
        parts.append({"protocol": "SPL", "protocols": [a_protocol(chooser, every, 40)]})
        kind = "SMP"
    return {"version": 1, "protocol": kind, "protocols": parts}


def a_value(chooser: random.Random, mechanism: Mechanism) -> Any:
    """Return a random value, or a record if the mechanism is a solution."""
    record = [chooser.randrange(k) for k in mechanism.ks]
    return record if isinstance(mechanism, SPL | SMP | RSFD) else record[0]


def test_random_specs_agree_with_javascript(engine: Engine, chooser: random.Random) -> None:
    for _ in range(500):
        spec = a_spec(chooser)
        mechanism, text = registry.from_spec(spec), json.dumps(spec)
        assert engine.ask("derive", text) == {
            **derive(mechanism),
            "losses": losses(mechanism),
        }, text
        key, users = chooser.randbytes(32), [chooser.choice([i, 2**33 + i]) for i in range(10)]
        values = [a_value(chooser, mechanism) for _ in users]
        pairs = zip(users, values, strict=True)
        drawn = [
            wire.encode(mechanism, mechanism.randomize([v], Stream(key, position=u)))
            for u, v in pairs
        ]
        found = engine.ask("draw", text, key.hex(), users, values)
        assert found == [each.hex() for each in drawn], text
        secret, context = chooser.randbytes(32), chooser.randbytes(chooser.randint(0, 3))
        client = Client(mechanism, secret, context)
        for value in values:
            fresh = [chooser.randbytes(32) for _ in mechanism.leaves]
            client._fresh = iter([Stream(each) for each in fresh]).__next__
            report = wire.encode(mechanism, [client.report(value)]).hex()
            keys = [each.hex() for each in fresh]
            answer = engine.ask("report", text, secret.hex(), context.hex(), keys, value)
            assert answer["report"] == report, text


def test_likelihoods_agree_with_javascript(engine: Engine, chooser: random.Random) -> None:
    refused = 0
    for _ in range(300):
        spec = a_spec(chooser)
        mechanism, text = registry.from_spec(spec), json.dumps(spec)
        values = [a_value(chooser, mechanism) for _ in range(4)]
        sent = wire.encode(mechanism, mechanism.randomize(values[:1]))
        altered = bytearray(sent)
        altered[chooser.randrange(len(sent))] ^= 1 << chooser.randrange(8)
        for report in (sent, bytes(altered)):
            try:
                wanted = [mechanism.likelihood(report, value) for value in values]
            except ValueError:
                wanted = None
                refused += 1
            found = engine.ask("likelihoods", text, report.hex(), values)
            read = found and [Fraction(*(int(each, 16) for each in pair)) for pair in found]
            assert read == wanted, text
    assert 20 < refused < 300


COUNTED = ("GRR", "SUE", "OUE", "OLH", "SS")


def test_estimates_agree_with_javascript(engine: Engine, chooser: random.Random) -> None:
    for i in range(60):
        spec = {"version": 1, **a_protocol(chooser, (COUNTED[i % 5],))}
        mechanism: Any = registry.from_spec(spec)
        n, level = chooser.choice([1, 7, 500, 3000]), chooser.choice([0.5, 0.9, 0.95, 0.999])
        values = [chooser.randrange(mechanism.k) ** 2 // mechanism.k for _ in range(n)]
        reports = mechanism.randomize(values)
        sent, estimate = wire.encode(mechanism, reports).hex(), mechanism.estimate(reports)
        found = engine.ask("estimate", json.dumps(spec), sent, level)
        assert found["n"] == n
        assert found["counts"] == mechanism.tally(reports).counts.tolist()
        z = NormalDist().inv_cdf((1 + level) / 2)
        pairs = zip(found["values"], estimate.frequencies, estimate.std, strict=True)
        for value, f, std in pairs:
            assert value["frequency"] == pytest.approx(f, rel=1e-12, abs=1e-12)
            assert value["std"] == pytest.approx(std, rel=1e-12)
            limits = [min(1, max(0, limit)) for limit in (f - z * std, f + z * std)]
            assert [value["low"], value["high"]] == pytest.approx(limits, rel=1e-12, abs=1e-12)


def test_estimates_refuse_other_reports(engine: Engine) -> None:
    grr = json.dumps({"version": 1, "protocol": "GRR", "k": 3, "epsilon": 1.0})
    assert engine.ask("estimate", grr, "", 0.95)["values"][0] == {
        "frequency": None,
        "std": None,
        "low": 0,
        "high": 1,
    }
    assert engine.ask("estimate", grr, "0002", 0.95)["counts"] == [1, 0, 1]
    for reports, level in (("03", 0.95), ("00", 1.0), ("00", -1)):
        assert engine.ask("estimate", grr, reports, level) is None
    for other in ("SHE", "HR"):
        spec = json.dumps({"version": 1, "protocol": other, "k": 3, "epsilon": 1.0})
        assert engine.ask("estimate", spec, "", 0.95) is None


def test_client_files_move_between_both_languages(
    engine: Engine, chooser: random.Random, tmp_path: Path
) -> None:
    versions = set()
    for i in range(60):
        rounds = chooser.randint(2, 9) if i % 2 else None
        spec = a_history(chooser, rounds) if rounds else a_spec(chooser)
        text = json.dumps({"version": 1, **spec})
        mechanism: Any = registry.from_spec(json.loads(text))
        path, context = tmp_path / f"client {i}", chooser.randbytes(2)
        device = Client.open(path, mechanism, context=context)
        versions.add(json.loads(path.read_text().splitlines()[0])["version"])
        for round in range(rounds or 4):
            value = a_value(chooser, mechanism)
            fresh = [chooser.randbytes(32) for _ in mechanism.leaves]
            device._fresh = iter([Stream(each) for each in fresh]).__next__  # type: ignore[method-assign]
            at, before = round if rounds else None, path.read_text()
            keys = [each.hex() for each in fresh]
            found = engine.ask("respond", text, before, value, at, keys)
            report = device.report(value, at)
            sent = None if report is None else np.asarray(report).tobytes().hex()
            assert found == {"after": path.read_text(), "report": sent}, text
            # Python goes on with the file that JavaScript wrote
            path.write_text(found["after"])
    assert versions == {1, 2}


def an_outbox(chooser: random.Random) -> dict[str, Any]:
    """Return the content of an outbox with random entries."""
    letters = "abc0129-"
    names = {"".join(chooser.choices(letters, k=chooser.choice([1, 2, 64]))) for _ in range(5)}
    specs = ['{"a": 1, "b": 1.0}', 'é😀\\"\n\x7f', json.dumps({"é": [1e16, 1e-7, -0.0]}), ""]
    surveys = {
        name: {
            "digest": chooser.randbytes(16).hex(),
            "spec": chooser.choice(specs),
            "schedule": chooser.choice(
                [None, {"starts": chooser.randrange(2**40), "period": 604_800, "grace": 0}]
            ),
        }
        for name in names
    }
    reports = []
    for name, pin in sorted(surveys.items()):
        for round in sorted(chooser.sample([0, 1, 9, 10, 2**31, 2**32 - 1], 4)):
            state = chooser.choice(["waiting", "sent", "silent", "refused"])
            report = chooser.randbytes(chooser.randint(1, 9)).hex() if state == "waiting" else None
            entry = {"survey": name, "digest": pin["digest"], "round": round}
            reports.append(
                {**entry, "id": chooser.randbytes(16).hex(), "report": report} | {"state": state}
            )
    return {"version": 1, "surveys": surveys, "reports": reports}


def write_outbox(content: dict[str, Any]) -> str:
    """Return the text of an outbox: a line of JSON and a line with its digest."""
    line = json.dumps(content, sort_keys=True) + "\n"
    return line + hashlib.blake2b(line.encode(), digest_size=16).hexdigest() + "\n"


def test_outboxes_are_written_alike(engine: Engine, chooser: random.Random) -> None:
    for _ in range(100):
        content = an_outbox(chooser)
        text = write_outbox(content)
        assert engine.ask("outbox", text) == text
        assert Contents.from_bytes(text.encode()).to_bytes().decode() == text
        first, second = chooser.sample(range(len(content["reports"])), 2)
        swapped = {**content, "reports": [*content["reports"]]}
        swapped["reports"][first] = content["reports"][second]
        assert engine.ask("outbox", write_outbox(swapped)) is None
        assert engine.ask("outbox", text[:-1]) is None


# Changes of the line of an outbox
OUTBOXES = [
    ('"version": 1}', '"version": 2}'),
    ('"state": "sent"', '"state": "lost"'),
    ('"report": null', '"report": "00"'),
    ('"report": "', '"report": "0'),
    ('"report": "', '"report": "", "x": "'),
    ('"round": 0', '"round": -1'),
    ('"round": 1,', '"round": 1.0,'),
    ('"round": 1,', '"round": true,'),
    ('"round": 4294967295', '"round": 4294967296'),
    ('"id": "', '"id": "00'),
    ('"digest": "', '"digest": "00'),
    ('"survey": "', '"survey": "A'),
    ('"schedule": null', '"schedule": {}'),
    ('"period": 604800', '"period": 0'),
    ('"period": 604800', '"period": 2147483649'),
    ('"grace": 0', '"grace": 604801'),
    ('"grace": 0', '"grace": -1'),
    ('"starts": ', '"starts": -1'),
    ('"starts": ', '"starts": 9999999999999'),
    ('"spec": ', '"spec": 1, "y": '),
    ('"surveys": {', '"surveys":  {'),
]


def test_outboxes_are_refused_alike(engine: Engine, chooser: random.Random) -> None:
    tried = set()
    for _ in range(10):
        line = write_outbox(an_outbox(chooser)).split("\n")[0]
        for before, after in OUTBOXES:
            if before not in line:
                continue
            tried.add((before, after))
            changed = line.replace(before, after, 1) + "\n"
            text = f"{changed}{hashlib.blake2b(changed.encode(), digest_size=16).hexdigest()}\n"
            assert engine.ask("outbox", text) is None, after
            with pytest.raises(ValueError):  # noqa: PT011 (any refusal)
                Contents.from_bytes(text.encode())
    assert len(tried) > 15


def test_ids_of_reports_agree(engine: Engine, chooser: random.Random) -> None:
    for _ in range(200):
        secret, digest = chooser.randbytes(32), chooser.randbytes(16)
        name = "".join(chooser.choices("abcxyz0189-", k=chooser.randint(1, 64)))
        round = chooser.getrandbits(chooser.choice([1, 8, 16, 32]))
        asked = b"report id\0" + bytes([len(name)]) + name.encode() + digest
        wanted = hmac.digest(secret, asked + round.to_bytes(4, "little"), "sha256")[:16].hex()
        assert engine.ask("identify", secret.hex(), name, digest.hex(), round) == wanted


def a_history(chooser: random.Random, rounds: int) -> dict[str, Any]:
    """Return the spec of a random history that Python accepts, without its version."""
    while True:
        name = chooser.choice(["Once", "Steps", "Steps", "Tree"])
        spec = {"history": name, "epsilon": a_budget(chooser), "rounds": rounds}
        if name != "Tree":
            spec |= {"k": chooser.choice([2, 3, 9, 40])}
            spec |= {"protocol": chooser.choice(["SS", "GRR", "OUE", "SUE", "THE", "HR"])}
        if name == "Once":
            spec |= {"window": chooser.choice([None, 1, 3])}
        else:
            spec |= {"changes": chooser.randint(1, 5)}
        if name == "Steps":
            spec |= {"encoding": chooser.choice(["unary", "row"])}
            spec |= {"values": chooser.choice([0.5, 0.75, 1.0])}
        if name == "Tree":
            spec |= {"kernel": chooser.choice(["ball", "linear"])}
        try:
            registry.from_spec({"version": 1, **spec})
        except ValueError:
            continue
        return spec


def test_random_histories_agree_with_javascript(engine: Engine, chooser: random.Random) -> None:
    for _ in range(100):
        rounds = chooser.randint(2, 20)
        spec = a_history(chooser, rounds)
        if chooser.random() < 0.3:
            parts = [spec, *(a_history(chooser, rounds) for _ in range(2))]
            spec = {"protocol": chooser.choice(["SPL", "SMP"]), "protocols": parts}
        text = json.dumps({"version": 1, **spec})
        mechanism: Any = registry.from_spec(json.loads(text))
        derived = engine.ask("derive", text)
        assert derived["label"] == mechanism._label.decode(), text
        assert derived["bytes"] == mechanism.at(0).report_bytes, text
        assert derived["losses"] == losses(mechanism)[:4], text
        first = chooser.choice([0, 0, chooser.randrange(rounds)])
        asked = sorted(chooser.sample(range(first, rounds), chooser.randint(1, rounds - first)))
        values = [a_value(chooser, mechanism) for _ in asked]
        secret = chooser.randbytes(32)
        client = Client(mechanism, secret, first_round=first)
        reports = [client.report(v, round=r) for v, r in zip(values, asked, strict=True)]
        sent = [None if each is None else each.tobytes().hex() for each in reports]
        assert engine.ask("history", text, secret.hex(), first, asked, values) == sent, text


# Fields at the edges of what is accepted
EDGES: dict[str, list[Any]] = {
    "k": [1, 2, 3, 2**28, 2**28 + 1, 2**31 - 1, 2**31, 2**32 - 5, 2**32 - 4, 0, -1, 2.0, 2.5, True],
    "epsilon": [1e-22, 1e-19, 3e-10, 1e-5, 0, -1, 1000, 1001.5, 1e22, 1e300, 10**400, "1", None],
    "b": [1, 2, 5, 6, 2.0, True],
    "d_bits": [0, 1, 5, 6, None],
    "version": [1, 2, 1.0, True, "1"],
    "fake": ["zero", "random", "other", None, 1],
    "balance": [True, False, 1, "true", None],
}
EDGES["eps_perm"] = EDGES["eps_1"] = EDGES["epsilon"]


def test_specs_at_the_edges_are_refused_alike(engine: Engine, chooser: random.Random) -> None:
    refused = 0
    for _ in range(200):
        spec = a_spec(chooser)
        inner = chooser.choice([spec, *spec.get("protocols", [])])
        field = chooser.choice([each for each in EDGES if each in inner] or ["k"])
        inner[field] = chooser.choice(EDGES[field])
        if chooser.random() < 0.1:
            inner.pop(chooser.choice([*inner]))
        text = json.dumps(spec)
        if too_far(spec):
            continue
        try:
            wanted = derive(registry.from_spec(json.loads(text)))
        except (ValueError, TypeError):
            wanted = None
        found = engine.ask("derive", text)
        assert (found is None) == (wanted is None), text
        if found is not None and wanted is not None:
            assert {name: found[name] for name in wanted} == wanted, text
        refused += wanted is None
    assert 20 < refused < 180


def too_far(spec: dict[str, Any]) -> bool:
    """Return whether a spec needs addresses that JavaScript refuses: beyond 2⁵³."""
    parts = spec.get("protocols")
    if isinstance(parts, list):
        return any(too_far(each) for each in parts)
    large = isinstance(spec.get("k"), int) and spec["k"] > 2**27
    return large and str(spec.get("protocol")).startswith("L") and "UE" in spec["protocol"]


def test_floats_are_written_alike(engine: Engine, chooser: random.Random) -> None:
    bits = [chooser.getrandbits(64) for _ in range(50_000)]
    numbers = [struct.unpack("<d", struct.pack("<Q", each))[0] for each in bits]
    numbers += [round(chooser.uniform(0, 100), chooser.randint(0, 6)) for _ in range(25_000)]
    numbers += [math.exp(chooser.uniform(-60, 60)) for _ in range(25_000)]
    numbers += [0.0, -0.0, 1e16, 1e-4, 1e-5, 9999999999999998.0, 1e22, 5e-324]
    finite = [each for each in numbers if math.isfinite(each)]
    assert engine.ask("floats", finite) == [repr(each) for each in finite]


def test_survey_digests_agree(engine: Engine, chooser: random.Random) -> None:
    labels = ["yes", "no", "é", "😀", 'a"b', 1, 2.5, -3, 1e16, 1e-7, True, "__proto__", "\x7f"]
    for _ in range(50):
        attributes = {
            name: chooser.sample([each for each in labels if each is not True], 4)
            for name in chooser.sample(["a", "ß", "constructor", "x y"], 2)
        }
        chosen: Any = chooser.choice([SPL, SMP, RSFD])
        missing = next(iter(attributes.values()))[0]
        survey = Survey(attributes, epsilon=1.0, solution=chosen, missing=missing)
        text = json.dumps(survey.to_spec(), ensure_ascii=chooser.random() < 0.5)
        assert engine.ask("survey", text) == survey.digest, text
