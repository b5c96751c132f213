"""Which format a file is in: every format looks at its beginning and says how sure it is, and why."""

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
from .base import Guess, Head
from .records import is_parquet, records

SOME = 20  # objects or rows that are looked at
PLAIN = "a plain table"


def detect(source: Source, where: str, name: str) -> tuple[str | None, str]:
    """The format's name and why; None for a plain table. Two that are equally likely are an error."""
    head = look(source, where, name)
    found: list[tuple[str, Guess]] = []
    for each in FORMATS:
        guess = get(each).sniff(head)
        if guess is not None:
            found.append((each, guess))
    if not found:
        _refuse_unknown(head, where, name)
        return None, PLAIN
    best = max(guess.sure for _, guess in found)
    first, *others = [(each, guess) for each, guess in found if guess.sure == best]
    if others:
        second = others[0]
        raise DataError(
            f"{where} can be read as {first[0]} ({first[1].why}) and as {second[0]} ({second[1].why}); "
            f"say --format {first[0]} or --format {second[0]}"
        )
    names = set(head.header or (head.objects[0] if head.objects else ()))
    if {"task", "worker", "label"} <= names:
        plain = "jsonl" if head.kind == "objects" else "tsv" if name.lower().endswith(".tsv") else "csv"
        raise DataError(
            f"{where} can be read as {first[0]} ({first[1].why}) and as a plain table (columns task, worker, label); "
            f"say --format {first[0]} or --format {plain}"
        )
    return first[0], first[1].why


def look(source: Source, where: str, name: str) -> Head:
    """The beginning of a file; a fault in it is for the reader to report."""
    if (isinstance(source, Path) and source.is_dir()) or starts_with(source, b"PK\x03\x04", b"PK\x05\x06"):
        try:
            return Head("archive", members=member_names(source, where), inner=_inner(source, where))
        except DataError as error:
            return Head("other", fault=str(error))
    try:
        if is_parquet(source):
            header = open_parquet(source, where).header
            return Head("objects", header=header, objects=_some(source, where)[0])
        source, start, _ = text_source(source, where)
    except DataError as error:
        return Head("other", fault=str(error))
    start = start.lstrip()
    if start.startswith(b"<"):
        return Head("xml" if b"<annotations" in start[:4096] else "other")
    if start.startswith((b"{", b"[")):
        some, fault = _some(source, where)
        return Head("objects", objects=some, fault=fault)
    return _table(source, where, name, start)


def _inner(source: Source, where: str) -> dict[str, Any] | None:
    try:
        for _, content in members(source, where, (".jsonl",)):
            return next((record for _, record in objects(content, where)), None)
    except DataError:
        return None  # the reader will say what is wrong with it
    return None


def _some(source: Source, where: str) -> tuple[list[dict[str, Any]], str]:
    some: list[dict[str, Any]] = []
    try:
        for _, record in records(source, where) if is_parquet(source) else objects(source, where):
            some.append(record)
            if len(some) == SOME:
                break
    except DataError as error:
        return some, str(error)
    return some, ""


def _table(source: Source, where: str, name: str, start: bytes) -> Head:
    try:
        table = open_csv(source, where, "tsv" if ".tsv" in name.lower() else "csv")
    except DataError as error:
        return Head("other", fault=str(error))
    text = start[: 1 << 16].decode(errors="replace")
    marks = {",": 0, "\t": 0, ";": 0}
    separator = max(marks, key=lambda mark: text.split("\n", 1)[0].count(mark))
    try:
        rows = [row for row, _ in zip(csv.reader(io.StringIO(text), delimiter=separator), range(SOME), strict=False)]
    except csv.Error:
        rows = []
    return Head("table", header=table.header, rows=rows[1:])


def _refuse_unknown(head: Head, where: str, name: str) -> None:
    """A name that promises an export, in which none is recognised."""
    ending = Path(name).suffix.lower()
    if ending not in (".json", ".zip", ".xml") and head.kind != "archive":
        return
    if head.fault:
        raise DataError(head.fault)
    if head.kind == "archive" and ending != ".zip":
        return
    seen = {
        "objects": f"JSON objects with the keys {', '.join(map(str, [*head.objects[0]][:8]))}" if head.objects else "",
        "archive": f"an archive with {', '.join(head.members[:3]) or 'nothing in it'}",
        "table": f"a table with the columns {', '.join(head.header[:8])}",
    }.get(head.kind, "")
    raise DataError(
        f"{where}: no export that we know is recognised in it{f' ({seen})' if seen else ''}; say --format NAME "
        f"with one of {', '.join(FORMATS)}"
    )
