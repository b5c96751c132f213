"""Table files (CSV, TSV, JSONL, Parquet, plain or compressed) as polars tables of text, with nothing guessed.

polars reads fast but forgives much: UTF-16 becomes garbage, short rows get nulls, a second `task` column is renamed.
Each of these is looked for here and refused with the line it stands in.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import DataError
from ..vocabulary import quote

Source = Path | bytes
FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".pq": "parquet"}  # fmt: skip
COMPRESSED = (".gz", ".zst")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Table:
    """An opened table: its header, and a reader for the columns that are wanted."""

    where: str
    format: str
    header: list[str]
    read: Callable[[Sequence[str]], pl.DataFrame]
    notes: tuple[str, ...] = ()


def open_table(path: str | Path, format: str | None = None) -> Table:
    """Look at a file (`-` is CSV on standard input) and say what it is, without reading it all."""
    if str(path) == "-":
        return _open_text(sys.stdin.buffer.read(), "standard input", format or "csv")
    path = Path(path)
    where = path.name
    _check_readable(path)
    kind = format or format_of(path)
    if kind == "parquet":
        return _open_parquet(path, where)
    if kind == "jsonl":
        return _open_jsonl(path, where)
    return _open_text(path, where, kind)


def format_of(path: Path) -> str:
    """The format that a file's name promises."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = FORMATS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise DataError(
            f"{path.name}: the file's name ends in none of {', '.join(FORMATS)} (+ .gz, .zst); say --format NAME"
        )
    return kind


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if empty:
        raise DataError(f"{path.name} is empty")


# -------------------------------------------------------------------- CSV and TSV
def _open_text(source: Source, where: str, kind: str) -> Table:
    head = _head(source, where)
    notes: tuple[str, ...] = ()
    if head.startswith(_UTF16):
        source = _from_utf16(source, where)
        head = source[:65536]
        notes = ("the file is UTF-16",)
    elif head[:200].count(b"\0") > 10:
        raise DataError(f"{where} is binary or UTF-16 without a byte order mark; save it as UTF-8 text")
    if not head.strip():
        raise DataError(f"{where} is empty")
    eol = "\r" if b"\r" in head and b"\n" not in head else "\n"
    separator, header = _header(head, eol, where, "\t" if kind == "tsv" else ",")
    if separator == ";":
        notes += ("columns are separated by semicolons",)
    options: dict[str, Any] = {"separator": separator, "eol_char": eol, "infer_schema": False}

    def read(columns: Sequence[str]) -> pl.DataFrame:
        return _read_csv(source, where, header, columns, options)

    return Table(where, kind, header, read, notes)


def _head(source: Source, where: str, size: int = 65536) -> bytes:
    if isinstance(source, bytes):
        return source[:size]
    with source.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b":
        try:
            with gzip.open(source) as file:
                return file.read(size)
        except (OSError, EOFError) as error:
            raise DataError(f"{where}: the compressed file is damaged ({error})") from error
    if start == b"\x28\xb5\x2f\xfd":  # polars unpacks zstd by itself; a line at a time tells enough
        try:
            lines = pl.read_csv(source, has_header=False, n_rows=50, separator="\x01", quote_char=None,
                                infer_schema=False)  # fmt: skip
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{where}: the compressed file is damaged ({_first_line(error)})") from error
        return "\n".join(line or "" for line in lines.to_series(0)).encode() + b"\n"
    with source.open("rb") as file:
        return file.read(size)


def _from_utf16(source: Source, where: str) -> bytes:
    data = source if isinstance(source, bytes) else _all_bytes(source)
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where} begins like UTF-16 but is not ({error.reason} at byte {error.start})") from error


def _all_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _header(head: bytes, eol: str, where: str, separator: str) -> tuple[str, list[str]]:
    try:
        text = head.decode("utf-8-sig", errors="ignore")
    except UnicodeDecodeError as error:  # pragma: no cover - errors="ignore"
        raise DataError(f"{where} is not UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n") if eol == "\r" else text.replace("\r\n", "\n")
    first = text.split("\n", 1)[0]
    if separator == "," and "," not in first and (";" in first or "\t" in first):
        separator = ";" if first.count(";") >= first.count("\t") else "\t"
    header = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    if "\0" in first:
        raise DataError(f"{where}: the header holds a NUL byte; the file is binary or damaged")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(f"{where}: the header names {quote(twice)} more than once; rename one of the columns")
    if not any(name.strip() for name in header):
        raise DataError(f"{where}: the first line is blank; a header like task,worker,label is needed")
    return separator, header


def _read_csv(
    source: Source, where: str, header: list[str], columns: Sequence[str], options: dict[str, Any]
) -> pl.DataFrame:
    # Fresh category spaces: codes come out dense, and the strings are stored once.
    types = {name: pl.Categorical(pl.Categories.random()) for name in columns}
    try:
        frame = pl.read_csv(source, columns=list(columns), schema_overrides=types, **options)
    except pl.exceptions.NoDataError:
        return pl.DataFrame({name: pl.Series(name, [], dtype=pl.String) for name in columns})
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _csv_fault(source, where, header, options, error) from None
    if header[-1] in columns and frame[header[-1]].null_count():
        short = _short_row(source, header, options)
        if short is not None:
            line, fields = short
            raise DataError(f"{where}, line {line}: {fields} fields where the header has {len(header)}")
    return frame


def _rows(source: Source, options: dict[str, Any]) -> Any:
    if isinstance(source, bytes):
        raw: Any = io.BytesIO(source)
    elif _head(source, source.name, 4) and source.read_bytes()[:4] == b"\x28\xb5\x2f\xfd":
        return iter(())  # no zstd in the standard library: polars' own message has to do
    else:
        with source.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        raw = gzip.open(source) if packed else source.open("rb")
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return csv.reader(text, delimiter=options["separator"])


def _short_row(source: Source, header: list[str], options: dict[str, Any]) -> tuple[int, int] | None:
    reader = _rows(source, options)
    for row in reader:
        if 0 < len(row) < len(header) and any(cell.strip() for cell in row):
            return reader.line_num, len(row)
    return None


def _csv_fault(source: Source, where: str, header: list[str], options: dict[str, Any], error: Exception) -> DataError:
    """What is wrong with a CSV that polars refused, found by reading it line by line."""
    csv.field_size_limit(sys.maxsize)
    reader = _rows(source, options)
    try:
        for row in reader:
            for cell in row:
                if any("\udc80" <= c <= "\udcff" for c in cell):
                    return DataError(f"{where}, line {reader.line_num}: not UTF-8 text; save the file as UTF-8")
            if len(row) > len(header):
                return DataError(
                    f"{where}, line {reader.line_num}: {len(row)} fields where the header has {len(header)}; "
                    "quote values that contain the separator"
                )
    except (csv.Error, OSError, EOFError) as fault:
        return DataError(f"{where}, line {getattr(reader, 'line_num', 0)}: {fault}")
    return DataError(f"{where}: cannot be read as a table ({_first_line(error)}); is a quotation mark left open?")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


# -------------------------------------------------------------------- JSONL and Parquet
def _open_jsonl(path: Path, where: str) -> Table:
    head = _head(path, where)
    if head.startswith(_UTF16) or head[:200].count(b"\0") > 10:
        raise DataError(f"{where} is not UTF-8 text; save it as UTF-8")
    if head.lstrip().startswith(b"["):
        raise DataError(f"{where} is one JSON array; write one JSON object per line")
    source: Source = _all_bytes(path) if head[:3] == b"\xef\xbb\xbf" or path.suffix == ".gz" else path
    if isinstance(source, bytes):
        source = source.removeprefix(b"\xef\xbb\xbf")
    try:
        header = pl.scan_ndjson(source, infer_schema_length=1000).collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise _jsonl_fault(source, where, error) from None

    def read(columns: Sequence[str]) -> pl.DataFrame:
        try:
            lazy = pl.scan_ndjson(source, schema_overrides=dict.fromkeys(columns, pl.String), infer_schema_length=1000)
            frame = lazy.select(columns).collect()
        except pl.exceptions.PolarsError as error:
            raise _jsonl_fault(source, where, error) from None
        _refuse_nested(frame, where)
        return frame

    return Table(where, "jsonl", header, read)


def _jsonl_fault(source: Source, where: str, error: Exception) -> DataError:
    import json

    lines = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                if not isinstance(json.loads(line), dict):
                    return DataError(f"{where}, line {number}: a JSON object was expected, got {line[:40]!r}")
            except (ValueError, RecursionError) as fault:
                return DataError(f"{where}, line {number}: not JSON ({_first_line(fault)})")
    return DataError(f"{where}: cannot be read as JSONL ({_first_line(error)})")


def _refuse_nested(frame: pl.DataFrame, where: str) -> None:
    for name in frame.columns:
        nested = frame[name].str.contains(r"^\s*[\[{]").fill_null(False)
        if bool(nested.any()):
            row = int(nested.arg_true()[0])
            raise DataError(
                f"{where}, row {row + 1}: {name} holds {frame[name][row][:40]!r}; plain text or a number is needed"
            )


def _open_parquet(path: Path, where: str) -> Table:
    try:
        schema = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{where} is not a Parquet file ({_first_line(error)})") from None

    def read(columns: Sequence[str]) -> pl.DataFrame:
        casts = [
            pl.col(name).cast(pl.Categorical(pl.Categories.random())) if schema[name] == pl.String else pl.col(name)
            for name in columns
        ]
        try:
            return pl.scan_parquet(path).select(casts).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{where}: the Parquet file is damaged ({_first_line(error)})") from None

    return Table(where, "parquet", list(schema), read)
