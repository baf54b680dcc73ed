"""The table of faults says what is so, and the page of the documentation is the table.

``make mutants`` plants them.
"""

import ast
from pathlib import Path

import pytest
from table import PACKAGE, PAGE, ROOT, Mutant, mutants, page, wrong

from multi_freq_ldpy import checks

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutation_can_be_planted(mutant: Mutant) -> None:
    """What is replaced occurs once, and what comes of it is Python."""
    text = (ROOT / PACKAGE / mutant.file).read_text()
    planted = mutant.planted(text)
    assert planted != text
    ast.parse(planted)


def functions_of(file: Path) -> set[str]:
    return {
        each.name for each in ast.parse(file.read_text()).body if isinstance(each, ast.FunctionDef)
    }


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_law_or_test_exists(mutant: Mutant) -> None:
    if mutant.test:
        file, _, name = mutant.law.partition("::")
        assert name.partition("[")[0] in functions_of(ROOT / file) and not mutant.subject
    else:
        assert mutant.law in checks.CHECKS and mutant.subject


def test_faults_are_many_and_different() -> None:
    assert len(MUTANTS) >= 100
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)
    assert len({(each.file, each.before, each.after) for each in MUTANTS}) == len(MUTANTS)
    assert {each.law for each in MUTANTS} | {
        each.law for each in wrong()
    } >= checks.CHECKS.keys() - {"documented"}


def test_page_is_the_table() -> None:
    assert PAGE.read_text() == page(MUTANTS, wrong()), "python mutants/plant.py --page writes it"
