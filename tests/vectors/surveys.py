"""Vectors of survey files: their digests, the codes of answers, and reports."""

import json
import warnings
from collections.abc import Iterator
from typing import Any

from multi_freq_ldpy import (
    GRR,
    LGRR,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    DBitFlipPM,
    Once,
    Stream,
    Survey,
    wire,
)
from multi_freq_ldpy.core import validate

from .derived import losses

KEY = bytes(range(100, 132))
STRANGE = [
    "é ü ß",
    "👍🏽",
    '"quoted"',
    "a\\b",
    "line\nbreak\ttab\x00\x1f\x7f",
    "\u2028",
    "\ud7ff\ue000",
]
OBJECTS = ["__proto__", "constructor", "toString", "", "hasOwnProperty", "length"]
NUMBERS = [-7, 0, 1, 2**53, -(2**53), 10**15, 2**31]
FRACTIONS = [1.5, 0.1, 1e-07, 1e16, -0.0, 1.0, 123456.789, 5e-324, 1e22, 0.0001, 9999999999999998.0]
MIXED = [True, False, "true", 2, 2.5, "1", "None", "1e-7"]


def surveys() -> Iterator[tuple[Survey, list[dict[str, Any]]]]:
    """Yield surveys with answers."""
    simple = {"smokes": ["yes", "no"], "status": ["single", "married", "other", "unknown"]}
    answers: list[dict[str, Any]] = [
        {"smokes": "no", "status": "married"},
        {"status": "widowed", "smokes": "yes", "more": 1},
        {"smokes": "yes", "status": None},
        {"smokes": "yes"},
        {},
        {"smokes": None, "status": "single"},
        {"smokes": "No", "status": "single"},
        {"smokes": "yes", "status": ["single"]},
        {"smokes": "yes", "status": {"a": 1}},
        {"Smokes": "yes", "status": "single"},
    ]
    yield Survey(simple, epsilon=1.0), answers
    yield Survey(simple, epsilon=1.0, other="other"), answers
    yield Survey(simple, epsilon=1.0, missing="unknown"), answers
    both = {"other": "other", "missing": "unknown"}
    for solution in (SMP, SPL, RSFD):
        yield Survey(simple, epsilon=2.0, solution=solution, **both), answers
    yield Survey(simple, epsilon=2.0, solution=RSFD, protocol=SS, balance=True, **both), answers
    yield Survey(simple, eps_perm=4.0, eps_1=2.0, **both), answers
    yield Survey(simple, eps_perm=4.0, eps_1=2.0, protocol=LGRR, solution=SPL), answers
    yield Survey(simple, eps_perm=2.0, protocol=DBitFlipPM, **both), answers
    yield Survey(simple, epsilon=2.0, rounds=12, changes=2, **both), answers
    yield Survey(simple, epsilon=2.0, rounds=4, protocol=Once, solution=SPL), answers
    given = [*MIXED, 1, 1.0, 0, 0.0, "True", "2", 2.0, None, [], 10**300, 3]
    mixed = Survey({"n": MIXED}, epsilon=1.0, protocol=OUE, other="None", missing="1")
    yield mixed, [{"n": each} for each in given]
    yield Survey({"n": MIXED}, epsilon=1.0, protocol=OLH), [{"n": each} for each in given]
    given = [*NUMBERS, 0.0, 1.0, -0.0, True, False, "1", float(2**53), 1e15]
    yield Survey({"n": NUMBERS}, epsilon=1.0, protocol=GRR), [{"n": each} for each in given]
    given = [*FRACTIONS, 0, 1, 10**16, 10**22, "1.5", "1e-07", True, False, 0.30000000000000004]
    yield Survey({"x": FRACTIONS}, epsilon=1.0, protocol=SHE), [{"x": each} for each in given]
    given = [*STRANGE, "é ü ß".upper(), "e\u0301 ü ß", "", "👍"]
    yield Survey({"s": STRANGE}, epsilon=1.0, other="👍🏽"), [{"s": each} for each in given]
    named = {name or "empty": OBJECTS for name in (*OBJECTS, "é\u2028👍")}
    yield (
        Survey(named, epsilon=1.0),
        [{name: OBJECTS[(i + j) % 6] for j, name in enumerate(named)} for i in range(6)],
    )
    yield Survey(named, epsilon=1.0, solution=RSFD), [{}, {"length": "length"}]
    many = {f"a{i}": list(range(2 + i % 3)) for i in range(40)}
    yield Survey(many, epsilon=1.0), [dict.fromkeys(many, r % 2) for r in range(4)]


def alike() -> Iterator[tuple[Survey, list[dict[str, Any]]]]:
    """Yield surveys whose ``other`` and ``missing`` equal categories as numbers, of another type.

    Names that look alike are different.
    """
    answers: list[dict[str, Any]] = [{"n": each} for each in (7, None, True, 0, -0.0, "0", 1)]
    yield Survey({"n": [1.0, 2.0, 0.5]}, epsilon=1.0, other=1, missing=2), answers
    yield Survey({"n": [0, True, 2]}, epsilon=1.0, other=-0.0, missing=True), answers
    names = ["\u00e9", "e\u0301"]
    yield (
        Survey({name: ["x", "y"] for name in names}, epsilon=1.0),
        [{names[0]: "x", names[1]: "y"}, {names[0]: "x"}, {names[1]: "x"}],
    )


def written(survey: Survey) -> str:
    """Return the text that ``Survey.save`` writes."""
    return json.dumps(survey.to_spec(), indent=2, ensure_ascii=False) + "\n"


def rewritten(text: str) -> Iterator[str]:
    """Yield other texts of the same survey."""
    spec = json.loads(text)
    yield json.dumps(spec, sort_keys=True)
    yield " \t\r\n" + json.dumps(spec, separators=(",", ":"), ensure_ascii=False) + "\r\n "
    turned = {name: spec[name] for name in reversed(spec)}
    yield json.dumps(turned, indent="\t").replace("/", "\\/").replace("k", "\\u006b")


def codes_of(survey: Survey, answers: dict[str, Any]) -> list[int] | None:
    """Return the numbers of the categories, or None if the answers are refused."""
    try:
        return [int(each) for each in survey._encode_one(answers)]
    except ValueError:
        return None


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry, computed anew from the text, the answers and the key."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        survey = Survey.from_spec(validate.parse_json("it", entry["text"].encode()))
    answers = [
        {"answers": each["answers"], "codes": codes_of(survey, each["answers"])}
        for each in entry["answers"]
    ]
    found = {
        "text": entry["text"],
        "digest": survey.digest,
        "longitudinal": survey.longitudinal,
        "losses": losses(survey.solution),
        "answers": answers,
    }
    if survey.longitudinal:
        return found
    key, reports = bytes.fromhex(entry["key"]), []
    for i, each in enumerate(answers):
        report = None
        if each["codes"] is not None:
            drawn = survey.solution.randomize(each["codes"], Stream(key, position=i))
            report = wire.encode(survey.solution, drawn).hex()
        reports.append(report)
    return found | {"key": entry["key"], "reports": reports}


def make() -> list[dict[str, Any]]:
    """Return all entries. The texts of some surveys occur in several forms."""
    found = []
    for i, (survey, answers) in enumerate(surveys()):
        text = written(survey)
        listed = [{"answers": each} for each in answers]
        for each in (text, *(rewritten(text) if i % 4 == 3 or "👍" in text else [])):
            found.append(again({"text": each, "answers": listed, "key": KEY.hex()}))
            listed = listed[:2]
    text = written(Survey({"n": [0, 1], "m": [0.5, 2.0]}, epsilon=1.0))
    for old, new in (
        ('"epsilon": 1.0', '"epsilon": 1'),
        ('"epsilon": 1.0', '"epsilon": 100e-2'),
        ("      0,", "      -0,"),
        ("0.5", "5e-1"),
        ("2.0", "0.2E+1"),
        ('"k": 2,', '"k":2 ,'),
    ):
        assert old in text
        changed = text.replace(old, new)
        found.append(again({"text": changed, "answers": [], "key": KEY.hex()}))
    for survey, answers in alike():
        listed = [{"answers": each} for each in answers]
        found.append(again({"text": written(survey), "answers": listed, "key": KEY.hex()}))
    return found
