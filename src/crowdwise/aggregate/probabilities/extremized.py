"""The mean of log odds, pushed away from 1/2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.rules import Between
from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit, chance
from ...maths.probabilities.pools import ENOUGH, best_push, odds_pool, plain_fit
from .base import ProbabilityAggregator


@dataclass(frozen=True, kw_only=True)
class Extremized(ProbabilityAggregator):
    """The mean of each task's log odds times `push`; with twenty known outcomes or more these set the factor.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Extremized(push=1).fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "extremized"
    push: Annotated[float, Between(0.1, 10.0)] = 1.5

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        return plain_fit(chance(self._push(rows, gold) * odds_pool(rows, self.clip)), rows.n_workers)

    def learnt(self, rows: Rows, gold: F8 | None) -> dict[str, Any]:
        """The factor that was used, as the design of the fit: log odds are divided by it."""
        return {"design": 1 / self._push(rows, gold)}

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        return chance(odds_pool(rows, self.clip) / fit.design)

    def _push(self, rows: Rows, gold: F8 | None) -> float:
        known = np.zeros(rows.n_tasks, dtype=bool) if gold is None else ~np.isnan(gold) & (rows.per_task > 0)
        if gold is None or known.sum() < ENOUGH:
            return self.push
        return best_push(odds_pool(rows, self.clip)[known], gold[known])
