"""What the functions for several attributes share: one cached solution a parameter set, records drawn ahead, lists of reports."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import _check
from ..protocols.adaptive import best
from ..protocols.grr import GRR
from ..protocols.hashing import BLH, OLH
from ..protocols.unary import OUE, SUE
from ..randomness import Rng
from ..solutions.base import Solution, as_bytes
from ..solutions.smp import SMP
from ..tally import Tally
from . import Ahead, Vector, cached, fresh, packed, row_length, some, value_of
from .forms import form_of

_ADP = {better: partial(best, of=(GRR, better)) for better in (OUE, SUE)}


def ue(optimal: bool) -> Any:
    """Return the factory of unary encoding: OUE, or SUE."""
    return OUE if _check.flag("optimal", optimal) else SUE


def lh(optimal: bool) -> Any:
    """Return the factory of local hashing: OLH, or BLH."""
    return OLH if _check.flag("optimal", optimal) else BLH


def adp(optimal: bool) -> Any:
    """Return the factory of the adaptive choice."""
    return _ADP[ue(optimal)]


class Records(Ahead):
    """Reports of a solution about records of zeros, and how each attribute's are written."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution, _drawn)
        self.forms = [form_of(each) for each in solution.protocols]


@cached
def _records(solution: type[Solution], factory: Any, ks: Any, types: Any, budgets: Any, *options: tuple[str, Any]) -> Records:
    """Return the solution for these parameters; ``types`` tells 3.0 from 3 where both are looked up."""
    _check.domain_sizes("lst_k", ks)
    given = {name: list(each) if isinstance(each, tuple) else each for name, each in options}
    return Records(solution(factory, ks, *budgets, **given))


def solved(solution: type[Solution], factory: Any, lst_k: Any, d: int, *budgets: float, **options: Any) -> Records:
    """Return the reports drawn ahead for a solution with these parameters; an option that is a tuple has an entry an attribute."""
    ks = tuple(lst_k) if type(lst_k) is list else lst_k
    if type(ks) is not tuple:
        ks = _check.domain_sizes("lst_k", lst_k)
    if len(ks) != (d if type(d) is int else _check.Integer(1, 2**32)("d", d)):
        raise ValueError(f"d={_check.shown(d)} must be the number of attributes, the length of lst_k={_check.shown(lst_k)}")
    types = tuple(map(type, (*ks, *budgets, *options.values())))
    return _records(solution, factory, ks, types, budgets, *options.items())


def _drawn(solution: Any, users: int) -> Sequence[Any]:
    """Draw reports about records of zeros."""
    return _unpacked(solution, solution.randomize(np.zeros((users, solution.d), np.int64)))


def _unpacked(solution: Any, reports: Any) -> Sequence[Any]:
    """Return reports as tuples of entries, one an attribute, or for SMP as pairs (attribute, entry)."""
    if isinstance(solution, SMP):
        result: list[Any] = [None] * len(reports)
        for j, users, column in solution._by_attribute(reports):
            each = solution.protocols[j]
            for i, entry in zip(users.tolist(), form_of(each).unpack(each, column), strict=True):
                result[i] = (j, entry)
        return result
    rows = as_bytes(reports, solution.report_bytes)
    columns = [form_of(each).unpack(each, solution._column(rows, j)) for j, each in enumerate(solution.protocols)]
    return list(zip(*columns, strict=True))


def client(drawn: Records, input_tuple: Any, rng: Rng) -> list[Any]:
    """Return what one user sends, an entry an attribute.

    Fakes are turned like real reports: what turns reports about 0 into reports about another value leaves the law of fakes as it is.
    """
    record, entries = _next(drawn, input_tuple, rng)
    written = zip(drawn.forms, drawn.protocol.protocols, entries, record, strict=True)
    return [form.about(each, entry, value) for form, each, entry, value in written]


def sampling_client(drawn: Records, input_tuple: Any, rng: Rng) -> tuple[int, Any]:
    """Return what one user sends under SMP: the sampled attribute and its report."""
    record, (sampled, entry) = _next(drawn, input_tuple, rng)
    return sampled, drawn.forms[sampled].about(drawn.protocol.protocols[sampled], entry, record[sampled])


def _next(drawn: Records, input_tuple: Any, rng: Rng) -> tuple[list[int], Any]:
    """Return a user's record and a report about a record of zeros to turn into one about it."""
    solution = drawn.protocol
    record = _record(input_tuple, solution.ks)
    if rng is None:
        return record, drawn.next()
    return [0] * len(record), _unpacked(solution, solution.randomize([record], fresh(rng)))[0]  # it is about the record already


def _record(input_tuple: Any, ks: tuple[int, ...]) -> list[int]:
    """Return a user's record, checked."""
    row = input_tuple
    if type(row) is not list and type(row) is not tuple:
        row = np.asarray(row).tolist() if hasattr(row, "__array__") else row
    if not isinstance(row, list | tuple) or len(row) != len(ks):
        raise ValueError(f"input_tuple must have d={len(ks)} values, one an attribute, not {_check.shown(input_tuple)}")
    if all(type(v) is int and 0 <= v < k for v, k in zip(row, ks, strict=True)):
        return row if type(row) is list else list(row)
    return [value_of(v, k, f"input_tuple[{j}]") for j, (v, k) in enumerate(zip(row, ks, strict=True))]


def aggregated(drawn: Records, reports: Any) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    solution, reports = drawn.protocol, some(reports)
    tally = solution.tally(reports) if packed(solution, reports) else _tally(solution, reports)
    return [np.array(each) for each in solution.estimate(tally).norm()]


def _tally(solution: Any, reports: Any) -> Tally:
    """Count reports as clients return them."""
    sampled = isinstance(solution, SMP)
    entries = _by_attribute(reports, solution.d) if sampled else _columns(reports, solution.d)
    counts, answers = [], []
    for j, (each, column) in enumerate(zip(solution.protocols, entries, strict=True)):
        try:
            counted = form_of(each).tally(each, column) if len(column) else each.tally([])
        except (ValueError, TypeError) as error:
            raise type(error)(f"{'among the reports on ' if sampled else ''}attribute {j}: {error}") from None
        counts.append(counted.counts)
        answers.append(counted.n)
    n = solution._joined(answers) if sampled or any(map(np.ndim, answers)) else len(reports)
    return Tally(solution, np.concatenate(counts), n, len(reports))


def _columns(reports: Any, d: int) -> Sequence[Any]:
    """Return the reports of each attribute."""
    for i, report in enumerate(reports):
        if isinstance(report, str) or not hasattr(report, "__len__") or len(report) != d:
            raise ValueError(f"reports[{i}] must have d={d} entries, one an attribute, not {_check.shown(report)}")
    return list(zip(*reports, strict=True))


def _by_attribute(reports: Any, d: int) -> list[list[Any]]:
    """Return the reports of each attribute from pairs (attribute, report)."""
    found: list[list[Any]] = [[] for _ in range(d)]
    for i, pair in enumerate(reports):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"reports[{i}] must be a pair (attribute, report), not {_check.shown(pair)}")
        attribute, report = pair
        if type(attribute) is not int or not 0 <= attribute < d:
            attribute = value_of(attribute, d, f"attribute of reports[{i}]")
        found[attribute].append(report)
    return found


def domain_sizes(reports: Any, d: int, lst_k: Any, by_attribute: bool) -> tuple[Any, Any]:
    """Return reports and domain sizes: the lengths of their rows, where ``lst_k`` does not say them."""
    reports, d = some(reports), _check.Integer(1, 2**32)("d", d)
    if lst_k is not None:
        return reports, lst_k
    if isinstance(reports, np.ndarray) and reports.dtype.names:
        raise ValueError("lst_k must be given with reports in an array: they do not tell their domain sizes")
    columns = _by_attribute(reports, d) if by_attribute else _columns(reports[:1], d)
    for j, column in enumerate(columns):
        if not len(column):
            raise ValueError(f"lst_k must be given: nobody reported attribute {j}, so its domain size is not known")
    return reports, [row_length(column) for column in columns]
