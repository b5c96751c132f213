"""Drawn: which boxes were drawn, by whom, on which picture, in an order that does not depend on the file's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .ragged import F8, I8, starts, sums

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Boxes with corner[box, x1 y1 x2 y2], tag (class), task and worker, sorted by task and then by place.

    A worker who looked at a picture and drew nothing is a `look` without boxes: looks are the rows of the votes,
    `look` of a box is its row. `weight` is that of each look.
    """

    corner: F8
    tag: I8
    look: I8
    look_task: I8
    look_worker: I8
    look_weight: F8
    n_tasks: int
    n_workers: int

    @property
    def task(self) -> I8:
        """The picture of each box."""
        return self.look_task[self.look]

    @property
    def worker(self) -> I8:
        """Who drew each box."""
        return self.look_worker[self.look]

    @property
    def seen(self) -> F8:
        """How many looked at each picture, weights counted."""
        return sums(self.look_weight, self.look_task, self.n_tasks)

    @property
    def offsets(self) -> I8:
        """Where each picture's boxes begin."""
        return starts(np.bincount(self.task, minlength=self.n_tasks))


def drawn(
    corner: F8, tag: I8, size: I8, task: Codes, worker: Codes, weight: F8 | None, n_tasks: int, n_workers: int
) -> Drawn:
    """From rows with `size` boxes each."""
    task, worker = task.astype(np.int64), worker.astype(np.int64)
    look = np.repeat(np.arange(len(size), dtype=np.int64), size)
    order = np.lexsort((worker[look], tag, corner[:, 3], corner[:, 2], corner[:, 1], corner[:, 0], task[look]))
    own = np.ones(len(size)) if weight is None else weight.astype(np.float64)
    return Drawn(corner[order], tag[order].astype(np.int64), look[order], task, worker, own, n_tasks, n_workers)
