"""The playground in Chromium: its controls and what it shows."""

import math
import re
from typing import Any

from multi_freq_ldpy import GRR, OLH, OUE, SS, SUE

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
