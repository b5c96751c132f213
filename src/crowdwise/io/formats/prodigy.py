"""Prodigy's JSONL: binary decisions (accept, reject) or choices among options."""

from __future__ import annotations

from typing import Any

from ...core.errors import DataError
from ..json.stream import objects
from ..sources import Source
from .base import NO_ANSWER, SKIPPED, SURE, Ask, Found, Guess, Head, Rows
from .cells import number, text, texts
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
    """One row a saved example; the questions are `binary` and `choice`."""
    ask.only(where, "task", "worker")
    rows: dict[str, Rows] = {}
    for at, example in objects(source, where):
        choice = "options" in example or "accept" in example
        here = rows.setdefault("choice" if choice else "binary", Rows("classes"))
        _add(here, example, choice, ask, at)
    question = one_of(sorted(rows), ask.question, where)
    return rows[question].found(where, ask, question)


def _add(rows: Rows, example: dict[str, Any], choice: bool, ask: Ask, at: str) -> None:
    key = ask.columns.get("task", "_input_hash" if choice else "_task_hash")
    task = text(example.get(key), key, at)
    rows.mention(task)
    view = example.get("_view_id")
    if isinstance(view, str) and view.endswith("_manual"):
        raise DataError(f"{at}: {view} marks spans or boxes, not classes of the whole; that is not supported yet")
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
    name = ask.columns.get("worker")
    who = example.get(name) if name else example.get("_annotator_id", example.get("_session_id"))
    worker = text(who, "_annotator_id", at)
    if worker:
        rows.sources[worker] = "human"
    rows.add(task, worker, labels, time=number(example.get("_timestamp")))
