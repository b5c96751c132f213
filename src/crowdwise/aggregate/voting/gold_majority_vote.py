"""Gold majority vote: votes weighted by accuracy on the tasks whose truth is known.

    weight[w] = (right on gold + s · crowd mean) / (labels on gold + s)

A worker who met no gold task gets the crowd's mean, not nothing.
Fails where gold is scarce or easier than the rest; then prefer a method that learns from all tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.errors import DataError
from ...core.params import Positive
from ...kinds.classes.annotations import Annotations
from ..gold import Gold
from .base import VoteAggregator, Weights


@dataclass(frozen=True, kw_only=True)
class GoldMajorityVote(VoteAggregator):
    """`smoothing` is the weight, in labels, of the crowd's mean accuracy on gold.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "y", "x", "y"])
    >>> GoldMajorityVote().fit(votes, gold={1: "y"}).to_table()["label"].to_list()
    ['y', 'y']
    """

    name: ClassVar[str] = "gold_majority_vote"
    smoothing: Positive = 1.0

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Smoothed accuracy on gold."""
        assert gold is not None
        rows = np.flatnonzero(gold.label[annotations.task] < annotations.n_classes)
        if not len(rows):
            raise DataError("no worker labelled a gold task, so nobody's accuracy is known; use another method")
        worker = annotations.worker[rows]
        right = gold.label[annotations.task[rows]] == annotations.label[rows]
        w = np.ones(len(rows)) if annotations.weight is None else annotations.weight[rows]
        n = np.bincount(worker, weights=w, minlength=annotations.n_workers)
        hits = np.bincount(worker, weights=w * right, minlength=annotations.n_workers)
        crowd = max(float(hits.sum()) / max(float(n.sum()), 1e-12), 1e-6)
        return Weights((hits + self.smoothing * crowd) / (n + self.smoothing))
