""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from .fitting import Found, SimilarityAggregator
from .maths import I8, Pairs, adjusted_rand, free_logits, from_partitions, mean_field, spectral


@dataclass(frozen=True, kw_only=True)
class CrowdClusters(SimilarityAggregator):
    """Clusters seen through workers with two coins each, by mean field from a spectral start.

    Items have clusters, workers two coins: how often they say "same" of what is the same, and "different" of what is
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


@dataclass(frozen=True, kw_only=True)
class SpectralClusters(SimilarityAggregator):
    """Leading eigenvectors of the centred answers, then k-means.

    Every answer is +1 or -1 less their mean, over the roots of the items' numbers of answers; items are clustered by
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


@dataclass(frozen=True, kw_only=True)
class Clusters(SimilarityAggregator):
    """The method that suits the answers: mean field for questions about pairs, spectral clusters for partitions.

    Where the answers come from partitions (most close a triangle of one worker, and none contradicts itself), the
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


@dataclass(frozen=True, kw_only=True)
class FreeLogits(SimilarityAggregator):
    """Soft clusters as free logits of every item, seen through two-coin workers.

    P(same) is the product of two items' soft clusters; logits and coins are climbed together by L-BFGS from a
    spectral start. `spread` weighs the log-determinant that keeps clusters apart, `decay` draws logits to 0, `strength`
    the workers' coins to the crowd's.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("similarities_plain", tasks=900, workers=30, classes=3, seed=1)
    >>> cw.evaluate(FreeLogits(k=3).fit(crowd.votes), crowd.truth_table()).ari > 0.9
    True
    """

    name: ClassVar[str] = "free_logits"
    spread: NonNegative = 1.0
    decay: NonNegative = 0.1
    strength: Positive = 5.0
    max_iter: Count = 300

    def solve(self, pairs: Pairs, k: int, known: I8) -> Found:  # noqa: ARG002
        """See the class."""
        start = spectral(pairs, k, np.random.default_rng(self.seed))
        if k == 1 or not len(pairs):
            return Found(np.eye(k)[start])
        found = free_logits(
            pairs, start, k, spread=self.spread, decay=self.decay, strength=self.strength, max_iter=self.max_iter,
            seed=self.seed,
        )  # fmt: skip
        # It stops long before the last digit; clusters do not change any more.
        return Found(found.belief, found.trace, found.n_iter, True, {"hit": found.coins.hit})

    def labels(self, pairs: Pairs, k: int) -> I8:
        """For choosing k: the spectral start, which takes a hundredth of the time."""
        return spectral(pairs, k, np.random.default_rng(self.seed), starts=4)
