"""Noisy Bradley-Terry: workers compare, or follow a habit for one side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.noisy import NoisyObjective
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator, gold_worker
from .climbing import climbed


@dataclass(frozen=True, kw_only=True)
class NoisyBT(ComparisonAggregator):
    """Every worker compares with a chance of their own; else they follow a habit for left or right.

    `strength` draws scores to 0, `prior_right` and `prior_wrong` are the Beta prior of that chance, `habit` the spread
    of the habits. Who turns answers around is not in this model; `crowd_bt` has them.

    >>> NoisyBT(habit=1.0).name
    'noisy_bt'
    """

    name: ClassVar[str] = "noisy_bt"
    strength: Positive = 0.3
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    habit: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        objective = NoisyObjective(
            rows, self.strength, self.prior_right, self.prior_wrong, self.habit, gold_worker(rows)
        )
        m = rows.n_workers
        start = np.concatenate([np.zeros(rows.n_items), np.full(m, 1.4), np.zeros(m)])
        found = climbed(objective, start, self.max_iter, self.tol, callback)
        score, skill, habit = objective.parts(found.x)
        return PairFit(score, objective.blocks(found.x), skill, position=habit, trace=found.trace,
                       n_iter=found.n_iter, converged=found.converged)  # fmt: skip
