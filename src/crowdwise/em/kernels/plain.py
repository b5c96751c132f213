"""The kernels in plain numpy, in log space: for small data, and as a reference for the compiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import F8, I4
from ...stats.logspace import normalise_rows, segment_sum

if TYPE_CHECKING:
    from ..rows import LabelRows
    from . import Stats


def e_step(shard: LabelRows, theta: F8, prior: F8, gold: I4 | None) -> tuple[F8, float]:
    """Return the posterior and the log-likelihood; theta is [worker, observed, true]."""
    k = shard.n_classes
    votes = np.log(theta).reshape(-1, k)[shard.cell]
    if shard.weight is not None:
        votes *= shard.weight[:, None]
    score = np.log(prior) + segment_sum(votes, shard.task_offsets)
    posterior, norm = normalise_rows(score)
    if gold is not None:
        gold_tasks = np.flatnonzero(gold < k)
        norm[gold_tasks] = score[gold_tasks, gold[gold_tasks]]
        posterior[gold_tasks] = np.eye(k)[gold[gold_tasks]]
    return posterior, float(norm.sum())


def stats(shard: LabelRows, posterior: F8) -> Stats:
    """Return the expected counts [worker, observed, true] and the class mass."""
    from . import Stats

    k, cells = shard.n_classes, shard.n_workers * shard.n_classes
    q = posterior[shard.task]
    if shard.weight is not None:
        q = q * shard.weight[:, None]
    columns = [np.bincount(shard.cell, weights=q[:, t], minlength=cells) for t in range(k)]
    counts = np.stack(columns, axis=1).astype(np.float64, copy=False)
    return Stats(counts.reshape(shard.n_workers, k, k), posterior.sum(axis=0))
