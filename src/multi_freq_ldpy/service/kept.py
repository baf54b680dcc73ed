"""Kept reports: read in the order of their ids, which is no order, and written as Parquet."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.engine import Connection

from ..survey import REPORT, SURVEY
from ..tables.arrow import column_of
from . import schema
from .store import Store, Unavailable
from .surveys import Served

PAGE, LARGEST_PAGE = 10_000, 2**24
"""Largest numbers of reports, and of their bytes, that are read together."""

Columns = schema.report.c


class Pieces(io.RawIOBase):
    """A file to write to, whose content is taken away piece by piece."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._written

    def write(self, data: Any) -> int:
        """Hold some bytes."""
        self._held.append(bytes(data))
        self._written += len(self._held[-1])
        return len(self._held[-1])

    def take(self) -> bytes:
        """Return the bytes that are held, and forget them."""
        held, self._held = self._held, []
        return b"".join(held)


def read_page(
    connection: Connection, served: Served, number: int, after: Any = None
) -> tuple[NDArray[Any], Any]:
    """Return the next kept reports of a round.

    Parameters
    ----------
    connection : Connection
        Connection that reads.
    served : Served
        The survey.
    number : int
        Number of the round.
    after : object, optional
        The second result of the call before. None, the default, begins.

    Returns
    -------
    reports : array
        The reports, in the order of their ids.
    after : object
        Argument of the next call. It is None after the last report.
    """
    own = schema.round.c
    wanted = sa.select(own.pk).where(own.survey == served.pk, own.number == number)
    key = connection.execute(wanted).scalar()
    if key is None:  # so that a part of a file never looks like a whole one
        raise Unavailable("the survey was deleted")
    chosen = sa.select(Columns.id, Columns.bytes).where(Columns.round == key).order_by(Columns.id)
    if after is not None:
        chosen = chosen.where(Columns.id > after)
    size = max(1, min(PAGE, LARGEST_PAGE // served.report_bytes))
    rows = connection.execute(chosen.limit(size)).all()
    messages = b"".join(row.bytes for row in rows)
    found = np.frombuffer(messages, served.at(number).report_dtype, count=len(rows))
    return found, rows[-1].id if len(rows) == size else None


def read_reports(connection: Connection, served: Served, number: int) -> NDArray[Any]:
    """Return all kept reports of a round."""
    pages, after = [], None
    while True:
        page, after = read_page(connection, served, number, after)
        pages.append(page)
        if after is None:
            return np.concatenate(pages)


def write_parquet(store: Store, served: Served, number: int) -> Iterator[bytes]:
    """Yield the pieces of a Parquet file with the kept reports of a round.

    Each page is read in a transaction of its own, so a slow reader of the file holds nothing. The
    file of an open round has the reports that were counted before its pages were read.

    Parameters
    ----------
    store : Store
        The database.
    served : Served
        The survey.
    number : int
        Number of the round.

    Yields
    ------
    bytes
        Pieces of the file. Its one column is "report", and its metadata name the survey.
    """
    import pyarrow as pa
    import pyarrow.parquet

    pieces, after = Pieces(), None
    note = served.survey._note(None if served.survey.rounds is None else number)
    form = pa.schema([(REPORT, pa.binary(served.report_bytes))], {SURVEY: note})
    with pyarrow.parquet.ParquetWriter(pieces, form) as writer:
        while True:
            with store.read() as connection:
                page, after = read_page(connection, served, number, after)
            writer.write_table(pa.table({REPORT: column_of(page)}, form))
            yield pieces.take()
            if after is None:
                break
    yield pieces.take()
