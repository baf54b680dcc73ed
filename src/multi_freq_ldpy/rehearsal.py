"""A collection simulated before anybody is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .core import validate
from .estimation.several import Estimates
from .solutions.base import Solution
from .tables import frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCH = 2**18
"""Users whose reports are made together."""


@dataclass(frozen=True, repr=False)
class Rehearsal:
    """What a survey would have found if its users answered as assumed.

    Attributes
    ----------
    users : int
        The number of simulated users.
    rounds : int
        How often each of them reported.
    report_bytes : int
        The length of a report.
    truth : dict of arrays
        The frequencies in the assumed population, by attribute.
    answers : list of float
        How many users are expected to answer about each attribute.
    expected : list of arrays
        The standard error that is expected of each frequency, by attribute.
    errors : list of float
        The root mean squared error that was seen, over all categories and rounds.
    estimates : Estimates
        The estimates of the last round.
    """

    users: int
    rounds: int
    report_bytes: int
    truth: dict[str, NDArray[np.float64]]
    answers: list[float]
    expected: list[NDArray[np.float64]]
    errors: list[float]
    estimates: Estimates

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a table with one row per attribute.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table.

        Returns
        -------
        table
            Columns are attribute, categories, answers (expected), expected (the root mean square of
            the standard errors), largest (the largest of them) and seen (the error of this
            rehearsal).
        """
        return frames.build_table(kind, self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "attribute": list(self.truth),
            "categories": [len(shares) for shares in self.truth.values()],
            "answers": [round(each) for each in self.answers],
            "expected": [float(np.sqrt(np.mean(each**2))) for each in self.expected],
            "largest": [float(np.max(each)) for each in self.expected],
            "seen": list(self.errors),
        }

    def plot(self, **options: Any) -> "Figure":
        """Draw the estimates beside the assumed frequencies: see ``Estimates.plot``."""
        return self.estimates.plot(self.truth, **options)

    def __repr__(self) -> str:
        often = f" in each of {self.rounds} rounds" if self.rounds > 1 else ""
        size = f"{self.report_bytes} byte{'s' * (self.report_bytes != 1)}"
        columns = self._columns()
        shown = {
            name: [
                f"{100 * each:.2f}" if isinstance(each, float) else f"{each:,}" for each in cells
            ]
            if name != "attribute"
            else cells
            for name, cells in columns.items()
        }
        widths = [max(map(len, (name, *cells))) for name, cells in shown.items()]
        rows = [list(shown), *map(list, zip(*shown.values(), strict=True))]
        lines = [
            "  ".join(
                f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}"
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(
            [
                f"Rehearsal with {self.users:,} simulated users, who send {size} each{often}.",
                "Errors are standard errors of a category, in percentage points.",
                *lines,
            ]
        )


def check_shares(
    attributes: Mapping[str, tuple[Any, ...]], shares: Mapping[str, ArrayLike | Mapping[Any, float]]
) -> dict[str, NDArray[np.float64]]:
    """Return the assumed frequencies of each attribute, uniform where none are given."""
    if not isinstance(shares, Mapping) or (unknown := set(shares) - set(attributes)):
        wrong = shares if not isinstance(shares, Mapping) else sorted(map(repr, unknown))
        raise ValueError(
            f"shares must map attributes ({', '.join(attributes)}) to frequencies, not"
            f" {validate.quote(wrong)}"
        )
    found = {}
    for name, labels in attributes.items():
        given = shares.get(name)
        if isinstance(given, Mapping):
            if set(given) - set(labels):
                raise ValueError(
                    f"shares[{name!r}] must be by category, {validate.quote(labels)}, not"
                    f" {validate.quote(list(given))}"
                )
            given = [given.get(label, 0.0) for label in labels]
        own = (
            np.ones(len(labels))
            if given is None
            else validate.numbers(f"shares[{name!r}]", given, 0.0)
        )
        if own.shape != (len(labels),) or not own.sum() > 0:
            raise ValueError(
                f"shares[{name!r}] must be {len(labels)} frequencies, one per category, not"
                f" {validate.quote(given)}"
            )
        found[name] = own / own.sum()
    return found


def expect(
    solution: Solution, truth: Mapping[str, NDArray[np.float64]], n: int
) -> tuple[list[float], list[NDArray[np.float64]]]:
    """Return the expected answers to each attribute, and the standard error of each frequency."""
    answers, errors = [], []
    for protocol, (seen, _), share, own in zip(
        solution.leaves, solution.parts, solution.answering, truth.values(), strict=True
    ):
        cells = cells_of(protocol, own)
        variance = seen.channel.sampled_variance(share, np.array(n), cells, "population")
        answers.append(float(share) * n)
        errors.append(np.sqrt(np.asarray(variance, np.float64)))
    return answers, errors


def cells_of(protocol: Any, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the true frequencies of what is estimated: of buckets, where values are grouped."""
    places = protocol.cell_of(np.arange(protocol.k))
    return np.bincount(places, weights=truth, minlength=protocol.cells).astype(np.float64)
