"""Stream JSON of any size, one value at a time: the elements of a top-level array, or consecutive values (JSONL)."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from ...core.errors import DataError
from ...core.faults import first_line
from ..sources import Source, chunks, text_source
from .text import decode

PIECE = 1 << 20
LONGEST = 1 << 26  # characters of one value
_BLANKS = re.compile(r"[ \t\r\n]*")


def values(source: Source, where: str) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of each element; memory holds one element and a piece of the file at a time."""
    source, _, _ = text_source(source, where)
    text = _Text(source, where)
    if text.peek() != "[":
        while text.peek():
            yield text.line, text.take()
        return
    text.step()
    if text.peek() == "]":
        return
    while True:
        yield text.line, text.take()
        mark = text.peek()
        text.step()
        if mark == "]":
            break
        if mark != ",":
            raise text.fault("the array is cut short" if not mark else f"a comma or ] is needed before {mark!r}")
    if text.peek():
        raise text.fault(f"{text.peek()!r} after the end of the array")


def objects(source: Source, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place for messages, object) of each element; other values are refused."""
    for line, value in values(source, where):
        if not isinstance(value, dict):
            shown = json.dumps(value, ensure_ascii=False)[:40]
            raise DataError(f"{where}, line {line}: a JSON object {{...}} is needed, got {shown}")
        yield f"{where}, line {line}", value


class _Text:
    """A window of the file's text; `line` is the current line."""

    def __init__(self, source: Source, where: str) -> None:
        self.where, self.line = where, 1
        self._pieces = chunks(source, where, PIECE)
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._text, self._place, self._done = "", 0, False

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            match = _BLANKS.match(self._text, self._place)
            self._go(match.end() if match else self._place)
            if self._place < len(self._text) or self._done:
                return self._text[self._place : self._place + 1]
            self._more()

    def step(self) -> None:
        """Skip the character that `peek` returned."""
        self._go(min(self._place + 1, len(self._text)))

    def take(self) -> Any:
        """Parse the value that begins here."""
        self.peek()
        while True:
            try:
                value, end = decode(self._text, self._place)
            except RecursionError:
                raise self.fault("nested too deeply") from None
            except json.JSONDecodeError as error:
                if self._done or not _may_go_on(error, len(self._text)):
                    end = len(self._text.rstrip())
                    self._go(min(error.pos, len(self._text)))
                    cut = error.pos >= end or error.msg.startswith("Unterminated")
                    raise self.fault("the file is cut short" if cut else error.msg) from None
            except ValueError as error:
                too_long = "digits" in str(error)
                raise self.fault("a number has too many digits" if too_long else first_line(error)) from None
            else:
                # A number at the end of the window may continue in the next piece.
                if self._done or end < len(self._text) or isinstance(value, dict | list):
                    self._go(end)
                    return value
            self._more()

    def fault(self, what: str) -> DataError:
        return DataError(f"{self.where}, line {self.line}: not readable as JSON ({what}); export it again")

    def _go(self, position: int) -> None:
        self.line += self._text.count("\n", self._place, position)
        self._place = position

    def _more(self) -> None:
        """Read at least as much as the window holds, so that long values are not parsed over and over."""
        parts = [self._text[self._place :]]
        self._place, n_wanted, got = 0, max(PIECE, len(parts[0])), 0
        if len(parts[0]) > LONGEST:
            raise self.fault(f"one value is longer than {LONGEST >> 20} million characters")
        while got < n_wanted and not self._done:
            piece = next(self._pieces, None)
            self._done = piece is None
            try:
                parts.append(self._decode.decode(piece or b"", final=self._done))
            except UnicodeDecodeError as error:
                self.line += sum(part.count("\n") for part in parts) + (piece or b"").count(b"\n", 0, error.start)
                raise DataError(f"{self.where}, line {self.line}: not UTF-8 text; save the file as UTF-8") from None
            got += len(parts[-1])
        self._text = "".join(parts)


def _may_go_on(error: json.JSONDecodeError, end: int) -> bool:
    """Whether the error may only be due to the end of the window."""
    return error.msg.startswith("Unterminated string") or error.pos >= end - 12
