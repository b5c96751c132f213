"""Prodigy's JSONL: binary decisions (accept, reject) or choices among options."""

from __future__ import annotations

from typing import Any

from ...core.errors import DataError
from ..json.stream import objects
from ..sources import Source
from .base import NO_ANSWER, SKIPPED, SURE, Ask, Found, Guess, Head, Rows
from .cells import number, text, texts
from .marks import as_answer, is_span, mark_of
from .records import one_of

ANSWERS = ("accept", "reject", "ignore")
REFUSED = "rejected as a whole, which is no choice"


def sniff(head: Head) -> Guess | None:
    """Objects with `answer` and a hash."""
    for each in head.objects[:1]:
        if each.get("answer") in ANSWERS and ("_task_hash" in each or "_input_hash" in each):
            return Guess(SURE, "its objects have `answer` and `_task_hash` or `_input_hash`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a saved example; the questions are `binary`, `choice` and `spans`."""
    ask.only(where, "task", "worker")
    rows: dict[str, Rows] = {}
    for at, example in objects(source, where):
        if marks_text(example):
            _mark(rows.setdefault("spans", Rows("spans")), example, ask, at)
            continue
        choice = "options" in example or "accept" in example
        here = rows.setdefault("choice" if choice else "binary", Rows("classes"))
        _add(here, example, choice, ask, at)
    question = one_of(sorted(rows), ask.question, where)
    return rows[question].found(where, ask, question)


def marks_text(example: dict[str, Any]) -> bool:
    """Whether stretches of a text were marked by hand."""
    view = example.get("_view_id")
    return view in ("ner_manual", "spans_manual") or (view is None and isinstance(example.get("spans"), list))


def _mark(rows: Rows, example: dict[str, Any], ask: Ask, at: str) -> None:
    key = ask.columns.get("task", "_input_hash")
    task = text(example.get(key), key, at)
    rows.mention(task)
    if task is not None and isinstance(example.get("text"), str):
        rows.bare.texts[task] = example["text"]
    answer, spans = example.get("answer"), example.get("spans") or []
    if answer != "accept":
        rows.drop(SKIPPED if answer == "ignore" else REFUSED if answer == "reject" else NO_ANSWER)
        return
    if not isinstance(spans, list) or not all(is_span(each) for each in spans):
        raise DataError(f"{at}: spans is no list of objects with start and end; export it again")
    worker = _worker(example, ask, at)
    if worker:
        rows.sources[worker] = "human"
    rows.add(task, worker, [as_answer(mark_of(each) for each in spans)], time=number(example.get("_timestamp")))


def _worker(example: dict[str, Any], ask: Ask, at: str) -> str | None:
    name = ask.columns.get("worker")
    who = example.get(name) if name else example.get("_annotator_id", example.get("_session_id"))
    return text(who, "_annotator_id", at)


def _add(rows: Rows, example: dict[str, Any], choice: bool, ask: Ask, at: str) -> None:
    key = ask.columns.get("task", "_input_hash" if choice else "_task_hash")
    task = text(example.get(key), key, at)
    rows.mention(task)
    view = example.get("_view_id")
    if isinstance(view, str) and view.endswith("_manual"):
        raise DataError(f"{at}: {view} marks something else than text or classes, which is not supported yet")
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
    worker = _worker(example, ask, at)
    if worker:
        rows.sources[worker] = "human"
    rows.add(task, worker, labels, time=number(example.get("_timestamp")))
