"""Rows of numeric answers: who said which number of which task, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.order import offsets

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """One number per row, rows sorted by task. A weight w counts as w answers; weight 0 is an absent row."""

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
        """Where each task's rows begin: n_tasks + 1 places."""
        return offsets(self.task, self.n_tasks)

    @cached_property
    def per_task(self) -> F8:
        """Answers of each task, weights counted."""
        return self.task_sum()

    @cached_property
    def per_worker(self) -> F8:
        """Answers of each worker, weights counted."""
        return self.worker_sum()

    def task_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (ones when left out) by task."""
        return _sums(self.task, self._weighted(values), self.n_tasks)

    def worker_sum(self, values: F8 | None = None) -> F8:
        """Weighted sums of values[row] (ones when left out) by worker."""
        return _sums(self.worker, self._weighted(values), self.n_workers)

    def _weighted(self, values: F8 | None) -> F8 | None:
        if self.weight is None:
            return values
        return self.weight if values is None else self.weight * values

    def present(self) -> Rows:
        """Without the rows of weight 0."""
        if self.weight is None or bool((self.weight > 0).all()):
            return self
        return self.take(self.weight > 0)

    def take(self, which: Mask | I8) -> Rows:
        """Some of the rows, in an order that keeps tasks sorted; numbers of tasks and workers stay."""
        weight = None if self.weight is None else self.weight[which]
        return replace(self, task=self.task[which], worker=self.worker[which], value=self.value[which], weight=weight)

    def with_value(self, value: F8) -> Rows:
        """The same rows with other numbers."""
        return replace(self, value=value)

    def shards(self, n: int) -> Iterator[tuple[Rows, int]]:
        """Runs of tasks of about equal size, each with the number of its first task; tasks are counted from there."""
        edges = np.searchsorted(self.offsets, np.linspace(0, len(self), n + 1)[1:-1])
        edges = np.concatenate([[0], np.clip(edges, 0, self.n_tasks), [self.n_tasks]])
        for lo, hi in pairwise(edges.tolist()):
            part = slice(int(self.offsets[lo]), int(self.offsets[hi]))
            weight = None if self.weight is None else self.weight[part]
            task = self.task[part] - np.int32(lo)
            yield Rows(task, self.worker[part], self.value[part], weight, hi - lo, self.n_workers), lo


def _sums(codes: I4, values: F8 | None, n: int) -> F8:
    return np.bincount(codes, weights=values, minlength=n).astype(np.float64, copy=False)


# ----------------------------------------------------------------
# Every method works on standardised values: shifting and scaling the answers shifts and scales the estimates.

# Variances are squares: beyond these a double cannot hold them.
LARGEST, SMALLEST = 1e150, 1e-150


@dataclass(frozen=True)
class Scale:
    """value = centre + unit * standardised value."""

    centre: float
    unit: float

    def inward(self, values: F8) -> F8:
        """Standardise; gold's NaN stays NaN."""
        return np.asarray((values - self.centre) / self.unit)

    def outward(self, values: F8) -> F8:
        """Back to the answers' own units."""
        return np.asarray(self.centre + self.unit * values)


def standardise(rows: Rows, gold: F8 | None) -> tuple[Rows, F8 | None, Scale]:
    """Rows and gold with mean 0 and standard deviation 1 of the answers; all equal: only shifted."""
    scale = scale_of(rows)
    return rows.with_value(scale.inward(rows.value)), None if gold is None else scale.inward(gold), scale


def scale_of(rows: Rows) -> Scale:
    """The answers' mean and standard deviation, each row counted by its weight.

    Raises ValueError where the square of the spread does not fit into a double.
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
            f"the values spread over {spread * top:.1e}, too {size} to compute with: rescale them to a "
            "range between 1e-150 and 1e150"
        )
    return Scale(centre * top, spread * top)


# ---------------------------------------------------------------- What every method for numbers returns


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of tasks and a picture of workers.

    A worker's answer is centre + slope * (truth - centre) + bias + noise of standard deviation `spread`, with the
    centre in `extra`; `weight` is their relative say (mean 1 over workers who answered). `trace` is the objective per
    iteration, where there is one. `extra` also holds what `apply` needs to judge other rows, in standardised units.
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


def held(mean: F8, gold: F8 | None) -> F8:
    """Estimates with gold tasks at their gold."""
    return mean if gold is None else np.where(np.isnan(gold), mean, gold)


def known(gold: F8 | None, n_tasks: int) -> Mask:
    """Which tasks have gold."""
    return np.zeros(n_tasks, dtype=bool) if gold is None else ~np.isnan(gold)


def answered_prior(mean: F8, answered: Mask) -> tuple[float, float]:
    """Mean and variance of the answered tasks' estimates: what is known of a task that nobody answered."""
    if not answered.any():
        return 0.0, 0.0
    return float(mean[answered].mean()), float(mean[answered].var())


def residual_picture(rows: Rows, mean: F8) -> tuple[F8, F8]:
    """Each worker's mean and standard deviation of answer minus estimate; silent workers get the crowd's."""
    n = rows.per_worker
    gap = rows.value - mean[rows.task]
    size = np.maximum(n, 1e-300)
    bias = rows.worker_sum(gap) / size
    square = rows.worker_sum((gap - bias[rows.worker]) ** 2)
    spread = np.sqrt(square / size)
    silent = n == 0
    if silent.any():
        total = max(float(n.sum()), 1e-300)
        bias[silent] = 0.0
        spread[silent] = np.sqrt(square.sum() / total)
    return bias, spread


def relative(say: F8, rows: Rows) -> F8:
    """Weights with mean 1 over the workers who answered; silent workers get 1."""
    heard = rows.per_worker > 0
    mean = float(say[heard].mean()) if heard.any() else 1.0
    return np.where(heard, say / mean if mean > 0 else 1.0, 1.0)


def outward(fit: Fit, scale: Scale) -> Fit:
    """A fit of standardised values in the answers' own units."""
    return replace(
        fit,
        mean=scale.outward(fit.mean),
        variance=fit.variance * scale.unit**2,
        bias=fit.bias * scale.unit,
        spread=fit.spread * scale.unit,
        extra={**fit.extra, "centre": scale.centre, "unit": scale.unit},
    )


# ----------------------------------------------------------------
# Judging tasks when a row's message about its task is Gaussian: a precision and a precision times a value.
# A row of worker m says: precision A_m, linear part B_m r - C_m. With a prior N(mu, 1/p) of the task its posterior
# has precision P = p + sum w A and mean (p mu + sum w (B r - C)) / P. Bias b, slope s, noise precision q: A = q
# E[s²], B = q E[s], C = q E[s b].


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
