"""E-step and statistics for classes with several subtypes: states are (class, group), class-major.

`log_theta` is [worker, observed, state], and gold clamps the class, not the state. All computations are in log space
without a floor, because weights of empty groups are as small as e^-100. Small data in numpy, large data in numba.
"""

from __future__ import annotations

import numpy as np

from ....core.arrays import F8
from ....em.kernels import COMPILED_FROM, Stats, Workspace
from ....stats.logspace import normalise_rows, segment_sum


def subtype_posterior(space: Workspace, log_theta: F8, log_weight: F8) -> F8:
    """Return posterior[task, state]."""
    subtype_pass(space, log_theta, log_weight)
    return space.memory.take()


def subtype_pass(space: Workspace, log_theta: F8, log_weight: F8) -> tuple[Stats, float]:
    """Statistics of the posterior over states, and the log-likelihood."""
    shard, states = space.shard, log_weight.size
    groups = states // shard.n_classes
    if len(shard) * states >= COMPILED_FROM:
        return _compiled(space, log_theta, log_weight, groups)
    score = log_weight + segment_sum(_weighted(space, log_theta.reshape(-1, states)[shard.cell]), shard.task_offsets)
    if space.gold is not None:
        has_gold = np.flatnonzero(space.gold < shard.n_classes)
        allowed = np.repeat(np.eye(shard.n_classes, dtype=bool), groups, axis=1)
        score[has_gold] = np.where(allowed[space.gold[has_gold]], score[has_gold], -np.inf)
    posterior, norm = normalise_rows(score)
    space.memory.store(posterior)
    return subtype_stats(space, posterior), float(norm.sum())


def subtype_stats(space: Workspace, posterior: F8) -> Stats:
    """Expected counts [worker, observed, state] and mass[state]."""
    shard, states = space.shard, posterior.shape[1]
    cells = shard.n_workers * shard.n_classes
    if len(shard) * states >= COMPILED_FROM:
        from .subtypes_kernels import scatter

        counts = np.zeros((cells, states))
        scatter(shard.task_offsets, shard.cell, _weights(space), posterior, counts)
    else:
        q = _weighted(space, posterior[shard.task])
        columns = [np.bincount(shard.cell, weights=q[:, s], minlength=cells) for s in range(states)]
        counts = np.stack(columns, axis=1).astype(np.float64, copy=False)
    return Stats(counts.reshape(shard.n_workers, shard.n_classes, states), posterior.sum(axis=0))


def _compiled(space: Workspace, log_theta: F8, log_weight: F8, groups: int) -> tuple[Stats, float]:
    from .subtypes_kernels import sweep

    shard, states = space.shard, log_weight.size
    gold = np.empty(0, dtype=np.int32) if space.gold is None else space.gold
    q = space.memory.buffer((shard.n_tasks, states))
    counts = np.zeros((shard.n_workers * shard.n_classes, states))
    table = np.ascontiguousarray(log_theta).reshape(-1, states)
    total = sweep(shard.task_offsets, shard.cell, _weights(space), table, log_weight, gold, groups, q, counts)
    space.memory.store(q)
    return Stats(counts.reshape(log_theta.shape), q.sum(axis=0)), float(total)


def _weights(space: Workspace) -> F8:
    return np.empty(0) if space.shard.weight is None else space.shard.weight


def _weighted(space: Workspace, rows: F8) -> F8:
    return rows if space.shard.weight is None else rows * space.shard.weight[:, None]
