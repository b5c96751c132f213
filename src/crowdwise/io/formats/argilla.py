"""Argilla 2 records: flat (`q.responses`, `q.responses.users`, `q.responses.status`) or nested (`responses`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..sources import Source
from .base import NO_ANSWER, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import number, text, texts
from .marks import as_answer, is_span, mark_of
from .records import one_of, records

ENDING = ".responses"
Answer = tuple[Any, Any, Any]  # value, user, status


def sniff(head: FileHead) -> FormatMatch | None:
    """Match a key like `label.responses`, or `fields` and `responses`."""
    for record in head.objects[:1]:
        flat = next((key for key in record if key.endswith(ENDING)), None)
        if flat is not None:
            return FormatMatch(SURE, f"its records have `{flat}`")
        if isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict):
            return FormatMatch(SURE, "its records have `fields` and `responses`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per response; drafts and discarded ones are dropped."""
    options.allow_columns(where, "task")
    name = options.columns.get("task", "id")
    rows: dict[str, RowBuilder] = {}
    questions: dict[str, None] = {}
    suggestions = 0
    for at, record in records(source, where):
        task = text(record.get(name), name, at)
        for question, answers, suggestion in _questions(record, at):
            questions[question] = None
            question_rows = rows.setdefault(question, RowBuilder())
            question_rows.mention(task)
            _store_text(question_rows, task, record, answers)
            for answer in answers:
                _add(question_rows, task, answer, question, at)
            if suggestion[0] is not None:
                suggestions += 1
                if options.predictions:
                    _suggest(question_rows, task, suggestion, question, at)
    question = one_of(sorted(questions), options.question, where)
    left = suggestions and not options.predictions
    notes = (f"{suggestions:,} suggestions are ignored; --predictions takes them as workers",) if left else ()
    return rows[question].finish(where, options, question, notes)


def _questions(record: dict[str, Any], at: str) -> Iterator[tuple[str, list[Answer], Answer]]:
    """Yield (question, responses, suggestion as (value, agent, score))."""
    nested, suggestions = record.get("responses"), record.get("suggestions")
    if isinstance(nested, dict):
        suggestions = suggestions if isinstance(suggestions, dict) else {}
        for question in dict.fromkeys([*nested, *suggestions]):
            responses, suggestion = nested.get(question) or [], suggestions.get(question) or {}
            if not isinstance(responses, list) or not all(
                isinstance(response, dict) for response in (*responses, suggestion)
            ):
                raise DataError(
                    f"{at}: a response to {question} or its suggestion is not an object {{...}}; export it again"
                )
            answers = [
                (response.get("value"), response.get("user_id"), response.get("status")) for response in responses
            ]
            yield question, answers, (suggestion.get("value"), suggestion.get("agent"), suggestion.get("score"))
        return
    for key in [key for key in record if key.endswith(ENDING)]:
        question = key.removesuffix(ENDING)
        lists = [record.get(key + part) for part in ("", ".users", ".status")]
        if lists[0] is None:
            lists = [[], [], []]
        lists[2] = ["submitted"] * len(lists[0]) if lists[2] is None and isinstance(lists[0], list) else lists[2]
        if (
            not all(isinstance(response, list) for response in lists)
            or len({len(response) for response in lists if response is not None}) > 1
        ):
            raise DataError(f"{at}: {key}, its users and its status are not lists of the same length; export it again")
        suggestion = tuple(record.get(f"{question}.suggestion{part}") for part in ("", ".agent", ".score"))
        yield question, list(zip(*lists, strict=True)), suggestion


def _add(rows: RowBuilder, task: str | None, answer: Answer, question: str, at: str) -> None:
    value, user, status = answer
    if status not in (None, "submitted"):
        rows.drop(f"response is {text(status, 'status', at)}, not submitted")
        return
    labels = _labels(value, question, at)
    worker = text(user, "user", at)
    if not labels and value != []:
        rows.drop(NO_ANSWER)
        return
    if worker:
        rows.sources[worker] = "human"
    if not labels:
        rows.add_empty(task, worker)
        return
    rows.add(task, worker, labels, kind=_kind(value))


def _store_text(rows: RowBuilder, task: str | None, record: dict[str, Any], answers: list[Answer]) -> None:
    """Store the text that spans refer to."""
    fields = record.get("fields")
    shown = fields.get("text") if isinstance(fields, dict) else record.get("text")
    if task is not None and isinstance(shown, str) and any(_are_spans(value) for value, _, _ in answers):
        rows.texts[task] = shown


def _are_spans(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and is_span(e) for e in value)


def _suggest(rows: RowBuilder, task: str | None, suggestion: Answer, question: str, at: str) -> None:
    value, agent, score = suggestion
    worker = f"model:{text(agent, 'agent', at) or 'unnamed'}"
    labels = _labels(value, question, at)
    rows.add(task, worker, labels, confidence=number(score), kind=_kind(value), source="model")


def _kind(value: Any) -> str:
    """Return the kind of a value: numbers (ratings), rankings (values with ranks), spans (start and end) or classes."""
    if _is_ranking(value):
        return "rankings"
    if _are_spans(value):
        return "spans"
    return "numbers" if isinstance(value, int | float) and not isinstance(value, bool) else "classes"


def _is_ranking(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, dict) and {"value", "rank"} <= set(v) for v in value)
    )


def _ranking(value: list[dict[str, Any]], question: str, at: str) -> str:
    """Return values by rank as JSON, with ties; values without a rank are left out."""
    places: dict[float, list[str]] = {}
    for option in value:
        rank, name = number(option["rank"]), text(option["value"], question, at)
        if name is not None and rank == rank:
            places.setdefault(rank, []).append(name)
    return json.dumps([places[rank] for rank in sorted(places)], ensure_ascii=False)


def _labels(value: Any, question: str, at: str) -> list[str]:
    if _is_ranking(value):
        return [_ranking(value, question, at)]
    if _are_spans(value):
        return [as_answer(mark_of(mark) for mark in value)]
    if isinstance(value, list) and any(isinstance(mark, dict) for mark in value):
        raise DataError(f"{at}: {question} holds answers of a form that is not known; take another question")
    return texts(value, question, at)
