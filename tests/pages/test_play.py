"""Tests of the playground."""

import math
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playground import copy_playground

from multi_freq_ldpy import GRR, OLH, OUE, SS, SUE, Tally, wire

from .look import Look

PROTOCOLS: dict[str, Any] = {"GRR": GRR, "SUE": SUE, "OUE": OUE, "OLH": OLH, "SS": SS}
Z = 1.959963984540054
PATIENCE = 60_000
FIRST = {"protocol": "GRR", "k": "4", "epsilon": "1", "n": "10000", "shares": "decreasing"}
LABELS = {
    "protocol": "Protocol",
    "k": "Number of answers (k)",
    "epsilon": "Privacy budget ε",
    "n": "Users (n)",
    "shares": "True shares",
}
DRAWS = 12


@pytest.fixture
def still(profiles: Callable[..., Any], visit: Callable[..., Look]) -> Look:
    """Open a tab of a person who wants no movement: a run is computed at once."""
    return visit(profiles(reduced_motion="reduce"))


def click(look: Look, name: str) -> None:
    """Click a button."""
    look.page.get_by_role("button", name=name, exact=True).click()


def wait_for(look: Look, state: str) -> None:
    """Wait until the page is in a state."""
    look.page.locator(f"main[data-state={state}]").wait_for(timeout=PATIENCE)


def run(look: Look) -> None:
    """Let all users report."""
    click(look, "Run")
    wait_for(look, "finished")


def controls(look: Look) -> dict[str, str]:
    """Return what the controls show."""
    return {
        field: look.page.get_by_label(label).first.input_value() for field, label in LABELS.items()
    }


def section(look: Look, heading: str) -> Any:
    """Return the part of the page with a heading."""
    title = look.page.get_by_role("heading", name=heading, exact=True)
    return look.page.locator("section").filter(has=title)


def rows(look: Look, heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, as texts."""
    return [
        [" ".join(cell.split()) for cell in row.locator("th, td").all_inner_texts()]
        for row in section(look, heading).locator("tbody tr").all()
    ]


def lengths(part: Any, selector: str, attribute: str) -> list[float]:
    """Return parts of the width that shapes of a chart have."""
    return [
        float(each.get_attribute(attribute).removesuffix("%")) / 100
        for each in part.locator(selector).all()
    ]


def fragment_of(look: Look) -> dict[str, str]:
    """Return the set-up that the address has."""
    return dict(part.split("=") for part in look.page.url.split("#")[1].split("&"))


def number(text: str) -> int:
    """Return a number that a page shows."""
    return int(text.replace(",", ""))


def points(share: float) -> str:
    """Return percentage points in two digits, as the page shows them."""
    return f"{float(f'{100 * share:.2g}'):,g}"


def signed(text: str) -> str:
    """Return a number with the sign that pages have."""
    return re.sub(r"^-(?=0\.0$)", "", text).replace("-", "−")


def expected_half(protocol: Any, shares: Any, n: int) -> float:
    """Return the largest half-width of an interval to expect."""
    return max(Z * math.sqrt(protocol.variance(n, share)) for share in shares)


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


SHARED = {
    "defaults": {},
    "protocol": {"protocol": "OLH", "k": "20"},
    "budget": {"epsilon": "0.05", "n": "100"},
    "most": {"epsilon": "8", "n": "100000", "shares": "rare"},
}


@pytest.mark.parametrize("changes", SHARED.values(), ids=SHARED)
def test_links_restore_the_set_up(
    look: Look, visit: Callable[..., Look], changes: dict[str, str]
) -> None:
    """Set the controls, and follow the link in another profile."""
    look.open("/play")
    for field, value in changes.items():
        control = look.page.get_by_label(LABELS[field]).first
        if field in ("protocol", "shares"):
            control.select_option(value)
        else:
            control.fill(value)
            control.blur()
    wanted = {**FIRST, **changes}
    assert controls(look) == wanted == fragment_of(look)
    link = look.page.get_by_role("link", name="Link to this set-up").get_attribute("href")
    other = visit().open(f"/play{link}")
    assert controls(other) == wanted
    look.check()
    other.check()


def test_own_shares_are_in_the_link(look: Look, visit: Callable[..., Look]) -> None:
    """Edit the weights, which are normalised, and follow the link."""
    look.open("/play#k=2")
    look.page.get_by_label("True shares").select_option("own")
    sliders = look.page.locator("details input[type=range]")
    sliders.nth(0).fill("30")
    sliders.nth(1).fill("90")
    shares = look.page.locator("label.weight .number")
    assert shares.all_inner_texts() == ["25.0 %", "75.0 %"]
    assert fragment_of(look)["shares"] == "30-90"
    other = visit().open(f"/play#{look.page.url.split('#')[1]}")
    assert other.page.locator("label.weight .number").all_text_contents() == ["25.0 %", "75.0 %"]
    sliders.nth(0).fill("0")
    sliders.nth(1).fill("0")  # no share is left: all are equal
    assert shares.all_inner_texts() == ["50.0 %", "50.0 %"]
    assert controls(look)["shares"] == "own"
    look.page.get_by_label(LABELS["k"]).fill("3")
    look.page.get_by_label(LABELS["k"]).blur()
    assert shares.all_inner_texts() == ["50.0 %", "33.3 %", "16.7 %"]
    look.check()


HOSTILE = {
    "k=1e9": "the number of answers",
    "k=1": "the number of answers",
    "k=21": "the number of answers",
    "k=4.5": "the number of answers",
    "protocol=<script>alert(1)</script>": "the protocol",
    "protocol=constructor": "the protocol",
    "epsilon=-1": "ε",
    "epsilon=NaN": "ε",
    "epsilon=Infinity": "ε",
    "epsilon=0": "ε",
    "epsilon=0.123": "ε",
    "n=99999999999999999999": "the number of users",
    "n=0": "the number of users",
    "n=": "the number of users",
    "shares=1-2": "the true shares",
    "shares=0-0-0-0": "the true shares",
    "shares=1-2-3-101": "the true shares",
    "shares=__proto__": "the true shares",
    "k=1e9&epsilon=NaN&n=-0": "the number of answers, ε, the number of users",
}


def test_hostile_addresses_fall_back(look: Look) -> None:
    """Give values that are not valid: the page names the field, and shows its own value."""
    look.open("/play")
    for fragment, named in HOSTILE.items():
        look.page.goto(f"{look.origin}/play#{fragment}")
        sentence = f"The address has no valid value for {named}. "
        look.page.get_by_text(sentence).wait_for()
        assert controls(look) == FIRST == fragment_of(look), fragment
    look.page.goto(f"{look.origin}/play#k=5&unknown=1")
    look.page.get_by_text("Answer E").wait_for(state="attached")
    assert "no valid value" not in look.text()
    look.check()


def test_fields_refuse_what_is_not_valid(look: Look) -> None:
    """Enter numbers beyond the limits: the set-up stays."""
    look.open("/play")
    for field, value in (("k", "1"), ("k", "100"), ("k", ""), ("n", "5"), ("n", "1000001")):
        control = look.page.get_by_label(LABELS[field])
        control.fill(value)
        control.blur()
        assert fragment_of(look) == FIRST, (field, value)
        assert control.evaluate("(input) => !input.validity.valid")
        control.fill(FIRST[field])
        control.blur()
    look.check()


def test_keyboard_only(still: Look) -> None:
    """Run, change ε, and draw one report, with the keyboard alone."""
    still.open("/play#n=100")
    press = still.page.keyboard.press

    def reach(selector: str) -> None:
        for _ in range(60):
            press("Tab")
            if still.page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"{selector} cannot be reached")

    reach("button.main")
    press("Enter")
    wait_for(still, "finished")
    reach("form input[type=range]")
    press("ArrowRight")
    assert fragment_of(still)["epsilon"] == "1.05"
    assert "e^ε = 2.86" in still.text()
    wait_for(still, "ready")
    reach("div.row.low button")
    press("Space")
    still.page.get_by_text("Largest factor in 1 report").wait_for()


def test_lesson_leads_through_set_ups(still: Look) -> None:
    """Take all steps: each sets the controls, runs, and says the error to expect."""
    still.open("/play")
    steps: list[dict[str, str]] = [
        {},
        {"epsilon": "0.1"},
        {"epsilon": "3"},
        {"n": "100"},
        {"n": "100000"},
        {"k": "20"},
        {"k": "20", "protocol": "OUE"},
        {"k": "5", "protocol": "OUE", "shares": "rare"},
    ]
    for i, changes in enumerate(steps):
        click(still, "Next step" if i else "Start")
        still.page.get_by_role("heading", name=f"Step {i + 1} of 8").wait_for()
        setup = {**FIRST, **changes}
        assert fragment_of(still) == setup == controls(still)
        k, n = int(setup["k"]), int(setup["n"])
        if i:
            protocol = PROTOCOLS[setup["protocol"]](k, float(setup["epsilon"]))
            weights = np.arange(k, 0, -1) / (k * (k + 1) / 2)
            shares = [0.2475, 0.01] if "shares" in changes else weights
            card = still.page.locator("section.card").inner_text()
            assert f"± {points(expected_half(protocol, shares, n))} points" in card
        else:
            assert "Largest factor in 1 report" in still.text()
    wait_for(still, "finished")
    assert still.page.get_by_role("button", name="Next step").is_disabled()
    click(still, "Back")
    assert fragment_of(still) == FIRST | steps[6]
    still.check()


def test_layouts(look: Look) -> None:
    """Hold the page to accessibility and to its width, with everything that it can show."""
    fragment = "#protocol=OLH&k=6&n=100&epsilon=0.05"
    look.open(f"/play{fragment}")
    look.page.locator("summary").click()
    click(look, "Start")
    look.page.goto(f"{look.origin}/play{fragment}&shares=0")
    look.page.get_by_text("no valid value for the true shares").wait_for()
    click(look, "One report")
    click(look, "Draw a report")
    run(look)
    look.check_all_layouts()
    look.check()


@pytest.fixture
def static(tmp_path: Path) -> Iterator[str]:
    """Serve the copy of the documentation from a plain file server; yield its origin."""
    copy_playground(tmp_path)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *given: object) -> None:
            """Log nothing."""

    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_static_copy_needs_no_service(profiles: Callable[..., Any], static: str) -> None:
    """Run the copy of the documentation: it leads back there, and knows no service."""
    look = Look(profiles(reduced_motion="reduce"), static).open("/play.html#n=500&protocol=OUE")
    run(look)
    assert "500 of 500 users have reported." in look.text()
    links = look.page.get_by_role("link").evaluate_all("(all) => all.map((each) => each.pathname)")
    assert links == ["/index.html", "/play.html"]
    look.check()


def test_service_leads_to_its_surveys(look: Look) -> None:
    """Follow the link of the header."""
    look.open("/play")
    assert look.page.get_by_role("link", name="Surveys").evaluate("(a) => a.pathname") == "/"
