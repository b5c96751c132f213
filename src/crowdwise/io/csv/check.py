"""Validate the shape of a CSV file before polars reads it, chunk by chunk.

polars silently pads short rows, truncates long rows and loses text after a closing quotation mark. Here the separators
and line ends outside quotation marks must repeat as in the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from ...core.arrays import Mask
from ...core.errors import DataError
from ..sources import LONGEST_LINE, refuse_blanks

QUOTE = ord('"')
_MISPLACED = "a quotation mark where none belongs; put the whole value in quotes and write a mark inside it twice"
_OPEN = "a quotation mark is opened here and never closed; close it, or write it twice inside a quoted value"
_MIXED = "line ends are mixed (a lone carriage return); save the file with one kind of line end"

_NOT_UTF8 = "not UTF-8 text; save the file as UTF-8"
_BLANK = np.zeros(256, dtype=bool)
_BLANK[list(b" \t\n\r\x0b\x0c")] = True

Fault = tuple[int, str]  # offset in the piece, what is wrong
Bytes = npt.NDArray[np.uint8]


class NotUtf8(DataError):
    """The text is in another encoding, or damaged."""


def count_rows(chunks: Iterable[bytes], where: str, separator: str, eol: str, width: int) -> int:
    """Return the number of rows, including the header and blank lines; raise at a row without `width` fields."""
    lines = rows = blank = 0
    for piece in _whole_rows(chunks, eol.encode(), where):
        more, fault = 0, _bytes_fault(piece)
        if fault is None:
            more, empty, fault = _shape(piece, ord(separator), ord(eol), width)
            blank += empty
        if fault is not None:
            line = lines + piece.count(eol.encode(), 0, fault[0]) + 1
            raise (NotUtf8 if fault[1] == _NOT_UTF8 else DataError)(f"{where}, line {line}: {fault[1]}")
        rows += more
        lines += piece.count(eol.encode()) if QUOTE in piece else more
        refuse_blanks(blank, rows, where)
    return rows


def _whole_rows(chunks: Iterable[bytes], eol: bytes, where: str) -> Iterator[bytes]:
    """Yield the chunks, cut at the ends of rows."""
    pending = b""
    for chunk in chunks:
        pending += chunk
        cut = _last_end(pending, eol)
        if cut:
            yield pending[:cut]
            pending = pending[cut:]
        elif len(pending) > LONGEST_LINE:
            break
    if pending:
        # A row beyond the limit with an unclosed quotation mark is passed on, so that the error names the mark.
        if len(pending) > LONGEST_LINE and pending.count(b'"') % 2 == 0:
            raise DataError(f"{where}: a row is longer than {LONGEST_LINE >> 20} MB; is it a table at all?")
        yield pending if pending.endswith(eol) else pending + eol


def _last_end(data: bytes, eol: bytes) -> int:
    if b'"' not in data:
        return data.rfind(eol) + 1
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero((text == eol[0]) & ~_inside(text))
    return int(ends[-1]) + 1 if len(ends) else 0


def _inside(text: Bytes) -> Mask:
    """Return which bytes lie between quotation marks; a doubled mark closes and opens again."""
    return np.bitwise_xor.accumulate(text == QUOTE)


def _bytes_fault(piece: bytes) -> Fault | None:
    at = piece.find(b"\0")
    if at >= 0:
        return at, "a NUL byte; the file is binary or damaged, save it as UTF-8 text"
    if not piece.isascii():
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            return error.start, _NOT_UTF8
    return None


def _shape(piece: bytes, separator: int, eol: int, width: int) -> tuple[int, int, Fault | None]:
    """Return the number of rows in the piece, the number of blank ones, and the first malformed row."""
    text = np.frombuffer(piece, dtype=np.uint8)
    inside = _inside(text) if QUOTE in piece else None
    fault = _mixed_ends(piece, text, inside, eol)
    if inside is None:
        marks = piece.translate(None, delete=bytes(set(range(256)) - {separator, eol}))
    else:
        fault = _misplaced_quote(text, separator, eol) or fault
        marks = text[((text == separator) | (text == eol)) & ~inside].tobytes()
    row = bytes([separator] * (width - 1) + [eol])
    n_rows, left = divmod(len(marks), len(row))
    if fault is None and not left and marks == row * n_rows:
        return n_rows, 0, None
    ends = np.flatnonzero(np.frombuffer(marks, dtype=np.uint8) == eol)
    blank, ragged = _ragged(text, inside, ends, eol, width)
    return len(ends), blank, fault or ragged


def _mixed_ends(piece: bytes, text: Bytes, inside: Mask | None, eol: int) -> Fault | None:
    if (b"\r" if eol == ord("\n") else b"\n") not in piece:
        return None
    is_lone = text == (ord("\r") if eol == ord("\n") else ord("\n"))
    if eol == ord("\n"):
        is_lone[:-1] &= text[1:] != ord("\n")
    if inside is not None:
        is_lone &= ~inside
    return (int(is_lone.argmax()), _MIXED) if is_lone.any() else None


def _misplaced_quote(text: Bytes, separator: int, eol: int) -> Fault | None:
    """Find a quotation mark that does not open, close or double inside a value: polars would lose text there."""
    marks = np.flatnonzero(text == QUOTE)
    opening, closing = marks[0::2], marks[1::2]
    edge = np.zeros(256, dtype=bool)
    edge[[separator, eol, ord("\r"), QUOTE]] = True
    before = np.where(opening == 0, True, edge[text[opening - 1]])
    after = edge[text[np.minimum(closing + 1, len(text) - 1)]]
    wrong = [*opening[~before][:1], *opening[: len(closing)][~after][:1]]
    if wrong:
        return int(min(wrong)), _MISPLACED
    return (int(marks[-1]), _OPEN) if len(marks) % 2 else None


def _ragged(
    text: Bytes, inside: Mask | None, ends: npt.NDArray[np.intp], eol: int, width: int
) -> tuple[int, Fault | None]:
    """Return the number of blank rows, which the ledger counts, and the first malformed row that is not blank."""
    fields = np.diff(ends, prepend=-1)
    stops = np.flatnonzero(text == eol if inside is None else (text == eol) & ~inside)
    starts = np.concatenate([[0], stops[:-1] + 1])
    blank = np.add.reduceat(~_BLANK[text], starts, dtype=np.int64) == 0
    wrong = np.flatnonzero((fields != width) & ~blank)
    if not len(wrong):
        return int(blank.sum()), None
    row = int(wrong[0])
    short = fields[row] < width
    remedy = "leave an empty field for what is missing" if short else "quote values that hold the separator"
    return int(blank.sum()), (int(starts[row]), f"{fields[row]} fields where the header has {width}; {remedy}")
