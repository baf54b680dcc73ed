"""The exact distribution of all reports of one user, listed."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..core import validate
from ..mechanism import LARGEST_LAW
from ..protocols.formats import symbol_dtype
from .blocks import Block
from .diary import Told
from .paths import Paths

if TYPE_CHECKING:
    from .history import History

Sent = tuple[bytes | None, ...]
"""All reports of a user as bytes, with None in the rounds without report."""


Output = tuple[bytes, Fraction, dict[int, int]]
"""A report, the probability of its base noise, and the entries of the block that it shows."""


def list_reports(
    history: "History", path: Paths, told: Sequence[Sequence[Told]]
) -> Iterator[tuple[Sent, Fraction]]:
    """Yield the reports that one user of a path may send, with their probabilities."""
    sending = [(r, each[0]) for r, each in enumerate(told) if each]
    choices = [list(_list_outputs(history, each)) for _, each in sending]
    size = prod(map(len, choices))
    if size > LARGEST_LAW:
        raise ValueError(
            f"distribution of {validate.quote(history)} cannot be listed: one path has"
            f" 2**{size.bit_length() - 1} reports or more"
        )
    for outputs in product(*choices):
        sent: list[bytes | None] = [None] * history.rounds
        for (r, _), output in zip(sending, outputs, strict=True):
            sent[r] = output[0]
        yield tuple(sent), _multiply(_block_of(history, told), outputs)


def weigh_reports(history: "History", told: Sequence[Sequence[Told]], sent: Sent) -> Fraction:
    """Return the probability that one user of a path sends exactly these reports."""
    outputs = []
    for each, report in zip(told, sent, strict=True):
        if bool(each) != (report is not None):
            return Fraction(0)
        if report is not None:
            output = _find_output(history, each[0], report)
            if output is None:
                return Fraction(0)
            outputs.append(output)
    return _multiply(_block_of(history, told), outputs)


def _block_of(history: "History", told: Sequence[Sequence[Told]]) -> Block | None:
    """Return the block of a path."""
    blocks = (history.kinds[each.kind].block for own in told for each in own)
    return next((block for block in blocks if block is not None), None)


def _multiply(block: Block | None, outputs: Sequence[Output]) -> Fraction:
    """Return the probability of several reports together."""
    chance, entries = Fraction(1), dict[int, int]()
    for _, likely, own in outputs:
        chance *= likely
        for entry, symbol in own.items():
            if entries.setdefault(entry, symbol) != symbol:
                return Fraction(0)
    if block is None:
        return chance
    for symbol in entries.values():
        chance *= block.base.get(symbol, Fraction(0))
    return chance * block.mean_density(len(entries), sum(entries.values())) if chance else chance


def _list_outputs(history: "History", told: Told) -> Iterator[Output]:
    """Yield the possible contents of one report."""
    block = history.kinds[told.kind].block
    if block is None:
        kind = bytes([history._first_kind + told.kind])
        for report, chance in history._one_shot.law(int(told.end[0])).items():
            yield (kind + report).ljust(1 + history._longest, b"\0"), chance, {}
        return
    for symbols in product(block.base, repeat=history.symbols):
        yield _write_symbols(history, told, symbols), *_weigh_symbols(history, told, symbols)


def _find_output(history: "History", told: Told, report: bytes) -> Output | None:
    """Return the probability of one report, or None if its kind or row is another."""
    if report[0] != history._first_kind + told.kind:
        return None
    if history.kinds[told.kind].block is None:
        protocol = history._one_shot
        own = report[1 : 1 + protocol.report_bytes]
        return report, protocol.likelihood(own, int(told.end[0])), {}
    start, width = 1 + history._row_bytes, -(-history.symbols // 8)
    rows = (
        np.frombuffer(report[first : first + width], np.uint8) for first in (start, start + width)
    )
    some, minus = (np.unpackbits(row, count=history.symbols, bitorder="little") for row in rows)
    symbols = tuple((some.astype(int) - 2 * minus).tolist())
    if _write_symbols(history, told, symbols) != report:
        return None
    return report, *_weigh_symbols(history, told, symbols)


def _weigh_symbols(
    history: "History", told: Told, symbols: Sequence[int]
) -> tuple[Fraction, dict[int, int]]:
    """Return the probability of the symbols that are base noise, and the entries of the others."""
    block = history.kinds[told.kind].block
    assert block is not None
    start, end, entry = int(told.start[0]), int(told.end[0]), int(told.entry[0])
    shown = {}
    if entry >= 0 and history.symbols_per_change == 2:
        shown = {start: (entry, -1), end: (entry + 1, 1)}
    elif entry >= 0:
        shown = {0: (entry, int(history._sign(told.start, told.end, told.rows)[0]))}
    chance, entries = Fraction(1), {}
    for place, symbol in enumerate(symbols):
        if place in shown:
            which, sign = shown[place]
            entries[which] = sign * symbol
        else:
            chance *= block.base.get(symbol, Fraction(0))
    return chance, entries


def _write_symbols(history: "History", told: Told, symbols: Sequence[int]) -> bytes:
    """Return a report of steps as bytes."""
    head = told.rows.astype(symbol_dtype(history.order)).tobytes()[: history._row_bytes]
    array = np.array(symbols)
    bits = [np.packbits(each, bitorder="little").tobytes() for each in (array != 0, array < 0)]
    report = bytes([history._first_kind + told.kind]) + head + b"".join(bits)
    return report.ljust(1 + history._longest, b"\0")
