"""Write the labels and probabilities of a result, one row per task, for spreadsheets, programs and training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..csv.cells import to_csv

if TYPE_CHECKING:
    from ...core.result import Result


def write_csv(result: Result, path: Path) -> tuple[str, ...]:
    """Write CSV: task, label, confidence, entropy, n_labels, p_<class>..."""
    to_csv(result.to_table(), path)
    return ()


def write_jsonl(result: Result, path: Path) -> tuple[str, ...]:
    """Write JSONL with the same columns."""
    result.to_table().write_ndjson(path)
    return ()


def write_parquet(result: Result, path: Path) -> tuple[str, ...]:
    """Write Parquet with the same columns."""
    result.to_table().write_parquet(path)
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
