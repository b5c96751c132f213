"""Label Studio's JSON_MIN export: one object per annotation."""

from __future__ import annotations

from ...core.options import ReadOptions
from ..json.stream import objects
from ..sources import Source
from .base import SURE, TASK_COLUMNS, FileHead, FormatMatch, ParsedFile
from .label_studio_flat import read_records


def sniff(head: FileHead) -> FormatMatch | None:
    """Match objects with `annotation_id`, `annotator` and `lead_time`."""
    if head.objects and {"annotation_id", "annotator", "lead_time"} <= set(head.objects[0]):
        return FormatMatch(SURE, "its objects have `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per annotation."""
    options.allow_columns(where, "task", *TASK_COLUMNS)
    return read_records(lambda: objects(source, where), where, options)
