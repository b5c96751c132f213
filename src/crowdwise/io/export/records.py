"""Annotations as a record a task: Argilla's flat records, and lists of labels and annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .rows import Row, by_task, models_of, write_jsonl

if TYPE_CHECKING:
    from ..reading import Reading


def write_argilla(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSONL of `label.responses`; of several models only the first can be a task's suggestion."""
    models = models_of(reading)
    write_jsonl((_record(task, found, models) for task, found in by_task(reading.annotations)), path)
    return ("times and durations have no place in Argilla's records",) if reading.annotations.numbers else ()


def _record(task: str, found: list[Row], models: set[str]) -> dict[str, Any]:
    people = [row for row in found if row["worker"] not in models]
    hints = [row for row in found if row["worker"] in models]
    record: dict[str, Any] = {
        "id": task,
        "status": "completed" if people else "pending",
        "label.responses": [row["label"] for row in people],
        "label.responses.users": [row["worker"] for row in people],
        "label.responses.status": ["submitted"] * len(people),
    }
    for row in hints[:1]:
        record["label.suggestion"] = row["label"]
        record["label.suggestion.score"] = row["confidence"]
        record["label.suggestion.agent"] = row["worker"].removeprefix("model:")
    return record


def write_lists(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSONL of `labels` and `annotators`."""
    records = (
        {"id": task, "labels": [row["label"] for row in found], "annotators": [row["worker"] for row in found]}
        for task, found in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("times and durations have no place in lists",) if reading.annotations.numbers else ()
