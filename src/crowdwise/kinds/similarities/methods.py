"""Methods for same-or-different answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.arrays import I8
from ...core.params import Count, NonNegative, Positive
from .fitting import ClusterFit, SimilarityAggregator
from .maths import Pairs, adjusted_rand, free_logits, from_partitions, mean_field, spectral


@dataclass(frozen=True, kw_only=True)
class CrowdClusters(SimilarityAggregator):
    """Clusters with two error rates of each worker, by mean field from a spectral start.

    A worker answers "same" for pairs of one cluster and "different" for pairs of two with probabilities of their own.
    After Gomes, Welinder, Krause & Perona (2011), Crowdclustering, NIPS, without its Gaussian embedding.

    Args:
        workers: Estimate the rates of each worker; else all workers have the crowd's.
        strength: Weight of the crowd's rates in the estimate of each worker, in answers.
        max_iter: Maximum number of passes.
        tol: Relative tolerance of the bound.

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

    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:
        """Fit the clusters."""
        start = spectral(pairs, k, np.random.default_rng(self.seed))
        fit = mean_field(
            pairs, start, k, gold=gold, strength=self.strength, workers=self.workers, max_iter=self.max_iter,
            tol=self.tol,
        )  # fmt: skip
        extra = {"hit": fit.coins.hit, "rejection": fit.coins.rejection}
        return ClusterFit(fit.belief, trace=fit.trace, n_iter=fit.n_iter, converged=fit.converged, extra=extra)


@dataclass(frozen=True, kw_only=True)
class SpectralClusters(SimilarityAggregator):
    """Clusters by k-means on the leading eigenvectors of the centred answers; all workers alike.

    An answer counts +1 or -1 minus the mean, divided by the square roots of the numbers of answers about its items
    (Rohe, Chatterjee & Yu 2011, doi:10.1214/11-AOS887).

    Args:
        normalise: Divide by the square roots of the numbers of answers.
        n_init: Number of starts of k-means.

    >>> import crowdwise as cw
    >>> votes = cw.similarities.similarity_votes(list("aabbac"), list("bcccbd"), [1, 0, 0, 0, 1, 1])
    >>> cw.similarities.SpectralClusters(k=2).fit(votes).estimate.cluster.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    name: ClassVar[str] = "spectral_clusters"
    normalise: bool = True
    n_init: Count = 10

    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:  # noqa: ARG002
        """Fit the clusters."""
        cluster = spectral(
            pairs, k, np.random.default_rng(self.seed), normalise=self.normalise, starts=self.n_init
        )  # fmt: skip
        return ClusterFit(np.eye(k)[cluster])


@dataclass(frozen=True, kw_only=True)
class Clusters(SimilarityAggregator):
    """The default: mean field for questions about pairs, spectral clusters for partitions.

    Where the answers come from partitions (most close a consistent triangle of one worker), the pairs of a partition
    are one decision, and a model that multiplies them is overconfident: then `spectral_clusters`, else
    `crowd_clusters`. Both are run; `extra` has the chosen one and their agreement.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("similarities_plain", tasks=900, workers=30, classes=3, seed=1)
    >>> Clusters().fit(crowd.votes).extra["taken"]
    'crowd_clusters'
    """

    name: ClassVar[str] = "clusters"

    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:
        """Fit the clusters."""
        other, chosen = self._two(pairs)
        first, second = (method.solve(pairs, k, gold) for method in (chosen, other))
        agreement = adjusted_rand(*(fit.belief.argmax(axis=1) for fit in (first, second)))
        extra = {**first.extra, "taken": chosen.name, "beside": other.name, "agreement": agreement}
        return replace(first, extra=extra)

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters by the method that suits the answers."""
        return self._two(pairs)[1].labels(pairs, k)

    def _two(self, pairs: Pairs) -> tuple[SimilarityAggregator, SimilarityAggregator]:
        methods = (SpectralClusters(seed=self.seed), CrowdClusters(seed=self.seed))
        return methods[::-1] if from_partitions(pairs) else methods


@dataclass(frozen=True, kw_only=True)
class FreeLogits(SimilarityAggregator):
    """Soft clusters as free logits of each item, with two error rates of each worker.

    P(same) is the inner product of the soft clusters of two items. Logits and rates are fitted together by L-BFGS from
    a spectral start.

    Args:
        spread: Weight of the log-determinant that keeps clusters apart.
        decay: Weight of the penalty on the logits.
        strength: Weight of the prior that shrinks the workers' rates towards the crowd's.
        max_iter: Maximum number of iterations.

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

    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:  # noqa: ARG002
        """Fit the clusters."""
        start = spectral(pairs, k, np.random.default_rng(self.seed))
        if k == 1 or not len(pairs):
            return ClusterFit(np.eye(k)[start])
        fit = free_logits(
            pairs, start, k, spread=self.spread, decay=self.decay, strength=self.strength, max_iter=self.max_iter,
            seed=self.seed,
        )  # fmt: skip
        # Reported as converged: it may stop before the tolerance, but clusters do not change any more.
        return ClusterFit(fit.belief, trace=fit.trace, n_iter=fit.n_iter, extra={"hit": fit.coins.hit})

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters for the choice of k: the spectral start, which takes a hundredth of the time."""
        return spectral(pairs, k, np.random.default_rng(self.seed), starts=4)
