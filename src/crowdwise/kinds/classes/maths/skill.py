"""A worker's accuracy with an honest interval, although nobody knows which of the labels were right.

Each label is right with probability r = posterior[task, label]. Had we seen which, the accuracy would have a Beta
posterior with n observations. We have not: by Louis' (1982) missing-information principle the data carry only

    n_effective = n - sum r (1 - r) / (skill (1 - skill))

observations' worth, and the Beta posterior is taken at that many. The prior is centred on the crowd's mean.
Louis (1982), JRSS B 44(2), doi:10.1111/j.2517-6161.1982.tb01203.x.

One thing no label shows: what everybody gets wrong together counts as right. It makes all workers look better than they
are, never worse. So the lower end gives way, as far as the labels were not on gold: by COMMON_ERRORS in log odds, by
no more than the share of tasks whose label is expected to be wrong, where the method has learnt that from truth
(`wrong`: small where errors are independent, measured where there is gold). That much covers nine in ten of the real
crowds with known truth (docs/benchmarks/skills.md). Where workers err each on their own it then misses nobody, and the
upper end may miss as many as both ends together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

PRIOR_STRENGTH = 2.0
COMMON_ERRORS = 1.0
# By so many standard errors a confusion matrix contradicts the counts beside it.
ERRORS = 4.0


@dataclass(frozen=True)
class Skill:
    """Expected accuracy of each worker and its 95 % interval."""

    mean: F8
    low: F8
    high: F8


def worker_skill(
    worker: npt.NDArray[np.int32],
    right: F8,
    n_workers: int,
    weight: F8 | None = None,
    known: npt.NDArray[np.bool_] | None = None,
    level: float = 0.95,
) -> Skill:
    """Skill from right[row], the probability that the row's label is the true one; known[row]: it is on gold."""
    return skill_of(skill_sums(worker, right, n_workers, weight, known), level)


def skill_sums(
    worker: npt.NDArray[np.int32],
    right: F8,
    n_workers: int,
    weight: F8 | None = None,
    known: npt.NDArray[np.bool_] | None = None,
) -> F8:
    """What a skill is worked out of, additive over rows: labels, hits, doubt and labels on gold, [4, worker]."""
    sums = np.zeros((4, n_workers))
    for lo in range(0, len(right), 1 << 20):  # in blocks: numpy copies what it counts
        rows = slice(lo, lo + (1 << 20))
        r = right[rows]
        w = np.ones(len(r)) if weight is None else weight[rows]
        values = [w, w * r, w * r * (1 - r)] + ([] if known is None else [w * known[rows]])
        for row, value in zip(sums, values, strict=False):
            row += np.bincount(worker[rows], weights=value, minlength=n_workers)
    return sums


def skill_of(sums: F8, level: float = 0.95, wrong: float | None = None) -> Skill:
    """The skills that sums over all rows amount to; `wrong` is the expected share of tasks with a wrong label."""
    n, hits, doubt, told = sums
    total = float(n.sum())
    crowd = float(np.clip(hits.sum() / total, 0.01, 0.99)) if total else 0.5
    unseen = 1 - np.divide(told, n, out=np.zeros_like(n), where=n > 0)
    seen = share_interval(n, hits, doubt, np.full(len(n), crowd), level, upper=(1 - level) / 2 * (1 + unseen))
    odds = np.exp(-COMMON_ERRORS * unseen)
    low = seen.low * odds / (1 - seen.low * (1 - odds))
    if wrong is not None:
        low = np.maximum(low, seen.low - wrong * unseen)
    return Skill(seen.mean, low, seen.high)


def widest(views: Sequence[Skill]) -> Skill:
    """The first view's mean, in an interval that holds all of theirs."""
    low = np.minimum.reduce([view.low for view in views])
    high = np.maximum.reduce([view.high for view in views])
    return Skill(views[0].mean, low, high)


def share_interval(n: F8, hits: F8, doubt: F8, centre: F8, level: float = 0.95, upper: F8 | None = None) -> Skill:
    """Share of hits among n with its interval, under a weak prior around `centre`.

    `doubt` is what the hits' uncertainty takes from the information: the sum of r (1 - r) over the rows. `upper` is the
    tail above the interval where it is not the one below.
    """
    from scipy.special import betaincinv

    mean = (hits + PRIOR_STRENGTH * centre) / (n + PRIOR_STRENGTH)
    effective = effective_n(n, doubt, mean)
    share = np.divide(hits, n, out=np.array(centre, dtype=np.float64), where=n > 0)  # the prior counts once
    a = PRIOR_STRENGTH * centre + effective * share
    b = PRIOR_STRENGTH * (1 - centre) + effective * (1 - share)
    tail = (1 - level) / 2
    high = betaincinv(a, b, 1 - (tail if upper is None else upper))
    return Skill(mean, np.asarray(betaincinv(a, b, tail)), np.asarray(high, dtype=np.float64))


def effective_n(n: F8, doubt: F8, share: F8) -> F8:
    """Observations' worth that n uncertain ones carry (Louis 1982); at least a fiftieth of them."""
    return np.asarray(np.clip(n - doubt / np.maximum(share * (1 - share), 1e-12), 0.02 * n, n))


def rows_of(counts: F8) -> F8:
    """Confusion rows of counts[worker, true, observed], with two pseudo-labels a row at the crowd's mean row."""
    n = counts.sum(axis=2, keepdims=True)
    return np.asarray((counts + PRIOR_STRENGTH * crowd_rows(counts)) / (n + PRIOR_STRENGTH))


def crowd_rows(counts: F8) -> F8:
    """The crowd's mean confusion matrix [true, observed]."""
    pooled = counts.sum(axis=0) + 0.5
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


def contradicts(confusion: F8, counts: F8) -> npt.NDArray[np.bool_]:
    """Cells of confusion[worker, true, observed] that differ from the shares of the counts by more than ERRORS standard
    errors and two pseudo-labels."""
    n = counts.sum(axis=2, keepdims=True)
    size = np.maximum(n, 1e-9)
    bound = ERRORS * np.sqrt(confusion * (1 - confusion) / size) + PRIOR_STRENGTH / size
    return np.asarray((n > 0) & (np.abs(confusion - counts / size) > bound))
