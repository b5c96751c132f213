"""How well clusters predict answers that they have not seen; the number of clusters that predicts best.

Answers of one worker hang together (all pairs of one partition come from one decision), so whole workers are held out
where there are enough of them. A clustering predicts by two rates alone: how often the crowd says "same" within and
between its clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from .pairs import F8, I8, Pairs

# Finds cluster[item] from answers.
Finder = Callable[[Pairs], I8]
FOLDS = 5


def folds(pairs: Pairs, rng: np.random.Generator) -> list[I8]:
    """Rows of each fold: workers are dealt out, or rows where there are fewer than four workers a fold."""
    heard = np.unique(pairs.worker)
    n = min(FOLDS, len(pairs))
    if len(heard) >= 4 * FOLDS:
        deal = np.zeros(pairs.n_workers, dtype=np.int64)
        deal[heard] = rng.permutation(len(heard)) % n
        fold = deal[pairs.worker]
    else:
        fold = rng.permutation(len(pairs)) % max(n, 1)
    return [np.flatnonzero(fold == i) for i in range(n)]


def held_out(pairs: Pairs, find: Finder, parts: Sequence[I8]) -> F8:
    """Log-likelihood of each row by the clusters of the other folds."""
    out = np.full(len(pairs), np.nan)
    for rows in parts:
        rest = np.setdiff1d(np.arange(len(pairs)), rows)
        if len(rest) and len(rows):
            out[rows] = loglik(pairs.take(rest), pairs.take(rows), find(pairs.take(rest)))
    return out


def loglik(seen: Pairs, new: Pairs, cluster: I8) -> F8:
    """Log-likelihood of each new row, by the rates of "same" within and between clusters in the rows seen. Within it is
    one half at least: where most say "different", one cluster of all is no better a reading than none."""
    inside, there = (cluster[each.left] == cluster[each.right] for each in (seen, new))
    said = seen.weight * seen.same
    rate = [(float(said[mask].sum()) + 1) / (float(seen.weight[mask].sum()) + 2) for mask in (~inside, inside)]
    p = np.where(there, max(rate[1], 0.5), rate[0])
    return np.asarray(np.log(np.where(new.same > 0.5, p, 1 - p)))


def choose_k(pairs: Pairs, find: Callable[[Pairs, int], I8], most: int, seed: int) -> tuple[int, F8]:
    """The number of clusters, 1 to `most`, and the mean held-out log-likelihood of each; `find` makes them.

    The smallest number within one standard error (of the difference, by workers or rows) of the best."""
    parts = folds(pairs, np.random.default_rng(seed))
    most = max(1, min(most, pairs.n_items))
    scores = np.full((most, len(pairs)), np.nan)
    for k in range(1, most + 1):
        scores[k - 1] = held_out(pairs, partial(_with, find, k), parts)
        # Three numbers in a row without a gain: more clusters will not bring one.
        done = np.nanmean(scores[:k], axis=1) if k > 3 and np.isfinite(scores[:k]).any() else None
        if done is not None and done[:-3].max() >= done[-3:].max():
            scores = scores[:k]
            break
    use = np.isfinite(scores).all(axis=0)
    if not use.any():
        return 1, np.zeros(1)
    scores, worker = scores[:, use], pairs.worker[use]
    mean = scores.mean(axis=1)
    best = int(mean.argmax())
    for k in range(best):
        if mean[best] - mean[k] <= error(scores[best] - scores[k], worker):
            return k + 1, mean
    return best + 1, mean


def _with(find: Callable[[Pairs, int], I8], k: int, some: Pairs) -> I8:
    return find(some, k)


def error(gap: F8, worker: I8) -> float:
    """Standard error of the mean of gap[row], rows of one worker together."""
    total = np.bincount(np.unique(worker, return_inverse=True)[1], weights=gap - gap.mean())
    return float(np.sqrt((total**2).sum()) / len(gap))
