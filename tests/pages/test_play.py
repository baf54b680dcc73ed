"""Tests of what the playground computes: estimates, errors and likelihoods."""

import math
import re

import numpy as np
import pytest

from multi_freq_ldpy import GRR, SS, Tally, wire

from .look import Look
from .playing import (
    PROTOCOLS,
    Z,
    click,
    expected_half,
    lengths,
    number,
    points,
    rows,
    run,
    section,
    signed,
    wait_for,
)

DRAWS = 8


@pytest.mark.parametrize("name", PROTOCOLS)
def test_estimates_are_those_of_python(still: Look, name: str) -> None:
    """Recompute every estimate, with its error, from the counts that the page shows."""
    k, n, epsilon = 5, 1000, 1.5
    still.open(f"/play#protocol={name}&k={k}&epsilon={epsilon}&n={n}&shares=60-20-10-10-0")
    run(still)
    shown = rows(still, "What the aggregator learns")
    counts = np.array([number(row[1]) for row in shown])
    protocol = PROTOCOLS[name](k, epsilon)
    estimate = protocol.estimate(Tally(protocol, counts, np.array(n)))
    missed = 0
    for row, f, std in zip(shown, estimate.frequencies, estimate.std, strict=True):
        low, high = np.clip([f - Z * std, f + Z * std], 0, 1)
        text = f"{signed(f'{100 * f:.1f}')} ± {100 * Z * std:.1f} %"
        truth = float(row[2].removesuffix(" %")) / 100
        misses = not low <= truth <= high
        assert row[3].removesuffix(" misses the truth") == text
        assert row[3].endswith("misses the truth") == misses
        missed += misses
    scale = re.search(r"from 0 to (\d+) %", still.text())
    assert scale
    drawn = np.clip(estimate.frequencies * 100 / int(scale[1]), 0, 1)
    learned = section(still, "What the aggregator learns")
    assert lengths(learned, "rect.share", "width") == pytest.approx(drawn, abs=1e-5)
    truths = [float(row[2].removesuffix(" %")) / int(scale[1]) for row in shown]
    assert lengths(learned, "line.truth", "x1") == pytest.approx(truths, abs=2e-3)
    shares = np.array([0.6, 0.2, 0.1, 0.1, 0])
    half = points(expected_half(protocol, shares, n))
    assert f"expected to reach up to ± {half}." in still.text()
    assert f"{k - missed} of {k} intervals contain the true share." in still.text()
    still.check()


def test_errors_compare_with_a_sample(still: Look) -> None:
    """Check the largest error, and the errors with and without privacy for a population."""
    protocol, shares, n = GRR(3, 3.0), (0.6, 0.3, 0.1), 1000
    still.open(f"/play#k=3&n={n}&epsilon=3&shares=60-30-10")
    half = points(expected_half(protocol, shares, n))
    assert f"an interval reaches up to ± {half} percentage points" in still.text()
    run(still)
    shown = rows(still, "What the aggregator learns")
    error = re.search(r"The largest error is ([\d.]+) percentage points", still.text())
    estimates = [float(row[3].split(" ±")[0].replace("−", "-")) for row in shown]
    truths = [float(row[2].removesuffix(" %")) for row in shown]
    assert error
    largest = max(abs(a - b) for a, b in zip(estimates, truths, strict=True))
    assert float(error[1]) == pytest.approx(largest, abs=0.15)
    drawing = [f * (1 - f) / n for f in shares]
    both = [a + protocol.variance(n, f) for a, f in zip(drawing, shares, strict=True)]
    for variances in (drawing, both):
        assert f"up to ± {points(Z * math.sqrt(max(variances)))}" in still.text()


def test_weights_are_the_shares_of_the_users(still: Look) -> None:
    """Give all weight to one answer: every user has it."""
    still.open("/play#k=3&n=500&shares=0-7-0")
    run(still)
    truths = [row[2] for row in rows(still, "What the aggregator learns")]
    assert truths == ["0.0 %", "100.0 %", "0.0 %"]


def test_reports_are_about_the_true_answers(still: Look) -> None:
    """Choose so large an ε that a report of GRR is false once in 1500 draws."""
    still.open("/play#k=3&n=500&epsilon=8&shares=0-7-0")
    run(still)
    counts = [number(row[1]) for row in rows(still, "What the aggregator learns")]
    assert sum(counts) == 500 and counts[1] >= 485
    still.page.get_by_role("combobox", name="True answer").select_option("C")
    fitting = 0
    for drawn in range(1, 6):
        click(still, "Draw a report")
        still.page.get_by_text(re.compile(rf"in {drawn} reports?:")).wait_for()
        fitting += "The report fits C." in still.text()
    assert fitting >= 3


def test_true_answers_have_the_chosen_shares(still: Look) -> None:
    """Compare the shares of 20,000 users with the weights, at six standard errors."""
    still.open("/play#k=3&n=20000&shares=6-3-1")
    run(still)
    truths = [float(row[2].removesuffix(" %")) for row in rows(still, "What the aggregator learns")]
    assert truths == [pytest.approx(each, abs=2.1) for each in (60, 30, 10)]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_one_report_discloses_what_python_says(still: Look, name: str) -> None:
    """Compare the likelihoods of shown bytes with those of Python, and with the bound."""
    k, epsilon, largest = 6, 1.25, 1.0
    still.open(f"/play#protocol={name}&k={k}&epsilon={epsilon}")
    protocol, bound = PROTOCOLS[name](k, epsilon), math.exp(epsilon) * (1 + 1e-12)
    still.page.get_by_role("combobox", name="True answer").select_option("C")
    for drawn in range(1, DRAWS + 1):
        click(still, "Draw a report")
        still.page.get_by_text(re.compile(rf"in {drawn} reports?:")).wait_for()
        box = section(still, "What one report discloses")
        report = bytes.fromhex(box.locator("code").inner_text().replace(" ", ""))
        chances = [protocol.likelihood(report, value) for value in range(k)]
        shown = [float(each.get_attribute("value")) for each in box.locator("data").all()]
        parts, ratio, most = shown[:k], shown[k], shown[k + 1]
        assert parts == [pytest.approx(float(each / max(chances)), rel=1e-12) for each in chances]
        assert ratio == pytest.approx(float(max(chances) / min(chances)), rel=1e-12)
        largest = max(largest, ratio)
        assert ratio <= bound and most == largest
        assert lengths(box, "rect.share, rect.own", "width") == pytest.approx(parts, abs=1e-5)
        assert lengths(box, "line.truth", "x1") == pytest.approx([1 / bound] * k, abs=1e-5)
        supports = [chr(65 + v) for v, n in enumerate(wire.tally(protocol, report).counts) if n]
        fits = f"fits {' '.join(supports)}." if supports else "fits no answer."
        assert f"The report {fits}" in box.inner_text()
        own = [row[0] for row in rows(still, "What one report discloses")]
        assert own == [*"AB", "C (true)", *"DEF"]
    still.check()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_sentences_have_the_probabilities(look: Look, name: str) -> None:
    """Check the sentences about the protocol and about ε for the present set-up."""
    protocol = PROTOCOLS[name](4, 2.0)
    look.open(f"/play#protocol={name}&epsilon=2")
    probabilities = re.search(r"probability of ([\d.]+) %.*? with ([\d.]+) %", look.text())
    assert probabilities
    f = protocol.estimate(Tally(protocol, np.array([1000, 0, 0, 0]), np.array(1000))).frequencies
    slope = 1 / (f[0] - f[1])
    other = -f[1] * slope
    shown = [float(each) for each in probabilities.groups()]
    assert shown == [pytest.approx(100 * each, abs=0.051) for each in (other + slope, other)]
    assert "more than 7.39 times as likely" in look.text()
    assert "raise it to 45.1 % at most" in look.text()


def test_reports_arrive_one_by_one_then_in_chunks(look: Look) -> None:
    """Run with movement: eight reports have rows, and the true answers can be hidden."""
    look.open("/play#protocol=SS&n=300")
    asked = len(look.asked)
    run(look)
    shown = rows(look, "The reports")
    assert [row[0] for row in shown] == [*"12345678"]
    assert all(row[1] in "ABCD" for row in shown)
    for row in shown:
        counts = wire.tally(SS(4, 1.0), bytes.fromhex(row[2].replace(" ", ""))).counts
        assert row[3] == " ".join(chr(65 + v) for v, n in enumerate(counts) if n)
    look.page.get_by_label("Show the true answers").uncheck()
    assert {row[1] for row in rows(look, "The reports")} == {"hidden"}
    assert "300 of 300 users have reported." in look.text()
    assert look.page.get_by_role("button", name="Run").is_disabled()
    assert len(look.asked) == asked, "a simulated report was sent"
    look.check()


def test_steps_pause_and_reset(look: Look) -> None:
    """Let single users report, run, pause, go on and begin again."""
    look.open("/play#n=100000&epsilon=0.5")
    assert "expected with this set-up" in look.text().lower()
    for _ in range(10):
        click(look, "One report")
    assert [row[0] for row in rows(look, "The reports")] == [str(i) for i in range(3, 11)]
    assert "10 of 100,000 users have reported." in look.text()
    click(look, "Run")
    wait_for(look, "running")
    click(look, "Pause")
    wait_for(look, "paused")
    progress = look.page.get_by_role("progressbar", name="Users who have reported")
    before = int(progress.get_attribute("value"))
    click(look, "One report")
    assert int(progress.get_attribute("value")) == before + 1
    click(look, "Reset")
    wait_for(look, "ready")
    assert "0 of 100,000 users have reported." in look.text()
    assert rows(look, "The reports") == []
    look.check()


def test_no_movement_where_none_is_wanted(still: Look) -> None:
    """Run at once: no report appears by itself, and the estimates appear when all are there."""
    still.open("/play#n=2000")
    run(still)
    assert "2,000 of 2,000 users have reported." in still.text()
    assert rows(still, "The reports") == []
