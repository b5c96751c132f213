"""Pairs of task and worker that may be asked, as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.intake.frames import to_polars
from ..kinds.classes.annotations import Annotations

I8 = npt.NDArray[np.int64]


def table_of(pairs: Any) -> pl.DataFrame:
    """task and worker as texts, each pair once, of a table with these columns or of (task, worker) tuples."""
    if isinstance(pairs, list | tuple | set | frozenset):
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise DataError("pairs must be (task, worker) tuples, or a table with the columns task and worker")
        told = [(str(task), str(worker)) for task, worker in pairs]
        table = pl.DataFrame(told, schema={"task": pl.String, "worker": pl.String}, orient="row")
    else:
        table = to_polars(pairs)
    for name in ("task", "worker"):
        if name not in table.columns:
            raise DataError(f"pairs: there is no column {name}; it has {', '.join(table.columns)}")
    found = table.select(pl.col("task", "worker").cast(pl.String)).unique().sort("task", "worker")
    if found.null_count().sum_horizontal().sum():
        raise DataError("pairs: a row lacks its task or its worker; fill it in, or leave it out")
    return found


def coded(table: pl.DataFrame, votes: Annotations, workers: list[Any]) -> tuple[I8, I8]:
    """(task, place in `workers`) of each pair; pairs of others than these workers are left out."""
    tasks = pl.DataFrame({"task": votes.tasks.cast(pl.String), "t": np.arange(votes.n_tasks)})
    names = pl.Series("worker", [str(name) for name in workers], dtype=pl.String)
    crew = pl.DataFrame({"worker": names, "w": np.arange(len(workers))})
    found = table.join(tasks, on="task", how="left")
    lost = found.filter(pl.col("t").is_null())
    if len(lost):
        rows = f"{len(lost):,} rows name tasks" if len(lost) > 1 else "a row names a task"
        raise DataError(f"pairs: {rows} without a place among the votes (first: {lost['task'][0]!r}); leave them out")
    kept = found.join(crew, on="worker", how="inner")
    if not len(kept):
        raise DataError("pairs: none of them has a worker who may be asked; name others, or leave pairs out")
    return kept["t"].to_numpy().astype(np.int64), kept["w"].to_numpy().astype(np.int64)
