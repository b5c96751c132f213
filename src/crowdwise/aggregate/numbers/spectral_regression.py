"""Slopes and noises from the covariance of the workers (rank one off the diagonal)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative
from ...maths.numbers.fit import Fit
from ...maths.numbers.rows import F8, Rows
from ...maths.numbers.spectral import spectral_regression as fitted
from .base import NumberAggregator


@dataclass(frozen=True, kw_only=True)
class SpectralRegression(NumberAggregator):
    """Slopes and noises from the covariance of the workers (rank one off the diagonal).

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(SpectralRegression().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "spectral_regression"
    max_iter: Count = 200
    tol: NonNegative = 1e-9

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter, tol=self.tol)
