"""Label Studio's JSON_MIN export: one object per annotation."""

from __future__ import annotations

from ...core.options import ReadOptions
from ..json.stream import objects
from ..sources import Source
from .base import SURE, TASK_COLUMNS, FileHead, FormatMatch, ParsedFile, RowBuilder
from .label_studio_flat import add, choose_question, finish, questions


def sniff(head: FileHead) -> FormatMatch | None:
    """Match objects with `annotation_id`, `annotator` and `lead_time`."""
    if head.objects and {"annotation_id", "annotator", "lead_time"} <= set(head.objects[0]):
        return FormatMatch(SURE, "its objects have `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read the file twice: for the questions, then for the answers."""
    options.allow_columns(where, "task", *TASK_COLUMNS)
    name = options.columns.get("task", "id")
    certain, possible = questions((record for _, record in objects(source, where)), name)
    question, notes = choose_question(certain, possible, options, where)
    rows = RowBuilder()
    controls = {add(rows, record, question, name, at) for at, record in objects(source, where)}
    reread = lambda: (r for _, r in objects(source, where))  # noqa: E731
    return finish(rows, where, options, question, notes, reread, certain, controls)
