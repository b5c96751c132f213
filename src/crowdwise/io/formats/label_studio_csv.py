"""Label Studio's CSV and TSV export: one row an annotation."""

from __future__ import annotations

from ...core.errors import DataError
from ..csv.file import open_csv
from ..sources import Source
from .base import OF_TASKS, SURE, Ask, Found, Guess, Head, Rows
from .label_studio_flat import add, choose_question, finish, questions

MARKS = ("annotation_id", "annotator", "lead_time")


def sniff(head: Head) -> Guess | None:
    """Columns `annotation_id`, `annotator` and `lead_time`."""
    if head.kind == "table" and set(MARKS) <= set(head.header):
        return Guess(SURE, "it has the columns `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """All columns are looked at for the question, then the rows are read."""
    ask.only(where, "task", *OF_TASKS)
    table = open_csv(source, where, "csv")
    name = ask.columns.get("task", "id")
    missing = [column for column in (*MARKS, name) if column not in table.header]
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}; is it Label Studio's CSV export?")
    wanted = table.header
    if ask.question in table.header:
        wanted = [n for n in table.header if n in (*MARKS, name, "created_at", ask.question)]
    frame = table.read(wanted)
    certain, possible = questions(frame.iter_rows(named=True), name)
    question, notes = choose_question(certain, possible, ask, where)
    rows = Rows()
    every = enumerate(frame.iter_rows(named=True), 1)
    controls = {add(rows, record, question, name, f"{where}, row {number}") for number, record in every}
    again = lambda: table.read(table.header).iter_rows(named=True)  # noqa: E731
    return finish(rows, where, ask, question, table.notes + notes, again, certain, controls)
