"""Rank centrality: a walk from item to item, towards those that win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from ...maths.comparisons.simple import rank_centrality
from .base import ComparisonAggregator


@dataclass(frozen=True, kw_only=True)
class RankCentrality(ComparisonAggregator):
    """How often a walk that moves to an opponent by the share of its wins is at each item, as a logarithm.

    `smoothing` wins and losses are added to every pair.

    >>> RankCentrality().name
    'rank_centrality'
    """

    name: ClassVar[str] = "rank_centrality"
    smoothing: Positive = 1.0
    max_iter: Count = 20_000
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        score, n_iter, converged = rank_centrality(rows, self.smoothing, self.max_iter, self.tol)
        return PairFit(score, n_iter=n_iter, converged=converged)
