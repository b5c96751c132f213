"""The median of each task's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit
from ...maths.probabilities.pools import median_pool, plain_fit
from .base import ProbabilityAggregator


@dataclass(frozen=True, kw_only=True)
class MedianProbability(ProbabilityAggregator):
    """The median of each task's probabilities.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 1], ["a", "b", "c"], [0.9, 0.7, 0.2])
    >>> MedianProbability().fit(votes).probability.tolist()
    [0.7]
    """

    name: ClassVar[str] = "median_probability"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        return plain_fit(median_pool(rows), rows.n_workers)

    def judge(self, rows: Rows, fit: Fit) -> F8:  # noqa: ARG002
        """The same of other rows."""
        return median_pool(rows)
