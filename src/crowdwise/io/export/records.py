"""Annotations as a record a task: Argilla's flat records, and lists of labels and annotators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from .rows import Row, answer_of, as_number, by_task, models_of, rows, write_jsonl

if TYPE_CHECKING:
    from ...core.votes import Votes
    from ..reading import Reading


def write_argilla(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSONL of `label.responses`; of several models only the first can be a task's suggestion."""
    models, question = models_of(reading), answer_of(reading.annotations)
    said = _says(reading.annotations)
    if question == "value" and any(not isinstance(said(row), int) for row in rows(reading.annotations)):
        raise DataError("Argilla's ratings are whole numbers, and some of these have fractions; choose another format")
    texts: dict[str, str] = {}
    if question == "spans":
        from .sequences import texts_of

        texts = texts_of(reading)
    records = (
        ({"text": texts[task]} if task in texts else {}) | _record(task, found, models, question, said)
        for task, found in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("times and durations have no place in Argilla's records",) if reading.annotations.numbers else ()


def _says(votes: Votes[Any]) -> Callable[[Row], Any]:
    """A row's answer as JSON has it: text, a number, or a list of spans."""
    if answer_of(votes) == "spans":
        from .sequences import argilla_value

        return lambda row: argilla_value(row["label"])
    return (lambda row: row["label"]) if answer_of(votes) == "label" else (lambda row: as_number(row["label"]))


def _record(task: str, found: list[Row], models: set[str], question: str, said: Callable[[Row], Any]) -> dict[str, Any]:
    people = [row for row in found if row["worker"] not in models]
    hints = [row for row in found if row["worker"] in models]
    record: dict[str, Any] = {
        "id": task,
        "status": "completed" if people else "pending",
        f"{question}.responses": [said(row) for row in people],
        f"{question}.responses.users": [row["worker"] for row in people],
        f"{question}.responses.status": ["submitted"] * len(people),
    }
    for row in hints[:1]:
        record[f"{question}.suggestion"] = said(row)
        record[f"{question}.suggestion.score"] = row["confidence"]
        record[f"{question}.suggestion.agent"] = row["worker"].removeprefix("model:")
    return record


def write_lists(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSONL of `labels` (or `values`) and `annotators`."""
    name, said = f"{answer_of(reading.annotations)}s", _says(reading.annotations)
    records = (
        {"id": task, name: [said(row) for row in found], "annotators": [row["worker"] for row in found]}
        for task, found in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("times and durations have no place in lists",) if reading.annotations.numbers else ()
