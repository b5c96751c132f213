"""Leading eigenvectors of the centred answers, then k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count
from ...maths.similarities.pairs import I8, Pairs
from ...maths.similarities.spectral import spectral
from .base import Found, SimilarityAggregator


@dataclass(frozen=True, kw_only=True)
class SpectralClusters(SimilarityAggregator):
    """Every answer is +1 or -1 less their mean, over the roots of the items' numbers of answers; items are clustered by
    k-means in the k leading eigenvectors (Rohe, Chatterjee & Yu 2011, doi:10.1214/11-AOS887). Workers are all alike.

    >>> import crowdwise as cw
    >>> votes = cw.similarity_votes(list("aabbac"), list("bcccbd"), [1, 0, 0, 0, 1, 1])
    >>> cw.SpectralClusters(k=2).fit(votes).estimate.cluster.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    name: ClassVar[str] = "spectral_clusters"
    normalise: bool = True
    n_init: Count = 10

    def solve(self, pairs: Pairs, k: int, known: I8) -> Found:  # noqa: ARG002
        """See the class."""
        cluster = spectral(
            pairs, k, np.random.default_rng(self.seed), normalise=self.normalise, starts=self.n_init
        )  # fmt: skip
        return Found(np.eye(k)[cluster])
