"""Write a result as a folder for Hugging Face `datasets`: Parquet with `label` (a ClassLabel) and `label_dist`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from ...core.result import Result

# `datasets` reads the features from the header of README.md; class names are quoted as JSON, which is valid YAML.
_CARD = """---
dataset_info:
  features:
  - name: task
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
{names}
  - name: label_dist
    sequence: float64
  - name: confidence
    dtype: float64
  - name: n_votes
    dtype: int64
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
---
# Labels by crowdwise
{n:,} tasks, {k} classes, method {method}.
"""


def write_dataset(result: Result, path: Path) -> tuple[str, ...]:
    """Write data/train-00000-of-00001.parquet, and README.md with the features, for `load_dataset(folder)`."""
    names = result.classes.cast(pl.String).to_list()
    frame = pl.DataFrame(
        {
            "task": result.tasks.cast(pl.String),
            "label": pl.Series(result.labels).cast(pl.Int64),
            "label_dist": pl.Series(result.posterior.tolist(), dtype=pl.List(pl.Float64)),
            "confidence": result.confidence,
            "n_votes": result.labels_per_task,
        }
    )
    (path / "data").mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path / "data" / "train-00000-of-00001.parquet")
    listed = "\n".join(f"          '{i}': {json.dumps(name, ensure_ascii=False)}" for i, name in enumerate(names))
    card = _CARD.format(names=listed, n=len(frame), k=len(names), method=result.method)
    (path / "README.md").write_text(card, encoding="utf-8")
    return ()
