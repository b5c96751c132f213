"""Write votes in Label Studio's export formats: JSON, JSON_MIN, CSV.

Votes that came from an export of Label Studio keep their tasks' ids and data and the name and type of the control.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..csv.cells import to_csv
from ..formats.base import Control
from ..formats.label_studio import KINDS, MARKS
from ..formats.marks import code_units
from .rows import OBJECT, Row, as_id, as_number, by_item, gold_of, models_of, moment, write_json_array

if TYPE_CHECKING:
    from ...core.kind import Kind
    from ..reading import Reading

# kind of answers -> type of control, if the file had none
CONTROLS = {"classes": "choices", "numbers": "number", "sets": "choices", "spans": MARKS, "texts": "textarea",
            "comparisons": "pairwise", "boxes": "rectanglelabels", "outlines": "polygonlabels"}  # fmt: skip
# kinds whose answers are lists
LISTS = ("sets",)
# A single bar between joined choices; a bar inside a choice is doubled.
_JOINT = re.compile(r"(?<!\|)\|(?!\|)")


def control_of(reading: Reading) -> Control:
    """Return the control of the file, or a default one."""
    kind = reading.annotations.kind
    return replace(reading.control or own_control(kind), lists=kind.name in LISTS)


def own_control(kind: Kind) -> Control:
    """Return a control named after the column of such answers."""
    return Control(next(iter(kind.columns)), OBJECT, CONTROLS[kind.name])


def result_of(label: str, control: Control, data: Any = None) -> list[dict[str, Any]]:
    """Return the results of one answer; `data` holds the task's text, to which spans refer."""
    if control.kind == MARKS:
        head = {"from_name": control.from_name, "to_name": control.to_name, "type": MARKS}
        shown = data.get(control.to_name, data.get(OBJECT)) if isinstance(data, dict) else None
        return [{**head, "value": _mark(mark, shown)} for mark in json.loads(label)]
    if control.kind == "textarea":
        head = {"from_name": control.from_name, "to_name": control.to_name, "type": control.kind}
        return [{**head, "value": {"text": [label]}}]
    value = _value(label, control)
    kind = next(iter(value))  # the type of control is the key of its value
    return [{"from_name": control.from_name, "to_name": control.to_name, "type": kind, "value": value}]


def _mark(mark: list[Any], shown: Any) -> dict[str, Any]:
    """Return a span with offsets of UTF-16 code units."""
    text = shown if isinstance(shown, str) and len(shown) >= mark[1] else None
    start, end = code_units(text, mark[0], mark[1])
    value: dict[str, Any] = {"start": start, "end": end, MARKS: mark[2:]}
    return value if text is None else value | {"text": text[mark[0] : mark[1]]}


def _value(label: str, control: Control) -> dict[str, Any]:
    choices = [choice.replace("||", "|") for choice in _JOINT.split(label)] if control.joined else [label]
    if control.lists:
        choices = json.loads(label)
    if control.kind == "taxonomy":
        return {"taxonomy": [choice.split(" / ") for choice in choices]}
    if control.kind in KINDS:
        try:
            return {control.kind: as_number(label)}
        except ValueError:
            pass  # joined choices, or not a number
    return {"choices": choices}


def write_tasks(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write Label Studio's JSON: tasks with annotations, gold as ground truth, models as predictions."""
    write_json_array(_tasks(reading, control_of(reading)), path)
    notes = () if reading.items is not None else (names_only(control_of(reading)),)
    return (*notes, "models are written as predictions; --predictions reads them") if models_of(reading) else notes


def names_only(control: Control) -> str:
    """Return the note for tasks without data."""
    return (
        f"the control is called {control.from_name!r}, and a task's data hold its name as {OBJECT!r}; --original FILE, "
        "the export that the votes came from, brings back ids, data and control"
    )


def _tasks(reading: Reading, control: Control) -> Iterator[dict[str, Any]]:
    gold, models, number = gold_of(reading), models_of(reading), 0
    for item, rows in by_item(reading):
        annotations: list[dict[str, Any]] = []
        for row in rows:
            if row["worker"] not in models:
                number += 1
                annotations.append(annotation_of(row, number, result_of(row["label"], control, item.data)))
        if item.name in gold:
            number += 1
            truth = {"id": number, "completed_by": None, "was_cancelled": False, "ground_truth": True}
            annotations.append(truth | {"result": result_of(gold[item.name], control, item.data)})
        predictions = [
            {
                "model_version": row["worker"].removeprefix("model:"),
                "score": row["confidence"],
                "result": result_of(row["label"], control, item.data),
            }
            for row in rows
            if row["worker"] in models
        ]
        yield {"id": as_id(item.id), "data": item.data, "annotations": annotations, "predictions": predictions}


def annotation_of(row: Row, number: int, result: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an annotation with these results."""
    return {
        "id": number,
        "completed_by": as_id(row["worker"]),
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": row["duration"],
        "created_at": moment(row["time"]),
        "result": result,
    }


def write_min(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write JSON_MIN: one object per annotation."""
    write_json_array(_flat(reading), path)
    return (f"read it with --question {control_of(reading).from_name}",)


def write_csv(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write Label Studio's CSV; a label that begins with a bracket is written as JSON, as which it would be read."""
    name = control_of(reading).from_name
    flat = list(_flat(reading))
    for row in flat:
        if isinstance(row[name], str) and row[name][:1] in "[{":
            row[name] = json.dumps({"choices": [row[name]]}, ensure_ascii=False)
        for key, value in row.items():
            if isinstance(value, dict | list):
                row[key] = json.dumps(value, ensure_ascii=False)
    names = list(dict.fromkeys(key for row in flat for key in row))
    to_csv(pl.DataFrame({key: pl.Series([row.get(key) for row in flat], strict=False) for key in names}), path)
    return (f"read it with --question {name}",)


def _flat_value(label: str, control: Control) -> Any:
    if control.lists:
        return _value(label, control)
    return [_value(label, control)] if control.kind in KINDS else label


def _flat(reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield one mapping per annotation: the task's data, if the file has them, and the answer."""
    control, number = control_of(reading), 0
    for item, rows in by_item(reading):
        data = {} if reading.items is None else item.data
        for row in rows:
            number += 1
            yield {
                **data,
                "id": row["task"] if reading.items is None else item.id,
                control.from_name: _flat_value(row["label"], control),
                "annotator": row["worker"],
                "annotation_id": number,
                "created_at": moment(row["time"]),
                "updated_at": moment(row["time"]),
                "lead_time": row["duration"],
            }
