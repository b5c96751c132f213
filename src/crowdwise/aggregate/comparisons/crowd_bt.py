"""CrowdBT: Bradley-Terry with workers who are right, guess, or turn everything around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Callback
from ...maths.comparisons.crowd import CrowdObjective
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator, gold_worker
from .climbing import climbed


@dataclass(frozen=True, kw_only=True)
class CrowdBT(ComparisonAggregator):
    """Every worker follows the better item with a chance of their own, which may lie below one half.

    `strength` draws scores to 0 (the precision of a normal prior), `prior_right` and `prior_wrong` are the Beta prior
    of the workers' reliabilities. A tie is half a win of either item.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("comparisons_reversed", tasks=300, workers=20, labels=5, seed=1)
    >>> found = CrowdBT().fit(crowd.votes)
    >>> round(cw.evaluate(found, crowd.truth_table()).kendall, 1)
    0.8
    """

    name: ClassVar[str] = "crowd_bt"
    strength: Positive = 0.3
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        known = gold_worker(rows)
        objective = CrowdObjective(rows, self.strength, self.prior_right, self.prior_wrong, known)
        start = np.concatenate([np.zeros(rows.n_items), np.full(rows.n_workers, 1.4)])
        found = climbed(objective, start, self.max_iter, self.tol, callback)
        score, logit = found.x[: rows.n_items], found.x[rows.n_items :]
        eta = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        x = found.x
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        if known is None and answers.sum() > 0 and float(answers @ eta) < 0.5 * float(answers.sum()):
            x = -x  # the same likelihood: most are right, not most are wrong
            score, eta = -score, 1 - eta
        return PairFit(score, objective.blocks(x), eta, trace=found.trace, n_iter=found.n_iter,
                       converged=found.converged)  # fmt: skip
