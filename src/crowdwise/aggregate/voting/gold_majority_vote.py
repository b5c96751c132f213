"""Gold majority vote: votes weighted by accuracy on the tasks whose truth is known.

    weight[w] = (right on gold + s · crowd mean) / (labels on gold + s)

A worker who met no gold task gets the crowd's mean, not nothing.
Fails where gold is scarce or easier than the rest; then prefer a method that learns from all tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.params import Positive
from ...maths.kernels import Workspace
from ..spread import Spread
from .base import Weights
from .split import SplitVote

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GoldMajorityVote(SplitVote):
    """`smoothing` is the weight, in labels, of the crowd's mean accuracy on gold.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "y", "x", "y"])
    >>> GoldMajorityVote().fit(votes, gold={1: "y"}).to_table()["label"].to_list()
    ['y', 'y']
    """

    name: ClassVar[str] = "gold_majority_vote"
    smoothing: Positive = 1.0

    def weigh(self, data: Spread) -> Weights:
        """Smoothed accuracy on gold."""
        rows, n, hits = data.sum(_on_gold, _three)
        if not rows:
            raise DataError("no worker labelled a gold task, so nobody's accuracy is known; use another method")
        crowd = max(float(hits.sum()) / max(float(n.sum()), 1e-12), 1e-6)
        return Weights((hits + self.smoothing * crowd) / (n + self.smoothing))


def _on_gold(space: Workspace) -> tuple[int, F8, F8]:
    """Labels on gold, and of each worker by weight how many, and how many that are right."""
    votes = space.shard
    gold = np.full(votes.n_tasks, votes.n_classes) if space.gold is None else space.gold
    rows = np.flatnonzero(gold[votes.task] < votes.n_classes)
    right = gold[votes.task[rows]] == votes.label[rows]
    w = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
    n, hits = (np.bincount(votes.worker[rows], weights=x, minlength=votes.n_workers) for x in (w, w * right))
    return len(rows), n.astype(np.float64), hits.astype(np.float64)


def _three(a: tuple[int, F8, F8], b: tuple[int, F8, F8]) -> tuple[int, F8, F8]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]
