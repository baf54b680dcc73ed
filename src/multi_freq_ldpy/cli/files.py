"""Tables in files of any size, which are read and written in parts."""

import csv
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from ..core import validate
from ..files.atomic import open_atomic, require_writable
from ..files.progress import Progress
from ..survey import REPORT, SURVEY, Survey
from ..tables.arrow import column_of
from ..tables.frames import not_installed, note_in
from ..tables.labels import is_missing

ROWS = 2**15
"""The number of rows of a CSV file that are read at a time."""

BATCH = 2**26
"""The number of bytes of a Parquet file that are read at a time, in at most 2²⁰ rows."""

csv.field_size_limit(2**20)


class BadFile(ValueError):
    """The error for a file that cannot be used. Its message is one sentence."""


def read_tables(path: Path, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a CSV or Parquet file, in parts.

    The parts of a Parquet file are Arrow batches. The parts of a CSV file are dicts of lists, whose
    entries are text. An empty field is None.
    """
    require_readable(path)
    with Progress(f"reading {path.name}", path.stat().st_size) as progress:
        yield from (_read_parquet if is_parquet(path) else _read_csv)(path, columns, progress)


def count_values(
    path: Path, columns: Sequence[str], *, complete: bool = True
) -> tuple[dict[str, Counter[Any]], int]:
    """Return the count of each value of each column, and the number of rows with a missing value.

    Rows with a missing value are left out if ``complete`` is True. Otherwise every value counts,
    and a missing value counts as None. The fields of a CSV file are text.
    """
    if len(set(columns)) != len(columns):
        raise ValueError(f"--column must name different columns, not {', '.join(columns)}")
    counters, left_out = {name: Counter[Any]() for name in columns}, 0
    for table in read_tables(path, columns):
        lists = table if isinstance(table, dict) else table.to_pydict()
        every = list(zip(*lists.values(), strict=True))
        rows = [row for row in every if not any(map(is_missing, row))]
        left_out += len(every) - len(rows)
        if not complete:
            rows = [tuple(None if is_missing(each) else each for each in row) for row in every]
        for counter, entries in zip(counters.values(), zip(*rows, strict=True), strict=False):
            try:
                counter.update(entries)
            except TypeError as error:
                raise BadFile(f"{path}: {error}") from None
    for name, counter in counters.items():
        if len(counter.keys() - {None}) < 2:
            among = " in the rows without a missing value" if left_out and complete else ""
            raise BadFile(
                f"{path}: column {name!r} has fewer than two different values{among}, which leaves"
                " nothing to estimate"
            )
    return counters, left_out


def write_csv(path: Path, columns: dict[str, list[Any]], force: bool) -> None:
    """Write columns as a CSV file."""
    text = StringIO()
    rows = [[*columns], *zip(*columns.values(), strict=True)]
    csv.writer(text, lineterminator="\n").writerows(rows)
    with open_atomic(path, force) as file:
        file.write(text.getvalue().encode())


def is_parquet(path: Path) -> bool:
    """Return True if the name of a file ends in .parquet."""
    return path.suffix.lower() == ".parquet"


def require_readable(path: Path) -> None:
    """Refuse a file that cannot be read."""
    if path.is_dir():
        raise BadFile(f"{path} is a directory, not a file")
    if not path.exists():
        raise BadFile(f"{path} does not exist")
    if not os.access(path, os.R_OK):
        raise BadFile(f"{path} cannot be read: no permission")
    if path.is_file() and path.stat().st_size == 0:
        raise BadFile(f"{path} is empty")


def require_outputs(force: bool, *given: Path | None, inputs: Sequence[Path] = ()) -> None:
    """Refuse files that cannot be written, before the first of them is written."""
    paths = [path for path in given if path is not None]
    for i, path in enumerate(paths):
        if path.is_file() and not force:
            raise BadFile(f"{path} exists: --force overwrites it")
        require_writable(path, force)
        if path.resolve() in [other.resolve() for other in paths[:i]]:
            raise BadFile(f"{path} is given for two outputs")
        if path.resolve() in [other.resolve() for other in inputs]:
            raise BadFile(f"{path} is also an input: give the output another name")


def require_chart(path: Path) -> None:
    """Refuse a file whose name does not end in .png, .svg or .pdf."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--plot must end in .png, .svg or .pdf, not {str(path)!r}")


def _choose_columns(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the given columns, or all columns."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise BadFile(f"{path} has two columns named {twice!r}")
    for name in columns or ():
        if name not in names:
            hint = ": the command randomize writes a file of reports" if name == REPORT else ""
            raise BadFile(
                f"{path} has no column {name!r}, only {validate.quote(list(names))}{hint}"
            )
    return list(names if columns is None else columns)


def _read_csv(
    path: Path, columns: Sequence[str] | None, progress: Progress
) -> Iterator[dict[str, list[Any]]]:
    with open(path, "rb") as raw:
        text = _Text(raw, path)
        rows = csv.reader(text, strict=True)
        try:
            names = next(row for row in rows if row)
            chosen = _choose_columns(path, names, columns)
            places = [names.index(name) for name in chosen]
            part: list[list[Any]] = [[] for _ in chosen]
            for row in rows:
                if not row:
                    continue  # a blank line
                if len(row) != len(names):
                    raise BadFile(
                        f"{path}, line {rows.line_num}: {len(row)} fields where the header has"
                        f" {len(names)}"
                    )
                for column, place in zip(part, places, strict=True):
                    column.append(row[place] or None)
                if len(part[0]) == ROWS:
                    yield dict(zip(chosen, part, strict=True))
                    part = [[] for _ in chosen]
                    progress.step("", raw.tell() - progress.done)
            if part[0]:
                yield dict(zip(chosen, part, strict=True))
        except StopIteration:
            raise BadFile(f"{path} is empty") from None
        except csv.Error as error:
            raise BadFile(f"{path}, line {rows.line_num}: {error}") from None


class _Text:
    """The lines of a file in UTF-8."""

    def __init__(self, raw: IO[bytes], path: Path) -> None:
        self.raw, self.path, self.number = raw, path, 0

    def __iter__(self) -> "_Text":
        return self

    def __next__(self) -> str:
        line = self.raw.readline(2**24)
        if not line:
            raise StopIteration
        self.number += 1
        try:
            text = line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise BadFile(f"{self.path}, line {self.number} is not UTF-8") from None
        if "\0" in text:
            raise BadFile(f"{self.path}, line {self.number} is not text")
        return text


def _read_parquet(path: Path, columns: Sequence[str] | None, progress: Progress) -> Iterator[Any]:
    arrow = _import_parquet()
    import pyarrow as pa

    try:
        # Otherwise the reader keeps a row group in memory, which may be the whole file
        file = arrow.ParquetFile(path, buffer_size=2**20, pre_buffer=False)
        chosen = _choose_columns(path, file.schema_arrow.names, columns)
        rows = max(1, file.metadata.num_rows)
        width = max(1, progress.total // rows)  # of compressed rows: a batch may be larger
        for batch in file.iter_batches(max(ROWS, min(2**20, BATCH // width)), columns=chosen):
            yield batch
            progress.step("", round(progress.total * batch.num_rows / rows))
    except (pa.ArrowException, OSError, ArithmeticError) as error:
        raise BadFile(
            f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}"
        ) from None


def _read_metadata(path: Path) -> dict[bytes, bytes]:
    """Return the metadata in the schema of a Parquet file."""
    try:
        return _import_parquet().read_schema(path).metadata or {}
    except (OSError, ValueError, ArithmeticError) as error:
        raise BadFile(
            f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}"
        ) from None


def _import_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise not_installed("pyarrow", "cli") from None
    return pyarrow.parquet


def write_reports(
    path: Path, batches: Iterable[NDArray[Any]], survey: Survey, force: bool, source: Path
) -> int:
    """Write reports to a file, and return their number.

    A Parquet file has bytes, and the digest of the survey. A CSV file has hexadecimal digits.
    """
    if not is_parquet(path) and path.suffix.lower() != ".csv":
        raise BadFile(f"{path} must end in .parquet or .csv")
    many, size = 0, survey.solution.report_bytes
    with open_atomic(path, force) as file:
        if not is_parquet(path):
            file.write(f"{REPORT}\n".encode())
            for batch in batches:
                text = batch.tobytes().hex("\n", size)
                file.write(f"{text}\n".encode() if text else b"")
                many += len(batch)
        else:
            import pyarrow as pa

            schema = pa.schema([(REPORT, pa.binary(size))], {SURVEY: survey.digest})
            with _import_parquet().ParquetWriter(file, schema) as writer:
                for batch in batches:
                    writer.write_table(pa.table({REPORT: column_of(batch)}, schema))
                    many += len(batch)
        if not many:
            raise BadFile(f"{source} has no rows to randomize")
    return many


def read_reports(
    path: Path, survey: Survey, invalid: str, round: int | None = None
) -> Iterator[Any]:
    """Yield the tables of reports that ``write_reports`` wrote.

    A file whose metadata name another survey or another round is refused. A field that is not
    hexadecimal is refused too. If ``invalid`` is "skip", it becomes None.
    """
    if is_parquet(path):
        require_readable(path)
        survey._require_note("reports", note_in(_read_metadata(path), SURVEY), round)
        yield from read_tables(path, [REPORT])
        return
    done = 0
    for table in _read_lines(path) if invalid == "skip" else read_tables(path, [REPORT]):
        found = [_parse_report(each) for each in table[REPORT]]
        if invalid == "raise" and None in found:
            wrong = found.index(None)
            shown = validate.quote(table[REPORT][wrong])
            raise BadFile(f"{path}, row {done + wrong}: {shown} is not a report")
        yield {REPORT: found}
        done += len(found)


def _read_lines(path: Path) -> Iterator[dict[str, list[str]]]:
    """Yield the lines below the header of a CSV file of one column, in parts.

    Each line is one message, even if it is not a valid field. It does not affect other lines.
    """
    require_readable(path)
    with open(path, "rb") as raw:
        header = raw.readline(2**20).decode("utf-8-sig", "replace").strip().strip('"')
        _choose_columns(path, [header], [REPORT])
        while part := list(islice(iter(partial(raw.readline, 2**20), b""), ROWS)):
            texts = [line.strip().strip(b'"').decode("ascii", "replace") for line in part]
            yield {REPORT: [text for text, line in zip(texts, part, strict=True) if line.strip()]}


def _parse_report(text: str | None) -> bytes | None:
    """Return the bytes of a hexadecimal text, or None for any other text."""
    try:
        return bytes.fromhex(text or "-") or None
    except ValueError:
        return None


def shift_row(message: str, done: int) -> str:
    """Return a message with the row counted from the first row of the file, not of the part."""
    return re.sub(
        r"(, row |reports\[)(\d+)",
        lambda found: f"{found[1]}{int(found[2]) + done}",
        message,
        count=1,
    )


def require_different(paths: Sequence[Path]) -> None:
    """Refuse a file that is given twice, under any name: its users would count twice."""
    seen: list[tuple[Path, int, bytes | None]] = []
    for path in paths:
        require_readable(path)
        size = path.stat().st_size
        for i, (other, other_size, digest) in enumerate(seen):
            if os.path.samefile(path, other):
                raise BadFile(f"{path} is given twice: its users would count twice")
            if size == other_size and path.is_file() and other.is_file():
                digest = digest or _digest_of(other)
                seen[i] = other, other_size, digest
                if _digest_of(path) == digest:
                    raise BadFile(f"{path} is a copy of {other}: its users would count twice")
        seen.append((path, size, None))


def _digest_of(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()
