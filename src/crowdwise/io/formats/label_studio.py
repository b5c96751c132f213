"""Label Studio's JSON export: tasks with annotations, each a list of results of named controls."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from sys import intern
from typing import Any

import polars as pl

from ...core import kind as kinds
from ...core.errors import DataError
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..json.stream import objects
from ..sources import Source
from .base import (
    NO_ANSWER,
    SKIPPED,
    SURE,
    TASK_COLUMNS,
    TRUTH,
    Control,
    FileHead,
    FormatMatch,
    ParsedFile,
    RowBuilder,
    TaskItem,
)
from .cells import moment, number, text, texts
from .marks import as_answer, code_points
from .records import one_of
from .shapes import BOXES, OUTLINES, Shapes, corners_of, numbers

# type of control -> key of its value
CHOICES = {
    "choices": "choices",
    "rating": "rating",
    "number": "number",
    "taxonomy": "taxonomy",
    "textarea": "text",
    "pairwise": "selected",
    "ranker": "ranker",
}
# type of drawn control -> kind of its answers
DRAWN = {
    "rectanglelabels": BOXES,
    "rectangle": BOXES,
    "polygonlabels": OUTLINES,
    "polygon": OUTLINES,
}
# type of control -> kind of its answers
KINDS = {
    "rating": "numbers",
    "number": "numbers",
    "labels": "spans",
    "textarea": "texts",
    "pairwise": "comparisons",
    "ranker": "rankings",
    **DRAWN,
}
# controls that tick any number of choices: an annotation without a tick holds no result
LISTED = ("choices", "taxonomy")
# spans of text
MARKS = "labels"
# Longest text of a task's data that votes carry for display.
SHOWN = 240
LISTS = ("annotations", "completions")  # the second is used by old exports


def sniff(head: FileHead) -> FormatMatch | None:
    """Match objects with `data` and `annotations`."""
    if head.objects and all(isinstance(task.get("data"), dict) for task in head.objects):
        for name in (*LISTS, "predictions"):
            if any(isinstance(task.get(name), list) for task in head.objects):
                return FormatMatch(SURE, f"its objects have `data` and `{name}`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per annotation of the question; cancelled ones are skips, ground truths are gold."""
    options.allow_columns(where, "task", *TASK_COLUMNS)
    export = _Export(where, options)
    for at, task in objects(source, where):
        export.task(task, at)
    result = export.finish()
    result.items = lambda: _items(source, where, export)
    return result


def _items(source: Source, where: str, export: _Export) -> Iterator[TaskItem]:
    for at, task in objects(source, where):
        name = export.task_name(task, at)
        if name is not None:
            yield TaskItem(name, task.get("id"), _mapping(task.get("data"), at, "data"))


class _Submitted:
    """Annotations that are no skips, in little memory: task, worker, time, duration, questions that are answered."""

    def __init__(self) -> None:
        self.names: dict[str | None, int] = {}
        self.questions: dict[frozenset[str], int] = {}
        self.codes = array("i")
        self.numbers = array("d")

    def add(self, task: str | None, worker: str | None, time: float, duration: float, answered: frozenset[str]) -> None:
        codes = [self.names.setdefault(name, len(self.names)) for name in (task, worker)]
        self.codes.extend([*codes, self.questions.setdefault(answered, len(self.questions))])
        self.numbers.extend((time, duration))

    def without(self, question: str) -> Iterator[tuple[str | None, str | None, float, float]]:
        """Yield task, worker, time and duration of the annotations that do not answer this question."""
        names, answered = list(self.names), list(self.questions)
        for i in range(len(self.codes) // 3):
            task, worker, code = self.codes[3 * i : 3 * i + 3]
            if question not in answered[code]:
                yield names[task], names[worker], self.numbers[2 * i], self.numbers[2 * i + 1]


class _Export:
    """Collects the rows of all questions, which are known only at the end of the file."""

    def __init__(self, where: str, options: ReadOptions) -> None:
        self.where, self.options = where, options
        self.rows: dict[str, RowBuilder] = {}
        self.tasks: dict[str, None] = {}
        self.emails: dict[str, str] = {}
        self.controls: dict[str, Control] = {}
        # Every annotation that is no skip: task, worker, time and duration, and the questions that it answers.
        self.submitted = _Submitted()
        self.checked: list[tuple[str | None, frozenset[str]]] = []  # ground truths
        self.shown: dict[str, dict[str, Any]] = {}  # name -> task -> value in its data
        self.sizes: dict[str, tuple[float, float]] = {}  # task -> width and height of its image
        self.texts: dict[str, str] = {}
        self.answers = self.skips = self.truths = self.predictions = self.regions = 0

    def task(self, task: dict[str, Any], at: str) -> None:
        name = self.task_name(task, at)
        if name is not None:
            if name not in self.tasks:
                for key, value in content_of(task.get("data")).items():
                    self.shown.setdefault(key, {})[name] = value
            self.tasks[name] = None
        for annotation in _list(next((task[key] for key in LISTS if task.get(key)), None), at, "annotations"):
            annotation = _mapping(annotation, at, "an annotation")
            self._annotation(name, annotation, task.get("data"), at)
        predictions = _list(task.get("predictions"), at, "predictions")
        self.predictions += len(predictions)
        if self.options.predictions:
            for prediction in predictions:
                self._prediction(name, _mapping(prediction, at, "a prediction"), task.get("data"), at)

    def task_name(self, task: dict[str, Any], at: str) -> str | None:
        """Return the task's id, or the data field that --columns names."""
        column = self.options.columns.get("task")
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
            self.checked.append((task, frozenset(answers)))
            for question, labels in answers.items():
                if len(labels) == 1:
                    self._of(question).truth(task, labels[0], at)
                elif task is not None:
                    self._of(question).gold_sets.setdefault(task, labels)
            return
        self.answers += 1
        worker = self._worker(annotation.get("completed_by"), at)
        time, duration = moment(annotation.get("created_at")), number(annotation.get("lead_time"))
        self.submitted.add(task, worker, time, duration, frozenset(answers))
        for question, labels in answers.items():
            kind = self._kind(question)
            self._of(question).add(task, worker, labels, time=time, duration=duration, kind=kind, source="human")

    def _prediction(self, task: str | None, prediction: dict[str, Any], data: Any, at: str) -> None:
        self.answers += 1
        worker = f"model:{text(prediction.get('model_version'), 'model_version', at) or 'unnamed'}"
        for question, labels in self._answers(task, prediction, data, at).items():
            score = number(prediction.get("score"))
            self._of(question).add(task, worker, labels, confidence=score, kind=self._kind(question), source="model")

    def _of(self, question: str) -> RowBuilder:
        return self.rows.setdefault(question, RowBuilder())

    def _kind(self, question: str) -> str:
        return KINDS.get(self.controls[question].kind, "classes")

    def _worker(self, user: Any, at: str) -> str | None:
        """Return the user's id; if an annotation states the email, it becomes the name, as in Label Studio's CSV."""
        if not isinstance(user, dict):
            return text(user, "completed_by", at)
        number, email = text(user.get("id"), "completed_by", at), text(user.get("email"), "completed_by", at)
        if number is not None and email and self.emails.setdefault(number, email) != email:
            emails = quote([self.emails[number], email])
            raise DataError(f"{at}: the user {number!r} has two emails, {emails}; are these exports of two servers?")
        return number if number is not None else email or None

    def _answers(self, task: str | None, annotation: dict[str, Any], data: Any, at: str) -> dict[str, list[str]]:
        """Return question -> labels of results about the whole task; spans of text form one label."""
        answers: dict[str, list[str]] = {}
        marks: dict[str, list[list[Any]]] = {}
        drawn: dict[str, Shapes] = {}
        for result in _list(annotation.get("result"), at, "result"):
            result = _mapping(result, at, "a result")
            kind, question = result.get("type"), result.get("from_name")
            if not isinstance(kind, str) or not isinstance(question, str):
                continue
            value = _mapping(result.get("value"), at, "value")
            if kind == MARKS and "start" in value and "end" in value:
                to = result.get("to_name")
                self.controls[question] = Control(question, to if isinstance(to, str) else "text", kind)
                marks.setdefault(question, []).extend(self._marks(task, value, data))
            elif kind in DRAWN:
                to = result.get("to_name")
                self.controls[question] = Control(question, to if isinstance(to, str) else "image", kind)
                _add_shape(drawn.setdefault(question, Shapes()), result, value, at)
                self._size(task, result)
            elif kind in CHOICES:
                if set(value) - {CHOICES[kind]} or "item_index" in result or "parentID" in result:
                    self.regions += 1  # about a part of the task: a region, a span, one item of several
                else:
                    to = result.get("to_name")
                    joined = self.options.multiple == "join"
                    self.controls[question] = Control(question, to if isinstance(to, str) else "text", kind, joined)
                    answers.setdefault(question, []).extend(labels(kind, value, question, at))
        for question, shape in drawn.items():
            wanted_kind = self.options.expected_kind if self.options.expected_kind in DRAWN.values() else None
            answers[question] = [shape.text(wanted_kind or self._kind(question))]
        return answers | {question: [as_answer(spans)] for question, spans in marks.items()}

    def _size(self, task: str | None, result: dict[str, Any]) -> None:
        wide, high = (_size(result.get(f"original_{name}")) for name in ("width", "height"))
        if task is not None and wide != 1 and high != 1:
            self.sizes.setdefault(task, (100 * wide, 100 * high))

    def _marks(self, task: str | None, value: dict[str, Any], data: Any) -> list[list[Any]]:
        """Return a span of text in code points, once per label."""
        offsets = value.get("globalOffsets")
        start, end = (offsets if isinstance(offsets, dict) else value).get("start"), value.get("end")
        end = offsets.get("end") if isinstance(offsets, dict) else end
        shown = _text_of(data)
        if shown is not None and task is not None:
            self.texts[task] = shown
        if type(start) is int and type(end) is int:
            marked_text = value.get("text")
            start, end = code_points(shown, start, end, marked_text if isinstance(marked_text, str) else None)
        tags = value.get(MARKS)
        return [[start, end, tag] for tag in (tags if isinstance(tags, list) and tags else [""])]

    def finish(self) -> ParsedFile:
        question = self._question()
        rows, total = self._of(question), self.answers
        if self.controls[question].kind in LISTED or kinds.get(self._kind(question)).blank is not None:
            total -= self._add_empty(rows, question)
        rows.texts = self.texts
        for reason, n in ((SKIPPED, self.skips), (TRUTH, self.truths), (NO_ANSWER, total - len(rows))):
            if n:
                rows.drop(reason, n)
        for task in self.tasks:
            rows.mention(task)
        rows.rename_workers(self.emails)
        notes: tuple[str, ...] = ()
        if self.predictions and not self.options.predictions:
            notes += (f"{self.predictions:,} predictions of models are ignored; --predictions takes them as workers",)
        if self.regions:
            notes += (f"{self.regions:,} labels of regions or items, not of whole tasks, are ignored",)
        result = rows.finish(self.where, self.options, question, notes)
        result.control = self.controls.get(question)
        result.about_tasks = self._about_tasks()
        return result

    def _add_empty(self, rows: RowBuilder, question: str) -> int:
        """Add the annotations without a result of this question, an empty answer if answers are lists; count them."""
        n = 0
        for row in self.submitted.without(question):
            rows.add_empty(*row)
            n += 1
        for task, answered in self.checked:
            if task is not None and question not in answered and task not in rows.gold:
                rows.gold_sets.setdefault(task, [])
        return n

    def _about_tasks(self) -> pl.DataFrame | None:
        """Return the data that were shown, and the sizes of images."""
        columns: dict[str, Any] = {
            name: [of_task.get(task) for task in self.tasks] for name, of_task in self.shown.items()
        }
        if self.texts:  # spans need all of it
            columns["text"] = [self.texts.get(task) for task in self.tasks]
        if self.sizes:
            for i, name in enumerate(("width", "height")):
                columns[name] = [self.sizes[task][i] if task in self.sizes else None for task in self.tasks]
        if not columns:
            return None
        table = {name: pl.Series(name, values, strict=False) for name, values in columns.items()}
        return pl.DataFrame({"task": pl.Series(list(self.tasks), dtype=pl.String), **table})

    def _question(self) -> str:
        requested = self.options.question
        if not self.rows:
            why = "every annotation was skipped" if self.skips and not self.answers else "no annotation has a choice"
            raise DataError(f"{self.where}: {why}; is it the right file?")
        # A text box for remarks beside another question is read only on request.
        answered = [q for q in self.rows if self.controls[q].kind != "textarea"]
        return one_of(sorted(answered if answered and requested not in self.rows else self.rows), requested, self.where)


def labels(kind: str, value: dict[str, Any], question: str, at: str) -> list[str]:
    """Return the labels of a result; of a taxonomy's paths, prefixes of other paths are left out."""
    answer = value.get(CHOICES[kind])
    if kind == "textarea":
        lines = texts(answer, question, at)
        return ["\n".join(lines)] if lines else []
    if kind == "ranker":
        return [ranking_of(answer, question, at)]
    if kind != "taxonomy":
        return list(dict.fromkeys(texts(answer, question, at)))
    if not isinstance(answer, list) or not all(isinstance(path, list) for path in answer):
        raise DataError(f"{at}: {question} is not a list of paths; is it a taxonomy?")
    paths = [tuple(texts(path, question, at)) for path in answer]
    ends = [p for p in paths if p and not any(q != p and q[: len(p)] == p for q in paths)]
    return list(dict.fromkeys(" / ".join(path) for path in ends))


def _text_of(data: Any) -> str | None:
    """Return the text that was shown: the field `text`, or the only field of text."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("text"), str):
        return str(data["text"])
    texts_ = [value for value in data.values() if isinstance(value, str)]
    return texts_[0] if len(texts_) == 1 else None


def content_of(data: Any) -> dict[str, Any]:
    """Return a task's data to be shown: the beginnings of texts, numbers, lists and objects as JSON.

    Images inside the file are left out: they may be as large as the whole file otherwise is.
    """
    if not isinstance(data, dict):
        return {}
    columns: dict[str, Any] = {}
    for name, value in data.items():
        if not isinstance(value, str | int | float | None):
            value = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str):
            if value.startswith("data:"):
                continue
            value = value[:SHOWN]
        columns[intern("data_task" if name == "task" else name)] = value
    return columns


def ranking_of(answer: Any, question: str, at: str) -> str:
    """Return an order of items, best first, as JSON: a list, or the list of the only bucket."""
    if isinstance(answer, dict) and len(answer) == 1:
        answer = next(iter(answer.values()))
    if not isinstance(answer, list):
        raise DataError(f"{at}: {question} is not an ordered list of items; several buckets are not supported")
    return json.dumps(texts(answer, question, at), ensure_ascii=False)


def _add_shape(shapes: Shapes, result: dict[str, Any], value: dict[str, Any], at: str) -> None:
    """Add one result, a rectangle or a polygon."""
    kind = str(result["type"])
    wide, high = (_size(result.get(f"original_{name}")) for name in ("width", "height"))
    if DRAWN[kind] == BOXES:
        x, y, width, height = numbers([value.get(name) for name in ("x", "y", "width", "height")], 4, at, "a rectangle")
        turn = numbers([value.get("rotation") or 0], 1, at, "rotation")[0]
        # Rotated in pixels: a percent of the width differs from a percent of the height.
        scaled = (x * wide, y * high, width * wide, height * high)
        named = value.get("rectanglelabels")
        label = str(named[0]) if isinstance(named, list) and named else None
        shapes.add_box(corners_of(*scaled, turn), label)
        return
    points = value.get("points")
    pairs = [numbers(pair, 2, at, "a point") for pair in points] if isinstance(points, list) else []
    shapes.add_outline([[round(x * wide, 6), round(y * high, 6)] for x, y in pairs])


def _size(value: Any) -> float:
    """Return pixels per percent; 1 if the size is unknown."""
    try:
        return float(value) / 100 if float(value) > 0 else 1.0
    except (TypeError, ValueError):
        return 1.0


def _mapping(value: Any, at: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{at}: {what} is {str(value)[:40]!r} where an object {{...}} is needed; export it again")
    return value


def _list(value: Any, at: str, what: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise DataError(f"{at}: {what} is {str(value)[:40]!r} where a list [...] is needed; export it again")
