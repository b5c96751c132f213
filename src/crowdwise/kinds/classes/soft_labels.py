"""Soft labels: the posterior as targets for training a classifier, in the order of its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError, ParameterError
from ...core.result import Result
from ...core.vocabulary import as_series, lookup, quote


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels:
    """Targets for training, one row per task.

    Attributes:
        tasks: The tasks, in the order that was asked for.
        classes: Names of the classes, in the order of the columns of `p`.
        p: p[task, class], the probability of each class; rows sum to one.
        label: Code of the most probable class of each task.
        n_labels: Number of labels of each task.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 1, 2], ["a", "b", "c", "a"], ["x", "x", "y", "y"])
    >>> soft = cw.MajorityVote().fit(votes).soft_labels()
    >>> soft.p.round(2).tolist()
    [[0.67, 0.33], [0.0, 1.0]]
    >>> rows, label, weight = soft.expand()
    >>> rows.tolist(), label.tolist(), weight.round(2).tolist()
    ([0, 0, 1], ['x', 'y', 'y'], [0.67, 0.33, 1.0])
    """

    tasks: pl.Series
    classes: pl.Series
    p: F8
    label: I8
    n_labels: I8

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return f"SoftLabels({len(self):,} tasks, {len(self.classes)} classes)"

    @property
    def names(self) -> np.ndarray[Any, Any]:
        """Name of the most probable class of each task, as `y` of scikit-learn."""
        return self.classes.gather(self.label).to_numpy()

    @property
    def weight(self) -> F8:
        """Weight of each task for training on hard labels: the probability of its label."""
        return np.asarray(self.p[np.arange(len(self)), self.label])

    def expand(self, least: float = 0.01) -> tuple[I8, np.ndarray[Any, Any], F8]:
        """Return every task once for each of its classes, for estimators that take hard labels and weights.

        `model.fit(X[rows], y, sample_weight=weight)` minimises the same loss as training on the soft labels.

        Args:
            least: Classes of a task below this probability are left out, and the others share their probability; 0
                keeps all.

        Returns:
            The row of `p` (and of the features), the name of the class, and its weight; the weights of a task sum to
            one.
        """
        if not 0 <= least < 1 / len(self.classes):
            raise ParameterError(f"least must be from 0 to below 1 / {len(self.classes)} classes, got {least}")
        kept = np.where(self.p > least, self.p, 0.0) if least else self.p
        kept = kept / kept.sum(axis=1, keepdims=True)
        row, label = np.nonzero(np.ones_like(kept) if not least else kept)
        return row.astype(np.int64), self.classes.gather(label).to_numpy(), kept[row, label]

    def to_table(self) -> pl.DataFrame:
        """Return the columns task, label, weight, n_labels, p_<class>..."""
        shares = {f"p_{name}": self.p[:, code] for code, name in enumerate(self.classes.cast(pl.String).to_list())}
        facts = {"label": self.classes.gather(self.label), "weight": self.weight, "n_labels": self.n_labels}
        return pl.DataFrame({"task": self.tasks, **facts, **shares})


def soft_labels(result: Result, tasks: Any = None) -> SoftLabels:
    """Return the soft labels of a result.

    Args:
        result: A result of class labels.
        tasks: Names of tasks, in the order of the features; all tasks of the result by default.
    """
    if tasks is None:
        tasks = result.tasks
    names = as_series(tasks, "task")
    codes, is_known = lookup(result.tasks, names)
    if not is_known.all():
        unknown = names.filter(~pl.Series(is_known))
        raise DataError(f"{len(unknown)} tasks have no labels: {quote(unknown)}; ask for tasks of the result only")
    return SoftLabels(
        names,
        result.classes,
        np.array(result.posterior)[codes],
        np.asarray(result.labels, dtype=np.int64)[codes],
        np.asarray(result.labels_per_task)[codes],
    )
