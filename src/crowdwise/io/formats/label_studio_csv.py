"""Label Studio's CSV and TSV export: one row per annotation."""

from __future__ import annotations

import polars as pl

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..csv.file import open_csv
from ..sources import Source
from .base import SURE, TASK_COLUMNS, FileHead, FormatMatch, ParsedFile
from .label_studio_flat import Records, read_records

MARKS = ("annotation_id", "annotator", "lead_time")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match the columns `annotation_id`, `annotator` and `lead_time`."""
    if set(MARKS) <= set(head.header):
        return FormatMatch(SURE, "it has the columns `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read the columns that the question needs, or all where none is named."""
    options.allow_columns(where, "task", *TASK_COLUMNS)
    table = open_csv(source, where, "csv")
    name = options.columns.get("task", "id")
    missing = [column for column in (*MARKS, name) if column not in table.header]
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}; is it Label Studio's CSV export?")
    columns = table.header
    if options.question in table.header:
        columns = [n for n in table.header if n in (*MARKS, name, "created_at", options.question)]
    frame = table.read(columns)

    def places(frame: pl.DataFrame) -> Records:
        return ((f"{where}, row {number}", record) for number, record in enumerate(frame.iter_rows(named=True), 1))

    return read_records(lambda: places(frame), where, options, table.notes, lambda: places(table.read(table.header)))
