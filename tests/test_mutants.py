"""Tests of the table of mutations and its page in the documentation.

``make mutants`` applies the mutations.
"""

import ast

from generate import generate
from table import PAGE, ROOT, list_definitions, list_protocols, read_mutants, write_page

from multi_freq_ldpy import checks


def test_every_mutation_can_be_planted_and_is_on_the_page() -> None:
    mutants, protocols = read_mutants(), list_protocols()
    tests = {f"tests/{path.name}": ast.parse(path.read_text()) for path in ROOT.glob("tests/*.py")}
    planted = set()
    for each in mutants:
        source = each.plant()
        ast.parse(source)
        planted.add((each.file, source))
        if each.test:
            file, _, name = each.test.partition("::")
            assert name.partition("[")[0] in list_definitions(tests[file]), each.test
            assert not each.check and not each.mechanism, each.name
        else:
            assert each.check in checks.CHECKS and each.mechanism, each.name
    assert len(planted) == len({each.name for each in mutants}) == len(mutants)
    assert {each.check for each in (*mutants, *protocols)} >= checks.CHECKS.keys() - {"documented"}
    assert PAGE.read_text() == write_page(mutants, protocols), "run python mutants/plant.py --page"


def test_generated_mutations_are_python_and_differ() -> None:
    targets = [
        "core/exact.py::symbol_weights",
        "Solution._part_prices",
        "core.randomness:Stream.take",
    ]
    found = generate(targets, 30, 0)
    assert found == generate(targets, 30, 0) and len({each.source for each in found}) == 30
    assert {each.file for each in found} == {
        "core/exact.py",
        "solutions/base.py",
        "core/randomness.py",
    }
    for each in found:
        ast.parse(each.source)
