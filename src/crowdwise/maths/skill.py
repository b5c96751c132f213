"""A worker's accuracy with an honest interval, although nobody knows which of the labels were right.

Each label is right with probability r = posterior[task, label]. Had we seen which, the accuracy would have a Beta
posterior with n observations. We have not: by Louis' (1982) missing-information principle the data carry only

    n_effective = n - sum r (1 - r) / (skill (1 - skill))

observations' worth, and the Beta posterior is taken at that many. The prior is centred on the crowd's mean.
Louis (1982), JRSS B 44(2), doi:10.1111/j.2517-6161.1982.tb01203.x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

PRIOR_STRENGTH = 2.0


@dataclass(frozen=True)
class Skill:
    """Expected accuracy of each worker and its central 95 % interval."""

    mean: F8
    low: F8
    high: F8


def worker_skill(
    worker: npt.NDArray[np.int32], right: F8, n_workers: int, weight: F8 | None = None, level: float = 0.95
) -> Skill:
    """Skill from right[row], the probability that the row's label is the true one."""
    sums = np.zeros((3, n_workers))
    for lo in range(0, len(right), 1 << 20):  # in blocks: numpy copies what it counts
        rows = slice(lo, lo + (1 << 20))
        r = right[rows]
        w = np.ones(len(r)) if weight is None else weight[rows]
        for row, values in zip(sums, (w, w * r, w * r * (1 - r)), strict=True):
            row += np.bincount(worker[rows], weights=values, minlength=n_workers)
    n, hits, doubt = sums[0], sums[1], sums[2]
    total = float(n.sum())
    crowd = float(np.clip(hits.sum() / total, 0.01, 0.99)) if total else 0.5
    return share_interval(n, hits, doubt, np.full(n_workers, crowd), level)


def share_interval(n: F8, hits: F8, doubt: F8, centre: F8, level: float = 0.95) -> Skill:
    """Share of hits among n with its interval, under a weak prior around `centre`.

    `doubt` is what the hits' uncertainty takes from the information: the sum of r (1 - r) over the rows.
    """
    from scipy.special import betaincinv

    mean = (hits + PRIOR_STRENGTH * centre) / (n + PRIOR_STRENGTH)
    effective = effective_n(n, doubt, mean)
    a = PRIOR_STRENGTH * centre + effective * mean
    b = PRIOR_STRENGTH * (1 - centre) + effective * (1 - mean)
    tail = (1 - level) / 2
    return Skill(mean, np.asarray(betaincinv(a, b, tail)), np.asarray(betaincinv(a, b, 1 - tail), dtype=np.float64))


def effective_n(n: F8, doubt: F8, share: F8) -> F8:
    """Observations' worth that n uncertain ones carry (Louis 1982); at least a fiftieth of them."""
    return np.asarray(np.clip(n - doubt / np.maximum(share * (1 - share), 1e-12), 0.02 * n, n))
