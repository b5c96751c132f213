"""The default for probabilities: the mean of three unlike pools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.params import Count
from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit, chance
from ...maths.probabilities.pools import following, mean_pool, odds_pool
from ...maths.probabilities.signals import HELD, judged, signals
from .base import ProbabilityAggregator

_TOL = 1e-8


@dataclass(frozen=True, kw_only=True)
class PooledProbabilities(ProbabilityAggregator):
    """The mean of three: the mean of the answers, log odds weighted by how workers follow the others, and `signals`.

    The first is right where nothing is known of the workers, the last where much is.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> (PooledProbabilities().fit(votes).probability > 0.5).tolist()
    [True, False]
    """

    name: ClassVar[str] = "pooled_probabilities"
    calibrates: ClassVar[bool] = True
    max_iter: Count = 200

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        found = signals(rows, gold, self.clip, HELD, self.max_iter, _TOL)
        weight = following(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        found = replace(found, weight=weight)
        return replace(found, probability=self.judge(rows, found))

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        three = mean_pool(rows), chance(odds_pool(rows, self.clip, fit.weight)), judged(rows, fit, self.clip)
        return np.asarray(np.mean(three, axis=0))
