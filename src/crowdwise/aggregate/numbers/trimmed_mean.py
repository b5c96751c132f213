"""The mean without the `share` of a task's answers at either end. It has no interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.rules import Between
from ...maths.numbers.fit import Fit
from ...maths.numbers.rows import F8, Rows
from ...maths.numbers.simple import trimmed_mean as fitted
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class TrimmedMean(NumberAggregator):
    """The mean without the `share` of a task's answers at either end. It has no interval.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> TrimmedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "trimmed_mean"
    share: Annotated[float, Between(0, 0.5)] = 0.2

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, share=self.share)
