"""A crowd with everything that files have: nulls, blanks, repeats, weights, times, silent tasks and workers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest


def messy(n: int = 900, seed: int = 0, **columns: bool) -> pl.DataFrame:
    """Rows in no order; `weight=True`, `time=True` add these columns."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    task = np.repeat(np.arange(n), 8)
    worker = rng.integers(60, size=len(task))
    said = np.where(rng.random(len(task)) < 0.55 + 0.4 * (worker % 3 > 0), truth[task], rng.integers(4, size=len(task)))
    labels = np.array(["ant", "bee", "cat", "dog"], dtype=object)[said]
    labels[rng.random(len(task)) < 0.02] = None
    frame = pl.DataFrame(
        {
            "task": [f"t{i}" for i in task],
            "worker": [f"w{i:03d}" for i in worker],
            "label": pl.Series(labels.tolist(), dtype=pl.String),
        }
    )
    if columns.get("weight"):
        frame = frame.with_columns(weight=pl.Series(np.round(rng.random(len(task)) * 2, 2)))
    if columns.get("time"):
        frame = frame.with_columns(time=pl.Series(rng.integers(10_000, size=len(task)).astype(float)))
    odd = pl.DataFrame(
        {
            "task": ["open1", "open2", None, "t5", " "],
            "worker": ["w001", None, "lurker", "silent", None],
            "label": [None, "ant", "bee", " ", None],
        }
    )
    for name in frame.columns[3:]:
        odd = odd.with_columns(pl.lit(1.0).alias(name))
    frame = pl.concat([frame, odd])
    return frame[rng.permutation(len(frame))]


def cut(frame: pl.DataFrame, folder, n: int = 5, kind: str = "parquet") -> str:
    """The rows as n files of a folder; a pattern that finds them in order."""
    folder.mkdir(exist_ok=True)
    step = -(-len(frame) // n)
    for i in range(n):
        part = frame[i * step : (i + 1) * step]
        getattr(part, {"parquet": "write_parquet", "csv": "write_csv", "jsonl": "write_ndjson"}[kind])(
            folder / f"v{i:02d}.{kind}"
        )
    return str(folder / f"v*.{kind}")


@pytest.fixture
def crowd():
    return messy()
