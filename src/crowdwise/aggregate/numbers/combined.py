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
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Combined().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "combined"
    max_iter: Count = 500

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter, shards=n_shards)
