"""Is a gap more than luck? Groups of tasks are permuted within a worker's true classes; groups of raters by rater.

Rows of one rater are not independent, so rows are never permuted between raters: on real raters that finds groups that
are not there in half of the cases.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
DRAWS = 2000
# Cells of a block of permutations: 32 MB.
_CELLS = 4_000_000


def worker_p(hits: I8, n: I8, rng: np.random.Generator, draws: int = DRAWS) -> F8:
    """p of each worker's recall being the same in all groups of tasks; hits and n are [worker, group, true].

    The statistic is sum_k sum_z n·(r_zk - r_k)², for two groups sum_k (r_1k - r_0k)²/(1/n_1k + 1/n_0k). Hits of a true
    class are dealt to the groups without replacement, as permuted groups would have them.
    """
    workers, groups, k = hits.shape
    seen = _between(hits, n)
    at_least = np.ones(workers)
    step = max(1, _CELLS // max(workers * groups * k, 1))
    done = 0
    while done < draws:
        size = min(step, draws - done)
        at_least += (_between(_dealt(hits, n, rng, size), n) >= seen - 1e-9).sum(axis=0)
        done += size
    return np.asarray(at_least / (draws + 1))


def _between(hits: I8, n: I8) -> F8:
    rate = hits / np.maximum(n, 1)
    total = n.sum(axis=-2, keepdims=True)
    whole = hits.sum(axis=-2, keepdims=True) / np.maximum(total, 1)
    return np.asarray((n * (rate - whole) ** 2).sum(axis=(-2, -1)))


def _dealt(hits: I8, n: I8, rng: np.random.Generator, size: int) -> I8:
    """hits[draw, worker, group, true] of permuted groups."""
    left_hits = np.broadcast_to(hits.sum(axis=1), (size, hits.shape[0], hits.shape[2])).copy()
    left = n.sum(axis=1)
    out = np.empty((size, *hits.shape), dtype=np.int64)
    for z in range(hits.shape[1] - 1):
        mine = n[:, z]
        out[:, :, z] = rng.hypergeometric(left_hits, left - left_hits, np.broadcast_to(mine, left_hits.shape))
        left_hits = left_hits - out[:, :, z]
        left = left - mine
    out[:, :, -1] = left_hits
    return out


def rater_p(total: F8, n: F8, group: I8, rng: np.random.Generator, draws: int = DRAWS) -> tuple[F8, float]:
    """(mean of each group, p of all having one): total[rater] is a sum of n[rater] values; raters are permuted."""
    k = int(group.max()) + 1
    overall = total.sum() / n.sum()
    off = total - overall * n
    member = np.eye(k)[group]

    def statistic(member: F8) -> F8:
        weight = np.einsum("m,...mg->...g", n, member)
        return np.asarray((np.einsum("m,...mg->...g", off, member) ** 2 / np.maximum(weight, 1e-12)).sum(axis=-1))

    seen = float(statistic(member))
    at_least, step = 1, max(1, _CELLS // max(len(n) * k, 1))
    done = 0
    while done < draws:
        size = min(step, draws - done)
        order = rng.permuted(np.broadcast_to(np.arange(len(n)), (size, len(n))), axis=1)
        at_least += int((statistic(member[order]) >= seen - 1e-9).sum())
        done += size
    means = (member.T @ total) / np.maximum(member.T @ n, 1e-12)
    return np.asarray(means), at_least / (draws + 1)
