"""Annotations as Label Studio exports them: JSON, JSON_MIN, CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..csvcells import to_csv
from .rows import Row, by_task, gold_of, models_of, moment, rows, write_json_array

if TYPE_CHECKING:
    from ..reading import Reading

CONTROL, OBJECT = "label", "text"


def result_of(label: str) -> list[dict[str, Any]]:
    """One choice of the control `label`."""
    return [{"from_name": CONTROL, "to_name": OBJECT, "type": "choices", "value": {"choices": [label]}}]


def write_tasks(reading: Reading, path: Path) -> tuple[str, ...]:
    """Label Studio's JSON: tasks with annotations, gold as ground truth, models as predictions."""
    write_json_array(_tasks(reading), path)
    notes = (f"the question is called {CONTROL!r}; a task's data hold its name as {OBJECT!r}",)
    return (*notes, "models are written as predictions; --predictions reads them") if models_of(reading) else notes


def _tasks(reading: Reading) -> Iterator[dict[str, Any]]:
    gold, models, number = gold_of(reading), models_of(reading), 0
    for task, found in by_task(reading.annotations):
        annotations: list[dict[str, Any]] = []
        for row in found:
            if row["worker"] not in models:
                number += 1
                annotations.append(_annotation(row, number))
        if task in gold:
            number += 1
            truth = {"id": number, "completed_by": None, "was_cancelled": False, "ground_truth": True}
            annotations.append(truth | {"result": result_of(gold[task])})
        predictions = [
            {
                "model_version": row["worker"].removeprefix("model:"),
                "score": row["confidence"],
                "result": result_of(row["label"]),
            }
            for row in found
            if row["worker"] in models
        ]
        yield {"id": _number(task), "data": {OBJECT: task}, "annotations": annotations, "predictions": predictions}


def _annotation(row: Row, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "completed_by": _number(row["worker"]),
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": row["duration"],
        "created_at": moment(row["time"]),
        "result": result_of(row["label"]),
    }


def _number(name: str) -> int | str:
    """Label Studio's ids are numbers; what is none stays text, exactly as it is."""
    return int(name) if name.isascii() and name.isdigit() and str(int(name[:18])) == name else name


def write_min(reading: Reading, path: Path) -> tuple[str, ...]:
    """JSON_MIN: one object an annotation."""
    write_json_array((_flat(row, i) for i, row in enumerate(rows(reading.annotations), 1)), path)
    return (f"read it with --question {CONTROL}",)


def write_csv(reading: Reading, path: Path) -> tuple[str, ...]:
    """Label Studio's CSV; a label that begins with a bracket is written as JSON, which it would be taken for."""
    flat = [_flat(row, i) for i, row in enumerate(rows(reading.annotations), 1)]
    for row in flat:
        if row[CONTROL][:1] in "[{":
            row[CONTROL] = json.dumps({"choices": [row[CONTROL]]}, ensure_ascii=False)
    to_csv(pl.DataFrame(flat, infer_schema_length=None), path)
    return (f"read it with --question {CONTROL}",)


def _flat(row: Row, number: int) -> dict[str, Any]:
    return {
        "id": row["task"],
        CONTROL: row["label"],
        "annotator": row["worker"],
        "annotation_id": number,
        "created_at": moment(row["time"]),
        "updated_at": moment(row["time"]),
        "lead_time": row["duration"],
    }
