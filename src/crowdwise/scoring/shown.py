"""A saved result for people: its summary and the tables worth a look."""

from __future__ import annotations

import numpy as np

from ..core.result import Result
from ..kinds.numbers.estimate import NumberEstimate
from .outlook import outlook
from .scored import Table


def show_classes(result: Result) -> tuple[str, list[Table]]:
    """How right the labels are; classes and the least certain tasks."""
    table = result.scan()
    counts = dict(table.group_by("label").len().collect().iter_rows())
    names = result.classes.to_list()
    rows = [[str(c), f"{p:.3f}", f"{counts.get(c, 0):,}"] for c, p in zip(names, result.class_prior, strict=True)]
    some = table.select("task", "label", "confidence", "n_labels")
    doubtful = some.bottom_k(5, by="confidence").collect().sort("confidence", maintain_order=True)
    least = [[str(t), str(lab), f"{c:.3f}", str(n)] for t, lab, c, n in doubtful.iter_rows()]
    return outlook(result), [
        Table("Classes", ["class", "prior", "tasks"], rows[:30]),
        Table("Least certain tasks", ["task", "label", "confidence", "labels"], least),
    ]


def show_numbers(result: Result) -> tuple[str, list[Table]]:
    """The range of the estimates; the tasks with the widest intervals."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = np.nan_to_num((estimate.high - estimate.low) / np.maximum(estimate.value.std(axis=0), 1e-300), nan=-1.0)
    order = np.argsort(-width.max(axis=1), kind="stable")[:5] if len(estimate) else np.empty(0, dtype=np.int64)
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
