"""PGD: one-coin skills from pairwise agreement, a rank-one matrix completed by projected gradient descent.

    C[m, m'] = K/(K-1) · (agreement - 1/K) ≈ s_m s_m',   minimise sum n[m, m'] (C - s s^T)²

Ma, Olshevsky, Saligrama & Szepesvari (2018), Gradient descent for sparse rank-one matrix completion for
crowd-sourced aggregation of sparsely interacting workers, ICML (pmlr v80).
Fails, like every one-coin model, with class-biased workers (bluebird), and where few workers share tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative
from ...kinds.classes.annotations import Annotations
from ...maths import moments
from ..gold import Gold
from ..voting.base import VoteAggregator, Weights
from .rank_one import bounds, log_odds, taught


@dataclass(frozen=True, kw_only=True)
class PGD(VoteAggregator):
    """At most `max_iter` gradient steps, until no skill moves by more than `tol`. Votes weigh log p(K-1)/(1-p).

    A worker who shares no task with anybody keeps the skill at the start, one half.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> PGD().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "pgd"
    max_iter: Count = 10_000
    tol: NonNegative = 1e-9

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Log odds of the completed skills."""
        k = annotations.n_classes
        if k == 1:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        seen = moments.agreement(annotations)
        low, high = bounds(annotations.n_tasks, k)
        product = seen.skill_products().tocoo()
        upper = product.row < product.col
        skill, n_iter, converged = moments.complete_rank_one(
            product.row[upper],
            product.col[upper],
            seen.n.data[upper],
            product.data[upper],
            np.full(annotations.n_workers, 0.5),
            low,
            high,
            self.max_iter,
            self.tol,
        )
        skill = np.clip(taught(annotations, skill, gold), low, high)
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)
