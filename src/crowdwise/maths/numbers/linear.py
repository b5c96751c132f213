"""Judging tasks when a row's message about its task is Gaussian: a precision and a precision times a value.

A row of worker m says: precision A_m, linear part B_m r - C_m. With a prior N(mu, 1/p) of the task its posterior has
precision P = p + sum w A and mean (p mu + sum w (B r - C)) / P. Bias b, slope s, noise precision q: A = q E[s²],
B = q E[s], C = q E[s b].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows import F8, Rows


@dataclass(frozen=True, eq=False)
class Linear:
    """Everything that turns rows (in standardised units) into estimates: A, B, C by worker and a task's prior.

    `doubt[worker]` is the variance of the worker's bias: an error that is the same in all of their rows.
    `empty` is the mean and variance of a task without answers. `has_variance` says whether 1 / P is a variance.
    """

    a: F8
    b: F8
    c: F8
    prior_mean: float
    prior_precision: float
    doubt: F8
    empty: tuple[float, float]
    has_variance: bool = True

    def judge(self, rows: Rows) -> tuple[F8, F8]:
        """Mean and variance of each task from all of its rows."""
        a = self.a[rows.worker]
        sums = rows.task_sum(a), rows.task_sum(self._pull(rows)), rows.task_sum(a**2 * self.doubt[rows.worker])
        return self._close(*sums, rows.per_task)

    def judge_without_own(self, rows: Rows) -> tuple[F8, F8]:
        """Mean and variance of each row's task from the rows of the other workers."""
        first, pair = pairs(rows)
        merged = rows.task[first], len(first)
        a = self.a[rows.worker]
        parts = [a, self._pull(rows), a**2 * self.doubt[rows.worker], np.ones(len(rows))]
        left = []
        for part in parts:
            weighted = part if rows.weight is None else part * rows.weight
            own = np.bincount(pair, weights=weighted, minlength=merged[1])
            total = np.bincount(merged[0], weights=own, minlength=rows.n_tasks)
            left.append((total[merged[0]] - own)[pair])
        # Subtraction leaves rounding where nothing is left.
        several = np.bincount(merged[0], minlength=rows.n_tasks)[rows.task] > 1
        count = np.where(several, left[3], 0.0)
        return self._close(left[0], left[1], left[2], count)

    def _pull(self, rows: Rows) -> F8:
        return np.asarray(self.b[rows.worker] * rows.value - self.c[rows.worker])

    def _close(self, a: F8, pull: F8, doubt: F8, count: F8) -> tuple[F8, F8]:
        some = count > 0
        precision = np.where(some, self.prior_precision + a, 1.0)
        # Nobody with a say: the prior, as for a task without answers.
        some &= precision > 0
        precision = np.where(some, precision, 1.0)
        mean = (self.prior_precision * self.prior_mean + pull) / precision
        variance = 1 / precision + np.maximum(doubt, 0.0) / precision**2
        if not self.has_variance:
            variance = np.full(len(mean), np.nan)
        nothing = self.empty[1] if self.has_variance else np.nan
        return np.where(some, mean, self.empty[0]), np.where(some, variance, nothing)


def pairs(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """One row of each (task, worker) pair, and the pair of each row, pairs in the order of tasks."""
    key = rows.task.astype(np.int64) * max(rows.n_workers, 1) + rows.worker
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    return first, pair.ravel()
