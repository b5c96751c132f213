"""A result as predictions for Label Studio: import the file, and people review what is least certain first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from .label_studio import CONTROL, OBJECT, result_of
from .rows import write_json_array

if TYPE_CHECKING:
    from ...result import Result


def write_predictions(result: Result, path: Path) -> tuple[str, ...]:
    """Tasks with one prediction each: `score` is the confidence, `model_version` the method."""
    write_json_array(_tasks(result), path)
    return (f"the control is called {CONTROL!r} and the data {OBJECT!r}; rename them to your project's",)


def _tasks(result: Result) -> Iterator[dict[str, Any]]:
    table = result.to_table().select(pl.col("task", "label").cast(pl.String), "confidence", "n_labels")
    for task, label, confidence, n in table.iter_rows():
        prediction = {"model_version": f"crowdwise:{result.method}", "score": confidence, "result": result_of(label)}
        yield {"data": {OBJECT: task, "task": task, "n_labels": n}, "predictions": [prediction]}
