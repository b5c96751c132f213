"""Argilla 2 records: flat (`q.responses`, `q.responses.users`, `q.responses.status`) or nested (`responses`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...core.errors import DataError
from ..sources import Source
from .base import NO_ANSWER, SURE, Ask, Found, Guess, Head, Rows
from .cells import number, text, texts
from .marks import as_answer, is_span, mark_of
from .records import one_of, records

ENDING = ".responses"
Answer = tuple[Any, Any, Any]  # value, user, status


def sniff(head: Head) -> Guess | None:
    """A key like `label.responses`, or `fields` and `responses`."""
    for each in head.objects[:1]:
        flat = next((key for key in each if key.endswith(ENDING)), None)
        if flat is not None:
            return Guess(SURE, f"its records have `{flat}`")
        if isinstance(each.get("fields"), dict) and isinstance(each.get("responses"), dict):
            return Guess(SURE, "its records have `fields` and `responses`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a response; drafts and discarded ones are dropped."""
    ask.only(where, "task")
    name = ask.columns.get("task", "id")
    rows: dict[str, Rows] = {}
    asked: dict[str, None] = {}
    suggestions = 0
    for at, record in records(source, where):
        task = text(record.get(name), name, at)
        for question, answers, suggestion in _questions(record, at):
            asked[question] = None
            here = rows.setdefault(question, Rows())
            here.mention(task)
            _tell(here, task, record, answers)
            for answer in answers:
                _add(here, task, answer, question, at)
            if suggestion[0] is not None:
                suggestions += 1
                if ask.predictions:
                    _suggest(here, task, suggestion, question, at)
    question = one_of(sorted(asked), ask.question, where)
    left = suggestions and not ask.predictions
    notes = (f"{suggestions:,} suggestions are left aside; --predictions takes them as workers",) if left else ()
    return rows[question].found(where, ask, question, notes)


def _questions(record: dict[str, Any], at: str) -> Iterator[tuple[str, list[Answer], Answer]]:
    """(question, responses, suggestion as (value, agent, score))."""
    nested, hints = record.get("responses"), record.get("suggestions")
    if isinstance(nested, dict):
        hints = hints if isinstance(hints, dict) else {}
        for question in dict.fromkeys([*nested, *hints]):
            given, hint = nested.get(question) or [], hints.get(question) or {}
            if not isinstance(given, list) or not all(isinstance(each, dict) for each in (*given, hint)):
                raise DataError(
                    f"{at}: a response to {question} or its suggestion is no object {{...}}; export it again"
                )
            answers = [(each.get("value"), each.get("user_id"), each.get("status")) for each in given]
            yield question, answers, (hint.get("value"), hint.get("agent"), hint.get("score"))
        return
    for key in [key for key in record if key.endswith(ENDING)]:
        question = key.removesuffix(ENDING)
        lists = [record.get(key + part) for part in ("", ".users", ".status")]
        if lists[0] is None:
            lists = [[], [], []]
        lists[2] = ["submitted"] * len(lists[0]) if lists[2] is None and isinstance(lists[0], list) else lists[2]
        if (
            not all(isinstance(each, list) for each in lists)
            or len({len(each) for each in lists if each is not None}) > 1
        ):
            raise DataError(f"{at}: {key}, its users and its status are not lists of one length; export it again")
        hint = tuple(record.get(f"{question}.suggestion{part}") for part in ("", ".agent", ".score"))
        yield question, list(zip(*lists, strict=True)), hint


def _add(rows: Rows, task: str | None, answer: Answer, question: str, at: str) -> None:
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
        rows.bare.add(task, worker)
        return
    rows.add(task, worker, labels, kind=_kind(value))


def _tell(rows: Rows, task: str | None, record: dict[str, Any], answers: list[Answer]) -> None:
    """The text that spans are about."""
    fields = record.get("fields")
    shown = fields.get("text") if isinstance(fields, dict) else record.get("text")
    if task is not None and isinstance(shown, str) and any(_are_spans(value) for value, _, _ in answers):
        rows.bare.texts[task] = shown


def _are_spans(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(e, dict) and is_span(e) for e in value)


def _suggest(rows: Rows, task: str | None, suggestion: Answer, question: str, at: str) -> None:
    value, agent, score = suggestion
    worker = f"model:{text(agent, 'agent', at) or 'unnamed'}"
    rows.sources[worker] = "model"
    rows.add(task, worker, _labels(value, question, at), confidence=number(score), kind=_kind(value))


def _kind(value: Any) -> str:
    """Ratings are numbers, values with ranks rankings, mappings with a start and an end spans; labels are text."""
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
    """Values by their ranks, those of one rank tied, as JSON; values without a rank are left out."""
    places: dict[float, list[str]] = {}
    for each in value:
        rank, name = number(each["rank"]), text(each["value"], question, at)
        if name is not None and rank == rank:
            places.setdefault(rank, []).append(name)
    return json.dumps([places[rank] for rank in sorted(places)], ensure_ascii=False)


def _labels(value: Any, question: str, at: str) -> list[str]:
    if _is_ranking(value):
        return [_ranking(value, question, at)]
    if _are_spans(value):
        return [as_answer(mark_of(each) for each in value)]
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        raise DataError(f"{at}: {question} holds answers of a form that is not known; take another question")
    return texts(value, question, at)
