"""Two coins of every worker: how often they say "same" of what is the same, and "different" of what is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pairs import F8, Pairs

EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Coins:
    """hit[worker] = P(says same | same), pass_[worker] = P(says different | different)."""

    hit: F8
    rejection: F8

    def evidence(self, pairs: Pairs) -> F8:
        """log P(answer | same) - log P(answer | different) of each row, weights counted."""
        a, b = self.hit[pairs.worker], self.rejection[pairs.worker]
        yes, no = np.log(a / (1 - b)), np.log((1 - a) / b)
        return np.asarray(pairs.weight * np.where(pairs.same > 0.5, yes, no))

    def chance(self, pairs: Pairs, same: F8) -> F8:
        """P(answer) of each row, where same[row] is the chance that the pair is the same."""
        a, b = self.hit[pairs.worker], self.rejection[pairs.worker]
        yes = a * same + (1 - b) * (1 - same)
        return np.asarray(np.where(pairs.same > 0.5, yes, 1 - yes))


def coins(pairs: Pairs, same: F8, strength: float, workers: bool = True) -> Coins:
    """The coins given the chance that each pair is the same; each worker's are drawn to the crowd's by `strength`
    answers. Without `workers` everybody has the crowd's."""
    m, w = pairs.n_workers, pairs.weight

    def rate(weight: F8, said: F8) -> F8:
        top = np.bincount(pairs.worker, weights=weight * said, minlength=m)
        of = np.bincount(pairs.worker, weights=weight, minlength=m)
        crowd = (top.sum() + 1.0) / (of.sum() + 2.0)
        found = (top + strength * crowd) / (of + strength) if workers else np.full(m, crowd)
        return np.asarray(np.clip(found, EDGE, 1 - EDGE))

    return Coins(rate(w * same, pairs.same), rate(w * (1 - same), 1 - pairs.same))
