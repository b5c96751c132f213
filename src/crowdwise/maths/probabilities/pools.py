"""Pools of probabilities without a model: mean, median, mean of log odds, and the same with weights.

The mean of log odds is pushed away from 1/2 ("extremised"), because nobody counts what the others know:
Satopää et al. (2014), doi:10.1016/j.ijforecast.2013.09.009; Baron et al. (2014), doi:10.1287/deca.2014.0293.
"""

from __future__ import annotations

import numpy as np

from ..numbers.rows import F8, Rows
from .fit import Fit, in_log_odds, pooled

# Log odds are never multiplied by less or more than this when gold says by how much; gold tasks that it takes.
PUSHES, ENOUGH = (0.25, 4.0), 20
# Weights by following: answers that the crowd's usual correlation counts for in a worker's own, the least correlation
# that counts, and its power.
USUAL, LEAST, POWER = 10.0, 0.05, 2.0


def mean_pool(rows: Rows) -> F8:
    """The mean of each task's probabilities."""
    return pooled(rows, rows.value)


def median_pool(rows: Rows) -> F8:
    """The weighted median of each task's probabilities."""
    order = np.lexsort((rows.value, rows.task))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    value, weight, task = rows.value[order], weight[order], rows.task[order]
    before = np.cumsum(weight) - weight
    first = np.searchsorted(task, np.arange(rows.n_tasks))
    start = np.append(before, 0.0)[np.minimum(first, len(task))]
    mass = rows.task_sum()
    inside = before - start[task]
    half = mass[task] / 2
    # The first value whose share passes a half; where it is reached exactly, the mean with the next one.
    past = inside + weight > half * (1 + 1e-12)
    level = np.abs(inside + weight - half) <= 1e-12 * np.maximum(half, 1)
    out = np.full(rows.n_tasks, float(np.median(rows.value)) if len(rows) else 0.5)
    firsts = np.flatnonzero(past)[::-1]
    out[task[firsts]] = value[firsts]
    even = np.flatnonzero(level & ~past)
    nexts = np.minimum(even + 1, len(task) - 1)
    ok = task[nexts] == task[even]
    out[task[even[ok]]] = (value[even[ok]] + value[nexts[ok]]) / 2
    return out


def odds_pool(rows: Rows, clip: float, weight: F8 | None = None) -> F8:
    """The mean of each task's log odds."""
    return pooled(rows, in_log_odds(rows, clip).value, weight)


def best_push(odds: F8, truth: F8) -> float:
    """The factor on log odds under which known outcomes are likeliest."""
    from scipy.optimize import minimize_scalar

    sign = np.where(truth > 0.5, 1.0, -1.0)
    found = minimize_scalar(
        lambda log: float(np.logaddexp(0, -sign * np.exp(log) * odds).sum()),
        bounds=(float(np.log(PUSHES[0])), float(np.log(PUSHES[1]))),
        method="bounded",
    )
    return float(np.exp(found.x))


def following(rows: Rows) -> F8:
    """Weight of each worker: how their answers go with the mean of everybody else's over their tasks, squared.

    A worker's own level does not count, nor do they raise what they are compared with; few answers are drawn toward
    the usual worker's.
    """
    n, per_task = rows.per_worker, rows.per_task[rows.task]
    own = np.ones(len(rows)) if rows.weight is None else rows.weight
    left = per_task - own
    met = left > 1e-9
    others = np.where(met, (rows.task_sum(rows.value)[rows.task] - own * rows.value) / np.where(met, left, 1.0), np.nan)
    some = rows.take(np.flatnonzero(met))
    x, y = some.value, others[met]
    count = np.maximum(some.per_worker, 1e-300)
    dx = x - (some.worker_sum(x) / count)[some.worker]
    dy = y - (some.worker_sum(y) / count)[some.worker]
    spread = np.sqrt(some.worker_sum(dx**2) * some.worker_sum(dy**2))
    r = np.where(spread > 1e-12, some.worker_sum(dx * dy) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    z = np.arctanh(np.clip(r, -0.95, 0.95))
    known = some.per_worker > 2
    usual = float(np.median(z[known])) if known.any() else 0.5
    z = (np.where(known, z * n, 0.0) + USUAL * usual) / (np.where(known, n, 0.0) + USUAL)
    return np.asarray(np.maximum(np.tanh(z), LEAST) ** POWER)


def plain_fit(probability: F8, n_workers: int, weight: F8 | None = None) -> Fit:
    """A fit that has learnt nothing of the workers but perhaps their weights."""
    none = np.zeros(n_workers)
    return Fit(probability, none, np.ones(n_workers), none, np.ones(n_workers) if weight is None else weight)
