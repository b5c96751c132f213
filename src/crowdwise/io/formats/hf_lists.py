"""Data sets with one row per task, a list of labels and a list of the annotators who gave them."""

from __future__ import annotations

from typing import Any

from ...core.errors import DataError
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..sources import Source
from .base import LIKELY, NO_ANSWER, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import text
from .records import records

LABELS = ("annotations", "labels", "label", "annotation", "responses", "votes", "judgments", "answers", "ratings",
          "scores", "values")  # fmt: skip
WORKERS = ("annotators", "annotator_ids", "annotator_id", "annotator", "workers", "worker_ids", "worker", "worker_id",
           "users", "user_ids", "raters", "rater_ids")  # fmt: skip
TASKS = ("task", "task_id", "id", "item", "item_id", "idx", "uid", "example_id")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match a list of labels beside a list of annotators."""
    for record in head.objects[:1]:
        labels, workers = _lists(record, LABELS), _lists(record, WORKERS)
        if labels and workers:
            return FormatMatch(LIKELY, f"its rows have the lists `{labels[0]}` and `{workers[0]}`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per label of each task's list."""
    options.allow_columns(where, "task", "worker", "label")
    rows, chosen, unnamed = RowBuilder(), dict[str, str](), 0
    for at, record in records(source, where):
        chosen = chosen or _choose(record, options, where)
        labels, workers = record.get(chosen["label"]), record.get(chosen["worker"])
        task = text(record.get(chosen["task"]), chosen["task"], at) if "task" in chosen else str(unnamed)
        unnamed += 1
        rows.mention(task)
        if labels is None and workers is None:
            continue
        if not isinstance(labels, list) or not isinstance(workers, list) or len(labels) != len(workers):
            raise DataError(
                f"{at}: {chosen['label']} and {chosen['worker']} are not lists of the same length; correct it"
            )
        for label, annotator in zip(labels, workers, strict=True):
            answer, worker = text(label, chosen["label"], at), text(annotator, chosen["worker"], at)
            if answer is None or not answer.strip():
                rows.drop(NO_ANSWER)
            else:
                rows.add(task, worker, [answer])
    if not chosen:
        raise DataError(f"{where} has no rows; is it the right file?")
    notes = tuple(f"{role} is read from {name!r}" for role, name in chosen.items())
    if "task" not in chosen:
        notes += ("tasks are numbered from 0 by their place in the file",)
    return rows.finish(where, options, chosen["label"], notes)


def _lists(record: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if isinstance(record.get(name), list)]


def _choose(record: dict[str, Any], options: ReadOptions, where: str) -> dict[str, str]:
    chosen = dict(options.columns)
    for role, names in (("label", LABELS), ("worker", WORKERS)):
        candidates = [role_name] if (role_name := chosen.get(role)) else _lists(record, names)
        if role == "label" and options.question is not None and role not in chosen:
            candidates = [options.question]
        if len(candidates) != 1:
            has = f"could be {quote(candidates, 8)}" if candidates else f"is not among {quote(list(record), 8)}"
            raise DataError(f"{where}: the list of {role}s {has}; name it: --columns {role}=NAME")
        if candidates[0] not in record:
            raise DataError(f"{where} has no {candidates[0]!r} for the {role}s; it has {quote(list(record), 8)}")
        chosen[role] = candidates[0]
    task = chosen.get("task") or next((name for name in TASKS if name in record), None)
    if task is not None:
        chosen["task"] = task
    return chosen
