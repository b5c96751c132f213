"""Rankings as arrays: which items of its task a row orders, and in which order.

An entry is an item of a task: the same name in two tasks is two entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankRows:
    """entry[row, place] in order, best first, padded with -1; level[row, place]: the group of ties it is in (0, 1,
    ...); size[row]: how many are ranked; rest[row]: whether its last level is all that was left, in no order.
    task[row], worker[row], weight[row] (None: 1); begin[task]: its entries are begin[task] .. begin[task + 1].
    """

    entry: I8
    level: I8
    size: I8
    rest: npt.NDArray[np.bool_]
    task: I8
    worker: I8
    weight: F8 | None
    begin: I8
    n_workers: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def n_entries(self) -> int:
        """Number of entries over all tasks."""
        return int(self.begin[-1])

    @cached_property
    def task_of_entry(self) -> I8:
        """The task of each entry."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def weights(self) -> F8:
        """A weight for every row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def there(self) -> npt.NDArray[np.bool_]:
        """Places that hold an entry."""
        return np.arange(self.entry.shape[1])[None, :] < self.size[:, None]

    @cached_property
    def by_task(self) -> list[I8]:
        """The rows of each task that weigh something."""
        heard = np.flatnonzero(self.weights > 0)
        order = heard[np.argsort(self.task[heard], kind="stable")]
        edges = np.searchsorted(self.task[order], np.arange(len(self.begin)))
        return [order[edges[i] : edges[i + 1]] for i in range(len(self.begin) - 1)]

    @cached_property
    def choices(self) -> float:
        """How many choices of one item before others there are for each entry: how well scores can be known."""
        levels = np.where(self.there, self.level, -1)
        last = levels == levels.max(axis=1, keepdims=True, initial=-1)
        n = (self.there & ~last).sum(axis=1)
        return float(n @ (self.weights > 0)) / max(self.n_entries, 1)

    def preferences(self, task: int, weight: F8 | None = None) -> F8:
        """W[i, j]: the weight of the rows of a task that put its entry i before j; a tie is half of either."""
        rows = self.by_task[task]
        k = int(self.begin[task + 1] - self.begin[task])
        level = self.levels(task)
        w = (self.weights if weight is None else weight)[rows]
        out = np.zeros((k, k))
        for lo in range(0, len(rows), 4096):
            some = level[lo : lo + 4096]
            gap = some[:, None, :] - some[:, :, None]  # of j minus i; NaN where one is not ranked
            before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2)
            out += np.tensordot(w[lo : lo + 4096], before, axes=1)
        np.fill_diagonal(out, 0.0)
        return out

    def levels(self, task: int) -> F8:
        """level[row of the task, entry of the task], NaN where it is not ranked."""
        rows, begin = self.by_task[task], self.begin[task]
        out = np.full((len(rows), int(self.begin[task + 1] - begin)), np.nan)
        where = np.nonzero(self.there[rows])
        out[where[0], self.entry[rows][where] - begin] = self.level[rows][where]
        return out


def average_places(score: F8, task: I8) -> F8:
    """Place of each entry within its task by descending score, 1 the best, equal ones sharing the mean."""
    order = np.lexsort((-score, task))
    out = np.empty(len(score))
    t, s = task[order], score[order]
    new = np.concatenate([[True], (np.diff(t) != 0) | (np.abs(np.diff(s)) > 1e-9)]) if len(s) else np.zeros(0, bool)
    first_of_task = np.concatenate([[True], np.diff(t) != 0]) if len(s) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(first_of_task, np.arange(len(s)), 0)) if len(s) else np.zeros(0, int)
    group = np.cumsum(new) - 1
    place = np.arange(len(s)) - start + 1
    mean = np.bincount(group, place) / np.bincount(group) if len(s) else np.zeros(0)
    out[order] = mean[group]
    return out
