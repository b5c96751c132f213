"""The average of mean, gaussian, gaussian with slopes and bayesian_iterative, wild answers pulled in first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count
from ...maths.numbers.combined import combined as fitted
from ...maths.numbers.fit import Fit
from ...maths.numbers.rows import F8, Rows
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class Combined(NumberAggregator):
    """The average of mean, gaussian, gaussian with slopes and bayesian_iterative, wild answers pulled in first.

    They fail in different crowds; on the sets with known truth their average is never far from the best of them. The
    interval is gaussian's around the average.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Combined().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "combined"
    max_iter: Count = 500

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter, shards=n_shards)
