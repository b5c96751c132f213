"""Mechanical Turk's batch results: one row per assignment, `Input.*` for inputs, `Answer.*` for answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..csv.file import open_csv
from ..json.text import loads
from ..sources import Source
from .base import NO_ANSWER, REJECTED, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import moment, number
from .records import one_of

ANSWER, JSON = "Answer.", "Answer.taskAnswers"
WORKERS = ("WorkerId", "Turkle.Username")
ABOUT = ("HITId", "AssignmentId", "AssignmentStatus", "RejectionTime", "SubmitTime", "WorkTimeInSeconds")
_TRUE = ("true", "1", "on", "yes", "selected")
Row = dict[str, str | None]


def sniff(head: FileHead) -> FormatMatch | None:
    """Match the columns HITId and WorkerId (old files: #HITId)."""
    names = {name.lstrip("#") for name in head.header}
    if "HITId" in names and names & set(WORKERS):
        return FormatMatch(SURE, "it has the columns `HITId` and `WorkerId`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per assignment, or, with {i} in --question, one row per item of it."""
    options.allow_columns(where, "task", "worker")
    table = open_csv(source, where, "csv")
    header = [name.lstrip("#") for name in table.header]
    worker = options.columns.get("worker", next((n for n in WORKERS if n in header), "WorkerId"))
    task = options.columns.get("task", "HITId")
    reader = _Answers(header, where, options, task, worker)
    inputs = [name for name in header if name.startswith("Input.")]
    only_input = inputs if len(inputs) == 1 and "task" not in options.columns else []
    needed = {worker, *ABOUT, *only_input, *(column for column, _, _ in reader.items)}
    taken = [i for i, name in enumerate(header) if name in needed or name.startswith(ANSWER)]
    frame = table.read([table.header[i] for i in taken])
    frame.columns = [header[i] for i in taken]
    rejected, rows = 0, RowBuilder()
    for row in frame.iter_rows(named=True):
        if not any(row.values()):
            rows.drop(BLANK)
            continue
        is_rejected = (row.get("AssignmentStatus") or "").strip().lower() == "rejected" or bool(
            row.get("RejectionTime")
        )
        rejected += is_rejected
        reader.row(row, rows, dropped=REJECTED if is_rejected and options.rejected == "drop" else None)
    notes = table.notes + reader.notes
    if rejected and options.rejected == "keep":
        notes += (f"{rejected:,} assignments were rejected by the requester and are kept; --rejected drop drops them",)
    if only_input and frame[only_input[0]].n_unique() < frame["HITId"].n_unique():
        notes += (f"some items were published under several HITIds; --columns task={only_input[0]} joins them",)
    return rows.finish(where, options, reader.question, notes)


class _Answers:
    """Locates the answer to the question in a row."""

    def __init__(self, header: list[str], where: str, options: ReadOptions, task: str, worker: str) -> None:
        self.where, self.task, self.worker = where, task, worker
        self.notes: tuple[str, ...] = ()
        questions: dict[str, list[str]] = {}
        for name in header:
            if name.startswith(ANSWER) and name != JSON:
                questions.setdefault(name.removeprefix(ANSWER).partition(".")[0], []).append(name)
        self.json = JSON in header
        pattern = None if options.question is None else options.question.removeprefix(ANSWER)
        self.requested, self.question = pattern, pattern or ""
        for column in (worker, *([] if "{i}" in task else [task])):
            if column not in header:
                raise DataError(f"{where} has no column {column!r}; it has {quote(header, 8)}")
        if pattern is not None and "{i}" in pattern:
            self.items = self._items(header, questions, pattern)
            return
        if "{i}" in task:
            raise DataError(f"{where}: --columns task={task} needs a --question with {{i}} too")
        if not self.json:
            self.question = one_of(sorted(questions), pattern, where)
        self.items = [(task, questions.get(self.question, []), "")]

    def _items(
        self, header: list[str], questions: dict[str, list[str]], question_pattern: str
    ) -> list[tuple[str, list[str], str]]:
        """Return (task column, answer columns, number) of each item in a HIT."""
        pattern = re.compile(re.escape(question_pattern).replace(re.escape("{i}"), r"(\d+)"))
        matches = sorted((int(m[1]), m[1], m[0]) for m in map(pattern.fullmatch, questions) if m)
        if not matches:
            raise DataError(
                f"{self.where} has no answers like {question_pattern!r}; it has {quote(sorted(questions), 8)}"
            )
        items = []
        for _, digits, question in matches:
            column = self.task.replace("{i}", digits)
            if column not in header:
                raise DataError(f"{self.where} has no column {column!r} for the task of {question!r}")
            items.append((column, questions[question], "" if "{i}" in self.task else digits))
        if "{i}" not in self.task:
            self.notes = (f"a task is a {self.task} and the item's number; --columns task=Input.NAME{{i}} names it",)
        return items

    def row(self, row: Row, rows: RowBuilder, dropped: str | None) -> None:
        """Add the answers of one assignment."""
        duration = number(row.get("WorkTimeInSeconds")) / len(self.items)
        for column, columns, digits in self.items:
            task = row.get(column)
            task = f"{task}/{digits}" if digits and task else task
            rows.mention(task)
            labels = self._from_json(row) if self.json else _labels_of(row, columns)
            if dropped or not labels:
                rows.drop(dropped or NO_ANSWER)
                continue
            time = moment(row.get("SubmitTime"))
            rows.add(task, row.get(self.worker), labels, time=time, duration=duration, source="human")

    def _from_json(self, row: Row) -> list[str]:
        at = f"{self.where}, assignment {row.get('AssignmentId')}"
        try:
            value: Any = loads(row.get(JSON) or "{}")
        except (ValueError, RecursionError):
            raise DataError(f"{at}: {JSON} is not JSON; download the results again") from None
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, dict):
            raise DataError(f"{at}: {JSON} holds no answers; download the results again")
        if not value:
            return []
        self.question = one_of(sorted(value), self.requested, at)
        flat = dict(_flat(value[self.question], f"{ANSWER}{self.question}"))
        return _labels_of(flat, list(flat))


def _flat(value: Any, name: str) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}")
    else:
        yield name, value if isinstance(value, str | None) else json.dumps(value)


def _labels_of(row: Row, columns: list[str]) -> list[str]:
    """Return the labels in a question's columns: one column of text, or one true/false column per choice."""
    flags = [name for name in columns if name.count(".") >= 2 and not name.endswith(".label")]
    if flags:
        chosen = [name.split(".", 2)[2] for name in flags if (row.get(name) or "").strip().lower() in _TRUE]
        unknown = [row[n] for n in flags if (row.get(n) or "").strip().lower() not in (*_TRUE, "", "false", "0", "off")]
        return chosen if not unknown else [str(value) for value in unknown]
    text = "|".join(filter(None, (row.get(name) for name in columns)))
    return [part.strip() for part in text.split("|") if part.strip()]
