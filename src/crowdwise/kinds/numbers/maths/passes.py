"""One pass over the rows of the Gaussian models: posteriors of the tasks and additive statistics of the workers.

    y ~ N(mu, 1/p) or flat (p = 0);   answer = s_m y + b_m + noise of precision q_m

The statistics of shards of tasks add up. Large data use a compiled kernel, small data numpy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8
from ....em.loop import Additive, tree_sum
from .rows import NumberRows

# Number of rows from which the compiled kernel is worth its import time.
COMPILED_FROM = 50_000
# Columns of PassStats.workers; the last three only with slopes.
GAP, SQUARE, DOUBT, GAP_Y, SUM_Y, SUM_Y2 = range(6)
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Message:
    """Worker parameters of a pass: q and b; with slopes also s and A = q E[s²], B = q E[s], C = q E[s b]."""

    precision: F8
    bias: F8
    prior_mean: float = 0.0
    prior_precision: float = 0.0
    slope: F8 | None = None
    a: F8 | None = None
    c: F8 | None = None

    def table(self) -> F8:
        """Stack the coefficients to [worker, 2] (A, b) or [worker, 5] (A, B, C, s, b)."""
        if self.slope is None or self.a is None or self.c is None:
            return np.stack([self.precision, self.bias], axis=1)
        return np.stack([self.a, self.precision * self.slope, self.c, self.slope, self.bias], axis=1)


@dataclass(frozen=True, eq=False)
class PassStats(Additive):
    """Additive statistics of a pass.

    Args:
        workers: Sums over the rows of each worker, with gap = answer - s y - b: gap, gap², v; with slopes also gap y,
            y, y².
        tasks: Number of answered tasks, and sums over tasks of y, y² + v and the log normalisers.
    """

    workers: F8
    tasks: F8


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """Rows split into shards of tasks, with gold."""

    rows: NumberRows
    gold: F8 | None
    parts: list[tuple[NumberRows, int]]
    compiled: bool

    @classmethod
    def of(cls, rows: NumberRows, gold: F8 | None, shards: int = 1, compiled: bool | None = None) -> ShardedRows:
        """Split rows into shards. `compiled` defaults to a choice by size."""
        parts = [(rows, 0)] if shards <= 1 else list(rows.shards(shards))
        if compiled is None:
            compiled = len(rows) >= COMPILED_FROM
        return cls(rows, gold, parts, compiled)

    def accumulate(self, message: Message) -> PassStats:
        """Sum the statistics of all shards."""
        return tree_sum((stats for _, _, stats in self._passes(message)), lambda a, b: a + b)

    def posterior(self, message: Message) -> tuple[F8, F8]:
        """Mean and variance of each task (NaN without answers)."""
        mean, variance, _ = zip(*self._passes(message), strict=True)
        return np.concatenate(mean), np.concatenate(variance)

    def _passes(self, message: Message) -> Iterator[tuple[F8, F8, PassStats]]:
        for part, lo in self.parts:
            gold = None if self.gold is None else self.gold[lo : lo + part.n_tasks]
            yield sweep(part, gold, message, self.compiled)


def sweep(rows: NumberRows, gold: F8 | None, message: Message, compiled: bool) -> tuple[F8, F8, PassStats]:
    """Run the pass over one shard: mean and variance of its tasks, and its statistics."""
    if not compiled:
        return _plain(rows, gold, message)
    from .. import kernels as numbers_compiled

    table = message.table()
    mean, variance = np.empty(rows.n_tasks), np.empty(rows.n_tasks)
    sums = np.zeros((rows.n_workers, 3 if message.slope is None else 6))
    tasks = np.zeros(4)
    empty = np.empty(0)
    kernel = numbers_compiled.sweep if message.slope is None else numbers_compiled.sweep_slopes
    kernel(
        rows.offsets, rows.worker, rows.value, empty if rows.weight is None else rows.weight,
        empty if gold is None else gold, table, message.prior_mean, message.prior_precision,
        mean, variance, sums, tasks,
    )  # fmt: skip
    return mean, variance, PassStats(sums, tasks)


def _plain(rows: NumberRows, gold: F8 | None, message: Message) -> tuple[F8, F8, PassStats]:
    worker, p, mu = rows.worker, message.prior_precision, message.prior_mean
    table = message.table()[worker]
    if message.slope is None:
        a, pull = table[:, 0], table[:, 0] * (rows.value - table[:, 1])
    else:
        a, pull = table[:, 0], table[:, 1] * rows.value - table[:, 2]
    answered = np.diff(rows.offsets) > 0
    precision = np.where(answered, p + rows.task_sum(a), np.nan)
    mean = (p * mu + rows.task_sum(pull)) / precision
    variance = 1 / precision
    logs = 0.5 * (LOG_2PI - np.log(precision))
    if gold is not None:
        fixed = ~np.isnan(gold) & answered
        mean, variance, logs = np.where(fixed, gold, mean), np.where(fixed, 0.0, variance), np.where(fixed, 0.0, logs)
    if p > 0:
        logs = logs + 0.5 * (np.log(p) - LOG_2PI - p * (mean - mu) ** 2)
    y, v = mean[answered], variance[answered]
    tasks = np.array([float(answered.sum()), y.sum(), (y**2 + v).sum(), logs[answered].sum()])
    y, v = mean[rows.task], variance[rows.task]
    gap = rows.value - y - table[:, 1] if message.slope is None else rows.value - table[:, 3] * y - table[:, 4]
    columns = [gap, gap**2, v] if message.slope is None else [gap, gap**2, v, gap * y, y, y**2]
    return mean, variance, PassStats(np.stack([rows.worker_sum(column) for column in columns], axis=1), tasks)
