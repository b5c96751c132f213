"""Prodigy's JSONL: binary decisions (accept, reject) or choices among options."""

from __future__ import annotations

from typing import Any

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..json.stream import objects
from ..sources import Source
from .base import NO_ANSWER, SKIPPED, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import number, text, texts
from .marks import as_answer, is_span, mark_of
from .records import one_of

ANSWERS = ("accept", "reject", "ignore")
REFUSED = "rejected as a whole, which is not a choice"


def sniff(head: FileHead) -> FormatMatch | None:
    """Match objects with `answer` and a hash."""
    for record in head.objects[:1]:
        if record.get("answer") in ANSWERS and ("_task_hash" in record or "_input_hash" in record):
            return FormatMatch(SURE, "its objects have `answer` and `_task_hash` or `_input_hash`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per saved example; the questions are `binary`, `choice` and `spans`."""
    options.allow_columns(where, "task", "worker")
    rows: dict[str, RowBuilder] = {}
    for at, example in objects(source, where):
        if marks_text(example):
            _mark(rows.setdefault("spans", RowBuilder("spans")), example, options, at)
            continue
        choice = "options" in example or "accept" in example
        question_rows = rows.setdefault("choice" if choice else "binary", RowBuilder("classes"))
        _add(question_rows, example, choice, options, at)
    question = one_of(sorted(rows), options.question, where)
    return rows[question].finish(where, options, question)


def marks_text(example: dict[str, Any]) -> bool:
    """Whether spans of text were marked by hand."""
    view = example.get("_view_id")
    return view in ("ner_manual", "spans_manual") or (view is None and isinstance(example.get("spans"), list))


def _mark(rows: RowBuilder, example: dict[str, Any], options: ReadOptions, at: str) -> None:
    key = options.columns.get("task", "_input_hash")
    task = text(example.get(key), key, at)
    rows.mention(task)
    if task is not None and isinstance(example.get("text"), str):
        rows.texts[task] = example["text"]
    answer, spans = example.get("answer"), example.get("spans") or []
    if answer != "accept":
        rows.drop(SKIPPED if answer == "ignore" else REFUSED if answer == "reject" else NO_ANSWER)
        return
    if not isinstance(spans, list) or not all(is_span(span) for span in spans):
        raise DataError(f"{at}: spans is not a list of objects with start and end; export it again")
    answers = [as_answer(mark_of(span) for span in spans)]
    rows.add(task, _worker(example, options, at), answers, time=number(example.get("_timestamp")), source="human")


def _worker(example: dict[str, Any], options: ReadOptions, at: str) -> str | None:
    name = options.columns.get("worker")
    value = example.get(name) if name else example.get("_annotator_id", example.get("_session_id"))
    return text(value, "_annotator_id", at)


def _add(rows: RowBuilder, example: dict[str, Any], choice: bool, options: ReadOptions, at: str) -> None:
    key = options.columns.get("task", "_input_hash" if choice else "_task_hash")
    task = text(example.get(key), key, at)
    rows.mention(task)
    view = example.get("_view_id")
    if isinstance(view, str) and view.endswith("_manual"):
        raise DataError(f"{at}: {view} marks something other than text or classes, which is not supported yet")
    answer = text(example.get("answer"), "answer", at)
    if answer == "ignore":
        rows.drop(SKIPPED)
        return
    if answer not in ANSWERS:
        rows.drop(NO_ANSWER)
        return
    if choice and answer == "reject":
        rows.drop(REFUSED)
        return
    labels = texts(example.get("accept") or [], "accept", at) if choice else [str(answer)]
    if not labels:
        rows.drop(NO_ANSWER)
        return
    rows.add(task, _worker(example, options, at), labels, time=number(example.get("_timestamp")), source="human")
