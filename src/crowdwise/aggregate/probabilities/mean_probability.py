"""The mean of each task's probabilities: the linear pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit
from ...maths.probabilities.pools import mean_pool, plain_fit
from .base import ProbabilityAggregator


@dataclass(frozen=True, kw_only=True)
class MeanProbability(ProbabilityAggregator):
    """The mean of each task's probabilities.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> MeanProbability().fit(votes).probability.round(2).tolist()
    [0.8, 0.3]
    """

    name: ClassVar[str] = "mean_probability"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        return plain_fit(mean_pool(rows), rows.n_workers)

    def judge(self, rows: Rows, fit: Fit) -> F8:  # noqa: ARG002
        """The same of other rows."""
        return mean_pool(rows)
