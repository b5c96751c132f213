"""Write votes, or the labels and probabilities of a result, as plain tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from ...core.result import Result
from ..csv.cells import to_csv
from ..reading import Reading


def table_of(source: Reading | Result) -> pl.DataFrame:
    """Return one row per vote (task, worker, the answer, numbers, gold, sources), or one per task of a result."""
    if isinstance(source, Result):
        return source.to_table()
    text = pl.col("task", "worker", "^label$").cast(pl.String)
    frame: pl.DataFrame = source.annotations.to_frame().with_columns(text, pl.selectors.float().fill_nan(None))
    if source.gold is not None:
        gold = source.gold.select(pl.col("task").cast(pl.String), pl.col("label").alias("gold"))
        frame = frame.join(gold, on="task", how="left", maintain_order="left")
    if source.workers is not None:
        frame = frame.join(source.workers, on="worker", how="left", maintain_order="left")
    return frame


def write_csv(source: Reading | Result, path: Path) -> tuple[str, ...]:
    """Write CSV."""
    to_csv(table_of(source), path)
    return ()


def write_tsv(source: Reading | Result, path: Path) -> tuple[str, ...]:
    """Write TSV."""
    to_csv(table_of(source), path, separator="\t")
    return ()


def write_jsonl(source: Reading | Result, path: Path) -> tuple[str, ...]:
    """Write JSONL."""
    table_of(source).write_ndjson(path)
    return ()


def write_parquet(source: Reading | Result, path: Path) -> tuple[str, ...]:
    """Write Parquet."""
    table_of(source).write_parquet(path)
    return ()


def write_soft_labels(result: Result, path: Path) -> tuple[str, ...]:
    """Write .npz with task [n], classes [k], label [n] (codes), label_dist [n, k] and n_labels [n], without objects."""
    with path.open("wb") as file:
        np.savez_compressed(
            file,
            task=np.array(result.tasks.cast(pl.String).to_list(), dtype=np.str_),
            classes=np.array(result.classes.cast(pl.String).to_list(), dtype=np.str_),
            label=result.labels,
            label_dist=result.posterior,
            n_labels=result.labels_per_task,
        )
    return ()
