"""Tests that the named check rejects each wrong protocol, with a message that repeats the check."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from table import read_mutants

import multi_freq_ldpy
from multi_freq_ldpy import GRR, OUE, SMP, checks, exact
from multi_freq_ldpy.estimation import intervals
from multi_freq_ldpy.mechanism import Mechanism

from .cases import EVERY
from .faults import FAULTS, MoreThanItSays

NAMES = {name: getattr(multi_freq_ldpy, name) for name in multi_freq_ldpy.__all__}
SEEDED = {"batches", "counting", "fit", "unbiased", "variance", "rounds"}
"""Checks that draw reports. Their messages contain the seed and the numbers found."""


def said(mechanism: Mechanism, law: str) -> str:
    """Return the message of the check that a mechanism fails, and test its content."""
    with pytest.raises(checks.CheckFailed) as broken:
        checks.run_check(law, mechanism)
    assert broken.value.law == law
    assert isinstance(broken.value.__cause__, AssertionError), (
        "the check must reject by its own assertion, not by another error"
    )
    first, *_, last = str(broken.value).splitlines()
    assert first.startswith(f"{mechanism!r} fails the check {law!r}: ")
    assert last.startswith("repeat: ") and f"checks.run_check({law!r}, {mechanism!r})" in last
    if law in SEEDED:
        assert re.search(r"seed \d|Stream\(\d|key bytes", first) and re.search(
            r"\d", first.partition(" fails ")[2]
        )
    return str(broken.value)


def repeat(message: str, *path: Path) -> str:
    """Run the command in the last line of a message, and return its standard error."""
    program, *arguments = shlex.split(message.splitlines()[-1].removeprefix("repeat: "))
    assert program == "python"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.statistical
@pytest.mark.parametrize(("protocol", "law"), FAULTS, ids=lambda x: repr(x))
def test_fault_is_rejected(
    protocol: Mechanism, law: str, proved: Callable[[str, int], None]
) -> None:
    said(protocol, law)
    proved("wrong protocols rejected by the named check", 1)


@pytest.mark.statistical
@pytest.mark.parametrize("protocol", [each for each, _ in FAULTS[::12]], ids=repr)
def test_running_every_check_finds_faults_too(protocol: Mechanism) -> None:
    with pytest.raises(checks.CheckFailed):
        checks.check_protocol(protocol)


def test_what_is_planted_while_it_runs_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            GRR, "weights", property(lambda self: exact.symbol_weights(self.k, 1.01 * self.epsilon))
        )
        assert "exceeds e^3.0" in said(GRR(5, 3.0), "privacy")
    with monkeypatch.context() as patch:
        patch.setattr(GRR, "_refused", lambda self, reports: np.zeros(len(reports), np.bool_))
        assert "is accepted" in said(SMP(GRR, [2, 3], 1.0), "encoding")
    limits = intervals.normal_limits
    monkeypatch.setattr(
        intervals,
        "normal_limits",
        lambda x, sigma2, level: limits(x, lambda f: sigma2(f) / 4, level),
    )
    assert re.search(
        r"reports of 4000 users cover f=0\.\d with probability 0\.\d+, not at least ",
        said(OUE(5, 3.0), "coverage"),
    )


@pytest.mark.process
def test_the_last_line_repeats_what_is_broken(tmp_path: Path) -> None:
    """Repeat a check in a new process.

    The mechanisms are a protocol outside the package, and a protocol in a mutated copy of the
    package.
    """
    package = Path(multi_freq_ldpy.__file__).parent
    message = said(MoreThanItSays(3, 1.0), "privacy")
    assert "from tests.faults import MoreThanItSays; " in message
    assert repeat(message, package.parent, Path(__file__).parent.parent).endswith(
        f"CheckFailed: {message}\n"
    )
    mutant = next(
        each
        for each in read_mutants()
        if each.check == "privacy" and each.mechanism.startswith("GRR")
    )
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / package.name / mutant.file).write_text(mutant.plant())
    mechanism = eval(mutant.mechanism, dict(NAMES))
    line = str(checks.CheckFailed("privacy", mechanism, "…")).splitlines()[-1]
    assert "from multi_freq_ldpy import *; checks" in line
    told = repeat(line, tmp_path)
    assert (
        f"CheckFailed: {mechanism!r} fails the check 'privacy': AssertionError: " in told
        and told.splitlines()[-1] == line
    )


def test_protocols_that_cannot_be_imported_are_named() -> None:
    class Local(MoreThanItSays):
        pass

    where = f"Local from {__name__}"
    assert said(Local(3, 1.0), "privacy").endswith(where)


def test_every_subject_can_be_written_down() -> None:
    for mechanism in EVERY:
        assert eval(repr(mechanism), dict(NAMES)) == mechanism
