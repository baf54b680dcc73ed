"""Code that the functions for several attributes share.

It keeps one solution per set of parameters, draws records ahead, and reads lists of reports.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from operator import add, call, contains, itemgetter, mod
from typing import Any

import numpy as np

from ..core import validate
from ..core.tally import Tally
from ..estimation import postprocess
from ..estimation.estimate import Estimate
from ..solutions.base import Solution
from ..solutions.rows import as_bytes
from ..solutions.smp import SMP
from .forms import ROW, SYMBOL, as_symbols, form_of
from .shared import (
    Ahead,
    Vector,
    count_rows,
    is_packed,
    remember_by_parameters,
    require_reports,
    row_length,
    sum_bits_by_group,
    value_of,
)


@remember_by_parameters
def _solution_ahead(
    solution: type[Solution],
    factory: Any,
    ks: Any,
    types: Any,
    budgets: Any,
    *options: tuple[str, Any],
) -> Ahead:
    """Return the reports drawn ahead for a solution with these parameters.

    ``types`` distinguishes 3.0 from 3 in the lookup.
    """
    validate.domain_sizes("lst_k", ks)
    given = {name: list(each) if isinstance(each, tuple) else each for name, each in options}
    made = solution(factory, ks, *budgets, **given)
    return Ahead(
        made,
        [0] * made.d,
        partial(_check_record, ks=made.ks),
        _unpack,
        partial(_answer_sampled if solution.samples else _answer_all, made),
    )


def _answer_all(
    solution: Any, pop: Callable[[], Any], refill: Callable[[], Any]
) -> Callable[[Any], Any]:
    """Return a function that answers with one entry per attribute.

    Fake reports are turned like real ones. The bijection that turns reports about 0 into reports
    about another value does not change the distribution of fakes.
    """
    turns, ks, record_of = _turns_of(solution), solution.ks, _record_checker(solution.ks)
    symbols = all(form_of(each) is SYMBOL for each in solution.protocols)

    def answer(input_tuple: Any) -> list[Any]:
        record = record_of(input_tuple)
        try:
            entries = pop()
        except IndexError:
            entries = refill()
        if symbols:  # the same result without one call per attribute
            return list(map(mod, map(add, record, entries), ks))
        return list(map(call, turns, entries, record))

    return answer


def _answer_sampled(
    solution: Any, pop: Callable[[], Any], refill: Callable[[], Any]
) -> Callable[[Any], Any]:
    """Return a function that answers with the sampled attribute and its report."""
    turns, record_of = _turns_of(solution), _record_checker(solution.ks)

    def answer(input_tuple: Any) -> tuple[int, Any]:
        record = record_of(input_tuple)
        try:
            sampled, entry = pop()
        except IndexError:
            sampled, entry = refill()
        return sampled, turns[sampled](entry, record[sampled])

    return answer


def _turns_of(solution: Any) -> list[Callable[[Any, int], Any]]:
    return [form_of(each).turner(each) for each in solution.protocols]


def draw_solution_ahead(
    solution: type[Solution], factory: Any, lst_k: Any, d: int, *budgets: float, **options: Any
) -> Ahead:
    """Return the reports drawn ahead for a solution with these parameters.

    An option that is a tuple has one entry per attribute.
    """
    ks = tuple(lst_k) if type(lst_k) is list else lst_k
    if type(ks) is not tuple:
        ks = validate.domain_sizes("lst_k", lst_k)
    if len(ks) != (d if type(d) is int else validate.Integer(1, 2**32)("d", d)):
        raise ValueError(
            f"d={validate.quote(d)} must be the number of attributes, the length of"
            f" lst_k={validate.quote(lst_k)}"
        )
    types = tuple(
        map(
            type,
            (
                *ks,
                *budgets,
                *options.values(),
                *(each for one in options.values() if type(one) is tuple for each in one),
            ),
        )
    )
    return _solution_ahead(solution, factory, ks, types, budgets, *options.items())


def _unpack(solution: Any, reports: Any) -> list[Any]:
    """Return reports as tuples with one entry per attribute.

    For SMP, the tuples are pairs (attribute, entry).
    """
    if solution.samples:
        result: list[Any] = [None] * len(reports)
        for j, block, users, column in solution._by_part(reports):
            each = solution.protocols[j]
            for i, entry in zip(
                (users + block.start).tolist(), form_of(each).unpack(each, column), strict=True
            ):
                result[i] = (j, entry)
        return result
    rows = as_bytes(reports, solution.report_bytes)
    columns = [
        form_of(each).unpack(each, solution._column(rows, j))
        for j, each in enumerate(solution.protocols)
    ]
    return list(zip(*columns, strict=True))


def _check_record(input_tuple: Any, ks: tuple[int, ...]) -> Sequence[int]:
    """Return a user's record, checked."""
    row = (
        validate.as_array("input_tuple", input_tuple).tolist()
        if hasattr(input_tuple, "__array__")
        else input_tuple
    )
    if not isinstance(row, list | tuple) or len(row) != len(ks):
        raise ValueError(
            f"input_tuple must have d={len(ks)} values, one per attribute, not"
            f" {validate.quote(input_tuple)}"
        )
    return [
        value_of(value, k, f"input_tuple[{j}]")
        for j, (value, k) in enumerate(zip(row, ks, strict=True))
    ]


def _record_checker(ks: tuple[int, ...]) -> Callable[[Any], Sequence[int]]:
    """Return a function that checks a user's record.

    It is fast for a row of an array of integers, the paper's form.
    """
    ranges, d, array, int64 = [range(k) for k in ks], len(ks), np.ndarray, np.dtype(np.int64)
    common = frozenset(range(min(*ks, 1024)))

    def record(input_tuple: Any) -> Sequence[int]:
        if type(input_tuple) is array and input_tuple.dtype is int64 and input_tuple.ndim == 1:
            row: list[int] = input_tuple.tolist()
            if len(row) == d and (common.issuperset(row) or all(map(contains, ranges, row))):
                return row
        return _check_record(input_tuple, ks)

    return record


def aggregate(drawn: Ahead, reports: Any) -> list[Vector]:
    """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
    solution, reports = drawn.mechanism, require_reports(reports)
    solution._require_countable(large=False)
    tally = solution.tally(reports) if is_packed(solution, reports) else _tally(solution, reports)
    raw = [Estimate.of(each).frequencies for each in tally]
    # An estimate is NaN if no user reported the attribute
    return [postprocess.norm(np.where(np.isnan(each), 0.0, each)) for each in raw]


def _tally(solution: Any, reports: Any) -> Tally:
    """Count reports in the form that clients return."""
    sampled, counts, answers = solution.samples, [], []
    if sampled and (quickly := _tally_sampled(solution, reports)):
        return quickly
    try:
        entries = (
            _by_attribute(reports, solution.d) if sampled else list(zip(*reports, strict=True))
        )
    except (ValueError, TypeError, KeyError, IndexError):
        entries = []
    if len(entries) != solution.d:
        _check_forms(reports, solution.d, sampled)
        raise TypeError(
            f"reports must be tuples of numbers and reports, unlike {validate.quote(reports[0])}"
        )
    for j, (each, column) in enumerate(zip(solution.protocols, entries, strict=True)):
        try:
            counted = form_of(each).tally(each, column) if len(column) else each.tally([])
        except (ValueError, TypeError) as error:
            _check_forms(reports, solution.d, sampled)
            raise type(error)(
                f"{'among the reports on ' if sampled else ''}attribute {j}: {error}"
            ) from None
        counts.append(counted.counts)
        answers.append(counted.n)
    return Tally._trust(solution, np.concatenate(counts), np.concatenate(answers), len(reports))


def _tally_sampled(solution: SMP, reports: Any) -> Tally | None:
    """Count pairs (attribute, report) together, or return None where that is not possible.

    It is possible where reports are values, or rows of one length.
    """
    forms = {form_of(each) for each in solution.leaves}
    if (
        forms not in ({SYMBOL}, {ROW})
        or (forms == {ROW} and len(set(solution.ks)) > 1)
        or not set(map(type, reports)) <= {tuple, list}
    ):
        return None
    try:
        attributes, entries = zip(*reports, strict=True)
        which = as_symbols(attributes, solution.d)
        if which is None:
            return None
        if forms == {SYMBOL}:
            symbols = as_symbols(entries, np.array(solution.ks)[which])
            if symbols is None:
                return None
            starts = np.array([part.start for _, part in solution.parts])
            counts = np.bincount(starts[which] + symbols, minlength=solution._entries)
        else:
            counts = _count_rows(solution, which, entries)
    except (ValueError, TypeError):
        return None
    answers = np.repeat(np.bincount(which, minlength=solution.d), solution.ks)
    return Tally._trust(solution, counts, answers, len(reports))


def _count_rows(solution: SMP, which: Any, rows: Sequence[Any]) -> Any:
    """Count rows in their order in memory."""
    at = 0

    def ones(block: Vector) -> Any:
        nonlocal at
        at += len(block)
        return sum_bits_by_group(solution.d, which[at - len(block) : at], block)

    return count_rows(solution.ks[0], rows, ones).reshape(-1)


def _by_attribute(reports: Any, d: int) -> list[list[Any]]:
    """Return the reports of each attribute from pairs (attribute, report)."""
    found: list[list[Any]] = [[] for _ in range(d)]
    if not all(
        issubclass(each, int | np.integer) and each is not bool
        for each in set(map(type, map(itemgetter(0), reports)))
    ):
        raise TypeError("an attribute is no integer")
    append = {j: each.append for j, each in enumerate(found)}
    for attribute, report in reports:
        append[attribute](report)
    return found


def _check_forms(reports: Any, d: int, sampled: bool) -> None:
    """Refuse reports of a wrong form.

    Without sampling, a report has one entry per attribute. With sampling, it is a pair of an
    attribute and a report.
    """
    for i, report in enumerate(reports):
        if (
            isinstance(report, str | Set | Mapping)
            or not hasattr(report, "__getitem__")
            or len(report) != (2 if sampled else d)
        ):
            wanted = (
                "be a pair (attribute, report)"
                if sampled
                else f"have d={d} entries, one per attribute"
            )
            raise ValueError(f"reports[{i}] must {wanted}, not {validate.quote(report)}")
        if sampled:
            value_of(report[0], d, f"attribute of reports[{i}]")


def domain_sizes(reports: Any, d: int, lst_k: Any, by_attribute: bool) -> tuple[Any, Any]:
    """Return reports and domain sizes.

    If ``lst_k`` is None, the domain sizes are the lengths of the rows.
    """
    reports, d = require_reports(reports), validate.Integer(1, 2**32)("d", d)
    if lst_k is not None:
        return reports, lst_k
    if isinstance(reports, np.ndarray) and reports.dtype.names:
        raise ValueError(
            "lst_k must be given with reports in an array: it does not show the domain sizes"
        )
    if not by_attribute:
        _check_forms(reports[:1], d, sampled=False)
        return reports, [row_length([entry]) for entry in reports[0]]
    first: dict[Any, Any] = {}
    for i, pair in enumerate(reports):
        if (
            type(pair) is not tuple
            or len(pair) != 2
            or type(pair[0]) is not int
            or not 0 <= pair[0] < d
        ):
            _check_forms(reports[: i + 1], d, sampled=True)
        first.setdefault(int(pair[0]), pair[1])
        if len(first) == d:
            break
    for j in range(d):
        if j not in first:
            raise ValueError(
                f"lst_k must be given: no user reported attribute {j}, so its domain size is not"
                " known"
            )
    return reports, [row_length([first[j]]) for j in range(d)]
