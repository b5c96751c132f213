"""Read files of any size in chunks of rows of bounded size.

Text is cut at line ends and passes the same checks as a file that is read at once; Parquet is cut by rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.intake.columns import TAKEN, values
from ..core.intake.repeats import OCCASION_COLUMNS
from ..io.detect_kind import accepts_columns, kind_from_values, may_be_classes
from ..io.numerals import with_points
from ..io.parquet import open_parquet
from ..io.reading import columns_of
from ..io.sources import FileTable, chunks
from ..io.tables import table_of
from .files import File
from .options import PartitionOptions

# Rows of a chunk of Parquet, bytes of a chunk of text.
ROWS, BYTES = 1 << 21, 1 << 26
# Columns that a fit in parts does not use, and those that it refuses since they distinguish answers of a worker.
_IGNORED = ("gold", "source", "group", "text", "url", "cost")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_REFUSED = (*OCCASION_COLUMNS, "version")


@dataclass(frozen=True)
class RowChunk:
    """Some rows of a file, under our column names; `first` is the number of the first row in the file."""

    where: str
    first: int
    columns: dict[str, Any]
    notes: tuple[str, ...]
    decimal_comma: bool


def read_chunks(file: File, options: PartitionOptions, rows: int = ROWS, size: int = BYTES) -> Iterator[RowChunk]:
    """Yield the rows of a file, in order; raise if it is damaged or changes while it is read."""
    file.check()
    try:
        yield from _read_chunks(file, options, rows, size)
    except OSError as error:
        raise DataError(f"{file.where}: cannot be read ({error.strerror or first_line(error)})") from None
    file.check()


def _read_chunks(file: File, options: PartitionOptions, rows: int, size: int) -> Iterator[RowChunk]:
    chosen: Mapping[str, str] | None = None
    first = 0
    notes: tuple[str, ...] = ()
    for table in _parquet(file, rows) if file.format == "parquet" else _text(file, size):
        where = file.where if first == 0 else f"{file.where} (from row {first + 1:,} on)"
        if chosen is None:
            chosen, notes = _chosen(table, options)
        frame = table.read(list(chosen.values()))
        if table.decimal_comma:
            frame = with_points(frame, [chosen[role] for role in ("time", "weight", *TAKEN) if role in chosen])
        try:
            picked, more = values(frame, chosen, where, strict=options.columns, missing=options.missing)
        except DataError as error:
            raise DataError(str(error) if file.where in str(error) else f"{where}: {error}") from None
        picked.pop("about_rows", None)
        yield RowChunk(where, first, picked, (*notes, *table.notes, *more), table.decimal_comma)
        first, notes = first + frame.height, ()
    if first == 0:
        raise DataError(f"{file.where} has no rows; is it the right file?")


def _chosen(table: FileTable, options: PartitionOptions) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role, as for a file that is read at once, and notes on columns that are not used."""
    kind, _, chosen, notes = columns_of(table, options.columns, options.kind)
    if kind.name != "classes" and options.kind is None and may_be_classes(table.header):
        some = table.read(list(chosen.values()))
        if not accepts_columns(kind, some, chosen):
            kind, _, chosen, notes = columns_of(table, options.columns, "classes")
    other = None
    if kind.name == "classes" and options.kind is None:
        other, _ = kind_from_values(table.read([chosen["label"]])[chosen["label"]])
    if kind.name != "classes" or other is not None:
        display_name = (other or kind).display_name
        raise DataError(
            f"{table.where} is read as {display_name}, and only classes are fitted in parts; use --kind classes, or "
            "read it into memory"
        )
    refused = [role for role in chosen if role in _REFUSED]
    if refused:
        raise DataError(
            f"{table.where} has a column {chosen[refused[0]]!r} ({refused[0]}): answers on several occasions are not "
            "read in parts; read them into memory, or rename it"
        )
    ignored = [role for role in chosen if role in _IGNORED or role.startswith("predicted_share")]
    notes += tuple(f"column {chosen[role]!r} is left aside where votes are read in parts" for role in ignored)
    return {role: column for role, column in chosen.items() if role not in ignored}, notes


def _parquet(file: File, rows: int) -> Iterator[FileTable]:
    if file.remote:
        lazy = pl.scan_parquet(file.name, glob=False)
        schema = _tried(file, lazy.collect_schema)
        table = FileTable(
            file.where, "parquet", schema.names(), lambda names: lazy.select(names).collect(), schema=schema
        )
    else:
        table = open_parquet(Path(file.name), file.where)
        lazy = pl.scan_parquet(file.name, glob=False)
    n = int(_tried(file, lambda: lazy.select(pl.len()).collect()).item())
    for lo in range(0, n, rows):
        part = lazy.slice(lo, rows)
        yield FileTable(
            file.where,
            "parquet",
            table.header,
            lambda names, part=part: _tried(file, lambda: part.select(names).collect()),
            schema=table.schema,
        )


def _tried(file: File, read: Any) -> Any:
    try:
        return read()
    except FAULTS as error:
        raise DataError(f"{file.where}: the Parquet file is damaged ({first_line(error)}); write it again") from None


def _text(file: File, size: int) -> Iterator[FileTable]:
    """Yield tables of some lines each, all with the same header."""
    stream = _lines_of(file, size) if file.remote else chunks(Path(file.name), file.where, size)
    quoted = file.format != "jsonl"
    head, remainder = b"", b""
    for data in stream:
        if not head and not remainder and data.startswith(_UTF16):
            raise DataError(f"{file.where} is UTF-16, which is not read in parts; save it as UTF-8")
        remainder += data
        if quoted and not head:
            head, remainder = _first_line(remainder)
            if not head:
                continue
        cut = _whole_lines(remainder, quoted)
        if cut and len(remainder) >= size:
            yield table_of(head + remainder[:cut], file.where, file.format)
            remainder = remainder[cut:]
    if remainder.strip():
        yield table_of(head + remainder, file.where, file.format)


def _lines_of(file: File, size: int) -> Iterator[bytes]:
    try:
        for frame in pl.scan_lines(file.name, glob=False).collect_batches(chunk_size=max(size // 32, 1)):
            yield "".join(f"{line}\n" for line in frame.to_series()).encode()
    except FAULTS as error:
        raise DataError(f"{file.where} cannot be read ({first_line(error)})") from None


def _first_line(data: bytes) -> tuple[bytes, bytes]:
    end = _end_of_line(data, 0)
    return (data[:end], data[end:]) if end else (b"", data)


def _end_of_line(data: bytes, start: int) -> int:
    """Return the end of the first line with closed quotation marks; 0 if the data do not contain it."""
    at = start
    while (at := data.find(b"\n", at) + 1) > 0:
        if data.count(b'"', start, at) % 2 == 0:
            return at
    return 0


def _whole_lines(data: bytes, quoted: bool) -> int:
    """Return the end of the last complete row; a line may end within quotation marks."""
    at = data.rfind(b"\n") + 1
    if not quoted or not at:
        return at
    marks = data.count(b'"', 0, at)
    while at and marks % 2:
        before = data.rfind(b"\n", 0, at - 1) + 1
        marks -= data.count(b'"', before, at)
        at = before
    return at
