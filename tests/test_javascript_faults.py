"""Tests of the tests of the JavaScript client: vectors reject mutations, and both readers agree."""

import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from multi_freq_ldpy import Survey
from multi_freq_ldpy.core import validate
from tests import javascript
from tests.javascript import ROOT, Engine
from tests.vectors import FOLDER

pytestmark = pytest.mark.extras

MUTANTS: dict[str, Any] = tomllib.loads((ROOT / "mutants" / "javascript.toml").read_text())
HOSTILE = json.loads((ROOT / "clients" / "js" / "tests" / "hostile.json").read_text())


@pytest.mark.parametrize("name", MUTANTS)
def test_vectors_reject_a_mutation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, text = MUTANTS[name], javascript.BUNDLE.read_text()
    assert text.count(fault["before"]) == 1, "the text to replace must occur once"
    (tmp_path / "ldp.mjs").write_text(text.replace(fault["before"], fault["after"]))
    monkeypatch.setattr(javascript, "BUNDLE", tmp_path / "ldp.mjs")
    vectors = (FOLDER / f"{fault['vectors']}.json").read_text()
    failures = Engine().ask("check", fault["vectors"], vectors)["failures"]
    assert failures, f"{fault['vectors']}.json does not reject it"
    assert not any("ReferenceError" in each for each in failures), failures


def test_hostile_texts_are_refused_by_both_readers() -> None:
    """Node reads the same list."""
    for text in HOSTILE["refused"]:
        with pytest.raises(ValueError, match="is not JSON"):
            validate.parse_json("it", text.encode())
    for text in HOSTILE["accepted"]:
        validate.parse_json("it", text.encode())


# Pieces that are put into texts of surveys
PIECES = [
    *('"', "\\", "{", "}", "[", "]", ":", ",", "0", "1", "-", ".", "e", "1e999", "null", "true"),
    *("NaN", "\\ud800", "\\u0000", "\0", "\ufeff", "__proto__", '"__proto__":1,', "1.0", "00"),
    *("9" * 400, "9" * 5000, "\x7f", "é", "\n", "\xa0", "//", "9007199254740993", "1e-400"),
    *("[" * 60, "]" * 60, "GRR", "SPL", '"version":1', '"version": true', "b,d_bits"),
]


def change(text: str, chooser: random.Random) -> str:
    """Return a text with one to three changes."""
    for _ in range(chooser.choice([1, 1, 1, 2, 3])):
        kind, i = chooser.randrange(5), chooser.randrange(len(text) + 1)
        if kind == 0:
            text = text[:i] + text[i + 1 :]
        elif kind < 3:
            text = text[:i] + chooser.choice(PIECES) + text[i + kind - 1 :]
        elif kind == 3:
            j = i + chooser.randrange(1, 40)
            text = text[:j] + text[i:j] + text[j:]
        else:
            tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[-+\w.]+|.', text, re.DOTALL)
            tokens[chooser.randrange(len(tokens))] = chooser.choice(PIECES + tokens)
            text = "".join(tokens)
        text = text or "{"
    return text


@pytest.mark.filterwarnings("ignore:a budget of")
def test_changed_surveys_are_read_alike() -> None:
    entries = json.loads((FOLDER / "surveys.json").read_text())
    texts = [each["text"] for each in entries if '"history"' not in each["text"]]
    engine, chooser, read = Engine(), random.Random(1), 0
    for _ in range(3000):
        text = change(chooser.choice(texts), chooser)
        try:
            spec = validate.parse_json("it", text.encode())
            wanted = Survey.from_spec(spec).digest
        except (ValueError, TypeError):
            wanted = None
        assert engine.ask("survey", text) == wanted, text
        read += wanted is not None
    assert 300 < read < 1500
