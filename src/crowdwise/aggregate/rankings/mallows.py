"""Mallows' model, with a dispersion of each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative
from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.mallows import mallows
from ...maths.rankings.rows import RankRows
from .base import RankingAggregator


@dataclass(frozen=True, kw_only=True)
class Mallows(RankingAggregator):
    """Rankings scatter around a centre by the number of pairs that differ; careful workers scatter less.

    `spread` is how far the dispersions of workers lie around the crowd's (0: all alike).

    >>> Mallows().name
    'mallows'
    """

    name: ClassVar[str] = "mallows"
    spread: NonNegative = 1.0
    max_iter: Count = 50

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        found = mallows(rows, max(self.spread, 1e-3), self.spread > 0, self.max_iter, self.seed)
        return RankFit(found.score, dispersion=found.dispersion, trace=found.trace, n_iter=found.n_iter,
                       converged=found.converged)  # fmt: skip
