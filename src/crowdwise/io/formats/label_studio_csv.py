"""Label Studio's CSV and TSV export: one row per annotation."""

from __future__ import annotations

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..csv.file import open_csv
from ..sources import Source
from .base import SURE, TASK_COLUMNS, FileHead, FormatMatch, ParsedFile, RowBuilder
from .label_studio_flat import add, choose_question, finish, questions

MARKS = ("annotation_id", "annotator", "lead_time")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match the columns `annotation_id`, `annotator` and `lead_time`."""
    if head.kind == "table" and set(MARKS) <= set(head.header):
        return FormatMatch(SURE, "it has the columns `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Determine the question from all columns, then read the rows."""
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
    certain, possible = questions(frame.iter_rows(named=True), name)
    question, notes = choose_question(certain, possible, options, where)
    rows = RowBuilder()
    numbered_rows = enumerate(frame.iter_rows(named=True), 1)
    controls = {add(rows, record, question, name, f"{where}, row {number}") for number, record in numbered_rows}
    reread = lambda: table.read(table.header).iter_rows(named=True)  # noqa: E731
    return finish(rows, where, options, question, table.notes + notes, reread, certain, controls)
