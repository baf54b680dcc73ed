"""The exact distribution of all reports of one user, listed."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..core import validate
from ..mechanism import LARGEST_LAW
from ..protocols.formats import symbol_dtype
from .diary import Told
from .paths import Paths

if TYPE_CHECKING:
    from .history import History

Sent = tuple[bytes | None, ...]
"""All reports of a user as bytes, with None in the rounds without report."""


def list_reports(
    history: "History", path: Paths, told: Sequence[Sequence[Told]]
) -> Iterator[tuple[Sent, Fraction]]:
    """Yield what one user of a path may send, with probabilities, given what is told."""
    sending = [(r, each[0]) for r, each in enumerate(told) if each]
    choices = [list(_list_outputs(history, each, int(path.rows[0]))) for _, each in sending]
    size = 1
    for each in choices:
        size *= len(each)
    if size > LARGEST_LAW:
        raise ValueError(
            f"distribution of {validate.quote(history)} cannot be listed: one path has"
            f" 2**{size.bit_length() - 1} reports or more"
        )
    blocks = {each.kind: history.kinds[each.kind].block for _, each in sending}
    block = next((each for each in blocks.values() if each is not None), None)
    for outputs in product(*choices):
        sent: list[bytes | None] = [None] * history.rounds
        chance, entries = Fraction(1), dict[int, int]()
        for (r, _), (report, likely, own) in zip(sending, outputs, strict=True):
            sent[r] = report
            chance *= likely
            for entry, symbol in own.items():
                if entries.setdefault(entry, symbol) != symbol:
                    chance = Fraction(0)
        if block is not None and chance:
            base = block.base
            for symbol in entries.values():
                chance *= base[symbol]
            chance *= block.mean_density(len(entries), sum(entries.values()))
        yield tuple(sent), chance


def _list_outputs(
    history: "History", told: Told, row: int
) -> Iterator[tuple[bytes, Fraction, dict[int, int]]]:
    """Yield the contents of one report, their probability, and the entries that they show.

    The probability is that of the symbols that are base noise.
    """
    kind, block = told.kind, history.kinds[told.kind].block
    start, end, entry = int(told.start[0]), int(told.end[0]), int(told.entry[0])
    if block is None:
        for report, chance in history._one_shot.law(end).items():
            yield _pad(history, bytes([history._first_kind + kind]) + report), chance, {}
        return
    base, shown = block.base, {}
    if entry >= 0 and history.symbols_per_change == 2:
        shown = {start: (entry, -1), end: (entry + 1, 1)}
    elif entry >= 0:
        sign = int(history._sign(np.array(start), np.array(end), np.array(row)))
        shown = {0: (entry, sign)}
    for symbols in product(base, repeat=history.symbols):
        chance, entries = Fraction(1), {}
        for place, symbol in enumerate(symbols):
            if place in shown:
                which, sign = shown[place]
                entries[which] = sign * symbol
            else:
                chance *= base[symbol]
        number = symbol_dtype(history.order)
        head = np.array([row], number).tobytes() if history.encoding == "row" else b""
        array = np.array(symbols)
        bits = [np.packbits(each, bitorder="little").tobytes() for each in (array != 0, array < 0)]
        report = bytes([history._first_kind + kind]) + head + b"".join(bits)
        yield _pad(history, report), chance, entries


def _pad(history: "History", report: bytes) -> bytes:
    return report.ljust(1 + history._longest, b"\0")
