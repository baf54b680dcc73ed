"""Tests of the vectors of the wire specification, which are stored as data in ``spec/vectors``.

They change only if the stream layout is meant to change. ``python -m tests.vectors`` writes new
vectors.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from multi_freq_ldpy import Tally, registry

from .vectors import FOLDER, classes, draws, read, weights, write
from .vectors.words import OWNED, by_package, by_reference

CLASSES = [*registry.ENTRIES, "nested"]
OTHERS = ["draws", "weights"]


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
    assert len(entries) == 300
    for expected in entries:
        assert weights.again(expected) == expected


def test_vectors_of_draws() -> None:
    entries, found = read("draws"), set()
    for entry in entries:
        name, given, main, on = draws.inputs(entry)
        assert len(main) == OWNED[name](**given)
        assert by_package(name, given, main, on) == entry["result"], entry
        assert by_reference(name, given, main, on) == (entry["result"], on), entry
        found.add(name)
    assert found == OWNED.keys() and len(entries) > 400


def test_there_is_a_vector_for_every_protocol() -> None:
    paths = list(FOLDER.iterdir())
    assert {path.name for path in paths} == {f"{name}.json" for name in (*CLASSES, *OTHERS)}
    assert len(paths) == len(CLASSES) + len(OTHERS) == 28
    assert all(len(read(path.stem)) >= 4 for path in paths)
    assert sum(path.stat().st_size for path in paths) < 1_500_000


def test_vectors_can_be_extended_but_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write("some", [{"spec": 1}], tmp_path)
    write("some", [{"spec": 1, "label": "a"}, {"spec": 2}], tmp_path)
    assert json.loads(path.read_text()) == [{"spec": 1, "label": "a"}, {"spec": 2}]
    kept = path.read_text()
    for refused in (
        [{"spec": 1, "label": "a"}],
        [{"spec": 1, "label": "b"}, {"spec": 2}],
        [{"spec": 1}, {"spec": 2}],
        [{"spec": 2}, {"spec": 1, "label": "a"}],
    ):
        with pytest.raises(ValueError, match=r"some.json: entry \d would change in"):
            write("some", refused, tmp_path)
    assert path.read_text() == kept
