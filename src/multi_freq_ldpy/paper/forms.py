"""The form of reports in the functions of the paper.

Each family of protocols has a form, which clients return and aggregators take.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import validate
from ..core.tally import Tally
from ..longitudinal.dbitflip import DBitFlipPM, HeldBits
from ..protocol import Protocol
from ..protocols.formats import Bits, Format, HashedSymbols, Sets, Symbols, unpack
from ..protocols.hashing import LocalHashing
from ..protocols.histogram import SHE
from ..protocols.subset import SS
from .shared import (
    Ahead,
    Vector,
    count_rows,
    is_packed,
    remember_by_parameters,
    sum_bits,
    tally_rows,
    value_of,
)


@dataclass(frozen=True, eq=False)
class Form:
    """The form of reports of one family of protocols.

    ``unpack(protocol, reports)`` turns an array of reports about value 0 into a list.
    ``turner(protocol)`` returns a function of an entry of this list and a value. The function
    returns the report of a client with this value. With value 0 it returns the same report.
    ``tally(protocol, reports)`` counts the reports that clients returned, or an array of reports.
    """

    unpack: Callable[[Any, Any], Sequence[Any]]
    turner: Callable[[Any], Callable[[Any, int], Any]]
    tally: Callable[[Any, Any], Tally]


@remember_by_parameters
def draw_ahead(factory: Callable[..., Protocol], *parameters: Any) -> Ahead:
    """Return the reports drawn ahead for a protocol with these parameters."""
    protocol = factory(*parameters)
    form, k, int64 = form_of(protocol), protocol.k, np.int64
    turn, symbols = form.turner(protocol), form is SYMBOL

    def answering(pop: Callable[[], Any], refill: Callable[[], Any]) -> Callable[[Any], Any]:
        def answer(input_data: Any) -> Any:
            value = index(input_data) if type(input_data) is int64 else input_data
            if type(value) is not int or not 0 <= value < k:
                value = value_of(input_data, k)
            try:
                entry = pop()
            except IndexError:
                entry = refill()
            # The same as ``turn``, without a call
            return (value + entry) % k if symbols else turn(entry, value)

        return answer

    return Ahead(protocol, 0, partial(value_of, k=k), form.unpack, answering)


def _unpack_symbols(protocol: Protocol, reports: Any) -> Sequence[int]:
    values: list[int] = reports.tolist()
    return values


def _turn_symbols(protocol: Protocol) -> Callable[[int, int], int]:
    k = protocol.k
    return lambda drawn, value: (value + drawn) % k


def _tally_symbols(protocol: Protocol, reports: Any) -> Tally:
    if (symbols := as_symbols(reports, protocol.k)) is None:
        return protocol.tally(reports)
    return Tally._trust(
        protocol, np.bincount(symbols, minlength=protocol.k), len(symbols), len(symbols)
    )


def as_symbols(numbers: Any, below: Any) -> NDArray[np.int64] | None:
    """Return a list of ints as an array, or None for anything else.

    The ints are at least 0. They are smaller than ``below``, which is one number or an array of
    numbers.
    """
    if type(numbers) not in (list, tuple) or set(map(type, numbers)) != {int}:
        return None
    array = np.array(numbers)
    return array if array.dtype == np.int64 and array.min() >= 0 and (array < below).all() else None


def _unpack_rows(protocol: Protocol, reports: Any) -> Sequence[Any]:
    return list(unpack(reports, protocol.k).astype(np.float64))


FEW = 256  # up to this number of values, there are tables of all exchanges


@cache
def _orders(k: int) -> list[Any]:
    """Return one order of entries per value.

    The order exchanges the entries of 0 and of the value.
    """
    entries = np.arange(k)
    orders = np.tile(entries, (k, 1))
    orders[:, 0], orders[entries, entries] = entries, 0
    return list(orders)


def exchange_of(k: int) -> Callable[[Any, int], Any]:
    """Return a function that exchanges the entries of 0 and of another value in a row.

    It returns a copy, because a view would show the noise of other users.
    """
    if k <= FEW:
        orders = _orders(k)
        return lambda drawn, value: drawn[orders[value]]

    def exchanged(drawn: Any, value: int) -> Any:
        row = drawn.copy()
        row[0], row[value] = drawn.item(value), drawn.item(0)
        return row

    return exchanged


def _turn_rows(protocol: Any) -> Callable[[Any, int], Any]:
    """Return a function that turns a row about value 0 into a row about another value."""
    return exchange_of(protocol.k)


def _tally_rows(protocol: Protocol, reports: Any) -> Tally:
    return (
        protocol.tally(reports)
        if is_packed(protocol, reports)
        else tally_rows(protocol, reports, sum_bits)
    )


def _unpack_pairs(protocol: LocalHashing, reports: Any) -> Sequence[tuple[int, int]]:
    """Return (noise, seed) pairs.

    The noise is the number that was added to the bucket of value 0. This bucket depends on the
    shift alone.
    """
    pairs: list[tuple[int, int]] = reports.tolist()
    prime, g = protocol.prime, protocol.g
    return [((symbol - g * (seed % prime) // prime) % g, seed) for seed, symbol in pairs]


def _turn_pairs(protocol: LocalHashing) -> Callable[[Any, int], tuple[int, int]]:
    prime, g = protocol.prime, protocol.g

    def turn(drawn: tuple[int, int], value: int) -> tuple[int, int]:
        noise, seed = drawn
        a, shift = divmod(seed, prime)
        return (g * (((1 + a) * value + shift) % prime) // prime + noise) % g, seed

    return turn


def _tally_pairs(protocol: LocalHashing, reports: Any) -> Tally:
    if is_packed(protocol, reports):
        return protocol.tally(reports)
    pairs = validate.as_array("reports", reports)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        wrong = next(
            (
                r
                for r in reports
                if validate.shape_of(r) != (2,) or validate.find_non_integer(np.array(r, object))
            ),
            reports[0],
        )
        raise ValueError(
            f"reports must be pairs (value, seed) of integers, not {validate.quote(wrong)}"
        )
    result = np.empty(len(pairs), protocol.report_dtype)
    for column, name in enumerate(("symbol", "seed")):
        field = result.dtype[name]
        validate.within(
            f"{name} of reports",
            pairs[:, column],
            0,
            int(np.iinfo(field).max),
            f"not a report of {validate.quote(protocol)}",
        )
        result[name] = pairs[:, column]
    return protocol.tally(result)


def _is_single(protocol: SS) -> bool:
    """Tell whether reports are single values of a small domain, which are drawn as values."""
    return protocol.omega == 1 and protocol.k <= FEW


def _unpack_sets(protocol: SS, reports: Any) -> Sequence[Any]:
    """Return sets as rows, with True for the values in the set."""
    rows = unpack(reports, protocol.k).view(np.bool_)
    return rows.argmax(axis=1).tolist() if _is_single(protocol) else list(rows)


def _turn_sets(protocol: SS) -> Callable[[Any, int], Any]:
    k = protocol.k
    if _is_single(protocol):
        values = list(np.arange(k)[:, np.newaxis])
        return lambda drawn, value: values[(value + drawn) % k].copy()
    if k <= FEW:
        orders = _orders(k)
        return lambda drawn, value: drawn[orders[value]].nonzero()[0]
    exchange = exchange_of(k)
    return lambda drawn, value: exchange(drawn, value).nonzero()[0]


def _tally_sets(protocol: SS, reports: Any) -> Tally:
    if is_packed(protocol, reports):
        return protocol.tally(reports)
    k = protocol.k
    sets = np.sort(
        validate.integers(
            "reports", reports, 0, k - 1, what=f"a value is one of 0, …, k − 1 with k={k}"
        )
    )
    if sets.ndim != 2 or sets.shape[1] != protocol.omega or (np.diff(sets, axis=1) == 0).any():
        raise ValueError(
            f"reports must be sets of {protocol.omega} different values, not"
            f" {validate.quote(reports[0])} among others"
        )
    return Tally._trust(protocol, np.bincount(sets.reshape(-1), minlength=k), len(sets), len(sets))


def _unpack_buckets(protocol: DBitFlipPM, reports: Any) -> Sequence[Any]:
    """Return rows of b numbers: the bits of the held buckets, and −1 for the other buckets."""
    held = unpack(np.ascontiguousarray(reports["positions"]), protocol.b)
    return list(np.where(held == 1, unpack(protocol.format.rows(reports), protocol.b), -1.0))


def _turn_buckets(protocol: DBitFlipPM) -> Callable[[Any, int], Any]:
    k, b, exchange = protocol.k, protocol.b, exchange_of(protocol.b)
    if k <= FEW:
        orders = [_orders(b)[value * b // k] for value in range(k)]
        return lambda drawn, value: drawn[orders[value]]
    return lambda drawn, value: exchange(drawn, value * b // k)


def _tally_buckets(protocol: DBitFlipPM, reports: Any) -> Tally:
    if is_packed(protocol, reports):
        return protocol.tally(reports)
    answers = np.zeros(protocol.b, np.int64)

    def ones(block: Any) -> Any:
        held = block != -1
        wrong = held.sum(axis=1) != protocol.d_bits
        if wrong.any():
            raise ValueError(
                f"reports must hold d_bits={protocol.d_bits} bits each, not"
                f" {validate.quote(block[wrong][0])}"
            )
        answers[:] += held.sum(axis=0)
        return sum_bits(np.where(held, block, 0))

    counts = count_rows(protocol.b, reports, ones)
    return Tally._trust(protocol, counts, answers, len(reports))


def _unpack_noisy_rows(protocol: SHE, reports: Any) -> Sequence[Any]:
    return list(reports.astype(np.float64))


def _tally_noisy_rows(protocol: SHE, reports: Any) -> Tally:
    return tally_rows(
        protocol, reports, lambda block: require_integers(block).sum(axis=0).astype(np.int64)
    )


def require_integers(block: Vector) -> Vector:
    """Return rows of numbers, and refuse rows in which a number is no integer."""
    whole = np.rint(block)
    wrong = (whole != block) | ~(np.abs(block) < 2**31)
    if wrong.any():
        raise ValueError(
            "reports must be rows of integers, as HE_Client returns them, not with"
            f" {block[wrong][0]!r}"
        )
    return whole


SYMBOL = Form(_unpack_symbols, _turn_symbols, _tally_symbols)
ROW = Form(_unpack_rows, _turn_rows, _tally_rows)
PAIR = Form(_unpack_pairs, _turn_pairs, _tally_pairs)
SET = Form(_unpack_sets, _turn_sets, _tally_sets)
BUCKETS = Form(_unpack_buckets, _turn_buckets, _tally_buckets)
NOISY_ROW = Form(_unpack_noisy_rows, _turn_rows, _tally_noisy_rows)
_FORMS: dict[type[Format], Form] = {
    Symbols: SYMBOL,
    Bits: ROW,
    HashedSymbols: PAIR,
    Sets: SET,
    HeldBits: BUCKETS,
}


def form_of(protocol: Protocol) -> Form:
    """Return the form of reports of a protocol."""
    return NOISY_ROW if isinstance(protocol, SHE) else _FORMS[type(protocol.format)]
