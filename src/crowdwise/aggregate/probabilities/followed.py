"""The mean of log odds, workers weighted by how their answers go with everybody else's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit, chance
from ...maths.probabilities.pools import following, odds_pool, plain_fit
from .base import ProbabilityAggregator


@dataclass(frozen=True, kw_only=True)
class Followed(ProbabilityAggregator):
    """The mean of each task's log odds, workers weighted by the square of their correlation with the others.

    Who says much the same whatever the task, or answers at random, has little to say.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Followed().fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "followed"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        weight = following(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        return plain_fit(chance(odds_pool(rows, self.clip, weight)), rows.n_workers, weight)

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        return chance(odds_pool(rows, self.clip, fit.weight))
