"""CSV and TSV files: the header is parsed here, every line is validated, and polars reads the columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.faults import FAULTS, first_line
from ...core.vocabulary import quote
from ..sources import CHUNK, FileTable, Source, chunks, from_western, is_utf8, text_source
from .cells import TRACE, restore, restore_name
from .check import NotUtf8, count_rows

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def open_csv(source: Source, where: str, kind: str) -> FileTable:
    """Open a CSV file and parse its header; `read` validates every line and reads columns as text."""
    source, head, notes = text_source(source, where)
    notes_list = list(notes)
    if not is_utf8(head) and (western := from_western(source, where)) is not None:
        source, head = western[0], western[0][:CHUNK]
        notes_list.append(western[1])
    if head.lstrip().startswith((b"{", b"[{")):
        raise DataError(f"{where} looks like JSON; use --format jsonl for one JSON object per line")
    eol = "\r" if b"\r" in head and b"\n" not in head else "\n"
    default = "\t" if kind == "tsv" else ","
    separator = _separator(head, eol, default)
    if separator != default:
        notes_list.append(f"columns are separated by {_SEPARATORS[separator]}")
    header, raw = _header(head, eol, separator, where)
    options: dict[str, Any] = {"separator": separator, "eol_char": eol, "infer_schema": False}

    def check(content: Source) -> tuple[int, bool]:
        """Return the number of rows, and whether a cell may have a guarding apostrophe."""
        guarded: list[bool] = []
        pieces = _watched(chunks(content, where), guarded)
        return count_rows(pieces, where, separator, eol, len(header)), bool(guarded)

    def read(columns: Sequence[str]) -> pl.DataFrame:
        content = source
        try:
            rows, guarded = check(content)
        except NotUtf8:
            western = from_western(content, where)
            if western is None:
                raise
            content = western[0]
            notes_list.append(western[1])
            rows, guarded = check(content)
        # polars changes some names (doubled marks, repeated blanks), so columns are matched by position.
        spelt = dict(zip(header, pl.read_csv(raw, **options).columns, strict=True))
        try:
            lazy = pl.scan_csv(content, glob=False, **options)
            frame = lazy.select([pl.col(spelt[name]).alias(name) for name in columns]).collect()
        except FAULTS as error:
            raise DataError(f"{where}: cannot be read as a table ({first_line(error)})") from None
        if len(frame) != rows - 1:
            raise DataError(f"{where}: {rows - 1} rows were counted but {len(frame)} read; check its quotation marks")
        return restore(frame) if guarded else frame

    return FileTable(where, kind, header, read, notes_list, decimal_comma=separator == ";")


def _watched(pieces: Iterable[bytes], guarded: list[bool]) -> Iterator[bytes]:
    """Yield the pieces; `guarded` becomes non-empty when a cell may have a guarding apostrophe."""
    for piece in pieces:
        if not guarded and b"'" in piece and TRACE.search(piece):
            guarded.append(True)
        yield piece


def _separator(head: bytes, eol: str, default: str) -> str:
    """Return the most frequent separator of the header outside quotation marks; the default wins ties."""
    first = head.split(eol.encode(), 1)[0]
    unquoted = b"".join(first.split(b'"')[::2])
    most = max((default, *_SEPARATORS), key=lambda separator: unquoted.count(separator.encode()))
    return most if most.encode() in unquoted else default


def _header(head: bytes, eol: str, separator: str, where: str) -> tuple[list[str], bytes]:
    """Return the distinct names in the first row, and its bytes."""
    text = head.decode(errors="surrogateescape")
    reader = csv.reader(io.StringIO(text, newline=eol), delimiter=separator, strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{where}, line 1: the header cannot be read ({error}); check its quotation marks") from None
    if not any(name.strip() for name in header):
        raise DataError(f"{where}, line 1: the first line is blank; a header like task,worker,label is needed")
    if any("\udc80" <= c <= "\udcff" for name in header for c in name):
        raise DataError(f"{where}, line 1: not UTF-8 text; save the file as UTF-8")
    if any("\0" in name for name in header):
        raise DataError(f"{where}, line 1: the header holds a NUL byte; the file is binary or damaged")
    raw = (eol.join(text.split(eol)[: reader.line_num]) + eol).encode(errors="surrogateescape")
    unnamed = 0
    for position, name in enumerate(header):
        if not name.strip():  # left behind by spreadsheets; blanks of different lengths keep the names distinct
            header[position] = " " * unnamed
            unnamed += 1
    header = [restore_name(name) for name in header]
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise DataError(
            f"{where}, line 1: the header names {quote(repeated)} more than once; rename one of the columns"
        )
    return header, raw
