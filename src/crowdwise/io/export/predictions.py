"""A result as predictions for Label Studio: import the file, and people review what is least certain first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..formats.base import Control
from .label_studio import CONTROL, names_only, result_of
from .rows import OBJECT, as_id, write_json_array

if TYPE_CHECKING:
    from ...core.result import Result
    from ..reading import Reading


def write_predictions(result: Result, path: Path, original: Reading | None = None) -> tuple[str, ...]:
    """Tasks with one prediction each: `score` is the confidence, `model_version` the method.

    `original` is the export that the votes came from: its ids, data and control come back.
    """
    control = Control(CONTROL, OBJECT) if original is None or original.control is None else original.control
    found = _predictions(result, control)
    if original is None or original.items is None:
        write_json_array((_named(task, each) for task, each in found.items()), path)
        return (names_only(control),)
    write_json_array(_tasks(original, found), path)
    return (f"{len(found):,} tasks of the result are not in the original and are left out",) if found else ()


def _predictions(result: Result, control: Control) -> dict[str, tuple[int, dict[str, Any]]]:
    """task -> its number of labels and its prediction."""
    table = result.to_table().select(pl.col("task", "label").cast(pl.String), "confidence", "n_labels")
    by = f"crowdwise:{result.method}"
    return {
        task: (n, {"model_version": by, "score": confidence, "result": result_of(label, control)})
        for task, label, confidence, n in table.iter_rows()
    }


def _named(task: str, found: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return {"data": {OBJECT: task, "task": task, "n_labels": found[0]}, "predictions": [found[1]]}


def _tasks(original: Reading, found: dict[str, tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The original's tasks; what is left in `found` in the end is not among them."""
    for item in original.items() if original.items is not None else ():
        if item.name in found:
            yield {"id": as_id(item.id), "data": item.data, "predictions": [found.pop(item.name)[1]]}
