"""JSONL files: one JSON object per line; keys that a line lacks are null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.faults import FAULTS, first_line
from ..sources import FileTable, Source, lines, refuse_blanks, text_source, whole_lines, without_mark
from .text import loads, replace_half_character_bytes

FIRST = 1000  # lines whose keys form the header
BLOCK = 4096  # lines per attempt when searching for a malformed line


def open_jsonl(source: Source, where: str) -> FileTable:
    """Open a JSONL file; the header is taken from the first lines, and `read` returns values as text."""
    source, head, notes = text_source(source, where)
    if head.lstrip().startswith(b"["):
        raise DataError(f"{where} is one JSON array; write one JSON object per line, without the brackets")
    data = without_mark(source, where)

    def all_names() -> list[str]:
        return _keys(lines(data, where), where)

    def read(columns: Sequence[str], lists: Sequence[str] = ()) -> pl.DataFrame:
        schema = dict.fromkeys(columns, pl.String)
        n_lines, text = _survey(data, where)
        try:
            frame = pl.scan_ndjson(text, schema=schema).collect()
        except FAULTS as error:
            raise _fault(text, where, schema, error) from None
        _refuse_nested(frame, text, where, lists)
        # polars skips blank lines; as rows of nulls the ledger counts them.
        blank = n_lines - len(frame)
        return pl.concat([frame, frame.clear(blank)]) if blank > 0 else frame

    header = _keys(islice(lines(data, where), FIRST), where)
    return FileTable(where, "jsonl", header, read, list(notes), all_names, with_lists=read)


def _survey(source: Source, where: str) -> tuple[int, Source]:
    """Return the number of lines, and the source without lone surrogates, which polars makes invalid UTF-8."""
    count, objects, halves, last = 0, 0, False, b"\n"
    for piece in whole_lines(source, where):
        count += piece.count(b"\n")
        objects += piece.count(b"{")  # at least one in a line that is not blank
        refuse_blanks(count - objects, count, where)
        halves = halves or replace_half_character_bytes(piece) != piece
        last = piece[-1:]
    if halves:
        source = b"".join(replace_half_character_bytes(piece) for piece in whole_lines(source, where))
    return count + (last != b"\n"), source


def _keys(json_lines: Iterable[bytes], where: str) -> list[str]:
    keys: dict[str, None] = {}
    for number, line in enumerate(json_lines, 1):
        if line.strip():
            keys |= dict.fromkeys(_object(line, number, where))
    return list(keys)


def _object(line: bytes, number: int, where: str) -> dict[str, Any]:
    try:
        value = loads(line.decode())
    except UnicodeDecodeError:
        raise DataError(f"{where}, line {number}: not UTF-8 text; save the file as UTF-8") from None
    except RecursionError:
        raise DataError(f"{where}, line {number}: nested too deeply; one flat JSON object per line is needed") from None
    except ValueError as error:
        raise DataError(
            f"{where}, line {number}: not JSON ({first_line(error)}); one JSON object per line is needed"
        ) from None
    if not isinstance(value, dict):
        shown = line[:40].decode(errors="replace")
        raise DataError(f'{where}, line {number}: a JSON object like {{"task": ...}} is needed, got {shown!r}')
    return value


def _fault(source: Source, where: str, schema: dict[str, Any], error: Exception) -> DataError:
    """Return the error for a file that polars refused: the first line that is not JSON, else the first it refuses."""
    remaining, start = lines(source, where), 1
    try:
        while block := list(islice(remaining, BLOCK)):
            if _refusal(block, schema) is not None:
                for number, line in enumerate(block, start):
                    if line.strip():
                        _object(line, number, where)
                while len(block) > 1:
                    half = len(block) // 2
                    first_half = _refusal(block[:half], schema) is not None
                    block, start = (block[:half], start) if first_half else (block[half:], start + half)
                return DataError(
                    f"{where}, line {start}: {_refusal(block, schema)}; write the value as text, in quotes"
                )
            start += BLOCK
    except DataError as fault:
        return fault
    return DataError(f"{where}: cannot be read as JSONL ({first_line(error)})")


def _refusal(block: list[bytes], schema: dict[str, Any]) -> str | None:
    try:
        pl.scan_ndjson(b"\n".join(block) + b"\n", schema=schema).collect()
    except FAULTS as error:
        return first_line(error)
    return None


def _refuse_nested(frame: pl.DataFrame, source: Source, where: str, lists: Sequence[str] = ()) -> None:
    """Refuse nested values; the columns `lists` may hold lists."""
    suspects = [name for name in frame.columns if bool(frame[name].str.contains(r"^[\[{]").any())]
    if not suspects:
        return
    keys = "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in suspects)
    raw = pl.scan_lines(source, name="line", row_index_name="row", row_index_offset=1)
    for row, line in raw.filter(pl.col("line").str.contains(rf"(?:{keys})\s*:\s*[\[{{]")).collect().iter_rows():
        for name, value in _object(line.encode(), row, where).items():
            if name in suspects and isinstance(value, dict if name in lists else list | dict):
                raise DataError(
                    f"{where}, line {row}: {name} holds {json.dumps(value)[:40]}; plain text or a number is needed"
                )
