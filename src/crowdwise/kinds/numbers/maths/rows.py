"""Numeric answers as arrays, the `NumberFit` that methods return, and the linear predictor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....core.order import offsets


@dataclass(frozen=True, eq=False)
class NumberRows:
    """One number per row, sorted by task. A row of weight w counts as w answers; rows of weight 0 are ignored."""

    task: I4
    worker: I4
    value: F8
    weight: F8 | None
    n_tasks: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def offsets(self) -> I8:
        """Start of each task's rows, and their end: n_tasks + 1 positions."""
        return offsets(self.task, self.n_tasks)

    @cached_property
    def per_task(self) -> F8:
        """Sum of weights of each task."""
        return self.task_sum()

    @cached_property
    def per_worker(self) -> F8:
        """Sum of weights of each worker."""
        return self.worker_sum()

    def task_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (by default ones) by task."""
        return _sums(self.task, self._weighted(values), self.n_tasks)

    def worker_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (by default ones) by worker."""
        return _sums(self.worker, self._weighted(values), self.n_workers)

    def _weighted(self, values: F8 | None) -> F8 | None:
        if self.weight is None:
            return values
        return self.weight if values is None else self.weight * values

    def present(self) -> NumberRows:
        """Drop the rows of weight 0."""
        if self.weight is None or bool((self.weight > 0).all()):
            return self
        return self.take(self.weight > 0)

    def take(self, selection: Mask | I8) -> NumberRows:
        """Select rows, in an order that keeps tasks sorted. The numbers of tasks and workers do not change."""
        weight = None if self.weight is None else self.weight[selection]
        return replace(
            self, task=self.task[selection], worker=self.worker[selection], value=self.value[selection], weight=weight
        )

    def with_value(self, value: F8) -> NumberRows:
        """Replace the numbers."""
        return replace(self, value=value)

    def shards(self, n: int) -> Iterator[tuple[NumberRows, int]]:
        """Yield n shards of consecutive tasks with about equally many rows, and the index of their first task.

        Task codes of a shard start at 0.
        """
        edges = np.searchsorted(self.offsets, np.linspace(0, len(self), n + 1)[1:-1])
        edges = np.concatenate([[0], np.clip(edges, 0, self.n_tasks), [self.n_tasks]])
        for lo, hi in pairwise(edges.tolist()):
            part = slice(int(self.offsets[lo]), int(self.offsets[hi]))
            weight = None if self.weight is None else self.weight[part]
            task = self.task[part] - np.int32(lo)
            yield NumberRows(task, self.worker[part], self.value[part], weight, hi - lo, self.n_workers), lo


def _sums(codes: I4, values: F8 | None, n: int) -> F8:
    return np.bincount(codes, weights=values, minlength=n).astype(np.float64, copy=False)


# ----------------------------------------------------------------
# Methods work on standardised values, so shifting and scaling the answers shifts and scales the estimates.

# Limits of the spread of the answers: beyond them its square overflows or underflows a double.
LARGEST, SMALLEST = 1e150, 1e-150


@dataclass(frozen=True)
class Scale:
    """value = centre + unit * standardised value."""

    centre: float
    unit: float

    def to_standard(self, values: F8) -> F8:
        """Standardise values; NaN stays NaN."""
        return np.asarray((values - self.centre) / self.unit)

    def from_standard(self, values: F8) -> F8:
        """Convert standardised values to the units of the answers."""
        return np.asarray(self.centre + self.unit * values)


def standardise(rows: NumberRows, gold: F8 | None) -> tuple[NumberRows, F8 | None, Scale]:
    """Standardise rows and gold to mean 0 and standard deviation 1 of the answers; equal answers are only shifted."""
    scale = scale_of(rows)
    return rows.with_value(scale.to_standard(rows.value)), None if gold is None else scale.to_standard(gold), scale


def scale_of(rows: NumberRows) -> Scale:
    """Weighted mean and standard deviation of the answers.

    Raises ValueError where the square of the standard deviation does not fit into a double.
    """
    value, weight = rows.value, rows.weight
    if len(value) == 0:
        return Scale(0.0, 1.0)
    top = float(np.abs(value).max())
    if top == 0:
        return Scale(0.0, 1.0)
    small = value / top
    centre = float(np.average(small, weights=weight))
    spread = float(np.sqrt(np.average((small - centre) ** 2, weights=weight)))
    if spread <= 1e-14:  # rounding of equal values
        return Scale(float(value[0]), 1.0)
    if not SMALLEST < spread * top < LARGEST:
        size = "large" if spread * top >= LARGEST else "small"
        raise ValueError(
            f"the values have a standard deviation of {spread * top:.1e}, too {size} to compute with; rescale them to "
            "a range between 1e-150 and 1e150"
        )
    return Scale(centre * top, spread * top)


# ----------------------------------------------------------------
# The result of a method.


@dataclass(frozen=True, eq=False)
class NumberFit:
    """Estimates of the tasks and parameters of the workers.

    A worker's answer is centre + slope * (truth - centre) + bias + noise of standard deviation `spread`; the centre is
    in `extra`.

    Args:
        method: Name of the method.
        mean: Estimate of each task.
        variance: Variance of each estimate; NaN where the method has none.
        bias: Bias of each worker.
        spread: Noise standard deviation of each worker.
        slope: Slope of each worker.
        weight: Weight of each worker, with mean 1 over workers with answers.
        trace: Objective by iteration, where there is one.
        n_iter: Number of iterations.
        converged: Whether the iterations converged.
        extra: Further parameters, including those that `apply` needs, in standardised units.
    """

    method: str
    mean: F8
    variance: F8
    bias: F8
    spread: F8
    slope: F8
    weight: F8
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def with_gold(mean: F8, gold: F8 | None) -> F8:
    """Replace estimates of gold tasks by their gold."""
    return mean if gold is None else np.where(np.isnan(gold), mean, gold)


def gold_mask(gold: F8 | None, n_tasks: int) -> Mask:
    """Mask of the tasks with gold."""
    return np.zeros(n_tasks, dtype=bool) if gold is None else ~np.isnan(gold)


def answered_prior(mean: F8, answered: Mask) -> tuple[float, float]:
    """Mean and variance of the estimates of answered tasks, the prior of an unanswered task."""
    if not answered.any():
        return 0.0, 0.0
    return float(mean[answered].mean()), float(mean[answered].var())


def residual_stats(rows: NumberRows, mean: F8) -> tuple[F8, F8]:
    """Mean and standard deviation of each worker's residuals. Workers without answers get 0 and the pooled value."""
    n = rows.per_worker
    gap = rows.value - mean[rows.task]
    size = np.maximum(n, 1e-300)
    bias = rows.worker_sum(gap) / size
    square = rows.worker_sum((gap - bias[rows.worker]) ** 2)
    spread = np.sqrt(square / size)
    inactive = n == 0
    if inactive.any():
        total = max(float(n.sum()), 1e-300)
        bias[inactive] = 0.0
        spread[inactive] = np.sqrt(square.sum() / total)
    return bias, spread


def relative_weight(influence: F8, rows: NumberRows) -> F8:
    """Scale weights to mean 1 over the workers with answers; the others get 1."""
    active = rows.per_worker > 0
    mean = float(influence[active].mean()) if active.any() else 1.0
    return np.where(active, influence / mean if mean > 0 else 1.0, 1.0)


def unstandardise(fit: NumberFit, scale: Scale) -> NumberFit:
    """Convert a fit of standardised values to the units of the answers."""
    return replace(
        fit,
        mean=scale.from_standard(fit.mean),
        variance=fit.variance * scale.unit**2,
        bias=fit.bias * scale.unit,
        spread=fit.spread * scale.unit,
        extra={**fit.extra, "centre": scale.centre, "unit": scale.unit},
    )


# ----------------------------------------------------------------
# Prediction of tasks from Gaussian messages of the rows. A row of worker m contributes precision A_m and linear part
# B_m r - C_m. With the prior N(mu, 1/p), the posterior of a task has precision P = p + sum w A and mean
# (p mu + sum w (B r - C)) / P. With bias b, slope s and noise precision q: A = q E[s²], B = q E[s], C = q E[s b].


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear predictor of tasks from rows in standardised units.

    Args:
        a: A of each worker.
        b: B of each worker.
        c: C of each worker.
        prior_mean: Prior mean mu of a task.
        prior_precision: Prior precision p of a task.
        doubt: Variance of each worker's bias, an error that is the same in all of the worker's rows.
        empty: Mean and variance of a task without answers.
        has_variance: Whether 1 / P is a variance.
    """

    a: F8
    b: F8
    c: F8
    prior_mean: float
    prior_precision: float
    doubt: F8
    empty: tuple[float, float]
    has_variance: bool = True

    def predict(self, rows: NumberRows) -> tuple[F8, F8]:
        """Mean and variance of each task from its rows."""
        a = self.a[rows.worker]
        sums = rows.task_sum(a), rows.task_sum(self._pull(rows)), rows.task_sum(a**2 * self.doubt[rows.worker])
        return self._close(*sums, rows.per_task)

    def predict_without_own(self, rows: NumberRows) -> tuple[F8, F8]:
        """Mean and variance of each row's task from the rows of the other workers."""
        first, pair = pairs(rows)
        merged = rows.task[first], len(first)
        a = self.a[rows.worker]
        parts = [a, self._pull(rows), a**2 * self.doubt[rows.worker], np.ones(len(rows))]
        others = []
        for part in parts:
            weighted = part if rows.weight is None else part * rows.weight
            pair_sum = np.bincount(pair, weights=weighted, minlength=merged[1])
            total = np.bincount(merged[0], weights=pair_sum, minlength=rows.n_tasks)
            others.append((total[merged[0]] - pair_sum)[pair])
        # Where no other rows are left, the subtraction leaves rounding errors.
        several = np.bincount(merged[0], minlength=rows.n_tasks)[rows.task] > 1
        count = np.where(several, others[3], 0.0)
        return self._close(others[0], others[1], others[2], count)

    def _pull(self, rows: NumberRows) -> F8:
        return np.asarray(self.b[rows.worker] * rows.value - self.c[rows.worker])

    def _close(self, a: F8, total: F8, doubt: F8, count: F8) -> tuple[F8, F8]:
        answered = count > 0
        precision = np.where(answered, self.prior_precision + a, 1.0)
        # All weights are zero: use the prior, as for a task without answers.
        answered &= precision > 0
        precision = np.where(answered, precision, 1.0)
        mean = (self.prior_precision * self.prior_mean + total) / precision
        variance = 1 / precision + np.maximum(doubt, 0.0) / precision**2
        if not self.has_variance:
            variance = np.full(len(mean), np.nan)
        empty_variance = self.empty[1] if self.has_variance else np.nan
        return np.where(answered, mean, self.empty[0]), np.where(answered, variance, empty_variance)


def pairs(rows: NumberRows) -> tuple[np.ndarray, np.ndarray]:
    """First row of each (task, worker) pair, and the pair of each row; pairs are sorted by task."""
    key = rows.task.astype(np.int64) * max(rows.n_workers, 1) + rows.worker
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    return first, pair.ravel()
