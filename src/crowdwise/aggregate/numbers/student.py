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
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Student().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "student"
    df: Positive = 5.0
    strength: Positive = 10.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, df=self.df, strength=self.strength, max_iter=self.max_iter, tol=self.tol)
