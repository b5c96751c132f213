"""Rows of numeric answers: who said which number of which task, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..order import offsets

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """One number per row, rows sorted by task. A weight w counts as w answers; weight 0 is an absent row."""

    task: I4
    worker: I4
    value: F8
    weight: F8 | None
    n_tasks: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def offsets(self) -> I8:
        """Where each task's rows begin: n_tasks + 1 places."""
        return offsets(self.task, self.n_tasks)

    @cached_property
    def per_task(self) -> F8:
        """Answers of each task, weights counted."""
        return self.task_sum()

    @cached_property
    def per_worker(self) -> F8:
        """Answers of each worker, weights counted."""
        return self.worker_sum()

    def task_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (ones when left out) by task."""
        return _sums(self.task, self._weighted(values), self.n_tasks)

    def worker_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (ones when left out) by worker."""
        return _sums(self.worker, self._weighted(values), self.n_workers)

    def _weighted(self, values: F8 | None) -> F8 | None:
        if self.weight is None:
            return values
        return self.weight if values is None else self.weight * values

    def present(self) -> Rows:
        """Without the rows of weight 0."""
        if self.weight is None or bool((self.weight > 0).all()):
            return self
        return self.take(self.weight > 0)

    def take(self, which: Mask | I8) -> Rows:
        """Some of the rows, in an order that keeps tasks sorted; numbers of tasks and workers stay."""
        weight = None if self.weight is None else self.weight[which]
        return replace(self, task=self.task[which], worker=self.worker[which], value=self.value[which], weight=weight)

    def with_value(self, value: F8) -> Rows:
        """The same rows with other numbers."""
        return replace(self, value=value)

    def shards(self, n: int) -> Iterator[tuple[Rows, int]]:
        """Runs of tasks of about equal size, each with the number of its first task; tasks are counted from there."""
        edges = np.searchsorted(self.offsets, np.linspace(0, len(self), n + 1)[1:-1])
        edges = np.concatenate([[0], np.clip(edges, 0, self.n_tasks), [self.n_tasks]])
        for lo, hi in pairwise(edges.tolist()):
            part = slice(int(self.offsets[lo]), int(self.offsets[hi]))
            weight = None if self.weight is None else self.weight[part]
            task = self.task[part] - np.int32(lo)
            yield Rows(task, self.worker[part], self.value[part], weight, hi - lo, self.n_workers), lo


def _sums(codes: I4, values: F8 | None, n: int) -> F8:
    return np.bincount(codes, weights=values, minlength=n).astype(np.float64, copy=False)
