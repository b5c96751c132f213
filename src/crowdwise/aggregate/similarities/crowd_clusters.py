"""Clusters seen through workers with two coins each, by mean field from a spectral start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...maths.similarities.mean_field import mean_field
from ...maths.similarities.pairs import I8, Pairs
from ...maths.similarities.spectral import spectral
from .base import Found, SimilarityAggregator


@dataclass(frozen=True, kw_only=True)
class CrowdClusters(SimilarityAggregator):
    """Items have clusters, workers two coins: how often they say "same" of what is the same, and "different" of what is
    not; `strength` answers draw each worker's coins to the crowd's. With `workers=False` all have the crowd's. After
    Gomes, Welinder, Krause & Perona (2011), Crowdclustering, NIPS, without its Gaussian embedding.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("similarities_plain", tasks=900, workers=30, classes=3, seed=1)
    >>> cw.evaluate(CrowdClusters(k=3).fit(crowd.votes), crowd.truth_table()).ari > 0.9
    True
    """

    name: ClassVar[str] = "crowd_clusters"
    workers: bool = True
    strength: Positive = 8.0
    max_iter: Count = 300
    tol: NonNegative = 1e-7

    def solve(self, pairs: Pairs, k: int, known: I8) -> Found:
        """See the class."""
        start = spectral(pairs, k, np.random.default_rng(self.seed))
        found = mean_field(
            pairs, start, k, known=known, strength=self.strength, workers=self.workers, max_iter=self.max_iter,
            tol=self.tol,
        )  # fmt: skip
        extra = {"hit": found.coins.hit, "rejection": found.coins.rejection}
        return Found(found.belief, found.trace, found.n_iter, found.converged, extra)
