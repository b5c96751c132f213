"""The mean of each task's answers; its interval comes from the pooled variance within tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.numbers.fit import Fit
from ...maths.numbers.rows import F8, Rows
from ...maths.numbers.simple import mean as fitted
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class Mean(NumberAggregator):
    """The mean of each task's answers; its interval comes from the pooled variance within tasks.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Mean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "mean"

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold)
