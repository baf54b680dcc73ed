"""Explanations of single reports: what a report says, and how likely it is under each answer."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import wire
from ..core import validate
from ..mechanism import Mechanism, require_single


@dataclass(frozen=True)
class Explanation:
    """Content of one report about one attribute.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    sent : bool or None
        True if the report is about the attribute. Under SMP, False for the attributes that were not
        sampled. None if the report hides that, as under RS+FD.
    supports : tuple
        The labels that the report supports. A report supports no label of an attribute that was not
        sent.
    odds : mapping
        For each label, how many times as likely exactly this report is as under the given answer.
        Without answers, as under the least likely label. The numbers are exact.
    ratio : Fraction
        The largest ratio of these probabilities between two labels. Its logarithm is at most the
        privacy loss of one report.
    answer : label, optional
        The given answer, to which odds are relative.

    Examples
    --------
    >>> from multi_freq_ldpy import Survey
    >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
    >>> survey.explain(bytes([0, 0]), {"smokes": "no"})[0]
    smokes: the report supports yes
      yes  7.38906 times as likely
      no   1 (the answer)
    """

    attribute: str
    sent: bool | None
    supports: tuple[Hashable, ...]
    odds: Mapping[Hashable, Fraction]
    ratio: Fraction
    answer: Hashable = None

    def __str__(self) -> str:
        if self.sent is False:
            return f"{self.attribute}: the report says nothing of this attribute"
        supported = ", ".join(map(str, self.supports)) or "no answer"
        width = max(len(str(label)) for label in self.odds)
        lines = [f"{self.attribute}: the report supports {supported}"]
        for label, times in self.odds.items():
            own = self.answer is not None and label == self.answer
            note = " (the answer)" if own else " times as likely"
            lines.append(f"  {label!s:<{width}}  {float(times):.6g}{note}")
        return "\n".join(lines)

    __repr__ = __str__


def explain(
    mechanism: Mechanism,
    attributes: Mapping[str, Sequence[Hashable]],
    report: object,
    record: NDArray[Any] | None = None,
) -> list[Explanation]:
    """Return what a report says of each attribute.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism of single reports.
    attributes : mapping
        The labels of each attribute by name, in order.
    report : bytes
        The report on the wire.
    record : array of int, optional
        The values of the user, one per attribute. RS+FD needs them.

    Returns
    -------
    list of Explanation
        One entry per attribute.

    Raises
    ------
    ValueError
        If no honest client sends the report, if ``record`` is missing under RS+FD, or if the
        probabilities of the protocol are not fractions (SHE).
    TypeError
        If ``report`` is not bytes, or if the mechanism protects whole histories.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR
    >>> from multi_freq_ldpy.analysis.explanation import explain
    >>> explain(GRR(2, epsilon=1.0), {"smokes": ["yes", "no"]}, bytes([1]))
    [smokes: the report supports no
      yes  1 times as likely
      no   2.71828 times as likely]
    """
    reports = wire.decode(require_single(mechanism, "explain"), report)  # type: ignore[arg-type]
    if len(reports) != 1:
        raise ValueError(
            f"report must have {mechanism.report_bytes} bytes, not {validate.quote(report)}"
        )
    found = []
    said = mechanism._read(reports, record)
    for j, (each, (name, labels)) in enumerate(zip(said, attributes.items(), strict=True)):
        different = {id(chance): chance for chance in each.chances}  # equal ones are one object
        least, most = min(different.values()), max(different.values())
        own = least if record is None else each.chances[int(record[j])]
        times = {key: chance / own for key, chance in different.items()}
        found.append(
            Explanation(
                name,
                each.sent,
                tuple(labels[int(v)] for v in np.flatnonzero(each.supports)),
                dict(zip(labels, (times[id(chance)] for chance in each.chances), strict=True)),
                most / least,
                None if record is None else labels[int(record[j])],
            )
        )
    return found
