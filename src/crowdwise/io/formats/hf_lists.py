"""Data sets with a row a task, a list of labels and a list of the annotators who gave them."""

from __future__ import annotations

from typing import Any

from ...core.errors import DataError
from ...core.vocabulary import quote
from ..sources import Source
from .base import LIKELY, NO_ANSWER, Ask, Found, Guess, Head, Rows
from .cells import text
from .records import records

LABELS = ("annotations", "labels", "label", "annotation", "responses", "votes", "judgments", "answers", "ratings",
          "scores", "values")  # fmt: skip
WORKERS = ("annotators", "annotator_ids", "annotator_id", "annotator", "workers", "worker_ids", "worker", "worker_id",
           "users", "user_ids", "raters", "rater_ids")  # fmt: skip
TASKS = ("task", "task_id", "id", "item", "item_id", "idx", "uid", "example_id")


def sniff(head: Head) -> Guess | None:
    """A list of labels beside a list of annotators."""
    for each in head.objects[:1]:
        labels, workers = _lists(each, LABELS), _lists(each, WORKERS)
        if labels and workers:
            return Guess(LIKELY, f"its rows have the lists `{labels[0]}` and `{workers[0]}`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a label of a task's list."""
    ask.only(where, "task", "worker", "label")
    rows, chosen, unnamed = Rows(), dict[str, str](), 0
    for at, record in records(source, where):
        chosen = chosen or _choose(record, ask, where)
        labels, workers = record.get(chosen["label"]), record.get(chosen["worker"])
        task = text(record.get(chosen["task"]), chosen["task"], at) if "task" in chosen else str(unnamed)
        unnamed += 1
        rows.mention(task)
        if labels is None and workers is None:
            continue
        if not isinstance(labels, list) or not isinstance(workers, list) or len(labels) != len(workers):
            raise DataError(f"{at}: {chosen['label']} and {chosen['worker']} are not lists of one length; correct it")
        for label, who in zip(labels, workers, strict=True):
            said, worker = text(label, chosen["label"], at), text(who, chosen["worker"], at)
            if said is None or not said.strip():
                rows.drop(NO_ANSWER)
            else:
                rows.add(task, worker, [said])
    if not chosen:
        raise DataError(f"{where} has no rows; is it the right file?")
    notes = tuple(f"{role} is read from {name!r}" for role, name in chosen.items())
    if "task" not in chosen:
        notes += ("tasks are numbered from 0 by their place in the file",)
    return rows.found(where, ask, chosen["label"], notes)


def _lists(record: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if isinstance(record.get(name), list)]


def _choose(record: dict[str, Any], ask: Ask, where: str) -> dict[str, str]:
    chosen = dict(ask.columns)
    for role, names in (("label", LABELS), ("worker", WORKERS)):
        found = [role_name] if (role_name := chosen.get(role)) else _lists(record, names)
        if role == "label" and ask.question is not None and role not in chosen:
            found = [ask.question]
        if len(found) != 1:
            has = f"could be {quote(found, 8)}" if found else f"is not among {quote(list(record), 8)}"
            raise DataError(f"{where}: the list of {role}s {has}; name it: --columns {role}=NAME")
        if found[0] not in record:
            raise DataError(f"{where} has no {found[0]!r} for the {role}s; it has {quote(list(record), 8)}")
        chosen[role] = found[0]
    task = chosen.get("task") or next((name for name in TASKS if name in record), None)
    if task is not None:
        chosen["task"] = task
    return chosen
