"""The open sets with numeric answers and truth, as arrays."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from crowdwise.kinds.numbers.maths.rows import NumberRows
from tests.data import data_folder

SETS = (
    "affect_anger", "affect_disgust", "affect_fear", "affect_surprise", "affect_valence", "moviereviews",
    "num_calories", "num_dots",
)  # fmt: skip
# Classes 0 to 3 read as numbers: three of its workers say nearly always the same, thousands of times.
CONSTANT = "relevance4"


@cache
def load(name: str) -> tuple[NumberRows, np.ndarray]:
    """Rows and truth[task], NaN where it is not known."""
    folder = data_folder() / name
    columns = [pl.col("task").cast(pl.String), pl.col("label").cast(pl.Float64)]
    votes = pl.read_csv(folder / "labels.csv").select(*columns, pl.col("worker").cast(pl.String))
    tasks, workers = votes["task"].unique().sort(), votes["worker"].unique().sort()
    task, worker = (
        votes[name].replace_strict(seen, np.arange(len(seen))).to_numpy().astype(np.int32)
        for name, seen in (("task", tasks), ("worker", workers))
    )
    order = np.lexsort((worker, task))
    rows = NumberRows(task[order], worker[order], votes["label"].to_numpy()[order], None, len(tasks), len(workers))
    truth = pl.read_csv(folder / "truth.csv").select(columns).unique("task")
    known = pl.DataFrame({"task": tasks}).join(truth, on="task", how="left", maintain_order="left")["label"]
    return rows, known.fill_null(np.nan).to_numpy()


def score(estimate: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Root mean squared error in units of the truth's standard deviation, and Pearson's r."""
    known = ~np.isnan(truth)
    x, y = estimate[known], truth[known]
    return float(np.sqrt(np.mean((x - y) ** 2)) / y.std()), float(np.corrcoef(x, y)[0, 1])
