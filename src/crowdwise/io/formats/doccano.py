"""doccano's ZIP: one JSONL file per user, named after the user."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..archives import members
from ..json.stream import objects
from ..sources import Source, printable
from .base import LIKELY, NO_ANSWER, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import text, texts
from .marks import as_answer, is_span, mark_of

ENDINGS = (".jsonl", ".json")
LABELS = ("label", "labels", "cats", "entities")  # by version


def sniff(head: FileHead) -> FormatMatch | None:
    """Match an archive of JSONL files only."""
    all_jsonl = bool(head.members) and all(name.endswith(".jsonl") for name in head.members)
    labelled = head.inner is None or ("id" in head.inner and any(key in head.inner for key in LABELS))
    if all_jsonl and labelled:
        return FormatMatch(LIKELY, "it is an archive of JSONL files, one a user")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per example of each user's file."""
    options.allow_columns(where, "task")
    rows, n_files = RowBuilder(), 0
    for name, content in members(source, where, ENDINGS):
        worker, inside = PurePosixPath(name).stem, f"{where}: {printable(name)}"
        if worker == "all":
            raise DataError(
                f"{inside} holds everybody's labels in one; in doccano do not share annotations among users"
            )
        rows.sources[worker] = "human"
        n_files += 1
        for at, example in objects(content, inside):
            _add(rows, example, worker, options, at)
    if not n_files:
        raise DataError(f"{where} holds no .jsonl file; is it doccano's export?")
    return rows.finish(where, options, "label")


def _add(rows: RowBuilder, example: dict[str, Any], worker: str, options: ReadOptions, at: str) -> None:
    name = options.columns.get("task", "id")
    task = text(example.get(name), name, at)
    rows.mention(task)
    answer = next((example[key] for key in LABELS if key in example), None)
    if isinstance(answer, list) and answer and all(is_span(mark) for mark in answer):
        rows.add(task, worker, [as_answer(mark_of(mark) for mark in answer)], kind="spans")
        if task is not None and isinstance(example.get("text"), str):
            rows.texts[task] = example["text"]
        return
    labels = texts(answer, "label", at)
    if labels:
        rows.add(task, worker, labels, kind="classes")
    elif answer == []:
        rows.add_empty(task, worker)
    else:
        rows.drop(NO_ANSWER)
