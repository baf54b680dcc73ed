"""Reports of one round with their noise, which is derived from permanent randomness.

The diary decides what is told. Here values pass through a one-shot protocol, and steps through base
noise and blocks.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, parallel
from ..core.randomness import Source
from ..mechanism import as_readonly
from ..protocols.formats import symbol_dtype
from .blocks import Block
from .diary import Told
from .paths import Integers, draw_blocks

if TYPE_CHECKING:
    from .history import History


def write_reports(history: "History", told: Told, round: int, memory: Source) -> NDArray[np.uint8]:
    """Return the reports of one kind as rows of bytes. ``told.who`` are numbers of users."""
    out = np.empty((len(told.who), 1 + history._longest), np.uint8)

    def job(low: int, high: int) -> None:
        part = Told(told.kind, *(each[low:high] for each in told[1:]))
        own = _write_values if history.kinds[told.kind].block is None else _write_steps
        out[low:high, 0] = history._first_kind + told.kind
        used = own(history, part, round, memory, out[low:high, 1:])
        out[low:high, 1 + used :] = 0

    parallel.run_ranges(len(told.who), job)
    return out


def _number(history: "History", memory: Source, who: Integers, round: int) -> Source:
    """Return the source in which each user owns one number per round, at one round."""
    return memory.classes(who, history.rounds, np.broadcast_to(round, len(who)))


def _write_values(
    history: "History", told: Told, round: int, memory: Source, out: NDArray[np.uint8]
) -> int:
    """Write reports of values, and return the number of bytes of each."""
    reports = np.empty(len(told.who), history._one_shot.report_dtype)
    source = _number(history, memory.part(b"value"), told.who, round)
    history._one_shot._randomize(as_readonly(told.end.astype(np.int64)), source, reports)
    size = history._one_shot.report_bytes
    out[:, :size] = reports.view(np.uint8).reshape(len(reports), size)
    return size


def _write_steps(
    history: "History", told: Told, round: int, memory: Source, out: NDArray[np.uint8]
) -> int:
    """Write reports of steps, and return the number of bytes of each."""
    block, start = history.kinds[told.kind].block, history._row_bytes
    assert block is not None
    if start:
        rows = told.rows.astype(symbol_dtype(history.order))
        out[:, :start] = rows.view(np.uint8).reshape(len(rows), start)
    source = _number(history, memory.part(b"base"), told.who, round)
    bits = np.empty((len(told.who), history._step_bytes - start), np.uint8)
    _, numbers = source.users(len(bits), history.symbols * history._base_bytes)
    draws.choose("steps", len(bits) * history.symbols).write(
        source.key, numbers, history.symbols, history._base_bytes, block.bits, bits
    )
    telling = np.flatnonzero(told.entry >= 0)
    if len(telling):
        _tell(history, told, telling, block, memory, bits)
    out[:, start : history._step_bytes] = bits
    return history._step_bytes


def _tell(
    history: "History",
    told: Told,
    telling: Integers,
    block: Block,
    memory: Source,
    bits: NDArray[np.uint8],
) -> None:
    """Replace base noise by the symbols that some users tell."""
    who, start, end, entry, rows = (each[telling] for each in told[1:])
    entries, here = draw_blocks(block, memory, who), np.arange(len(who))
    places: list[tuple[Any, Any]] = [(start, -entries[here, entry])]
    if history.symbols_per_change == 2:
        places.append((end, entries[here, entry + 1]))
    else:
        sign = history._sign(start, end, rows)
        places = [(np.zeros(len(who), np.int64), entries[here, entry] * sign)]
    width = bits.shape[1] // 2
    for place, symbol in places:
        byte, bit = place // 8, (1 << (place % 8)).astype(np.uint8)
        for first, wanted in ((0, symbol != 0), (width, symbol < 0)):
            now = bits[telling, first + byte] & ~bit
            bits[telling, first + byte] = now | bit * wanted
