"""Tests of the vectors of the wire specification, which are stored as data in ``spec/vectors``.

They change only if the stream layout is meant to change. ``python -m tests.vectors`` writes new
vectors.
"""

import hmac
import json
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import Tally, registry

from . import reference
from .vectors import (
    FOLDER,
    classes,
    devices,
    draws,
    explanations,
    ids,
    read,
    refused,
    surveys,
    weights,
    write,
)
from .vectors.words import OWNED, by_package, by_reference

CLASSES = [*registry.ENTRIES, "nested"]
DEVICES = {
    name
    for name, entry in registry.ENTRIES.items()
    if entry.device and name not in registry.HISTORIES
}
OTHERS = ["again", "clients", "draws", "explanations", "ids", "refused", "surveys", "weights"]

ONE_SHOT, TWO_ROUNDS, PARTS = "k epsilon", "k eps_perm eps_1", "protocols"
LABELS = {
    **dict.fromkeys(("GRR", "BLH", "OLH", "SS", "SUE", "OUE", "THE", "SHE", "HR"), ONE_SHOT),
    **dict.fromkeys(("LGRR", "LSUE", "LSOUE", "LOUE", "LOSUE", "LBLH", "LOLH"), TWO_ROUNDS),
    "Bloom": "k epsilon bits hashes",
    "DBitFlipPM": "k eps_perm b d_bits",
    "Once": "k epsilon rounds protocol window",
    "Steps": "k epsilon rounds changes protocol encoding values",
    "Tree": "epsilon rounds changes kernel",
    "DDRM": "epsilon rounds reports kernel",
    "SPL": PARTS,
    "SMP": PARTS,
    "RSFD": f"{PARTS} fake balance",
}
"""The fields of the label of each class, besides its name. They are frozen."""


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", CLASSES)
def test_golden_vectors(name: str) -> None:
    for expected in read(name):
        assert classes.again(expected) == expected
        if "history" in expected["spec"]:
            continue
        protocol = registry.from_spec(expected["spec"])
        assert protocol.report_bytes * len(classes.VALUES) * 2 == len(expected["reports"])
        if expected["tally"]:
            tally = Tally.from_bytes(bytes.fromhex(expected["tally"]))
            assert np.array_equal(tally.counts, expected["counts"])


def test_vectors_of_weights() -> None:
    entries = read("weights")
    assert len(entries) == 301
    for expected in entries:
        assert weights.again(expected) == expected
    assert {each["protocol"] for entry in entries for each in list_specs(entry["spec"])} == DEVICES


def test_vectors_of_draws() -> None:
    entries, found = read("draws"), set()
    for entry in entries:
        name, given, main, on = draws.inputs(entry)
        assert len(main) == OWNED[name](**given)
        assert by_package(name, given, main, on) == entry["result"], entry
        assert by_reference(name, given, main, on) == (entry["result"], on), entry
        found.add(name)
    assert found == OWNED.keys() and len(entries) > 400


@pytest.mark.usefixtures("way")
def test_vectors_of_reports_over_time() -> None:
    entries = read("again")
    assert len(entries) > 40
    for expected in entries:
        assert devices.again(expected) == expected
        assert len(expected["reports"]) >= 6
    assert {each["protocol"] for entry in entries for each in list_specs(entry["spec"])} == DEVICES


def list_specs(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a spec and the specs of all its parts."""
    parts = [each for part in spec.get("protocols", []) for each in list_specs(part)]
    return [spec, *parts]


def test_vectors_of_reports_over_time_agree_with_the_reference() -> None:
    for entry in read("again"):
        mechanism = registry.from_spec(entry["spec"])
        label, context = mechanism._label, bytes.fromhex(entry["context"])
        name = b"client %d " % len(label) + label + context
        memory = blake2b(name, key=bytes.fromhex(entry["secret"]), digest_size=32).digest()
        for each in entry["reports"]:
            fresh = [bytes.fromhex(key) for key in each["fresh"]]
            report = reference.report_again(mechanism, memory, fresh, each["value"])
            assert report.hex() == each["report"], entry["spec"]


def test_vectors_of_explanations() -> None:
    entries = read("explanations")
    assert len(entries) > 50
    for expected in entries:
        assert explanations.again(expected) == expected
    every = [each for entry in entries for each in entry["reports"]]
    assert sum("refused" in each for each in every) > 50
    assert sum("explanations" in each for each in every) > 130


def test_vectors_of_clients() -> None:
    entries = read("clients")
    for expected in entries:
        assert devices.client_again(expected) == expected
    steps = [step for entry in entries for step in entry["steps"]]
    assert len(entries) > 30 and sum(step["refused"] for step in steps) > 20
    versions = {json.loads(step["file"].partition("\n")[0])["version"] for step in steps}
    assert versions == {1, 2}


def test_vectors_of_ids() -> None:
    entries, found = read("ids"), set()
    for entry in entries:
        assert ids.again(entry) == entry
        name = entry["survey"].encode()
        text = b"report id\0" + bytes([len(name)]) + name + bytes.fromhex(entry["digest"])
        text += entry["round"].to_bytes(4, "little")
        keyed = hmac.new(bytes.fromhex(entry["secret"]), text, sha256).digest()[:16]
        assert keyed.hex() == entry["id"]
        found.add(entry["id"])
    assert len(found) == len(entries) == 60
    assert {entry["round"] for entry in entries} == {0, 1, 255, 256, 2**32 - 1}
    assert {1, 64} <= {len(entry["survey"]) for entry in entries}


@pytest.mark.usefixtures("way")
def test_vectors_of_surveys() -> None:
    entries = read("surveys")
    assert len(entries) > 40
    for expected in entries:
        assert surveys.again(expected) == expected


def test_vectors_of_refused_texts() -> None:
    entries = read("refused")
    assert len(entries) > 200
    for expected in entries:
        assert refused.again(expected) == expected
        if expected["python"]:
            error = refused.is_refused(expected["kind"], expected["text"])
            assert error and (expected["field"] or "") in error, expected["text"]
    accepted = [entry["text"] for entry in entries if not entry["python"]]
    only_here = [name for name, entry in registry.ENTRIES.items() if not entry.device]
    assert len(accepted) == 5 and all(any(name in text for text in accepted) for name in only_here)


def test_there_is_a_vector_for_every_protocol() -> None:
    paths = list(FOLDER.iterdir())
    assert {path.name for path in paths} == {f"{name}.json" for name in (*CLASSES, *OTHERS)}
    assert len(paths) == len(CLASSES) + len(OTHERS) == 34
    assert all(len(read(path.stem)) >= 4 for path in paths)
    assert sum(path.stat().st_size for path in paths) < 2_000_000


def test_labels_have_the_declared_fields() -> None:
    # A label is part of the key of every permanent answer. A further field changes all permanent
    # answers in silence, so it needs a new version of the specs.
    assert LABELS.keys() == registry.ENTRIES.keys()
    for name, fields in LABELS.items():
        for entry in read(name):
            label = registry.from_spec(entry["spec"])._label.decode()
            kind = "history" if name in registry.HISTORIES else "protocol"
            assert list(json.loads(label)) == sorted([kind, *fields.split()]), name
            assert json.loads(label)[kind] == name


def test_vectors_can_be_extended_but_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write("some", [{"spec": 1}], tmp_path)
    write("some", [{"spec": 1, "label": "a"}, {"spec": 2}], tmp_path)
    assert json.loads(path.read_text()) == [{"spec": 1, "label": "a"}, {"spec": 2}]
    kept = path.read_text()
    for changed in (
        [{"spec": 1, "label": "a"}],
        [{"spec": 1, "label": "b"}, {"spec": 2}],
        [{"spec": 1}, {"spec": 2}],
        [{"spec": 2}, {"spec": 1, "label": "a"}],
    ):
        with pytest.raises(ValueError, match=r"some.json: entry \d would change in"):
            write("some", changed, tmp_path)
    assert path.read_text() == kept
