"""Conversion of the target of `fit`: Annotations, or a wide matrix as used with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ....learn.data.dataset import FeatureError, task_names
from ..annotations import Annotations


def annotations_for(y: Any, tasks: Any, n: int) -> tuple[Annotations, pl.Series]:
    """Return the target as annotations, and the names of the rows of the features."""
    if isinstance(y, Annotations):
        return y, task_names(y, tasks, n)
    names = task_names(None, tasks, n)
    return _from_matrix(y, names, n), names


def _from_matrix(y: Any, names: pl.Series, n: int) -> Annotations:
    """Convert a wide matrix with one column per worker (missing: nan, None or -1), or one label per row."""
    if y is None:
        raise FeatureError(
            "CrowdClassifier requires y to be passed, but the target y is None; pass the labels of the crowd"
        )
    matrix = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if matrix.ndim not in (1, 2) or len(matrix) != n:
        raise FeatureError(f"y has shape {matrix.shape} and X has {n:,} rows; one row per task is required")
    wide = matrix.ndim == 2
    if matrix.dtype.kind == "f":
        values = matrix[np.isfinite(matrix)]
        if len(values) < matrix.size and (not wide or np.isinf(matrix).any()):
            raise FeatureError(
                "y contains NaN or infinity; nan stands for a missing label only in a matrix with one column per worker"
            )
        if (values != np.round(values)).any():
            raise FeatureError(
                f"Unknown label type: continuous, such as {values[values != np.round(values)][0]:g}; y names classes"
            )
    numbers = matrix.dtype.kind in "if"
    return Annotations.from_matrix(
        matrix if wide else matrix[:, None], tasks=names, missing=-1 if wide and numbers else None
    )
