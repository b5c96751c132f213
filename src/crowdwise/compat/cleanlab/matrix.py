"""What cleanlab's users have, a wide matrix with NaN for nothing or a long table, as annotations and pandas indexes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from ...annotations import Annotations
from ...errors import DataError, ParameterError
from ...ledger import Ledger


class LabelsError(DataError, ValueError):
    """A DataError that code written for cleanlab catches as ValueError."""


@dataclass(frozen=True)
class Labels:
    """`votes` over classes 0..K-1; `examples`, `annotators` index cleanlab's tables; `names` are the classes' own."""

    votes: Annotations
    examples: pd.Index
    annotators: pd.Index
    names: pd.Index | None = None

    def named(self, codes: Any) -> Any:
        """Class codes as the user writes them."""
        return np.asarray(codes) if self.names is None else self.names.take(codes).to_numpy()


def read(labels: Any, n_classes: int | None) -> Labels:
    """From a wide array or frame, a long frame (task, annotator or worker, label), or Annotations."""
    if isinstance(labels, Annotations):
        return _of(labels, n_classes)
    if isinstance(labels, pd.DataFrame) and {"task", "label"} <= set(labels.columns):
        who = next((name for name in ("annotator", "worker") if name in labels.columns), None)
        if who is not None:
            return _of(
                Annotations.from_frame(labels, columns={"task": "task", "worker": who, "label": "label"}), n_classes
            )
    if isinstance(labels, pd.DataFrame):
        return _wide(labels.to_numpy(dtype=np.float64, na_value=np.nan), labels.index, labels.columns, n_classes)
    if isinstance(labels, np.ndarray) and labels.ndim == 2:
        return _wide(labels.astype(np.float64), None, None, n_classes)
    raise LabelsError(
        "labels_multiannotator must be a matrix (numpy or pandas) with one row an example and one column an annotator, "
        f"a long table task, annotator, label, or Annotations, got {type(labels).__name__}"
    )


def _wide(matrix: Any, index: Any, columns: Any, n_classes: int | None) -> Labels:
    task, worker = np.nonzero(~np.isnan(matrix))
    label = matrix[task, worker]
    top = int(label.max(initial=-1)) + 1
    k = top if n_classes is None else n_classes
    if len(label) and ((label != np.floor(label)).any() or label.min() < 0):
        raise LabelsError("labels must be whole numbers from 0 up that stand for classes; encode them first")
    if top > k:
        raise LabelsError(f"pred_probs must have at least {top} columns, as labels name class {top - 1}; it has {k}")
    n, m = matrix.shape
    tasks, workers, classes = (
        pl.Series(name, np.arange(size)) for name, size in (("task", n), ("worker", m), ("label", k))
    )
    said = label.astype(np.int32)
    ledger = Ledger(len(said), len(said))
    votes = Annotations(task.astype(np.int32), worker.astype(np.int32), said, tasks, workers, classes, ledger=ledger)
    return Labels(votes, _or_range(index, n), _or_range(columns, m))


def _or_range(index: Any, size: int) -> pd.Index:
    return pd.RangeIndex(size) if index is None else index


def _of(votes: Annotations, n_classes: int | None) -> Labels:
    """Long data: whole numbers 0..K-1 are classes themselves, other labels are classes in sorted order."""
    names = None
    k = votes.n_classes if n_classes is None else n_classes
    if votes.classes.dtype == pl.Int64 and votes.n_classes and votes.classes.min() >= 0 and votes.classes.max() < k:  # type: ignore[operator]
        votes = votes.with_classes(range(k))
    elif votes.n_classes != k:
        raise LabelsError(f"pred_probs has {k} columns but the labels name {votes.n_classes} classes")
    else:
        names = pd.Index(votes.classes.to_list())
    return Labels(votes, pd.Index(votes.tasks.to_list()), pd.Index(votes.workers.to_list()), names)


def check(labels: Labels) -> None:
    """Refuse what CROWDLAB cannot weigh: examples without labels, and crowds in which nobody meets anybody."""
    n = labels.votes.labels_per_task
    if (n == 0).any():
        raise LabelsError(
            f"{(n == 0).sum()} examples have no label, the first is {labels.examples[int((n == 0).argmax())]!r}; "
            "leave them out (crowdwise.crowdlab takes them)"
        )
    if (n == 1).all():
        raise LabelsError("Each example only has one label; CROWDLAB needs examples with two labels or more")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
