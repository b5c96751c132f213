"""Votes as a sampler wants them: classes in the order of their first appearance, one row per worker and answer.

A sampler draws with dice, so renaming the classes would change its answer; numbered by first appearance, classes keep
their dice. Classes that nobody named are alike in every way, and what a run says of them is shared out evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.order import offsets
from ..class_order import ClassOrder

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ballots:
    """Rows sorted by task, labels by rank. `weight` and `before` are empty when all rows weigh one and no worker
    has two on a task; else before[row] is the weight of the same worker's earlier rows on the task."""

    offset: I8
    task: I4
    worker: I4
    label: I4
    weight: F8
    before: F8

    @classmethod
    def of(cls, votes: Annotations, order: ClassOrder) -> Ballots:
        """Rows of weight zero say nothing and are left out; equal rows of one worker become one."""
        task, worker, label = votes.task, votes.worker, order.rank[votes.label]
        twice = bool((np.diff(task.astype(np.int64) * votes.n_workers + worker) == 0).any())
        weight = before = np.empty(0)
        if votes.weight is not None or twice:
            key = (task.astype(np.int64) * votes.n_workers + worker) * votes.n_classes + label
            rows, place = np.unique(key, return_inverse=True)
            weight = np.bincount(place, weights=votes.weight, minlength=len(rows)).astype(np.float64)
            rows, weight = rows[weight > 0], weight[weight > 0]
            pair, label = rows // votes.n_classes, (rows % votes.n_classes).astype(np.int32)
            task, worker = (part.astype(np.int32) for part in np.divmod(pair, votes.n_workers))
            running = np.cumsum(weight) - weight
            first = np.searchsorted(pair, pair)
            before = running - running[first] if len(first) else running
        return cls(offsets(task, votes.n_tasks), task, worker, label, weight, before)
