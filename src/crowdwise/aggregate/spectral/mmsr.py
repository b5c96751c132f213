"""MMSR: one-coin skills from pairwise agreement, robust to some workers who lie (matrix mean-subsequence-reduced).

    |C[m, m']| ≈ |s_m| |s_m'|,   v_j = mean of C[i, j] / u_i without the F largest and the F smallest

C as in `pgd`. Each worker's skill is what most of their partners say it is: ratios further out than the current value
are dropped, F on either side; the signs are those of the leading eigenvector of C.
Ma & Olshevsky (2020), Adversarial crowdsourcing through robust rank-one matrix completion, NeurIPS 33.
Fails with class-biased workers, and where a worker has more than F adversaries among their partners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Whole
from ...kinds.classes.annotations import Annotations
from ...maths import moments
from ..gold import Gold
from ..voting.base import VoteAggregator, Weights
from .rank_one import bounds, log_odds, taught, upright

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class MMSR(VoteAggregator):
    """`n_adversaries` (F ≥ 0) is how many partners of a worker may lie; by default as many as the least connected
    worker can outvote, half of their partners less one. At most `max_iter` rounds, until a product of two skills
    moves by less than `tol` on average.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MMSR().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "mmsr"
    n_adversaries: Whole | None = None
    max_iter: Count = 10_000
    tol: NonNegative = 1e-8

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Log odds of the robust skills."""
        k = annotations.n_classes
        seen = moments.agreement(annotations) if k > 1 else None
        if seen is None or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        product = seen.skill_products()
        size, n_iter, converged = self._sizes(product, 1 / np.sqrt(annotations.n_tasks))
        sign = np.where(moments.leading(product)[1] < 0, -1.0, 1.0)
        found = taught(annotations, upright(annotations, sign * size), gold)
        skill = np.clip(found, *bounds(annotations.n_tasks, k))
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)

    def _sizes(self, product: Any, tiny: float) -> tuple[F8, int, bool]:
        """|s| by alternating robust means; workers whom nobody met get the others' mean."""
        rng, m = np.random.default_rng(self.seed), product.shape[0]
        u, v = 1 - rng.random(m), 1 - rng.random(m)
        degree = np.diff(product.indptr)
        # At least one value is left for the least connected worker.
        drop = max(int(degree[degree > 0].min()) // 2 - 1, 0) if self.n_adversaries is None else self.n_adversaries
        row, converged = np.repeat(np.arange(m), degree), False
        x, other = np.abs(product.data), product.indices
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            old_u, old_v = u, v
            v = _robust_mean(x / np.maximum(u[other], tiny), row, degree, v, drop, tiny)
            u = _robust_mean(x / np.maximum(v[other], tiny), row, degree, u, drop, tiny)
            # ||u v^T - old_u old_v^T|| without the tables
            change = (u @ u) * (v @ v) + (old_u @ old_u) * (old_v @ old_v) - 2 * (u @ old_u) * (v @ old_v)
            converged = bool(change <= (self.tol * m) ** 2)
            if converged:
                break
        size = u / np.sqrt(np.linalg.norm(u) / np.linalg.norm(v))
        return np.where(degree > 0, size, size[degree > 0].mean()), iteration, converged


def _robust_mean(ratio: F8, row: I8, degree: I8, now: F8, drop: int, tiny: float) -> F8:
    """For each worker the mean of their ratios without up to `drop` of those beyond `now` on either side."""
    m = len(now)
    ratio = ratio[np.argsort(row + ratio / (1 + ratio))]  # one key, worker before ratio: half the time of a lexsort
    below = np.minimum(np.bincount(row[ratio < now[row]], minlength=m), drop)
    above = np.minimum(np.bincount(row[ratio > now[row]], minlength=m), drop)
    place = np.arange(len(row)) - (np.cumsum(degree) - degree)[row]
    kept = (place >= below[row]) & (place < (degree - above)[row])
    count = np.bincount(row[kept], minlength=m)
    mean = np.bincount(row[kept], weights=ratio[kept], minlength=m) / np.maximum(count, 1)
    return np.where(count > 0, np.maximum(mean, tiny), now)
