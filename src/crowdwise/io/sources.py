"""Files, pipes and standard input as decompressed bytes, with a name for messages."""

from __future__ import annotations

import gzip
import io
import re
import stat
import sys
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line

Source = Path | bytes
CHUNK = 1 << 22
LONGEST_LINE = 1 << 26
MOST_PIPED = 1 << 31
MOST_BLANK = 1_000_000
# Text compresses 20 to 50 times; a file beyond this ratio is meant to fill the memory.
MOST_TIMES, FREE = 200, 1 << 24
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_MAGIC = {
    b"PAR1": "a Parquet file; use --format parquet or name it .parquet",
    b"PK\x03\x04": "an Excel workbook or a zip archive; use --format excel or name it .xlsx, save the table as CSV, or "
    "unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save it as .xlsx, or the table as CSV",
    b"\x89PNG": "a picture; name a table",
    b"%PDF": "a PDF; name a table",
    b"BZh": "packed with bzip2; unpack it, or pack it with gzip or zstd",
    b"\xfd7zXZ": "packed with xz; unpack it, or pack it with gzip or zstd",
    b"ARROW1": "an Arrow file; save the table as Parquet",
    b"SQLite format 3": "a database; export the table as CSV",
    b"<!doctype": "a web page; download the table itself",
    b"<html": "a web page; download the table itself",
}  # fmt: skip


class Reader(Protocol):
    """Reads columns of a table: as text from text files, with their own types from Parquet."""

    def __call__(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the columns, in the requested order."""


@dataclass(frozen=True)
class FileTable:
    """An opened table.

    Attributes:
        where: Name of the file, for messages.
        format: Format of the file.
        header: Column names; for JSONL those at the beginning of the file.
        read: Reads columns.
        note_list: Notes about the file; reading may add to it.
        all_names: Collects the column names of the whole file, where the header may lack some.
        decimal_comma: Whether 3,5 may be a number.
        schema: Types of the columns of a Parquet file; columns of text files are text.
        with_lists: Called with (columns, lists), reads columns some of which hold lists as JSON, which `read` refuses.
    """

    where: str
    format: str
    header: list[str]
    read: Reader
    note_list: list[str] = field(default_factory=list)
    all_names: Callable[[], list[str]] | None = None
    decimal_comma: bool = False
    schema: Mapping[str, pl.DataType] = field(default_factory=dict)
    with_lists: Callable[[Sequence[str], Sequence[str]], pl.DataFrame] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the file, as far as it has been read."""
        return tuple(self.note_list)


def open_source(path: str | Path) -> tuple[Source, str]:
    """Return the file, or the bytes of a pipe or of standard input (`-`), and its name for messages."""
    if str(path) == "-":
        stream = getattr(sys.stdin, "buffer", None)
        data = _drained(stream, "standard input") if stream is not None else b""
        if not data:
            raise DataError("standard input is empty; pipe a table into it, for instance with < votes.csv")
        return data, "standard input"
    path = Path(path)
    where = printable(path.name)
    try:
        kind = path.stat()
        if stat.S_ISDIR(kind.st_mode):
            raise DataError(f"{printable(str(path))} is a folder; name a file in it")
        if stat.S_ISFIFO(kind.st_mode):
            with path.open("rb") as pipe:
                source: Source = _drained(pipe, where)
            empty = not source
        elif not stat.S_ISREG(kind.st_mode):
            raise DataError(f"{printable(str(path))} is a device; only files, pipes and standard input are read")
        elif any(c in "*?[" for c in str(path.absolute())):  # polars reads these characters as a glob pattern
            source, empty = path.read_bytes(), kind.st_size == 0
        else:
            # Virtual files (/proc) have size 0 and are not tables.
            source, empty = path.absolute(), kind.st_size == 0
            with path.open("rb") as file:
                file.read(1)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{printable(str(path))}: there is no such file") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else first_line(error)
        raise DataError(f"{printable(str(path))}: cannot be read ({why})") from error
    if empty:
        raise DataError(f"{where} is empty; is it the right file?")
    return source, where


def _drained(stream: IO[bytes], where: str) -> bytes:
    """Read a pipe to its end; endless binary zeros are refused."""
    parts: list[bytes] = []
    size = 0
    while piece := stream.read(CHUNK):
        parts.append(piece)
        size += len(piece)
        if not any(parts[0]):
            raise DataError(f"{where} is binary, only zeros; pipe a table into it")
        if size > MOST_PIPED:
            raise DataError(f"{where}: more than {MOST_PIPED >> 20:,} MB came through the pipe; name a file instead")
    return b"".join(parts)


def printable(name: str) -> str:
    """Return a name that is safe to print: control characters are escaped."""
    return name if name.isprintable() else repr(name)


def chunks(source: Source, where: str, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the decompressed bytes without a byte order mark; zstd yields whole lines."""
    pieces = _unpacked(source, where, size)
    first = next(pieces, b"").removeprefix(_BOM)
    if first:
        yield first
    yield from pieces


def without_mark(source: Source, where: str) -> Source:
    """Return the source, or its decompressed bytes without the byte order mark if it begins with one."""
    if next(_unpacked(source, where, len(_BOM)), b"").startswith(_BOM):
        return b"".join(chunks(source, where))
    return source


def _unpacked(source: Source, where: str, size: int) -> Iterator[bytes]:
    start = _start(source)
    packed = start.startswith((_ZSTD, _GZIP))
    try:
        if start.startswith(_ZSTD):
            yield from _within_reason(_zstd_lines(source), source, where)
            return
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            if packed:
                stream = gzip.GzipFile(fileobj=file)
                yield from _within_reason(iter(lambda: stream.read(size), b""), source, where)
            while piece := file.read(size):
                yield piece
    except FAULTS[:2] as error:
        raise DataError(f"{where}: its content is not UTF-8 text ({first_line(error)}); save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        fault = "the compressed file is damaged or cut short" if packed else "the file cannot be read"
        raise DataError(f"{where}: {fault} ({first_line(error)}); fetch or pack it again") from None


def _within_reason(pieces: Iterator[bytes], source: Source, where: str) -> Iterator[bytes]:
    """Yield the pieces; raise if they are far larger than the compressed file."""
    packed = len(source) if isinstance(source, bytes) else source.stat().st_size
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > FREE and size > MOST_TIMES * packed:
            raise DataError(f"{where} unpacks to over {MOST_TIMES} times its size; this is not a table and is not read")
        yield piece


def starts_with(source: Source, *magic: bytes) -> bool:
    """Whether the file begins with one of these bytes."""
    return not (isinstance(source, Path) and source.is_dir()) and _start(source).startswith(magic)


def _start(source: Source) -> bytes:
    if isinstance(source, bytes):
        return source[:4]
    with source.open("rb") as file:
        return file.read(4)


def _zstd_lines(source: Source) -> Iterator[bytes]:
    # The standard library supports zstd only from Python 3.14; polars does.
    for batch in pl.scan_lines(source).collect_batches():
        yield batch.to_series().str.join("\n").item().encode() + b"\n"


def lines(source: Source, where: str) -> Iterator[bytes]:
    """Yield the lines of the decompressed file, without line ends."""
    for piece in whole_lines(source, where):
        yield from piece.removesuffix(b"\n").split(b"\n")


def whole_lines(source: Source, where: str) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of whole lines; the last line end may be missing."""
    parts: list[bytes] = []
    size = count = 0
    for chunk in chunks(source, where):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            piece = b"".join([*parts, chunk[:cut]])
            yield piece
            count += piece.count(b"\n")
            parts, size = [], 0
        parts.append(chunk[cut:])
        size += len(parts[-1])
        if size > LONGEST_LINE:
            raise DataError(f"{where}, line {count + 1}: longer than {LONGEST_LINE >> 20} MB; is it a table at all?")
    if size:
        yield b"".join(parts)


def refuse_blanks(blank: int, n_lines: int, where: str) -> None:
    """Raise if a file consists mostly of blank lines, each of which would take the memory of a row."""
    if blank > MOST_BLANK and 2 * blank > n_lines:
        raise DataError(f"{where}: {blank:,} of its first {n_lines:,} lines are blank; is it the right file?")


def text_source(source: Source, where: str) -> tuple[Source, bytes, tuple[str, ...]]:
    """Return the source as UTF-8, its beginning without a byte order mark, and notes; raise if it is not text."""
    notes: tuple[str, ...] = ()
    if isinstance(source, Path) and source.suffix == ".gz" and not _start(source).startswith(_GZIP):
        notes += ("the file's name ends in .gz but it is not compressed",)
    head = next(chunks(source, where), b"")
    if head.startswith(_UTF16):
        source = _from_utf16(b"".join(chunks(source, where)), where)
        head, notes = source[:CHUNK], (*notes, "the file is UTF-16")
    lower = head[:16].lower()
    for magic, what in _MAGIC.items():
        if head.startswith(magic) or lower.startswith(magic):
            raise DataError(f"{where} is {what}")
    if head[:200].count(b"\0") > 10:
        raise DataError(f"{where} is binary, or UTF-16 without a byte order mark; save it as UTF-8 text")
    if not head.strip():
        raise DataError(f"{where} is empty; a table with a header like task,worker,label is needed")
    return source, head, notes


# A non-ASCII letter in UTF-8 (a file with one is UTF-8, and invalid bytes are damage), and bytes that no text has.
_UTF8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
_LETTERS = re.compile(r"[^\s,;\"]*[^\x00-\x7f][^\s,;\"]*")


def is_utf8(start: bytes) -> bool:
    """Whether the beginning of a text is UTF-8; it may end within a character."""
    try:
        getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def from_western(source: Source, where: str) -> tuple[bytes, str] | None:
    """Convert Windows-1252 (a superset of Latin-1) to UTF-8, with a note; None if the text is not in that encoding."""
    data = b"".join(chunks(source, where))
    if _UTF8_LETTER.search(data) or _NO_TEXT.search(data):
        return None
    text = data.decode("cp1252")
    match = _LETTERS.search(text)
    example = f" (there is {match[0][:40]!r} in it)" if match else ""
    return (
        text.encode(),
        f"the file is not UTF-8 and is read as Latin-1{example}; if letters look wrong, save it as UTF-8",
    )


def _from_utf16(data: bytes, where: str) -> bytes:
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} begins like UTF-16 but is not ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
