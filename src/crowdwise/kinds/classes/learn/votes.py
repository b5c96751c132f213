"""What the crowd said, in whichever form it came: Annotations, or a wide matrix as scikit-learn's users have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ....core.errors import DataError
from ....core.vocabulary import as_series
from ....learn.data.dataset import FeatureError
from ..annotations import Annotations


def annotations_for(y: Any, tasks: Any, n: int) -> tuple[Annotations, pl.Series]:
    """Annotations and the names of the features' rows."""
    if isinstance(y, Annotations):
        names = y.tasks if tasks is None else as_series(tasks, "task")
        if tasks is None and len(names) != n:
            raise DataError(
                f"there are {n:,} rows of features for {len(names):,} tasks; say with tasks= which row is which"
            )
    else:
        names = pl.Series("task", np.arange(n) if tasks is None else tasks)
        y = _from_matrix(y, names, n)
    if len(names) != n:
        raise DataError(f"tasks= names {len(names):,} tasks, X has {n:,} rows")
    return y, names


def _from_matrix(y: Any, names: pl.Series, n: int) -> Annotations:
    """A wide matrix, one column a worker (missing: nan, None or -1), or one label a row and none missing."""
    if y is None:
        raise FeatureError(
            "CrowdClassifier requires y to be passed, but the target y is None; give what the crowd said"
        )
    matrix = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if matrix.ndim not in (1, 2) or len(matrix) != n:
        raise FeatureError(f"y has shape {matrix.shape} and X has {n:,} rows; one row a task is needed")
    if len(names) != n:
        raise DataError(f"tasks= names {len(names):,} tasks, X has {n:,} rows")
    wide = matrix.ndim == 2
    if matrix.dtype.kind == "f":
        said = matrix[np.isfinite(matrix)]
        if len(said) < matrix.size and (not wide or np.isinf(matrix).any()):
            raise FeatureError(
                "y contains NaN or infinity; a missing label is nan only in a matrix, one column a worker"
            )
        if (said != np.round(said)).any():
            raise FeatureError(
                f"Unknown label type: continuous, such as {said[said != np.round(said)][0]:g}; y names classes"
            )
    numbers = matrix.dtype.kind in "if"
    return Annotations.from_matrix(
        matrix if wide else matrix[:, None], tasks=names, missing=-1 if wide and numbers else None
    )
