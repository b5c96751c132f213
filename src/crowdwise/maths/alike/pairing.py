"""Which rows are compared: with others of the same task, with rows of any task, with rows of a worker's other tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# How far rows i are from rows j, 0 to 1.
Distance = Callable[[I8, I8], F8]
# Others of the same task that a row is compared with at most, and pairs in all, about.
MOST_OTHERS, PAIRS = 32, 4_000_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Task and worker of every row, sorted by task."""

    task: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    n_tasks: int
    n_workers: int

    @cached_property
    def begin(self) -> I8:
        """Where each task's rows begin, one place more than there are tasks."""
        return np.searchsorted(self.task, np.arange(self.n_tasks + 1)).astype(np.int64)

    @cached_property
    def size(self) -> I8:
        """The number of rows of each row's task."""
        return np.asarray(np.diff(self.begin)[self.task])

    @cached_property
    def by_worker(self) -> tuple[I8, I8]:
        """Rows in tasks with several answers, worker by worker, and where each worker's begin."""
        shared = np.flatnonzero(self.size > 1)
        order = shared[np.argsort(self.worker[shared], kind="stable")]
        return order, np.searchsorted(self.worker[order], np.arange(self.n_workers + 1)).astype(np.int64)


def within_tasks(rows: Rows, rng: np.random.Generator) -> tuple[I8, I8]:
    """Pairs of rows of the same task, each once: all of them, or of large tasks so many a row, drawn evenly."""
    n = len(rows.task)
    most = int(np.clip(PAIRS // max(n, 1), 2, MOST_OTHERS))
    # Rows of a task in a random ring; each is compared with those up to so many places further on.
    order = np.lexsort((rng.random(n), rows.task))
    place = np.arange(n) - rows.begin[rows.task]
    first, second = [], []
    for step in range(1, max(most // 2, 1) + 1):
        twice = 2 * step == rows.size  # half of an even ring would be met from both sides
        here = np.flatnonzero((2 * step < rows.size) | (twice & (place < step)))
        if not len(here):
            break
        base = rows.begin[rows.task[here]]
        first.append(order[here])
        second.append(order[base + (place[here] + step) % rows.size[here]])
    if not first:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(first), np.concatenate(second)


def anywhere(rows: Rows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Each row of a task with several answers beside `draws` other such rows of any task."""
    shared = rows.by_worker[0]
    if len(shared) < 2:
        return shared[:0], shared[:0]
    first = np.repeat(np.arange(len(shared)), draws)
    second = (first + rng.integers(1, len(shared), len(first))) % len(shared)
    return shared[first], shared[second]


def elsewhere(rows: Rows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Each row beside what others said of the same worker's other tasks: `draws` each, where they have any."""
    order, begin = rows.by_worker
    n = np.diff(begin)[rows.worker[order]]
    place = np.arange(len(order)) - begin[rows.worker[order]]
    mine = np.repeat(np.flatnonzero(n > 1), draws)
    if not len(mine):
        return order[:0], order[:0]
    step = rng.integers(1, n[mine])
    other = order[begin[rows.worker[order[mine]]] + (place[mine] + step) % n[mine]]
    # Somebody else's row of that other task.
    base, size = rows.begin[rows.task[other]], rows.size[other]
    somebody = base + (other - base + rng.integers(1, size)) % size
    return order[mine], somebody
