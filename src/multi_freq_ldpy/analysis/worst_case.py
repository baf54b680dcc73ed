"""The exact worst-case loss over all reports and all pairs of inputs, in rational arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core import exact, validate
from ..core.deprecation import accept_old_names
from ..mechanism import Mechanism, require_single
from ..protocol import Protocol

MOST_PAIRS = 2**20
"""Largest number of pairs of a report and an input that are enumerated one by one."""

MOST_LEVELS = 2**25
"""The same number for mechanisms whose reports have few different probabilities."""


class Unlisted(ValueError):
    """The error for a mechanism whose reports cannot be listed."""


class TooMany(Unlisted):
    """The error for a mechanism that has too many reports.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism.
    reports : int
        Number of its reports.
    inputs : int
        Number of its inputs.
    most : int
        Largest number of pairs of a report and an input.
    """

    def __init__(self, mechanism: object, reports: int, inputs: int, most: int) -> None:
        many = f"{reports} reports of {inputs} inputs"
        super().__init__(
            f"{validate.quote(mechanism)} has {many}, which are more than the {most} pairs that can"
            " be enumerated"
        )


class WorstCase(float):
    """A privacy loss, with the inputs and the report that attain it.

    The number is the logarithm of ``ratio``.

    Parameters
    ----------
    ratio : Fraction, optional
        Probability of the report for the first of ``inputs``, divided by its probability for the
        second. It is exact. None means infinite.
    inputs : pair, optional
        The two inputs. None means that the loss grows with every further report.
    report : bytes, optional
        The report, as on the wire. For a lifetime it is the permanent answer, which many reports
        reveal in the end. None means that the loss grows with every further report.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, exact_epsilon
    >>> exact_epsilon(GRR(3, epsilon=1.0)).attribute
    1.0: report 0x00 is 2.71828 times as likely for 0 as for 1
    """

    ratio: Fraction | None
    inputs: tuple[Any, Any] | None
    report: bytes | None

    def __new__(
        cls,
        ratio: Fraction | None,
        inputs: tuple[Any, Any] | None = None,
        report: bytes | None = None,
    ) -> Self:
        """Return the loss of a ratio."""
        self = super().__new__(cls, inf if ratio is None else exact.log(ratio))
        self.ratio, self.inputs, self.report = ratio, inputs, report
        return self

    def __getnewargs__(self) -> Any:
        return self.ratio, self.inputs, self.report

    def __repr__(self) -> str:
        if self.inputs is None or self.report is None:
            return f"{float(self)!r}: every further report tells more"
        first, second = self.inputs
        if self.ratio is None:
            return (
                f"{float(self)!r}: report 0x{self.report.hex()} is possible for {first}, not for"
                f" {second}"
            )
        times = f"{float(self.ratio):.6g}" if self < 700 else f"e^{float(self):.6g}"
        return (
            f"{float(self)!r}: report 0x{self.report.hex()} is {times} times as likely for {first}"
            f" as for {second}"
        )


class ExactEpsilon(WorstCase):
    """The result of ``exact_epsilon``.

    The number is the loss of one report between any two inputs, which is the definition of local
    differential privacy. Its ``ratio``, ``inputs`` and ``report`` are as for a ``WorstCase``.
    ``attribute`` is the loss of one report between records that differ in one attribute.
    ``lifetime`` is the loss of all reports that are ever made about unchanged values.
    ``lifetime_attribute`` is the same between records that differ in one attribute.

    Parameters
    ----------
    ratio : Fraction, optional
        Probability of the report for the first of ``inputs``, divided by its probability for the
        second. It is exact. None means infinite.
    inputs : pair, optional
        The two inputs with the largest loss.
    report : bytes, optional
        The report with the largest loss, as on the wire.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, SPL, exact_epsilon
    >>> found = exact_epsilon(SPL(GRR, [2, 2], epsilon=2.0))
    >>> float(found), float(found.attribute), float(found.lifetime)
    (2.0, 1.0, inf)
    """

    attribute: WorstCase
    lifetime: WorstCase
    lifetime_attribute: WorstCase

    def __repr__(self) -> str:
        names = ("one report", "one attribute", "lifetime", "lifetime, one attribute")
        losses = (
            super().__repr__(),
            repr(self.attribute),
            repr(self.lifetime),
            repr(self.lifetime_attribute),
        )
        return "\n".join(f"{name:24}{loss}" for name, loss in zip(names, losses, strict=True))


@accept_old_names(protocol="mechanism")
def exact_epsilon(mechanism: Mechanism) -> ExactEpsilon:
    r"""Return the exact privacy loss of a protocol or solution, from its ``law``.

    The result names the inputs and the report that attain the loss. All reports of all inputs are
    enumerated, so there must not be too many. Protocols that are written elsewhere are measured in
    the same way. The measurement does not use ``privacy``. ``checks.check_protocol`` and ``audit``
    test whether the reports follow the distribution that ``law`` states.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism to measure.

    Returns
    -------
    ExactEpsilon
        The loss of one report, and the losses ``attribute``, ``lifetime`` and
        ``lifetime_attribute``.

    Raises
    ------
    TypeError
        If ``mechanism`` is not a protocol or solution. Also if its ``law`` does not give bytes with
        fractions that add up to 1.
    ValueError
        If there are too many reports to enumerate, in which case the message gives their number.
        Also if the reports cannot be listed.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, LGRR, exact_epsilon
    >>> exact_epsilon(GRR(3, epsilon=1.0)).inputs, exact_epsilon(GRR(3, epsilon=1.0)).report
    ((0, 1), b'\x00')
    >>> found = exact_epsilon(LGRR(3, eps_perm=2.0, eps_1=1.0))
    >>> float(found), float(found.lifetime)
    (1.0, 2.0)
    """
    require_single(mechanism, "exact_epsilon")
    whole, one = find_losses(mechanism)
    result = ExactEpsilon(whole.ratio, whole.inputs, whole.report)
    result.attribute = one
    if mechanism.permanent is None:
        result.lifetime = result.lifetime_attribute = WorstCase(None)
    else:
        result.lifetime, result.lifetime_attribute = (
            (whole, one) if mechanism.permanent is mechanism else find_losses(mechanism.permanent)
        )
    return result


@dataclass(frozen=True)
class Likelihoods:
    """The probability of every report for every input, as indices into a short list of numbers.

    Parameters
    ----------
    data : bytes
        All reports, one after the other.
    size : int
        Length of a report in bytes.
    levels : array, shape (inputs, reports)
        Index of the probability of each report for each input.
    numbers : list of Fraction
        The different probabilities, in ascending order.
    """

    data: bytes
    size: int
    levels: NDArray[Any]
    numbers: Sequence[Fraction]

    @cached_property
    def reports(self) -> list[bytes]:
        """The list of all reports."""
        return [self.data[i : i + self.size] for i in range(0, len(self.data), self.size)]

    def add_up(self, row: int, values: NDArray[np.int64]) -> NDArray[Any]:
        """Return the exact means of quantities of a report, given an input.

        Parameters
        ----------
        row : int
            Index of the input.
        values : array of int64
            The quantities, one row per report.

        Returns
        -------
        array of Fraction
            The mean of each column.
        """
        order = np.argsort(self.levels[row], kind="stable")
        ordered = self.levels[row][order]
        starts = np.flatnonzero(np.diff(ordered.astype(np.int64), prepend=-1))
        sums = np.add.reduceat(values[order], starts, axis=0).astype(object)
        chances = np.array([self.numbers[level] for level in ordered[starts]], object)
        return np.asarray(chances @ sums)


def tabulate(
    mechanism: Mechanism, most: int = MOST_PAIRS, levels_most: int = MOST_LEVELS
) -> Likelihoods:
    """Return the probability of every report for every input.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism.
    most : int
        Largest number of pairs of a report and an input.
    levels_most : int
        The same number for a protocol whose format has few different probabilities.

    Returns
    -------
    Likelihoods
        The table.

    Raises
    ------
    Unlisted
        If the reports cannot be listed, or are too many (``TooMany``). It is a ValueError.
    TypeError
        If ``law`` does not give reports as bytes with fractions.
    """
    size, inputs = mechanism.report_bytes, prod(mechanism.ks)
    listed = isinstance(mechanism, Protocol) and type(mechanism).law is Protocol.law
    if isinstance(mechanism, Protocol) and listed and mechanism._formatted:
        form = mechanism.format
        try:
            mechanism._check_law(0, form.size)
        except ValueError as error:
            raise Unlisted(str(error)) from None
        if form.size * inputs > levels_most:
            raise TooMany(mechanism, form.size, inputs, levels_most)
        reports = form.every()
        cells = mechanism.cell_of(np.arange(mechanism.k)).tolist()
        by_cell = {c: np.asarray(form.levels(reports, c), np.uint32) for c in set(cells)}
        levels = np.array([by_cell[cell] for cell in cells])
        many = int(levels.max()) + 1
        found = np.flatnonzero(sum(np.bincount(row, minlength=many) for row in levels))
        numbers = [form.chance(int(level), *mechanism.chances) for level in found]
        levels = np.searchsorted(found, levels)
        data = np.ascontiguousarray(reports).tobytes()
    else:
        laws = laws_of(mechanism, most)
        for law in laws:
            if not law or not all(
                isinstance(report, bytes) and isinstance(each, Fraction | int)
                for report, each in law.items()
            ):
                raise TypeError(
                    f"the distribution of {validate.quote(mechanism)} must give reports as bytes,"
                    f" with fractions that add up to 1, not {validate.quote(law)}"
                )
        names = list(dict.fromkeys(report for law in laws for report in law))
        if len(names) * inputs > most:
            raise TooMany(mechanism, len(names), inputs, most)
        at = {Fraction(0): 0}
        levels = np.array(
            [[at.setdefault(law.get(name, Fraction(0)), len(at)) for name in names] for law in laws]
        )
        numbers, data = list(at), b"".join(names)
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    rank = np.empty(len(order), np.min_scalar_type(len(order)))
    rank[order] = np.arange(len(order))
    return Likelihoods(data, size, rank[levels], [numbers[i] for i in order])


def find_losses(
    mechanism: Mechanism, most: int = MOST_PAIRS, levels_most: int = MOST_LEVELS
) -> tuple[WorstCase, WorstCase]:
    """Return the largest loss of a report between any two inputs, and for one changed attribute.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism.
    most : int
        Largest number of pairs of a report and an input.
    levels_most : int
        The same number for a protocol whose format has few different probabilities.

    Returns
    -------
    whole : WorstCase
        The largest loss between any two inputs.
    one : WorstCase
        The largest loss between two inputs that differ in one attribute.

    Raises
    ------
    Unlisted
        If the reports cannot be listed, or are too many (``TooMany``). It is a ValueError.
    TypeError
        If ``law`` does not give reports as bytes with fractions that add up to 1.
    """
    table, ks = tabulate(mechanism, most, levels_most), mechanism.ks
    for row in range(len(table.levels)):
        total = table.add_up(row, np.ones((table.levels.shape[1], 1), np.int64))[0]
        if total != 1:
            raise TypeError(
                f"the distribution of {validate.quote(mechanism)} must give fractions that add up"
                f" to 1, not to {float(total)!r}"
            )
    cube = table.levels.reshape(*ks, -1)
    whole = _find_largest(table, table.levels, 0, lambda at, input: np.unravel_index(input, ks))
    found = [
        _find_largest(table, cube, j, lambda at, input, j=j: (*at[:j], input, *at[j:]))
        for j in range(len(ks))
    ]
    one = max(found, key=lambda each: inf if each.ratio is None else each.ratio)
    if isinstance(mechanism, Protocol):
        for each in (whole, one):
            assert each.inputs is not None
            each.inputs = each.inputs[0][0], each.inputs[1][0]
    return whole, one


def _find_largest(table: Likelihoods, levels: Any, axis: int, record: Any) -> WorstCase:
    """Return the largest ratio of likelihoods along an axis.

    ``record`` makes a record from the indices along the other axes and the index along this one.
    """
    top, low, count = levels.max(axis=axis), levels.min(axis=axis), len(table.numbers)
    pairs, which = np.unique(top.astype(np.int64) * count + low, return_inverse=True)
    ratios: list[Any] = []
    for pair in pairs.tolist():
        above, below = table.numbers[pair // count], table.numbers[pair % count]
        ratios.append(above / below if below else inf if above else Fraction(1))
    best = max(range(len(ratios)), key=ratios.__getitem__)
    where = np.unravel_index(int(np.argmax(which.reshape(-1) == best)), top.shape)
    column = np.moveaxis(levels, axis, -1)[where]
    inputs = [tuple(map(int, record(where[:-1], int(at(column))))) for at in (np.argmax, np.argmin)]
    start = int(where[-1]) * table.size
    return WorstCase(
        None if ratios[best] == inf else Fraction(ratios[best]),
        (inputs[0], inputs[1]),
        table.data[start : start + table.size],
    )


def laws_of(mechanism: Mechanism, most: int = MOST_PAIRS) -> list[dict[bytes, Fraction]]:
    """Return the exact distribution of a report for every input.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism.
    most : int
        Largest number of entries of all distributions together.

    Returns
    -------
    list of dict
        One distribution per input, from reports to probabilities. The last attribute changes
        fastest.

    Raises
    ------
    Unlisted
        If the reports cannot be listed, or are too many (``TooMany``). It is a ValueError.
    """
    ks = mechanism.ks
    every = (
        [record[0] if isinstance(mechanism, Protocol) else record for record in np.ndindex(ks)]
        if prod(ks) <= most
        else []
    )
    try:
        first = mechanism.law(
            every[0] if every else 0 if isinstance(mechanism, Protocol) else [0] * len(ks)
        )
    except (ValueError, NotImplementedError) as error:
        raise Unlisted(str(error) or f"{validate.quote(mechanism)} has no distribution") from None
    if len(first) * prod(ks) > most:
        raise TooMany(mechanism, len(first), prod(ks), most)
    return [first, *(mechanism.law(each) for each in every[1:])]
