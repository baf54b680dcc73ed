"""Rehearsals: collections that are simulated before anybody is asked."""

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
"""The number of users whose reports are made together."""


@dataclass(frozen=True, repr=False)
class Rehearsal:
    """The result of ``Survey.rehearse``: errors that a survey has among assumed users.

    Parameters
    ----------
    users : int
        Number of simulated users.
    rounds : int
        Number of reports of each user.
    report_bytes : int
        Length of a report in bytes.
    truth : dict of str to array
        The frequencies in the assumed population, by attribute.
    answers : list of float
        Expected number of users who answer about each attribute.
    expected : list of array
        The expected standard error of each frequency, one array per attribute.
    errors : list of float
        The root mean squared error of the estimates of each attribute. The mean is over all
        categories and rounds.
    estimates : Estimates
        The estimates of the last round.
    whole : bool
        True if the survey protects whole histories. Then users report in some rounds only.

    Examples
    --------
    >>> from multi_freq_ldpy import Survey
    >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
    >>> survey.rehearse(10_000, {"smokes": [0.2, 0.8]}, rng=1)
    Rehearsal with 10,000 simulated users, who send 2 bytes each.
    Errors are standard errors of a category, in percentage points.
    attribute  categories  answers  expected  largest  seen
    smokes              2   10,000      0.58     0.58  1.16
    """

    users: int
    rounds: int
    report_bytes: int
    truth: dict[str, NDArray[np.float64]]
    answers: list[float]
    expected: list[NDArray[np.float64]]
    errors: list[float]
    estimates: Estimates
    whole: bool = False

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a table with one row per attribute.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            Kind of the table. None means the first kind that is installed.

        Returns
        -------
        table
            The columns are attribute, categories, answers, expected, largest and seen. ``answers``
            is the expected number of answers. ``expected`` is the root mean square of the standard
            errors, and ``largest`` is the largest of them. ``seen`` is the error of this rehearsal.

        Raises
        ------
        ImportError
            If the package for this kind of table is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> found = Survey({"smokes": ["yes", "no"]}, epsilon=2.0).rehearse(10_000, rng=1)
        >>> found.to_frame("dict")["answers"]
        [10000]
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
        """Draw the estimates beside the assumed frequencies.

        Parameters
        ----------
        **options
            Options of ``Estimates.plot``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> found = Survey({"smokes": ["yes", "no"]}, epsilon=2.0).rehearse(10_000, rng=1)
        >>> found.plot().axes[0].get_ylabel()
        'users, %'
        """
        return self.estimates.plot(self.truth, **options)

    def __repr__(self) -> str:
        each = "some" if self.whole else "each"
        often = f" in {each} of {self.rounds} rounds" if self.rounds > 1 else ""
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
    """Return the assumed frequencies of each attribute. The default is uniform."""
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
                    f"shares[{name!r}] must map the categories {validate.quote(labels)} to"
                    f" frequencies, not {validate.quote(list(given))}"
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
    """Return the expected number of answers per attribute, and the standard error per frequency."""
    if solution.rounds is not None:
        return _expect_rounds(solution, truth, n)
    answers, errors = [], []
    for protocol, (seen, _), share, own in zip(
        solution.leaves, solution.parts, solution.answering, truth.values(), strict=True
    ):
        cells = cells_of(protocol, own)
        variance = seen.channel.sampled_variance(share, np.array(n), cells, "population")
        answers.append(float(share) * n)
        errors.append(np.sqrt(np.asarray(variance, np.float64)))
    return answers, errors


def _expect_rounds(
    solution: Solution, truth: Mapping[str, NDArray[np.float64]], n: int
) -> tuple[list[float], list[NDArray[np.float64]]]:
    """Return what ``expect`` does, for users who report over rounds.

    The standard errors are root mean squares over the rounds.
    """
    many = n / solution.d if solution.samples else float(n)
    errors = [
        np.sqrt(solution.variance(n, own)[j].mean(axis=0) + own * (1 - own) / n)
        for j, own in enumerate(truth.values())
    ]
    return [many] * solution.d, errors


def cells_of(protocol: Any, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the true frequencies of the cells: values, or buckets if values are grouped."""
    if protocol.cells == len(truth):
        return truth
    places = protocol.cell_of(np.arange(protocol.k))
    return np.bincount(places, weights=truth, minlength=protocol.cells).astype(np.float64)
