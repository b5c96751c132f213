"""`gaussian` with Student noise of `df` degrees of freedom: a wild answer counts little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative, Positive
from ...maths.numbers.fit import Fit
from ...maths.numbers.gaussians.student import student as fitted
from ...maths.numbers.rows import F8, Rows
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class Student(NumberAggregator):
    """`gaussian` with Student noise of `df` degrees of freedom: a wild answer counts little.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Student().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "student"
    df: Positive = 5.0
    strength: Positive = 10.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, df=self.df, strength=self.strength, max_iter=self.max_iter, tol=self.tol)
