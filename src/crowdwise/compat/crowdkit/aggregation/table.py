"""Conversion of pandas frames to codes and back, in the two orders that crowd-kit's results have."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl

from ....core.arrays import F8, I8
from ....core.errors import LedgerWarning
from ....core.ledger import Ledger
from ....kinds.classes.annotations import Annotations
from .base import InputError, select_columns

COLUMNS = ("task", "worker", "label")


@dataclass(frozen=True)
class CodedFrame:
    """A frame as codes into the sorted indexes `tasks`, `workers`, `classes`, so that the row order is irrelevant.

    first[name] lists the codes of a column by first appearance; row[i] is the position of row i of `votes` among the
    rows used. crowd-kit returns some results sorted and others, including ties, in the order of the data; both are
    supported.
    """

    votes: Annotations
    tasks: pd.Index
    workers: pd.Index
    classes: pd.Index
    first: dict[str, I8]
    row: I8

    def labels(self, winners: npt.NDArray[Any], tasks: I8 | None = None) -> pd.Series:
        """Return agg_label by task; winners[task] are class codes, `tasks` is the order (default: sorted)."""
        order = np.arange(len(winners)) if tasks is None else tasks
        return self.classes.take(winners[order]).to_series(index=self.tasks.take(order), name="agg_label")

    def by_task(self, values: F8, tasks: I8 | None, classes: I8 | None, name: str | None) -> pd.DataFrame:
        """Return values[task, class] as a frame, with tasks and classes in the given order (None: sorted)."""
        tasks = np.arange(len(values)) if tasks is None else tasks
        classes = np.arange(values.shape[1]) if classes is None else classes
        columns = self.classes.take(classes).rename(name)
        return pd.DataFrame(values[np.ix_(tasks, classes)], index=self.tasks.take(tasks), columns=columns)

    def by_worker(self, values: F8, workers: I8 | None, name: str) -> pd.Series:
        """Return values[worker] as a series."""
        order = np.arange(len(values)) if workers is None else workers
        return pd.Series(values[order], index=self.workers.take(order), name=name)

    @cached_property
    def cells(self) -> I8:
        """The (worker, label) pairs that occur, worker · K + label, by first appearance."""
        cell = np.empty(len(self.row), dtype=np.int64)
        cell[self.row] = self.votes.worker.astype(np.int64) * len(self.classes) + self.votes.label
        return np.asarray(pd.unique(cell))

    @cached_property
    def has_unique_pairs(self) -> bool:
        """Whether every worker has at most one row per task, so that the row order does not depend on labels."""
        task, worker = self.votes.task, self.votes.worker
        return not bool(((np.diff(task) == 0) & (np.diff(worker) == 0)).any())

    def relabelled(self, labels: I8) -> CodedFrame:
        """Return the same rows with labels 0 and 1, in the order of the rows used; both must occur."""
        classes = pd.Index([0, 1], name="label")
        votes = Annotations(
            self.votes.task, self.votes.worker, labels[self.row].astype(np.int32), self.votes.tasks, self.votes.workers,
            pl.Series("label", [0, 1]), ledger=self.votes.ledger,
        )  # fmt: skip
        first = {**self.first, "label": np.array([labels[0], 1 - labels[0]], dtype=np.int64)}
        return CodedFrame(votes, self.tasks, self.workers, classes, first, self.row)

    def codes_of(self, name: str, values: Any) -> I8:
        """Return the codes of values of a column; -1 for unknown values."""
        index = {"task": self.tasks, "worker": self.workers, "label": self.classes}[name]
        return np.asarray(index.get_indexer(pd.Index(values)), dtype=np.int64)


def columns_of(data: Any, more: Iterable[str] = ()) -> Any:
    """Return the columns task, worker, label (and more) of a frame; raise if one is missing."""
    if not isinstance(data, pd.DataFrame):
        raise FrameError(f"the data must be a pandas DataFrame, got {type(data).__name__}")
    return select_columns(data, [*COLUMNS, *more])


class FrameError(InputError, TypeError):
    """The data are not a pandas frame."""


def read(data: Any) -> CodedFrame:
    """Encode a frame's task, worker and label.

    Rows with a null and exact repeats of a row are left out, with a warning. Contradictory labels of one worker for one
    task both count, as in crowd-kit.
    """
    keep = np.asarray(columns_of(data).notna().all(axis=1))
    codes, index, first = [], [], {}
    for name in COLUMNS:
        column = data[name] if keep.all() else data[name][keep]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column_codes, used = pd.factorize(column.cat.codes.to_numpy())
            values = column.cat.categories.take(used)
        else:
            column_codes, values = pd.factorize(column)
        rank, ordered = pd.factorize(values, sort=True)
        first[name] = rank.astype(np.int64)
        codes.append(rank[column_codes] if len(rank) else column_codes)
        index.append(pd.Index(ordered, name=name))
    row = np.lexsort(codes[::-1])
    task, worker, label = (c[row].astype(np.int32) for c in codes)
    is_repeat = np.concatenate([[False], (np.diff(task) == 0) & (np.diff(worker) == 0) & (np.diff(label) == 0)])[
        : len(row)
    ]
    _warn_dropped(len(keep), int((~keep).sum()), int(is_repeat.sum()))
    if is_repeat.any():
        task, worker, label, row = (a[~is_repeat] for a in (task, worker, label, row))
    position = np.empty(len(row), dtype=np.int64)
    position[np.argsort(row)] = np.arange(len(row))
    tasks, workers, classes = (pl.Series(name, np.arange(len(v))) for name, v in zip(COLUMNS, index, strict=True))
    votes = Annotations(task, worker, label, tasks, workers, classes, ledger=Ledger(len(row), len(row)))
    return CodedFrame(votes, index[0], index[1], index[2], first, position)


def _warn_dropped(rows: int, n_null: int, n_repeats: int) -> None:
    if n_null or n_repeats:
        warnings.warn(
            f"of {rows} rows, {n_null} without task, worker or label and {n_repeats} exact repeats are left out",
            LedgerWarning,
            stacklevel=4,
        )
