"""Write votes as one record per task: Argilla's flat records, and lists of labels and annotators."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from .rows import Row, answer_of, as_number, by_task, models_of, rows, write_jsonl
from .sequences import marks_of, texts_of

if TYPE_CHECKING:
    from ...core.votes import Votes
    from ..reading import Reading


# kind of answers -> converter of their text to a JSON value (default: text)
TO_JSON: dict[str, Callable[[str], Any]] = {"numbers": as_number, "sets": loads, "spans": marks_of}


def write_argilla(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write JSONL of `label.responses`; only the first of several models becomes a task's suggestion."""
    models, question = models_of(reading), answer_of(reading.annotations)
    to_value = _json_converter(reading.annotations)
    if any(isinstance(to_value(row), float) for row in rows(reading.annotations)):
        raise DataError("Argilla's ratings are whole numbers, and some of these have fractions; choose another format")
    texts: dict[str, str] = texts_of(reading) if "text" in reading.annotations.kind.along else {}
    records = (
        ({"text": texts[task]} if task in texts else {}) | _record(task, votes, models, question, to_value)
        for task, votes in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("Argilla's records have no times or durations",) if reading.annotations.numbers else ()


def _json_converter(votes: Votes[Any]) -> Callable[[Row], Any]:
    """Return a function of a row that converts its answer to JSON: text, a number, a list of labels or of spans."""
    convert: Callable[[str], Any] = TO_JSON.get(votes.kind.name, str)
    return lambda row: convert(row["label"])


def _record(
    task: str, rows: list[Row], models: set[str], question: str, to_value: Callable[[Row], Any]
) -> dict[str, Any]:
    responses = [row for row in rows if row["worker"] not in models]
    suggestions = [row for row in rows if row["worker"] in models]
    record: dict[str, Any] = {
        "id": task,
        "status": "completed" if responses else "pending",
        f"{question}.responses": [to_value(row) for row in responses],
        f"{question}.responses.users": [row["worker"] for row in responses],
        f"{question}.responses.status": ["submitted"] * len(responses),
    }
    for row in suggestions[:1]:
        record[f"{question}.suggestion"] = to_value(row)
        record[f"{question}.suggestion.score"] = row["confidence"]
        record[f"{question}.suggestion.agent"] = row["worker"].removeprefix("model:")
    return record


def write_lists(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write JSONL of `labels` (or `values`) and `annotators`."""
    name, to_value = f"{answer_of(reading.annotations)}s", _json_converter(reading.annotations)
    records = (
        {"id": task, name: [to_value(row) for row in votes], "annotators": [row["worker"] for row in votes]}
        for task, votes in by_task(reading.annotations)
    )
    write_jsonl(records, path)
    return ("lists have no times or durations",) if reading.annotations.numbers else ()
