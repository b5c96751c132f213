"""A result's labels and probabilities, one row a task: for spreadsheets, programs and training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..csv.cells import to_csv

if TYPE_CHECKING:
    from ...core.result import Result


def write_csv(result: Result, path: Path) -> tuple[str, ...]:
    """task, label, confidence, entropy, n_labels, p_<class>..."""
    to_csv(result.to_table(), path)
    return ()


def write_jsonl(result: Result, path: Path) -> tuple[str, ...]:
    """The same, an object per line."""
    result.to_table().write_ndjson(path)
    return ()


def write_parquet(result: Result, path: Path) -> tuple[str, ...]:
    """The same."""
    result.to_table().write_parquet(path)
    return ()


def write_soft_labels(result: Result, path: Path) -> tuple[str, ...]:
    """.npz with task [n], classes [k], label [n] (codes), label_dist [n, k] and n_labels [n]; no objects in it."""
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
