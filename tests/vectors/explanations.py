"""Vectors of explanations: what a report says, and its exact likelihood under each answer."""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from multi_freq_ldpy import OUE, RSFD, SMP, SPL, DBitFlipPM, Stream, Survey, registry, wire
from multi_freq_ldpy.protocol import budgets_of

KEY = bytes(range(150, 182))
TWO = {"smokes": ["yes", "no"], "age": [20, 40, 60, 80, 100]}
ONE = {"status": ["a", "b", "c", "d", "e", "f", "g", "h", "i"]}
GIVEN = [{"smokes": "no", "age": 60}, {"smokes": "yes", "age": 20}]
DEVICES = {name: cls for name, cls in registry.BY_BUDGETS.items() if registry.ENTRIES[name].device}
ONCE = {name: cls for name, cls in DEVICES.items() if [*budgets_of(cls)] == ["epsilon"]}
TWICE = {name: cls for name, cls in DEVICES.items() if len(budgets_of(cls)) == 2}


def surveys() -> Iterator[tuple[Survey, list[dict[str, Any]]]]:
    """Yield surveys with the answers of their users."""
    for name, cls in ONCE.items():
        yield Survey(ONE, epsilon=1.0, protocol=cls, solution=SPL), [{"status": "c"}]
        for solution in (SMP, SPL, RSFD) if name != "SHE" else ():
            yield Survey(TWO, epsilon=2.0, protocol=cls, solution=solution), GIVEN
        if name in ("OUE", "SUE", "THE"):
            yield Survey(TWO, epsilon=2.0, protocol=cls, solution=RSFD, fake="random"), GIVEN
            yield Survey(TWO, epsilon=2.0, protocol=cls, solution=RSFD, balance=True), GIVEN
    for cls in TWICE.values():
        for solution in (SMP, SPL):
            yield Survey(TWO, eps_perm=4.0, eps_1=1.0, protocol=cls, solution=solution), GIVEN
    every: list[dict[str, Any]] = [{}, {"b": 2, "d_bits": 1}, {"b": [2, 4], "d_bits": [1, 3]}]
    padded = {"smokes": ["yes", "no"], **ONE}
    yield Survey(padded, epsilon=1.0, protocol=OUE), [{"smokes": "no", "status": "c"}]
    for options in every:
        yield Survey(TWO, eps_perm=2.0, protocol=DBitFlipPM, solution=SPL, **options), GIVEN
    nested: dict[str, Any] = {"protocol": "SMP", "protocols": []}
    hidden = registry.to_spec(Survey(TWO, epsilon=1.0, solution=RSFD).solution)
    alone = registry.to_spec(Survey({"c": [1, 2, 3]}, epsilon=1.0, solution=SPL).solution)
    nested["protocols"] = [
        {field: each for field, each in part.items() if field != "version"}
        for part in (hidden, alone)
    ]
    attributes: dict[str, Any] = {**TWO, "c": [1, 2, 3]}
    spec = Survey(attributes, epsilon=1.0).to_spec()
    spec["solution"] = {"version": 1, **nested}
    yield Survey.from_spec(spec), [{**each, "c": 2} for each in GIVEN]


def explain(text: str, report: str, answers: dict[str, Any] | None) -> dict[str, Any]:
    """Return the explanation of a report, or the refusal."""
    survey, data = Survey.from_spec(json.loads(text)), bytes.fromhex(report)
    try:
        found = survey.explain(data, answers)
    except ValueError:
        return {"refused": True}
    explanations = [
        {
            "attribute": each.attribute,
            "sent": each.sent,
            "supports": list(each.supports),
            "times": [float(times) for times in each.odds.values()],
            "ratio": float(each.ratio),
        }
        for each in found
    ]
    return {"explanations": explanations, "likelihoods": likelihoods(survey, data, answers)}


def likelihoods(survey: Survey, report: bytes, answers: Any) -> list[list[str]] | None:
    """Return the likelihood of a report under every change of one answer, as exact fractions."""
    if answers is None:
        return None
    found = []
    for name, labels in survey.attributes.items():
        records = [survey._encode_one({**answers, name: label}) for label in labels]
        chances: list[Fraction] = [survey.solution.likelihood(report, each) for each in records]
        found.append([f"{each.numerator}/{each.denominator}" for each in chances])
    return found


def make() -> list[dict[str, Any]]:
    """Return one entry per survey: honest reports with and without answers, and invalid ones."""
    found = []
    for survey, answers in surveys():
        records = [survey._encode_one(each) for each in answers]
        reports = survey.solution.randomize(records, Stream(KEY, position=0))
        size, sent = survey.solution.report_bytes, wire.encode(survey.solution, reports)
        own = [sent[i * size : (i + 1) * size].hex() for i in range(len(answers))]
        pairs: list[tuple[str, Any]] = [*zip(own, answers, strict=True), (own[0], None)]
        text = json.dumps(survey.to_spec())
        wrong = ["ff" * size, "00" * size, "00" * (size - 1) + "01", own[0] + "00"]
        pairs += [
            (report, answers[0])
            for report in wrong
            if explain(text, report, answers[0]) == {"refused": True}
        ]
        found.append(again({"text": text, "reports": pairs}))
    return found


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry as it is computed now."""
    text, reports = entry["text"], []
    for each in entry["reports"]:
        report, answers = (each["report"], each["answers"]) if isinstance(each, dict) else each
        reports.append({"report": report, "answers": answers, **explain(text, report, answers)})
    found: dict[str, Any] = json.loads(json.dumps({"text": text, "reports": reports}))
    return found
