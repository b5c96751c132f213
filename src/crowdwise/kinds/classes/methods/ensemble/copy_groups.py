"""Groups of workers who copy each other: detected with a fitted model, then given one vote per task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .....core.arrays import F8, I4, I8
from .....em.kernels import Workspace
from .....em.loop import plus
from .....em.rows import row_weights
from ...annotations import Annotations
from ...maths.copying import MOST_PAIRS, PairSums, compared_workers, groups_of, pair_sums
from ...maths.leave_out import LeaveOutTables
from ..partitioned import PartitionedVotes, Predictor, apply_predictor, with_columns
from .independence import tables_of


@dataclass(frozen=True, eq=False)
class GroupWeights:
    """A transform of parts: the votes of one group on one task together weigh as much as one vote.

    `group` is the output of `group_codes`: the group of each worker.
    """

    group: I4

    def __call__(self, part: Annotations, gold: Any) -> tuple[Annotations, Any]:
        """Return the part with new weights; workers without a group keep theirs."""
        weight = row_weights(part)
        group = self.group[part.worker].astype(np.int64)
        is_grouped = np.bincount(self.group, minlength=len(self.group))[group] > 1
        _, at = np.unique(part.task.astype(np.int64) * len(self.group) + group, return_inverse=True)
        _, by = np.unique(part.task.astype(np.int64) * len(self.group) + part.worker, return_inverse=True)
        total = np.bincount(at, weights=weight)
        largest = np.zeros(len(total))
        np.maximum.at(largest, at, np.bincount(by, weights=weight)[by])
        return with_columns(part, weight=np.where(is_grouped, weight * largest[at] / total[at], weight)), gold


def find_groups(data: PartitionedVotes, predictor: Predictor, counts: F8 | None = None) -> list[I8]:
    """Return groups of workers who copy each other.

    Args:
        data: The votes.
        predictor: The posterior of the converged model.
        counts: Expected counts [worker, true, observed] under it, where they are available.
    """
    labels: F8 = data.sum(_labels, plus)
    place = compared_workers(labels)
    if int(place.max(initial=-1)) < 2:
        return []
    pairs = float(data.sum(partial(_compared_pairs, place), plus)[0])
    step = max(int(np.ceil(pairs * data.n_classes / MOST_PAIRS)), 1)
    tables = tables_of(data, predictor, counts)
    sums: PairSums = data.sum(partial(_pairs, predictor, tables, place, step), plus)
    chosen = np.flatnonzero(place >= 0)
    return [chosen[group] for group in groups_of(sums, labels[chosen])]


def _labels(space: Workspace) -> F8:
    """Return the summed label weight of each worker."""
    rows = space.shard
    return np.bincount(rows.worker, weights=rows.weight, minlength=rows.n_workers).astype(np.float64)


def _compared_pairs(place: I4, space: Workspace) -> F8:
    """Return the number of ordered pairs of labels on one task by workers that are compared."""
    rows = space.shard
    n = np.bincount(rows.task, weights=place[rows.worker] >= 0, minlength=rows.n_tasks)
    return np.array([(n * (n - 1)).sum()])


def _pairs(predictor: Predictor, tables: LeaveOutTables, place: I4, step: int, space: Workspace) -> PairSums:
    return pair_sums(space, apply_predictor(predictor, space, keep=True).posterior, tables, place, step)


def group_codes(groups: list[I8], n_workers: int) -> I4:
    """Return group[worker]: the worker, or the first worker of the same group."""
    codes = np.arange(n_workers, dtype=np.int32)
    for group in groups:
        codes[group] = group.min()
    return codes
