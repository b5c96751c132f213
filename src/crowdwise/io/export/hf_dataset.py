"""Write a result as a folder for Hugging Face `datasets`: Parquet with `label` (a ClassLabel) and `label_dist`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.errors import DataError, MissingDependencyError
from ...core.intake.frames import to_polars
from ...core.vocabulary import quote

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


def dataset_table(result: Result, data: Any = None) -> pl.DataFrame:
    """Return the columns of a data set: those of `data` (a table with a column `task`), and those of the labels."""
    table = None if data is None else to_polars(data)
    if table is not None and "task" not in table.columns:
        raise DataError(f"the data have no column 'task'; they have {quote(table.columns, 8)}")
    soft = result.soft_labels(None if table is None else table["task"])
    columns = {
        "task": soft.tasks.cast(pl.String),
        "label": pl.Series(soft.label).cast(pl.Int64),
        "label_dist": pl.Series(soft.p.tolist(), dtype=pl.List(pl.Float64)),
        "confidence": soft.weight,
        "n_votes": soft.n_labels,
    }
    if table is None:
        return pl.DataFrame(columns)
    taken = [name for name in columns if name != "task" and name in table.columns]
    if taken:
        raise DataError(f"the data have columns {quote(taken)}, which the labels need; rename them")
    return pl.DataFrame({**columns, **{name: table[name] for name in table.columns if name != "task"}})


def to_dataset(result: Result, data: Any = None) -> Any:
    """Return a `datasets.Dataset` with these columns, whose `label` is a ClassLabel."""
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise MissingDependencyError(
            "to_dataset needs the package datasets of Hugging Face: pip install datasets; without it, "
            "result.soft_labels().to_table() holds the same, and crowdwise convert RUN --to hf_dataset writes its files"
        ) from None
    table = dataset_table(result, data)
    dataset = datasets.Dataset(table.to_arrow())
    return dataset.cast_column("label", datasets.ClassLabel(names=result.classes.cast(pl.String).to_list()))


def write_dataset(result: Result, path: Path) -> tuple[str, ...]:
    """Write data/train-00000-of-00001.parquet, and README.md with the features, for `load_dataset(folder)`."""
    names, frame = result.classes.cast(pl.String).to_list(), dataset_table(result)
    (path / "data").mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path / "data" / "train-00000-of-00001.parquet")
    listed = "\n".join(f"          '{i}': {json.dumps(name, ensure_ascii=False)}" for i, name in enumerate(names))
    card = _CARD.format(names=listed, n=len(frame), k=len(names), method=result.method)
    (path / "README.md").write_text(card, encoding="utf-8")
    return ()
