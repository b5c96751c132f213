"""Workers have one of a few noise levels; beliefs pass between tasks and workers on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count
from ...maths.numbers.fit import Fit
from ...maths.numbers.iterative import bayesian_iterative as fitted
from ...maths.numbers.rows import F8, Rows
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class BayesianIterative(NumberAggregator):
    """Workers have one of a few noise levels; beliefs pass between tasks and workers on a grid.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(BayesianIterative().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "bayesian_iterative"
    max_iter: Count = 500

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter)
