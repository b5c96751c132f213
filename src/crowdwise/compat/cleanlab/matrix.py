"""Convert cleanlab's inputs (wide matrices with NaN, long tables) to annotations and pandas indexes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from ...core.arrays import F8
from ...core.errors import CrowdwiseWarning
from ...core.ledger import Ledger
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.methods.ensemble.crowdlab import between_0_and_1
from .errors import LabelsError


@dataclass(frozen=True)
class Labels:
    """`votes` over classes 0..K-1; `examples` and `annotators` index cleanlab's tables; `names` are the class names."""

    votes: Annotations
    examples: pd.Index
    annotators: pd.Index
    names: pd.Index | None = None

    def named(self, codes: Any) -> Any:
        """Convert class codes to the user's labels."""
        return np.asarray(codes) if self.names is None else self.names.take(codes).to_numpy()


def read(labels: Any, n_classes: int | None) -> Labels:
    """Read a wide array or frame, a long frame (task, annotator or worker, label), or Annotations."""
    if isinstance(labels, Annotations):
        return _of(labels, n_classes)
    if isinstance(labels, pd.DataFrame) and {"task", "label"} <= set(labels.columns):
        worker_column = next((name for name in ("annotator", "worker") if name in labels.columns), None)
        if worker_column is not None:
            columns = {"task": "task", "worker": worker_column, "label": "label"}
            return _of(Annotations.from_frame(labels, columns=columns), n_classes)
    if isinstance(labels, pd.DataFrame):
        return _wide(_numbers(labels), labels.index, labels.columns, n_classes)
    if isinstance(labels, np.ndarray) and labels.ndim == 2:
        wide = labels.astype(np.float64) if labels.dtype.kind in "biuf" else _numbers(pd.DataFrame(labels))
        return _wide(wide, None, None, n_classes)
    raise LabelsError(
        "labels_multiannotator must be a 2D array or dataframe with one row per example and one column per annotator, "
        f"a long table task, annotator, label, or Annotations, got {type(labels).__name__}"
        + (f" of {labels.ndim} dimensions" if isinstance(labels, np.ndarray) else "")
    )


def probabilities(pred_probs: Any, *, ensemble: bool, name: str = "pred_probs") -> F8:
    """Return probs[model, example, class]; without `ensemble` the input is of a single model."""
    try:
        probs = np.asarray(pred_probs, dtype=np.float64)
    except (TypeError, ValueError):
        raise LabelsError(f"{name} must be an array of numbers, got {type(pred_probs).__name__}") from None
    n_dims = 3 if ensemble else 2
    if probs.ndim != n_dims:
        hint = {2: "; use the non-ensemble version of this function", 3: "; use the ensemble version of this function"}
        raise LabelsError(f"{name} must have {n_dims} dimensions, it has {probs.ndim}{hint.get(probs.ndim, '')}")
    if 0 in probs.shape[:1] + probs.shape[-1:]:
        raise LabelsError(f"{name} must have one column per class, its shape is {probs.shape}")
    return between_0_and_1(probs if ensemble else probs[None])


def _numbers(frame: pd.DataFrame) -> F8:
    """Convert to class numbers, with NaN for None, NaN and pd.NA. Text is refused: "1" may be a name."""
    if all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    if frame.map(lambda value: isinstance(value, str)).any(axis=None):
        raise LabelsError(
            "labels must be whole numbers from 0 up that stand for classes, not text; "
            "format_multiannotator_labels turns names into numbers"
        )
    try:
        return np.asarray(frame.astype(object).where(frame.notna(), np.nan).to_numpy(dtype=np.float64))
    except (TypeError, ValueError):
        raise LabelsError("labels must be whole numbers from 0 up that stand for classes, or missing") from None


def _wide(matrix: F8, index: Any, columns: Any, n_classes: int | None) -> Labels:
    task, worker = np.nonzero(~np.isnan(matrix))
    label = matrix[task, worker]
    if len(label) and ((label != np.floor(label)).any() or label.min() < 0):
        raise LabelsError("labels must be whole numbers from 0 up that stand for classes; encode them first")
    k = _columns(int(label.max(initial=-1)) + 1, n_classes)
    n, m = matrix.shape
    tasks, workers, classes = (
        pl.Series(name, np.arange(size)) for name, size in (("task", n), ("worker", m), ("label", k))
    )
    codes = label.astype(np.int32)
    ledger = Ledger(len(codes), len(codes))
    votes = Annotations(task.astype(np.int32), worker.astype(np.int32), codes, tasks, workers, classes, ledger=ledger)
    return Labels(votes, _or_range(index, n), _or_range(columns, m))


def _columns(needed: int, n_columns: int | None) -> int:
    """Return the number of classes; raise if the probabilities lack a class that the labels name."""
    if n_columns is not None and needed > n_columns:
        raise LabelsError(
            f"pred_probs must have at least {needed} columns, as labels name class {needed - 1}; it has {n_columns}"
        )
    return needed if n_columns is None else n_columns


def _or_range(index: Any, size: int) -> pd.Index:
    return pd.RangeIndex(size) if index is None else index


def _of(votes: Annotations, n_classes: int | None) -> Labels:
    """Convert annotations: whole numbers are classes 0..K-1, as in cleanlab; other labels are sorted."""
    names = None
    if votes.weight is not None:
        raise LabelsError("CROWDLAB does not support weights of labels; leave the column out")
    if votes.classes.dtype.is_integer():
        low, high = (int(bound) for bound in (votes.classes.min() or 0, votes.classes.max() or 0))  # type: ignore[arg-type]
        if low < 0:
            raise LabelsError(f"labels that are numbers must be classes from 0 up, got {low}")
        votes = votes.with_labels(votes.label, votes.classes.cast(pl.Int64))
        votes = votes.with_classes(range(_columns(high + 1, n_classes)))
    elif n_classes is not None and votes.n_classes != n_classes:
        raise LabelsError(f"pred_probs has {n_classes} columns but the labels name {votes.n_classes} classes")
    else:
        names = pd.Index(votes.classes.to_list())
    return Labels(votes, pd.Index(votes.tasks.to_list()), pd.Index(votes.workers.to_list()), names)


def check(labels: Labels, probs: F8 | None = None, *, single: bool = False) -> None:
    """Raise if CROWDLAB cannot be applied: examples without labels or, unless `single`, no example with two labels."""
    n = labels.votes.labels_per_task
    empty = np.flatnonzero(n == 0)
    if len(empty):
        shown = ", ".join(map(str, labels.examples[empty[:5]])) + (", ..." if len(empty) > 5 else "")
        raise LabelsError(
            f"labels_multiannotator cannot have rows with all NaN: Examples [{shown}] do not have any labels. Leave "
            f"out these {len(empty)} (crowdwise.classes.crowdlab takes them)"
        )
    if probs is not None and probs.shape[1] != len(n):
        raise LabelsError(f"pred_probs must have one row per example, {len(n)}, it has {probs.shape[1]}")
    if single:
        return
    if (n == 1).all():
        raise LabelsError("Each example only has one label; CROWDLAB needs examples with two labels or more")
    if len(n) and labels.votes.votes.max() < 2:
        warnings.warn(
            "Annotators do not agree on any example; are the columns from the same annotators?",
            CrowdwiseWarning,
            stacklevel=4,
        )
