"""Write a result as predictions for Label Studio, where annotators can review the least certain tasks first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats.base import Control
from .label_studio import names_only, own_control, result_of
from .rows import OBJECT, as_id, as_text, write_json_array

if TYPE_CHECKING:
    from ...core.result import Result
    from ..reading import Reading


def write_predictions(result: Result, path: Path, original: Reading | None = None) -> tuple[str, ...]:
    """Write tasks with one prediction each: `score` is the confidence (of a class), `model_version` the method.

    `original` is the export that the votes came from, whose ids, data and control are kept.
    """
    control = own_control(result.kind) if original is None or original.control is None else original.control
    predictions = _predictions(result, control)
    write_json_array(prediction_tasks(predictions, original), path)
    if original is None or original.items is None:
        return (names_only(control),)
    left = (
        (f"{len(predictions):,} tasks of the result are not in the original and are left out",) if predictions else ()
    )
    rounded = control.kind == "rating" and "confidence" not in result.to_table().columns
    return (*left, "estimates are rounded to whole stars, which is all that a rating holds") if rounded else left


def _predictions(result: Result, control: Control) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return task -> (further data, prediction)."""
    table, answer = result.to_table(), next(iter(result.kind.columns))
    answers = table[answer].round() if control.kind == "rating" and table[answer].dtype.is_float() else table[answer]
    facts = table.select("n_labels", "^low$", "^high$").fill_nan(None).iter_rows(named=True)
    scores = table["confidence"].to_list() if "confidence" in table.columns else [None] * len(table)
    predictions = {}
    for task, label, score, data in zip(as_text(table["task"]), as_text(answers), scores, facts, strict=True):
        prediction = {"model_version": f"crowdwise:{result.method}", "result": result_of(label, control)}
        predictions[task] = (data, prediction if score is None else prediction | {"score": score})
    return predictions


def prediction_tasks(
    predictions: dict[str, tuple[dict[str, Any], dict[str, Any]]], original: Reading | None
) -> Iterator[dict[str, Any]]:
    """Yield tasks with predictions, of task -> (further data, prediction).

    If the original has tasks, its tasks are written, and their predictions are removed from `predictions`.
    """
    if original is None or original.items is None:
        for task, (data, prediction) in predictions.items():
            yield {"data": {OBJECT: task, "task": task, **data}, "predictions": [prediction]}
        return
    for item in original.items():
        if item.name in predictions:
            yield {"id": as_id(item.id), "data": item.data, "predictions": [predictions.pop(item.name)[1]]}
