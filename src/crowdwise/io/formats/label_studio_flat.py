"""Shared parts of Label Studio's CSV and JSON_MIN: one record per annotation, with columns of controls and of data.

The file does not state which columns are controls and which are data. A task's data are the same in each of its records
and answers are not: a column that differs within a task, or holds a control's JSON, is a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..json.text import loads
from .base import Control, ParsedFile, RowBuilder, TaskItem
from .cells import moment, number, text, texts
from .label_studio import CHOICES, KINDS, labels
from .records import SeveralQuestions

ALWAYS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
NOBODY = "task without annotations"
Records = Iterable[tuple[str, dict[str, Any]]]  # (place for messages, record)


def read_records(
    records: Callable[[], Records],
    where: str,
    options: ReadOptions,
    notes: tuple[str, ...] = (),
    whole_records: Callable[[], Records] | None = None,
) -> ParsedFile:
    """Read an export in two passes: for the questions, then for the answers.

    `records` begins a pass over the file. `whole_records` does the same with all columns, where
    `records` leaves out some that are not needed for the answers.
    """
    name = options.columns.get("task", "id")
    certain, possible = _questions(records(), name)
    question, more = _choose_question(certain, possible, options, where)
    rows = RowBuilder()
    controls = {_add(rows, record, question, name, at) for at, record in records()} - {None}
    notes += (
        *more,
        "this export does not distinguish ground truths from votes, or skips from gaps; Label Studio's JSON does",
    )
    result = rows.finish(where, options, question, notes)
    not_data = {*ALWAYS, *certain, question}
    result.items = lambda: _items((whole_records or records)(), name, not_data, where)
    control = next(iter(controls)) if len(controls) == 1 else None
    result.control = Control(question, kind=control or "choices", joined=options.multiple == "join")
    return result


def _questions(records: Records, name: str) -> tuple[list[str], list[str]]:
    """Return (columns that are certainly questions, all columns that may be one)."""
    first: dict[Any, dict[str, Any]] = {}
    is_certain: dict[str, bool] = {}
    for _, record in records:
        if _empty(record.get("annotator")):
            continue
        first_values = first.setdefault(str(record.get(name)), {})
        for key, value in record.items():
            if key in ALWAYS or key == name:
                continue
            certain = _is_control(value) or (
                not _empty(value) and key in first_values and first_values[key] != _mark(value)
            )
            is_certain[key] = is_certain.get(key, False) or certain
            if not _empty(value):
                first_values.setdefault(key, _mark(value))
    return [key for key, certain in is_certain.items() if certain], list(is_certain)


def _choose_question(
    certain: list[str], possible: list[str], options: ReadOptions, where: str
) -> tuple[str, tuple[str, ...]]:
    """Return the requested question, or the only certain one, and notes."""
    if options.question is not None:
        if options.question not in possible:
            raise DataError(f"{where} has no question {options.question!r}; it has {quote(possible, 12)}")
        return options.question, ()
    if len(certain) == 1:
        return certain[0], (f"column {certain[0]!r} is read as the question: only it differs within tasks",)
    if certain:
        raise SeveralQuestions(where, certain)
    raise DataError(
        f"{where}: the data do not determine which column is the question ({quote(possible, 12)}); use --question NAME"
    )


def _add(rows: RowBuilder, record: dict[str, Any], question: str, name: str, at: str) -> str | None:
    """Add one record, an annotation or a task without one; return the type of control, if the answer shows it."""
    task = text(record.get(name), name, at)
    worker = text(record.get("annotator"), "annotator", at)
    rows.mention(task)
    if _empty(worker) and _empty(record.get("annotation_id")):
        rows.drop(NOBODY if task else BLANK)
        return None
    answers, control = _labels(record.get(question), question, at)
    created, lead_time = moment(record.get("created_at")), number(record.get("lead_time"))
    if not answers:
        rows.add_empty(task, worker, created, lead_time)
        return None
    kind = None if control is None else KINDS.get(control, "classes")
    rows.add(task, worker, answers, time=created, duration=lead_time, kind=kind, source="human")
    return control


def _items(records: Records, name: str, not_data: set[str], where: str) -> Iterator[TaskItem]:
    done: set[str] = set()
    for _, record in records:
        task = text(record.get(name), name, where)
        if task is not None and task not in done:
            done.add(task)
            yield TaskItem(task, record.get("id"), {key: value for key, value in record.items() if key not in not_data})


def _labels(value: Any, question: str, at: str) -> tuple[list[str], str | None]:
    """Return the labels, and the type of control: only choices are written as plain text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return [value], "choices"  # a label that begins with a bracket
    results = value if isinstance(value, list) else [value]
    answers: list[str] = []
    controls: set[str | None] = set()
    for result in results:
        if not isinstance(result, dict):
            answers += texts(result, question, at)
            controls.add("choices" if isinstance(result, str) else None)
            continue
        kind = next((kind for kind, key in CHOICES.items() if key in result), None)
        if kind is None or set(result) - {CHOICES[kind]}:
            raise DataError(f"{at}: {question} holds no choice, rating or taxonomy of the whole task")
        answers += labels(kind, result, question, at)
        controls.add(kind)
    return list(dict.fromkeys(answers)), controls.pop() if len(controls) == 1 else None


def _mark(value: Any) -> Any:
    """Return a long text's hash, which saves memory."""
    return hash(value) if isinstance(value, str) and len(value) > 40 else value


def _is_control(value: Any) -> bool:
    if isinstance(value, str) and value.startswith(("[{", "{")):
        return any(f'"{key}"' in value for key in CHOICES.values())
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(key in first for key in CHOICES.values())


def _empty(value: Any) -> bool:
    return value is None or value == ""
