"""Write votes as plain tables: task, worker, the answer, and the numbers, gold and sources that came with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ..csv.cells import to_csv

if TYPE_CHECKING:
    from ..reading import Reading


def table_of(reading: Reading) -> pl.DataFrame:
    """Return one row per vote."""
    text = pl.col("task", "worker", "^label$").cast(pl.String)
    frame: pl.DataFrame = reading.annotations.to_frame().with_columns(text, pl.selectors.float().fill_nan(None))
    if reading.gold is not None:
        gold = reading.gold.select(pl.col("task").cast(pl.String), pl.col("label").alias("gold"))
        frame = frame.join(gold, on="task", how="left", maintain_order="left")
    if reading.workers is not None:
        frame = frame.join(reading.workers, on="worker", how="left", maintain_order="left")
    return frame


def write_csv(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write CSV."""
    to_csv(table_of(reading), path)
    return ()


def write_tsv(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write TSV."""
    to_csv(table_of(reading), path, separator="\t")
    return ()


def write_jsonl(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write JSONL."""
    table_of(reading).write_ndjson(path)
    return ()


def write_parquet(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write Parquet."""
    table_of(reading).write_parquet(path)
    return ()
