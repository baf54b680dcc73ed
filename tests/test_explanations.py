"""Tests of explanations: what one report says, and how likely it is under each answer."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from multi_freq_ldpy import (
    GRR,
    HR,
    LGRR,
    LOLH,
    LOSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    Bloom,
    DBitFlipPM,
    Survey,
)

LABELS = {"smokes": ["yes", "no"], "age": [20, 40, 60]}
ANSWERS = {"smokes": "no", "age": 40}
TWICE = {"eps_perm": 2.0, "eps_1": 1.0}

SURVEYS = [
    *(Survey(LABELS, 1.0, protocol=cls, solution=SMP) for cls in (GRR, OLH, OUE, SS, HR)),
    *(Survey(LABELS, 1.0, protocol=cls, solution=SPL) for cls in (GRR, OUE, SS, HR)),
    *(Survey(LABELS, 1.0, protocol=cls, solution=RSFD) for cls in (GRR, OUE, SS, HR)),
    Survey(LABELS, 1.0, protocol=OUE, solution=RSFD, fake="random"),
    *(Survey(LABELS, **TWICE, protocol=cls, solution=SMP) for cls in (LGRR, LOSUE, LOLH)),
    Survey(LABELS, eps_perm=2.0, protocol=DBitFlipPM, solution=SPL, b=2, d_bits=1),
]
# Its reports cannot be listed
FILTER = Survey({"smokes": ["yes", "no"]}, 1.0, protocol=lambda k, epsilon: Bloom(k, epsilon, 9))


@pytest.mark.parametrize("survey", SURVEYS, ids=repr)
def test_odds_are_those_of_the_exact_distribution(survey: Survey) -> None:
    record = survey._encode_one({name: ANSWERS[name] for name in survey.attributes})
    answers = {name: ANSWERS[name] for name in survey.attributes}
    law = survey.solution.law(record)
    laws = {}
    for j, labels in enumerate(survey.attributes.values()):
        for v in range(len(labels)):
            changed = [*record[:j], v, *record[j + 1 :]]
            laws[j, v] = survey.solution.law(changed)
    for report in [*law][:: max(1, len(law) // 50)]:
        for j, each in enumerate(survey.explain(report, answers)):
            chances = [laws[j, v][report] for v in range(len(each.odds))]
            assert [*each.odds.values()] == [chance / law[report] for chance in chances]
            assert each.ratio == max(chances) / min(chances)
            assert each.ratio <= (survey.solution.privacy.ratio_attribute or 0)
            assert each.sent in ({None} if isinstance(survey.solution, RSFD) else {True, False})


@pytest.mark.parametrize("survey", [*SURVEYS, FILTER], ids=repr)
def test_supported_labels_are_those_that_are_counted(survey: Survey) -> None:
    answers = {name: ANSWERS[name] for name in survey.attributes}
    for seed in range(20):
        report = survey.randomize_one(answers, rng=seed) if not survey.longitudinal else None
        if report is None:
            (entry,) = survey.panel(1, rng=seed).report({k: [v] for k, v in answers.items()})[
                "report"
            ]
            report = bytes(entry)
        tally = survey.tally([report])
        for j, each in enumerate(survey.explain(report, answers)):
            labels = survey.attributes[each.attribute]
            cells = survey.solution.leaves[j].cell_of(range(len(labels)))
            counted = tally[j].counts[cells]
            assert each.supports == tuple(
                label for label, count in zip(labels, counts_of(counted), strict=True) if count > 0
            )


def counts_of(counts: Any) -> list[int]:
    return [int(each) for each in counts]


def test_odds_without_answers_are_relative_to_the_least_likely_label() -> None:
    survey = Survey(LABELS, 2.0, protocol=GRR, solution=SMP)
    smokes, age = survey.explain(bytes([1, 2]))
    assert (smokes.sent, smokes.supports, smokes.ratio) == (False, (), 1)
    assert [*age.odds.values()] == [1, 1, age.ratio]
    assert age.ratio == survey.solution.protocols[1].privacy.ratio
    assert isinstance(age.ratio, Fraction)


def test_explanations_are_shown_as_text() -> None:
    survey = Survey(LABELS, 2.0, protocol=GRR, solution=SMP)
    smokes, age = survey.explain(bytes([1, 2]), ANSWERS)
    assert str(smokes) == "smokes: the report says nothing of this attribute"
    assert str(age).splitlines() == [
        "age: the report supports 60",
        "  20  1 times as likely",
        "  40  1 (the answer)",
        "  60  7.38906 times as likely",
    ]


HIDDEN = Survey(LABELS, 1.0, protocol=GRR, solution=RSFD)
NOISY = Survey(LABELS, 1.0, protocol=SHE, solution=SPL)
ROUNDS = Survey(LABELS, 1.0, rounds=4, changes=1)
WRONG: dict[str, tuple[type[Exception], str, Callable[[], object]]] = {
    "text": (TypeError, "data must be bytes", lambda: HIDDEN.explain("ab", ANSWERS)),  # type: ignore[arg-type]
    "length": (ValueError, "2 bytes", lambda: HIDDEN.explain(bytes(3), ANSWERS)),
    "two reports": (ValueError, "must have 2 bytes", lambda: HIDDEN.explain(bytes(4), ANSWERS)),
    "no report": (ValueError, "must have 2 bytes", lambda: HIDDEN.explain(b"", ANSWERS)),
    "invalid": (ValueError, "not a report", lambda: HIDDEN.explain(bytes([2, 0]), ANSWERS)),
    "no answers": (ValueError, "answers must be given", lambda: HIDDEN.explain(bytes(2))),
    "label": (
        ValueError,
        "'maybe'",
        lambda: HIDDEN.explain(bytes(2), {"smokes": "maybe", "age": 20}),
    ),
    "no fractions": (ValueError, "not a fraction", lambda: NOISY.explain(bytes(20), ANSWERS)),
    "rounds": (ValueError, "earlier rounds", lambda: ROUNDS.explain(bytes(4), ANSWERS)),
}


@pytest.mark.parametrize("name", WRONG)
def test_reports_that_cannot_be_explained_are_refused(name: str) -> None:
    kind, message, explain = WRONG[name]
    with pytest.raises(kind, match=message):
        explain()
