"""Two workers whose answers are the same far more often than their tasks and habits allow.

What an independent worker would say of a task is predicted from the *others'* estimate of it, the worker's own spread,
and how often they use each value (people round to fives and tens, and love 0, 50 and 100); where a third worker said
that very value, the value is the task's own and counts as likely. The number of equal answers of a pair is then at most
binomial at the mean chance (Hoeffding 1956, doi:10.1214/aoms/1177728178).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fit import Fit
from ..rows import F8, I8, Rows

LEAST_COMMON = 5
PAIRS = 4_000_000  # pairs of answers looked at; tasks with the fewest answers come first
HABIT = 10.0  # answers that the crowd's use of values counts for in a worker's own


@dataclass(frozen=True, eq=False)
class Copying:
    """Pairs of workers: common tasks, equal answers, how many an independent pair would have, and a p-value, corrected
    for the number of pairs."""

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8


def copying(rows: Rows, fit: Fit, alpha: float = 0.01) -> Copying:
    """Pairs that hold with false discoveries below alpha, over all pairs with common tasks enough."""
    from scipy.stats import binom, false_discovery_control

    e, f = _pairs(rows)
    none = np.empty(0, dtype=np.int64)
    if not len(e):
        return Copying(none, none, none, none, np.empty(0), np.empty(0))
    key = rows.worker[e].astype(np.int64) * rows.n_workers + rows.worker[f]
    pair, at = np.unique(key, return_inverse=True)
    common = np.bincount(at)
    same = rows.value[e] == rows.value[f]
    equal = np.bincount(at, weights=same).astype(np.int64)
    # Chance that the second says what the first said, and the other way round; the likelier of the two counts.
    chance = np.maximum(_chances(rows, fit, e, f), _chances(rows, fit, f, e))
    expected = np.bincount(at, weights=chance).astype(np.float64, copy=False)
    tested = common >= LEAST_COMMON
    pair, common, equal, expected = pair[tested], common[tested], equal[tested], expected[tested]
    if not len(pair):
        return Copying(none, none, none, none, np.empty(0), np.empty(0))
    p = np.atleast_1d(binom.sf(equal - 1, common, np.minimum(expected / common, 1.0)))
    # Half of the answers at least: less is a shared habit or source that no p-value tells from copying.
    p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    held = (p <= alpha) & (equal >= 0.5 * common)
    first, second = pair[held] // rows.n_workers, pair[held] % rows.n_workers
    return Copying(first, second, common[held], equal[held], expected[held], p[held])


def _pairs(rows: Rows) -> tuple[I8, I8]:
    """Rows of different workers about the same task, each pair once (lower worker first)."""
    count = np.diff(rows.offsets)
    order = np.argsort(count, kind="stable")
    cost = np.cumsum(count[order].astype(np.int64) ** 2)
    chosen = np.zeros(rows.n_tasks, dtype=bool)
    chosen[order[: int(np.searchsorted(cost, 2 * PAIRS, side="right"))]] = True
    mine = np.flatnonzero(chosen[rows.task])
    size = count[rows.task[mine]]
    e = np.repeat(mine, size)
    begin = np.repeat(rows.offsets[rows.task[mine]], size)
    f = begin + np.arange(len(e)) - np.repeat(np.cumsum(size) - size, size)
    keep = rows.worker[e] < rows.worker[f]
    return e[keep], f[keep]


def _chances(rows: Rows, fit: Fit, said: I8, by: I8) -> F8:
    """Chance that the worker of row `by` says the value of row `said`, told by everybody but these two."""
    value, worker = rows.value[said], rows.worker[by]
    at, spread = _without_both(rows, fit, said, by)
    noise = np.maximum(fit.spread[worker], 0.02 * max(float(rows.value.std()), 1e-300))
    centre = float(fit.extra["centre"])
    mean = centre + fit.slope[worker] * (at - centre) + fit.bias[worker]
    # A value's chance here: how often the worker uses it, times how much likelier it is here than elsewhere.
    usual, wide = _overall(rows)
    wide = np.maximum(wide, 1e-300)
    elsewhere = np.maximum(_normal(value, usual[worker], wide[worker]), 1e-12 / wide[worker])
    lift = np.maximum(_normal(value, mean, np.sqrt(noise**2 + spread)) / elsewhere, 1.0)
    codes = np.unique(rows.value, return_inverse=True)[1].ravel().astype(np.int64)
    crowd = np.bincount(codes) / len(codes)
    n_values = len(crowd)
    own = _counts(rows.worker.astype(np.int64) * n_values + codes, worker.astype(np.int64) * n_values + codes[said])
    habit = (own + HABIT * crowd[codes[said]]) / (rows.per_worker[worker] + HABIT)
    # Third workers of this task who said the same.
    task = rows.task.astype(np.int64) * n_values + codes
    third = _counts(task, task[said]) - 1.0 - (rows.value[by] == value)
    others = np.diff(rows.offsets)[rows.task[said]] - 2
    return np.asarray(np.minimum(np.maximum(habit * lift, third / (others + 1)), 1.0))


def _counts(keys: I8, wanted: I8) -> F8:
    """How often each wanted key occurs."""
    known, count = np.unique(keys, return_counts=True)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, count[at], 0).astype(np.float64)


def _without_both(rows: Rows, fit: Fit, said: I8, by: I8) -> tuple[F8, F8]:
    """Mean and variance of a task without two of its rows: weighted mean of the rest, freed of biases."""
    w = fit.weight[rows.worker] if rows.weight is None else fit.weight[rows.worker] * rows.weight
    w = np.maximum(w, 0.0)
    pull = w * (rows.value - fit.bias[rows.worker])
    task = rows.task[said]
    total = np.bincount(rows.task, weights=w, minlength=rows.n_tasks)[task]
    left = total - w[said] - w[by]
    some = left > 1e-9 * total
    rest = np.bincount(rows.task, weights=pull, minlength=rows.n_tasks)[task] - pull[said] - pull[by]
    mean = np.where(some, rest / np.where(some, left, 1.0), float(fit.extra["centre"]))
    noise = float((fit.spread[rows.worker] ** 2).mean())
    others = np.diff(rows.offsets)[task] - 2
    return mean, np.where(some, noise / np.maximum(others, 1), float(rows.value.var()))


def _normal(x: F8, mean: F8, sd: F8) -> F8:
    sd = np.maximum(sd, 1e-300)
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / sd)


def _overall(rows: Rows) -> tuple[F8, F8]:
    """Mean and standard deviation of each worker's answers, a little of the crowd's mixed in."""
    n = rows.per_worker
    middle, wide = float(rows.value.mean()), float(rows.value.var())
    mean = (rows.worker_sum(rows.value) + middle) / (n + 1)
    square = rows.worker_sum((rows.value - mean[rows.worker]) ** 2)
    return mean, np.sqrt((square + wide) / (n + 1))
