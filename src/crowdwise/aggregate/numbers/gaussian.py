"""Every worker has a bias and a precision from one crowd; with `slope` also a scale of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative, Positive
from ...maths.numbers.fit import Fit
from ...maths.numbers.gaussians.gaussian import gaussian as fitted
from ...maths.numbers.gaussians.plain_gaussian import gaussian_plain
from ...maths.numbers.rows import F8, Rows
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class Gaussian(NumberAggregator):
    """Every worker has a bias and a precision, drawn from one crowd; with `slope` also a scale of their own.

    `strength` is the least weight of the crowd's precision against a worker's own answers, `cap` the highest precision
    in units of the median one: who always says the same must not rule. `plain` is the model of the paper, with a weak
    prior of each worker's own, which constant workers can capture.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Gaussian().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "gaussian"
    slope: bool = False
    plain: bool = False
    strength: Positive = 10.0
    cap: Positive = 4.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """See the class."""
        if self.plain:
            return gaussian_plain(rows, gold, max_iter=self.max_iter, tol=self.tol)
        limits = {"strength": self.strength, "cap": self.cap, "tol": self.tol}
        return fitted(rows, gold, slope=self.slope, shards=n_shards, max_iter=self.max_iter, **limits)
