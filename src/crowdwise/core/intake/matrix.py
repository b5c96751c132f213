"""Convert wide tables (one row per task, one column per worker) to columns task, worker, label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError
from ..vocabulary import as_series
from .frames import to_polars

Melted = tuple[pl.Series, pl.Series, pl.Series, pl.Series, pl.Series, tuple[str, ...]]


def melt(matrix: Any, tasks: Any, workers: Any, missing: Any) -> Melted:
    """Return the columns task, worker, label of the filled cells, all tasks, all workers, and notes."""
    cells, n_tasks, names = _cells(matrix)
    n_workers = len(names)
    all_tasks = pl.Series("task", np.arange(n_tasks)) if tasks is None else as_series(tasks, "task")
    all_workers = as_series(names if workers is None else workers, "worker")
    _check_names("task", all_tasks, n_tasks)
    _check_names("worker", all_workers, n_workers)
    filled = cells.is_not_null()
    for value in missing if isinstance(missing, list | tuple) else (missing,):
        filled &= ~_equals(cells, value)
    positions = filled.arg_true().to_numpy()
    label = cells.gather(positions).rename("label")
    notes = (
        f"a wide table of {n_tasks} tasks × {n_workers} workers; {len(cells) - len(label)} of {len(cells)} cells "
        "are empty",
    )
    worker, task = np.divmod(positions, n_tasks) if n_tasks else (positions, positions)
    return all_tasks.gather(task), all_workers.gather(worker), label, all_tasks, all_workers, notes


def snorkel_classes(matrix: npt.NDArray[Any], cardinality: int | None) -> range:
    """Return the classes of Snorkel's label matrix, which is validated."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise DataError(f"L must be a matrix of integers, got {matrix.dtype} with shape {matrix.shape}")
    if matrix.size and matrix.min() < -1:
        raise DataError(f"L holds {matrix.min()}; only -1 (abstain) and classes from 0 up are allowed")
    top = int(matrix.max()) + 1 if matrix.size else 0
    if cardinality is not None and top > cardinality:
        raise DataError(f"L holds class {top - 1} but cardinality is {cardinality}")
    if cardinality is None and top > 1 << 16:  # all smaller classes exist too: a stray number would fill the memory
        raise DataError(f"L holds class {top - 1:,}; number the classes from 0 up, or pass their cardinality")
    return range(top if cardinality is None else cardinality)


def _check_names(what: str, names: pl.Series, size: int) -> None:
    if len(names) != size:
        raise DataError(f"the wide table has {size} {what}s but {len(names)} names were given for them")
    if names.null_count():
        row = int(names.is_null().arg_true()[0])
        raise DataError(f"{what} {row + 1} of the wide table has no name; give it one")
    if names.is_duplicated().any():
        repeated = names.filter(names.is_duplicated())[0]
        raise DataError(f"{what} {repeated!r} occurs more than once in the wide table; names must be unique")


def _cells(matrix: Any) -> tuple[pl.Series, int, list[Any]]:
    """Return all cells, worker by worker, in one type, so that a value has the same name in every column."""
    if isinstance(matrix, list | tuple):
        matrix = _as_array(matrix)
    if isinstance(matrix, np.ndarray):
        if matrix.ndim != 2:
            raise DataError(f"a wide matrix has two dimensions (tasks × workers), got shape {matrix.shape}")
        cells = as_series(matrix.ravel(order="F"), "label")
        return cells, matrix.shape[0], list(range(matrix.shape[1]))
    frame = to_polars(matrix)
    return _stack(frame.get_columns()), frame.height, list(frame.columns)


def _as_array(rows: Sequence[Any]) -> Any:
    widths = {len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in rows}
    if len(widths) > 1 or -1 in widths:
        raise DataError("a wide matrix has two dimensions (tasks × workers): give equally long rows, None where empty")
    array = np.empty((len(rows), widths.pop() if widths else 0), dtype=object)
    for i, row in enumerate(rows):
        array[i] = list(row)
    return array


def _stack(columns: list[pl.Series]) -> pl.Series:
    coded = [as_series(c, "label") for c in columns]
    if any(c.dtype.is_float() and new.dtype == pl.String for c, new in zip(columns, coded, strict=True)):
        # One column has fractions: whole numbers in the others are then written alike, 1.0 and not 1.
        coded = [
            c.cast(pl.Float64).fill_nan(None).cast(pl.String) if c.dtype.is_numeric() else new
            for c, new in zip(columns, coded, strict=True)
        ]
    kinds = {c.dtype for c in coded} - {pl.Null()}
    common = kinds.pop() if kinds in ({pl.Int64()}, {pl.Boolean()}) else pl.String()
    return pl.concat([c.cast(common).alias("label") for c in coded] or [pl.Series("label", [], dtype=pl.String)])


def _equals(cells: pl.Series, missing: Any) -> pl.Series:
    """Return which cells hold the value for a missing label."""
    none = pl.repeat(False, len(cells), eager=True)
    if missing is None or isinstance(missing, bool) != (cells.dtype == pl.Boolean):
        return none
    if cells.dtype == pl.String or isinstance(cells.dtype, pl.Categorical | pl.Enum):
        return (cells.cast(pl.String) == str(missing)).fill_null(False)
    if not isinstance(missing, int | float | np.number):
        return none
    return (cells == missing).fill_null(False)
