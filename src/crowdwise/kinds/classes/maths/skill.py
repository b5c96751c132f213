"""Accuracy of each worker with a credible interval, when it is uncertain which labels are right.

Each label is right with probability r = posterior[task, label]. If the right labels were observed, the accuracy would
have a Beta posterior with n observations. By Louis' (1982) missing-information principle, the data carry only the
information of

    n_effective = n - sum r (1 - r) / (skill (1 - skill))

observations, and the Beta posterior is computed with that number. The prior is centred on the crowd's mean.
Louis (1982), JRSS B 44(2), doi:10.1111/j.2517-6161.1982.tb01203.x.

Errors that all workers share count as right and cannot be detected from the labels. They make all workers look better
than they are, never worse. Therefore the lower end is lowered in proportion to the share of labels without gold: by
COMMON_ERRORS in log odds, but by no more than the share of tasks whose label is expected to be wrong, if the method
has learned that from gold (`wrong`: small if errors are independent, measured if there is gold). This covers nine in
ten of the real crowds with known truth (docs/benchmarks/skills.md). If errors are independent, nearly all workers are
above the lower end, so the upper end may use the error rate of both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I4, Mask

PRIOR_STRENGTH = 2.0
COMMON_ERRORS = 1.0
# Standard errors by which a confusion matrix must differ from the counts to contradict them.
ERRORS = 4.0


@dataclass(frozen=True)
class Skill:
    """Expected accuracy of each worker and its 95 % interval."""

    mean: F8
    low: F8
    high: F8


def worker_skill(
    worker: I4, right: F8, n_workers: int, weight: F8 | None = None, is_gold: Mask | None = None, level: float = 0.95
) -> Skill:
    """Estimate skills from right[row], the probability that the label is right; is_gold[row]: its task has gold."""
    return skill_of(skill_sums(worker, right, n_workers, weight, is_gold), level)


def skill_sums(worker: I4, right: F8, n_workers: int, weight: F8 | None = None, is_gold: Mask | None = None) -> F8:
    """Sums over rows that determine the skills: labels, hits, variance and labels on gold, [4, worker]."""
    sums = np.zeros((4, n_workers))
    for lo in range(0, len(right), 1 << 20):  # in blocks, because numpy copies its arguments
        rows = slice(lo, lo + (1 << 20))
        r = right[rows]
        w = np.ones(len(r)) if weight is None else weight[rows]
        values = [w, w * r, w * r * (1 - r)] + ([] if is_gold is None else [w * is_gold[rows]])
        for row, value in zip(sums, values, strict=False):
            row += np.bincount(worker[rows], weights=value, minlength=n_workers)
    return sums


def skill_of(sums: F8, level: float = 0.95, wrong: float | None = None) -> Skill:
    """Compute skills from `skill_sums` over all rows; `wrong` is the expected share of tasks with a wrong label."""
    n, hits, variance, n_gold = sums
    total = float(n.sum())
    crowd = float(np.clip(hits.sum() / total, 0.01, 0.99)) if total else 0.5
    share_without_gold = 1 - np.divide(n_gold, n, out=np.zeros_like(n), where=n > 0)
    interval = share_interval(
        n, hits, variance, np.full(len(n), crowd), level, upper=(1 - level) / 2 * (1 + share_without_gold)
    )
    odds = np.exp(-COMMON_ERRORS * share_without_gold)
    low = interval.low * odds / (1 - interval.low * (1 - odds))
    if wrong is not None:
        low = np.maximum(low, interval.low - wrong * share_without_gold)
    return Skill(interval.mean, low, interval.high)


def widest(views: Sequence[Skill]) -> Skill:
    """Return the mean of the first estimate, with an interval that contains those of all estimates."""
    low = np.minimum.reduce([view.low for view in views])
    high = np.maximum.reduce([view.high for view in views])
    return Skill(views[0].mean, low, high)


def share_interval(n: F8, hits: F8, variance: F8, centre: F8, level: float = 0.95, upper: F8 | None = None) -> Skill:
    """Share of hits among n with its interval, under a weak prior around `centre`.

    Args:
        n: Numbers of observations.
        hits: Expected numbers of hits.
        variance: Sums of r (1 - r) over the rows, which reduce the information.
        centre: Means of the prior.
        level: Coverage of the interval.
        upper: Probability above the interval, if it differs from the one below.
    """
    from scipy.special import betaincinv

    mean = (hits + PRIOR_STRENGTH * centre) / (n + PRIOR_STRENGTH)
    effective = effective_n(n, variance, mean)
    share = np.divide(hits, n, out=np.array(centre, dtype=np.float64), where=n > 0)  # the prior counts once
    a = PRIOR_STRENGTH * centre + effective * share
    b = PRIOR_STRENGTH * (1 - centre) + effective * (1 - share)
    tail = (1 - level) / 2
    high = betaincinv(a, b, 1 - (tail if upper is None else upper))
    return Skill(mean, np.asarray(betaincinv(a, b, tail)), np.asarray(high, dtype=np.float64))


def effective_n(n: F8, variance: F8, share: F8) -> F8:
    """Effective number of n uncertain observations (Louis 1982); at least n / 50."""
    return np.asarray(np.clip(n - variance / np.maximum(share * (1 - share), 1e-12), 0.02 * n, n))


def rows_of(counts: F8) -> F8:
    """Confusion rows from counts[worker, true, observed], with two pseudo-labels per row at the crowd's mean row."""
    n = counts.sum(axis=2, keepdims=True)
    return np.asarray((counts + PRIOR_STRENGTH * crowd_rows(counts)) / (n + PRIOR_STRENGTH))


def crowd_rows(counts: F8) -> F8:
    """The crowd's mean confusion matrix [true, observed]."""
    pooled = counts.sum(axis=0) + 0.5
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


def contradicts(confusion: F8, counts: F8) -> Mask:
    """Mask of the cells of confusion[worker, true, observed] that differ from the shares of the counts by more than
    ERRORS standard errors and two pseudo-labels."""
    n = counts.sum(axis=2, keepdims=True)
    size = np.maximum(n, 1e-9)
    bound = ERRORS * np.sqrt(confusion * (1 - confusion) / size) + PRIOR_STRENGTH / size
    return np.asarray((n > 0) & (np.abs(confusion - counts / size) > bound))
