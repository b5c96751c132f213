"""Truth finding by weights: CRH and CATD, which know a worker by the size of their errors alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .fit import Fit, answered_prior, held, known, outward, relative, residual_picture
from .linear import Linear
from .rows import F8, Rows
from .scaling import standardise


def crh(rows: Rows, gold: F8 | None = None, *, max_iter: int = 100, tol: float = 1e-8) -> Fit:
    """Weight = -log of a worker's share of all errors, each worker's error divided by their number of answers.

    Li et al. (2014), doi:10.1145/2588555.2610509; the error per answer is ours: it keeps busy workers in.
    """

    def say(square: F8, n: F8) -> F8:
        error = np.where(n > 0, square / np.maximum(n, 1e-300), 0.0)
        total = float(error.sum())
        if total <= 0:
            return np.ones(len(n))
        weight = -np.log(np.clip(error / total, 1e-12, 1.0))
        return weight if (weight > 0).any() else np.ones(len(n))  # one worker: all errors are theirs

    return _alternate("crh", rows, gold, say, max_iter, tol)


def catd(rows: Rows, gold: F8 | None = None, *, level: float = 0.05, max_iter: int = 100, tol: float = 1e-8) -> Fit:
    """Weight = lower chi-square quantile of a worker's number of answers, over the sum of their squared errors.

    Li et al. (2014), doi:10.14778/2735496.2735505.
    """
    from scipy.stats import chi2

    def say(square: F8, n: F8) -> F8:
        quantile = np.where(n > 0, chi2.ppf(level / 2, np.maximum(n, 1e-9)), 0.0)
        # No error at all: as if the errors were a millionth of the answers' variance.
        return np.asarray(quantile / np.maximum(square, 1e-6 * np.maximum(n, 1e-300)))

    return _alternate("catd", rows, gold, say, max_iter, tol)


def _alternate(method: str, rows: Rows, gold: F8 | None, say: Callable[[F8, F8], F8], max_iter: int, tol: float) -> Fit:
    rows, gold, scale = standardise(rows.present(), gold)
    n = rows.per_worker
    weight = np.ones(rows.n_workers)
    mean = np.zeros(rows.n_tasks)
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        new = held(_weighted(rows, weight), gold)
        moved = float(np.abs(new - mean).max(initial=0.0))
        mean = new
        weight = say(rows.worker_sum((rows.value - mean[rows.task]) ** 2), n)
        weight = relative(weight, rows)
        if moved < tol:
            converged = True
            break
    zero = np.zeros(rows.n_workers)
    answered = rows.per_task > 0
    empty = answered_prior(_weighted(rows, weight), answered)
    judge = Linear(weight, weight, zero, 0.0, 0.0, zero, empty, has_variance=False)
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    bias, spread = residual_picture(rows, mean)
    fit = Fit(method, mean, variance, bias, spread, np.ones(rows.n_workers), weight, np.empty(0), n_iter, converged,
              {"linear": judge})  # fmt: skip
    return outward(fit, scale)


def _weighted(rows: Rows, weight: F8) -> F8:
    w = weight[rows.worker]
    return np.asarray(rows.task_sum(w * rows.value) / np.maximum(rows.task_sum(w), 1e-300))
