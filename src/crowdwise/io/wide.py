"""Wide tables: one row a task, one column a worker, empty cells where nobody answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..errors import DataError
from ..vocabulary import as_series

Melted = tuple[pl.Series, pl.Series, pl.Series, pl.Series, pl.Series, tuple[str, ...]]


def melt(matrix: Any, tasks: Any, workers: Any, missing: Any) -> Melted:
    """(task, worker, label) columns of the filled cells, and all tasks and workers."""
    columns, names = _columns(matrix)
    n_tasks = len(columns[0]) if columns else 0
    all_tasks = pl.Series("task", np.arange(n_tasks)) if tasks is None else as_series(tasks, "task")
    all_workers = as_series(names if workers is None else workers, "worker")
    for what, given, size in (("tasks", all_tasks, n_tasks), ("workers", all_workers, len(columns))):
        if len(given) != size:
            raise DataError(f"the matrix has {size} {what} but {len(given)} names were given for them")
        if given.is_duplicated().any():
            raise DataError(
                f"the {what} of the matrix are not all different: {given.filter(given.is_duplicated())[0]!r}"
            )
    if columns and len({c.dtype for c in columns}) > 1:
        columns = [c.cast(pl.String) for c in columns]
    rows, who, said = [], [], []
    for j, column in enumerate(columns):
        filled = column.is_not_null()
        if missing is not None:
            filled &= (column != pl.Series([missing]).cast(column.dtype)[0]).fill_null(False)
        at = filled.arg_true().to_numpy()
        rows.append(at)
        who.append(np.full(len(at), j))
        said.append(column.gather(at).rename("label"))
    task = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    worker = np.concatenate(who) if who else np.empty(0, dtype=np.int64)
    label = pl.concat(said) if said else pl.Series("label", [], dtype=pl.String)
    cells = n_tasks * len(columns)
    notes = (
        f"a wide table of {n_tasks} tasks × {len(columns)} workers; {cells - len(label)} of {cells} cells are empty",
    )
    return all_tasks.gather(task), all_workers.gather(worker), label, all_tasks, all_workers, notes


def _columns(matrix: Any) -> tuple[list[pl.Series], list[Any]]:
    if isinstance(matrix, np.ndarray) or (isinstance(matrix, list) and not hasattr(matrix, "columns")):
        array = np.asarray(matrix)
        if array.ndim != 2:
            raise DataError(f"a wide matrix has two dimensions (tasks × workers), got shape {array.shape}")
        return [as_series(array[:, j], f"worker {j}") for j in range(array.shape[1])], list(range(array.shape[1]))
    from .frames import to_polars

    frame = to_polars(matrix)
    return [as_series(frame[name], name) for name in frame.columns], list(frame.columns)
