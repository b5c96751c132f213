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
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> SpectralRegression().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "spectral_regression"
    max_iter: Count = 200
    tol: NonNegative = 1e-9

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return fitted(rows, gold, max_iter=self.max_iter, tol=self.tol)
