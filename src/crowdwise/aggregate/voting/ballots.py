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
from ..gold import Gold

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClassOrder:
    """rank[class] in the order of first appearance; the last `silent` ranks belong to classes that nobody named."""

    rank: I4
    silent: int

    @classmethod
    def of(cls, annotations: Annotations, gold: Gold | None) -> ClassOrder:
        """First by the rows (sorted by task and worker, whatever the labels), then by gold."""
        named = annotations.label if gold is None else np.concatenate([annotations.label, gold.label[gold.known]])
        classes, first = np.unique(named, return_index=True)
        rank = np.full(annotations.n_classes, -1, dtype=np.int32)
        rank[classes[np.argsort(first)]] = np.arange(len(classes))
        quiet = np.flatnonzero(rank < 0)
        rank[quiet] = np.arange(len(classes), annotations.n_classes)
        return cls(rank, len(quiet))

    def gold(self, gold: Gold | None, n_tasks: int) -> I4:
        """Gold by rank; one past the last rank where the truth is not known."""
        k = len(self.rank)
        if gold is None:
            return np.full(n_tasks, k, dtype=np.int32)
        return np.append(self.rank, np.int32(k))[gold.label]

    def back(self, values: F8) -> F8:
        """values[..., rank] as values[..., class], silent classes sharing evenly."""
        values = values.copy()
        if self.silent > 1:
            quiet = values[..., -self.silent :]
            quiet[...] = quiet.mean(axis=-1, keepdims=True)
        return np.ascontiguousarray(values[..., self.rank])

    def back_square(self, table: F8) -> F8:
        """The same for table[worker, true, observed]; among silent classes, right and wrong stay apart."""
        table, s = table.copy(), self.silent
        if s > 1:
            table[:, :-s, -s:] = table[:, :-s, -s:].mean(axis=2, keepdims=True)
            table[:, -s:, :-s] = table[:, -s:, :-s].mean(axis=1, keepdims=True)
            block = table[:, -s:, -s:]  # a view
            right = np.einsum("wkk->w", block) / s
            wrong = (block.sum(axis=(1, 2)) - s * right) / (s * (s - 1))
            block[...] = np.where(np.eye(s, dtype=bool), right[:, None, None], wrong[:, None, None])
        return np.ascontiguousarray(table[:, self.rank][:, :, self.rank])


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
