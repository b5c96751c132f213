"""Mechanical Turk's batch results: a row an assignment, `Input.*` what was shown, `Answer.*` what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.vocabulary import quote
from ..csv.file import open_csv
from ..json.text import loads
from ..sources import Source
from .base import NO_ANSWER, REJECTED, SURE, Ask, Found, Guess, Head, Rows
from .cells import moment, number
from .records import one_of

ANSWER, JSON = "Answer.", "Answer.taskAnswers"
WORKERS = ("WorkerId", "Turkle.Username")
ABOUT = ("HITId", "AssignmentId", "AssignmentStatus", "RejectionTime", "SubmitTime", "WorkTimeInSeconds")
_TRUE = ("true", "1", "on", "yes", "selected")
Row = dict[str, str | None]


def sniff(head: Head) -> Guess | None:
    """Columns HITId and WorkerId (old files: #HITId)."""
    names = {name.lstrip("#") for name in head.header}
    if head.kind == "table" and "HITId" in names and names & set(WORKERS):
        return Guess(SURE, "it has the columns `HITId` and `WorkerId`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row an assignment, or with {i} in --question one row an item of it."""
    ask.only(where, "task", "worker")
    table = open_csv(source, where, "csv")
    header = [name.lstrip("#") for name in table.header]
    worker = ask.columns.get("worker", next((n for n in WORKERS if n in header), "WorkerId"))
    task = ask.columns.get("task", "HITId")
    reader = _Answers(header, where, ask, task, worker)
    inputs = [name for name in header if name.startswith("Input.")]
    lone = inputs if len(inputs) == 1 and "task" not in ask.columns else []
    wanted = {worker, *ABOUT, *lone, *(column for column, _, _ in reader.items)}
    taken = [i for i, name in enumerate(header) if name in wanted or name.startswith(ANSWER)]
    frame = table.read([table.header[i] for i in taken])
    frame.columns = [header[i] for i in taken]
    rejected, rows = 0, Rows()
    for row in frame.iter_rows(named=True):
        if not any(row.values()):
            rows.drop(BLANK)
            continue
        refused = (row.get("AssignmentStatus") or "").strip().lower() == "rejected" or bool(row.get("RejectionTime"))
        rejected += refused
        reader.row(row, rows, dropped=REJECTED if refused and ask.rejected == "drop" else None)
    notes = table.notes + reader.notes
    if rejected and ask.rejected == "keep":
        notes += (f"{rejected:,} assignments were rejected by the requester and are kept; --rejected drop drops them",)
    if lone and frame[lone[0]].n_unique() < frame["HITId"].n_unique():
        notes += (f"some items were published under several HITIds; --columns task={lone[0]} joins them",)
    return rows.found(where, ask, reader.question, notes)


class _Answers:
    """Where the answer to the question stands in a row."""

    def __init__(self, header: list[str], where: str, ask: Ask, task: str, worker: str) -> None:
        self.where, self.task, self.worker = where, task, worker
        self.notes: tuple[str, ...] = ()
        questions: dict[str, list[str]] = {}
        for name in header:
            if name.startswith(ANSWER) and name != JSON:
                questions.setdefault(name.removeprefix(ANSWER).partition(".")[0], []).append(name)
        self.json = JSON in header
        asked = None if ask.question is None else ask.question.removeprefix(ANSWER)
        self.asked, self.question = asked, asked or ""
        for column in (worker, *([] if "{i}" in task else [task])):
            if column not in header:
                raise DataError(f"{where} has no column {column!r}; it has {quote(header, 8)}")
        if asked is not None and "{i}" in asked:
            self.items = self._items(header, questions, asked)
            return
        if "{i}" in task:
            raise DataError(f"{where}: --columns task={task} needs a --question with {{i}} too")
        if not self.json:
            self.question = one_of(sorted(questions), asked, where)
        self.items = [(task, questions.get(self.question, []), "")]

    def _items(
        self, header: list[str], questions: dict[str, list[str]], asked: str
    ) -> list[tuple[str, list[str], str]]:
        """(task column, answer columns, number) of each item in a HIT."""
        pattern = re.compile(re.escape(asked).replace(re.escape("{i}"), r"(\d+)"))
        found = sorted((int(m[1]), m[1], m[0]) for m in map(pattern.fullmatch, questions) if m)
        if not found:
            raise DataError(f"{self.where} has no answers like {asked!r}; it has {quote(sorted(questions), 8)}")
        items = []
        for _, digits, question in found:
            column = self.task.replace("{i}", digits)
            if column not in header:
                raise DataError(f"{self.where} has no column {column!r} for the task of {question!r}")
            items.append((column, questions[question], "" if "{i}" in self.task else digits))
        if "{i}" not in self.task:
            self.notes = (f"a task is a {self.task} and the item's number; --columns task=Input.NAME{{i}} names it",)
        return items

    def row(self, row: Row, rows: Rows, dropped: str | None) -> None:
        """Add the answers of one assignment."""
        took = number(row.get("WorkTimeInSeconds")) / len(self.items)
        for column, columns, digits in self.items:
            task = row.get(column)
            task = f"{task}/{digits}" if digits and task else task
            rows.mention(task)
            labels = self._from_json(row) if self.json else _said(row, columns)
            if dropped or not labels:
                rows.drop(dropped or NO_ANSWER)
                continue
            if row.get(self.worker):
                rows.sources[str(row[self.worker])] = "human"
            rows.add(task, row.get(self.worker), labels, time=moment(row.get("SubmitTime")), duration=took)

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
        self.question = one_of(sorted(value), self.asked, at)
        flat = dict(_flat(value[self.question], f"{ANSWER}{self.question}"))
        return _said(flat, list(flat))


def _flat(value: Any, name: str) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}")
    else:
        yield name, value if isinstance(value, str | None) else json.dumps(value)


def _said(row: Row, columns: list[str]) -> list[str]:
    """The labels in a question's columns: one of text, or one a choice that says true or false."""
    flags = [name for name in columns if name.count(".") >= 2 and not name.endswith(".label")]
    if flags:
        chosen = [name.split(".", 2)[2] for name in flags if (row.get(name) or "").strip().lower() in _TRUE]
        strange = [row[n] for n in flags if (row.get(n) or "").strip().lower() not in (*_TRUE, "", "false", "0", "off")]
        return chosen if not strange else [str(each) for each in strange]
    said = "|".join(filter(None, (row.get(name) for name in columns)))
    return [part.strip() for part in said.split("|") if part.strip()]
