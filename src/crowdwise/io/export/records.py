"""Annotations as a record a task: Argilla's flat records, and lists of labels and annotators."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from .rows import Row, answer_of, as_number, by_task, models_of, rows, write_jsonl
from .sequences import argilla_value, texts_of

if TYPE_CHECKING:
    from ...core.votes import Votes
    from ..reading import Reading


# kind of answers -> how their text becomes a value of JSON; text where nothing is said
SAYS: dict[str, Callable[[str], Any]] = {"numbers": as_number, "sets": loads, "spans": argilla_value}


def write_argilla(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSONL of `label.responses`; of several models only the first can be a task's suggestion."""
    models, question = models_of(reading), answer_of(reading.annotations)
    said = _says(reading.annotations)
    if any(isinstance(said(row), float) for row in rows(reading.annotations)):
        raise DataError("Argilla's ratings are whole numbers, and some of these have fractions; choose another format")
    texts: dict[str, str] = texts_of(reading) if "text" in reading.annotations.kind.along else {}
    records = (
        ({"text": texts[task]} if task in texts else {}) | _record(task, found, models, question, said)
        for task, found in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("times and durations have no place in Argilla's records",) if reading.annotations.numbers else ()


def _says(votes: Votes[Any]) -> Callable[[Row], Any]:
    """A row's answer as JSON has it: text, a number, a list of labels or of spans."""
    way: Callable[[str], Any] = SAYS.get(votes.kind.name, str)
    return lambda row: way(row["label"])


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
