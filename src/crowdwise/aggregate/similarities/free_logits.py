"""Soft clusters as free logits of every item, seen through two-coin workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...maths.similarities.free_logits import free_logits
from ...maths.similarities.pairs import I8, Pairs
from ...maths.similarities.spectral import spectral
from .base import Found, SimilarityAggregator


@dataclass(frozen=True, kw_only=True)
class FreeLogits(SimilarityAggregator):
    """P(same) is the product of two items' soft clusters; logits and coins are climbed together by L-BFGS from a
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
