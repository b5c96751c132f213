"""Methods without a model of the workers: mean, median, trimmed mean."""

from __future__ import annotations

import numpy as np

from .fit import Fit, answered_prior, held, known, outward, relative, residual_picture
from .linear import Linear
from .rows import F8, Rows
from .scaling import standardise


def mean(rows: Rows, gold: F8 | None = None) -> Fit:
    """The mean of each task's answers; its variance is the pooled variance within tasks over their number."""
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_task
    estimate = rows.task_sum(rows.value) / np.maximum(n, 1e-300)
    noise = pooled_variance(rows, estimate)
    prior = answered_prior(estimate, n > 0)
    ones = np.full(rows.n_workers, 1 / noise)
    judge = Linear(ones, ones, np.zeros(rows.n_workers), 0.0, 0.0, np.zeros(rows.n_workers), prior)
    estimate, variance = judge.judge(rows)
    return outward(finish("mean", rows, gold, estimate, variance, {"linear": judge}), scale)


def median(rows: Rows, gold: F8 | None = None) -> Fit:
    """The (weighted) median of each task's answers."""
    rows, gold, scale = standardise(rows.present(), gold)
    return outward(_trimmed("median", rows, gold, 0.5), scale)


def trimmed_mean(rows: Rows, gold: F8 | None = None, *, share: float = 0.2) -> Fit:
    """The mean of each task's answers without the lowest and the highest `share` of them (0 mean, 0.5 median)."""
    rows, gold, scale = standardise(rows.present(), gold)
    return outward(_trimmed("trimmed_mean", rows, gold, share), scale)


def _trimmed(method: str, rows: Rows, gold: F8 | None, share: float) -> Fit:
    estimate = trimmed_of(rows, share)
    empty, _ = answered_prior(estimate, rows.per_task > 0)
    return finish(method, rows, gold, estimate, np.full(rows.n_tasks, np.nan), {"share": share, "empty": empty})


def finish(method: str, rows: Rows, gold: F8 | None, mean: F8, variance: F8, extra: dict[str, object]) -> Fit:
    """A fit whose workers are described by what is left of their answers."""
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_picture(rows, mean)
    ones = np.ones(rows.n_workers)
    return Fit(method, mean, variance, bias, spread, ones, relative(ones, rows), extra=dict(extra))


def pooled_variance(rows: Rows, mean: F8, spent: float | None = None) -> float:
    """Variance of the answers around the estimates, freed of the degrees of freedom spent (one a task)."""
    square = float(rows.task_sum((rows.value - mean[rows.task]) ** 2).sum())
    total = float(rows.per_task.sum())
    spent = float((rows.per_task > 0).sum()) if spent is None else spent
    if total - spent <= 0:
        return 1.0  # standardised: one answer a task says nothing of the noise
    return max(square / (total - spent), 1e-12)


def trimmed_of(rows: Rows, share: float) -> F8:
    """Trimmed means by task: answers as a step function of weight, its ends cut; silent tasks get the mean of all."""
    order = np.lexsort((rows.value, rows.task))
    value, task = rows.value[order], rows.task[order]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight[order]
    top = np.cumsum(weight)
    total = rows.per_task
    start = np.concatenate([[0.0], top])[rows.offsets[:-1]]
    high = top - start[task]
    low = high - weight
    if share >= 0.5:
        # The middle of the weight: the mean of the answers that touch it.
        half = total[task] / 2
        slack = 1e-12 * total[task]
        part = ((low <= half + slack) & (high >= half - slack)).astype(np.float64)
    else:
        cut = share * total[task]
        part = np.clip(np.minimum(high, total[task] - cut) - np.maximum(low, cut), 0.0, None)
    size = np.bincount(task, weights=part, minlength=rows.n_tasks)
    out = np.bincount(task, weights=part * value, minlength=rows.n_tasks) / np.maximum(size, 1e-300)
    out[total == 0] = out[total > 0].mean() if (total > 0).any() else 0.0
    return out
