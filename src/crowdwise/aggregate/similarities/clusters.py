"""The method that suits the answers: mean field for questions about pairs, spectral clusters for partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.similarities.agreement import adjusted_rand
from ...maths.similarities.pairs import I8, Pairs
from ...maths.similarities.partitions import from_partitions
from .base import Found, SimilarityAggregator
from .crowd_clusters import CrowdClusters
from .spectral_clusters import SpectralClusters


@dataclass(frozen=True, kw_only=True)
class Clusters(SimilarityAggregator):
    """Where the answers come from partitions (most close a triangle of one worker, and none contradicts itself), the
    pairs of one partition are one decision, and a model that multiplies them is too sure of it: then
    `spectral_clusters`, else `crowd_clusters`. Both are run; `extra` says which was taken and how far they agree.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("similarities_plain", tasks=900, workers=30, classes=3, seed=1)
    >>> Clusters().fit(crowd.votes).extra["taken"]
    'crowd_clusters'
    """

    name: ClassVar[str] = "clusters"

    def solve(self, pairs: Pairs, k: int, known: I8) -> Found:
        """See the class."""
        other, own = self._two(pairs)
        first, second = (method.solve(pairs, k, known) for method in (own, other))
        alike = adjusted_rand(*(found.belief.argmax(axis=1) for found in (first, second)))
        extra = {**first.extra, "taken": own.name, "beside": other.name, "agreement": alike}
        return Found(first.belief, first.trace, first.n_iter, first.converged, extra)

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters by the method that suits the answers."""
        return self._two(pairs)[1].labels(pairs, k)

    def _two(self, pairs: Pairs) -> tuple[SimilarityAggregator, SimilarityAggregator]:
        both = (SpectralClusters(seed=self.seed), CrowdClusters(seed=self.seed))
        return both[::-1] if from_partitions(pairs) else both
