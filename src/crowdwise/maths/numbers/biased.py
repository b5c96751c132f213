"""Two-way additive model: answer = task + worker, by least squares."""

from __future__ import annotations

import numpy as np

from .fit import Fit, answered_prior, held, known, outward, relative
from .linear import Linear
from .rows import F8, Rows
from .scaling import standardise
from .simple import pooled_variance


def biased_mean(rows: Rows, gold: F8 | None = None, *, max_iter: int = 500, tol: float = 1e-10) -> Fit:
    """Mean of the answers freed of each worker's offset; offsets sum to 0 over answers, unless gold fixes them."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, m = rows.per_task, rows.per_worker
    fixed = known(gold, rows.n_tasks)
    bias = np.zeros(rows.n_workers)
    estimate = np.zeros(rows.n_tasks)
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        estimate = held(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
        left = rows.value - estimate[rows.task]
        new = rows.worker_sum(left) / np.maximum(m, 1e-300)
        if not fixed.any():
            new = np.where(m > 0, new - (m @ new) / max(m.sum(), 1e-300), 0.0)
        trace.append(-float(rows.task_sum((left - new[rows.worker]) ** 2).sum()))
        moved = float(np.abs(new - bias).max(initial=0.0))
        bias = new
        if moved < tol:
            converged = True
            break
    estimate = held(rows.task_sum(rows.value - bias[rows.worker]) / np.maximum(n, 1e-300), gold)
    spent = float((n > 0).sum() + (m > 0).sum() - 1)
    noise = pooled_variance(rows.with_value(rows.value - bias[rows.worker]), estimate, spent)
    ones = np.full(rows.n_workers, 1 / noise)
    doubt = noise / np.maximum(m, 1.0)
    judge = Linear(ones, ones, bias / noise, 0.0, 0.0, doubt, answered_prior(estimate, n > 0))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(fixed, 0.0, variance)
    square = rows.worker_sum((rows.value - mean[rows.task] - bias[rows.worker]) ** 2)
    spread = np.sqrt(np.where(m > 0, square / np.maximum(m, 1e-300), noise))
    one = np.ones(rows.n_workers)
    fit = Fit("biased_mean", mean, variance, bias, spread, one, relative(one, rows), np.array(trace), len(trace),
              converged, {"linear": judge})  # fmt: skip
    return outward(fit, scale)
