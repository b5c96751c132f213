"""Links from features: every task with those most like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...core.vocabulary import as_series
from ...maths.graphs.neighbours import neighbours


def neighbour_links(tasks: Any, features: Any, k: int = 10) -> pl.DataFrame:
    """A table task, other: each task linked to the k whose features are most like its own.

    Columns are standardised, and features are compared by the cosine of the angle between them. The work grows with the
    square of the number of tasks.

    >>> neighbour_links(["a", "b", "c"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], k=1).height
    3
    """
    names = as_series(tasks, "task")
    x = np.asarray(features, dtype=np.float64)
    if x.ndim < 2 or len(x) != len(names):
        raise DataError(f"{len(names)} tasks need a matrix with as many rows of features, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise DataError("features must be finite numbers; fill in what is missing")
    if k < 1:
        raise DataError(f"k must be at least 1, got {k}")
    found = neighbours(x, k)
    one = np.repeat(np.arange(len(names)), found.shape[1])
    return pl.DataFrame({"task": names.gather(one), "other": names.gather(found.ravel())})
