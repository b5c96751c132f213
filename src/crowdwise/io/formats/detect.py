"""Detect the format of a file from its beginning."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ..archives import member_names, members
from ..csv.file import open_csv
from ..json.stream import objects
from ..parquet import open_parquet
from ..sources import Source, starts_with, text_source
from . import FORMATS, get
from .base import FileHead
from .records import is_parquet, records

SOME = 20  # objects or rows that are inspected
PLAIN = "a plain table"


def detect(source: Source, where: str, name: str) -> tuple[str | None, str]:
    """Return the format's name and the reason; None for a plain table. Two equally certain matches are an error."""
    head = look(source, where, name)
    sniffed = (
        (format_name, get(format_name).sniff(head)) for format_name, kinds in FORMATS.items() if head.kind in kinds
    )
    matches = [(format_name, match) for format_name, match in sniffed if match is not None]
    if not matches:
        _refuse_unknown(head, where, name)
        return None, PLAIN
    best = max(match.certainty for _, match in matches)
    (first, match), *others = [candidate for candidate in matches if candidate[1].certainty == best]
    if others:
        second, other = others[0]
        raise DataError(
            f"{where} can be read as {first} ({match.why}) and as {second} ({other.why}); "
            f"use --format {first} or --format {second}"
        )
    names = set(head.header or (head.objects[0] if head.objects else ()))
    if {"task", "worker", "label"} <= names:
        plain = "jsonl" if head.kind == "objects" else "tsv" if name.lower().endswith(".tsv") else "csv"
        raise DataError(
            f"{where} can be read as {first} ({match.why}) and as a plain table (columns task, worker, label); "
            f"use --format {first} or --format {plain}"
        )
    return first, match.why


def look(source: Source, where: str, name: str) -> FileHead:
    """Read the beginning of a file; errors in it are left to the reader to report."""
    if (isinstance(source, Path) and source.is_dir()) or starts_with(source, b"PK\x03\x04", b"PK\x05\x06"):
        try:
            return FileHead("archive", members=member_names(source, where), inner=_inner(source, where, ".jsonl"),
                            document=_inner(source, where, ".json"))  # fmt: skip
        except DataError as error:
            return FileHead("other", fault=str(error))
    try:
        if is_parquet(source):
            header = open_parquet(source, where).header
            return FileHead("objects", header=header, objects=_some(source, where)[0])
        source, start, _ = text_source(source, where)
    except DataError as error:
        return FileHead("other", fault=str(error))
    start = start.lstrip()
    if start.startswith(b"<"):
        return FileHead("xml" if b"<annotations" in start[:4096] else "other")
    if start.startswith((b"{", b"[")):
        first_objects, fault = _some(source, where)
        return FileHead("objects", objects=first_objects, fault=fault)
    return _table(source, where, name, start)


def _inner(source: Source, where: str, ending: str) -> dict[str, Any] | None:
    """Return the first object of an archive's first file with this ending."""
    try:
        for _, content in members(source, where, (ending,)):
            return next((record for _, record in objects(content, where)), None)
    except DataError:
        return None  # the reader reports the error
    return None


def _some(source: Source, where: str) -> tuple[list[dict[str, Any]], str]:
    first_records: list[dict[str, Any]] = []
    try:
        for _, record in records(source, where) if is_parquet(source) else objects(source, where):
            first_records.append(record)
            if len(first_records) == SOME:
                break
    except DataError as error:
        return first_records, str(error)
    return first_records, ""


def _table(source: Source, where: str, name: str, start: bytes) -> FileHead:
    try:
        table = open_csv(source, where, "tsv" if ".tsv" in name.lower() else "csv")
    except DataError as error:
        return FileHead("other", fault=str(error))
    text = start[: 1 << 16].decode(errors="replace")
    marks = {",": 0, "\t": 0, ";": 0}
    separator = max(marks, key=lambda mark: text.split("\n", 1)[0].count(mark))
    try:
        rows = [row for row, _ in zip(csv.reader(io.StringIO(text), delimiter=separator), range(SOME), strict=False)]
    except csv.Error:
        rows = []
    return FileHead("table", header=table.header, rows=rows[1:])


def _refuse_unknown(head: FileHead, where: str, name: str) -> None:
    """Raise if the file name implies an export but no format matches."""
    ending = Path(name).suffix.lower()
    if ending not in (".json", ".zip", ".xml") and head.kind != "archive":
        return
    if head.fault:
        raise DataError(head.fault)
    if head.kind == "archive" and ending != ".zip":
        return
    contents = {
        "objects": f"JSON objects with the keys {', '.join(map(str, [*head.objects[0]][:8]))}" if head.objects else "",
        "archive": f"an archive with {', '.join(head.members[:3]) or 'nothing in it'}",
        "table": f"a table with the columns {', '.join(head.header[:8])}",
    }.get(head.kind, "")
    raise DataError(
        f"{where}: no known export format is recognised{f' ({contents})' if contents else ''}; use --format NAME "
        f"with one of {', '.join(FORMATS)}"
    )
