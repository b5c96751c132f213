"""The mean of the answers freed of each worker's offset; offsets sum to 0 over answers unless gold fixes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative
from ...maths.numbers.biased import biased_mean as fitted
from ...maths.numbers.fit import Fit
from ...maths.numbers.rows import F8, Rows
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class BiasedMean(NumberAggregator):
    """The mean of the answers freed of each worker's offset; offsets sum to 0 over answers unless gold fixes them.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> BiasedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "biased_mean"
    max_iter: Count = 500
    tol: NonNegative = 1e-10

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter, tol=self.tol)
