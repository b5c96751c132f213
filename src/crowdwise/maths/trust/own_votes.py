"""What a worker's votes on one task amount to, for every row of votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..rows import LabelRows

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OwnVotes:
    """What each row's worker said of the row's task: weight of all votes, of those for the row's label, and their
    expected number of hits. With one vote per worker and task, all of it is the row itself."""

    weight: F8
    same: F8
    hit: F8

    @classmethod
    def of(cls, rows: LabelRows, q: F8) -> OwnVotes:
        """Rows are sorted by task, then worker."""
        weight: F8 = np.ones(len(rows)) if rows.weight is None else rows.weight
        hit = weight * q[rows.task, rows.label]
        repeated = (rows.task[1:] == rows.task[:-1]) & (rows.worker[1:] == rows.worker[:-1])
        if not repeated.any():
            return cls(weight, weight, hit)
        at = np.cumsum(np.r_[True, ~repeated]) - 1
        same = np.unique(at * np.int64(q.shape[1]) + rows.label, return_inverse=True)[1]
        return cls(group_sums(at, weight), group_sums(same, weight), group_sums(at, hit))


def group_sums(group: npt.NDArray[np.int64], values: F8) -> F8:
    """The sum of the values of each row's group."""
    return np.bincount(group, weights=values).astype(np.float64)[group]
