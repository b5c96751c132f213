"""What Label Studio's CSV and JSON_MIN share: one record an annotation, one column a control, data columns between.

Nothing in the file says which columns are controls and which are data. A task's data are the same in each of its
records and answers are not: a column that differs within a task, or holds a control's JSON, is a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.vocabulary import quote
from ..json.text import loads
from .base import NO_ANSWER, Ask, Control, Found, Item, Rows
from .cells import moment, number, text, texts
from .label_studio import CHOICES, KINDS, UNSUPPORTED, labels

ALWAYS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
NOBODY = "task without annotations"


def questions(records: Iterable[dict[str, Any]], name: str) -> tuple[list[str], list[str]]:
    """(columns that are questions for certain, all columns that may be one)."""
    first: dict[Any, dict[str, Any]] = {}
    may: dict[str, bool] = {}
    for record in records:
        if _empty(record.get("annotator")):
            continue
        known = first.setdefault(str(record.get(name)), {})
        for key, value in record.items():
            if key in ALWAYS or key == name:
                continue
            certain = _is_control(value) or (not _empty(value) and key in known and known[key] != _mark(value))
            may[key] = may.get(key, False) or certain
            if not _empty(value):
                known.setdefault(key, _mark(value))
    return [key for key, certain in may.items() if certain], list(may)


def choose_question(certain: list[str], possible: list[str], ask: Ask, where: str) -> tuple[str, tuple[str, ...]]:
    """The question asked for, or the only certain one, with a note."""
    if ask.question is not None:
        if ask.question not in possible:
            raise DataError(f"{where} has no question {ask.question!r}; it has {quote(possible, 12)}")
        return ask.question, ()
    if len(certain) == 1:
        return certain[0], (f"column {certain[0]!r} is taken as the question: it alone differs within tasks",)
    if certain:
        raise DataError(f"{where} has {len(certain)} questions, {quote(certain, 12)}; say which: --question NAME")
    raise DataError(
        f"{where}: which column is the question cannot be told from the data ({quote(possible, 12)}); "
        "say --question NAME"
    )


def add(rows: Rows, record: dict[str, Any], question: str, name: str, at: str) -> str | None:
    """One record: an annotation, or a task that has none. Returns the kind of control, where the answer tells it."""
    task = text(record.get(name), name, at)
    worker = text(record.get("annotator"), "annotator", at)
    rows.mention(task)
    if _empty(worker) and _empty(record.get("annotation_id")):
        rows.drop(NOBODY if task else BLANK)
        return None
    said, control = _labels(record.get(question), question, at)
    if not said:
        rows.drop(NO_ANSWER)
        return None
    if worker:
        rows.sources[worker] = "human"
    when, took = moment(record.get("created_at")), number(record.get("lead_time"))
    kind = None if control is None else KINDS.get(control, "classes")
    rows.add(task, worker, said, time=when, duration=took, kind=kind)
    return control


def finish(
    rows: Rows,
    where: str,
    ask: Ask,
    question: str,
    notes: tuple[str, ...],
    records: Callable[[], Iterable[dict[str, Any]]],
    aside: Iterable[str],
    controls: set[str | None],
) -> Found:
    """With what this format cannot say. `aside` are columns that are questions, and so no data of a task; `controls`
    are the kinds of control that the answers told."""
    notes += ("this export does not tell ground truths from votes, nor skips from gaps; Label Studio's JSON does",)
    found = rows.found(where, ask, question, notes)
    none = {*ALWAYS, *aside, question}
    found.items = lambda: _items(records(), ask.columns.get("task", "id"), none, where)
    told = controls - {None}
    kind = next(iter(told)) if len(told) == 1 else None
    found.control = Control(question, kind=kind or "choices", joined=ask.multiple == "join")
    return found


def _items(records: Iterable[dict[str, Any]], name: str, none: set[str], where: str) -> Iterator[Item]:
    seen: set[str] = set()
    for record in records:
        task = text(record.get(name), name, where)
        if task is not None and task not in seen:
            seen.add(task)
            yield Item(task, record.get("id"), {key: value for key, value in record.items() if key not in none})


def _labels(value: Any, question: str, at: str) -> tuple[list[str], str | None]:
    """What was said, and in which kind of control: only a choice is written as bare text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return [value], "choices"  # a label that begins with a bracket
    results = value if isinstance(value, list) else [value]
    found: list[str] = []
    controls: set[str | None] = set()
    for each in results:
        if not isinstance(each, dict):
            found += texts(each, question, at)
            controls.add("choices" if isinstance(each, str) else None)
            continue
        kind = next((kind for kind, key in CHOICES.items() if key in each), None)
        if kind is None or set(each) - {CHOICES[kind]}:
            what = next((why for key, why in UNSUPPORTED.items() if key in each or each.get("type") == key), None)
            raise DataError(f"{at}: {question} {what or 'holds no choice, rating or taxonomy of the whole task'}")
        found += labels(kind, each, question, at)
        controls.add(kind)
    return list(dict.fromkeys(found)), controls.pop() if len(controls) == 1 else None


def _mark(value: Any) -> Any:
    """A long text by its hash: what a task's texts are need not be kept."""
    return hash(value) if isinstance(value, str) and len(value) > 40 else value


def _is_control(value: Any) -> bool:
    if isinstance(value, str) and value.startswith(("[{", "{")):
        return any(f'"{key}"' in value for key in CHOICES.values())
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(key in first for key in CHOICES.values())


def _empty(value: Any) -> bool:
    return value is None or value == ""
