"""Davidson's model of ties, with workers who differ in sharpness, position and liking for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Callback
from ...maths.comparisons.davidson import DavidsonObjective
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator
from .climbing import climbed


@dataclass(frozen=True, kw_only=True)
class Davidson(ComparisonAggregator):
    """Left, right or tie, each with its own chance; workers have a slope, a pull to one side and a rate of ties.

    `slope`, `position` and `tie` are the spreads of these over the crowd; 0 gives every worker the same. `strength`
    draws scores to 0. Without ties and workers it is Bradley and Terry's model. Where left is always the item that is
    the first by name, sides tell nothing and are left out.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("comparisons_ties", tasks=300, workers=20, labels=5, seed=1)
    >>> round(cw.evaluate(Davidson().fit(crowd.votes), crowd.truth_table()).kendall, 1)
    0.8
    """

    name: ClassVar[str] = "davidson"
    strength: Positive = 0.3
    slope: NonNegative = 0.4
    position: NonNegative = 0.3
    tie: NonNegative = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        aside = self.position if rows.mixed_sides else 0.0
        objective = DavidsonObjective(rows, self.strength, self.slope, aside, self.tie)
        found = climbed(objective, objective.start(), self.max_iter, self.tol, callback)
        score, slope, position, tie, _, mean_tie = objective.parts(found.x)
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        x = found.x.copy()
        if float(answers @ slope) < 0:  # the same likelihood, but for the prior
            x[: rows.n_items + rows.n_workers] *= -1
            score, slope = -score, -slope
        level = mean_tie if rows.has_ties else -np.inf
        spread = float(np.std(tie[answers > 0])) if rows.has_ties and (answers > 0).any() else 0.0
        return PairFit(
            score,
            objective.blocks(x),
            slope=slope,
            position=position,
            tie=tie if rows.has_ties else None,
            tie_level=level,
            tie_spread=spread,
            trace=found.trace,
            n_iter=found.n_iter,
            converged=found.converged,
        )
