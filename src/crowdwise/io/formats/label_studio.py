"""Label Studio's JSON export: tasks with annotations, each a list of results of named controls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...core import kind as kinds
from ...core.errors import DataError, ParameterError
from ...core.vocabulary import quote
from ..json.stream import objects
from ..sources import Source
from .base import NO_ANSWER, OF_TASKS, SKIPPED, SURE, TRUTH, Ask, Control, Found, Guess, Head, Item, Rows
from .cells import moment, number, text, texts
from .marks import as_answer, code_points
from .records import one_of
from .shapes import label_studio as shapes
from .shapes.drawn import Shapes

# type of a control -> the key of its value
CHOICES = {
    "choices": "choices",
    "rating": "rating",
    "number": "number",
    "taxonomy": "taxonomy",
    "textarea": "text",
    "pairwise": "selected",
    "ranker": "ranker",
}
# type of a control -> the kind of its answers
KINDS = {
    "rating": "numbers",
    "number": "numbers",
    "labels": "spans",
    "textarea": "texts",
    "pairwise": "comparisons",
    "ranker": "rankings",
    **shapes.CONTROLS,
}
# marks of stretches of a text
MARKS = "labels"
LISTS = ("annotations", "completions")  # the second is what old exports say
UNSUPPORTED: dict[str, str] = {}


def sniff(head: Head) -> Guess | None:
    """Objects with `data` and `annotations`."""
    if head.objects and all(isinstance(each.get("data"), dict) for each in head.objects):
        for name in (*LISTS, "predictions"):
            if any(isinstance(each.get(name), list) for each in head.objects):
                return Guess(SURE, f"its objects have `data` and `{name}`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row an annotation of the question; cancelled ones are skips, ground truths are gold."""
    ask.only(where, "task", *OF_TASKS)
    export = _Export(where, ask)
    for at, task in objects(source, where):
        export.task(task, at)
    found = export.found()
    found.items = lambda: _items(source, where, export)
    return found


def _items(source: Source, where: str, export: _Export) -> Iterator[Item]:
    for at, task in objects(source, where):
        name = export.task_name(task, at)
        if name is not None:
            yield Item(name, task.get("id"), _mapping(task.get("data"), at, "data"))


class _Export:
    """Rows of every question at once: which there are is known only at the end of the file."""

    def __init__(self, where: str, ask: Ask) -> None:
        self.where, self.ask = where, ask
        self.rows: dict[str, Rows] = {}
        self.others: dict[str, str] = {}
        self.tasks: dict[str, None] = {}
        self.emails: dict[str, str] = {}
        self.controls: dict[str, Control] = {}
        self.blank: list[tuple[str | None, str | None, float, float]] = []
        self.texts: dict[str, str] = {}
        self.answers = self.skips = self.truths = self.predictions = self.regions = 0

    def task(self, task: dict[str, Any], at: str) -> None:
        name = self.task_name(task, at)
        if name is not None:
            self.tasks[name] = None
        for annotation in _list(next((task[key] for key in LISTS if task.get(key)), None), at, "annotations"):
            annotation = _mapping(annotation, at, "an annotation")
            self._annotation(name, annotation, task.get("data"), at)
        predictions = _list(task.get("predictions"), at, "predictions")
        self.predictions += len(predictions)
        if self.ask.predictions:
            for each in predictions:
                self._prediction(name, _mapping(each, at, "a prediction"), task.get("data"), at)

    def task_name(self, task: dict[str, Any], at: str) -> str | None:
        """Its id, or the data field that --columns names."""
        column = self.ask.columns.get("task")
        if column is None:
            return text(task.get("id"), "the task's id", at)
        data = _mapping(task.get("data"), at, "data")
        if column not in data:
            raise DataError(f"{at}: the task's data has no {column!r}; it has {', '.join(map(repr, data))}")
        return text(data[column], column, at)

    def _annotation(self, task: str | None, annotation: dict[str, Any], data: Any, at: str) -> None:
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            self.skips += 1
            return
        answers = self._answers(task, annotation, data, at)
        if annotation.get("ground_truth"):
            self.truths += 1
            for question, labels in answers.items():
                if len(labels) == 1:
                    self._of(question).truth(task, labels[0], at)
                elif task is not None:
                    self._of(question).gold_sets.setdefault(task, labels)
            return
        self.answers += 1
        worker = self._worker(annotation.get("completed_by"), at)
        if not answers:
            self.blank.append((task, worker, moment(annotation.get("created_at")), number(annotation.get("lead_time"))))
        for question, labels in answers.items():
            self._of(question).add(
                task,
                worker,
                labels,
                time=moment(annotation.get("created_at")),
                duration=number(annotation.get("lead_time")),
                kind=self._kind(question),
            )
            if worker is not None:
                self._of(question).sources[worker] = "human"

    def _prediction(self, task: str | None, prediction: dict[str, Any], data: Any, at: str) -> None:
        self.answers += 1
        worker = f"model:{text(prediction.get('model_version'), 'model_version', at) or 'unnamed'}"
        for question, labels in self._answers(task, prediction, data, at).items():
            score = number(prediction.get("score"))
            self._of(question).add(task, worker, labels, confidence=score, kind=self._kind(question))
            self._of(question).sources[worker] = "model"

    def _of(self, question: str) -> Rows:
        return self.rows.setdefault(question, Rows())

    def _kind(self, question: str) -> str:
        return KINDS.get(self.controls[question].kind, "classes")

    def _worker(self, who: Any, at: str) -> str | None:
        """The id; where some annotation tells its email, that becomes the name (as Label Studio's own CSV has it)."""
        if not isinstance(who, dict):
            return text(who, "completed_by", at)
        number, email = text(who.get("id"), "completed_by", at), text(who.get("email"), "completed_by", at)
        if number is not None and email and self.emails.setdefault(number, email) != email:
            both = quote([self.emails[number], email])
            raise DataError(f"{at}: the user {number!r} has two emails, {both}; are these exports of two servers?")
        return number if number is not None else email or None

    def _answers(self, task: str | None, annotation: dict[str, Any], data: Any, at: str) -> dict[str, list[str]]:
        """question -> labels, of results that are about the task as a whole; marks of text as one label."""
        answers: dict[str, list[str]] = {}
        marks: dict[str, list[list[Any]]] = {}
        drawn: dict[str, Shapes] = {}
        for result in _list(annotation.get("result"), at, "result"):
            result = _mapping(result, at, "a result")
            kind, question = result.get("type"), result.get("from_name")
            if not isinstance(kind, str) or not isinstance(question, str):
                continue
            value = _mapping(result.get("value"), at, "value")
            if kind in UNSUPPORTED:
                self.others[question] = kind
            elif kind == MARKS and "start" in value and "end" in value:
                to = result.get("to_name")
                self.controls[question] = Control(question, to if isinstance(to, str) else "text", kind)
                marks.setdefault(question, []).extend(self._marks(task, value, data))
            elif kind in shapes.CONTROLS:
                to = result.get("to_name")
                self.controls[question] = Control(question, to if isinstance(to, str) else "image", kind)
                shapes.take(drawn.setdefault(question, Shapes()), result, value, at)
            elif kind in CHOICES:
                if set(value) - {CHOICES[kind]} or "item_index" in result or "parentID" in result:
                    self.regions += 1  # said of a part of the task: a box, a stretch of text, one item of many
                else:
                    to = result.get("to_name")
                    joined = self.ask.multiple == "join"
                    self.controls[question] = Control(question, to if isinstance(to, str) else "text", kind, joined)
                    answers.setdefault(question, []).extend(labels(kind, value, question, at))
        for question, each in drawn.items():
            asked = self.ask.kind if self.ask.kind in shapes.CONTROLS.values() else None
            answers[question] = [each.text(asked or self._kind(question))]
        return answers | {question: [as_answer(found)] for question, found in marks.items()}

    def _marks(self, task: str | None, value: dict[str, Any], data: Any) -> list[list[Any]]:
        """A stretch of the text in code points, once for each of its labels."""
        offsets = value.get("globalOffsets")
        start, end = (offsets if isinstance(offsets, dict) else value).get("start"), value.get("end")
        end = offsets.get("end") if isinstance(offsets, dict) else end
        shown = _text_of(data)
        if shown is not None and task is not None:
            self.texts[task] = shown
        if type(start) is int and type(end) is int:
            said = value.get("text")
            start, end = code_points(shown, start, end, said if isinstance(said, str) else None)
        tags = value.get(MARKS)
        return [[start, end, tag] for tag in (tags if isinstance(tags, list) and tags else [""])]

    def found(self) -> Found:
        question = self._question()
        rows, total = self._of(question), self.answers
        if kinds.get(self._kind(question)).blank is not None:
            for task, worker, time, duration in self.blank:
                rows.bare.add(task, worker, time, duration)
            total -= len(self.blank)
            rows.bare.texts = self.texts
        for reason, n in ((SKIPPED, self.skips), (TRUTH, self.truths), (NO_ANSWER, total - len(rows))):
            if n:
                rows.drop(reason, n)
        for task in self.tasks:
            rows.mention(task)
        rows.rename_workers(self.emails)
        notes: tuple[str, ...] = ()
        if self.predictions and not self.ask.predictions:
            notes += (
                f"{self.predictions:,} predictions of models are left aside; --predictions takes them as workers",
            )
        if self.regions:
            notes += (f"{self.regions:,} labels of regions or items, not of whole tasks, are left aside",)
        found = rows.found(self.where, self.ask, question, notes)
        found.control = self.controls.get(question)
        return found

    def _question(self) -> str:
        asked = self.ask.question
        unsupported = {q: kind for q, kind in self.others.items() if q not in self.rows}
        blamed = asked if asked in unsupported else next(iter(unsupported), None) if not self.rows else None
        if blamed is not None:
            raise ParameterError(f"{self.where}: question {blamed!r} {UNSUPPORTED[unsupported[blamed]]}")
        if not self.rows:
            why = "every annotation was skipped" if self.skips and not self.answers else "no annotation has a choice"
            raise DataError(f"{self.where}: {why}; is it the right file?")
        # A box for a remark beside another question is not what was asked, unless somebody says so.
        real = [q for q in self.rows if self.controls[q].kind != "textarea"]
        return one_of(sorted(real if real and asked not in self.rows else self.rows), asked, self.where)


def labels(kind: str, value: dict[str, Any], question: str, at: str) -> list[str]:
    """What a result says, as labels; of a taxonomy's paths those that lead on to another are left out."""
    said = value.get(CHOICES[kind])
    if kind == "textarea":
        lines = texts(said, question, at)
        return ["\n".join(lines)] if lines else []
    if kind == "ranker":
        return [ranking_of(said, question, at)]
    if kind != "taxonomy":
        return list(dict.fromkeys(texts(said, question, at)))
    if not isinstance(said, list) or not all(isinstance(path, list) for path in said):
        raise DataError(f"{at}: {question} is no list of paths; is it a taxonomy?")
    paths = [tuple(texts(path, question, at)) for path in said]
    ends = [p for p in paths if p and not any(q != p and q[: len(p)] == p for q in paths)]
    return list(dict.fromkeys(" / ".join(path) for path in ends))


def _text_of(data: Any) -> str | None:
    """The text that was shown: the field `text`, or the only field that is text."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("text"), str):
        return str(data["text"])
    texts_ = [value for value in data.values() if isinstance(value, str)]
    return texts_[0] if len(texts_) == 1 else None


def ranking_of(said: Any, question: str, at: str) -> str:
    """An order of items, best first, as JSON: a list, or one list under the name of its bucket."""
    if isinstance(said, dict) and len(said) == 1:
        said = next(iter(said.values()))
    if not isinstance(said, list):
        raise DataError(f"{at}: {question} is no list of items in an order; several buckets are not supported")
    return json.dumps(texts(said, question, at), ensure_ascii=False)


def _mapping(value: Any, at: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{at}: {what} is {str(value)[:40]!r} where an object {{...}} is needed; export it again")
    return value


def _list(value: Any, at: str, what: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise DataError(f"{at}: {what} is {str(value)[:40]!r} where a list [...] is needed; export it again")
